//! `Policy` rules about the objects of releases: the constraints of a real cluster, releases in a real registry, and a snapshot
//! that gives the same proof.

use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::process::Command;

use clearway_testbed::registry;
use serde_json::{Value, json};

use super::lab::{Lab, REQUIRED_LABEL, constraint};

/// A release with one ConfigMap, pushed to a repository; its payload.
fn push(place: &Path, repository: &str, version: &str, labels: &str) -> String {
    let manifests = place.join(version);
    fs::create_dir_all(&manifests).unwrap();
    let text = format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: settings, namespace: shop, labels: {labels}}}\ndata: {{a: hunter2}}\n"
    );
    fs::write(manifests.join("0000_50_app_00.yaml"), text).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_clearway"))
        .args(["release", "pack"])
        .arg(&manifests)
        .args(["--version", version, "--previous", "1.0.0", "--push", &format!("oci://{repository}")])
        .env("HOME", place)
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    format!("{repository}@{}", String::from_utf8(output.stdout).unwrap().trim())
}

fn graph_data(data: &Path, payloads: &[(&str, String)]) {
    let write = |path: &str, text: &str| {
        let path = data.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    write("version", "1.1.0\n");
    let versions: Vec<&str> = payloads.iter().map(|(version, _)| *version).collect();
    write("channels/c.yaml", &format!("name: c\nversions: [1.0.0, {}]\n", versions.join(", ")));
    let mut releases = "- {version: 1.0.0, arch: amd64, payload: p, previous: []}\n".to_owned();
    for (version, payload) in payloads {
        let release = format!("- {{version: {version}, arch: amd64, payload: '{payload}', previous: [1.0.0]}}\n");
        releases.push_str(&release);
        for (name, rule) in [
            ("Labels", "kind: RequiredLabel, name: owner, objects: Release"),
            ("Scoped", "kind: RequiredLabel, name: at-audits, objects: Release"),
            ("Absent", "kind: RequiredLabel, name: absent, objects: Release"),
            ("AbsentIsFine", "kind: RequiredLabel, name: absent, objects: Release, whenAbsent: NoMatch"),
        ] {
            let head =
                format!("to: {version}\nfrom: .*\nurl: https://example.com/{name}\nname: {name}\nmessage: Bad.\n");
            let rules = format!("matchingRules:\n- {{type: Policy, policy: {{{rule}}}}}\n");
            write(&format!("blocked-edges/{version}-{name}.yaml"), &format!("{head}{rules}"));
        }
    }
    write("releases/r.yaml", &releases);
}

/// Verdict, value and failure of the risks of an update, by name.
fn proofs(assessment: &Value, version: &str) -> Vec<(String, String, String)> {
    let updates = assessment["updates"].as_array().unwrap();
    let update = updates.iter().find(|update| update["version"] == version).unwrap();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let risks = update["risks"].as_array().unwrap().iter();
    risks
        .map(|risk| {
            let rule = &risk["rules"][0];
            (text(&risk["name"]), text(&risk["verdict"]), text(&rule["value"]) + &text(&rule["why"]))
        })
        .collect()
}

#[tokio::test]
async fn a_rule_about_a_release_has_one_proof_live_and_from_a_snapshot() {
    let (Some(lab), Some(registry)) = (Lab::start().await, registry().await) else { return };
    lab.create_template("RequiredLabel", REQUIRED_LABEL).await;
    lab.create(constraint("RequiredLabel", "owner", &json!({"enforcementAction": "dryrun"}))).await;
    let at_audits = json!({
        "enforcementAction": "scoped",
        "scopedEnforcementActions": [{"action": "deny", "enforcementPoints": [{"name": "audit.gatekeeper.sh"}]}],
    });
    lab.create(constraint("RequiredLabel", "at-audits", &at_audits)).await;
    lab.create_namespace("shop").await;
    let place = lab.directory.path();
    let repository = format!("{}/platform", registry.host());
    // A host that only the graph names.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let other = listener.local_addr().unwrap();
    let payloads = [
        ("1.1.0", push(place, &repository, "1.1.0", "{}")),
        ("1.2.0", push(place, &repository, "1.2.0", "{owner: ann}")),
        ("1.3.0", "example.com/platform:1.3.0".to_owned()),
        ("1.4.0", format!("{repository}@sha256:{}", "0".repeat(64))),
        ("1.5.0", format!("{other}/platform@sha256:{}", "0".repeat(64))),
    ];
    let data = place.join("data");
    graph_data(&data, &payloads);
    let host = registry.host();
    let named = ["--graph", data.to_str().unwrap(), "--channel", "c", "--version", "1.0.0"];
    let graph = [&named[..], &["--allow-releases-from", &host]].concat();
    let (_, out, err) = lab.run(&[&["assess", "-o", "json"], &graph[..]].concat());
    let live: Value = serde_json::from_str(&out).unwrap_or_else(|_| panic!("{out}{err}"));
    let unknown = "The violations of RequiredLabel owner by the objects of";
    for (version, verdict, value) in [
        (
            "1.1.0",
            "match",
            "1 violation of RequiredLabel owner by the objects of 1.1.0: ConfigMap shop/settings".to_owned(),
        ),
        ("1.2.0", "noMatch", "0 violations of RequiredLabel owner by the objects of 1.2.0".to_owned()),
        (
            "1.3.0",
            "unknown",
            format!("{unknown} 1.3.0 are unknown: the graph does not name the release by the digest of an image."),
        ),
        ("1.4.0", "unknown", format!("{unknown} 1.4.0 are unknown: the release cannot be read.")),
        (
            "1.5.0",
            "unknown",
            format!(
                "{unknown} 1.5.0 are unknown: the release is in another registry than the one that the cluster runs: \
                 {other}; commands fetch it with --allow-releases-from {other}."
            ),
        ),
    ] {
        let found = proofs(&live, version);
        let labels = found.iter().find(|(name, ..)| name == "Labels").unwrap();
        assert_eq!((labels.1.as_str(), &labels.2), (verdict, &value), "{found:?}");
        let absent = ("Absent".to_owned(), "unknown".to_owned());
        assert!(found.iter().any(|(name, verdict, _)| (name, verdict) == (&absent.0, &absent.1)), "{found:?}");
    }
    let first = proofs(&live, "1.1.0");
    let of = |name: &str| first.iter().find(|(found, ..)| found == name).unwrap();
    assert_eq!(of("AbsentIsFine").1, "noMatch");
    assert_eq!(of("Scoped").1, "unknown");
    assert!(of("Scoped").2.contains("Admission does not evaluate the constraint"), "{first:?}");
    // Counts and names only.
    assert!(!out.contains("hunter2") && !out.contains("is missing"), "{out}");

    for (name, more) in [("kept", &[][..]), ("redacted", &["--redact"])] {
        let kept = place.join(name);
        let kept = kept.to_str().unwrap();
        let (code, out, err) = lab.run(&[&["snapshot", "collect", "--output-dir", kept], &graph[..], more].concat());
        assert_eq!(code, 2, "{out}{err}");
        let said =
            "not collected: violations of RequiredLabel owner by the objects of 1.4.0: the release cannot be read";
        assert!(err.contains(said), "{err}");
        // With --redact, addresses are replaced.
        assert!(name != "kept" || err.contains(&format!("--allow-releases-from {other}\n")), "{err}");
        let command = ["assess", "--snapshot", kept, "--as-of", "snapshot", "-o", "json"];
        let output = Command::new(env!("CARGO_BIN_EXE_clearway")).args(command).args(&graph).output().unwrap();
        let replayed: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
        for (version, _) in &payloads {
            assert_eq!(proofs(&replayed, version), proofs(&live, version), "{name} {version} {err}");
        }
    }

    assert!(listener.accept().is_err(), "a registry that only the graph names was contacted");
    // The registry of the cluster's own release needs no option.
    let command = [&["assess", "-o", "json"], &named[..]].concat();
    for is_running in [false, true] {
        if is_running {
            lab.create_cluster_version(&format!("{repository}@sha256:{}", "0".repeat(64))).await;
        }
        let (_, out, err) = lab.run(&command);
        let found: Value = serde_json::from_str(&out).unwrap_or_else(|_| panic!("{out}{err}"));
        let found = proofs(&found, "1.1.0");
        let labels = found.iter().find(|(name, ..)| name == "Labels").unwrap();
        assert_eq!(labels.1, if is_running { "match" } else { "unknown" }, "{found:?}");
    }
    assert!(listener.accept().is_err(), "a registry that only the graph names was contacted");

    // A release that the user names stands for the one of its version.
    let directory = place.join("unreadable");
    let packed = Command::new(env!("CARGO_BIN_EXE_clearway"))
        .args(["release", "pack"])
        .arg(place.join("1.1.0"))
        .args(["--version", "1.4.0", "--output-dir"])
        .arg(&directory)
        .output()
        .unwrap();
    assert!(packed.status.success(), "{packed:?}");
    let release = ["--release", directory.to_str().unwrap()];
    let (_, out, err) = lab.run(&[&["assess", "-o", "json"], &graph[..], &release].concat());
    let named: Value = serde_json::from_str(&out).unwrap_or_else(|_| panic!("{out}{err}"));
    let labels = named["risks"].as_array().unwrap().iter().find(|risk| risk["name"] == "Labels").unwrap();
    assert_eq!(labels["verdict"], "match", "{labels}");
}
