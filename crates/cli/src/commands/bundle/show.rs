//! `clearway bundle show`: what is in a bundle.

use anyhow::Result;
use clearway_bundle::{ApiVersion, Bundle, Channel, Crd};
use serde_json::{Value, json};

use super::source;
use crate::arguments::BundleShow;
use crate::exit::Exit;
use crate::output::{self, Document};

pub(super) fn run(options: &BundleShow) -> Result<Exit> {
    let bundles = source::read(&[&options.name.bundle], &options.name.reading)?;
    for bundle in &bundles {
        output::print_data(options.output.format, &data(bundle), || table(bundle))?;
    }
    Ok(if bundles.iter().any(source::is_incomplete) { Exit::Unknown } else { Exit::Yes })
}

fn data(bundle: &Bundle) -> Value {
    let version = |version: &ApiVersion| {
        json!({
            "name": version.name, "served": version.served, "storage": version.storage,
            "deprecated": version.deprecated, "schema": version.schema.is_some(),
        })
    };
    let crd = |crd: &Crd| {
        json!({
            "name": crd.name, "kind": crd.kind, "scope": crd.scope, "bundleVersion": crd.bundle_version,
            "channel": crd.channel, "conversion": crd.conversion, "storedVersions": crd.stored_versions,
            "versions": crd.versions.values().map(version).collect::<Vec<_>>(),
        })
    };
    json!({
        "name": bundle.name, "annotationDomain": bundle.domain,
        "version": bundle.version.as_ref().map(ToString::to_string), "channel": bundle.channel.map(Channel::as_str),
        "crds": bundle.crds.values().map(crd).collect::<Vec<_>>(),
        "admissionPolicies": bundle.policies.iter().map(|policy| json!({
            "kind": policy.kind, "name": policy.name, "bundleVersion": policy.bundle_version,
        })).collect::<Vec<_>>(),
        "webhooks": bundle.webhooks.iter().map(|webhook| json!({
            "kind": webhook.kind, "name": webhook.name, "bundleVersion": webhook.bundle_version,
            "services": webhook.services,
            "workloads": webhook.workloads.iter().map(|workload| json!({
                "kind": workload.kind, "name": workload.name, "bundleVersion": workload.bundle_version,
                "images": workload.images,
            })).collect::<Vec<_>>(),
        })).collect::<Vec<_>>(),
        "problems": bundle.problems,
    })
}

fn table(bundle: &Bundle) -> Document {
    let channel = bundle.channel.map_or("no channel", Channel::as_str);
    let head = format!("{}: {}, {channel} ({})\n\n", bundle.name, bundle.version_text(), bundle.domain);
    let mut text = Document::from(head);
    let crds = bundle.crds.values().map(|crd| {
        let versions: Vec<String> = crd.versions.values().map(shown_version).collect();
        let bundle_version = crd.bundle_version.clone().unwrap_or_else(|| "-".to_owned());
        let channel = crd.channel.clone().unwrap_or_else(|| "-".to_owned());
        vec![crd.name.clone(), crd.scope.clone(), bundle_version, channel, versions.join(", ")]
    });
    text.push_table(output::table(&["CRD", "SCOPE", "BUNDLE", "CHANNEL", "VERSIONS"], crds));
    let policies =
        bundle.policies.iter().map(|policy| (&policy.kind, &policy.name, &policy.bundle_version, String::new()));
    let webhooks = bundle.webhooks.iter().map(|webhook| {
        let workloads: Vec<&str> = webhook.workloads.iter().map(|workload| workload.name.as_str()).collect();
        (&webhook.kind, &webhook.name, &webhook.bundle_version, workloads.join(", "))
    });
    let others: Vec<Vec<String>> = policies
        .chain(webhooks)
        .map(|(kind, name, version, behind)| {
            vec![kind.clone(), name.clone(), version.clone().unwrap_or_else(|| "-".to_owned()), behind]
        })
        .collect();
    if !others.is_empty() {
        text.push_text("\n");
        text.push_table(output::table(&["KIND", "NAME", "BUNDLE", "WORKLOADS"], others).named_by(1));
    }
    text
}

/// `v1 (storage)`, `v1beta1 (deprecated)`, `v1alpha1 (not served)`.
fn shown_version(version: &ApiVersion) -> String {
    let mut words = Vec::new();
    if version.storage {
        words.push("storage");
    }
    if !version.served {
        words.push("not served");
    }
    if version.deprecated {
        words.push("deprecated");
    }
    if words.is_empty() { version.name.clone() } else { format!("{} ({})", version.name, words.join(", ")) }
}
