//! A snapshot with objects and metrics of a cluster, and what `assess` says of an update.

use std::path::Path;

use clearway_core::{GroupKind, Timestamp};
use clearway_promql::Millis;
use clearway_promql::read::{self, ReadLimits};
use clearway_sources::snapshot::{self, NameSelector, Objects, Part, Selection, SeriesEvidence, Snapshot};
use serde_json::{Value, json};

use crate::program::{Ended, MARKER};

/// Writes a snapshot of the cluster that operators under attack run in: one Node, and a ConfigMap that rules may name.
pub(crate) fn write(directory: &Path) {
    let taken_at: Timestamp = "2026-11-16T00:00:00Z".parse().unwrap();
    let mut taken = Snapshot::new(taken_at);
    taken.cluster.id = Some("0d9fd3a5-8b7e-4b7a-9a52-1d4a5a4a1f6c".to_owned());
    let time = Millis(taken_at.as_seconds() * 1_000);
    let text = format!("broken 0\nlabelled{{secret=\"{MARKER}\"}} 1\n");
    let series = read::text(text.as_bytes(), time, &ReadLimits::default()).unwrap();
    taken.series = Part::Collected(SeriesEvidence { series, windows: Vec::new(), whole: true });
    let kind = |kind: &str| GroupKind { group: String::new(), kind: kind.to_owned() };
    let metadata = json!({"name": "one", "labels": {"version": "v1.0.0"}, "annotations": {"note": MARKER}});
    let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": metadata});
    taken.objects.insert(kind("Node"), Part::Collected(Objects { items: vec![node], ..Objects::default() }));
    let map = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "disks", "namespace": "shop"}, "data": {"key": MARKER},
    });
    let disks = NameSelector { namespace: Some("shop".to_owned()), name: "disks".to_owned() };
    let selection = Selection { only: vec![disks], ..Selection::default() };
    taken
        .objects
        .insert(kind("ConfigMap"), Part::Collected(Objects { selection, items: vec![map], ..Objects::default() }));
    snapshot::write(&taken, directory).unwrap();
}

/// What a command printed as JSON.
pub(crate) fn json_of(ended: &Ended) -> Option<Value> {
    let json = ended.text.get(ended.text.find('{')?..)?;
    serde_json::Deserializer::from_str(json).into_iter().next()?.ok()
}

/// What an assessment that was printed as JSON advises about a version: its status and message.
pub(crate) fn advice(assessed: &Ended, version: &str) -> Option<(String, String)> {
    let assessment = json_of(assessed)?;
    let update = assessment["updates"].as_array()?.iter().find(|update| update["version"] == version)?.clone();
    let word = |name: &str| update["recommended"][name].as_str().unwrap_or_default().to_owned();
    Some((word("status"), word("message")))
}
