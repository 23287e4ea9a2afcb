//! Tables of a fleet and of its changes.

use clearway_advice::fleet::{Change, FleetReport, RiskMatchCounts, StrandedVersion, UpdateChange};
use clearway_graph::MissingPath;

use crate::output::{Document, Table, table};

/// Versions of one list that are shown.
const SHOWN: usize = 3;

/// The report under one graph.
pub(super) fn report(report: &FleetReport) -> Document {
    let or_none = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
    let clusters = report.clusters.iter().map(|row| {
        let updates = row.updates;
        vec![
            row.member.name.clone(),
            row.member.version.to_string(),
            or_none(row.member.channel.clone()),
            row.state.to_string(),
            updates.recommended.to_string(),
            updates.not_recommended.to_string(),
            updates.unknown.to_string(),
            or_none(row.newest_recommended.as_ref().map(ToString::to_string)),
        ]
    });
    let head = ["CLUSTER", "VERSION", "CHANNEL", "STATE", "TRUE", "FALSE", "UNKNOWN", "NEWEST RECOMMENDED"];
    let names: Vec<String> = report.clusters.iter().map(|row| row.member.name.clone()).collect();
    let mut sections = vec![table(&head, clusters)];
    if !report.targets.is_empty() {
        let row = |target: &clearway_advice::fleet::TargetCounts| {
            let clusters = target.clusters;
            let counts = [clusters.recommended, clusters.not_recommended, clusters.unknown];
            std::iter::once(target.version.to_string()).chain(counts.map(|count| count.to_string())).collect()
        };
        sections.push(table(&["TO", "TRUE", "FALSE", "UNKNOWN"], report.targets.iter().map(row)));
    }
    if !report.risks.is_empty() {
        let row = |risk: &clearway_advice::fleet::RiskCounts| {
            let counts = [risk.matching, risk.no_match, risk.unknown];
            std::iter::once(risk.name.clone()).chain(counts.map(|count| count.to_string())).collect()
        };
        sections.push(table(&["RISK", "MATCH", "NO MATCH", "UNKNOWN"], report.risks.iter().map(row)));
    }
    sections.extend(stranded(&report.stranded_versions));
    Document::join(sections.into_iter().map(Document::from)).named(names)
}

/// What a proposed graph does.
pub(super) fn change(change: &Change) -> Document {
    let mut sections: Vec<Document> = Vec::new();
    let names: Vec<String> = change.clusters.iter().map(|row| row.member.name.clone()).collect();
    if change.clusters.is_empty() {
        sections.push("nothing changes for any cluster\n".to_owned().into());
    } else {
        let rows = change.clusters.iter().map(|row| {
            vec![
                row.member.name.clone(),
                row.member.version.to_string(),
                row.member.channel.clone().unwrap_or_else(|| "-".to_owned()),
                row.published.to_string(),
                row.proposed.to_string(),
                updates(&row.newly_blocked),
                updates(&row.newly_unknown),
                updates(&row.newly_recommended),
            ]
        });
        let head = [
            "CLUSTER",
            "VERSION",
            "CHANNEL",
            "PUBLISHED",
            "PROPOSED",
            "NEWLY BLOCKED",
            "NEWLY UNKNOWN",
            "NEWLY RECOMMENDED",
        ];
        sections.push(table(&head, rows).into());
    }
    if !change.risks.is_empty() {
        let counts = |applies: Option<RiskMatchCounts>| {
            let shown =
                |RiskMatchCounts { matching, no_match, unknown }| format!("{matching} / {no_match} / {unknown}");
            applies.map_or_else(|| "-".to_owned(), shown)
        };
        let row = |risk: &clearway_advice::fleet::RiskChange| {
            vec![risk.name.clone(), counts(risk.published), counts(risk.proposed)]
        };
        let head = ["RISK", "PUBLISHED (MATCH / NO MATCH / UNKNOWN)", "PROPOSED"];
        sections.push(table(&head, change.risks.iter().map(row)).into());
    }
    sections.extend(stranded(&change.newly_stranded_versions).map(Document::from));
    Document::join(sections).named(names)
}

/// The versions that only a risk leads out of, if there are any.
fn stranded(versions: &[StrandedVersion]) -> Option<Table> {
    let row = |version: &StrandedVersion| {
        let missing = match version.missing {
            MissingPath::ToNewestPatch => "the newest patch",
            MissingPath::OutOfMinor => "a later minor version",
            MissingPath::Both => "the newest patch, a later minor version",
        };
        let channel = version.channel.clone().unwrap_or_else(|| "-".to_owned());
        vec![version.version.to_string(), channel, version.clusters.to_string(), missing.to_owned()]
    };
    let head = ["STRANDED VERSION", "CHANNEL", "CLUSTERS", "CANNOT REACH WITHOUT A RISK"];
    (!versions.is_empty()).then(|| table(&head, versions.iter().map(row)))
}

/// The newest updates of a list, each with the risks that speak against it.
fn updates(updates: &[UpdateChange]) -> String {
    let one = |update: &UpdateChange| match update.risks.as_slice() {
        [] => update.version.to_string(),
        risks => format!("{} ({})", update.version, risks.join(", ")),
    };
    let mut shown: Vec<String> = updates.iter().take(SHOWN).map(one).collect();
    match updates.len().saturating_sub(SHOWN) {
        0 if updates.is_empty() => return "-".to_owned(),
        0 => {}
        more => shown.push(format!("and {more} more")),
    }
    shown.join(", ")
}
