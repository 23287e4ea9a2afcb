//! The risks of the updates of clusters: which cluster or component each applies to.

use std::collections::BTreeMap;

use askama::Template;
use clearway_advice::{RiskProof, Verdict};

use super::cluster::{self, ClusterState};
use super::{Page, PageError, TextLink, page};
use crate::address::Route;
use crate::foreign_text::{self, ForeignAddress};
use crate::frame::{Frame, Parts};

/// Risks that are listed on one page.
const MOST_RISKS: usize = 500;
/// Updates that are listed for one risk of one cluster.
const MOST_UPDATES: usize = 20;

#[derive(Template)]
#[template(path = "cluster_risks.html")]
struct ClusterRisksPage {
    frame: Frame,
    total: usize,
    risks: Vec<RiskSection>,
    not_assessed: Vec<String>,
}

/// A risk, and whom it applies to.
struct RiskSection {
    name: String,
    /// The name, and a number if several risks have it: screen readers list the sections by it.
    label: String,
    message: String,
    url: ForeignAddress,
    rows: Vec<AffectedRow>,
}

/// A cluster or component, and whether the risk applies to it.
struct AffectedRow {
    cluster: String,
    class: &'static str,
    word: &'static str,
    accepted: String,
    updates: Vec<TextLink>,
    more: usize,
}

/// A risk by what publishers say about it: risks of one name can differ.
type RiskKey<'a> = (&'a str, &'a str, &'a str);
/// The updates with a risk by the place of the cluster and the verdict; rules of risks of one name can differ, too.
type Affected<'a> = BTreeMap<(usize, u8), (&'a RiskProof, Vec<TextLink>)>;

/// What applies stands before what is not known.
fn order(verdict: Verdict) -> u8 {
    match verdict {
        Verdict::Match => 0,
        Verdict::Unknown => 1,
        Verdict::Pending => 2,
        Verdict::NoMatch => 3,
    }
}

/// The page of all risks of all updates of the clusters.
pub fn render(clusters: &[ClusterState], parts: Parts) -> Result<Page, PageError> {
    let mut risks: BTreeMap<RiskKey<'_>, Affected<'_>> = BTreeMap::new();
    for (place, cluster) in clusters.iter().enumerate() {
        let updates = cluster.assessment.as_ref().map_or(&[][..], |assessment| &assessment.updates);
        for update in updates {
            let route = Route::ClusterUpdate {
                kind: cluster.kind.clone(),
                name: cluster.name.clone(),
                version: update.version.clone(),
            };
            for risk in &update.risks {
                let affected = risks.entry((&risk.name, &risk.url, &risk.message)).or_default();
                let (_, links) = affected.entry((place, order(risk.verdict))).or_insert_with(|| (risk, Vec::new()));
                links.push(TextLink { text: update.version.to_string(), link: route.link() });
            }
        }
    }
    let total = risks.len();
    let mut times: BTreeMap<String, usize> = BTreeMap::new();
    let mut label = |name: &str| {
        let time = times.entry(name.to_owned()).and_modify(|time| *time += 1).or_insert(1);
        if *time == 1 { foreign_text::line(name) } else { format!("{} ({time})", foreign_text::line(name)) }
    };
    let section = |((name, url, message), affected): (RiskKey<'_>, Affected<'_>)| RiskSection {
        name: foreign_text::line(name),
        label: label(name),
        message: foreign_text::lines(message),
        url: ForeignAddress::new(url),
        rows: affected.into_iter().filter_map(|(key, found)| row(clusters, key, found)).collect(),
    };
    page(&ClusterRisksPage {
        frame: Frame::new("Risks", parts, &Route::Risks),
        total,
        risks: risks.into_iter().take(MOST_RISKS).map(section).collect(),
        not_assessed: clusters.iter().filter(|cluster| cluster.assessment.is_none()).map(cluster::title).collect(),
    })
}

fn row(
    clusters: &[ClusterState],
    (place, _): (usize, u8),
    (risk, mut updates): (&RiskProof, Vec<TextLink>),
) -> Option<AffectedRow> {
    let cluster = clusters.get(place)?;
    let (class, word) = cluster::verdict(risk.verdict);
    let more = updates.len().saturating_sub(MOST_UPDATES);
    updates.truncate(MOST_UPDATES);
    Some(AffectedRow {
        cluster: cluster::title(cluster),
        class,
        word,
        accepted: cluster.requests.accepted_text(&risk.name),
        updates,
        more,
    })
}
