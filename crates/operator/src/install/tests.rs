//! What is promised of the manifests, without a cluster.

use std::collections::BTreeMap;

use clearway_bundle::Channel;
use serde_json::{Value, json};

use super::apply::uuid_v4;
use super::*;

/// Settings with everything that can be asked for.
fn everything(channel: Channel) -> Settings {
    let mut release_keys = ReleaseKeys::default();
    release_keys.add("platform.pub", "PEM".to_owned());
    let gateway_status = BTreeMap::from([("gateway-class".to_owned(), vec!["clearway".to_owned()])]);
    let policies = BTreeMap::from([("policies".to_owned(), vec![])]);
    let metrics = MetricsExposure::Authenticated;
    Settings { apply_updates: true, release_keys, metrics, gateway_status, policies, ..Settings::new(channel) }
}

fn arguments(manifests: &Manifests) -> &Value {
    &manifests.workload[0]["spec"]["template"]["spec"]["containers"][0]["args"]
}

#[test]
fn the_pods_are_restricted() {
    for settings in [Settings::new(Channel::Standard), everything(Channel::Experimental)] {
        let all = manifests(&settings).unwrap();
        let deployment = &all.workload[0];
        let pod = &deployment["spec"]["template"]["spec"];
        assert_eq!(deployment["spec"]["replicas"], 2);
        assert_eq!(pod["securityContext"]["runAsNonRoot"], true);
        let container = &pod["containers"][0];
        assert_eq!(container["securityContext"]["capabilities"], json!({"drop": ["ALL"]}));
        assert_eq!(container["securityContext"]["readOnlyRootFilesystem"], true);
        assert_eq!(container["livenessProbe"]["httpGet"]["path"], "/livez");
        assert_eq!(container["readinessProbe"]["httpGet"]["path"], "/readyz");
        assert_eq!(container["resources"]["limits"], json!({"memory": "512Mi"}));
    }
}

/// The kubelet is on the node, which no policy keeps out; anybody else who reaches the port of the probes could fill it.
#[test]
fn the_port_of_the_probes_is_open_to_nobody() {
    let open = |objects: &[Value]| -> Vec<String> {
        let policy = objects.iter().find(|one| one["kind"] == "NetworkPolicy").unwrap();
        assert_eq!(policy["spec"]["policyTypes"], json!(["Ingress", "Egress"]));
        let rules = policy["spec"]["ingress"].as_array().unwrap();
        let ports = rules.iter().flat_map(|rule| rule["ports"].as_array().unwrap());
        ports.map(|port| port["port"].as_str().unwrap().to_owned()).collect()
    };
    let nothing: [&str; 0] = [];
    assert_eq!(open(&manifests(&Settings::new(Channel::Standard)).unwrap().workload), nothing);
    let all = manifests(&everything(Channel::Standard)).unwrap();
    assert_eq!(open(&all.workload), ["metrics"]);
    assert_eq!(open(&all.gateway_status), nothing);
    assert_eq!(open(&all.policies), ["webhook"]);
}

#[test]
fn without_options_it_only_advises_and_metrics_stay_in_the_pod() {
    let settings = Settings {
        upstream: Some("https://u".into()),
        prometheus: Some("http://p".into()),
        ..Settings::new(Channel::Standard)
    };
    let all = manifests(&settings).unwrap();
    assert_eq!(
        *arguments(&all),
        json!([
            "operator",
            "--namespace=clearway",
            "--evidence-as=clearway-evidence-reader",
            "--status-listen=0.0.0.0:9080",
            "--metrics-listen=127.0.0.1:9081",
            "--log-format=json",
            "--upstream=https://u",
            "--prometheus=http://p",
        ])
    );
    let nothing: &[Value] = &[];
    assert_eq!((&*all.apply_updates, &*all.metrics, &*all.monitoring), (nothing, nothing, nothing));
    let text = json!(all.all().collect::<Vec<_>>()).to_string();
    assert!(!text.contains("clearway-updater"), "{text}");
    let rights = json!(all.rights).to_string();
    for word in ["\"*\"", "\"secrets\"", "tokenreviews"] {
        assert!(!rights.contains(word), "{word}");
    }
}

#[test]
fn what_is_asked_for_is_added_and_what_is_not_is_named_as_superfluous() {
    let names = |objects: &[Value]| -> Vec<String> {
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        objects.iter().map(|one| format!("{} {}", text(&one["kind"]), text(&one["metadata"]["name"]))).collect()
    };
    let all = manifests(&everything(Channel::Standard)).unwrap();
    let applying = [
        "ServiceAccount clearway-updater",
        "ClusterRole clearway-updater",
        "ClusterRoleBinding clearway-updater",
        "Role clearway-apply-updates",
        "RoleBinding clearway-apply-updates",
        "ConfigMap clearway-release-keys",
    ];
    let metrics = [
        "ClusterRole clearway-metrics-authentication",
        "ClusterRoleBinding clearway-metrics-authentication",
        "ClusterRole clearway-metrics-reader",
        "Service clearway-operator",
    ];
    let monitoring = ["ServiceMonitor clearway-operator", "PrometheusRule clearway-operator"];
    let gateway_status = [
        "ServiceAccount clearway-gateway-status",
        "ClusterRole clearway-gateway-status",
        "ClusterRoleBinding clearway-gateway-status",
        "Role clearway-gateway-status",
        "RoleBinding clearway-gateway-status",
        "Deployment clearway-gateway-status",
        "PodDisruptionBudget clearway-gateway-status",
        "NetworkPolicy clearway-gateway-status",
    ];
    let policies = [
        "ServiceAccount clearway-policies",
        "ClusterRole clearway-policies",
        "ClusterRoleBinding clearway-policies",
        "Role clearway-policies",
        "RoleBinding clearway-policies",
        "Service clearway-policies",
        "Deployment clearway-policies",
        "PodDisruptionBudget clearway-policies",
        "NetworkPolicy clearway-policies",
    ];
    assert_eq!(names(&all.policies), policies);
    assert_eq!(names(&all.gateway_status), gateway_status);
    assert_eq!(names(&all.apply_updates), applying);
    assert_eq!(names(&all.metrics), metrics);
    assert_eq!(names(&all.monitoring), monitoring);
    assert_eq!(all.superfluous, [] as [Value; 0]);
    let added = json!([
        "--metrics-listen=0.0.0.0:9081",
        "--log-format=json",
        "--metrics-authentication",
        "--apply-updates",
        "--apply-as=clearway-updater",
        "--release-key=/etc/clearway/release-keys/platform.pub",
    ]);
    assert_eq!(arguments(&all).as_array().unwrap()[4..], *added.as_array().unwrap());
    assert_eq!(all.apply_updates[5]["data"], json!({"platform.pub": "PEM"}));
    assert_eq!(all.apply_updates[5]["immutable"], true, "the operator may write ConfigMaps");

    let advice = manifests(&Settings::new(Channel::Standard)).unwrap();
    assert_eq!(names(&advice.superfluous), [&applying[..], &metrics, &gateway_status, &policies, &monitoring].concat());
    let unsigned = Settings { release_keys: ReleaseKeys::default(), ..everything(Channel::Standard) };
    assert_eq!(names(&manifests(&unsigned).unwrap().superfluous), ["ConfigMap clearway-release-keys"]);
}

#[test]
fn a_tag_and_unsigned_releases_are_warned_about() {
    let pinned = format!("example.com/clearway@sha256:{}", "a".repeat(64));
    for (image, warned) in [
        ("example.com/clearway:1.0", true),
        ("example.com/clearway", true),
        ("example.com/clearway@sha256:short", true),
        (pinned.as_str(), false),
    ] {
        let settings = Settings { image: image.to_owned(), ..Settings::new(Channel::Standard) };
        assert_eq!(settings.warnings().iter().any(|text| text.contains("by digest")), warned, "{image}");
        assert_eq!(settings.warnings().len(), usize::from(warned), "{image}");
    }
    let unsigned = Settings { image: pinned, release_keys: ReleaseKeys::default(), ..everything(Channel::Standard) };
    let warnings = unsigned.warnings();
    assert!(matches!(warnings.as_slice(), [one] if one.contains("--release-key")), "{warnings:?}");
}

#[test]
fn everything_says_who_made_it_and_lives_where_it_is_told() {
    let settings = Settings { namespace: "elsewhere".to_owned(), ..everything(Channel::Experimental) };
    let all = manifests(&settings).unwrap();
    for object in all.always().chain(&all.monitoring) {
        assert_eq!(object["metadata"]["labels"][MANAGED_BY], MANAGER, "{object}");
        let namespace = object["metadata"]["namespace"].as_str();
        assert!(namespace.is_none_or(|namespace| namespace == "elsewhere"), "{object}");
    }
}

#[test]
fn a_random_id_is_an_rfc_4122_uuid_of_version_4() {
    assert_eq!(uuid_v4([0xff; 16]), "ffffffff-ffff-4fff-bfff-ffffffffffff");
    assert_eq!(uuid_v4([0; 16]), "00000000-0000-4000-8000-000000000000");
}

#[test]
fn the_files_of_kustomize_name_each_other() {
    let files = kustomize::files().unwrap();
    for directory in ["standard", "experimental", "apply-updates", "monitoring", "policies"] {
        let kustomization: Value = read(&files[&format!("{directory}/kustomization.yaml")]).remove(0);
        for name in kustomization["resources"].as_array().unwrap() {
            let name = name.as_str().unwrap();
            assert!(files.contains_key(&format!("{directory}/{name}")), "{directory}/{name}");
        }
    }
    let rights = &files["standard/rights.yaml"];
    let head = "# The operator (clearway-operator), in the whole cluster:\n#   get, list, watch: clusterversions (config.openshift.io)\n";
    assert!(rights.starts_with(head), "{rights}");
    let overlay = &files["apply-updates/kustomization.yaml"];
    assert!(overlay.contains("#   every verb: every resource (every API group)\n"), "it says what it adds: {overlay}");
    assert!(overlay.contains("#   impersonate: serviceaccounts (core), only clearway-updater\n"), "{overlay}");
}

/// The documents of a file.
fn read(text: &str) -> Vec<Value> {
    text.split("---\n").skip(1).map(|document| serde_saphyr::from_str(document).unwrap()).collect()
}

/// Applies the operations that our components use.
fn patch(object: &mut Value, operations: &Value) {
    for operation in operations.as_array().unwrap() {
        let (path, value) = (operation["path"].as_str().unwrap(), operation["value"].clone());
        match operation["op"].as_str().unwrap() {
            "test" => assert_eq!(object.pointer(path), Some(&value), "{path}"),
            "replace" => *object.pointer_mut(path).unwrap() = value,
            "add" => object.pointer_mut(path.strip_suffix("/-").unwrap()).unwrap().as_array_mut().unwrap().push(value),
            other => panic!("{other}"),
        }
    }
}

#[test]
fn the_components_come_to_what_install_applies() {
    let files = kustomize::files().unwrap();
    for channel in Channel::ALL {
        let mut objects = Vec::new();
        for name in ["namespace", "rights", "operator"] {
            objects.extend(read(&files[&format!("{channel}/{name}.yaml")]));
        }
        for component in ["monitoring", "apply-updates", "gateway-status", "policies"] {
            let kustomization = read(&files[&format!("{component}/kustomization.yaml")]).remove(0);
            for change in kustomization["patches"].as_array().unwrap() {
                let target = objects.iter_mut().find(|one| {
                    one["kind"] == change["target"]["kind"] && one["metadata"]["name"] == change["target"]["name"]
                });
                patch(target.unwrap(), &serde_saphyr::from_str(change["patch"].as_str().unwrap()).unwrap());
            }
            for name in kustomization["resources"].as_array().unwrap() {
                objects.extend(read(&files[&format!("{component}/{}", name.as_str().unwrap())]));
            }
        }
        let mut release_keys = ReleaseKeys::default();
        release_keys.add("release.pub", String::new());
        let all = manifests(&Settings { release_keys, ..everything(channel) }).unwrap();
        // The ConfigMap comes from the administrator's own keys, and a new name of it replaces the pods.
        let mut applied: Vec<Value> =
            all.policy_crds.iter().chain(all.always()).chain(&all.monitoring).cloned().collect();
        applied.retain(|object| object["kind"] != "ConfigMap");
        for object in &mut applied {
            if let Some(annotations) = object.pointer_mut("/spec/template/metadata/annotations") {
                annotations.as_object_mut().unwrap().remove("clearway.dev/release-keys");
            }
        }
        let key = |object: &Value| object["kind"].to_string() + &object["metadata"]["name"].to_string();
        applied.sort_by_key(key);
        objects.sort_by_key(key);
        assert_eq!(objects, applied);
    }
}
