//! Rules of strangers read objects of the cluster, and nothing that the operator writes repeats what they read.
//!
//! A marker stands in every field of objects of many kinds. Whatever rules ask about them, the marker is in no status,
//! proof, event, metric, cached state or request to the update service. Names, namespaces and the types, statuses and reasons
//! of conditions may be shown, so they carry no marker. Logs are in `crates/cli/tests/live_operator/evidence.rs`: what
//! evaluates rules is a pure crate, which has none.

use clearway_core::Timestamp;
use clearway_operator::driver::ObjectReport;
use clearway_operator::metrics;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

#[path = "../../update/tests/reconciler/world.rs"]
#[expect(dead_code, reason = "it is the world of all tests of the reconciler")]
mod world;

use world::{Service, World, graph};

const TEXT: &str = "MARKER";
const NUMBER: i64 = 735_192_648;

/// Objects of kinds that rules ask about, with the fields that each usually has.
fn kinds() -> Vec<Value> {
    let pod_spec = json!({
        "nodeName": "n", "serviceAccountName": "s", "imagePullSecrets": [{"name": "p"}],
        "containers": [{
            "name": "c", "image": "i", "command": ["a"], "args": ["--password=x", "--token", "x"],
            "env": [{"name": "MODE", "value": "v"}, {"name": "F", "valueFrom": {"secretKeyRef": {"name": "a", "key": "b"}}}],
            "resources": {"limits": {"memory": "1Gi"}}, "ports": [{"containerPort": 8080}],
        }],
        "volumes": [{"name": "v", "secret": {"secretName": "s"}}],
    });
    let status = json!({
        "observedGeneration": 2, "replicas": 3, "hostIP": "10.0.0.1",
        "conditions": [
            {"type": "Ready", "status": "True", "reason": "Fine", "message": "m", "lastTransitionTime": "2026-01-01T00:00:00Z"},
            {"type": "Degraded", "status": "Unknown", "reason": "Odd", "message": "m"},
        ],
    });
    let object = |api: &str, kind: &str, more: Value| {
        let mut object = json!({
            "apiVersion": api, "kind": kind, "status": status,
            "metadata": {
                "name": "web", "namespace": "shop", "uid": "u", "generation": 2, "labels": {"app": "a"},
                "annotations": {"note": "n"}, "finalizers": ["f"], "ownerReferences": [{"name": "o", "uid": "u"}],
            },
        });
        object.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        object
    };
    let crd = |group: &str| {
        let mut crd = object(
            "apiextensions.k8s.io/v1",
            "CustomResourceDefinition",
            json!({
                "spec": {
                    "group": group, "scope": "Namespaced", "names": {"kind": "Thing", "plural": "things", "shortNames": ["t"]},
                    "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {"description": "d"}}}],
                },
                "status": {"storedVersions": ["v1", "v1alpha1"], "conditions": [{"type": "Established", "status": "True"}]},
            }),
        );
        crd["metadata"]["name"] = json!(format!("things.{group}"));
        crd["metadata"]["annotations"] = json!({
            format!("{group}/bundle-version"): "v1.2.0", format!("{group}/channel"): "standard", "note": "n",
        });
        crd
    };
    vec![
        object("v1", "Pod", json!({"spec": pod_spec})),
        object("v1", "Node", json!({"spec": {"providerID": "p", "taints": [{"key": "k", "value": "v"}]}})),
        object("v1", "ConfigMap", json!({"data": {"a": "b", "c.json": "{\"d\": 1}"}, "binaryData": {"e": "Zg=="}})),
        object("v1", "Service", json!({"spec": {"clusterIP": "10.0.0.2", "ports": [{"port": 80}]}})),
        object("apps/v1", "Deployment", json!({"spec": {"replicas": 3, "template": {"spec": pod_spec}}})),
        object("config.openshift.io/v1", "ClusterOperator", json!({"spec": {}})),
        object(
            "example.com/v1",
            "Widget",
            json!({"spec": {"deep": [[{"a": [1.5, true, null, "x"]}]]}, "data": {"a": 1}}),
        ),
        // The bundle of the first one has no version that could be shown.
        crd("a.io"),
        crd("b.io"),
        object("b.io/v1", "Thing", json!({"spec": {"deep": [{"a": "x", "b.c": {"d": 1}}]}, "data": {"a": 1}})),
        constraint(object),
    ]
}

/// A constraint with the results of an audit, whose messages say whatever a template makes of objects.
fn constraint(object: impl Fn(&str, &str, Value) -> Value) -> Value {
    let violation = json!({
        "enforcementAction": "deny", "kind": "Pod", "group": "", "version": "v1", "namespace": "shop", "name": "web",
        "message": "m",
    });
    let mut constraint = object(
        "constraints.gatekeeper.sh/v1beta1",
        "RequiredLabels",
        json!({
            "spec": {"parameters": {"labels": ["a"]}, "match": {"namespaces": ["shop"]}},
            "status": {
                "auditTimestamp": "2026-01-01T00:00:00Z", "totalViolations": 2, "violations": [violation],
                "byPod": [{"id": "p", "errors": [{"code": "c", "message": "m"}]}],
            },
        }),
    );
    constraint["metadata"]["name"] = json!("owner");
    constraint["metadata"].as_object_mut().unwrap().remove("namespace");
    constraint
}

/// The same object with a marker in every text and number, and in names of labels, annotations and data.
fn marked(value: &Value, path: &str) -> Value {
    match value {
        Value::String(_) if shown(path) => value.clone(),
        Value::String(text) => Value::String(format!("{TEXT}-{text}")),
        Value::Number(number) if number.is_f64() => json!(735_192_648.5),
        Value::Number(_) if path.ends_with("eneration") || shown(path) => value.clone(),
        Value::Number(_) => json!(NUMBER),
        Value::Array(items) => items.iter().map(|item| marked(item, &format!("{path}[]"))).collect(),
        Value::Object(fields) => {
            let open = [".labels", ".annotations", ".data", ".binaryData"].iter().any(|end| path.ends_with(end));
            let field = |(key, value): (&String, &Value)| {
                let bundle = key.ends_with("/bundle-version") || key.ends_with("/channel");
                let name = if open && !bundle { format!("{key}-{TEXT}") } else { key.clone() };
                (name, marked(value, &format!("{path}.{key}")))
            };
            Value::Object(fields.iter().map(field).collect::<Map<_, _>>())
        }
        other => other.clone(),
    }
}

/// What a proof may show.
fn shown(path: &str) -> bool {
    let condition = path.strip_prefix(".status.conditions[].");
    // Of CRDs: their names and versions, and the version and channel of a bundle, if they are that.
    let of_crd = [
        ".spec.group",
        ".spec.scope",
        ".spec.names.kind",
        ".spec.names.plural",
        ".spec.versions[].name",
        ".status.storedVersions[]",
        ".metadata.annotations.b.io/bundle-version",
        ".metadata.annotations.b.io/channel",
    ];
    // Of constraints: how many objects violate them, which, and when that was found.
    let violation = path.strip_prefix(".status.violations[].");
    matches!(path, ".apiVersion" | ".kind" | ".metadata.name" | ".metadata.namespace")
        || matches!(path, ".status.auditTimestamp" | ".status.totalViolations")
        || violation.is_some_and(|field| matches!(field, "kind" | "group" | "version" | "namespace" | "name"))
        || of_crd.contains(&path)
        || condition.is_some_and(|field| matches!(field, "type" | "status" | "reason"))
}

/// Every path of an object, as an expression.
fn paths(value: &Value, at: &str, found: &mut Vec<String>) {
    found.push(at.to_owned());
    match value {
        Value::Array(items) => {
            for (place, item) in items.iter().enumerate() {
                paths(item, &format!("{at}[{place}]"), found);
            }
        }
        Value::Object(fields) => {
            for (key, value) in fields {
                paths(value, &format!("{at}['{key}']"), found);
            }
        }
        _ => {}
    }
}

/// Expressions whose errors would quote what they read.
const EXPRESSIONS: &[&str] = &[
    "P",
    "P == 'x'",
    "P == 1",
    "P > 1",
    "P + 1 == 2",
    "P + 'x' == 'x'",
    "-P == 1",
    "!P",
    "P && true",
    "P ? true : false",
    "object[P] == 1",
    "P[P] == 1",
    "P[0] == 1",
    "P[P.x] == 1",
    "P.x == 1",
    "{'a': 1}[P] == 1",
    "[1][P] == 1",
    "{P: 1}['a'] == 1",
    "{P: 1, P: 2} == {}",
    "int(P) == 1",
    "double(P) > 1.0",
    "string(P) == ''",
    "size(P)",
    "P.contains(1)",
    "P.startsWith(P) == P",
    "P in 'a'",
    "'a' in P && P",
    "P.all(x, x.y)",
    "P.exists(x, x + 1 > P)",
    "P.map(x, x)[99] == 1",
    "P.filter(x, P)",
    "[P, P][7] == P",
    "has(P.x) ? P : P",
    "P < 'a' || P > 2",
    "P == P",
];

/// What rules ask about bundles.
const BUNDLES: &[&str] = &[
    "version: 1.x",
    "version: '>=9.0.0'",
    "channel: standard",
    "servedVersion: Thing v1",
    "storedVersion: v1alpha1",
    "storedVersion: Thing v9",
    "usedField: Thing v1 spec.deep[].a",
    "usedField: 'Thing v1 spec.deep[][\"b.c\"]{}'",
    "usedField: Thing v1 spec.deep[].a.b.c",
    "usedField: Thing v1 data.a",
    "usedField: Thing v1 metadata.labels{}",
    "usedField: Thing v9 spec",
    "usedField: Nothing v1 spec",
];

/// Takes the parameters of rules out of proofs: they are what the stranger wrote.
fn without_parameters(proofs: &mut Value) {
    match proofs {
        Value::Array(items) => items.iter_mut().for_each(without_parameters),
        Value::Object(fields) => {
            fields.remove("parameters");
            fields.values_mut().for_each(without_parameters);
        }
        _ => {}
    }
}

/// What is kept for the next process, without the answer of the update service, which is what the stranger wrote.
fn cached(world: &World) -> String {
    let mut kept = serde_json::to_value(world.kept.as_ref().expect("something is kept")).unwrap();
    assert!(kept.as_object_mut().unwrap().remove("graph").is_some());
    kept.to_string()
}

/// A rule that evaluates an expression on one object.
fn rule(object: &Value, expression: &str) -> Value {
    let mut selected = json!({"apiVersion": object["apiVersion"], "kind": object["kind"], "expression": expression});
    for key in ["name", "namespace"] {
        if let Some(value) = object["metadata"].get(key) {
            selected[key] = value.clone();
        }
    }
    json!({"type": "Resource", "resource": selected})
}

/// A text in which something of the objects is repeated, after rules were evaluated on them; nothing if there is none.
fn leak(objects: Vec<Value>, rules: &[Value]) -> Option<String> {
    // Each rule in a risk of its own, so that each is evaluated and says what it has to say.
    let risk = |(number, rule): (usize, &Value)| {
        json!({
            "name": format!("R{number}"), "url": "https://example.com", "message": "m", "matchingRules": [rule],
        })
    };
    let mut world = World::new(graph(&[("1.1.0", rules.iter().enumerate().map(risk).collect())]));
    world.objects = objects;
    world.start();
    world.pass(std::time::Duration::from_secs(10));
    assert!(world.count("look") > 0);
    // The rule itself may name what it likes: what came of it may not.
    let mut status = world.object["status"].clone();
    for update in status["conditionalUpdates"].as_array_mut().unwrap() {
        update.as_object_mut().unwrap().remove("risks");
    }
    let shown = ObjectReport {
        object: std::sync::Arc::new(world.object.clone()),
        retrieved_at: Some(Timestamp::EPOCH),
        counts: world.reconciler.counts(),
        transitions: world.reconciler.transitions(),
        rollout: world.reconciler.rollout().clone(),
        assessment: world.reconciler.assessment().cloned(),
    };
    let mut proofs = serde_json::to_value(world.reconciler.assessment().unwrap()).unwrap();
    without_parameters(&mut proofs);
    let proofs = proofs.to_string();
    for number in 0..rules.len() {
        assert!(proofs.contains(&format!("\"R{number}\"")), "R{number} was not evaluated");
    }
    let (kept, before) = (cached(&world), world.requests.len());
    // Another request, now that objects were looked at; without an answer nothing is evaluated anew.
    world.service = Service::Hangs;
    world.edit(|object| object["spec"]["channel"] = json!("other"));
    assert!(world.requests.len() > before);
    let requests = format!("{:?}", world.requests);
    let all = [status.to_string(), proofs, world.log.join("\n"), metrics::text(&[shown], true), kept, requests];
    all.into_iter().find(|text| text.contains(TEXT) || text.contains(&NUMBER.to_string()))
}

/// How many rules one answer may have about objects, with some left over.
const RULES: usize = 900;

/// Every path of every kind, in every expression. Booleans have no marker: no text could tell one from the other, and
/// whether a rule matches, which is what advice says, is one already.
#[test]
fn no_path_of_any_kind_is_repeated_by_any_expression() {
    let objects: Vec<Value> = kinds().iter().map(|object| marked(object, "")).collect();
    let mut rules = Vec::new();
    for object in &objects {
        let mut found = Vec::new();
        paths(object, "object", &mut found);
        for path in &found {
            rules.extend(EXPRESSIONS.iter().map(|expression| rule(object, &expression.replace('P', path))));
        }
    }
    for group in ["a.io", "b.io", "c.io"] {
        for asked in BUNDLES {
            let (key, value) = asked.split_once(": ").unwrap();
            rules.push(json!({"type": "Bundle", "bundle": {"group": group, key: value.trim_matches('\'')}}));
        }
    }
    assert!(rules.len() > 10_000, "only {}", rules.len());
    for some in rules.chunks(RULES) {
        assert_eq!(leak(objects.clone(), some), None);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn nothing_of_an_object_but_its_name_and_conditions_is_repeated(
        picks in prop::collection::vec((0..11_usize, any::<prop::sample::Index>(), 0..EXPRESSIONS.len()), 1..12),
        types in prop::collection::vec(prop::sample::select(vec!["Ready", "Degraded", "Nothing"]), 0..3),
        bundles in prop::collection::vec((prop::sample::select(vec!["a.io", "b.io", "c.io"]), 0..BUNDLES.len()), 0..4),
    ) {
        let objects: Vec<Value> = kinds().iter().map(|object| marked(object, "")).collect();
        let mut rules = Vec::new();
        for (at, path, expression) in picks {
            let object = &objects[at];
            let mut found = Vec::new();
            paths(object, "object", &mut found);
            rules.push(rule(object, &EXPRESSIONS[expression].replace('P', path.get::<String>(&found))));
        }
        // One that is never refused when it is loaded, so that objects are looked at in every case.
        for type_ in types.into_iter().chain(["Available"]) {
            rules.push(json!({"type": "Condition", "condition": {"apiVersion": "apps/v1", "kind": "Deployment", "type": type_, "status": "False"}}));
        }
        for (group, asked) in bundles {
            let (key, value) = BUNDLES[asked].split_once(": ").unwrap();
            rules.push(json!({"type": "Bundle", "bundle": {"group": group, key: value.trim_matches('\'')}}));
        }
        rules.push(json!({"type": "Policy", "policy": {"kind": "RequiredLabels", "name": "owner"}}));
        prop_assert_eq!(leak(objects, &rules), None);
    }
}
