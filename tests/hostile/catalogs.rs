//! Attacks by whoever publishes a catalogue of products: one of them is hostile, and its advice is Unknown; the other one is
//! assessed as ever.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use clearway_testbed::images::{Family, Pusher, gzip};
use serde::Deserialize;
use serde_json::Value;

use crate::attack::{self, Content};
use crate::evidence;
use crate::program::{Ended, run, shortened};

/// What an attack puts into the directory of a catalogue.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Attack {
    /// What somebody tries.
    title: String,
    /// Files beside the good ones of the product `hostile`, or in place of one.
    files: BTreeMap<String, Content>,
    /// Said in the assessment of all products.
    says: String,
    /// Nothing comes of it.
    #[serde(default)]
    harmless: bool,
    /// A text that must not be on a terminal.
    never: Option<String>,
}

/// A product whose version is a label of the Node, with one risk that does not apply.
const PRODUCT: [(&str, &str); 5] = [
    (
        "product.yaml",
        "name: NAME\ntitle: A product\nurl: https://example.com\nsummary: It is.\nchannel: c\n\
         detect:\n- objects: {apiVersion: v1, kind: Node, name: one}\n  label: version\n",
    ),
    ("version", "1.2.0\n"),
    ("channels/c.yaml", "name: c\nversions: [1.0.0, 1.1.0]\n"),
    (
        "releases/r.yaml",
        "- {version: 1.0.0, arch: amd64, payload: 'r.example.com/p:1.0.0'}\n\
         - {version: 1.1.0, arch: amd64, payload: 'r.example.com/p:1.1.0', previous: [1.0.0]}\n",
    ),
    (
        "risks/watched.yaml",
        "name: Watched\nurl: https://example.com/w\nmessage: It breaks.\nto: 1.1.0\nfrom: '*'\n\
         matchingRules: [{type: PromQL, promql: {promql: max(broken)}}]\n",
    ),
];

fn write(catalog: &Path, files: &BTreeMap<String, Content>) {
    for name in ["good", "hostile"] {
        for (path, text) in PRODUCT {
            let path = catalog.join(name).join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text.replace("NAME", name)).unwrap();
        }
    }
    // The whole product may be something else.
    if files.contains_key("hostile") {
        fs::remove_dir_all(catalog.join("hostile")).unwrap();
    }
    attack::write(catalog, files);
}

/// What is advised about the only update of a product.
fn advice(assessed: &Ended, product: &str) -> Option<String> {
    let json = assessed.text.get(assessed.text.find('{')?..)?;
    let answers: Value = serde_json::Deserializer::from_str(json).into_iter().next()?.ok()?;
    let product = answers["products"].as_array()?.iter().find(|one| one["name"] == product)?.clone();
    product["assessment"]["updates"][0]["recommended"]["status"].as_str().map(str::to_owned)
}

fn commands(what: &str, attack: &Attack, place: &Path, catalog: &str) {
    let of_snapshot = ["--snapshot", "evidence", "--as-of", "snapshot", "--catalog", catalog];
    let assess = [&["assess", "--all-products", "-o", "json"][..], &of_snapshot].concat();
    let assessed = run(place, &assess);
    let text = shortened(&assessed.text);
    assert_eq!(advice(&assessed, "good").as_deref(), Some("True"), "{what}: the other product: {text}");
    let hostile = advice(&assessed, "hostile");
    assert_eq!(hostile.as_deref() == Some("True"), attack.harmless, "{what}: {hostile:?}: {text}");
    assert!(attack.harmless || assessed.code == 2, "{what} ends with {}: {text}", assessed.code);
    for command in [
        assess,
        [&["assess", "--all-products", "--why"][..], &of_snapshot].concat(),
        vec!["catalog", "list", "--catalog", catalog],
        vec!["catalog", "show", "hostile", "--catalog", catalog],
    ] {
        let ended = run(place, &command);
        let text = shortened(&ended.text);
        assert!(command[0] != "assess" || ended.text.contains(&attack.says), "{what}: {command:?}: {text}");
        assert!(!ended.text.contains('\u{1b}') && !ended.text.contains('\u{202e}'), "{what}: {command:?}: {text}");
        if let Some(never) = &attack.never {
            assert!(!ended.text.contains(never.as_str()), "{what}: {command:?} prints {never:?}");
        }
    }
    let good = run(place, &["catalog", "show", "good", "--catalog", catalog]);
    assert_eq!(good.code, 0, "{what}: {}", shortened(&good.text));
}

/// An image holds the files themselves: one with a link or a pipe in place of a file is refused, and the file is named. A link
/// in place of a whole product is no product.
fn odd_image(what: &str, attack: &Attack, place: &Path, catalog: &str) {
    let of_snapshot = ["--snapshot", "evidence", "--as-of", "snapshot", "--catalog", catalog];
    let ended = run(place, &[&["assess", "--all-products", "-o", "json"][..], &of_snapshot].concat());
    let (path, text) = (attack.files.keys().next().unwrap(), shortened(&ended.text));
    if path.contains('/') {
        assert!(ended.code != 0 && ended.text.contains(path), "{what} ends with {}: {text}", ended.code);
    } else {
        assert_eq!(advice(&ended, "good").as_deref(), Some("True"), "{what}: the other product: {text}");
        assert_eq!(advice(&ended, "hostile"), None, "{what}: {text}");
    }
}

#[tokio::test]
async fn catalogs_for_commands() {
    let registry = clearway_testbed::registry().await;
    for (name, attack) in attack::all::<Attack>("catalogs") {
        let what = format!("{name} ({})", attack.title);
        let place = tempfile::tempdir().unwrap();
        evidence::write(&place.path().join("evidence"));
        let catalog = place.path().join("catalog");
        write(&catalog, &attack.files);
        commands(&format!("{what} from a directory"), &attack, place.path(), "catalog");
        if let Some(registry) = &registry {
            let mut builder = tar::Builder::new(Vec::new());
            builder.follow_symlinks(false);
            builder.append_dir_all("", &catalog).unwrap();
            let layer = gzip(&builder.into_inner().unwrap());
            Pusher::new(&registry.base_url(), "catalogs").image(Family::Oci, Some(&name), "amd64", vec![layer]).await;
            let image = format!("oci://{}/catalogs:{name}", registry.host());
            let what = format!("{what} from an image");
            if attack.files.values().all(|content| content.bytes().is_some()) {
                commands(&what, &attack, place.path(), &image);
            } else {
                odd_image(&what, &attack, place.path(), &image);
            }
        }
    }
}

/// What is in a registry is not split into several products that each have all of it.
#[tokio::test]
async fn a_small_catalogue_cannot_take_much_memory() {
    let Some(registry) = clearway_testbed::registry().await else { return };
    let place = tempfile::tempdir().unwrap();
    let mut builder = tar::Builder::new(Vec::new());
    let mut add = |path: &str, content: &[u8]| {
        let mut header = tar::Header::new_gnu();
        header.set_size(content.len() as u64);
        header.set_mode(0o644);
        builder.append_data(&mut header, path, content).unwrap();
    };
    for level in 1..=150 {
        add(&format!("{}product.yaml", "a/".repeat(level)), b"name: a\n");
    }
    add(&format!("{}risks/large.yaml", "a/".repeat(150)), &vec![b' '; 32 << 20]);
    let layer = gzip(&builder.into_inner().unwrap());
    Pusher::new(&registry.base_url(), "nested").image(Family::Oci, Some("t"), "amd64", vec![layer]).await;
    let ended = run(place.path(), &["catalog", "list", "--catalog", &format!("oci://{}/nested:t", registry.host())]);
    assert!((2..=3).contains(&ended.code), "{}", shortened(&ended.text));
}
