//! Evidence from a snapshot that was taken earlier: what was not collected is not known, and never "not there".
//!
//! An assessment as of the snapshot's time has the bytes of one of the live cluster as of that time, but for where
//! things were seen: `source` and `reproduce` of every rule, and `observedAt` and `ageSeconds` of rules about objects,
//! because an API server is asked about the present only.

use std::path::Path;

use anyhow::{Context as _, Result};
use clearway_advice::evidence::{
    Evidence, Failure, FailureClass, ObjectKind, Objects, Question, Reply, Snapshot as Series, Wanted,
};
use clearway_core::diagnostic::terminal;
use clearway_core::{Limits, Timestamp};
use clearway_promql::eval::Value;
use clearway_sources::prometheus::windows;
use clearway_sources::snapshot::{self, ClusterFacts, Part, Snapshot};

use super::cluster::About;
use super::objects;
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
pub(crate) fn read(path: &Path, shared_store: bool) -> Result<Kept> {
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
    let objects = objects::evidence(&snapshot.objects, snapshot.taken_at, shown, false);
    Kept { snapshot, name, objects, shared_store }
}

impl Kept {
    pub(crate) fn about(&self) -> About {
        let ClusterFacts { id, version, arch, channel } = self.snapshot.cluster.clone();
        About { version, channel, arch, id }
    }

    pub(crate) fn taken_at(&self) -> Timestamp {
        self.snapshot.taken_at
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

    fn selected(&self, wanted: &Wanted) -> Reply<Vec<&serde_json::Value>> {
        self.objects.selected(wanted)
    }

    fn names_replaced(&self) -> bool {
        self.snapshot.redacted
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
