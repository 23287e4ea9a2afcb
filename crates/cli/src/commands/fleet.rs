//! `clearway fleet`: the update status of many clusters, and the effect of a graph change.

mod cluster_list;
mod prepared_graph;
mod prometheus;
mod show;
mod snapshots;

use std::collections::BTreeSet;

use anyhow::{Result, bail};
use clearway_advice::Settings;
use clearway_advice::fleet::{Change, ClusterAssessment, FleetReport, Member, UnusableEvidence};
use serde::Serialize;

use crate::arguments::{AsOf, Fleet, FleetAssess, FleetDiff, FleetEvidence, GraphSource};
use crate::commands::graph::source::channels::Channels;
use crate::exit::Exit;
use crate::output;
use prepared_graph::PreparedGraph;

/// Carries out a command.
pub(crate) fn run(command: &Fleet) -> Result<Exit> {
    match command {
        Fleet::Assess(options) => assess(options),
        Fleet::Diff(options) => diff(options),
    }
}

/// The clusters with how they stand under each of some graphs, and the evidence that could not be used.
#[derive(Default)]
struct FleetAssessments<const GRAPHS: usize> {
    clusters: Vec<(Member, [ClusterAssessment; GRAPHS])>,
    refused: Vec<UnusableEvidence>,
    /// Why the store could not be asked something, if it could not be reached.
    unreachable: BTreeSet<String>,
}

/// A graph as it is named in the output.
#[derive(Serialize)]
struct GraphLabel {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    revision: Option<String>,
}

fn assess(options: &FleetAssess) -> Result<Exit> {
    #[derive(Serialize)]
    struct Data<'p> {
        graph: GraphLabel,
        #[serde(flatten)]
        report: &'p FleetReport,
    }
    let graph = Channels::open(&options.source)?;
    let named = label_graph(&graph);
    let FleetAssessments { clusters, refused, unreachable } =
        assess_clusters(&options.source, &options.evidence, [graph])?;
    let clusters = clusters.into_iter().map(|(member, [standing])| (member, standing)).collect();
    let report = FleetReport::of(clusters, refused);
    let data = Data { graph: named, report: &report };
    output::print_data(options.output.format, &data, || show::report(&report))?;
    print_refused(&report.refused);
    let summary = report.summary;
    output::print_note!(
        "{} clusters: {} recommended, {} newest, {} unknown, {} stranded, {} absent; {} refused",
        summary.clusters,
        summary.recommended,
        summary.newest,
        summary.unknown,
        summary.stranded,
        summary.absent,
        summary.refused
    );
    Ok(if !unreachable.is_empty() {
        Exit::Unknown
    } else if summary.stranded + summary.absent > 0 {
        Exit::No
    } else if summary.unknown + summary.refused > 0 {
        Exit::Unknown
    } else {
        Exit::Yes
    })
}

fn diff(options: &FleetDiff) -> Result<Exit> {
    #[derive(Serialize)]
    struct Data<'c> {
        published: GraphLabel,
        proposed: GraphLabel,
        #[serde(flatten)]
        change: &'c Change,
    }
    let proposed = Channels::open(&options.source)?;
    let published = Channels::from_name(&options.source, &options.against)?;
    let names = (label_graph(&published), label_graph(&proposed));
    let FleetAssessments { clusters, refused, unreachable } =
        assess_clusters(&options.source, &options.evidence, [published, proposed])?;
    let clusters = clusters.into_iter().map(|(member, [published, proposed])| (member, published, proposed));
    let change = Change::of(clusters.collect(), refused);
    let head = format!("From {} (published) to {} (proposed)\n", names.0.name, names.1.name);
    let data = Data { published: names.0, proposed: names.1, change: &change };
    output::print_data(options.output.format, &data, || show::change(&change).below(&head))?;
    print_refused(&change.refused);
    let summary = change.summary;
    output::print_note!(
        "{} clusters, {} change: {} newly blocked, {} newly unknown, {} newly recommended, {} newly stranded, {} freed; \
         {} refused",
        summary.clusters,
        summary.changed,
        summary.newly_blocked,
        summary.newly_unknown,
        summary.newly_recommended,
        summary.newly_stranded,
        summary.freed,
        summary.refused
    );
    Ok(if !unreachable.is_empty() {
        Exit::Unknown
    } else if change.blocks() {
        Exit::No
    } else if summary.newly_unknown + summary.refused > 0 {
        Exit::Unknown
    } else {
        Exit::Yes
    })
}

fn label_graph(channels: &Channels) -> GraphLabel {
    GraphLabel { name: channels.name.clone(), revision: channels.revision() }
}

/// Assesses every cluster under every graph.
fn assess_clusters<const GRAPHS: usize>(
    source: &GraphSource,
    evidence: &FleetEvidence,
    graphs: [Channels; GRAPHS],
) -> Result<FleetAssessments<GRAPHS>> {
    let settings = Settings { max_age: evidence.time.max_age, fence: evidence.queries.fence()?, ..Settings::default() };
    let grounds = graphs.map(|channels| PreparedGraph::new(channels, settings.clone()));
    let assembled = match evidence.prometheus.client(source.trust.ca.file.clone())? {
        Some(_) if evidence.time.as_of == Some(AsOf::Capture) => {
            bail!("--as-of snapshot needs --snapshots")
        }
        Some(prometheus) => prometheus::assess_clusters(prometheus, evidence, &grounds)?,
        None => snapshots::assess_clusters(evidence, &grounds)?,
    };
    for why in &assembled.unreachable {
        output::print_problem!("{}", output::printable(why));
    }
    if assembled.clusters.is_empty() {
        print_refused(&assembled.refused);
        bail!("no cluster could be assessed");
    }
    Ok(assembled)
}

/// Names on standard error what could not be used.
fn print_refused(refused: &[UnusableEvidence]) {
    for one in refused {
        output::print_problem!("{}: {}", output::printable(&one.name), output::printable(&one.why));
    }
}
