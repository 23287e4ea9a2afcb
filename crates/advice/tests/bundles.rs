//! `Bundle` rules: match, no match or a failure with its class for every state that a bundle can be in (U19, V7, V8).

use crate::fixtures::{self, ObjectEvidence, now, objects, proof};
use clearway_advice::evidence::{FailureClass, Objects, RecordedEvidence, Snapshot};
use clearway_advice::{Budget, EvaluationBudget, Plan, RiskProof, Settings, Verdict};
use clearway_core::GroupKind;
use serde_json::{Value, json};

const GROUP: &str = "a.io";

/// A CRD with versions, of which the first is stored in, that says its version and channel.
fn crd(kind: &str, versions: &[&str], version: &str, channel: &str) -> Value {
    let plural = format!("{}s", kind.to_lowercase());
    let version_of = |name: &&str| json!({"name": name, "served": true, "storage": *name == versions[0], "schema": {}});
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {
            "name": format!("{plural}.{GROUP}"),
            "annotations": {"a.io/bundle-version": version, "a.io/channel": channel, "a.io/other": "MARKER"},
        },
        "spec": {
            "group": GROUP, "scope": "Namespaced", "names": {"kind": kind, "plural": plural},
            "versions": versions.iter().map(version_of).collect::<Vec<_>>(),
        },
        "status": {
            "storedVersions": versions,
            "conditions": [{"type": "Established", "status": "True", "message": "MARKER"}],
        },
    })
}

fn route(name: &str, spec: &Value) -> Value {
    json!({"apiVersion": "a.io/v1", "kind": "Route", "metadata": {"name": name, "namespace": "n"}, "spec": spec})
}

/// Two CRDs and two routes, one of which uses the filter.
fn cluster() -> Vec<Value> {
    vec![
        crd("Route", &["v1", "v1beta1"], "v1.2.0", "standard"),
        crd("Gate", &["v1"], "v1.2.0", "standard"),
        route("plain", &json!({"rules": [{"name": "MARKER"}]})),
        route("used", &json!({"rules": [{}, {"filters": [{"auth": {"secret": "MARKER"}}]}]})),
    ]
}

fn rule(more: &Value) -> Value {
    let mut parameters = json!({"group": GROUP});
    parameters.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    json!([{"type": "Bundle", "bundle": parameters}])
}

fn known(list: &[Value]) -> Objects {
    let mut objects = objects(list);
    for (group, kind) in [("apiextensions.k8s.io", "CustomResourceDefinition"), (GROUP, "Route"), (GROUP, "Gate")] {
        objects.mark_read(GroupKind { group: group.to_owned(), kind: kind.to_owned() });
    }
    objects
}

fn told(proof: &RiskProof) -> (Verdict, Option<FailureClass>, String) {
    (proof.verdict, proof.rules[0].failure, proof.rules[0].why.clone().unwrap_or_default())
}

#[test]
fn parameters_match_together_and_the_first_that_does_not_decides() {
    let evidence = ObjectEvidence(known(&cluster()));
    let auth = "Route v1 spec.rules[].filters[].auth";
    for (more, want, value) in [
        (json!({}), Verdict::Match, "a.io v1.2.0 standard, 2 CRDs"),
        (json!({"version": ">=1.2.0 <1.3.0"}), Verdict::Match, "a.io v1.2.0 standard, 2 CRDs"),
        (json!({"version": "1.3.x"}), Verdict::NoMatch, "a.io v1.2.0 standard, 2 CRDs"),
        (json!({"channel": "standard", "version": "1.x"}), Verdict::Match, ""),
        (json!({"channel": "experimental", "version": "1.x"}), Verdict::NoMatch, ""),
        (json!({"servedVersion": "Route v1beta1"}), Verdict::Match, "Route.a.io serves v1, v1beta1"),
        (json!({"servedVersion": "Gate v1beta1"}), Verdict::NoMatch, "Gate.a.io serves v1"),
        (json!({"servedVersion": "v1beta1"}), Verdict::Match, "1 of them serve v1beta1: Route.a.io"),
        (json!({"storedVersion": "Route.a.io v1beta1"}), Verdict::Match, "Route.a.io stores v1, v1beta1"),
        (json!({"storedVersion": "v1alpha2"}), Verdict::NoMatch, "0 of them store v1alpha2"),
        (json!({"usedField": auth}), Verdict::Match, "2 CRDs; 1 of 2 Route.a.io objects use the field: n/used"),
        (json!({"usedField": "Route v1 spec.none"}), Verdict::NoMatch, "0 of 2 Route.a.io objects use the field"),
        (json!({"usedField": "Gate v1 spec"}), Verdict::NoMatch, "0 of 0 Gate.a.io objects use the field"),
        // Objects are not looked at where the CRDs decide.
        (json!({"usedField": auth, "version": "2.x"}), Verdict::NoMatch, "a.io v1.2.0 standard, 2 CRDs"),
        (json!({"usedField": auth, "channel": "standard", "storedVersion": "v1"}), Verdict::Match, "n/used"),
        // A parameter of a later version is passed over, and keys are read in any case (U22).
        (json!({"Version": "1.3.x", "tomorrow": 1}), Verdict::NoMatch, ""),
        (json!({"group": "b.io", "whenAbsent": "NoMatch"}), Verdict::NoMatch, "b.io is not installed"),
        (json!({"group": "b.io", "whenAbsent": "Match", "usedField": "Route v1 spec"}), Verdict::Match, ""),
        (json!({"servedVersion": "Lost v1", "whenAbsent": "NoMatch"}), Verdict::NoMatch, ""),
    ] {
        let found = proof(rule(&more), &evidence);
        assert_eq!(found.verdict, want, "{more} {:?}", found.rules[0]);
        let shown = found.rules[0].value.clone().unwrap_or_default();
        assert!(shown.contains(value), "{more} {shown}");
        assert!(!serde_json::to_string(&found).unwrap().contains("MARKER"), "{found:?}");
    }
}

#[test]
fn what_is_not_one_whole_bundle_fails_with_a_class() {
    let with = |change: &dyn Fn(&mut Vec<Value>)| {
        let mut cluster = cluster();
        change(&mut cluster);
        cluster
    };
    let gate = |version: &str, channel: &str| {
        let gate = crd("Gate", &["v1"], version, channel);
        with(&|cluster: &mut Vec<Value>| cluster[1] = gate.clone())
    };
    let edited = |pointer: &str, value: Value| {
        with(&|cluster: &mut Vec<Value>| {
            let (parent, key) = pointer.rsplit_once('/').unwrap();
            cluster[1].pointer_mut(parent).unwrap()[key] = value.clone();
        })
    };
    let auth = json!({"usedField": "Route v1 spec.rules[].filters[].auth"});
    let beta = json!({"usedField": "Route v1beta1 spec.rules"});
    let (none, range, stored) = (json!({}), json!({"version": "1.x"}), json!({"storedVersion": "v1alpha1"}));
    let both =
        [crd("Route", &["v1"], "monthly-MARKER", "standard"), crd("Gate", &["v1"], "monthly-MARKER", "standard")];
    let odd = [crd("Route", &["v1"], "v1.0.0", "MARKER"), crd("Gate", &["v1"], "v1.0.0", "MARKER")];
    for (list, more, class, why) in [
        (gate("v1.1.0", "standard"), &none, FailureClass::Ambiguous, "have another version than the others: "),
        (gate("MARKER", "standard"), &none, FailureClass::Ambiguous, "have another version than the others: "),
        (gate("v1.2.0", "experimental"), &none, FailureClass::Ambiguous, "have another or an unknown channel: "),
        (
            odd.to_vec(),
            &none,
            FailureClass::Ambiguous,
            "The bundle a.io has CRDs that have another or an unknown channel: gates.a.io, routes.a.io.",
        ),
        (both.to_vec(), &range, FailureClass::Ambiguous, "is no semantic version"),
        (
            edited("/metadata/annotations", json!({})),
            &none,
            FailureClass::Absent,
            "do not say their version or channel: gates.a.io",
        ),
        (
            edited("/metadata/annotations", json!({"a.io/channel": "standard"})),
            &none,
            FailureClass::Absent,
            "gates.a.io",
        ),
        (
            edited("/metadata/deletionTimestamp", json!("2026-01-01T00:00:00Z")),
            &none,
            FailureClass::Partial,
            "being deleted or are not established: gates.a.io",
        ),
        (
            edited("/status/conditions", json!([{"type": "Established", "status": "False"}])),
            &none,
            FailureClass::Partial,
            "gates.a.io",
        ),
        (
            edited("/spec/versions", json!([])),
            &none,
            FailureClass::Evaluation,
            "The bundle a.io has CRDs that cannot be read.",
        ),
        (
            edited("/apiVersion", json!("apiextensions.k8s.io/v1beta1")),
            &none,
            FailureClass::Evaluation,
            "cannot be read",
        ),
        (
            edited("/status", json!({})),
            &stored,
            FailureClass::Absent,
            "The CRD gates.a.io does not say in which versions objects are stored.",
        ),
        (vec![], &none, FailureClass::Absent, "No CRD of the bundle a.io was found."),
        (
            cluster(),
            &json!({"servedVersion": "Lost v1"}),
            FailureClass::Absent,
            "The bundle a.io has no CRD of the kind Lost.a.io.",
        ),
        (
            cluster(),
            &json!({"usedField": "Gate v2 spec"}),
            FailureClass::Absent,
            "The cluster does not serve Gate.a.io in the version v2.",
        ),
        (cluster(), &beta, FailureClass::Absent, "Route.a.io n/plain (v1beta1): read in another version of its API."),
        (
            with(&|cluster| cluster.truncate(2))
                .into_iter()
                .chain([route("r", &json!({"rules": "(removed)"}))])
                .collect(),
            &auth,
            FailureClass::Unsupported,
            "n/r (v1): reads a field whose value is removed from evidence.",
        ),
        (
            cluster(),
            &json!({"usedField": "Secret v1 data"}),
            FailureClass::Unsupported,
            "Rules cannot read Secret.a.io objects.",
        ),
        (
            cluster(),
            &json!({"version": "about 1"}),
            FailureClass::Malformed,
            "`bundle.version` is wrong: `about 1` is not a range",
        ),
        (cluster(), &json!({"group": 1}), FailureClass::Malformed, "`bundle.group` is not a string"),
    ] {
        let found = proof(rule(more), &ObjectEvidence(known(&list)));
        let (verdict, failure, said) = told(&found);
        assert_eq!((verdict, failure), (Verdict::Unknown, Some(class)), "{more} {said}");
        assert!(said.contains(why), "{more} {said}");
        assert!(!serde_json::to_string(&found).unwrap().contains("MARKER"), "{found:?}");
    }
    // An object whose way to the field was removed says nothing against another one that uses it.
    let mut list = cluster();
    list.push(route("a-removed", &json!({"rules": "(removed)"})));
    assert_eq!(proof(rule(&auth), &ObjectEvidence(known(&list))).verdict, Verdict::Match);
}

#[test]
fn what_could_not_be_read_is_never_no_match() {
    let field = json!({"usedField": "Route v1 spec.none"});
    let kind = |group: &str, kind: &str| GroupKind { group: group.to_owned(), kind: kind.to_owned() };
    let crds = kind("apiextensions.k8s.io", "CustomResourceDefinition");
    for class in [FailureClass::Unauthorized, FailureClass::Unreachable, FailureClass::Budget, FailureClass::Partial] {
        let failure = clearway_advice::evidence::Failure::new(class, "Not read.");
        for failed in [crds.clone(), kind(GROUP, "Route")] {
            let mut objects = known(&cluster());
            objects.fail(failed, failure.clone());
            let found = proof(rule(&field), &ObjectEvidence(objects));
            assert_eq!(told(&found), (Verdict::Unknown, Some(class), "Not read.".to_owned()));
        }
    }
    // Nobody looked for routes, or the API server does not serve them although there is a CRD.
    let mut unasked = objects(&cluster()[..2]);
    assert_eq!(told(&proof(rule(&field), &ObjectEvidence(unasked.clone()))).1, Some(FailureClass::NotConfigured));
    unasked.not_served(kind(GROUP, "Route"));
    assert_eq!(told(&proof(rule(&field), &ObjectEvidence(unasked))).1, Some(FailureClass::Absent));
    assert_eq!(told(&proof(rule(&field), &Snapshot::empty(now(), "s"))).1, Some(FailureClass::NotConfigured));
}

#[test]
fn more_than_the_budget_allows_is_a_failure() {
    let class = |list: &[Value], more: &Value, steps: u64| {
        let graph = fixtures::graph(&fixtures::answer(&[], &[("1.0.1", vec![fixtures::risk("Broken", rule(more))])]));
        let steps = Budget { rule: steps, risk: u64::MAX, assessment: u64::MAX };
        let budget = EvaluationBudget { steps, ..EvaluationBudget::default() };
        let settings = Settings { budget, ..Settings::default() };
        let plan = Plan::new(&graph, &fixtures::version("1.0.0"), &settings).unwrap();
        plan.assess(&ObjectEvidence(known(list)), now()).updates[0].risks[0].rules[0].failure
    };
    let many: Vec<Value> = (0..100).map(|at| crd(&format!("Kind{at}"), &["v1"], "v1.2.0", "standard")).collect();
    assert_eq!(class(&many, &json!({}), 6_000_000), None);
    assert_eq!(class(&many, &json!({}), 3_000_000), Some(FailureClass::Budget));
    let mut list = cluster();
    list.push(route("large", &json!({"rules": vec![json!({"a": {"x": 1, "y": 2}}); 1_000]})));
    let field = json!({"usedField": "Route v1 spec.rules[].a{}.b"});
    assert_eq!(class(&list, &field, 200_000), None);
    list.push(route("larger", &json!({"rules": vec![json!({"a": {"x": 1, "y": 2}}); 4_000]})));
    assert_eq!(class(&list, &field, 200_000), Some(FailureClass::Budget));
}

#[test]
fn the_order_of_objects_and_who_records_them_makes_no_difference() {
    let mut list = cluster();
    let rules = rule(&json!({"version": "1.x", "usedField": "Route v1 spec.rules[].filters[].auth"}));
    let graph = fixtures::graph(&fixtures::answer(&[], &[("1.0.1", vec![fixtures::risk("Broken", rules)])]));
    let plan = Plan::new(&graph, &fixtures::version("1.0.0"), &Settings::default()).unwrap();
    let assessed = |list: &[Value]| plan.assess(&ObjectEvidence(known(list)), now()).to_json();
    let forward = assessed(&list);
    list.reverse();
    assert_eq!(assessed(&list), forward);
    let recorded =
        RecordedEvidence { objects: Some(fixtures::recorded(&plan, &known(&list))), ..RecordedEvidence::default() };
    assert_eq!(plan.assess(&recorded, now()).to_json(), forward);
    // Rules about one bundle share the question about its CRDs.
    let several = ["1.x", "2.x", "3.x"].map(|range| rule(&json!({"version": range}))[0].clone());
    let graph = fixtures::graph(&fixtures::answer(&[], &[("1.0.1", vec![fixtures::risk("Broken", json!(several))])]));
    let plan = Plan::new(&graph, &fixtures::version("1.0.0"), &Settings::default()).unwrap();
    assert_eq!(plan.object_questions().len(), 1);
}
