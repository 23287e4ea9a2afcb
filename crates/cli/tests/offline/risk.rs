//! `clearway risk`: risks explained, and unit tests beside them.

use std::fs;

use super::Place;

const SAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/graph-data");

#[test]
fn the_tests_of_the_sample_product_pass() {
    let answer = Place::new().run(&["risk", "test", "--graph", SAMPLE]);
    assert_eq!((answer.code, answer.err.as_str()), (0, ""), "{answer:?}");
    assert!(
        answer.out.contains("ok   ProxyTimeouts: a cluster behind a proxy: match  (risk-tests/ProxyTimeouts.yaml)")
    );
    assert!(answer.out.contains("ok   SlowEtcd: the metrics store is unreachable: unknown\n"), "{answer:?}");
    assert!(answer.out.ends_with("25 passed, 0 failed\n"), "{answer:?}");
}

/// A graph-data directory with one risk.
fn with_risk(rules: &str) -> Place {
    let place = Place::new();
    place.write("data/version", "1.1.0\n");
    place.write("data/channels/c.yaml", "name: c\nversions: [1.0.0, 1.1.0]\n");
    place.write(
        "data/releases/r.yaml",
        "- {version: 1.0.0, arch: amd64, payload: p}\n- {version: 1.1.0, arch: amd64, payload: q, previous: [1.0.0]}\n",
    );
    place.write(
        "data/blocked-edges/1.1.0.yaml",
        format!(
            "to: 1.1.0\nfrom: .*\nurl: https://example.com\nname: Bad\nmessage: It is bad.\nmatchingRules:\n{rules}"
        ),
    );
    place
}

#[test]
fn a_wrong_expectation_is_shown_with_the_proof() {
    let place = with_risk("- type: PromQL\n  promql:\n    promql: max(bad)\n");
    place.write("data/risk-tests/bad.yaml", "risk: Bad\ncases:\n- {name: good, series: bad 0, expect: match}\n");
    let answer = place.run(&["risk", "test", "--graph", "data", "--only-written", "--junit", "out.xml"]);
    assert_eq!(answer.code, 1, "{answer:?}");
    for said in ["FAIL Bad: good: no match  (risk-tests/bad.yaml)", "expected match, got no match", "query    max(bad)"]
    {
        assert!(answer.out.contains(said), "{said}: {answer:?}");
    }
    let junit = fs::read_to_string(place.path().join("out.xml")).unwrap();
    assert!(junit.contains("<testsuite name=\"Bad\" tests=\"1\" failures=\"1\" skipped=\"0\">"), "{junit}");
    let json = place.run(&["risk", "test", "--graph", "data", "-o", "json"]).json();
    assert_eq!(json.as_array().unwrap().len(), 5, "{json}");
}

/// A rule over a Node, and a Node in YAML.
const NODE_RULE: &str = "- type: Resource\n  resource: {apiVersion: v1, kind: Node, expression: 'object.spec.size / object.spec.parts > 3'}\n";

#[test]
fn the_value_of_each_part_of_an_expression_is_shown_for_objects_of_the_user() {
    let place = with_risk(NODE_RULE);
    let node = |parts: &str| {
        format!("{{apiVersion: v1, kind: Node, metadata: {{name: n1}}, spec: {{size: 7, parts: {parts}}}}}")
    };
    let cases = format!(
        "risk: Bad\ncases:\n- {{name: small, objects: [{}], expect: match}}\n- {{name: none, objects: [{}], expect: match}}\n",
        node("3"),
        node("0")
    );
    place.write("data/risk-tests/bad.yaml", cases);
    let answer = place.run(&["risk", "test", "--graph", "data", "--only-written"]);
    assert_eq!(answer.code, 1, "{answer:?}");
    for said in [
        "expected match, got no match",
        "parts    of n1\n",
        "object.spec.size / object.spec.parts > 3 = false\n",
        "object.spec.size / object.spec.parts = 2\n",
        "object.spec.parts = 3\n",
        "expected match, got unknown",
        "for Node n1: number or index out of range.",
        "object.spec.size / object.spec.parts = error: division by zero\n",
        "object.spec.parts = 0\n",
    ] {
        assert!(answer.out.contains(said), "{said}: {}", answer.out);
    }
    assert!(!answer.out.contains("object = "), "the whole object is noise: {}", answer.out);

    // A snapshot is a file of the user, too.
    let manifest = r#"{"schema": "1.0", "takenAt": "2026-05-04T09:00:00Z", "cluster": {"version": "1.0.0"},
        "objects": [{"kind": "Node", "file": "objects/Node.json"}]}"#;
    place.write("kept/snapshot.json", manifest);
    let node = r#"{"items": [{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}, "spec": {"size": 70, "parts": 2}}]}"#;
    place.write("kept/objects/Node.json", node);
    let given = ["--graph", "data", "--channel", "c", "--arch", "amd64", "--snapshot", "kept", "--as-of", "snapshot"];
    let why = place.run(&[&["assess", "--why"], &given[..]].concat());
    assert!(why.out.contains("object.spec.size / object.spec.parts = 35\n"), "{why:?}");
    let brief = place.run(&[&["assess", "-o", "json"], &given[..]].concat());
    assert!(brief.out.contains("\"match\"") && !brief.out.contains("35"), "{brief:?}");
}

#[test]
fn a_rule_behind_a_query_decides_when_the_query_cannot() {
    let place = with_risk("- type: PromQL\n  promql:\n    promql: max(bad)\n- type: Always\n");
    place.write("data/risk-tests/bad.yml", "risk: Bad\ncases:\n- {name: nobody to ask, expect: match}\n");
    assert_eq!(place.run(&["risk", "test", "--graph", "data"]).code, 0);
}

#[test]
fn what_is_no_test_is_named() {
    for (content, said) in [
        ("risk: Nobody\ncases:\n- {name: n, expect: match}\n", "risk `Nobody` not found"),
        ("risk: Bad\ncases: []\n", "has no cases"),
        ("risk: Bad\ncases:\n- {name: n, expect: perhaps}\n", "is not a risk test"),
        ("risk: Bad\ncases:\n- {name: n, expects: match}\n", "is not a risk test"),
        ("risk: Bad\ncases:\n- {name: n, series: 'bad{', expect: match}\n", "the series of `n`"),
        ("risk: Bad\ncases:\n- {name: n, objects: [{file: nope.yaml}], expect: match}\n", "cannot read nope.yaml"),
        ("risk: Bad\ncases:\n- {name: n, objects: [{kind: Node}], expect: match}\n", "no apiVersion or kind"),
        ("risk: Bad\ncases:\n- {name: n, snapshot: nope, expect: match}\n", "the snapshot of `n`"),
        (
            "risk: Bad\ncases:\n- {name: n, snapshot: a, series: b 1, expect: match}\n",
            "a case with a snapshot cannot have series",
        ),
    ] {
        let place = with_risk("- type: Always\n");
        place.write("data/risk-tests/t.yaml", content);
        let answer = place.run(&["risk", "test", "--graph", "data"]);
        assert_eq!(answer.code, 3, "{answer:?}");
        assert!(answer.err.contains(said), "{answer:?}");
    }
}

/// Every kind of evidence that a case may give.
#[test]
fn a_case_may_give_metrics_objects_conditions_times_ids_and_snapshots() {
    let rules = "- type: PromQL
  promql: {promql: max(bad)}
- type: Resource
  resource: {apiVersion: v1, kind: ConfigMap, namespace: system, name: mode, expression: object.data.mode == 'slow'}
- type: Condition
  condition: {apiVersion: v1, kind: Node, type: Ready, status: 'False'}
- type: Rollout
  rollout: {start: 2026-05-04T09:00:00Z, duration: 0s}
";
    let place = with_risk(rules);
    place.write("data/risk-tests/objects/nodes.yaml", "apiVersion: v1\nkind: Node\nmetadata: {name: n2}\n");
    let manifest = r#"{"schema": "1.0", "takenAt": "2026-05-04T09:00:00Z", "series": {"whole": true}}"#;
    place.write("data/risk-tests/kept/snapshot.json", manifest);
    place.write("data/risk-tests/kept/series.snap", "# clearway-series 1\nbad 1777885200000:1\n# end 1\n");
    let map = "{apiVersion: v1, kind: ConfigMap, metadata: {namespace: system, name: mode}, data: {mode: fast}}";
    let node = "{apiVersion: v1, kind: Node, name: n1, type: Ready, status: 'False'}";
    let cases = format!(
        "risk: Bad
cases:
- {{name: metrics, series: bad 1, expect: match, reason: '1'}}
- {{name: objects, objects: [{map}], expect: no match, reason: system/mode false}}
- {{name: conditions, conditions: [{node}], expect: match, reason: n1 Ready=False}}
- {{name: files, objects: [{{file: objects/nodes.yaml}}], expect: unknown, reason: Node n2 has no condition Ready}}
- {{name: before, clusterId: x, now: '2026-05-04T08:59:59Z', expect: match, reason: the rollout reaches this cluster}}
- {{name: after, clusterId: x, now: '2026-05-04T09:00:00Z', expect: no match}}
- {{name: kept, snapshot: kept, expect: match}}
- {{name: kept for too long, snapshot: kept, now: '2026-05-04T12:00:00Z', expect: unknown, reason: 3h old}}
- {{name: nothing, expect: unknown, reason: No metrics source is configured}}
"
    );
    place.write("data/risk-tests/bad.yaml", cases);
    let answer = place.run(&["risk", "test", "--graph", "data"]);
    assert_eq!((answer.code, answer.err.as_str()), (0, ""), "{}", answer.out);
    for made in [
        "the metrics store is unreachable: unknown",
        "the metrics are missing: unknown",
        "every metric has two series: match",
        "every metric is 2: unknown",
        "the API server is unreachable: unknown",
        "the objects are missing: unknown",
        "the objects have no fields: unknown",
        "the condition has an earlier generation: unknown",
        "the condition is Unknown: unknown",
        "the time is before the start: match",
        "the cluster id is unknown: unknown",
    ] {
        assert!(answer.out.contains(&format!("ok   Bad: {made}\n")), "{made}: {}", answer.out);
    }
    assert!(answer.out.ends_with("20 passed, 0 failed\n"), "{}", answer.out);
}

/// A risk whose rules take broken evidence for "does not apply".
#[test]
fn what_takes_broken_evidence_for_does_not_apply_fails() {
    let lenient = "- type: PromQL
  promql: {promql: 'max(bad) or vector(0)'}
";
    let object = |expression: &str| {
        format!("- type: Resource\n  resource: {{apiVersion: v1, kind: Node, expression: \"{expression}\"}}\n")
    };
    let fallback = "- {type: PromQL, promql: {promql: bad}}
- {type: Rollout, rollout: {start: 2020-01-01T00:00:00Z, percentage: 100}}
";
    for (rules, failed, passed) in [
        (
            lenient.to_owned(),
            &["the metrics are missing"][..],
            &["the metrics store is unreachable", "every metric is 2"][..],
        ),
        (object("object.status == {'a': 1}"), &["the objects have no fields"], &["the objects are missing"]),
        (object("has(object.spec) && object.spec.bad"), &[], &["the objects have no fields: no match"]),
        (fallback.to_owned(), &[], &["every metric has two series: unknown", "the time is before the start: match"]),
        (
            "- {type: PromQL, promql: {promql: 'max(bad{a=~\"x\",a!=\"x\"})'}}\n".to_owned(),
            &[],
            &["the metrics are missing"],
        ),
    ] {
        let answer = with_risk(&rules).run(&["risk", "test", "--graph", "data"]);
        assert_eq!(answer.code, i32::from(!failed.is_empty()), "{rules}{}", answer.out);
        for case in failed {
            assert!(answer.out.contains(&format!("FAIL Bad: {case}: no match\n")), "{case}: {}", answer.out);
            assert!(answer.out.contains("evaluated as `does not apply`"), "{}", answer.out);
        }
        for case in passed {
            assert!(answer.out.contains(&format!("ok   Bad: {case}")), "{case}: {}", answer.out);
        }
    }
    let odd = with_risk("- {type: PromQL, promql: {promql: 'max(bad{a=~\"x\",a!=\"x\"})'}}\n");
    let answer = odd.run(&["risk", "test", "--graph", "data", "--junit", "out.xml"]);
    assert!(answer.out.contains("skip Bad: every metric is 2: cannot generate a series"), "{answer:?}");
    let junit = fs::read_to_string(odd.path().join("out.xml")).unwrap();
    assert!(junit.contains("tests=\"4\" failures=\"0\" skipped=\"2\""), "{junit}");
}

#[test]
fn a_reason_that_the_proof_does_not_give_fails() {
    let place = with_risk("- {type: PromQL, promql: {promql: bad}}\n");
    let cases = "risk: Bad\ncases:\n- {name: n, series: \"bad 2\", expect: unknown, reason: gave 3}\n";
    place.write("data/risk-tests/bad.yaml", cases);
    let answer = place.run(&["risk", "test", "--graph", "data", "--only-written"]);
    assert_eq!(answer.code, 1, "{answer:?}");
    for said in [
        "the result is unknown, but the proof does not contain `gave 3`",
        "The query returned 2; the value must be 0 or 1.",
    ] {
        assert!(answer.out.contains(said), "{said}: {answer:?}");
    }
}

#[test]
fn a_risk_is_explained_with_its_places_and_rules() {
    let place = Place::new();
    let explain = |more: &[&str]| place.run(&[&["risk", "explain", "--graph", SAMPLE], more].concat());
    let proxy = explain(&["ProxyTimeouts"]);
    assert_eq!((proxy.code, proxy.err.as_str()), (0, ""), "{proxy:?}");
    for said in [
        "risks/ProxyTimeouts.yaml: from 1.4.x to 1.5.0 - 1.5.1, fixed in 1.5.2\n",
        "on         1.4.1 - 1.4.3 to 1.5.0, 3 updates, in candidate-1.5, fast-1.5, stable-1.5\n",
        "asks       max(cluster_proxy_enabled{type=~\"https?\"})\n               or\n               0 * group(cluster_version)\n",
        "needs      metric cluster_version\n",
        "no match   one series with the value 0\n",
        "fence      allowed\n",
    ] {
        assert!(proxy.out.contains(said), "{said}: {}", proxy.out);
    }
    let stable = explain(&["SlowEtcd", "--channel", "stable-1.5", "-o", "json"]).json();
    let on: Vec<&str> = stable[0]["on"].as_array().unwrap().iter().map(|on| on["to"].as_str().unwrap()).collect();
    assert_eq!(on, ["1.5.0", "1.5.2"], "{stable}");
    assert_eq!(stable[0]["rules"][0]["needs"][0], "metric etcd_disk_wal_fsync_p99_seconds");
    // With evidence the exit code is that of the proof.
    place.write("proxy.prom", "cluster_proxy_enabled{type=\"https\"} 1\n");
    place.write("none.prom", "cluster_version 1\n");
    for (file, code, said) in [("proxy.prom", 1, "ProxyTimeouts: applies"), ("none.prom", 0, "does not apply")] {
        let proof = explain(&["ProxyTimeouts", "--series", file]);
        assert_eq!(proof.code, code, "{proof:?}");
        assert!(proof.out.contains("\nOn this cluster:\n") && proof.out.contains(said), "{proof:?}");
    }
    assert_eq!(explain(&["SlowEtcd", "--series", "none.prom"]).code, 2);
    let unknown = explain(&["Proxy"]);
    assert_eq!(unknown.code, 3);
    assert!(
        unknown.err.contains("risk `Proxy` not found; the risks are IngressSettingsLost, ProxyTimeouts"),
        "{unknown:?}"
    );
    // An answer has no files, but the same rules.
    let answer = place.run(&["graph", "build", "--graph", SAMPLE, "--channel", "stable-1.5"]);
    place.write("stable.json", &answer.out);
    let kept = place.run(&["risk", "explain", "SlowEtcd", "--graph", "stable.json", "-o", "json"]).json();
    assert_eq!(kept[0]["rules"], stable[0]["rules"]);
    assert!(kept[0].get("declared").is_none(), "{kept}");
}

#[test]
fn every_type_of_rule_is_explained_and_what_is_refused_is_said() {
    let place = with_risk(
        "- {type: Resource, resource: {apiVersion: v1, kind: Node, name: n1, expression: object.a, whenAbsent: NoMatch}}
- {type: Condition, condition: {apiVersion: v1, kind: Node, type: Ready, status: 'True', quantifier: All}}
- {type: Rollout, rollout: {start: 2026-05-04T09:00:00Z, duration: 3d}}
- {type: Rollout, rollout: {start: 2026-05-04T09:00:00Z, percentage: 25}}
- {type: PromQL, promql: {promql: 'max({a=\"b\"})'}}
- {type: PromQL, promql: {promql: 'max('}}
- {type: PromQL, promql: {promql: 'group(a{_id=\"\"})'}}
- {type: Resource, resource: {apiVersion: v1, kind: Node, expression: math.abs(object.a) == 1}}
- {type: Later, later: 1}
- {type: Always}
",
    );
    let text = place.run(&["risk", "explain", "Bad", "--graph", "data"]);
    assert_eq!(text.code, 0, "{text:?}");
    for said in [
        "needs      objects of the kind Node (v1) with the name n1\n",
        "match      the expression is true for at least one selected object\n",
        "no match   the expression is false for all of them; or object not found\n",
        "match      true for every selected object\n",
        "asks       whether the cluster's start time, within 3d from 2026-05-04T09:00:00Z, has passed\n",
        "asks       whether the cluster is among the 25 percent of clusters that start at 2026-05-04T09:00:00Z\n",
        "fence      refused\n    never      The fence refuses the query (limit `metric-name`)",
        "never      The query is not valid PromQL (line 1, column 5)",
        "note       `_id=\"\"` is replaced by the cluster id",
        "note       The query can return 1 but never 0.",
        "never      The expression is refused (line 1, column 1): the function `abs` is not declared in this environment.\n",
        "never      The rule type Later is not supported by this version of Clearway.\n",
        "then       the next rule is evaluated\n",
        "match      always: the risk applies to every cluster\n",
    ] {
        assert!(text.out.contains(said), "{said}: {}", text.out);
    }
}

/// A rule about a bundle, and a CRD of it in YAML.
const BUNDLE_RULE: &str = "- type: Bundle\n  bundle:\n    group: gateway.networking.k8s.io\n    version: 1.x\n    \
                           usedField: HTTPRoute v1 spec.rules[].filters[].externalAuth\n";

fn route_crd(version: &str) -> String {
    format!(
        "{{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, \
         metadata: {{name: httproutes.gateway.networking.k8s.io, annotations: {{gateway.networking.k8s.io/bundle-version: {version}, \
         gateway.networking.k8s.io/channel: experimental}}}}, spec: {{group: gateway.networking.k8s.io, scope: Namespaced, \
         names: {{kind: HTTPRoute, plural: httproutes}}, versions: [{{name: v1, served: true, storage: true}}]}}}}"
    )
}

#[test]
fn a_rule_about_a_bundle_is_tested_and_explained() {
    let place = with_risk(BUNDLE_RULE);
    let route = |filter: &str| {
        format!(
            "{{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {{name: r, namespace: shop}}, \
             spec: {{rules: [{{filters: [{{{filter}}}]}}]}}}}"
        )
    };
    let (used, plain) = (route("externalAuth: {protocol: HTTP}"), route("type: CORS"));
    let cases = format!(
        "risk: Bad\ncases:\n\
         - {{name: used, objects: [{}, {used}], expect: match, reason: '1 of 1 HTTPRoute.gateway.networking.k8s.io objects use the field: shop/r'}}\n\
         - {{name: not used, objects: [{}, {plain}], expect: no match}}\n\
         - {{name: newer, objects: [{}, {used}], expect: no match}}\n\
         - {{name: not installed, objects: [{used}], expect: unknown, reason: No CRD of the bundle}}\n",
        route_crd("v1.4.0"),
        route_crd("v1.4.0"),
        route_crd("v2.0.0"),
    );
    place.write("data/risk-tests/bad.yaml", cases);
    let answer = place.run(&["risk", "test", "--graph", "data"]);
    assert_eq!(answer.code, 0, "{answer:?}");
    for case in
        ["the CRDs of the bundle have two versions: unknown", "the CRDs of the bundle have no annotations: unknown"]
    {
        assert!(answer.out.contains(case), "{case}: {answer:?}");
    }
    let answer = place.run(&["risk", "explain", "Bad", "--graph", "data"]);
    for said in [
        "its version is in 1.x, and an object uses the field HTTPRoute v1 spec.rules[].filters[].externalAuth",
        "objects of the kind HTTPRoute",
        "CRDs of several versions or channels",
    ] {
        let text = answer.out.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains(said), "{said}: {answer:?}");
    }
}

#[test]
fn wrong_parameters_of_rules_are_found_by_lint_where_they_are() {
    let (bundle, policy) = ("Bundle", "Policy");
    for (type_, parameters, place_of, words) in [
        (policy, "kind: Labels", "GD128 blocked-edges/1.1.0.yaml:7:3", "`name` cannot be read: it is missing"),
        (
            policy,
            "kind: ''\n    name: a",
            "GD128 blocked-edges/1.1.0.yaml:9:11",
            "`kind` cannot be read: it is not a string",
        ),
        (policy, "kind: a/b\n    name: a", "GD128 blocked-edges/1.1.0.yaml:9:11", "not the kind of a constraint"),
        (
            policy,
            "kind: A\n    name: a\n    objects: Target",
            "GD128 blocked-edges/1.1.0.yaml:11:14",
            "it is not one of Cluster, Release",
        ),
        (
            policy,
            "kind: A\n    name: a\n    whenAbsent: Never",
            "GD128 blocked-edges/1.1.0.yaml:11:17",
            "it is not one of Unknown, Match, NoMatch",
        ),
        (
            policy,
            "kind: A\n    name: a\n    enforcementAction: deny",
            "GD129 blocked-edges/1.1.0.yaml:7:3",
            "the parameter `enforcementAction`, which the type does not have",
        ),
        (
            bundle,
            "group: a.io\n    version: about 1",
            "GD118 blocked-edges/1.1.0.yaml:10:14",
            "`about 1` is not a range of versions",
        ),
        (
            bundle,
            "group: a.io\n    channel: stable",
            "GD118 blocked-edges/1.1.0.yaml:10:14",
            "`stable` is not a channel",
        ),
        (
            bundle,
            "group: a.io\n    usedField: HTTPRoute v1 spec.rules[0]",
            "GD118 blocked-edges/1.1.0.yaml:10:39",
            "is not a path of a field",
        ),
        (bundle, "version: 1.x", "GD118 blocked-edges/1.1.0.yaml:7:3", "`group` cannot be read: it is missing"),
        (
            bundle,
            "group: a.io\n    versions: 1.x",
            "GD119 blocked-edges/1.1.0.yaml:7:3",
            "the parameter `versions`, which the type does not have",
        ),
    ] {
        let key = type_.to_lowercase();
        let place = with_risk(&format!("- type: {type_}\n  {key}:\n    {parameters}\n"));
        let answer = place.run(&["graph", "lint", "--graph", "data", "-o", "json"]);
        assert!(answer.out.contains(words), "{parameters}: {answer:?}");
        let places = answer.places();
        let (code, file) = place_of.split_once(' ').unwrap();
        let is_there = places.iter().any(|found| found.starts_with(code) && found.ends_with(file));
        assert!(is_there, "{parameters}: {places:?}");
    }
}
