//! Good and bad files: what is read of them, and where the problems are.

use serde_json::json;

use super::*;

fn crd(name: &str, schema: &str) -> String {
    format!(
        "apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: {name}.example.com
  annotations: {{example.com/bundle-version: v1.2.0, example.com/channel: standard}}
spec:
  group: example.com
  scope: Namespaced
  names: {{kind: Thing, plural: {name}}}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema: {schema}
"
    )
}

fn read(files: &[(&str, &str)]) -> Bundle {
    let mut reader = BundleReader::new("test", "example.com", BundleLimits::default());
    for (file, text) in files {
        reader.add_file(file, text.as_bytes());
    }
    reader.finish()
}

fn problems(bundle: &Bundle) -> Vec<(&str, usize)> {
    let line = |problem: &Diagnostic| problem.place.position.map_or(0, |position| position.line);
    bundle.problems.iter().map(|problem| (problem.code.as_ref(), line(problem))).collect()
}

#[test]
fn v1_a_bundle_is_its_crds_with_version_and_channel() {
    let bundle = read(&[("a.yaml", &crd("things", "{type: object, properties: {spec: {type: object}}}"))]);
    assert!(bundle.problems.is_empty(), "{:?}", bundle.problems);
    assert_eq!((bundle.version_text().as_str(), bundle.channel), ("v1.2.0", Some(Channel::Standard)));
    let spec = &bundle.schema("things.example.com", "v1").unwrap().properties["spec"];
    assert_eq!(spec.position.unwrap().line, 15);
}

#[test]
fn seed_002_a_webhook_is_read_with_the_workload_behind_it() {
    let install = "
kind: ValidatingWebhookConfiguration
metadata: {name: admission}
webhooks: [{clientConfig: {service: {namespace: system, name: admission}}}]
---
kind: Service
metadata: {name: admission, namespace: system}
spec: {selector: {app: admission}}
---
kind: Deployment
metadata: {name: server, namespace: system, annotations: {example.com/bundle-version: v1.1.0}}
spec: {template: {metadata: {labels: {app: admission, x: y}}, spec: {containers: [{image: 'example.com/admission:v1.1.0'}]}}}
---
kind: Deployment
metadata: {name: other, namespace: elsewhere}
spec: {template: {metadata: {labels: {app: admission}}}}
";
    let bundle = read(&[("crd.yaml", &crd("things", "{type: object}")), ("webhook.yaml", install)]);
    let webhook = &bundle.webhooks[0];
    assert_eq!(webhook.workloads.len(), 1);
    assert_eq!(webhook.workloads[0].name, "system/server");
    assert_eq!(webhook.workloads[0].images, ["example.com/admission:v1.1.0"]);
}

#[test]
fn one_broken_document_of_a_hundred_is_one_problem() {
    let mut text = String::new();
    for number in 0..100 {
        let schema = if number == 50 { "{type: [}" } else { "{type: object}" };
        text.push_str(&crd(&format!("things{number}"), schema));
        text.push_str("---\n");
    }
    let bundle = read(&[("all.yaml", &text)]);
    assert_eq!(bundle.crds.len(), 99);
    assert_eq!(problems(&bundle).len(), 1);
    assert_eq!(bundle.problems[0].place.file.as_deref(), Some("all.yaml"));
}

#[test]
fn what_is_not_a_usable_crd_is_one_problem_with_its_line() {
    let old = crd("things", "{type: object}").replace("k8s.io/v1", "k8s.io/v1beta1");
    let cases: &[(&str, &str, usize)] = &[
        ("- 1\n- 2\n", codes::NOT_AN_OBJECT, 1),
        (&old, codes::OLD_CRD, 1),
        (&crd("things", "null"), codes::NO_SCHEMA, 11),
        (&crd("things", "{type: object, properties: {a: {$ref: '#/definitions/a'}}}"), codes::REFERENCE, 15),
        (&crd("things", "{type: object, properties: {a: 7}}"), codes::INVALID_KEYWORD, 15),
        (&crd("things", "{type: object, maxItems: many}"), codes::INVALID_KEYWORD, 15),
        (&crd("things", "{type: 1}"), codes::INVALID_KEYWORD, 15),
        ("kind: CustomResourceDefinition\napiVersion: apiextensions.k8s.io/v1\n", codes::INCOMPLETE_CRD, 1),
        ("kind: Namespace\nmetadata: {name: a}\n", codes::NO_CRDS, 0),
    ];
    for (text, code, line) in cases {
        let bundle = read(&[("a.yaml", text)]);
        let first = problems(&bundle).first().copied();
        assert_eq!(first, Some((*code, *line)), "{text}\n{:?}", bundle.problems);
    }
    let list = problems(&read(&[("a.yaml", "- 1\n- 2\n")])).len();
    assert_eq!(list, 2, "one for each item of a list");
}

#[test]
fn a_schema_that_is_too_deep_is_refused_and_the_rest_is_read() {
    let deep = format!("{}{{type: string}}{}", "{type: array, items: ".repeat(80), "}".repeat(80));
    let bundle = read(&[("a.yaml", &crd("deep", &deep)), ("b.yaml", &crd("flat", "{type: object}"))]);
    assert_eq!(problems(&bundle), [(codes::SCHEMA_TOO_LARGE, 15)]);
    assert!(bundle.schema("flat.example.com", "v1").is_some() && bundle.schema("deep.example.com", "v1").is_none());
    let deeper = format!("{}{{type: string}}{}", "{items: ".repeat(100_000), "}".repeat(100_000));
    let bundle = read(&[("a.yaml", &crd("deep", &deeper))]);
    assert_eq!(bundle.problems.len(), 1);
}

#[test]
fn the_same_crd_twice_and_circular_anchors_are_problems() {
    let twice = read(&[("a.yaml", &crd("a", "{type: object}")), ("b.yaml", &crd("a", "{type: object}"))]);
    assert_eq!(problems(&twice), [(codes::DUPLICATE, 1)]);
    let circular = read(&[("a.yaml", &crd("a", "&a {type: object, properties: {a: *a}}"))]);
    assert_eq!(circular.problems.len(), 1);
}

#[test]
fn objects_of_a_cluster_are_read_with_their_stored_versions() {
    let mut reader = BundleReader::new("live", "example.com", BundleLimits::default());
    reader.add_object(&json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "things.example.com"},
        "spec": {"group": "example.com", "scope": "Cluster", "names": {"kind": "Thing", "plural": "things"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {"type": "object"}}}]},
        "status": {"storedVersions": ["v1alpha1", "v1"]},
    }));
    let bundle = reader.with_version(BundleVersion::read("v1.0.0")).with_channel(Channel::Experimental).finish();
    assert_eq!(bundle.channel, Some(Channel::Experimental));
    let stored = bundle.crds["things.example.com"].stored_versions.clone().unwrap();
    assert_eq!(stored.into_iter().collect::<Vec<_>>(), ["v1", "v1alpha1"]);
}
