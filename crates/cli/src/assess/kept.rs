//! Evidence from a snapshot that was taken earlier: what was not collected is not known, and never "not there".

use std::path::Path;

use anyhow::{Context as _, Result};
use clearway_advice::evidence::{
    Evidence, Failure, FailureClass, ObjectKind, Objects, Question, Reply, Snapshot as Series,
};
use clearway_advice::{Assessment, Plan};
use clearway_core::diagnostic::terminal;
use clearway_core::{Limits, Timestamp};
use clearway_promql::eval::Value;
use clearway_sources::prometheus::windows;
use clearway_sources::snapshot::{self, ClusterFacts, Part, Selection, Snapshot};

use super::cluster::About;
use crate::output;

/// A snapshot, and what it goes by.
pub(crate) struct Kept {
    snapshot: Snapshot,
    name: String,
    objects: Objects,
    /// Whether its series are of a store of many clusters, and carry the cluster's id.
    shared_store: bool,
}

/// Reads a snapshot, and tells on standard error what is odd about it.
pub(super) fn read(path: &Path, shared_store: bool) -> Result<Kept> {
    let shown = path.display();
    let loaded = snapshot::read(path, &Limits::default()).with_context(|| format!("{shown} cannot be read"))?;
    // The file that the commands of a proof can read.
    let name = if path.is_dir() { path.join("series.snap").display().to_string() } else { shown.to_string() };
    for diagnostic in &loaded.diagnostics {
        anstream::eprintln!("{}\n", terminal::render(diagnostic, output::colour()));
    }
    Ok(of(loaded.snapshot, &shown.to_string(), name, shared_store))
}

/// A snapshot as evidence: the place it stands in, and the file there with its series.
pub(crate) fn of(snapshot: Snapshot, shown: &str, name: String, shared_store: bool) -> Kept {
    let mut objects = Objects::new(snapshot.taken_at, shown.to_string(), false);
    for (kind, part) in &snapshot.objects {
        let Part::Collected(found) = part else { continue };
        // What a snapshot leaves out of an object is not known to be absent from it; and some objects of a kind say
        // nothing about the others.
        let is_whole = !(kind.group.is_empty() && kind.kind == "ConfigMap");
        if is_whole && found.selection == Selection::default() {
            objects.looked_for(ObjectKind { group: kind.group.clone(), kind: kind.kind.clone() });
            for item in &found.items {
                objects.insert(item.clone());
            }
        }
    }
    Kept { snapshot, name, objects, shared_store }
}

impl Kept {
    pub(super) fn about(&self) -> About {
        let ClusterFacts { id, version, arch, channel } = self.snapshot.cluster.clone();
        About { version, channel, arch, id }
    }

    pub(super) fn assess(&self, plan: &Plan, now: Option<Timestamp>) -> Assessment {
        plan.assess(self, now.unwrap_or(self.snapshot.taken_at))
    }
}

impl Evidence for Kept {
    fn promql(&self, question: &Question) -> Reply<Value> {
        let unknown = |why: String| Reply::Failed(Failure::new(FailureClass::Absent, why));
        let taken_at = self.snapshot.taken_at;
        match &self.snapshot.series {
            Part::NotCollected { why } => unknown(format!("The snapshot holds no series: {why}")),
            Part::Collected(found) => {
                let wanted = windows([question.query()], taken_at.as_seconds().saturating_mul(1_000));
                match wanted.iter().find(|window| !found.covers(window)) {
                    Some(window) => {
                        unknown(format!("The snapshot was taken without `{}`.", output::printable(&window.selector)))
                    }
                    None => Series::new(&found.series, taken_at, &self.name).promql(question),
                }
            }
        }
    }

    fn objects(&self, kind: &ObjectKind) -> Reply<Vec<&serde_json::Value>> {
        self.objects.reply(kind)
    }

    fn cluster_id(&self) -> Option<&str> {
        // A redacted id is another one, and would be given another turn.
        self.snapshot.cluster.id.as_deref().filter(|_| !self.snapshot.redacted)
    }

    fn store_id(&self) -> Option<&str> {
        // Redacting replaces the id in the series too.
        self.snapshot.cluster.id.as_deref().filter(|_| self.shared_store)
    }
}
