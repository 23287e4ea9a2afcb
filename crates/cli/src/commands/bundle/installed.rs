//! `clearway bundle installed`: the bundles of a cluster.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use anyhow::Result;
use clearway_bundle::{BundleLimits, Channel, InstalledBundle, compare_installed, installed_bundles};
use clearway_core::GroupVersionKind;
use clearway_sources::kubernetes::Cluster;
use clearway_sources::store::{ClusterStore, Store as _, StoreError};
use serde_json::{Value, json};

use super::source;
use crate::arguments::{BundleInstalled, ClusterConnection};
use crate::exit::Exit;
use crate::output::{self, Document};

/// What belongs to bundles, besides CRDs. Who may not list one of these sees the CRDs.
const OTHERS: [(&str, &str); 8] = [
    ("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration"),
    ("admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration"),
    ("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicy"),
    ("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicyBinding"),
    ("v1", "Service"),
    ("apps/v1", "Deployment"),
    ("apps/v1", "StatefulSet"),
    ("apps/v1", "DaemonSet"),
];

pub(super) fn run(options: &BundleInstalled) -> Result<Exit> {
    let expected = match &options.expect {
        Some(name) => source::read(&[name], &options.reading)?.pop(),
        None => None,
    };
    let objects = source::wait(async { objects(&connect(&options.report.connection).await?).await })?;
    let mut found = installed_bundles(&objects, &BundleLimits::default());
    if let Some(domain) = &options.reading.annotation_domain {
        found.retain(|installed| installed.bundle.domain == *domain);
    }
    if let Some(expected) = &expected {
        found.retain(|installed| installed.bundle.domain == expected.domain);
        anyhow::ensure!(
            !found.is_empty(),
            "no CRD in the cluster has the annotation {}/bundle-version",
            expected.domain
        );
        for installed in &mut found {
            installed.problems.extend(compare_installed(&installed.bundle, expected));
        }
    }
    let data: Vec<Value> = found.iter().map(data).collect();
    output::print_data(options.report.output.format, &data, || table(&found))?;
    // A CRD can have the annotations of several bundles.
    let known: BTreeSet<&str> =
        found.iter().flat_map(|installed| installed.bundle.crds.keys()).map(String::as_str).collect();
    let crds = objects.iter().filter(|object| object["kind"] == "CustomResourceDefinition");
    let others = crds.filter(|crd| crd["metadata"]["name"].as_str().is_none_or(|name| !known.contains(name))).count();
    let plural = if found.len() == 1 { "" } else { "s" };
    output::print_note!("{} bundle{plural}; CRDs that belong to none: {others}", found.len());
    Ok(if found.iter().all(|installed| installed.problems.is_empty()) { Exit::Yes } else { Exit::No })
}

pub(super) async fn connect(connection: &ClusterConnection) -> Result<ClusterStore> {
    Ok(ClusterStore::new(Cluster::connect(&connection.connection()).await?, "clearway-bundle"))
}

pub(super) fn crd_kind() -> GroupVersionKind {
    GroupVersionKind::new("apiextensions.k8s.io/v1", "CustomResourceDefinition")
}

/// The CRDs of a cluster, and what else can belong to bundles.
pub(super) async fn objects(store: &ClusterStore) -> Result<Vec<Value>> {
    let mut found = store.list(&crd_kind(), "").await?;
    for (api_version, kind) in OTHERS {
        match store.list(&GroupVersionKind::new(api_version, kind), "").await {
            Ok(objects) => found.extend(objects),
            Err(StoreError::Forbidden { .. } | StoreError::NoSuchKind { .. }) => {
                output::print_note!("{kind} objects may not be listed, so they are left out");
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(found)
}

fn data(installed: &InstalledBundle) -> Value {
    let bundle = &installed.bundle;
    let crds: Vec<Value> = bundle
        .crds
        .values()
        .map(|crd| {
            json!({
                "name": crd.name, "bundleVersion": crd.bundle_version, "channel": crd.channel,
                "storedVersions": crd.stored_versions,
            })
        })
        .collect();
    json!({
        "annotationDomain": bundle.domain, "version": bundle.version.as_ref().map(ToString::to_string),
        "channel": bundle.channel.map(Channel::as_str), "crds": crds, "problems": installed.problems,
    })
}

fn table(found: &[InstalledBundle]) -> Document {
    let rows = found.iter().map(|installed| {
        let bundle = &installed.bundle;
        let channel = bundle.channel.map_or("-", Channel::as_str).to_owned();
        let problems: Vec<String> = installed.problems.iter().map(|problem| problem.message.clone()).collect();
        let state = if problems.is_empty() { "whole".to_owned() } else { problems.join("; ") };
        vec![bundle.domain.clone(), bundle.version_text(), channel, bundle.crds.len().to_string(), state]
    });
    let mut text = Document::from(output::table(&["BUNDLE", "VERSION", "CHANNEL", "CRDS", "STATE"], rows));
    for problem in found.iter().flat_map(|installed| &installed.problems) {
        // Writing into a text cannot fail.
        let _ = write!(text, "\n{}:\n  {}\n", problem.message, problem.objects.join("\n  "));
    }
    text
}
