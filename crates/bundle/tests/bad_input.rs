//! Bad files in a bundle: each is one diagnostic with its file, line and path, and the rest is judged.

use std::fmt::Write as _;

use clearway_bundle::{Bundle, BundleLimits, BundleReader, Comparison, Outcome, Verdict, codes};
use clearway_core::Severity;

/// A CRD with one version; the schema begins in line 11.
fn crd(name: &str, version: &str, schema: &str) -> String {
    format!(
        "apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {{name: {name}.x.io, annotations: {{x.io/bundle-version: {version}, x.io/channel: standard}}}}
spec:
  group: x.io
  scope: Cluster
  names: {{kind: {name}, plural: {name}}}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {{openAPIV3Schema: {schema}}}
"
    )
}

const FIELDS: &str = "{type: object, properties: {spec: {type: object, properties: {a: {type: string}}}}}";
const REQUIRED: &str =
    "{type: object, properties: {spec: {type: object, required: [a], properties: {a: {type: string}}}}}";

fn read(files: &[(&str, &str)]) -> Bundle {
    let mut reader = BundleReader::new("bundle", "x.io", BundleLimits::default());
    for (name, text) in files {
        reader.add_file(name, text.as_bytes());
    }
    reader.finish()
}

/// The file, the line and the path of each problem, with its code.
fn problems(bundle: &Bundle) -> Vec<(String, String, usize, String)> {
    let mut problems = Vec::new();
    for problem in &bundle.problems {
        assert!(!problem.message.is_empty() && problem.message.len() < 500, "{problem:?}");
        let (file, path) = (problem.place.file.clone().unwrap_or_default(), problem.place.path.clone());
        let line = problem.place.position.map_or(0, |position| position.line);
        problems.push((problem.code.to_string(), file, line, path.unwrap_or_default()));
    }
    problems
}

/// A schema with this many levels of lists.
fn deep(levels: usize) -> String {
    format!("{}{{type: string}}{}", "{type: array, items: ".repeat(levels), "}".repeat(levels))
}

/// Each bad file stands between two good ones: it is one diagnostic, and what changed in the good ones is found.
#[test]
fn a_bad_file_is_one_diagnostic_with_file_line_and_path_and_the_rest_is_judged() {
    let schema = "spec.versions[name=v1].schema.openAPIV3Schema";
    let field = |schema: &str| crd("bad", "v1.1.0", &format!("{{type: object, properties: {{spec: {schema}}}}}"));
    let cases = [
        ("not a CRD", "just a text\n".to_owned(), codes::NOT_AN_OBJECT, 1, ""),
        ("no kind", "metadata: {name: a}\n".to_owned(), codes::NOT_AN_OBJECT, 1, ""),
        (
            "no names",
            field("{}").replace("names: {kind: bad, ", "names: {"),
            codes::INCOMPLETE_CRD,
            1,
            "spec.names.kind",
        ),
        ("no versions", field("{}").replace("versions:", "other:"), codes::INCOMPLETE_CRD, 1, "spec.versions"),
        ("no schema", crd("bad", "v1.1.0", "null"), codes::NO_SCHEMA, 9, schema),
        ("v1beta1", field("{}").replace("k8s.io/v1", "k8s.io/v1beta1"), codes::OLD_CRD, 1, "apiVersion"),
        ("unresolvable $ref", field("{$ref: '#/definitions/a'}"), codes::REFERENCE, 12, "spec"),
        ("a schema that is a list", field("[]"), codes::INVALID_KEYWORD, 12, "spec"),
        ("a keyword of the wrong type", field("{maxLength: many}"), codes::INVALID_KEYWORD, 12, "spec"),
        ("a very deep schema", field(&deep(70)), codes::SCHEMA_TOO_LARGE, 12, ""),
        ("a circular schema", field("&a {properties: {b: *a}}"), "IN", 12, ""),
        ("deeper than any reader goes", field(&deep(50_000)), "IN", 12, ""),
        ("broken YAML", field("{type: [}"), "IN", 12, ""),
    ];
    let old = read(&[("first.yaml", &crd("first", "v1.0.0", FIELDS)), ("last.yaml", &crd("last", "v1.0.0", FIELDS))]);
    for (name, bad, code, line, path) in &cases {
        let (first, last) = (crd("first", "v1.1.0", REQUIRED), crd("last", "v1.1.0", REQUIRED));
        let new = read(&[("first.yaml", &first), ("bad.yaml", bad), ("last.yaml", &last)]);
        let found = problems(&new);
        assert_eq!(found.len(), 1, "{name}: {found:?}");
        let (found_code, file, found_line, found_path) = &found[0];
        assert!(found_code.starts_with(code), "{name}: {found:?}");
        assert_eq!((file.as_str(), found_line), ("bad.yaml", line), "{name}: {found:?}");
        assert!(found_path.ends_with(path), "{name}: {found:?}");
        let judgement = Comparison::new(&old, &new).judge();
        let violations = judgement.findings.iter().filter(|finding| finding.verdict == Verdict::Violation);
        let violations: Vec<_> = violations.map(|finding| (finding.rule.as_str(), finding.path.as_str())).collect();
        assert_eq!(violations, [("R08", "first v1 spec.a"), ("R08", "last v1 spec.a")], "{name}");
        assert!(judgement.incomplete, "{name}");
    }
}

#[test]
fn what_is_bad_in_both_bundles_needs_review_though_nothing_changed() {
    let bad = crd("bad", "v1.0.0", "{type: object, properties: {spec: {$ref: '#/a'}}}");
    let bundle = read(&[("bad.yaml", &bad), ("good.yaml", &crd("good", "v1.0.0", FIELDS))]);
    assert_eq!(Comparison::new(&bundle, &bundle).judge().outcome(), Outcome::NeedsReview);
}

#[test]
fn of_a_hundred_documents_one_broken_one_is_one_diagnostic_at_its_line() {
    for broken in [0, 49, 99] {
        let texts = |version: &str, schema: &str| -> Vec<String> {
            (0..100).map(|number| crd(&format!("c{number}"), version, schema)).collect()
        };
        let mut new = texts("v1.1.0", REQUIRED);
        let line = new[..broken].iter().map(|text| text.lines().count() + 1).sum::<usize>() + 12;
        new[broken] = crd("broken", "v1.1.0", "{type: [}");
        let (old, new) = (texts("v1.0.0", FIELDS).join("---\n"), new.join("---\n"));
        let (old, new) = (read(&[("old.yaml", &old)]), read(&[("new.yaml", &new)]));
        let found = problems(&new);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!((found[0].1.as_str(), found[0].2), ("new.yaml", line));
        let judgement = Comparison::new(&old, &new).judge();
        let required = judgement.findings.iter().filter(|finding| finding.rule.as_str() == "R08").count();
        assert_eq!((required, new.crds.len()), (99, 99));
    }
}

/// A CRD with one field for each number.
fn large(version: &str, fields: usize, description: &str) -> String {
    let mut schema = String::from("{type: object, properties: {");
    for number in 0..fields {
        write!(schema, "field{number}: {{type: string, maxLength: 9, description: {description}}}, ").unwrap();
    }
    crd("large", version, &(schema + "}}"))
}

#[test]
fn a_crd_of_two_megabytes_is_judged_and_named_as_too_large_to_install() {
    let text = "this is what the field means to whoever sets it and the sentence is of usual length";
    let count = (2 << 20) / (text.len() + 50);
    let (old, new) = (large("v1.0.0", count, text), large("v1.1.0", count, text));
    assert!(new.len() > 2 << 20);
    let new = new.replacen("maxLength: 9", "maxLength: 8", 1);
    let (old, new) = (read(&[("old.yaml", &old)]), read(&[("new.yaml", &new)]));
    for (bundle, file) in [(&old, "old.yaml"), (&new, "new.yaml")] {
        let path = "spec.versions".to_owned();
        assert_eq!(problems(bundle), [(codes::CRD_TOO_LARGE.to_owned(), file.to_owned(), 1, path)]);
        assert_eq!(bundle.problems[0].severity, Severity::Warning);
    }
    let judgement = Comparison::new(&old, &new).judge();
    let rules: Vec<&str> = judgement.findings.iter().map(|finding| finding.rule.as_str()).collect();
    assert!(rules.contains(&"R15") && !judgement.incomplete, "{rules:?}");
    let half = read(&[("half.yaml", &large("v1.0.0", count / 2, text))]);
    assert_eq!(problems(&half), []);
}

/// Patterns whose automata would be too large, or that Go does not have: one finding each, which needs review, at its line.
#[test]
fn a_hostile_pattern_needs_review_and_the_rest_is_judged() {
    let schema = |pattern: &str, longest: usize| {
        let hostile = format!("{{type: string, pattern: '{pattern}'}}");
        format!("{{type: object, properties: {{hostile: {hostile}, other: {{type: string, maxLength: {longest}}}}}}}")
    };
    let repeated = format!("^{}$", "(a|b)".repeat(2_000));
    for (old, new) in [
        ("^(a|b)*a(a|b){30}$", "^(a|b)*b(a|b){30}$"),
        ("^a$", "^(a|b)*a(a|b){40}c$"),
        ("^((a{1,30}){1,30}){1,30}$", "^((a{1,30}){1,30}){1,31}$"),
        ("^(x+x+)+y$", "^(x+x+)+y(?=z)$"),
        ("^a$", &repeated),
        ("^a$", "(((((((((("),
    ] {
        let (old, new) = (crd("c", "v1.0.0", &schema(old, 9)), crd("c", "v1.1.0", &schema(new, 8)));
        let (old, new) = (read(&[("old.yaml", &old)]), read(&[("new.yaml", &new)]));
        let judgement = Comparison::new(&old, &new).judge();
        let of = |field: &'static str| judgement.findings.iter().filter(move |finding| finding.field == field);
        let hostile: Vec<_> = of("hostile").collect();
        assert_eq!(hostile.len(), 1, "{hostile:?}");
        assert_ne!(hostile[0].verdict, Verdict::Allowed, "{hostile:?}");
        assert_eq!(hostile[0].place.position.map(|position| position.line), Some(12));
        assert_eq!(hostile[0].place.file.as_deref(), Some("new.yaml"));
        assert_eq!(of("other").map(|finding| finding.rule.as_str()).collect::<Vec<_>>(), ["R15"]);
    }
}
