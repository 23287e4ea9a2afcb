//! What is promised of the manifests, without a cluster.

use serde_json::{Value, json};

use super::carry_out::uuid_v4;
use super::*;

#[test]
fn the_pods_are_restricted_and_no_role_but_one_is_broad() {
    let all = manifests(&Settings::new(Channel::Standard)).unwrap();
    let deployment = &all.workload[0];
    let pod = &deployment["spec"]["template"]["spec"];
    assert_eq!(deployment["spec"]["replicas"], 2);
    assert_eq!(pod["securityContext"]["runAsNonRoot"], true);
    let container = &pod["containers"][0];
    assert_eq!(container["securityContext"]["capabilities"], json!({"drop": ["ALL"]}));
    assert_eq!(container["securityContext"]["readOnlyRootFilesystem"], true);
    assert_eq!(container["livenessProbe"]["httpGet"]["path"], "/livez");
    assert_eq!(container["readinessProbe"]["httpGet"]["path"], "/readyz");
    let text = serde_json::to_string(&all.rights).unwrap();
    assert!(!text.contains("\"*\"") && !text.contains("secrets"), "{text}");
    assert_eq!(all.carry_out[0]["metadata"]["name"], "clearway-carry-out-updates");
    let advice = Settings {
        advice_only: true,
        upstream: Some("https://u".to_owned()),
        prometheus: Some("http://p".to_owned()),
        ..Settings::new(Channel::Standard)
    };
    let advice = manifests(&advice).unwrap();
    assert_eq!(advice.carry_out, [] as [Value; 0]);
    assert_eq!(
        advice.workload[0]["spec"]["template"]["spec"]["containers"][0]["args"],
        json!([
            "operator",
            "--namespace=clearway",
            "--status-listen=0.0.0.0:9080",
            "--log-format=json",
            "--advice-only",
            "--upstream=https://u",
            "--prometheus=http://p",
        ])
    );
}

#[test]
fn everything_says_who_made_it_and_lives_where_it_is_told() {
    let settings = Settings { namespace: "elsewhere".to_owned(), ..Settings::new(Channel::Experimental) };
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
    for channel in ["standard", "experimental"] {
        let kustomization = &files[&format!("{channel}/kustomization.yaml")];
        for name in kustomization.lines().filter_map(|line| line.trim().strip_prefix("- ")) {
            assert!(files.contains_key(&format!("{channel}/{name}")), "{channel}/{name}");
        }
    }
    let rights = &files["standard/rights.yaml"];
    assert!(
        rights.starts_with("# In the whole cluster, to advise:\n#   get, list, watch: clusterversions"),
        "{rights}"
    );
}
