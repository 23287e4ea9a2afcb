//! The catalogue in `catalog/`: every product lints clean and passes its tests, is compiled in as it is in the files, and
//! can be replaced; what is wrong with a product makes its own answer Unknown and no other.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};

use super::Place;

fn catalog() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../catalog"))
}

fn products() -> Vec<String> {
    let entries = fs::read_dir(catalog()).unwrap().map(|entry| entry.unwrap().path());
    let products = entries.filter(|path| path.join("product.yaml").exists());
    let mut names: Vec<String> = products.map(|path| path.file_name().unwrap().to_str().unwrap().to_owned()).collect();
    names.sort();
    names
}

/// The names of the files of a directory of a product, without their endings.
fn stems(product: &str, directory: &str) -> BTreeSet<String> {
    let entries = fs::read_dir(catalog().join(product).join(directory)).unwrap().map(|entry| entry.unwrap().path());
    entries.filter(|path| path.is_file()).map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned()).collect()
}

/// U20.
#[test]
fn every_product_lints_clean_and_every_risk_of_it_passes_its_tests() {
    let place = Place::new();
    assert!(products().len() >= 7);
    for product in products() {
        let directory = catalog().join(&product).display().to_string();
        let lint = place.run(&["graph", "lint", "--graph", &directory, "-o", "json"]);
        assert_eq!(lint.code, 0, "{product}: {lint:?}");
        let bad = |finding: &&Value| finding["severity"] != "info";
        let findings = lint.json();
        assert_eq!(findings.as_array().unwrap().iter().find(bad), None, "{product}");
        let tests = place.run(&["risk", "test", "--graph", &directory, "-o", "json"]);
        assert_eq!(tests.code, 0, "{product}: {tests:?}");
        assert_eq!(stems(&product, "risks"), stems(&product, "risk-tests"), "{product}: each risk has its own tests");
        let results = tests.json();
        for risk in stems(&product, "risks") {
            let came: BTreeSet<&str> = results
                .as_array()
                .unwrap()
                .iter()
                .filter(|test| test["risk"] == risk.as_str() && test["file"].is_string())
                .map(|test| test["outcome"].as_str().unwrap())
                .collect();
            assert!(came.contains("match") && came.contains("no match"), "{product}: {risk}: {came:?}");
        }
    }
}

#[test]
fn the_built_in_catalogue_is_that_of_the_files() {
    let place = Place::new();
    let built_in = place.run(&["catalog", "list", "-o", "json"]);
    let of_files = place.run(&["catalog", "list", "-o", "json", "--catalog", catalog().to_str().unwrap()]);
    assert_eq!((built_in.code, &built_in.out), (0, &of_files.out));
    let names: Vec<String> =
        built_in.json().as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap().to_owned()).collect();
    assert_eq!(names, products());
    for product in products() {
        let shown = place.run(&["catalog", "show", &product, "-o", "json"]);
        let same = place.run(&["catalog", "show", &product, "-o", "json", "--catalog", catalog().to_str().unwrap()]);
        assert_eq!((shown.code, &shown.out), (0, &same.out));
        assert!(place.run(&["catalog", "show", &product]).out.contains("detected by"));
    }
    let wrong = place.run(&["catalog", "show", "cert-manger"]);
    assert_eq!(wrong.code, 3);
    assert!(
        wrong.err.contains("product `cert-manger` not found in the catalogue; the products are argo-cd,"),
        "{wrong:?}"
    );
}

/// A snapshot with all objects of some kinds.
fn snapshot(place: &Place, name: &str, kinds: &[(&str, &str, Vec<Value>)]) {
    let entries: Vec<Value> = kinds.iter().map(|(group, kind, _)| json!({"group": group, "kind": kind})).collect();
    let cluster = json!({"kubernetesVersion": "v1.35.2-gke.7"});
    let manifest = json!({"schema": "1.0", "takenAt": "2026-05-04T09:00:00Z", "cluster": cluster, "objects": entries});
    place.write(&format!("{name}/snapshot.json"), manifest.to_string());
    for (group, kind, items) in kinds {
        let file = if group.is_empty() { format!("{kind}.json") } else { format!("{kind}.{group}.json") };
        place.write(&format!("{name}/objects/{file}"), json!({"items": items}).to_string());
    }
}

fn deployment(name: &str, version: &str) -> Value {
    let container = json!({"name": "c", "image": format!("quay.io/jetstack/cert-manager-controller:v{version}")});
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": name, "namespace": "tools", "labels": {"app.kubernetes.io/version": format!("v{version}")}},
        "spec": {"template": {"spec": {"containers": [container]}}},
    })
}

fn certificate(key: &Value) -> Value {
    json!({"apiVersion": "cert-manager.io/v1", "kind": "Certificate", "metadata": {"name": "web", "namespace": "shop"},
        "spec": {"privateKey": key}})
}

const SNAPSHOT: [&str; 5] = ["assess", "--snapshot", "snapshot", "--as-of", "snapshot"];

fn assess(place: &Place, more: &[&str]) -> super::Answer {
    place.run(&[&SNAPSHOT, more].concat())
}

fn kinds(deployments: Vec<Value>, certificates: Vec<Value>) -> Vec<(&'static str, &'static str, Vec<Value>)> {
    vec![
        ("apps", "Deployment", deployments),
        ("cert-manager.io", "Certificate", certificates),
        ("networking.k8s.io", "IngressClass", Vec::new()),
    ]
}

#[test]
fn a_product_is_assessed_in_the_version_that_the_snapshot_shows() {
    let place = Place::new();
    let pinned = certificate(&json!({"rotationPolicy": "Never"}));
    snapshot(&place, "snapshot", &kinds(vec![deployment("cert-manager", "1.17.4")], vec![pinned]));
    let good = assess(&place, &["--product", "cert-manager"]);
    assert_eq!(good.code, 0, "{good:?}");
    assert!(good.out.starts_with("Catalogue: built-in; channel: stable\n"), "{good:?}");
    let row = good.out.lines().find(|line| line.starts_with("cert-manager")).unwrap();
    let words: Vec<&str> = row.split_whitespace().take(4).collect();
    assert_eq!(words, ["cert-manager", "1.17.4", "1.18.0", "True"], "{good:?}");

    snapshot(
        &place,
        "snapshot",
        &kinds(vec![deployment("cert-manager", "1.17.4")], vec![certificate(&json!({"algorithm": "RSA"}))]),
    );
    let bad = assess(&place, &["--product", "cert-manager", "-o", "json"]);
    assert_eq!(bad.code, 1, "{bad:?}");
    let product = &bad.json()["products"][0];
    assert_eq!((&product["state"], &product["version"]), (&json!("installed"), &json!("1.17.4")));
    assert_eq!((&product["assessedAs"], &product["channel"]), (&json!("1.17.0"), &json!("stable")));
    let update = &product["assessment"]["updates"][0];
    assert_eq!(update["recommended"]["reason"], "PrivateKeysRotate");
    let why = assess(&place, &["--product", "cert-manager", "--why"]);
    assert!(
        why.out.contains("cert-manager 1.17.4, found in Deployment tools/cert-manager; assessed as 1.17.0"),
        "{why:?}"
    );
    assert!(why.out.contains("shop/web true"), "{why:?}");
    // A patch that is not listed is the release that stands for it, and a version further away has a path.
    let target = assess(&place, &["--product", "cert-manager", "--to", "1.18.2"]);
    assert_eq!(target.code, 1, "{target:?}");
    assert!(target.out.starts_with("1.18.0"), "{target:?}");
    let path = assess(&place, &["--product", "cert-manager", "--to", "1.19.1"]);
    assert!(path.out.contains("1.17.0 -> 1.18.0") && path.out.contains("1.18.0 -> 1.19.1"), "{path:?}");
}

#[test]
fn what_is_not_known_about_a_product_is_named_and_does_not_hide_the_others() {
    let place = Place::new();
    let two = vec![deployment("cert-manager", "1.17.4"), deployment("cert-manager", "1.18.0")];
    snapshot(&place, "snapshot", &kinds(two, Vec::new()));
    let all = assess(&place, &["--all-products"]);
    assert_eq!(all.code, 2, "{all:?}");
    for want in [
        "cert-manager: Several versions of cert-manager are installed: 1.17.4 in Deployment tools/cert-manager; 1.18.0 in",
        "gateway-api: CustomResourceDefinition.apiextensions.k8s.io objects are unknown: they were not collected.",
    ] {
        assert!(all.out.contains(want), "{want}: {all:?}");
    }
    let row = |name: &str| {
        let line = all.out.lines().find(|line| line.starts_with(name)).unwrap();
        line.split_whitespace().take(5).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(row("istio"), ["istio", "-", "-", "-", "NotInstalled"]);
    // The version of the API server is that of the snapshot, without the vendor's suffix; without nodes nothing is known.
    assert_eq!(row("kubernetes")[..4], ["kubernetes", "1.35.2", "1.36.0", "Unknown"]);
    let none = assess(&place, &["--product", "istio"]);
    assert_eq!(none.code, 1, "{none:?}");
    let old = assess(&place, &["--product", "istio", "--version", "1.12.0"]);
    assert_eq!(old.code, 2, "{old:?}");
    assert!(
        old.out.contains("istio: the catalogue has no release of Istio 1.12; it lists 1.21.0 to 1.30.0"),
        "{old:?}"
    );
}

#[test]
fn a_product_file_of_a_stranger_can_only_make_its_own_answer_unknown() {
    let place = Place::new();
    snapshot(&place, "snapshot", &kinds(vec![deployment("cert-manager", "1.17.4")], Vec::new()));
    let source = catalog().join("cert-manager");
    let product = fs::read_to_string(source.join("product.yaml")).unwrap();
    for (name, file) in [
        ("cert-manager", product.clone()),
        ("broken", "{{{\u{1b}[2J".to_owned()),
        ("misnamed", product.clone()),
        ("laughs", format!("a: &a [x,x,x]\nb: &b [*a,*a,*a]\n{}", product.replacen("cert-manager", "laughs", 1))),
        ("huge", format!("{}\n# {}", product.replacen("cert-manager", "huge", 1), "x".repeat(1 << 17))),
        (
            "secrets",
            "name: secrets\ntitle: S\nurl: https://example.com\nsummary: S.\nchannel: stable\ndetect:\n- objects: \
             {apiVersion: v1, kind: Secret, name: a}\n  label: a\n"
                .to_owned(),
        ),
    ] {
        place.write(&format!("catalog/{name}/product.yaml"), file);
        for part in ["channels/stable.yaml", "releases/cert-manager.yaml", "version"] {
            place.write(&format!("catalog/{name}/{part}"), fs::read(source.join(part)).unwrap());
        }
    }
    let listed = place.run(&["catalog", "list", "--catalog", "catalog"]);
    assert_eq!(listed.code, 2, "{listed:?}");
    assert!(!listed.out.contains('\u{1b}'), "{listed:?}");
    place.write("catalog/no-graph-data/product.yaml", product.replacen("cert-manager", "no-graph-data", 1));
    let all = assess(&place, &["--all-products", "--catalog", "catalog", "-o", "json"]);
    assert_eq!(all.code, 2, "{all:?}");
    for product in all.json()["products"].as_array().unwrap() {
        let has_version = ["cert-manager", "no-graph-data"].contains(&product["name"].as_str().unwrap());
        let want = if has_version { "installed" } else { "unknown" };
        assert_eq!(product["state"], want, "{product}");
        assert_eq!(product["assessment"].is_object(), product["name"] == "cert-manager", "{product}");
    }
}

#[test]
fn wrong_use_says_what_to_do() {
    let place = Place::new();
    for (line, want) in [
        ("assess --catalog catalog", "--catalog needs --product or --all-products"),
        ("assess --all-products --version 1.2.3", "--version needs a single --product"),
        ("assess --product istio,argo-cd --to 1.2.3", "--to needs a single --product"),
        ("assess --product istio", "no cluster is configured; pass --kubeconfig"),
        ("assess --product istio --graph x", "cannot be used with"),
        ("assess --product nothing", "product `nothing` not found in the catalogue"),
        ("assess --product istio --catalog nowhere", "nowhere: No such file or directory"),
        ("assess --product istio --catalog .", "no product found: a catalogue has one directory per product"),
        ("assess --product istio --catalog https://example.com", "unsupported; pass a directory or an image (oci://…)"),
        ("assess --product istio --graph-key k.pub", "but got the built-in catalogue"),
        ("graph show c --graph . --graph-key k.pub", "--graph-key checks the signature of an image or artifact"),
        ("graph diff a b --graph-key k.pub", "but got two others"),
        (
            "serve --graph . --graph-key k.pub --listen 127.0.0.1:0 --status-listen 127.0.0.1:0",
            "--graph-key checks the signature of an image or artifact",
        ),
        ("graph publish example.com/graph", "write oci://HOST/PATH:TAG"),
        ("snapshot collect --product istio --output-dir x", "nothing to collect: no cluster is configured"),
    ] {
        let answer = place.run(&line.split_whitespace().collect::<Vec<_>>());
        assert_eq!(answer.code, 3, "{line}: {answer:?}");
        assert!(answer.err.contains(want), "{line}: {answer:?}");
    }
}
