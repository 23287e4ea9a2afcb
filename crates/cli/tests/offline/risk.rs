//! `clearway risk test`: unit tests beside risks.

use std::fs;

use super::Place;

const SAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/graph-data");

#[test]
fn the_tests_of_the_sample_product_pass() {
    let answer = Place::new().run(&["risk", "test", "--graph", SAMPLE]);
    assert_eq!((answer.code, answer.err.as_str()), (0, ""), "{answer:?}");
    assert!(answer.out.contains("ok   ProxyTimeouts: a cluster behind a proxy  (risk-tests/ProxyTimeouts.yaml)"));
    assert!(answer.out.contains("ok   SlowEtcd: the metrics store is away"), "{answer:?}");
    assert!(answer.out.ends_with("19 passed, 0 failed\n"), "{answer:?}");
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
    for said in ["FAIL Bad: good  (risk-tests/bad.yaml)", "expected match, but it is no match", "query    max(bad)"] {
        assert!(answer.out.contains(said), "{said}: {answer:?}");
    }
    let junit = fs::read_to_string(place.path().join("out.xml")).unwrap();
    assert!(junit.contains("<testsuite name=\"Bad\" tests=\"1\" failures=\"1\" skipped=\"0\">"), "{junit}");
    let json = place.run(&["risk", "test", "--graph", "data", "-o", "json"]).json();
    assert_eq!(json.as_array().unwrap().len(), 5, "{json}");
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
        ("risk: Nobody\ncases:\n- {name: n, expect: match}\n", "there is no risk `Nobody`"),
        ("risk: Bad\ncases: []\n", "has no cases"),
        ("risk: Bad\ncases:\n- {name: n, expect: perhaps}\n", "is no test of a risk"),
        ("risk: Bad\ncases:\n- {name: n, expects: match}\n", "is no test of a risk"),
        ("risk: Bad\ncases:\n- {name: n, series: 'bad{', expect: match}\n", "the series of `n`"),
    ] {
        let place = with_risk("- type: Always\n");
        place.write("data/risk-tests/t.yaml", content);
        let answer = place.run(&["risk", "test", "--graph", "data"]);
        assert_eq!(answer.code, 3, "{answer:?}");
        assert!(answer.err.contains(said), "{answer:?}");
    }
}
