//! Comparisons beyond one rule: waivers, channels, conversion, graduation, policies, webhooks, and hostile bundles.

use std::fmt::Write as _;

use clearway_bundle::{
    Bundle, BundleLimits, BundleReader, Comparison, Judgement, Level, NameLedger, Outcome, Step, Verdict, Waivers,
    compare_channels, conversion_losses,
};
use clearway_core::Timestamp;

/// One CRD: its annotations, and for each version a name, flags and the schema of `spec`.
fn crd(version: &str, channel: &str, versions: &[(&str, &str, &str)]) -> String {
    let mut text = format!(
        "---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {{name: things.x.io, annotations: {{x.io/bundle-version: {version}, x.io/channel: {channel}}}}}
spec:
  group: x.io
  scope: Cluster
  names: {{kind: Thing, plural: things}}
  versions:
"
    );
    for (name, flags, spec) in versions {
        let schema = format!("{{openAPIV3Schema: {{type: object, properties: {{spec: {spec}}}}}}}");
        writeln!(text, "  - {{name: {name}, {flags}, schema: {schema}}}").unwrap();
    }
    text
}

const STORED: &str = "served: true, storage: true";
const SERVED: &str = "served: true, storage: false";

fn bundle(text: &str) -> Bundle {
    let mut reader = BundleReader::new("bundle", "x.io", BundleLimits::default());
    reader.add_file("bundle.yaml", text.as_bytes());
    reader.finish()
}

fn simple(version: &str, channel: &str, spec: &str) -> Bundle {
    let bundle = bundle(&crd(version, channel, &[("v1", STORED, spec)]));
    assert!(bundle.problems.is_empty(), "{:?}", bundle.problems);
    bundle
}

fn judge(old: &Bundle, new: &Bundle) -> Judgement {
    Comparison::new(old, new).judge()
}

fn verdicts(judgement: &Judgement) -> Vec<(&str, Verdict)> {
    let findings = judgement.findings.iter().filter(|finding| finding.rule.as_str() != "R02");
    findings.map(|finding| (finding.rule.as_str(), finding.verdict)).collect()
}

const FIELDS: &str = "{type: object, properties: {a: {type: string}}}";
const MORE_FIELDS: &str = "{type: object, properties: {a: {type: string}, b: {type: string}}}";
const REQUIRED: &str = "{type: object, required: [a], properties: {a: {type: string}}}";

#[test]
fn a_waiver_allows_one_finding_until_it_expires() {
    let (old, new) = (simple("v1.0.0", "standard", FIELDS), simple("v1.1.0", "standard", REQUIRED));
    let file = "
waivers:
- {rule: R08, path: things v1 spec.a, reason: nothing works without it, expires: 2027-01-31}
- {rule: R08, path: things v1 spec.b, reason: unused, expires: 2027-01-31}
- {rule: R99, path: things, reason: no such rule, expires: 2027-01-31}
- {rule: R08, path: things, expires: 2027-01-31}
- {rule: R08, path: things, reason: when, expires: soon}
";
    let now: Timestamp = "2027-01-31T12:00:00Z".parse().unwrap();
    let mut waivers = Waivers::read("waivers.yaml", file);
    let judgement = judge(&old, &new).with_waivers(&mut waivers, now);
    assert_eq!(verdicts(&judgement), [("R08", Verdict::Waived)]);
    assert_eq!((judgement.outcome(), judgement.needed()), (Outcome::Allowed, Level::Patch));
    let diagnostic = judgement.findings.iter().find(|finding| finding.waiver.is_some()).unwrap().to_diagnostic();
    assert_eq!(diagnostic.note.unwrap(), "waived until 2027-01-31T23:59:59Z: nothing works without it");
    let problems: Vec<_> = waivers
        .problems()
        .iter()
        .map(|problem| (problem.code.to_string(), problem.place.position.unwrap().line))
        .collect();
    let expected = [("BD010", 5), ("BD010", 6), ("BD010", 7), ("BD012", 4)];
    assert_eq!(problems, expected.map(|(code, line)| (code.to_owned(), line)));

    let later: Timestamp = "2027-02-01T00:00:00Z".parse().unwrap();
    let mut waivers = Waivers::read("waivers.yaml", file);
    let judgement = judge(&old, &new).with_waivers(&mut waivers, later);
    assert_eq!(judgement.outcome(), Outcome::Violation);
    assert!(waivers.problems().iter().any(|problem| problem.code == "BD011"));
}

#[test]
fn a_waiver_may_be_for_two_versions_and_for_all_paths_of_a_prefix() {
    let (old, new) = (simple("v1.0.0", "standard", FIELDS), simple("v1.1.0", "standard", REQUIRED));
    let now = Timestamp::EPOCH;
    for (from, outcome) in [("v1.0.0", Outcome::Allowed), ("v0.9.0", Outcome::Violation)] {
        let file = format!("waivers: [{{rule: R08, path: 'things *', reason: x, expires: 2027-01-31, from: {from}}}]");
        let mut waivers = Waivers::read("w", &file).between(&old, &new);
        assert_eq!(judge(&old, &new).with_waivers(&mut waivers, now).outcome(), outcome);
    }
}

#[test]
fn v2_the_standard_channel_is_a_subset_of_the_experimental_one() {
    let (standard, experimental) =
        (simple("v1.0.0", "standard", FIELDS), simple("v1.0.0", "experimental", MORE_FIELDS));
    let difference = compare_channels(&standard, &experimental);
    assert_eq!(difference.experimental_only, ["things v1 spec.b"]);
    assert!(difference.violations.is_empty());
    let difference = compare_channels(&experimental, &standard);
    assert_eq!(difference.violations[0].path, "things v1 spec.b");
    assert_eq!(difference.violations[0].verdict, Verdict::Violation);
}

#[test]
fn r04_graduation_is_judged_with_the_experimental_bundles() {
    let (old, new) = (simple("v1.0.0", "standard", FIELDS), simple("v1.1.0", "standard", MORE_FIELDS));
    assert_eq!(verdicts(&judge(&old, &new)), [("R04", Verdict::Allowed)]);
    let without = simple("v1.0.0", "experimental", FIELDS);
    let with = simple("v1.1.0", "experimental", MORE_FIELDS);
    let comparison = Comparison { old_experimental: Some(&without), ..Comparison::new(&old, &new) };
    assert_eq!(verdicts(&comparison.judge()), [("R04", Verdict::Violation)]);
    let comparison = Comparison { new_experimental: Some(&with), ..comparison };
    assert_eq!(verdicts(&comparison.judge()), [("R04", Verdict::Allowed)]);
}

#[test]
fn v5_what_conversion_loses_is_named_and_experimental_fields_are_left_out() {
    let text = crd("v1.0.0", "standard", &[("v1", STORED, MORE_FIELDS), ("v1beta1", SERVED, FIELDS)]);
    let both = bundle(&text);
    let losses = conversion_losses(&both.crds["things.x.io"], None);
    let losses: Vec<_> = losses.iter().map(|loss| (loss.path.as_str(), loss.message.as_str())).collect();
    assert_eq!(losses, [("things v1 spec.b", "the value is lost when the object is written in v1beta1")]);
    let standard = bundle(&crd("v1.0.0", "standard", &[("v1", STORED, FIELDS), ("v1beta1", SERVED, FIELDS)]));
    assert!(conversion_losses(&both.crds["things.x.io"], Some(&standard.crds["things.x.io"])).is_empty());
    let types =
        "{type: object, properties: {a: {type: array, items: {type: object, properties: {c: {type: integer}}}}}}";
    let text = crd("v1.0.0", "standard", &[("v1", STORED, types), ("v1beta1", SERVED, FIELDS)]);
    assert!(!conversion_losses(&bundle(&text).crds["things.x.io"], None).is_empty());
}

#[test]
fn a_violation_is_kept_however_many_allowed_changes_come_before_it() {
    let fields = |names: &str, last: &str| format!("{{type: object, properties: {{{names}{last}: {{type: string}}}}}}");
    let mut names = String::new();
    for number in 0..20_100 {
        write!(names, "f{number}: {{type: string}}, ").unwrap();
    }
    let (old, new) =
        (simple("v1.0.0", "standard", &fields("", "z")), simple("v1.1.0", "standard", &fields(&names, "y")));
    let judgement = judge(&old, &new);
    assert_eq!(judgement.findings.len(), 20_000);
    assert!(judgement.left_out > 0);
    let violations: Vec<_> =
        judgement.findings.iter().filter(|finding| finding.verdict == Verdict::Violation).collect();
    assert_eq!(violations.iter().map(|one| one.path.as_str()).collect::<Vec<_>>(), ["things v1 spec.z"]);
    assert_eq!(judgement.outcome(), Outcome::Violation);
}

#[test]
fn r37_a_version_that_objects_are_stored_in_is_never_removed() {
    let unserved = "served: false, storage: false";
    let old = crd("v1.0.0", "standard", &[("v1", STORED, FIELDS), ("v1beta1", unserved, FIELDS)]);
    let new = simple("v1.1.0", "standard", FIELDS);
    assert_eq!(judge(&bundle(&old), &new).outcome(), Outcome::Allowed);
    let live = format!("{old}status: {{storedVersions: [v1beta1, v1]}}\n");
    let judgement = judge(&bundle(&live), &new);
    let finding = judgement.findings.iter().find(|finding| finding.rule.as_str() == "R37").unwrap();
    assert_eq!((finding.verdict, finding.needed), (Verdict::Violation, Level::Never));
    assert!(finding.stored_objects.contains("status.storedVersions of things.x.io lists v1beta1"));
}

#[test]
fn r45_a_webhook_of_another_version_is_a_mixed_bundle() {
    let webhook = |tag: &str| {
        format!(
            "{}---
kind: ValidatingWebhookConfiguration
metadata: {{name: admission}}
webhooks: [{{clientConfig: {{service: {{namespace: n, name: s}}}}}}]
---
{{kind: Service, metadata: {{name: s, namespace: n}}, spec: {{selector: {{app: w}}}}}}
---
kind: Deployment
metadata: {{name: w, namespace: n}}
spec: {{template: {{metadata: {{labels: {{app: w}}}}, spec: {{containers: [{{image: 'x.io/w:{tag}'}}]}}}}}}
",
            crd("v1.1.0", "standard", &[("v1", STORED, FIELDS)])
        )
    };
    let old = simple("v1.0.0", "standard", FIELDS);
    assert_eq!(judge(&old, &bundle(&webhook("v1.1.0"))).outcome(), Outcome::Allowed);
    let mixed = judge(&old, &bundle(&webhook("v1.0.0")));
    assert_eq!(verdicts(&mixed), [("R45", Verdict::Violation)]);
}

#[test]
fn expressions_of_policies_are_compared() {
    let policy = |version: &str, rule: &str| {
        let head = crd(version, "standard", &[("v1", STORED, FIELDS)]);
        bundle(&format!(
            "{head}---\nkind: ValidatingAdmissionPolicy\nmetadata: {{name: guard}}\nspec: {{validations: [{rule}]}}\n"
        ))
    };
    let rule = "{expression: 'object.a > 1', message: too small}";
    let judgement =
        judge(&policy("v1.0.0", rule), &policy("v1.1.0", "{expression: 'object.a > 2', message: too small}"));
    assert_eq!(verdicts(&judgement), [("R21", Verdict::NeedsReview)]);
    assert_eq!(judgement.findings[0].path, "ValidatingAdmissionPolicy guard spec.validations");
}

#[test]
fn snapshots_have_the_rules_of_the_experimental_channel() {
    let old = simple("v1.0.0", "standard", MORE_FIELDS);
    let new = simple("monthly-2026.01", "standard", FIELDS);
    let judgement = judge(&old, &new);
    assert_eq!((judgement.step, judgement.outcome()), (Step::Update, Outcome::Allowed));
}

#[test]
fn v4_a_reused_name_is_a_violation_of_the_comparison() {
    let with = simple("v1.0.0", "experimental", MORE_FIELDS);
    let without = simple("v1.1.0", "experimental", FIELDS);
    let again = simple("v1.2.0", "experimental", MORE_FIELDS);
    let ledger = NameLedger::of_bundles([&with, &without]);
    let comparison = Comparison { ledger: Some(&ledger), ..Comparison::new(&without, &again) };
    assert!(verdicts(&comparison.judge()).contains(&("V4", Verdict::Violation)));
}

#[test]
fn what_cannot_be_read_is_never_compatible_without_review() {
    let old = simple("v1.0.0", "standard", FIELDS);
    let new = bundle(&crd("v1.1.0", "standard", &[("v1", STORED, "{$ref: '#/x'}")]));
    let judgement = judge(&old, &new);
    assert!(judgement.incomplete);
    assert_eq!(judgement.outcome(), Outcome::NeedsReview);
}

#[test]
fn hostile_bundles_are_judged_within_bounds() {
    // Many values, many rules, many patterns, long names.
    let words = |from: usize| (from..from + 20_000).map(|n| format!("w{n}")).collect::<Vec<_>>().join(", ");
    let rules = |from: usize| {
        (from..from + 1_000).map(|n| format!("{{rule: 'self.a > {n}', message: m{n}}}")).collect::<Vec<_>>().join(", ")
    };
    let patterns = |end: &str| {
        (0..60)
            .map(|n| format!("p{n}: {{type: string, pattern: '^(a|b)*a(a|b){{20}}{end}$'}}"))
            .collect::<Vec<_>>()
            .join(", ")
    };
    let names = |from: usize| {
        (from..from + 100).map(|n| format!("{}{n}: {{type: string}}", "n".repeat(1_000))).collect::<Vec<_>>().join(", ")
    };
    let spec = |from: usize, end: &str| {
        format!(
            "{{type: object, x-kubernetes-validations: [{}], properties: {{a: {{type: string, enum: [{}]}}, {}, {}}}}}",
            rules(from),
            words(from),
            patterns(end),
            names(from)
        )
    };
    let (old, new) = (simple("v1.0.0", "standard", &spec(0, "c")), simple("v1.1.0", "standard", &spec(7, "d")));
    let judgement = judge(&old, &new);
    assert_eq!(judgement.outcome(), Outcome::Violation);
    assert!(judgement.findings.iter().all(|finding| finding.path.len() < 1_000));
    assert_eq!(judge(&old, &new), judgement, "the same twice");
}

#[test]
fn v7_what_a_cluster_has_is_compared_with_its_bundle() {
    let annotations =
        serde_json::json!({"x.io/bundle-version": "v1.0.0", "x.io/channel": "standard", "argocd/id": "a"});
    let live = |field: &str| {
        let mut reader = BundleReader::new("cluster", "x.io", BundleLimits::default());
        reader.add_object(&serde_json::json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": "things.x.io", "annotations": annotations, "labels": {"team": "a"}},
            "spec": {"group": "x.io", "scope": "Cluster", "names": {"kind": "Thing", "plural": "things"}, "versions": [
                {"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {"type": "object",
                    "properties": {"spec": {"type": "object", "properties": {field: {"type": "string"}}}}}}}]},
        }));
        reader.finish()
    };
    let released = simple("v1.0.0", "standard", FIELDS);
    assert_eq!(judge(&released, &live("a")).findings, []);
    assert_eq!(judge(&released, &live("changed")).outcome(), Outcome::Violation, "modified under the same version");
}

#[test]
fn r40_versions_of_a_new_crd_must_agree_too() {
    let old = bundle("kind: Namespace\nmetadata: {name: n}\n");
    let old = Bundle { version: simple("v1.0.0", "standard", FIELDS).version, problems: Vec::new(), ..old };
    let new = bundle(&crd("v1.1.0", "standard", &[("v1", STORED, FIELDS), ("v2", SERVED, MORE_FIELDS)]));
    assert!(verdicts(&judge(&old, &new)).contains(&("R40", Verdict::Violation)));
}

#[test]
fn r20_a_rule_that_makes_a_new_field_required_needs_review() {
    let with_rule = |rule: &str| {
        let properties = "a: {type: string}, b: {type: string}";
        format!("{{type: object, properties: {{{properties}}}, x-kubernetes-validations: [{{rule: '{rule}'}}]}}")
    };
    let old = simple("v1.0.0", "standard", FIELDS);
    for (rule, verdict) in [
        ("!has(self.b) || self.b != \"\"", Verdict::Allowed),
        ("has(self.b)", Verdict::NeedsReview),
        ("self.b != \"\"", Verdict::NeedsReview),
        ("!has(self.b) || has(self.a)", Verdict::NeedsReview),
        ("this is not CEL", Verdict::NeedsReview),
    ] {
        let judgement = judge(&old, &simple("v1.1.0", "standard", &with_rule(rule)));
        assert!(verdicts(&judgement).contains(&("R20", verdict)), "{rule}: {:?}", verdicts(&judgement));
    }
}

#[test]
fn v1_annotations_that_contradict_the_given_version_are_named() {
    let mut reader = BundleReader::new("v1.0.1", "x.io", BundleLimits::default());
    reader.add_file("a.yaml", crd("v1.0.0", "standard", &[("v1", STORED, FIELDS)]).as_bytes());
    let bundle = reader.with_version(clearway_bundle::BundleVersion::read("v1.0.1")).finish();
    assert_eq!((bundle.version_text().as_str(), bundle.problems.len()), ("v1.0.1", 1));
    assert_eq!(bundle.problems[0].message, "the bundle is given as v1.0.1, but its CRDs are annotated with v1.0.0");
    assert_eq!(judge(&bundle, &bundle).outcome(), Outcome::Allowed);
}
