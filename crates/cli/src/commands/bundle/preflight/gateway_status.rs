//! For a bundle of Gateway API: objects of the cluster whose status would change by the rules of its version.

use std::path::Path;

use anyhow::Result;
use clearway_advice::gateway_preflight::{is_gateway_api, status_changes};
use clearway_bundle::{Bundle, PreflightFinding};
use clearway_gateway::settings::{Knowledge, UnknownKinds};
use clearway_gateway::{Object, Settings};
use clearway_sources::snapshot::Snapshot;

use crate::arguments::ClusterConnection;
use crate::commands::gateway::input::GatewayObjects;
use crate::output;

/// Kinds besides those of the bundle without which nothing can be said about backends.
const NEEDED: [(&str, &str); 2] = [("", "Service"), ("", "Namespace")];

/// The findings for a cluster.
pub(super) async fn live_findings(
    installed: &Bundle,
    new: &Bundle,
    connection: &ClusterConnection,
) -> Result<Vec<PreflightFinding>> {
    if !is_gateway_api(new) {
        return Ok(Vec::new());
    }
    let mut objects = GatewayObjects::default();
    objects.read_cluster(connection).await?;
    objects.print_problems();
    Ok(findings(installed, new, &objects))
}

/// The findings for the cluster that a snapshot was taken from.
pub(super) fn snapshot_findings(
    installed: &Bundle,
    new: &Bundle,
    taken: &Snapshot,
    path: &Path,
) -> Result<Vec<PreflightFinding>> {
    if !is_gateway_api(new) {
        return Ok(Vec::new());
    }
    if let Some((_, kind)) = NEEDED.iter().find(|(group, kind)| taken.objects_of(group, kind).is_err()) {
        output::print_note!("the snapshot has no {kind} objects, so changes of status are not computed");
        return Ok(Vec::new());
    }
    let mut objects = GatewayObjects::default();
    objects.read_snapshot(path)?;
    Ok(findings(installed, new, &objects))
}

fn findings(installed: &Bundle, new: &Bundle, objects: &GatewayObjects) -> Vec<PreflightFinding> {
    let settings = Settings {
        // Implementations have extensions of their own, and list their features in the class.
        unknown_kinds: UnknownKinds::Assumed,
        features_of_class: true,
        secrets: if objects.without_secrets { Knowledge::Unknown } else { Knowledge::Complete },
        ..Settings::default()
    };
    let objects: Vec<&Object> = objects.objects.values().collect();
    status_changes(installed, new, &objects, &settings)
}
