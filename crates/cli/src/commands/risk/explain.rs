//! `clearway risk explain`: the files, updates and rules of a risk, and with evidence whether it applies.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::sync::Arc;

use anyhow::{Result, bail};
use clearway_advice::{RiskProof, Settings, Verdict, render};
use clearway_core::suggestion::did_you_mean;
use clearway_graph::Risk;
use serde::Serialize;

use super::occurrences::{self, Declaration, RiskUpdates, UpdateRange};
use super::rule::{self, RuleText};
use crate::arguments::RiskExplain;
use crate::commands::assess::opened_evidence::OpenedEvidence;
use crate::commands::graph::{self, source};
use crate::exit::Exit;
use crate::output;

/// A risk, explained.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Explanation {
    name: String,
    message: String,
    url: String,
    /// The files; none for an answer, which does not say.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    declared: Vec<Declaration>,
    /// The updates it is on.
    on: Vec<UpdateRange>,
    /// Its rules in order of precedence (U2).
    rules: Vec<RuleText>,
    /// Whether it applies to the cluster that was named, if one was.
    #[serde(skip_serializing_if = "Option::is_none")]
    proof: Option<RiskProof>,
}

/// A risk of the name that was asked for, and where it stands.
struct RiskMatch {
    risk: Arc<Risk>,
    declared: Vec<Declaration>,
    carried: RiskUpdates,
}

/// Files that are listed for people; a risk that is declared block by block may stand in hundreds.
const FILES: usize = 8;

/// Runs the command. The exit code is that of the explanation, or of the proof if there is evidence.
pub(super) fn run(options: &RiskExplain) -> Result<Exit> {
    let given = OpenedEvidence::named(&options.evidence, &options.source.trust)?.showing_values();
    let found = found(options)?;
    let mut explained = Vec::new();
    for one in found {
        explained.push(explain(options, &given, one)?);
    }
    given.report_unreachable(explained.iter().filter_map(|one| one.proof.as_ref()));
    output::print_data(options.output.format, &explained, || {
        explained.iter().map(text).collect::<Vec<_>>().join("\n")
    })?;
    let verdicts: Vec<Verdict> =
        explained.iter().filter_map(|one| one.proof.as_ref()).map(|proof| proof.verdict).collect();
    Ok(match verdicts.as_slice() {
        [] => Exit::Yes,
        some if some.contains(&Verdict::Match) => Exit::No,
        some if some.iter().all(|verdict| *verdict == Verdict::NoMatch) => Exit::Yes,
        _ => Exit::Unknown,
    })
}

/// The risks of the name; several if their texts or rules differ.
fn found(options: &RiskExplain) -> Result<Vec<RiskMatch>> {
    let access = &options.evidence.cluster;
    let (name, channel, arch) = (options.name.as_str(), access.channel.as_deref(), access.arch.arch.as_ref());
    let mut names = BTreeSet::new();
    let mut found = Vec::new();
    match source::files_or_answer(&options.source, channel, arch)? {
        source::GraphInput::Files(inputs) => {
            let revision = graph::revision(&inputs)?;
            let arch = arch.cloned().unwrap_or_default();
            if let Some(channel) = channel {
                graph::check_channel(&revision, channel, &arch)?;
            }
            for ((own, _), risk) in occurrences::risks(&revision) {
                if own == name {
                    let carried = occurrences::risk_updates(&revision, &risk, channel, &arch);
                    found.push(RiskMatch { declared: occurrences::declared(&revision, &risk), risk, carried });
                }
                names.insert(own);
            }
        }
        source::GraphInput::Answer(answer) => {
            let view = source::of_answer(answer, channel, arch)?;
            let risks = view.graph.conditional().iter().flat_map(|group| group.risks.iter());
            for risk in risks {
                names.insert(risk.name().to_owned());
                if risk.name() == name && !found.iter().any(|known: &RiskMatch| known.risk == *risk) {
                    let mut carried = RiskUpdates::default();
                    carried.add(&view.name, &view.graph, risk);
                    found.push(RiskMatch { risk: Arc::clone(risk), declared: Vec::new(), carried });
                }
            }
        }
    }
    if found.is_empty() {
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let hint = did_you_mean(name, names.iter().copied());
        bail!("risk `{name}` not found; the risks are {}{hint}", graph::listing(&names));
    }
    found.sort_by(|one, other| one.risk.order(&other.risk));
    Ok(found)
}

fn explain(options: &RiskExplain, given: &OpenedEvidence<'_>, found: RiskMatch) -> Result<Explanation> {
    let RiskMatch { risk, declared, carried } = found;
    let count = risk.rules().len();
    let fence = options.evidence.cluster.queries.fence()?;
    let settings = Settings { max_age: options.evidence.time.max_age, fence, ..Settings::default() };
    let rules = risk.rules().iter().enumerate().map(|(at, one)| rule::explained(one, at + 1 == count, &settings));
    let proof = if given.is_any() {
        let plan = super::plan_of(&risk, &settings)?;
        let id = options.evidence.cluster.cluster_id.clone().or(given.about()?.id);
        Some(
            given
                .evaluate(&plan, id.as_deref(), |evidence, now| super::evaluate(&risk, evidence, now, &settings))??,
        )
    } else {
        None
    };
    Ok(Explanation {
        name: risk.name().to_owned(),
        message: risk.message().to_owned(),
        url: risk.url().to_owned(),
        declared,
        on: carried.ranges(),
        rules: rules.collect::<Result<_>>()?,
        proof: proof.map(Arc::unwrap_or_clone),
    })
}

fn text(one: &Explanation) -> String {
    let mut out = format!("{}\n  {}\n", one.name, output::printable(&one.message));
    // Writing into a text cannot fail.
    let mut line = |indent: usize, name: &str, what: &str| {
        let mut lines = what.lines().map(output::printable);
        let width = 10;
        let _ = writeln!(out, "{:indent$}{name:<width$} {}", "", lines.next().unwrap_or_default());
        for rest in lines {
            let _ = writeln!(out, "{:indent$}{:width$} {rest}", "", "");
        }
    };
    line(2, "more at", &one.url);
    for Declaration { file, to, from, fixed_in } in one.declared.iter().take(FILES) {
        let fixed = fixed_in.as_ref().map(|version| format!(", fixed in {version}")).unwrap_or_default();
        line(2, "declared", &format!("{file}: from {from} to {to}{fixed}"));
    }
    if one.declared.len() > FILES {
        line(2, "declared", &format!("and in {} more files", one.declared.len() - FILES));
    }
    if one.on.is_empty() {
        line(2, "on", "no update of any channel");
    }
    for UpdateRange { from, to, updates, channels } in &one.on {
        let many = if *updates == 1 { "1 update".to_owned() } else { format!("{updates} updates") };
        line(2, "on", &format!("{from} to {to}, {many}, in {}", channels.join(", ")));
    }
    if one.rules.is_empty() {
        line(2, "rules", "none: the risk applies to every cluster");
    }
    for (number, rule) in (1..).zip(&one.rules) {
        let kind = if rule.kind.is_empty() { "(no type)" } else { &rule.kind };
        line(2, &format!("rule {number}"), kind);
        let texts = [
            ("asks", Some(&rule.asks).filter(|asks| !asks.is_empty())),
            ("match", rule.matches.as_ref()),
            ("no match", rule.no_match.as_ref()),
            ("unknown", rule.unknown.as_ref()),
            ("then", rule.then.as_ref().filter(|_| rule.unknown.is_some() || rule.matches.is_none())),
            ("fence", rule.fence.as_ref()),
            ("never", rule.never.as_ref()),
        ];
        for (at, (name, what)) in texts.into_iter().enumerate() {
            if let Some(what) = what {
                line(4, name, what);
            }
            if at == 0 {
                rule.needs.iter().for_each(|need| line(4, "needs", need));
            }
        }
        rule.notes.iter().for_each(|note| line(4, "note", note));
    }
    if let Some(proof) = &one.proof {
        out.push_str("\nOn this cluster:\n\n");
        out.push_str(&render::risk(proof));
    }
    out
}
