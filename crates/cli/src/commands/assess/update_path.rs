//! `clearway assess --to V` where V is more than one update away: the update paths, or why there is none.

use anyhow::{Result, bail};
use clearway_advice::evidence::Evidence;
use clearway_advice::{PathAssessment, RiskProof, Settings, Status, assess_path, render};
use clearway_core::{Arch, Timestamp, Version};
use clearway_graph::{Explanation, NoPath, Paths, Statement, Verdict, paths};
use serde::Serialize;
use serde_json::json;

use super::Answer;
use crate::commands::graph::{explain, source::View};
use crate::exit::Exit;

/// The basis of a path, printed before it.
const TODAY: &str =
    "Only the first update starts from the cluster as it is; later ones are evaluated with today's evidence.";

/// The ways to a version, assessed.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct UpdatePaths {
    from: Version,
    to: Version,
    /// The best of what the ways say: True before Unknown before False.
    status: Status,
    /// The fewest updates.
    shortest: PathAssessment,
    /// The fewest distinct risks, where that is another way.
    #[serde(skip_serializing_if = "Option::is_none")]
    fewest_risks: Option<PathAssessment>,
    /// Whether no way meets fewer risks than the last one here; the search for it has a bound.
    exact: bool,
}

impl UpdatePaths {
    pub(super) fn assess(found: &Paths, evidence: &dyn Evidence, now: Timestamp, settings: &Settings) -> Option<Self> {
        let (first, last) = (found.shortest.hops.first()?, found.shortest.hops.last()?);
        let other = Some(&found.fewest_risks.path).filter(|path| **path != found.shortest);
        let assessed = |path| assess_path(path, evidence, now, settings);
        let (shortest, fewest_risks) = (assessed(&found.shortest), other.map(assessed));
        let says =
            |status| shortest.status == status || fewest_risks.as_ref().is_some_and(|path| path.status == status);
        let status = [Status::True, Status::Unknown].into_iter().find(|status| says(*status)).unwrap_or(Status::False);
        let (from, to) = (first.from.clone(), last.to.clone());
        Some(UpdatePaths { from, to, status, shortest, fewest_risks, exact: found.fewest_risks.exact })
    }

    /// The risks of every update of the ways.
    pub(super) fn risks(&self) -> impl Iterator<Item = &RiskProof> {
        let hops = [Some(&self.shortest), self.fewest_risks.as_ref()].into_iter().flatten().flat_map(|path| &path.hops);
        hops.flat_map(|hop| &hop.risks).map(AsRef::as_ref)
    }

    pub(super) fn print(&self, answer: &Answer<'_>) -> Result<Exit> {
        answer.print(self, super::status_exit(self.status), || self.text())
    }

    fn text(&self) -> String {
        let UpdatePaths { from, to, shortest, fewest_risks, .. } = self;
        let hops = shortest.hops.len();
        let fewest = match fewest_risks {
            Some(path) => {
                let (found, hops) = (if self.exact { "" } else { " that were found" }, path.hops.len());
                format!("The path with the fewest risks{found}, in {hops} updates:\n\n{}", render::path(path))
            }
            None if self.exact => "No path has fewer risks.\n".to_owned(),
            None => "No path with fewer risks was found; there may be one.\n".to_owned(),
        };
        let shortest = render::path(shortest);
        format!("{from} to {to} takes {hops} updates. {TODAY}\n\nThe shortest path:\n\n{shortest}\n{fewest}")
    }
}

/// The ways, or an answer that there are none.
pub(super) fn find_paths(
    view: &View,
    from: &Version,
    to: &Version,
    answer: &Answer<'_>,
) -> Result<Result<Paths, Exit>> {
    let why = match paths(&view.graph, from, to) {
        Ok(found) => return Ok(Ok(found)),
        Err(why) => why,
    };
    let arch = view.arch.clone().unwrap_or_default();
    if !matches!(*why, NoPath::Unreachable { .. }) {
        bail!("there is no update from {from} to {to}: {why}{}", elsewhere(view, to, &arch));
    }
    let direct = view.revision.as_ref().and_then(|revision| revision.explain(from, to, &arch));
    let said = direct.filter(|direct| is_told(direct)).map(|direct| explain::text(&direct));
    let data = json!({"from": from, "to": to, "why": *why, "explanation": said});
    let exit = answer.print(&data, Exit::No, || {
        let said = said.as_ref().map(|said| format!("\n{said}\n")).unwrap_or_default();
        format!("There is no path: {why}.\n{said}")
    })?;
    Ok(Err(exit))
}

/// Whether a file refers to an update: it is listed, or removed.
fn is_told(direct: &Explanation<'_>) -> bool {
    !matches!(direct.verdict, Verdict::NotListed)
        || direct.said.iter().any(|said| matches!(said, Statement::Blocked(_)))
}

/// Where a version is that this channel does not hold.
fn elsewhere(view: &View, version: &Version, arch: &Arch) -> String {
    let Some(revision) = &view.revision else { return String::new() };
    if view.graph.find(version).is_some() {
        return String::new();
    }
    let holds = |channel: &&str| revision.graph(channel, arch).find(version).is_some();
    let channels: Vec<&str> = revision.channels().map(|channel| channel.name.as_str()).filter(holds).collect();
    if channels.is_empty() {
        return format!(", and no channel has it for {arch}");
    }
    format!(", only in {}: pass one of them with --channel", crate::commands::graph::listing(&channels))
}
