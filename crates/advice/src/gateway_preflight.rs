//! What a new bundle of Gateway API changes in the status of objects: where bundles and Gateway API meet.
//!
//! The rules of the specification differ between bundle versions, so that a route that is accepted today may not be
//! tomorrow, although nobody changed it (G9, V7). Both versions are computed over the same objects and compared.

use std::collections::BTreeMap;

use clearway_bundle::{AffectedObject, Bundle, PreflightFinding};
use clearway_gateway::difference::{Difference, differences};
use clearway_gateway::model::GATEWAY_GROUP;
use clearway_gateway::settings::BundleVersion;
use clearway_gateway::{Change, Engine, Object, Settings};

/// Whether the status of objects depends on the version of a bundle.
pub fn is_gateway_api(bundle: &Bundle) -> bool {
    bundle.domain == GATEWAY_GROUP
}

/// The objects whose computed status is different under a new bundle, one finding for each kind. Without two versions of
/// Gateway API that can be compared there is none.
pub fn status_changes(
    installed: &Bundle,
    new: &Bundle,
    objects: &[&Object],
    settings: &Settings,
) -> Vec<PreflightFinding> {
    let (Some(from), Some(to)) = (gateway_version(installed), gateway_version(new)) else { return Vec::new() };
    if from == to {
        return Vec::new();
    }
    let under = |version: BundleVersion| {
        let mut engine = Engine::new(Settings { bundle_version: Some(version), ..settings.clone() });
        for object in objects {
            engine.apply(Change::Put(Box::new((*object).clone())));
        }
        engine.evaluate();
        engine
    };
    let mut kinds: BTreeMap<String, Vec<AffectedObject>> = BTreeMap::new();
    for Difference { object, conditions, .. } in differences(&under(from), &under(to)) {
        // `HTTPRoute shop/web`: what is different only in its traffic has no condition that changes.
        if let Some((kind, name)) = object.split_once(' ').filter(|_| !conditions.is_empty()) {
            let affected = AffectedObject { name: name.to_owned(), fields: conditions };
            kinds.entry(kind.to_owned()).or_default().push(affected);
        }
    }
    let finding = |(kind, objects): (String, Vec<AffectedObject>)| {
        let message = format!("the status of {kind} objects would change by the rules of {to}");
        PreflightFinding::changed_status(&crd_name(&kind, new), message, objects)
    };
    kinds.into_iter().map(finding).collect()
}

fn gateway_version(bundle: &Bundle) -> Option<BundleVersion> {
    bundle.version.as_ref().filter(|_| is_gateway_api(bundle))?.to_string().parse().ok()
}

fn crd_name(kind: &str, bundle: &Bundle) -> String {
    let crd = bundle.crds.values().find(|crd| crd.kind == kind);
    crd.map_or_else(|| format!("{kind}.{GATEWAY_GROUP}"), |crd| crd.name.clone())
}

#[cfg(test)]
mod tests {
    use clearway_bundle::{BundleLimits, BundleReader, PreflightProblem};
    use serde_json::{Value, json};

    use super::*;

    fn bundle(version: &str) -> Bundle {
        let mut reader = BundleReader::new(version, GATEWAY_GROUP, BundleLimits::default());
        reader.add_object(&json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": "tcproutes.gateway.networking.k8s.io", "annotations": {
                "gateway.networking.k8s.io/bundle-version": version, "gateway.networking.k8s.io/channel": "experimental"}},
            "spec": {"group": GATEWAY_GROUP, "scope": "Namespaced", "names": {"kind": "TCPRoute", "plural": "tcproutes"},
                "versions": [{"name": "v1alpha2", "served": true, "storage": true,
                    "schema": {"openAPIV3Schema": {"type": "object"}}}]},
        }));
        reader.finish()
    }

    fn object(kind: &str, namespace: &str, name: &str, spec: &Value) -> Object {
        let metadata = json!({"namespace": namespace, "name": name, "generation": 1});
        let version = if kind == "TCPRoute" { "v1alpha2" } else { "v1" };
        let value = json!({"apiVersion": format!("{GATEWAY_GROUP}/{version}"), "kind": kind, "metadata": metadata, "spec": spec});
        Object::from_json(&value).unwrap()
    }

    /// The seed's example (G5): a TCPRoute without a backend is not accepted up to v1.5, and accepted from v1.6 on.
    #[test]
    fn routes_whose_status_depends_on_the_bundle_version_are_named() {
        let objects = [
            object("GatewayClass", "", "class", &json!({"controllerName": "example.com/one"})),
            object(
                "Gateway",
                "a",
                "gw",
                &json!({"gatewayClassName": "class", "listeners": [
                {"name": "tcp", "port": 9000, "protocol": "TCP"}]}),
            ),
            object(
                "TCPRoute",
                "a",
                "db",
                &json!({"parentRefs": [{"name": "gw"}],
                "rules": [{"backendRefs": [{"name": "nowhere", "port": 1}]}]}),
            ),
        ];
        let found = |from: &str, to: &str| {
            let objects: Vec<&Object> = objects.iter().collect();
            status_changes(&bundle(from), &bundle(to), &objects, &Settings::default())
        };
        let changes = found("v1.5.1", "v1.6.1");
        let change =
            changes.iter().find(|one| one.crd.as_deref() == Some("tcproutes.gateway.networking.k8s.io")).unwrap();
        assert_eq!((change.problem, change.count), (PreflightProblem::ChangedStatus, 1));
        assert_eq!(change.objects[0].name, "a/db");
        assert!(change.objects[0].fields.iter().any(|field| field.contains("Accepted: False")), "{change:?}");
        assert_eq!(found("v1.6.0", "v1.6.1"), []);
        assert_eq!(found("v1.5.1", "monthly-2026.01"), []);
    }
}
