//! `clearway snapshot`: collects a cluster's evidence, and shows it.

mod bundle_objects;
mod product_plans;

use std::collections::BTreeMap;

use anyhow::{Context as _, Result, bail};
use clearway_advice::evidence::{ObjectRequest, Question, ReleaseConstraint};
use clearway_core::{Limits, Timestamp};
use clearway_sources::clock;
use clearway_sources::collector::{ObjectLimits, UnreadReason, snapshot_objects};
use clearway_sources::prometheus::{CollectLimits, Prometheus, windows};
use clearway_sources::snapshot::{self, ClusterFacts, NameSelector, Part, RedactOptions, Snapshot};
use serde_json::json;

use crate::arguments::{Snapshot as Command, SnapshotCollect, SnapshotShow};
use crate::commands::assess::cluster::{CLUSTER, ClusterClient};
use crate::commands::assess::release_reader::{ReleaseReader, ReleaseSources};
use crate::commands::assess::{AssessmentPlan, plan_assessment};
use crate::exit::Exit;
use crate::output::{self, LiveLine, Table};
use crate::runtime;
use product_plans::ProductPlans;

/// Carries out a command.
pub(crate) fn run(command: &Command) -> Result<Exit> {
    match command {
        Command::Collect(options) => collect(options),
        Command::Show(options) => show(options),
    }
}

fn collect(options: &SnapshotCollect) -> Result<Exit> {
    let access = &options.cluster;
    if options.output_dir.exists() {
        bail!("{} already exists; pass a new directory", options.output_dir.display());
    }
    let connected = ClusterClient::open(&access.connection)?;
    let prometheus = access.prometheus.client(options.source.trust.ca.file.clone())?;
    if prometheus.is_none() && connected.is_none() {
        bail!(
            "nothing to collect: no cluster is configured (--kubeconfig, KUBECONFIG, ~/.kube/config or a pod's service \
             account), and --prometheus is not set"
        );
    }
    let about = connected.as_ref().map(ClusterClient::about).transpose()?.unwrap_or_default();
    let running = about.image.clone();
    // With products, these options are about a product.
    let cluster_access = Some(access).filter(|_| !options.products.is_any());
    let facts = ClusterFacts {
        id: access.cluster_id.clone().or(about.id.clone()),
        version: cluster_access.and_then(|access| access.version.clone()).or(about.version.clone()),
        arch: access.arch.arch.clone().or(about.arch.clone()),
        channel: cluster_access.and_then(|access| access.channel.clone()).or(about.channel.clone()),
        kubernetes_version: connected.as_ref().and_then(|connected| connected.api_server_version().ok()),
    };
    if connected.is_none() && !options.bundle.is_empty() {
        bail!("--bundle needs a cluster (--kubeconfig, KUBECONFIG, ~/.kube/config or a pod's service account)");
    }
    let ProductPlans { plans, requests, words } = if options.no_graph {
        ProductPlans::default()
    } else if options.products.is_any() {
        product_plans::make(options, connected.as_ref(), about.id.as_ref())?
    } else {
        let planned = plan_assessment(&options.source, access, about, std::time::Duration::MAX)?;
        let planned = match &options.to {
            Some(target) => planned.toward(&target.without_build())?,
            None => planned,
        };
        ProductPlans { plans: vec![planned], ..ProductPlans::default() }
    };
    let mut taken = Snapshot { cluster: facts, ..Snapshot::new(clock::now()) };
    if let Some(connected) = &connected {
        taken.sources.push(CLUSTER.to_owned());
        let of_rules = plans.iter().flat_map(|planned| planned.plan.object_requests());
        let requests: Vec<&ObjectRequest> = of_rules.chain(&requests).collect();
        take_objects(&mut taken, &requests, &options.bundle, connected);
        let sources = ReleaseSources {
            source: &options.source,
            catalog: options.products.catalog.catalog.as_ref(),
            allowed: &options.release_hosts,
            running: running.as_deref(),
        };
        let releases = ReleaseReader::new(&sources, taken.cluster.arch.clone(), None)?;
        take_release_violations(&mut taken, &plans, &releases, connected);
    }
    if let (Some(prometheus), Some(first)) = (&prometheus, plans.first()) {
        let store_id = first.id.as_deref().filter(|_| access.shared_store);
        take_series(&mut taken, &plans, prometheus, store_id)?;
    }
    if options.redact {
        // What rules name keeps its name, or they would not find it any more.
        let of_rules = plans.iter().flat_map(|planned| planned.plan.words()).map(str::to_owned);
        let keep_names = of_rules.chain(words).collect();
        taken = snapshot::redact(&taken, &RedactOptions { keep_names, ..RedactOptions::default() })?;
    }
    snapshot::write(&taken, &options.output_dir)?;
    for omission in &taken.left_out {
        output::print_problem!(
            "not collected: {}: {}",
            output::printable(&omission.what),
            output::printable(&omission.why)
        );
    }
    if taken.left_out.iter().any(|omission| omission.why == UnreadReason::TooLarge.as_str()) {
        output::print_note!(
            "a snapshot has less room than the operator: assess the cluster itself for rules about what is too large"
        );
    }
    output::print_line!("wrote the snapshot to {}", options.output_dir.display());
    Ok(if taken.left_out.is_empty() { Exit::Yes } else { Exit::Unknown })
}

/// The objects that rules look at or that show versions of products, those of bundles, and the custom resource definitions. What may not be listed is left
/// out, and said to be.
fn take_objects(taken: &mut Snapshot, wanted: &[&ObjectRequest], bundles: &[String], connected: &ClusterClient) {
    let ClusterClient { runtime, .. } = connected;
    let collect = |requests: &[&ObjectRequest]| {
        runtime.block_on(snapshot_objects(&connected.store(), requests, &ObjectLimits::default()))
    };
    let definitions = if bundles.is_empty() { BTreeMap::new() } else { collect(&[&bundle_objects::crds()]) };
    let of_bundles = bundle_objects::find(bundles, definitions);
    let requests: Vec<&ObjectRequest> = wanted.iter().copied().chain(&of_bundles.requests).collect();
    taken.objects = collect(&requests);
    of_bundles.add_to(taken);
    for (kind, part) in &taken.objects {
        match part {
            Part::NotCollected { why } => {
                taken.left_out.push(snapshot::Omission { what: kind.to_string(), why: why.clone() });
            }
            Part::Collected(found) => {
                taken.left_out.extend(found.selection.not_read.iter().map(|unread| snapshot::Omission {
                    what: format!("{kind} {}", unread.name),
                    why: unread.why.clone(),
                }));
            }
        }
    }
    taken.crds = runtime.block_on(snapshot::crds(&connected.store(), &ObjectLimits::default()));
}

/// What the objects of releases would violate, where rules ask: results only, so that who reads the snapshot needs neither
/// the releases nor the policies.
fn take_release_violations(
    taken: &mut Snapshot,
    plans: &[AssessmentPlan],
    releases: &ReleaseReader,
    connected: &ClusterClient,
) {
    let questions: Vec<_> = plans.iter().flat_map(|planned| planned.plan.release_questions()).collect();
    let asked: Vec<&ReleaseConstraint> =
        questions.iter().filter_map(|(question, _)| question.release_constraint()).collect();
    if asked.is_empty() {
        return;
    }
    let found = connected.runtime.block_on(releases.evaluator().objects(&connected.store(), &asked));
    for (constraint, object) in asked.iter().zip(&found) {
        if let Some(why) = constraint.unevaluated_reason(object) {
            let ReleaseConstraint { kind, name, release } = constraint;
            let what = format!("violations of {kind} {name} by the objects of {}", release.version);
            taken.left_out.push(snapshot::Omission { what, why });
        }
    }
    let only = asked.iter().map(|one| NameSelector { namespace: None, name: one.object_name() }).collect();
    let selection = snapshot::Selection { only, ..snapshot::Selection::default() };
    let objects = snapshot::Objects { selection, items: found, not_served: false };
    taken.objects.insert(ReleaseConstraint::group_kind(), Part::Collected(objects));
}

/// The samples that the queries of rules look at. `store_id` is the cluster's id in a store of many clusters.
fn take_series(
    taken: &mut Snapshot,
    plans: &[AssessmentPlan],
    prometheus: &Prometheus,
    store_id: Option<&str>,
) -> Result<()> {
    let at = taken.taken_at.as_seconds().saturating_mul(1_000);
    // A snapshot is of one cluster, whoever kept its metrics: what is asked for is this cluster's.
    let of_plan = |planned: &AssessmentPlan| match store_id {
        Some(id) => planned.plan.questions_for(id),
        None => planned.plan.questions().into_iter().cloned().collect(),
    };
    let questions: Vec<Question> = plans.iter().flat_map(of_plan).collect();
    let windows = windows(questions.iter().map(Question::query), at);
    let runtime = runtime::on_this_thread()?;
    let progress = std::sync::Mutex::new(LiveLine::new());
    let shown = |done: usize, of: usize| {
        if let Ok(mut line) = progress.lock() {
            line.set(&format!("collected {done} of {of} selectors"));
        }
    };
    taken.sources.push(prometheus.shown());
    let collected = runtime.block_on(prometheus.series_of(&windows, &CollectLimits::default(), &shown))?;
    taken.set_series(collected);
    Ok(())
}

fn show(options: &SnapshotShow) -> Result<Exit> {
    let path = &options.snapshot;
    let loaded = snapshot::read(path, &Limits::default()).with_context(|| format!("cannot read {}", path.display()))?;
    let Snapshot { taken_at, cluster, sources, redacted, series, objects, left_out, .. } = &loaded.snapshot;
    let series = match series {
        Part::Collected(found) => json!({"series": found.series.iter().count(), "selectors": found.windows.len()}),
        Part::NotCollected { why } => json!({"notCollected": why}),
    };
    let objects: serde_json::Map<String, serde_json::Value> = objects
        .iter()
        .map(|(kind, part)| {
            let value = match part {
                Part::Collected(found) => json!(found.items.len()),
                Part::NotCollected { why } => json!({"notCollected": why}),
            };
            (kind.to_string(), value)
        })
        .collect();
    let left_out: Vec<_> = left_out.iter().map(|one| json!({"what": one.what, "why": one.why})).collect();
    let data = json!({
        "takenAt": taken_at, "cluster": cluster, "sources": sources, "redacted": redacted,
        "series": series, "objects": objects, "bundles": loaded.snapshot.bundles, "leftOut": left_out,
    });
    output::print_data(options.output.format, &data, || table(&data, *taken_at))?;
    Ok(if loaded.diagnostics.is_empty() { Exit::Yes } else { Exit::Unknown })
}

fn table(data: &serde_json::Value, taken_at: Timestamp) -> Table {
    let row = |name: &str, value: &serde_json::Value| {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        vec![name.to_owned(), text]
    };
    let mut rows = vec![vec!["taken".to_owned(), taken_at.to_string()]];
    for name in ["cluster", "sources", "redacted", "series", "objects", "bundles", "leftOut"] {
        rows.push(row(name, data.get(name).unwrap_or(&serde_json::Value::Null)));
    }
    output::table(&["PART", "WHAT"], rows)
}
