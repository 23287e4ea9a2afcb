//! `clearway upgrade plan --to V`: the update path to a version, with the risks of each update.
//!
//! The graph is that of the object's upstream. Nothing is asked of the cluster beyond its object: what that says about an
//! update from here is taken over word for word, and where it settles whether a risk applies, that holds for the later
//! hops too, as far as the cluster does not change until then. The rest is Unknown, and `clearway assess` can tell more.

use std::fmt::Write as _;

use anyhow::{Context as _, Result, bail};
use clearway_advice::evidence::RecordedEvidence;
use clearway_advice::recommend::reasons;
use clearway_advice::{HopAssessment, Settings, Verdict, assess_path};
use clearway_conditions::Status as Word;
use clearway_core::{Address, Arch, Version};
use clearway_graph::{NoPath, Path as Way, Risk, paths};
use clearway_sources::clock;
use clearway_update::api::{ConditionalUpdateRisk, MULTI, RECOMMENDED, Status};
use serde::Serialize;

use crate::arguments::{DataFormat, GraphSource, UpgradePlan};
use crate::commands::graph::source::{self, View};
use crate::commands::upgrade::condition_text::{Statement, clean, indented};
use crate::commands::upgrade::object::{FetchedObject, Subject};
use crate::commands::upgrade::updates::known_updates;
use crate::exit::Exit;
use crate::output::{self, Document, printable};

/// What is printed as JSON; the form is documented at the head of the module above.
#[derive(Debug, Serialize)]
struct Plan<'a> {
    object: &'a Subject,
    from: &'a Version,
    to: &'a Version,
    channel: &'a str,
    /// The best of what the ways say: True before Unknown before False.
    status: Word,
    ways: Vec<PlannedPath>,
    /// Whether no way meets fewer risks than the last one here.
    exact: bool,
}

#[derive(Debug, Serialize)]
struct PlannedPath {
    name: &'static str,
    /// The least of what the hops say: False before Unknown before True.
    status: Word,
    hops: Vec<Hop>,
}

#[derive(Debug, Serialize)]
struct Hop {
    from: Version,
    to: Version,
    /// Whether it has to be looked at again once the cluster is there.
    provisional: bool,
    /// Who says so: the object, or the graph with what the object says about its risks.
    basis: &'static str,
    recommended: Statement,
    risks: Vec<HopRisk>,
}

#[derive(Debug, Serialize)]
struct HopRisk {
    name: String,
    url: String,
    message: String,
    verdict: Verdict,
}

/// Runs the command.
pub(crate) fn run(options: &UpgradePlan, subject: &Subject, found: &FetchedObject, format: DataFormat) -> Result<Exit> {
    let (spec, status) = (&found.object.spec, &found.status);
    let from: Version =
        status.desired.version.parse().with_context(|| format!("{} has no version in its status", subject.key()))?;
    let (from, to) = (from.without_build(), options.to.without_build());
    let channel = options.channel.as_deref().or(spec.channel.as_deref());
    let channel = channel.with_context(|| format!("{} has no channel; pass --channel", subject.key()))?;
    let view = view(options, subject, found, channel)?;
    let settings = Settings { fence: options.queries.fence()?, ..Settings::default() };
    let found_ways = match paths(&view.graph, &from, &to) {
        Ok(found) => found,
        Err(why) if matches!(*why, NoPath::Unreachable { .. }) => {
            output::print_data(format, &why, || Document::from(format!("There is no path: {why}.")).named([]))?;
            return Ok(Exit::No);
        }
        Err(why) => bail!("{why}; the channel is {}", printable(channel)),
    };
    let told = ObjectVerdicts { status, settings };
    let mut ways = vec![told.plan_path("shortest", &found_ways.shortest, spec)];
    if found_ways.fewest_risks.path != found_ways.shortest {
        ways.push(told.plan_path("fewestRisks", &found_ways.fewest_risks.path, spec));
    }
    let says = |status: Word| ways.iter().any(|way| way.status == status);
    let best = [Word::True, Word::Unknown].into_iter().find(|status| says(*status)).unwrap_or(Word::False);
    let exact = found_ways.fewest_risks.exact;
    let plan = Plan { object: subject, from: &from, to: &to, channel, status: best, ways, exact };
    output::print_data(format, &plan, || {
        let versions = plan.ways.first().into_iter().flat_map(|way| &way.hops).map(|hop| hop.to.to_string());
        Document::from(text(&plan)).named(versions)
    })?;
    if format.is_text() {
        advise(&plan, subject);
    }
    Ok(match best {
        Word::True => Exit::Yes,
        Word::False => Exit::No,
        Word::Unknown => Exit::Unknown,
    })
}

/// The channel, of the graph that was named, or of the upstream of the object.
fn view(options: &UpgradePlan, subject: &Subject, found: &FetchedObject, channel: &str) -> Result<View> {
    let (named, multi) = (options.arch.arch.clone(), || multi(&found.status));
    if let Some(graph) = options.graph.clone() {
        // A directory or a file is not asked for an architecture that only the object names.
        let is_asked = graph.address().is_some() || graph.image().is_some();
        let arch = named.or_else(|| multi().filter(|_| is_asked));
        let (trust, registries) = (options.trust.clone(), options.registries.clone());
        return source::view(&GraphSource { graph, rev: None, trust, registries }, Some(channel), arch.as_ref());
    }
    let upstream = found.object.spec.upstream.as_deref().map(Address::from);
    let upstream = upstream.with_context(|| format!("{} has no upstream; pass --graph", subject.key()))?;
    source::refuse_registries(&options.registries)?;
    source::view_of_upstream(&upstream, &options.trust, channel, named.or_else(multi).as_ref())
}

/// The architecture that the object says, if it is that of releases for several.
fn multi(status: &Status) -> Option<Arch> {
    (status.desired.architecture.as_deref() == Some(MULTI)).then(|| "multi".parse().ok()).flatten()
}

/// What the object says about risks.
struct ObjectVerdicts<'s> {
    status: &'s Status,
    settings: Settings,
}

impl ObjectVerdicts<'_> {
    fn plan_path(&self, name: &'static str, way: &Way, spec: &clearway_update::api::Spec) -> PlannedPath {
        let cluster_id = Some(spec.cluster_id.clone()).filter(|id| !id.is_empty());
        let nobody = RecordedEvidence { cluster_id, ..RecordedEvidence::default() };
        let assessed = assess_path(way, &nobody, clock::now(), &self.settings);
        let hops: Vec<Hop> =
            way.hops.iter().zip(assessed.hops).map(|(hop, assessed)| self.hop(&hop.risks, assessed)).collect();
        let says = |status: Word| hops.iter().any(|hop| hop.recommended.status == status);
        let status = [Word::False, Word::Unknown].into_iter().find(|status| says(*status)).unwrap_or(Word::True);
        PlannedPath { name, status, hops }
    }

    fn hop(&self, carried: &[std::sync::Arc<Risk>], hop: HopAssessment) -> Hop {
        let risks: Vec<HopRisk> = hop
            .risks
            .iter()
            .map(|proof| {
                let said = carried.iter().find(|risk| risk.name() == proof.name).and_then(|risk| self.verdict(risk));
                HopRisk {
                    name: proof.name.clone(),
                    url: proof.url.clone(),
                    message: proof.message.clone(),
                    verdict: said.unwrap_or(proof.verdict),
                }
            })
            .collect();
        let graph = statement(&risks);
        let (basis, recommended) = match self.said(&hop, &risks) {
            Some(said) => ("object", said),
            None => ("graph", graph),
        };
        Hop { from: hop.from, to: hop.to, provisional: hop.provisional, basis, recommended, risks }
    }

    /// What the object says about an update from here; nothing if the graph has risks by now that it does not know of.
    fn said(&self, hop: &HopAssessment, risks: &[HopRisk]) -> Option<Statement> {
        let version = hop.to.to_string();
        let known = known_updates(self.status)
            .into_iter()
            .find(|known| !hop.provisional && known.release.version == version)?;
        let covers = |risk: &HopRisk| known.risks.contains(&risk.name.as_str());
        (!known.is_recommended() || risks.iter().all(covers)).then_some(known.recommended)
    }

    /// Whether a risk applies, if what the object says about an update that carries the same one settles it.
    fn verdict(&self, risk: &Risk) -> Option<Verdict> {
        let same = ConditionalUpdateRisk::from(risk);
        for update in &self.status.conditional_updates {
            let carries =
                |known: &&ConditionalUpdateRisk| known.name == same.name && known.matching_rules == same.matching_rules;
            let (Some(known), Some(said)) = (update.risks.iter().find(carries), update.conditions.get(RECOMMENDED))
            else {
                continue;
            };
            let paragraph = format!("{} {}", known.message, known.url);
            match said.status {
                // Accepted risks may apply all the same.
                Word::True if said.reason != reasons::ACCEPTED => return Some(Verdict::NoMatch),
                Word::False
                    if update.risks.len() == 1
                        || said.reason == known.name
                        || said.message.split("\n\n").any(|said| said.trim() == paragraph) =>
                {
                    return Some(Verdict::Match);
                }
                _ => {}
            }
        }
        None
    }
}

/// What the verdicts on the risks of a hop come to, for a hop that the object says nothing about.
fn statement(risks: &[HopRisk]) -> Statement {
    let of = |verdict: Verdict| risks.iter().filter(move |risk| risk.verdict == verdict).map(|risk| risk.name.as_str());
    let (apply, clear): (Vec<&str>, usize) = (of(Verdict::Match).collect(), of(Verdict::NoMatch).count());
    let untold: Vec<&str> = of(Verdict::Unknown).chain(of(Verdict::Pending)).collect();
    let (status, reason, message) = match (apply.as_slice(), untold.as_slice()) {
        ([], []) if clear == 0 => (Word::True, reasons::UNCONDITIONAL, "No known risks.".to_owned()),
        ([], []) => (Word::True, reasons::NOT_EXPOSED, "None of its risks applies to this cluster.".to_owned()),
        ([], some) => {
            let message = format!("The status does not show whether {} applies to this cluster.", some.join(", "));
            (Word::Unknown, reasons::EVALUATION_FAILED, message)
        }
        ([one], []) => (Word::False, *one, format!("{one} applies to this cluster.")),
        (some, _) => (Word::False, reasons::MULTIPLE, format!("These apply to this cluster: {}.", some.join(", "))),
    };
    Statement { status, reason: reason.to_owned(), message }
}

fn text(plan: &Plan<'_>) -> String {
    let Plan { from, to, channel, ways, exact, .. } = plan;
    let mut out = String::new();
    for way in ways {
        let (count, channel) = (way.hops.len(), printable(channel));
        let updates = if count == 1 { "1 update".to_owned() } else { format!("{count} updates") };
        let heading = match way.name {
            "shortest" => format!("{from} to {to} takes {updates} in {channel}:\n"),
            _ => format!(
                "\nThe path with the fewest risks{} takes {updates}:\n",
                if *exact { "" } else { " that was found" }
            ),
        };
        out.push_str(&heading);
        for (number, hop) in (1..).zip(&way.hops) {
            out.push_str(&hop_text(number, hop));
        }
    }
    out
}

fn hop_text(number: usize, hop: &Hop) -> String {
    let words = match hop.recommended.status {
        Word::True => "recommended",
        Word::False => "not recommended",
        Word::Unknown => "unknown",
    };
    let reason = printable(&hop.recommended.reason);
    let reason = if reason.is_empty() { String::new() } else { format!(" ({reason})") };
    let mut out = format!("\n  {number}. {} to {}: {words}{reason}\n", hop.from, hop.to);
    if hop.provisional {
        out.push_str("     with today's evidence\n");
    }
    for risk in &hop.risks {
        let verdict = match risk.verdict {
            Verdict::Match => "applies to this cluster",
            Verdict::NoMatch => "does not apply",
            Verdict::Unknown | Verdict::Pending => "unknown whether it applies",
        };
        let _ = writeln!(out, "     {}: {verdict}", printable(&risk.name));
        if risk.verdict != Verdict::NoMatch {
            let text = format!("{} {}", clean(&risk.message), printable(&risk.url));
            let _ = writeln!(out, "       {}", indented(text.trim_end(), 7));
        }
    }
    out
}

/// What a plan rests on, and what to do first; on standard error.
fn advise(plan: &Plan<'_>, subject: &Subject) {
    let way = plan.ways.iter().rev().find(|way| way.status == plan.status);
    let Some((way, first)) = way.and_then(|way| Some((way, way.hops.first()?))) else { return };
    if way.hops.len() > 1 || way.hops.iter().any(|hop| hop.recommended.status == Word::Unknown) {
        output::print_note!(
            "whether a risk applies is taken from the status of the {} for the next update; check again before each later update. `clearway assess --to {}` evaluates the risks",
            subject.kind(),
            plan.to
        );
    }
    let flag = if first.recommended.status == Word::True { "" } else { " --allow-not-recommended" };
    output::print_note!("start with `{} --to {}{flag}`", subject.command(), first.to);
}
