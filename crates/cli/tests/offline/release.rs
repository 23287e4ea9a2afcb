//! `clearway release` on directories: packed, shown, checked, signed.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::{Answer, Place};

fn examples() -> String {
    concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/releases").to_owned()
}

fn run(place: &Place, line: &str) -> Answer {
    place.run(&line.split_whitespace().collect::<Vec<_>>())
}

const OBJECTS: &str = "\
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, namespace: shop}
---
apiVersion: v1
kind: Namespace
metadata: {name: shop}
";

#[test]
fn the_sample_releases_are_clean_and_what_packing_makes_of_them() {
    let place = Place::new();
    for version in ["1.4.2", "1.4.3", "1.5.2"] {
        let release = format!("{}/{version}", examples());
        let answer = run(&place, &format!("release verify {release} -o json"));
        assert_eq!((answer.code, answer.json()), (0, serde_json::json!([])), "{answer:?}");
        let shown = run(&place, &format!("release show {release} -o json")).json();
        assert_eq!(shown["version"], version);
        let previous: Vec<&str> = shown["previous"].as_array().unwrap().iter().filter_map(|one| one.as_str()).collect();
        let line = format!(
            "release pack {release}/release-manifests --version {version} --previous {} --url {} --output-dir {version}",
            previous.join(","),
            shown["metadata"]["url"].as_str().unwrap()
        );
        let packed = run(&place, &line);
        assert_eq!((packed.code, packed.out.trim()), (0, shown["digest"].as_str().unwrap()), "{packed:?}");
    }
    let levels = |version: &str| {
        let shown = run(&place, &format!("release show {version} -o json")).json();
        let stages = shown["stages"].as_array().unwrap().clone();
        stages
            .iter()
            .map(|stage| format!("{} {}", stage["runLevel"], stage["part"].as_str().unwrap()))
            .collect::<Vec<_>>()
    };
    assert_eq!(levels("1.5.2"), ["10 foundations", "50 components", "60 components"]);
}

#[test]
fn a_release_is_packed_from_files_and_from_standard_input_alike() {
    let place = Place::new();
    place.write("in/all.yaml", OBJECTS);
    let from_files = run(&place, "release pack in --version 1.0.0 --output-dir out");
    assert_eq!(from_files.code, 0, "{from_files:?}");
    assert_eq!(from_files.err, "packed 2 objects of 1.0.0 into out\n");
    let piped = place.run_with(OBJECTS, &["release", "pack", "-", "--version", "1.0.0", "--output-dir", "piped"]);
    assert_eq!((piped.code, &piped.out), (0, &from_files.out));
    let digest = run(&place, "release show out --digest");
    assert_eq!(digest, Answer { code: 0, out: from_files.out.clone(), err: String::new() });
    let table = run(&place, "release show out").out;
    for line in [
        "Version    1.0.0",
        "50 first  main       apply  Namespace shop           0000_50_main_00-namespace_shop.yaml:1",
        "50        main       apply  ConfigMap shop/settings  0000_50_main_21-configmap_shop_settings.yaml:1",
    ] {
        assert!(table.contains(line), "{line} in {table}");
    }
    // Not over what is there.
    let again = run(&place, "release pack in --version 1.0.0 --output-dir out");
    assert_eq!(again.code, 3);
    assert!(again.err.contains("it exists and is not empty"), "{again:?}");
}

#[test]
fn what_cannot_be_packed_is_shown_with_its_line_and_nothing_is_written() {
    let place = Place::new();
    place.write("in/a.yaml", OBJECTS);
    place.write("in/b.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  labels: {a: b}\n");
    let answer = run(&place, "release pack in --version 1.0.0 --output-dir out");
    assert_eq!((answer.code, answer.out.as_str()), (1, ""));
    assert!(answer.err.contains("in/b.yaml:4:3") && answer.err.contains("has no metadata.name"), "{}", answer.err);
    assert!(!place.path().join("out").exists());
    for (line, want) in [
        ("release pack nowhere --version 1.0.0 --output-dir out", "nowhere: cannot be read"),
        ("release pack in --version one --output-dir out", "`one` is not a version"),
        ("release pack in --version 1.0.0", "--output-dir"),
        ("release pack in --version 1.0.0 --output-dir out --component a_b", "--component a_b is not valid"),
        ("release pack in --version 1.0.0 --push oci://h.io/a@sha256:0", "the part after `@` is not a digest"),
        ("release pack in --version 1.0.0 --output-dir out --sign-key in/a.yaml", "it contains no private key"),
        ("release show in", "not a release: it has no directory release-manifests"),
        ("release show gone", "gone not found: name a directory with release-manifests"),
        ("release verify in --key in/a.yaml", "it contains no public key"),
    ] {
        let answer = run(&place, line);
        assert_eq!((answer.code, answer.out.as_str()), (3, ""), "{line}: {answer:?}");
        assert!(answer.err.contains(want), "{line}: {answer:?}");
    }
}

#[test]
fn findings_are_told_by_place_and_a_changed_release_is_refused() {
    let place = Place::new();
    place.write("in/a.yaml", OBJECTS);
    let digest = run(&place, "release pack in --version 1.0.0 --output-dir out").out.trim().to_owned();
    assert_eq!(run(&place, &format!("release verify out --digest {digest}")).code, 0);
    let pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: [{name: a, image: 'h.io/a:1'}]}\n";
    place.write("out/release-manifests/0000_50_x.yaml", pod);
    let changed = run(&place, &format!("release verify out --digest {digest} -o json"));
    assert_eq!((changed.code, changed.places()), (1, vec!["RL202 ".to_owned()]), "{changed:?}");
    let found = run(&place, "release verify out -o json");
    assert_eq!(found.code, 1);
    assert_eq!(found.places(), ["RL102 0000_50_x.yaml", "RL103 0000_50_x.yaml:1:1"]);
    place.write("out/release-manifests/torn.yaml", "a: [1");
    let torn = run(&place, "release verify out -o sarif");
    assert_eq!(torn.code, 1, "{torn:?}");
    assert_eq!(torn.json()["runs"][0]["results"].as_array().unwrap().len(), 3);
    let shown = run(&place, "release show out");
    assert_eq!(shown.code, 3);
    assert!(shown.err.contains("out: torn.yaml:1:4: not YAML"), "{shown:?}");
}

/// A pair of keys; nothing where there is no openssl.
fn keys(directory: &Path) -> Option<()> {
    let line = "command -v openssl >/dev/null || exit 127; for name in mine yours; do \
        openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out $name.key && \
        openssl pkey -in $name.key -pubout -out $name.pub || exit 1; done";
    let done = Command::new("sh").args(["-c", line]).current_dir(directory).output().unwrap();
    if done.status.code() == Some(127) {
        eprintln!("not checked, no openssl");
        return None;
    }
    assert!(done.status.success(), "{done:?}");
    Some(())
}

#[test]
fn a_signed_directory_is_verified_with_its_key_only() {
    let place = Place::new();
    place.write("in/a.yaml", OBJECTS);
    let Some(()) = keys(place.path()) else { return };
    assert_eq!(run(&place, "release pack in --version 1.0.0 --output-dir plain").code, 0);
    assert_eq!(run(&place, "release pack in --version 1.0.0 --output-dir out --sign-key mine.key").code, 0);
    for (line, code, want) in [
        ("release verify out --key mine.pub", 0, "signed by mine.pub"),
        ("release verify out --key yours.pub --key mine.pub", 0, "signed by mine.pub"),
        ("release verify out --key yours.pub", 1, "none of its 1 signatures is by a trusted key (yours.pub)"),
        ("release verify plain --key mine.pub", 1, "no valid signature"),
        ("release verify plain", 0, "signature not checked; pass --key"),
    ] {
        let answer = run(&place, line);
        assert_eq!(answer.code, code, "{line}: {answer:?}");
        assert!(answer.err.contains(want) || answer.out.contains(want), "{line}: {answer:?}");
    }
    // What openssl makes of the digest, as the help says.
    let line = format!(
        "{} release show --digest plain > digest && openssl dgst -sha256 -sign yours.key digest | base64 -w0 > plain/release.sig",
        env!("CARGO_BIN_EXE_clearway")
    );
    assert!(Command::new("sh").args(["-c", &line]).current_dir(place.path()).status().unwrap().success());
    assert_eq!(run(&place, "release verify plain --key yours.pub").code, 0);
    fs::write(place.path().join("plain/release-manifests/more.yaml"), "# changed\n").unwrap();
    assert_eq!(run(&place, "release verify plain --key yours.pub").code, 1);
}

#[test]
fn a_release_is_rendered_for_something_else_to_apply() {
    let place = Place::new();
    let names = || {
        let entries = fs::read_dir(place.path().join("out")).unwrap();
        let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.retain(|name| !name.starts_with('.'));
        names.sort();
        names
    };
    let newer = run(&place, &format!("release render {}/1.5.2 --output-dir out", examples()));
    assert_eq!((newer.code, newer.out.as_str()), (0, ""), "{newer:?}");
    let count = names().len();
    assert!(newer.err.starts_with(&format!("wrote {count} objects of release 1.5.2 to out")), "{newer:?}");
    let first = fs::read_to_string(place.path().join("out").join(&names()[0])).unwrap();
    assert!(first.contains("clearway.dev/owner: ClusterVersion.version"), "{first}");
    let again = run(&place, &format!("release render {}/1.4.2 --output-dir out --prune --state state", examples()));
    assert_eq!(again.code, 0, "{again:?}");
    assert!(names().contains(&"prune.txt".to_owned()) && names() != Vec::<String>::new());

    place.write("busy/mine", "mine");
    let busy = run(&place, &format!("release render {}/1.5.2 --output-dir busy", examples()));
    assert!(busy.code == 3 && busy.err.contains("this command did not write"), "{busy:?}");
    let none = run(&place, "release render busy --output-dir out");
    assert!(none.code == 1 && none.err.contains("not a release"), "{none:?}");
    let owner = run(&place, &format!("release render {}/1.5.2 --output-dir out --owner nobody", examples()));
    assert!(owner.code == 3 && owner.err.contains("ComponentVersion.NAME"), "{owner:?}");
}

#[test]
fn errors_that_are_not_printed_count() {
    let place = Place::new();
    place.write("in/a.yaml", OBJECTS);
    assert_eq!(run(&place, "release pack in --version 1.0.0 --output-dir out").code, 0);
    let put = |name: &str, text: &str| drop(place.write(&format!("out/release-manifests/{name}"), text));
    for number in 0..1001 {
        put(&format!("0000-note-{number:04}.txt"), "x");
    }
    assert_eq!(run(&place, "release verify out").code, 0, "notes are no findings");
    for number in 0..1003 {
        put(&format!("z{number:04}.yaml"), "kind: Nothing");
    }
    let found = run(&place, "release verify out -o json");
    assert_eq!(found.code, 1);
    assert!(
        found.err.contains("1003 errors, 0 warnings, 1001 notes") && found.err.contains("4 findings not shown"),
        "{}",
        found.err
    );
    let found = found.json();
    let severities: Vec<&str> = found.as_array().unwrap().iter().map(|one| one["severity"].as_str().unwrap()).collect();
    assert_eq!((severities.len(), severities[0], severities[999], severities[1000]), (2000, "error", "error", "info"));
    let shown = run(&place, "release show out");
    assert!(shown.code != 0 && shown.err.contains("(and 1002 more)"), "{shown:?}");
}
