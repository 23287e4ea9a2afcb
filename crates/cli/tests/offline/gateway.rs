//! `clearway gateway` without a cluster: what objects will report, what a change does, and what was published.

use serde_json::Value;

use crate::{Answer, Place};

const OBJECTS: &str = "\
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: public}
spec: {controllerName: example.com/controller}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {namespace: infra, name: gw, generation: 3}
spec:
  gatewayClassName: public
  listeners:
  - {name: http, port: 80, protocol: HTTP, allowedRoutes: {namespaces: {from: All}}}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {namespace: a, name: b, generation: 2}
spec:
  parentRefs: [{namespace: infra, name: gw}]
  rules:
  - backendRefs: [{name: web, port: 80}, {namespace: c, name: d, port: 80}]
---
apiVersion: v1
kind: Service
metadata: {namespace: a, name: web}
spec: {ports: [{port: 80}]}
---
apiVersion: v1
kind: Service
metadata: {namespace: c, name: d}
spec: {ports: [{port: 80}]}
";

const GRANT: &str = "\
apiVersion: gateway.networking.k8s.io/v1beta1
kind: ReferenceGrant
metadata: {namespace: c, name: grant}
spec:
  from: [{group: gateway.networking.k8s.io, kind: HTTPRoute, namespace: a}]
  to: [{group: \"\", kind: Service}]
";

const NOW: &str = "2026-05-04T09:00:00Z";

fn place(files: &[(&str, &str)]) -> Place {
    let place = Place::new();
    for (name, text) in files {
        place.write(name, *text);
    }
    place
}

fn json(answer: &Answer) -> Value {
    serde_json::from_str(&answer.out).unwrap_or_else(|error| panic!("{error}: {answer:?}"))
}

#[test]
fn a_route_shows_the_chain_of_causes_and_its_traffic() {
    let place = place(&[("objects/all.yaml", OBJECTS)]);
    let tree = place.run(&["gateway", "status", "-f", "objects", "--tree"]);
    assert_eq!(tree.code, 0, "{tree:?}");
    for line in [
        "ResolvedRefs=False/RefNotPermitted",
        "HTTPRoute a/b → Service c/d: no ReferenceGrant in c allows HTTPRoute from a",
        "traffic: rule 1 (every request): 50% 500, Service c/d: no ReferenceGrant in c allows HTTPRoute from a",
    ] {
        assert!(tree.out.contains(line), "{line} in {tree:?}");
    }
    let table = place.run(&["gateway", "status", "-f", "objects"]);
    assert!(table.out.contains("HTTPRoute a/b") && table.out.contains("RefNotPermitted"), "{table:?}");
    assert!(table.err.contains("3 objects, 0 not accepted; judged by bundle version v1.6.1"), "{table:?}");
}

#[test]
fn the_full_status_is_a_list_of_objects() {
    let place = place(&[("a.yaml", OBJECTS), ("b.yaml", GRANT)]);
    let answer = place.run(&["gateway", "status", "-f", "a.yaml", "-f", "b.yaml", "-o", "json", "--now", NOW]);
    assert_eq!(answer.code, 0, "{answer:?}");
    let list = json(&answer);
    assert_eq!(list["kind"], "List");
    let item = |kind: &str| list["items"].as_array().unwrap().iter().find(|item| item["kind"] == kind).unwrap();
    let parent = &item("HTTPRoute")["status"]["parents"][0];
    assert_eq!(parent["controllerName"], "example.com/controller");
    assert_eq!(parent["parentRef"]["namespace"], "infra");
    assert_eq!(parent["conditions"][1]["type"], "ResolvedRefs");
    assert_eq!(parent["conditions"][1]["observedGeneration"], 2);
    assert_eq!(parent["conditions"][1]["lastTransitionTime"], NOW);
    assert_eq!(item("Gateway")["status"]["listeners"][0]["attachedRoutes"], 1);
    assert_eq!(item("ReferenceGrant")["verdict"]["allows"][0], "HTTPRoute a/b → Service c/d");
    assert!(item("ReferenceGrant").get("status").is_none());
    let yaml = place.run(&["gateway", "status", "-f", "a.yaml", "-o", "yaml", "--now", NOW]);
    assert!(yaml.out.contains("kind: List"), "{yaml:?}");
}

#[test]
fn what_is_not_accepted_is_exit_1_and_what_is_unreadable_exit_3() {
    let broken = OBJECTS.replace("from: All", "from: Same");
    let place =
        place(&[("broken.yaml", &broken), ("bad.yaml", "a: [\n"), ("twice.yaml", &format!("{OBJECTS}---\n{broken}"))]);
    let status = place.run(&["gateway", "status", "-f", "broken.yaml"]);
    assert_eq!(status.code, 1, "{status:?}");
    assert!(status.out.contains("it allows routes from infra only, not from a"), "{status:?}");
    let unreadable = place.run(&["gateway", "status", "-f", "broken.yaml", "-f", "bad.yaml"]);
    assert_eq!(unreadable.code, 3, "{unreadable:?}");
    let twice = place.run(&["gateway", "status", "-f", "twice.yaml"]);
    assert!(twice.err.contains("Gateway infra/gw is among the objects more than once"), "{twice:?}");
}

#[test]
fn a_class_that_is_not_among_the_objects_is_assumed_and_named() {
    let objects = OBJECTS.split_once("---\n").unwrap().1;
    let place = place(&[("a.yaml", objects)]);
    let status = place.run(&["gateway", "status", "-f", "a.yaml"]);
    assert_eq!(status.code, 0, "{status:?}");
    assert!(status.err.contains("GatewayClass public is not among the objects"), "{status:?}");
}

#[test]
fn the_two_readings_of_a_missing_certificate_differ() {
    let tls = OBJECTS
        .replace("port: 80, protocol: HTTP,", "port: 443, protocol: HTTPS, tls: {certificateRefs: [{name: gone}]},");
    let place = place(&[("a.yaml", &tls)]);
    let current = place.run(&["gateway", "status", "-f", "a.yaml"]);
    let gep = place.run(&["gateway", "status", "-f", "a.yaml", "--spec", "gep-1364"]);
    assert_eq!((current.code, gep.code), (0, 1), "{current:?} {gep:?}");
}

#[test]
fn a_change_shows_what_stops_being_accepted_and_what_becomes_of_traffic() {
    let narrower = OBJECTS.replace("from: All", "from: Same");
    let place = place(&[("base.yaml", OBJECTS), ("narrower.yaml", &narrower), ("grant.yaml", GRANT)]);
    let worse = place.run(&["gateway", "diff", "--base", "base.yaml", "-f", "narrower.yaml"]);
    assert_eq!(worse.code, 1, "{worse:?}");
    for line in ["HTTPRoute a/b stops being accepted", "+ 100% not routed", "- 50% forwarded, to Service a/web"] {
        assert!(worse.out.contains(line), "{line} in {worse:?}");
    }
    let better = place.run(&["gateway", "diff", "--base", "base.yaml", "-f", "grant.yaml"]);
    assert_eq!(better.code, 0, "{better:?}");
    assert!(better.out.contains("ResolvedRefs: False/RefNotPermitted → True/ResolvedRefs"), "{better:?}");
    let gone = place.run(&["gateway", "diff", "--base", "base.yaml", "--whole", "-f", "grant.yaml", "-o", "json"]);
    assert_eq!((gone.code, json(&gone)[0]["effect"].as_str()), (1, Some("stops-being-accepted")), "{gone:?}");
}

#[test]
fn an_audit_compares_what_was_published_and_lints_it() {
    let published = OBJECTS.replace(
        "  - backendRefs: [{name: web, port: 80}, {namespace: c, name: d, port: 80}]\n",
        "  - backendRefs: [{name: web, port: 80}, {namespace: c, name: d, port: 80}]\nstatus:\n  parents:\n  - parentRef: {namespace: infra, name: gw}\n    \
         controllerName: example.com/controller\n    conditions:\n    - {type: Accepted, status: 'True', reason: Accepted, message: m, \
         observedGeneration: 1, lastTransitionTime: '2026-01-01T00:00:00Z'}\n    - {type: ResolvedRefs, status: 'True', reason: ResolvedRefs, \
         message: m, observedGeneration: 2, lastTransitionTime: '2026-01-01T00:00:00Z'}\n    - {type: Cached, status: 'True', reason: Yes, \
         message: m, observedGeneration: 2, lastTransitionTime: '2026-01-01T00:00:00Z'}\n",
    );
    let place = place(&[("dump.yaml", &published)]);
    let audit = place.run(&["gateway", "audit", "-f", "dump.yaml", "--now", NOW, "-o", "json"]);
    assert_eq!(audit.code, 1, "{audit:?}");
    let findings = json(&audit);
    let codes: Vec<&str> = findings
        .as_array()
        .unwrap()
        .iter()
        .filter(|one| one["where"]["object"].as_str().is_some_and(|object| object.contains("HTTPRoute")))
        .filter_map(|one| one["code"].as_str())
        .collect();
    // Stale, wrong, and (by the linter) without a domain.
    for code in ["GS004", "GS002", "SC018"] {
        assert!(codes.contains(&code), "{code} in {codes:?}");
    }
}

#[test]
fn conditions_reasons_and_choices_are_explained() {
    let place = Place::new();
    let reason = place.run(&["gateway", "explain", "accepted/notallowedbylisteners"]);
    assert!(reason.code == 0 && reason.out.contains("Set `allowedRoutes` of the listener"), "{reason:?}");
    let choices = place.run(&["gateway", "explain", "choices"]);
    assert!(choices.out.contains("bad-certificate"), "{choices:?}");
    assert!(place.run(&["gateway", "explain"]).out.contains("PartiallyInvalid/IncompatibleFilters"));
    assert_eq!(place.run(&["gateway", "explain", "Accepted/Nonsense"]).code, 3);
    let wrong = place.run(&["gateway", "status", "-f", ".", "--choice", "bad-certificate=maybe"]);
    assert!(wrong.code == 3 && wrong.err.contains("must be one of accepted, not-accepted"), "{wrong:?}");
}

#[test]
fn a_drawing_is_svg() {
    let place = place(&[("a.yaml", OBJECTS)]);
    let svg = place.run(&["gateway", "render", "-f", "a.yaml"]);
    assert!(svg.code == 0 && svg.out.starts_with("<svg ") && svg.out.contains("a/web"), "{svg:?}");
}
