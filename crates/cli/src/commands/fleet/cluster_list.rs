//! The clusters of a metrics store, with version and channel: from a query or a file.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result, anyhow, bail};
use clearway_advice::fleet::{Member, UnusableEvidence};
use clearway_core::{Arch, Version};
use clearway_promql::Labels;
use clearway_promql::eval::Value;
use clearway_sources::prometheus::Prometheus;
use serde::Deserialize;

use crate::arguments::{AsOf, FleetEvidence};
use crate::commands::promql::series;

/// The clusters of a store, and those of which too little is known.
pub(super) struct ClusterList {
    pub(super) clusters: Vec<Member>,
    pub(super) refused: Vec<UnusableEvidence>,
}

/// A cluster as it is listed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(deny_unknown_fields)]
struct ClusterEntry {
    id: String,
    version: String,
    #[serde(default)]
    channel: Option<String>,
    #[serde(default)]
    arch: Option<String>,
}

/// The current version of every cluster, and its channel where it says one.
fn query(label: &str) -> String {
    let current = format!("cluster_version{{{label}!=\"\",type=\"current\"}}");
    let channel = format!("topk by ({label}) (1, group by ({label}, channel) (cluster_version_available_updates))");
    format!(
        "group by ({label}, version, channel) ({current} * on ({label}) group_left (channel) {channel}) or on ({label}) \
         group by ({label}, version) ({current})"
    )
}

/// The clusters that the options mean, in the order of their ids.
pub(super) async fn of(prometheus: &Prometheus, options: &FleetEvidence) -> Result<ClusterList> {
    let label = &options.cluster_label;
    let listed = if let Some(file) = &options.clusters {
        let name = file.display();
        let text = String::from_utf8(series::input(file)?).map_err(|_| anyhow!("{name} is not UTF-8"))?;
        serde_saphyr::from_str::<Vec<ClusterEntry>>(&text)
            .with_context(|| format!("{name} is not a list of clusters, each {{id, version, channel, arch}}"))?
    } else {
        let query = options.clusters_query.clone().unwrap_or_else(|| query(label));
        let answer =
            prometheus.instant(&query, AsOf::named(options.time.as_of)).await.context("cannot list the clusters")?;
        let Value::Vector(samples) = answer.value else {
            bail!("the query that lists the clusters does not return an instant vector: {query}");
        };
        samples.iter().map(|sample| listed(&sample.labels, label)).collect()
    };
    if listed.is_empty() {
        bail!("no clusters found; pass a query with --clusters-query, or a file with --clusters");
    }
    Ok(members(listed, options.channel.as_deref(), options.arch.arch.as_ref()))
}

fn listed(labels: &Labels, label: &str) -> ClusterEntry {
    let text = |name: &str| Some(labels.get(name).to_owned()).filter(|text| !text.is_empty());
    ClusterEntry {
        id: labels.get(label).to_owned(),
        version: labels.get("version").to_owned(),
        channel: text("channel"),
        arch: text("arch"),
    }
}

/// Clusters that are listed once and in order; the others are refused by name.
fn members(listed: Vec<ClusterEntry>, channel: Option<&str>, arch: Option<&Arch>) -> ClusterList {
    let mut by_id: BTreeMap<String, Vec<ClusterEntry>> = BTreeMap::new();
    for one in listed {
        by_id.entry(one.id.clone()).or_default().push(one);
    }
    let mut members = ClusterList { clusters: Vec::new(), refused: Vec::new() };
    for (id, mut said) in by_id {
        said.sort();
        said.dedup();
        let member = match said.as_slice() {
            _ if id.is_empty() => Err("a cluster has no id".to_owned()),
            [one] => member(one, channel, arch),
            several => {
                let versions: Vec<&str> = several.iter().map(|one| one.version.as_str()).collect();
                Err(format!("listed {} times, with the versions {}", several.len(), versions.join(", ")))
            }
        };
        match member {
            Ok(member) => members.clusters.push(member),
            Err(why) => members.refused.push(UnusableEvidence { name: id, why }),
        }
    }
    members
}

fn member(one: &ClusterEntry, channel: Option<&str>, arch: Option<&Arch>) -> Result<Member, String> {
    let version: Version =
        one.version.parse().map_err(|error| format!("invalid version `{}`: {error}", one.version))?;
    let said = one.arch.as_ref().map(|arch| arch.parse::<Arch>()).transpose().map_err(|error| error.to_string())?;
    Ok(Member {
        name: one.id.clone(),
        id: Some(one.id.clone()),
        version: version.without_build(),
        channel: channel.map(str::to_owned).or_else(|| one.channel.clone()),
        arch: arch.cloned().or(said),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use clearway_promql::{Limits, Query};

    #[test]
    fn what_is_listed_twice_or_without_a_version_is_refused_by_name() {
        let listed = |id: &str, version: &str| ClusterEntry {
            id: id.to_owned(),
            version: version.to_owned(),
            channel: None,
            arch: None,
        };
        let list = vec![
            listed("b", "1.0.0+x"),
            listed("a", "1.0.0"),
            listed("c", "1.0.0"),
            listed("c", "1.0.1"),
            listed("d", "one"),
            listed("a", "1.0.0"),
            listed("", "1.0.0"),
        ];
        let ClusterList { clusters, refused } = members(list, Some("stable"), None);
        let told: Vec<_> = clusters.iter().map(|one| (one.name.as_str(), one.version.to_string())).collect();
        assert_eq!(told, [("a", "1.0.0".to_owned()), ("b", "1.0.0".to_owned())]);
        assert!(clusters.iter().all(|one| one.channel.as_deref() == Some("stable")));
        let names: Vec<&str> = refused.iter().map(|one| one.name.as_str()).collect();
        assert_eq!(names, ["", "c", "d"], "{refused:?}");
        assert!(refused[1].why.contains("1.0.0, 1.0.1"), "{refused:?}");
    }

    #[test]
    fn the_default_query_is_one() {
        Query::parse(&query("cluster"), &Limits::default()).unwrap();
    }
}
