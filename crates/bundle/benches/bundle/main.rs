//! Comparing bundles and validating stored objects, each beside a peer in the same run.
//!
//! - Judging two bundles of 1.2 MB takes less time than parsing them.
//! - Validating an object against the schema of its CRD, rules in CEL included, is at least three times faster than in the
//!   API server's own packages, on one core.
//!
//! `cargo bench -p clearway-bundle --bench bundle` ends with exit code 1 below a bound. Without `--bench`, short runs show
//! that all is well. `GATEWAY_RELEASES=DIR`, the directory that `tools/gateway-releases` downloads into, adds the releases
//! of Gateway API that are there.

mod route;

#[path = "../../../cel/tests/differential/reference.rs"]
mod reference;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use clearway_bundle::{Bundle, BundleLimits, BundleReader, Comparison, CrdSchema, to_yaml};
use clearway_testbed::{Component, have};
use serde_json::{Value, json};

use reference::Reference;

/// How many times faster than the API server's packages.
const BOUND: f64 = 3.0;
/// The size of a bundle, about that of the standard channel of Gateway API 1.6.
const BUNDLE_BYTES: usize = 1_200_000;

const CLUSTER_VERSIONS: &str = include_str!("../../../../crds/experimental/clusterversions.config.openshift.io.yaml");

fn main() -> ExitCode {
    let timed = std::env::args().any(|argument| argument == "--bench");
    let seconds = if timed { 1.0 } else { 0.01 };
    let mut passes = compare_bundles(seconds, timed);
    passes &= validate_objects(seconds, timed);
    if passes { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Seconds of one run, repeated for some time.
fn measure(seconds: f64, mut run: impl FnMut()) -> f64 {
    let begin = Instant::now();
    let mut count = 0_u32;
    while count == 0 || begin.elapsed().as_secs_f64() < seconds {
        run();
        count += 1;
    }
    begin.elapsed().as_secs_f64() / f64::from(count)
}

/// The files of a bundle, by name.
type Files = Vec<(String, String)>;

fn read(files: &Files, domain: &str) -> Bundle {
    let mut reader = BundleReader::new("bench", domain, BundleLimits::default());
    for (name, text) in files {
        reader.add_file(name, text.as_bytes());
    }
    reader.finish()
}

/// Two bundles of the given size, the second with changes of many kinds.
fn generated() -> [Files; 2] {
    [false, true].map(|changed| {
        let mut files = Files::new();
        while files.iter().map(|(_, text)| text.len()).sum::<usize>() < BUNDLE_BYTES {
            let crd = route::crd(files.len(), changed);
            files.push((format!("{}.yaml", files.len()), to_yaml(&crd).expect("a CRD")));
        }
        files
    })
}

/// Consecutive releases of Gateway API below a directory, by the names of the pair.
fn releases(root: &Path) -> Vec<(String, [Files; 2])> {
    let mut found: Vec<(Vec<u64>, PathBuf)> = Vec::new();
    for entry in std::fs::read_dir(root).expect("the directory of the releases").flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if let Some(version) = name.strip_prefix("gateway-api@v") {
            let numbers = version.split('.').filter_map(|part| part.parse().ok()).collect();
            found.push((numbers, entry.path()));
        }
    }
    found.sort();
    let files = |path: &Path| -> Files {
        let entries = std::fs::read_dir(path.join("config/crd/experimental")).into_iter().flatten().flatten();
        let paths = entries.map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|one| one == "yaml"));
        paths.filter_map(|path| Some((path.display().to_string(), std::fs::read_to_string(&path).ok()?))).collect()
    };
    let pairs = found.windows(2).map(|pair| {
        let name = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        (format!("{} > {}", name(&pair[0].1), name(&pair[1].1)), [files(&pair[0].1), files(&pair[1].1)])
    });
    pairs.collect()
}

fn compare_bundles(seconds: f64, timed: bool) -> bool {
    println!("two bundles, milliseconds");
    let mut pairs = vec![("generated".to_owned(), "example.com", generated())];
    if let Some(root) = std::env::var_os("GATEWAY_RELEASES") {
        let real = releases(Path::new(&root)).into_iter();
        pairs.extend(real.map(|(name, files)| (name, "gateway.networking.k8s.io", files)));
    }
    let mut passes = true;
    for (name, domain, files) in pairs {
        let parsing = measure(seconds, || _ = std::hint::black_box(files.each_ref().map(|files| read(files, domain))));
        let [old, new] = files.each_ref().map(|files| read(files, domain));
        let judgement = Comparison::new(&old, &new).judge();
        assert!(!judgement.findings.is_empty() && !judgement.incomplete, "{name} has changes");
        let judging = measure(seconds, || _ = std::hint::black_box(Comparison::new(&old, &new).judge()));
        let bytes: usize = files.iter().flatten().map(|(_, text)| text.len()).sum();
        let enough = judging < parsing || !timed;
        passes &= enough;
        println!(
            "  {}: {:7.1} to judge, {:7.1} to parse, {:4.1} times less; {bytes} bytes, {} findings: {name}",
            if enough { "PASS" } else { "FAIL" },
            judging * 1e3,
            parsing * 1e3,
            parsing / judging,
            judgement.findings.len()
        );
    }
    passes
}

/// A schema and an object that it accepts, by name.
fn objects() -> Vec<(&'static str, Value, Value)> {
    let route = route::crd(0, false).pointer("/spec/versions/0/schema/openAPIV3Schema").cloned();
    let cluster_versions: Value = serde_saphyr::from_str(CLUSTER_VERSIONS).expect("a CRD");
    let cluster_versions = cluster_versions.pointer("/spec/versions/0/schema/openAPIV3Schema").cloned();
    vec![
        ("a route with 1 rule", route.clone().expect("a schema"), route::object(1)),
        ("a route with 16 rules", route.expect("a schema"), route::object(16)),
        ("a ClusterVersion with 50 updates", cluster_versions.expect("a schema"), cluster_version(50)),
    ]
}

fn cluster_version(updates: usize) -> Value {
    let time = "2026-01-01T00:00:00Z";
    let condition = |kind: &str| json!({"type": kind, "status": "True", "reason": "AsExpected", "message": "It is.", "lastTransitionTime": time});
    let release = |number: usize| {
        let image = format!("example.com/release@sha256:{number:064}");
        json!({"version": format!("4.19.{number}"), "image": image, "channels": ["fast-4.19", "stable-4.19"]})
    };
    let conditional = |number: usize| {
        let risk = |risk: usize| {
            json!({
                "name": format!("Risk{risk}"), "url": "https://example.com/risk", "message": "Some pods stop.",
                "matchingRules": [{"type": "PromQL", "promql": {"promql": "max(up == 0)"}}],
            })
        };
        let risks: Vec<Value> = (0..3).map(risk).collect();
        json!({"release": release(number), "risks": risks, "conditions": [condition("Recommended")]})
    };
    json!({
        "apiVersion": "config.openshift.io/v1", "kind": "ClusterVersion", "metadata": {"name": "version"},
        "spec": {
            "clusterID": "9e8e9d2c-5a37-4b2b-8a3e-0c5a1ad2e2bb", "channel": "stable-4.19",
            "desiredUpdate": {"version": "4.19.3", "architecture": ""},
            "signatureStores": [{"url": "https://example.com/signatures"}],
        },
        "status": {
            "desired": release(0), "observedGeneration": 1, "versionHash": "x", "availableUpdates": [release(1)],
            "conditions": [condition("Available"), condition("Progressing"), condition("Failing")],
            "history": [{
                "state": "Completed", "startedTime": time, "completionTime": time, "version": "4.19.0",
                "image": "example.com/release", "verified": true,
            }],
            "conditionalUpdates": (0..updates).map(conditional).collect::<Vec<_>>(),
        },
    })
}

fn validate_objects(seconds: f64, timed: bool) -> bool {
    if !have(&[Component::CelReference]) {
        return true;
    }
    println!("one object against its schema with all rules, microseconds");
    let mut reference = Reference::start();
    let mut passes = true;
    for (name, schema, object) in objects() {
        let ours = CrdSchema::read(&schema).expect("a schema");
        assert_eq!(ours.unchecked(), [], "{name}: all of it is checked here");
        let define = json!({"define": name, "schema": schema});
        let question = json!({"validate": true, "schema": name, "object": object});
        let mut timing = question.clone();
        (timing["bench"], timing["seconds"]) = (json!("validate"), json!(seconds));
        // Both must accept the object, and refuse what is wrong in its last parts.
        let mut odd = object.clone();
        spoil(&mut odd);
        let refusal = json!({"validate": true, "schema": name, "object": odd});
        let answers = reference.ask(&[define, question, refusal, timing]);
        assert_eq!(answers[1].violations.as_deref(), Some(&[][..]), "{name}");
        assert_eq!(ours.validate(&object).violations, [], "{name}");
        let there = answers[2].violations.as_ref().map_or(0, Vec::len);
        assert!(there > 0 && ours.validate(&odd).violations.len() == there, "{name}: {:?}", answers[2].violations);

        let here = measure(seconds, || _ = std::hint::black_box(ours.validate(&object))) * 1e6;
        let there = answers[3].nanoseconds.expect("a measurement") / 1e3;
        let enough = there / here >= BOUND || !timed;
        passes &= enough;
        println!(
            "  {}: {here:8.1} here {there:8.1} there, {:5.1} times faster, at least {BOUND}: {name}",
            if enough { "PASS" } else { "FAIL" },
            there / here
        );
    }
    passes
}

/// Breaks one rule of an object: of a route that of its last filter, of a ClusterVersion that of the wanted update.
fn spoil(object: &mut Value) {
    if let Some(update) = object.pointer_mut("/spec/desiredUpdate") {
        update["architecture"] = json!("Multi");
        update["image"] = json!("example.com/release");
    } else if let Some(Value::Array(rules)) = object.pointer_mut("/spec/rules")
        && let Some(rule) = rules.last_mut()
    {
        rule["filters"][0]["type"] = json!("URLRewrite");
    }
}
