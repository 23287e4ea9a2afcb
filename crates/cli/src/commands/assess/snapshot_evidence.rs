//! Evidence from a snapshot: what was not collected is unknown, and never "absent".
//!
//! An assessment as of the snapshot's time has the bytes of one of the live cluster as of that time, but for where
//! things were seen: `source` and `reproduce` of every rule, and `observedAt` and `ageSeconds` of rules about objects,
//! because an API server is asked about the present only.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context as _, Result};
use clearway_advice::evidence::{
    Evidence, Failure, FailureClass, ObjectAnswer, ObjectExplanation, ObjectQuestion, Objects, Question, Reply,
    Snapshot as Series,
};
use clearway_catalog::{Detection, Product};
use clearway_core::{Diagnostic, Limits, ObjectName, Timestamp};
use clearway_promql::eval::Value;
use clearway_sources::catalog;
use clearway_sources::files::confined::ConfinedDirectory;
use clearway_sources::prometheus::QueryWindows;
use clearway_sources::snapshot::{self, ClusterFacts, Part, Snapshot, SnapshotError};

use super::cluster::ClusterInfo;
use crate::output;

/// A snapshot, and what it goes by.
pub(crate) struct SnapshotEvidence {
    /// Without its objects, which are below.
    snapshot: Snapshot,
    name: String,
    objects: Objects,
    /// Whether its series are of a store of many clusters, and carry the cluster's id.
    shared_store: bool,
}

/// A snapshot, with the samples that each question needs worked out before.
pub(crate) struct WithNeeds<'k> {
    kept: &'k SnapshotEvidence,
    needs: &'k BTreeMap<String, QueryWindows>,
}

/// Reads a snapshot, and prints its diagnostics on standard error.
pub(crate) fn read(path: &Path, shared_store: bool) -> Result<SnapshotEvidence> {
    let opened = open(path, shared_store).with_context(|| format!("cannot read {}", path.display()));
    let (kept, diagnostics) = opened?;
    print_diagnostics(&diagnostics);
    Ok(kept)
}

/// Reads a snapshot that something in a stranger's directory refers to, relative to a directory below it.
pub(crate) fn read_below(directory: &mut ConfinedDirectory, base: &Path, path: &Path) -> Result<SnapshotEvidence> {
    let shown = base.join(path).display().to_string();
    let loaded = snapshot::read_below(directory, base, path, &Limits::default());
    let loaded = loaded.with_context(|| format!("cannot read {shown}"))?;
    print_diagnostics(&loaded.diagnostics);
    Ok(of(loaded.snapshot, &shown, shown.clone(), false))
}

fn print_diagnostics(diagnostics: &[Diagnostic]) {
    for diagnostic in diagnostics {
        output::print_diagnostic(diagnostic);
    }
}

/// Reads a snapshot; also what is odd about it.
pub(crate) fn open(path: &Path, shared_store: bool) -> Result<(SnapshotEvidence, Vec<Diagnostic>), SnapshotError> {
    let loaded = snapshot::read(path, &Limits::default())?;
    let shown = path.display().to_string();
    // The file that the commands of a proof can read.
    let name = if path.is_dir() { path.join("series.snap").display().to_string() } else { shown.clone() };
    Ok((of(loaded.snapshot, &shown, name, shared_store), loaded.diagnostics))
}

/// A snapshot as evidence: the place it stands in, and the file there with its series.
pub(crate) fn of(mut snapshot: Snapshot, shown: &str, name: String, shared_store: bool) -> SnapshotEvidence {
    let objects = std::mem::take(&mut snapshot.objects);
    let objects = snapshot::object_evidence(objects, snapshot.taken_at, shown);
    SnapshotEvidence { snapshot, name, objects, shared_store }
}

impl SnapshotEvidence {
    pub(crate) fn about(&self) -> ClusterInfo {
        let ClusterFacts { id, version, arch, channel, .. } = self.snapshot.cluster.clone();
        ClusterInfo { version, channel, arch, id, image: None }
    }

    /// Which versions of products it says that the cluster runs.
    pub(crate) fn installed(&self, products: &[&Product]) -> Vec<Detection> {
        let api_server = self.snapshot.cluster.kubernetes_version.as_deref();
        catalog::installed_in_snapshot(&self.objects, products, api_server, self.snapshot.redacted)
    }

    /// The same snapshot, with the values of its objects in proofs: it is a file that the user named, and holds no secrets.
    pub(crate) fn showing_values(self) -> Self {
        SnapshotEvidence { objects: self.objects.showing_values(), ..self }
    }

    pub(crate) fn taken_at(&self) -> Timestamp {
        self.snapshot.taken_at
    }

    /// The same evidence for who asks many clusters the same questions; `needs` is by the text of the question.
    pub(crate) fn with_needs<'k>(&'k self, needs: &'k BTreeMap<String, QueryWindows>) -> WithNeeds<'k> {
        WithNeeds { kept: self, needs }
    }

    fn answer(&self, question: &Question, needs: &QueryWindows, samples: u64) -> Reply<Value> {
        let unknown = |why: String| Reply::Failed(Failure::new(FailureClass::Absent, why));
        let taken_at = self.taken_at();
        match &self.snapshot.series {
            Part::NotCollected { why } => unknown(format!("The snapshot has no series: {why}")),
            Part::Collected(found) => {
                match found.missing_selector(needs, taken_at.as_seconds().saturating_mul(1_000)) {
                    Some(selector) => {
                        unknown(format!("The snapshot does not contain `{}`.", output::printable(selector)))
                    }
                    None => Series::new(&found.series, taken_at, &self.name).promql(question, samples),
                }
            }
        }
    }
}

impl Evidence for WithNeeds<'_> {
    fn promql(&self, question: &Question, samples: u64) -> Reply<Value> {
        match self.needs.get(question.text()) {
            Some(needs) => self.kept.answer(question, needs, samples),
            // With the cluster's id in it, it is another question.
            None => self.kept.promql(question, samples),
        }
    }

    fn promql_unshown(&self, question: &Question, samples: u64) -> Reply<Value> {
        let (Some(needs), Part::Collected(found)) = (self.needs.get(question.text()), &self.kept.snapshot.series)
        else {
            return self.promql(question, samples);
        };
        let taken_at = self.kept.taken_at();
        if found.missing_selector(needs, taken_at.as_seconds().saturating_mul(1_000)).is_some() {
            return Reply::Failed(Failure::new(FailureClass::Absent, ""));
        }
        Series::new(&found.series, taken_at, &self.kept.name).promql_unshown(question, samples)
    }

    fn objects(&self, question: &ObjectQuestion, steps: u64) -> Reply<ObjectAnswer> {
        self.kept.objects(question, steps)
    }

    fn names_replaced(&self) -> bool {
        self.kept.names_replaced()
    }

    fn cluster_id(&self) -> Option<&str> {
        self.kept.cluster_id()
    }

    fn store_id(&self) -> Option<&str> {
        self.kept.store_id()
    }
}

impl Evidence for SnapshotEvidence {
    fn promql(&self, question: &Question, samples: u64) -> Reply<Value> {
        self.answer(question, &QueryWindows::of(question.query()), samples)
    }

    fn objects(&self, question: &ObjectQuestion, steps: u64) -> Reply<ObjectAnswer> {
        self.objects.answer(question, steps)
    }

    fn explain(&self, question: &ObjectQuestion, object: &ObjectName) -> Option<ObjectExplanation> {
        self.objects.explain(question, object)
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
