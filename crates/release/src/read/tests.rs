use super::*;
use clearway_core::Digest;
use proptest::prelude::*;

use crate::{ContentError, Payload, findings};

const GOOD: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: ns}\n";

fn release(files: &[(&str, &str)]) -> Files {
    let mut all: Files = files.iter().map(|(name, text)| ((*name).to_owned(), text.as_bytes().to_vec())).collect();
    all.entry(METADATA.to_owned()).or_insert_with(|| {
        br#"{"kind": "cincinnati-metadata-v0", "version": "1.2.3", "previous": ["1.2.2"]}"#.to_vec()
    });
    all
}

fn read_payload(files: &Files, limits: &ReleaseLimits) -> Result<Payload, ContentError> {
    Payload::read(files, Digest::sha256(b""), &Selection::default(), limits)
}

fn payload(files: &[(&str, &str)]) -> Result<Payload, ContentError> {
    read_payload(&release(files), &ReleaseLimits::default())
}

#[test]
fn documents_lists_and_json_become_objects_with_their_places() {
    let list = r#"{"apiVersion": "v1", "kind": "List", "items": [
        {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}},
        {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d", "namespace": "ns"}}]}"#;
    let two = format!("# a comment\n---\n{GOOD}---\n---\n{}", GOOD.replace("name: a", "name: b"));
    let payload = payload(&[("0000_70_comp-one_x.yaml", &two), ("list.json", list), ("notes.txt", "x")]).unwrap();
    assert_eq!(payload.version().to_string(), "1.2.3");
    assert_eq!(payload.metadata.previous, ["1.2.2"]);
    let found: Vec<String> = payload
        .manifests
        .iter()
        .map(|one| {
            let Manifest { file, run_level, component, index, position, id, .. } = one;
            format!("{file} {run_level} {component} #{index} {}:{} {id}", position.line, position.column)
        })
        .collect();
    assert_eq!(
        found,
        [
            "0000_70_comp-one_x.yaml 70 comp-one #0 3:1 ConfigMap ns/a",
            "0000_70_comp-one_x.yaml 70 comp-one #1 8:1 ConfigMap ns/b",
            "list.json 50 list #0 2:9 Secret s",
            "list.json 50 list #1 3:9 Deployment.apps ns/d",
        ]
    );
}

#[test]
fn what_is_no_object_refuses_the_release_by_place() {
    for (file, text, code, want) in [
        ("a.yaml", "just text", codes::NO_OBJECT, "a.yaml:1:1: a string is not a Kubernetes object"),
        (
            "a.yaml",
            "kind: ConfigMap\nmetadata: {name: a}",
            codes::NO_OBJECT,
            "a.yaml:1:1: the object has no apiVersion",
        ),
        ("a.yaml", "apiVersion: v1\nmetadata: {name: a}", codes::NO_OBJECT, "the object has no kind"),
        ("a.yaml", "apiVersion: v1\nkind: ConfigMap", codes::NO_OBJECT, "the object has no metadata"),
        (
            "a.yaml",
            "apiVersion: v1\nkind: X\nmetadata: {generateName: a}",
            codes::NO_OBJECT,
            "a.yaml:3:11: the object has no metadata.name",
        ),
        (
            "a.yaml",
            "apiVersion: v1\nkind: X\nmetadata: {name: 7}",
            codes::NO_OBJECT,
            "a.yaml:3:18: metadata.name is a number",
        ),
        (
            "a.yaml",
            "apiVersion: v1\nkind: X\nmetadata: {name: ../../x}",
            codes::NO_OBJECT,
            "leads out of its directory as a path",
        ),
        (
            "a.yaml",
            "apiVersion: v1\nkind: X\nmetadata: {name: a, namespace: a%2fb}",
            codes::NO_OBJECT,
            "leads out of its directory",
        ),
        ("a.yaml", "apiVersion: v1/../x\nkind: X\nmetadata: {name: a}", codes::NO_OBJECT, "is not valid"),
        ("a.yaml", "apiVersion: v1\nkind: a/b\nmetadata: {name: a}", codes::NO_OBJECT, "is not valid"),
        (
            "a.yaml",
            "apiVersion: v1\nkind: X\nmetadata: {name: a, annotations: {x: true}}",
            codes::NO_OBJECT,
            "`x` is a boolean, but must be a string",
        ),
        (
            "a.yaml",
            "apiVersion: v1\nkind: X\nmetadata: {name: a}\nitems: [1]",
            codes::NO_OBJECT,
            "looks like a list of objects",
        ),
        (
            "a.yaml",
            "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: a.b}\nspec: {group: b}",
            codes::NO_OBJECT,
            "a.yaml:4:7: the definition lacks",
        ),
        ("a.yaml", "a: [1", "IN001", "a.yaml:1:4: not YAML"),
        ("a.yaml", "{{- if .Values.x }}\nkind: X", codes::TEMPLATE, "templates are not supported"),
        (
            "a.yaml",
            "apiVersion: v1\nkind: X\nmetadata: {name: \"{{ .name }}\"}",
            codes::TEMPLATE,
            "a.yaml:3:18: metadata.name is a template",
        ),
        (
            "a.yaml",
            "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: [{image: '{{.ReleaseImage}}'}]}",
            codes::TEMPLATE,
            "spec.containers[0].image is a template",
        ),
        ("a.yaml.tmpl", "kind: X", codes::TEMPLATE, "a.yaml.tmpl: templates are not supported"),
        ("0000_70000_a_b.yaml", GOOD, codes::FILE, "its run level is above 65535"),
        (METADATA, "{}", codes::METADATA, "release-metadata: missing field `kind`"),
        (
            REFERENCES,
            r#"{"kind": "ImageStream", "metadata": {"name": "9.9.9"}}"#,
            codes::REFERENCES,
            "named `9.9.9`, but the release is 1.2.3",
        ),
        (REFERENCES, "{}", codes::REFERENCES, "it is not an ImageStream"),
    ] {
        let error = payload(&[("good.yaml", GOOD), (file, text)]).unwrap_err();
        assert_eq!(error.findings[0].code, code, "{text}: {error}");
        assert!(error.to_string().contains(want), "{want}: {error}");
    }
    let mut without = release(&[("a.yaml", GOOD)]);
    without.remove(METADATA);
    let error = read_payload(&without, &ReleaseLimits::default()).unwrap_err().to_string();
    assert!(error.contains("release-metadata: it does not exist"), "{error}");
}

#[test]
fn an_alert_that_uses_braces_is_no_template() {
    let rule = "apiVersion: monitoring.coreos.com/v1\nkind: PrometheusRule\nmetadata: {name: a}\nspec: {text: 'at {{ $value }}'}\n";
    assert_eq!(payload(&[("a.yaml", rule)]).unwrap().manifests.len(), 1);
}

#[test]
fn an_object_is_in_a_release_once_for_each_cluster() {
    let beta = GOOD.replace("v1", "v1beta1");
    let error = payload(&[("a.yaml", GOOD), ("b.yaml", &format!("---\n{beta}"))]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "b.yaml:2:1: ConfigMap ns/a is in the release twice: also in a.yaml:1:1; remove one of them"
    );
    // As OpenShift's releases have one definition for each set of features.
    let other = GOOD.replace(
        "namespace: ns",
        "namespace: ns, annotations: {release.openshift.io/feature-set: TechPreviewNoUpgrade}",
    );
    let payload = payload(&[("a.yaml", GOOD), ("b.yaml", &other)]).unwrap();
    assert_eq!((payload.manifests.len(), payload.left_out.len()), (1, 1));
    assert_eq!(payload.left_out[0].why, "it is for the feature sets TechPreviewNoUpgrade");
}

#[test]
fn a_release_of_too_many_objects_or_values_is_refused() {
    let many = format!("{GOOD}---\n").repeat(5);
    let files = release(&[("a.yaml", &many)]);
    let few = ReleaseLimits { objects: 4, ..ReleaseLimits::default() };
    let error = read_payload(&files, &few).unwrap_err().to_string();
    assert!(error.contains("more than 4 objects"), "{error}");
    let laughs = "a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: [*c,*c,*c,*c,*c,*c,*c,*c,*c]\n";
    let small = ReleaseLimits { values: 1000, ..ReleaseLimits::default() };
    let error = read_payload(&release(&[("a.yaml", laughs)]), &small).unwrap_err().to_string();
    assert!(error.contains("more than 1000 values"), "{error}");
}

#[test]
fn what_is_unwise_is_found_by_place() {
    let pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: p, namespace: late}\nspec:\n  containers:\n  - {image: 'a.io/b:v1'}\n  - {image: 'a.io/b@sha256:0'}\n";
    let secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\ndata: {password: eA==}\n---\napiVersion: v1\nkind: Secret\nmetadata: {name: empty}\n";
    let late = "apiVersion: v1\nkind: Namespace\nmetadata: {name: late}\n";
    let double = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata:\n  a: x\n  b: y\n  a: z\n";
    let files = release(&[
        ("0000_10_a_pod.yaml", pod),
        ("0000_90_b_late.yaml", late),
        ("0000_99_odd.yaml", secret),
        ("c.yaml", double),
        ("README", "x"),
    ]);
    let found: Vec<String> = findings(&files, &Selection::default(), &ReleaseLimits::default())
        .iter()
        .map(|finding| {
            let place = finding.place.position.map(|at| format!(":{}:{}", at.line, at.column)).unwrap_or_default();
            format!("{} {} {}{place}", finding.code, finding.severity.as_str(), finding.place.file.as_deref().unwrap())
        })
        .collect();
    assert_eq!(
        found,
        [
            "RL103 warning 0000_10_a_pod.yaml:1:1",
            "RL105 warning 0000_90_b_late.yaml:1:1",
            "RL102 warning 0000_99_odd.yaml",
            "RL101 warning 0000_99_odd.yaml:1:1",
            "RL104 warning c.yaml:7:3",
            "RL106 info README",
        ]
    );
    assert!(read_payload(&files, &ReleaseLimits::default()).is_ok());
    for finding in findings(&files, &Selection::default(), &ReleaseLimits::default()).iter() {
        assert!(codes::RULES.iter().any(|rule| rule.code == finding.code), "{finding:?}");
    }
}

#[test]
fn errors_behind_a_thousand_notes_refuse_the_release_and_are_counted() {
    // Files that are passed over come first, in the order of names.
    let notes: Vec<(String, &str)> = (0..1001).map(|number| (format!("a{number:04}"), "x")).collect();
    let errors = ["z1.yaml", "z2.yaml", "z3.yaml"].map(|name| (name.to_owned(), "kind: Nothing"));
    let all: Vec<(&str, &str)> = notes.iter().chain(&errors).map(|(name, text)| (name.as_str(), *text)).collect();
    let files = release(&[&all[..], &[("good.yaml", GOOD)]].concat());
    let error = read_payload(&files, &ReleaseLimits::default()).unwrap_err();
    assert!(error.to_string().ends_with("(and 2 more)"), "{error}");
    let found = findings(&files, &Selection::default(), &ReleaseLimits::default());
    assert_eq!([Severity::Error, Severity::Info].map(|one| found.count(one)), [3, 1001]);
    assert_eq!((found.iter().count(), found.dropped(Severity::Info)), (1003, 1));
    assert!(found.iter().take(3).all(|finding| finding.severity == Severity::Error), "errors are first");
}

proptest! {
    #[test]
    fn no_file_panics_and_what_is_read_can_be_put_in_order(
        name in "(0000_[0-9]{0,6}_[a-z-]{0,4}_?)?[a-z.]{0,6}(.yaml|.yml|.json|)",
        text in "((apiVersion|kind|metadata|items|spec|name|- |\\{\\{|---\n|: |\n|  |v1|List|\\[|\\]|\\{|\\}|,|&a|\\*a|\\PC){0,30})",
    ) {
        let files = release(&[(&name, &text), ("good.yaml", GOOD)]);
        if let Ok(payload) = read_payload(&files, &ReleaseLimits::default()) {
            let staged: usize = payload.stages().iter().flat_map(|stage| &stage.lanes).map(|lane| lane.manifests.len()).sum();
            prop_assert_eq!(staged, payload.manifests.len());
        }
        let _ = findings(&files, &Selection::default(), &ReleaseLimits::default());
    }
}
