//! Names over a series of bundles: what comes back, and how it is written down.

use super::*;
use crate::read::{BundleLimits, BundleReader};

fn bundle(version: &str, channel: &str, versions: &[(&str, &[&str])]) -> Bundle {
    let versions: Vec<String> = versions
        .iter()
        .map(|(name, fields)| {
            let fields: Vec<String> = fields.iter().map(|field| format!("{field}: {{type: string}}")).collect();
            let fields = fields.join(", ");
            format!("{{name: {name}, served: true, schema: {{openAPIV3Schema: {{type: object, properties: {{{fields}}}}}}}}}")
        })
        .collect();
    let text = format!(
        "apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {{name: things.x.io, annotations: {{x.io/bundle-version: {version}, x.io/channel: {channel}}}}}
spec: {{group: x.io, scope: Cluster, names: {{kind: Thing, plural: things}}, versions: [{}]}}",
        versions.join(", ")
    );
    let mut reader = BundleReader::new("test", "x.io", BundleLimits::default());
    reader.add_file("a.yaml", text.as_bytes());
    let bundle = reader.finish();
    assert!(bundle.problems.is_empty(), "{:?}", bundle.problems);
    bundle
}

fn reused(ledger: &NameLedger, bundle: &Bundle) -> Vec<String> {
    ledger.reused_names(bundle).into_iter().map(|finding| format!("{}: {}", finding.path, finding.message)).collect()
}

#[test]
fn v4_a_removed_experimental_name_does_not_come_back() {
    let first = bundle("v1.0.0", "experimental", &[("v1", &["a", "retry"])]);
    let second = bundle("v1.1.0", "experimental", &[("v1", &["a"])]);
    let ledger = NameLedger::of_bundles([&first, &second]);
    assert_eq!(reused(&ledger, &second), Vec::<String>::new());
    let third = bundle("v1.2.0", "standard", &[("v1", &["a", "retry"])]);
    assert_eq!(reused(&ledger, &third), ["things v1: field `retry` was removed in v1.1.0, and is used again"]);
    let another = bundle("v1.2.0", "experimental", &[("v1", &["a"]), ("v2", &["a", "retry"])]);
    assert_eq!(reused(&ledger, &another), ["things v2: field `retry` was removed in v1.1.0, and is used again"]);
}

#[test]
fn v4_a_beta_name_that_a_new_version_left_out_does_not_come_back_in_it() {
    let beta = bundle("v0.9.0", "standard", &[("v1beta1", &["a", "old"])]);
    let stable = bundle("v1.0.0", "standard", &[("v1", &["a"]), ("v1beta1", &["a", "old"])]);
    let ledger = NameLedger::of_bundles([&beta, &stable]);
    assert!(reused(&ledger, &stable).is_empty());
    let back = bundle("v1.1.0", "standard", &[("v1", &["a", "old"]), ("v1beta1", &["a", "old"])]);
    assert_eq!(reused(&ledger, &back), ["things v1: field `old` was removed in v1.0.0, and is used again"]);
}

#[test]
fn v4_graduation_and_retired_versions_are_not_reuse() {
    let experimental = bundle("v1.0.0", "experimental", &[("v1", &["a", "b"]), ("v1alpha1", &["a", "b"])]);
    let standard = bundle("v1.0.0", "standard", &[("v1", &["a"]), ("v1alpha1", &["a"])]);
    let ledger = NameLedger::of_bundles([&experimental, &standard]);
    let graduated = bundle("v1.1.0", "standard", &[("v1", &["a", "b"])]);
    assert!(reused(&ledger, &graduated).is_empty());
    let mut ledger = ledger;
    ledger.record(&graduated);
    let again = bundle("v1.2.0", "standard", &[("v1", &["a", "b"]), ("v1alpha1", &["a"])]);
    assert!(reused(&ledger, &again).is_empty());
}

#[test]
fn the_text_of_a_ledger_reads_back_and_bad_lines_are_named() {
    let first = bundle("v1.0.0", "experimental", &[("v1", &["a", "retry", "\"odd name\""])]);
    let ledger = NameLedger::of_bundles([&first, &bundle("v1.1.0", "experimental", &[("v1", &["a"])])]);
    let text = ledger.to_string();
    assert!(text.contains("things.x.io v1 retry standard - experimental removed v1.0.0 v1.1.0\n"), "{text}");
    let (read, problems) = NameLedger::read("names", &text);
    assert_eq!((read, problems.len()), (ledger, 0));
    // What could drive a terminal or deceive a reader is written as white space is, and found again.
    let odd = bundle("v1.0.0", "standard", &[("\"v1\\u202e\\u009b\"", &["a", "\"b\\u202e\""])]);
    let ledger = NameLedger::of_bundles([&odd]);
    let text = ledger.to_string();
    assert!(text.contains("things.x.io v1%202e%9b a ") && !text.contains(['\u{202e}', '\u{9b}']), "{text}");
    assert_eq!(NameLedger::read("names", &text).0, ledger);
    let (_, problems) = NameLedger::read("names", "# good\n\na b c standard - experimental -\nwhat is this\n");
    assert_eq!(problems.len(), 1);
    assert_eq!(problems[0].place.position.unwrap().line, 4);
}
