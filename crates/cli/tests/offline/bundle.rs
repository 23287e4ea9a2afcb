//! `clearway bundle` without a cluster: the sources, the verdicts, the formats and the exit codes.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::{Answer, Place};

/// The examples of the rules, which the library's tests judge too.
fn rule(path: &str) -> String {
    let rules = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../bundle/tests/rules"));
    std::fs::read_to_string(rules.join(path)).unwrap()
}

/// A directory with the pair of a rule as `old.yaml` and `new.yaml`.
fn place_with(example: &str) -> Place {
    let place = Place::new();
    for name in ["old.yaml", "new.yaml"] {
        place.write(name, rule(&format!("{example}/{name}")));
    }
    place
}

fn check(place: &Place, more: &[&str]) -> Answer {
    place.run(&[&["bundle", "check", "old.yaml", "new.yaml"], more].concat())
}

fn finding<'j>(json: &'j Value, rule: &str) -> &'j Value {
    json["judgement"]["findings"].as_array().unwrap().iter().find(|finding| finding["rule"] == rule).unwrap()
}

#[test]
fn the_exit_code_is_the_verdict() {
    for (example, code) in [("R12/allowed", 0), ("R12/broken", 1), ("R21/broken", 2)] {
        let answer = check(&place_with(example), &[]);
        assert_eq!(answer.code, code, "{example}: {answer:?}");
    }
    let missing = Place::new().run(&["bundle", "check", "nothing.yaml", "nothing.yaml"]);
    assert_eq!(missing.code, 3);
    assert!(missing.err.contains("cannot read nothing.yaml: "), "{missing:?}");
}

#[test]
fn a_violation_names_rule_place_and_change_in_every_format() {
    let place = place_with("R12/broken");
    let table = check(&place, &[]);
    assert!(table.out.contains("R12") && table.out.contains("things v1 spec.name"), "{table:?}");
    assert!(table.err.contains("v1.0.0 → v1.1.0 (minor): 1 violation"), "{table:?}");
    let json: Value = serde_json::from_str(&check(&place, &["-o", "json"]).out).unwrap();
    assert_eq!(json["outcome"], "violation");
    let finding = finding(&json, "R12");
    assert_eq!(finding["needed"], "new-api-version");
    assert!(finding["storedObjects"].as_str().is_some_and(|text| !text.is_empty()), "{finding}");
    let sarif: Value = serde_json::from_str(&check(&place, &["-o", "sarif"]).out).unwrap();
    assert_eq!(sarif["runs"][0]["results"][0]["ruleId"], "R12");
    let junit = check(&place, &["-o", "junit"]).out;
    assert!(junit.contains("failures=\"1\"") && junit.contains("R12 things v1 spec.name"), "{junit}");
}

#[test]
fn a_level_or_a_waiver_allows_what_the_versions_do_not() {
    let place = place_with("R12/broken");
    assert_eq!(check(&place, &["--level", "major"]).code, 0);
    assert_eq!(check(&place, &["--level", "patch"]).code, 1);
    let path = {
        let json: Value = serde_json::from_str(&check(&place, &["-o", "json"]).out).unwrap();
        finding(&json, "R12")["path"].as_str().unwrap().to_owned()
    };
    let waiver = |expires: &str| {
        format!("waivers:\n- rule: R12\n  path: {path:?}\n  reason: the value C is unused\n  expires: {expires}\n")
    };
    place.write("waivers.yaml", waiver("2999-01-01T00:00:00Z"));
    let answer = check(&place, &["--waivers", "waivers.yaml"]);
    assert_eq!(answer.code, 0, "{answer:?}");
    assert!(answer.out.contains("waived until 2999-01-01T00:00:00Z"), "{answer:?}");
    place.write("waivers.yaml", waiver("2020-01-01T00:00:00Z"));
    assert_eq!(check(&place, &["--waivers", "waivers.yaml"]).code, 1, "an expired waiver allows nothing");
}

#[test]
fn bundles_are_read_from_directories_streams_and_git_revisions() {
    let place = place_with("R12/broken");
    let git = |arguments: &[&str]| {
        let mut command = Command::new("git");
        command.args(["-c", "user.name=t", "-c", "user.email=t@example.com"]).args(arguments).current_dir(place.path());
        let output = command.output().unwrap();
        assert!(output.status.success(), "{output:?}");
    };
    place.write("crds/thing.yaml", rule("R12/broken/old.yaml"));
    place.write("crds/kustomization.yaml", "resources: [thing.yaml]\n");
    place.write("crds/README.md", "not a manifest\n");
    for arguments in [&["init", "-q"][..], &["add", "crds"], &["commit", "-q", "-m", "first"]] {
        git(arguments);
    }
    place.write("crds/thing.yaml", rule("R12/broken/new.yaml"));
    for (old, new) in [("HEAD:crds", "crds"), ("HEAD:crds/thing.yaml", "crds/thing.yaml"), ("old.yaml", "crds")] {
        let answer = place.run(&["bundle", "check", old, new]);
        assert_eq!((answer.code, answer.out.contains("R12")), (1, true), "{old} {new}: {answer:?}");
    }
    let same = place.run(&["bundle", "diff", "HEAD:crds", "old.yaml"]);
    assert_eq!((same.code, same.out.as_str()), (0, ""), "{same:?}");
    let unknown = place.run(&["bundle", "diff", "nothing:crds", "old.yaml"]);
    assert_eq!(unknown.code, 3, "{unknown:?}");
    assert!(unknown.err.contains("cannot read nothing:crds: git does not know this revision"), "{unknown:?}");
}

#[test]
fn one_broken_document_is_named_and_nothing_is_compatible_without_review() {
    let place = place_with("R12/allowed");
    let mut new = rule("R12/allowed/new.yaml");
    new.push_str(
        "---\nkind: CustomResourceDefinition\napiVersion: apiextensions.k8s.io/v1\nmetadata: {name: broken}\n",
    );
    place.write("new.yaml", &new);
    let answer = check(&place, &[]);
    assert_eq!(answer.code, 2, "{answer:?}");
    assert!(answer.err.contains("new.yaml:"), "{answer:?}");
    place.write("new.yaml", "kind: ConfigMap\napiVersion: v1\nmetadata: {name: a}\n");
    let answer = check(&place, &[]);
    assert!(answer.code == 3 && answer.err.contains("new.yaml has no CRDs"), "{answer:?}");
}

#[test]
fn a_removed_name_that_comes_back_is_found_with_the_ledger() {
    let place = Place::new();
    let crd = |version: &str, fields: &str| {
        format!(
            "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata:\n  name: things.example.com\n  \
             annotations: {{example.com/bundle-version: {version}, example.com/channel: experimental}}\nspec:\n  group: example.com\n  \
             scope: Namespaced\n  names: {{kind: Thing, plural: things}}\n  versions:\n  - name: v1\n    served: true\n    storage: true\n    \
             schema: {{openAPIV3Schema: {{type: object, properties: {{spec: {{type: object, properties: {{{fields}}}}}}}}}}}\n"
        )
    };
    place.write("1.yaml", crd("v1.0.0", "a: {type: string}, b: {type: string}"));
    place.write("2.yaml", crd("v1.1.0", "a: {type: string}"));
    place.write("3.yaml", crd("v1.2.0", "a: {type: string}, b: {type: integer}"));
    let ledger = place.run(&["bundle", "ledger", "1.yaml", "2.yaml"]);
    assert_eq!(ledger.code, 0, "{ledger:?}");
    place.write("names.txt", &ledger.out);
    let again = place.run(&["bundle", "ledger", "3.yaml", "--ledger", "names.txt"]);
    assert!(again.code == 1 && again.err.contains("V4"), "{again:?}");
    let checked = place.run(&["bundle", "check", "2.yaml", "3.yaml", "--ledger", "names.txt"]);
    assert!(checked.code == 1 && checked.out.contains("V4"), "{checked:?}");
    let whole = place.run(&["bundle", "ledger", "1.yaml", "2.yaml", "3.yaml"]);
    assert_eq!(whole.out, again.out, "a ledger that is continued is the ledger of all");
}

#[test]
fn our_own_crds_are_built_as_the_repository_has_them() {
    let place = Place::new();
    assert_eq!(place.run(&["bundle", "build", "--channel", "experimental", "--output-dir", "out"]).code, 0);
    let kept = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../crds/experimental"));
    for entry in std::fs::read_dir(kept).unwrap() {
        let path = entry.unwrap().path();
        let built = std::fs::read_to_string(place.path().join("out").join(path.file_name().unwrap())).unwrap();
        assert_eq!(built, std::fs::read_to_string(&path).unwrap(), "{}", path.display());
    }
    let shown = place.run(&["bundle", "show", "out", "-o", "json"]);
    assert_eq!((shown.code, &shown.json()["annotationDomain"]), (0, &"clearway.dev".into()));
}

#[test]
fn rules_are_explained_with_examples() {
    let place = Place::new();
    let one = place.run(&["bundle", "explain", "r12"]);
    assert!(one.code == 0 && one.out.contains("Breaks the rule, from:"), "{one:?}");
    assert_eq!(place.run(&["bundle", "explain"]).out.lines().filter(|line| line.starts_with('R')).count(), 47);
    let unknown = place.run(&["bundle", "explain", "R99"]);
    assert!(unknown.code == 1 && unknown.err.contains("there is no rule `R99`"), "{unknown:?}");
}

/// A file of `examples/bundles`.
fn sample(name: &str) -> String {
    let directory = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/bundles"));
    std::fs::read_to_string(directory.join(name)).unwrap()
}

fn samples() -> Place {
    let place = Place::new();
    for name in ["v1.0.0.yaml", "v1.1.0.yaml", "waivers.yaml", "objects.yaml"] {
        place.write(name, sample(name));
    }
    place
}

#[test]
fn the_sample_bundles_have_one_kind_of_violation_and_a_waiver_for_it() {
    let place = samples();
    let json = place.run(&["bundle", "check", "v1.0.0.yaml", "v1.1.0.yaml", "-o", "json"]).json();
    let findings = json["judgement"]["findings"].as_array().unwrap();
    let violations: Vec<&Value> = findings.iter().filter(|finding| finding["verdict"] == "violation").collect();
    assert!(!violations.is_empty() && violations.iter().all(|finding| finding["rule"] == "R12"), "{violations:?}");
    let waived = place.run(&["bundle", "check", "v1.0.0.yaml", "v1.1.0.yaml", "--waivers", "waivers.yaml"]);
    assert_eq!(waived.code, 0, "{waived:?}");
}

/// V5: what a user's objects lose in another version, with every exit code and format.
#[test]
fn objects_are_converted_and_what_is_lost_is_named() {
    let place = samples();
    let convert = |objects: &str, more: &[&str]| {
        let always = ["bundle", "convert", objects, "--to", "v1", "--crds", "v1.1.0.yaml"];
        place.run(&[&always[..], more].concat())
    };
    let table = convert("objects.yaml", &["-o", "table"]);
    assert_eq!(table.code, 1, "{table:?}");
    for words in ["Backup shop/nightly  v1beta1 → v1  complete", "dropped   spec.retention", "refused   spec.target"]
    {
        assert!(table.out.contains(words), "{words}: {}", table.out);
    }
    let json = convert("objects.yaml", &["-o", "json"]).json();
    assert_eq!(json["objects"][0]["apiVersion"], "data.example.com/v1");
    assert_eq!(json["objects"][0]["spec"]["keep"], 7, "defaults of the new version");
    assert_eq!(json["reports"][1]["losses"][0]["path"], "spec.retention");
    assert_eq!(json["reports"][1]["where"]["line"], 11, "the line of the object: {json}");

    // What is complete is printed as YAML that can be converted again.
    let good = sample("objects.yaml").split("---").next().unwrap().to_owned();
    place.write("good.yaml", &good);
    let yaml = convert("good.yaml", &[]);
    assert_eq!((yaml.code, yaml.err.trim()), (0, "objects: 1; values lost: 0; objects to review: 0"), "{yaml:?}");
    place.write("again.yaml", &yaml.out);
    assert_eq!(convert("again.yaml", &[]).out, yaml.out, "converting to the same version changes nothing");

    // Without a CRD, with a webhook, or in a version that is not served nobody can tell.
    place.write("other.yaml", "apiVersion: other.example.com/v1\nkind: Other\nmetadata: {name: a}\n");
    let other = convert("other.yaml", &[]);
    assert!(other.code == 2 && other.err.contains("no CRD for Other.other.example.com"), "{other:?}");
    let webhook = sample("v1.1.0.yaml").replace("  versions:\n", "  conversion: {strategy: Webhook}\n  versions:\n");
    place.write("webhook.yaml", webhook);
    let webhook = place.run(&["bundle", "convert", "good.yaml", "--to", "v1", "--crds", "webhook.yaml"]);
    assert!(webhook.code == 2 && webhook.err.contains("converted by a webhook"), "{webhook:?}");
    let unknown = place.run(&["bundle", "convert", "good.yaml", "--to", "v2", "--crds", "v1.1.0.yaml"]);
    assert!(unknown.code == 2 && unknown.err.contains("has no version v2; it has v1, v1beta1"), "{unknown:?}");
    place.write("broken.yaml", format!("{good}---\na: [\n"));
    let broken = convert("broken.yaml", &[]);
    assert!(broken.code == 2 && broken.out.contains("nightly"), "the rest is converted: {broken:?}");
    let missing = convert("missing.yaml", &[]);
    assert_eq!(missing.code, 3, "{missing:?}");
}

/// V5: experimental fields need not survive a conversion, where it is known which they are.
#[test]
fn conversion_losses_of_experimental_fields_are_left_out_with_the_standard_channel() {
    let experimental = sample("v1.0.0.yaml").replace("channel: standard", "channel: experimental");
    // Only v1 has the field.
    let field = "              retries: {type: integer}\n              schedule:\n";
    let with_field = experimental.replacen("              schedule:\n", field, 1);
    assert_ne!(experimental, with_field);
    let place = samples();
    place.write("experimental.yaml", with_field);
    let alone = place.run(&["bundle", "check", "experimental.yaml", "experimental.yaml"]);
    assert!(alone.code == 2 && alone.out.contains("V5    needs review"), "{alone:?}");
    let same =
        ["bundle", "check", "v1.0.0.yaml", "v1.0.0.yaml", "--experimental", "experimental.yaml", "experimental.yaml"];
    let both = place.run(&same);
    assert_eq!(both.code, 0, "{both:?}");
}
