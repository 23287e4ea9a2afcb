//! `clearway promql`: queries evaluated, checked and tested.

use super::{Answer, Place};

const METRICS: &str = "# TYPE up gauge\nup{job=\"api\"} 1\nup{job=\"web\"} 0\nnodes{zone=\"a\"} 3 60000\n";

/// Runs a query over [`METRICS`] at one minute.
fn query(expression: &str, more: &[&str]) -> Answer {
    let place = Place::new();
    place.write("metrics.txt", METRICS);
    place.run(&[&["promql", "query", expression, "--series", "metrics.txt", "--time", "60"], more].concat())
}

#[test]
fn a_query_is_answered_for_a_person_and_for_a_program() {
    let table = query("up", &[]);
    assert_eq!((table.code, table.err.as_str()), (0, ""));
    assert_eq!(table.out, "SERIES         VALUE\nup{job=\"api\"}  1\nup{job=\"web\"}  0\n");
    let data = query("sum(up) / 0", &["-o", "json"]).json();
    assert_eq!(data["type"], "vector");
    assert_eq!(data["result"][0]["value"], "+Inf");
    assert_eq!(data["time"], 60_000);
    assert_eq!(query("missing", &[]).out, "no series\n");
    assert_eq!(query("1 + 1", &[]).out, "2\n");
    let matrix = query("nodes[1m]", &[]).out;
    assert_eq!(matrix, "SERIES           TIME   VALUE\nnodes{zone=\"a\"}  60000  3\n");
}

#[test]
fn an_explanation_shows_every_part() {
    let shown = query("group(up == 2) or 0 * group(up)", &["--explain"]).out;
    assert_eq!(
        shown,
        "group(up == 2) or 0 * group(up)\n  = {} 0\n  group(up == 2)\n    = no series\n    up == 2\n      = no series\n\
         \x20     up\n        = up{job=\"api\"} 1\n        = up{job=\"web\"} 0\n      2\n        = 2\n  0 * group(up)\n    = {} 0\n\
         \x20   0\n      = 0\n    group(up)\n      = {} 1\n      up\n        = up{job=\"api\"} 1\n        = up{job=\"web\"} 0\n\n\
         SERIES  VALUE\n{}      0\n"
    );
    let data = query("sum(up)", &["--explain", "-o", "json"]).json();
    assert_eq!(data["explained"].as_array().map(Vec::len), Some(2));
}

#[test]
fn what_fails_says_where_and_the_exit_code_says_how() {
    let failed = query("up * on () up", &[]);
    assert_eq!((failed.code, failed.out.as_str()), (1, ""));
    assert!(failed.err.contains("PQ040") && failed.err.contains("found duplicate series"), "{}", failed.err);
    let wrong = query("up{", &[]);
    assert_eq!((wrong.code, wrong.out.as_str()), (3, ""));
    assert!(wrong.err.contains("PQ006"), "{}", wrong.err);
    let warned = query("rate(up[5m])", &[]);
    assert_eq!((warned.code, warned.out.as_str()), (0, "no series\n"));
}

#[test]
fn a_query_may_begin_with_a_minus_and_options_are_still_options() {
    for (expression, want) in [("-up", "{job=\"web\"}  -0"), ("-1", "-1"), ("-sum(up)", "-1"), ("--1", "1")] {
        let negative = query(expression, &[]);
        assert!(negative.code == 0 && negative.out.contains(want), "{expression}: {negative:?}");
    }
    let place = Place::new();
    place.write("metrics.txt", METRICS);
    let run = |arguments: &[&str]| place.run(&[&["promql", "query"], arguments].concat());
    let usual = run(&["-up", "--series", "metrics.txt", "-o", "json"]);
    for same in [
        &["-s", "metrics.txt", "-o", "json", "-up"][..],
        &["--series=metrics.txt", "-up", "-ojson"],
        &["-o", "json", "--series", "metrics.txt", "--", "-up"],
    ] {
        assert_eq!(run(same), usual, "{same:?}");
    }
    assert!(run(&["-up", "--nothing", "-s", "metrics.txt"]).err.contains("--nothing"));
    let checked = place.run(&["promql", "check", "-max(up) or 0", "-o", "json"]);
    assert!(checked.code != 3, "{checked:?}");
}

#[test]
fn every_format_of_series_is_known_by_its_look() {
    let place = Place::new();
    place.write("open.txt", "up 1 60\n# EOF\n");
    place.write("api.json", r#"{"status":"success","data":{"resultType":"vector","result":[{"metric":{"__name__":"up"},"value":[60,"1"]}]}}"#);
    place.write("cluster.series", "# clearway-series 1\nup 30000:0 +30000:1\n# end 1\n");
    for file in ["open.txt", "api.json", "cluster.series"] {
        let answer = place.run(&["promql", "query", "up + 1", "--series", file]);
        assert_eq!((answer.code, answer.out.as_str()), (0, "SERIES  VALUE\n{}      2\n"), "{file}: {answer:?}");
    }
    let piped = place.run_with("up 1\n", &["promql", "query", "up", "--series", "-"]);
    assert_eq!((piped.code, piped.out.as_str()), (0, "SERIES  VALUE\nup      1\n"));
    place.write("bad.txt", "up 1\nup{ 2\n");
    let bad = place.run(&["promql", "query", "up", "--series", "bad.txt"]);
    assert_eq!(bad.code, 3);
    assert!(bad.err.starts_with("error: bad.txt: line 2, column 6: "), "{}", bad.err);
    assert_eq!(place.run(&["promql", "query", "up", "--series", "none.txt"]).code, 3);
}

#[test]
fn a_query_is_checked_by_its_words_the_fence_and_its_shape() {
    let place = Place::new();
    let check = |text: &str| place.run(&["promql", "check", text, "-o", "json"]);
    assert_eq!(check("group(up == 0) or 0 * group(up)").code, 0);
    for (text, code) in
        [("up{", "PQ006"), ("up[1m", "PQ006"), ("max_over_time(up[30d]) == 1", "PQ020"), ("up == 1", "PQ031")]
    {
        let answer = check(text);
        let codes: Vec<String> = answer.json().as_array().unwrap().iter().map(|f| f["code"].to_string()).collect();
        assert!(answer.code == 1 && codes.contains(&format!("\"{code}\"")), "{text}: {answer:?}");
    }
    let piped = place.run_with("group(up == 0) or 0 * group(up)", &["promql", "check", "-"]);
    assert_eq!((piped.code, piped.err.as_str()), (0, "1 query checked: 0 errors, 0 warnings, 0 notes\n"));
}

#[test]
fn scripts_are_run_and_their_failures_shown() {
    let place = Place::new();
    place.write(
        "good.test",
        "load 1m\n  up 1 0\n  h {{sum:1}}\n\neval instant at 1m up\n  up 0\n\neval instant at 0 sum(h)\n",
    );
    place.write("bad.test", "load 1m\n  up 1\n\neval instant at 0 up\n  up 2\n");
    let good = place.run(&["promql", "test", "good.test"]);
    assert_eq!((good.code, good.err.as_str()), (0, "1 passed, 0 failed, 1 unsupported\n"));
    assert_eq!(
        good.out,
        "ok good.test: 1 passed, 0 failed, 1 unsupported\n  skip line 8: sum(h)\n       h has native histograms, which are not supported.\n"
    );
    let bad = place.run(&["promql", "test", "good.test", "bad.test", "--junit", "out.xml"]);
    assert_eq!((bad.code, bad.err.as_str()), (1, "1 passed, 1 failed, 1 unsupported\n"));
    assert!(bad.out.ends_with("FAIL bad.test: 0 passed, 1 failed, 0 unsupported\n  FAIL line 4: up\n       want:\n       up 2\n       got:\n       up 1\n"), "{}", bad.out);
    let junit = std::fs::read_to_string(place.path().join("out.xml")).unwrap();
    assert!(junit.contains("<testsuite name=\"bad.test\" tests=\"1\" failures=\"1\" skipped=\"0\">"), "{junit}");
    let data = place.run(&["promql", "test", "bad.test", "-o", "json"]).json();
    assert_eq!((&data[0]["failed"], &data[0]["outcomes"][0]["verdict"]), (&1.into(), &"failed".into()));
    place.write("wrong.test", "\nlaod 5m\n");
    let wrong = place.run(&["promql", "test", "wrong.test"]);
    assert_eq!(wrong.code, 3);
    assert!(wrong.err.starts_with("error: wrong.test: line 2: "), "{}", wrong.err);
}

/// U18: which queries are asked is a setting of every command that would ask them.
#[test]
fn limits_on_queries_are_settings_of_every_command() {
    let place = Place::new();
    let node = |version: &str| serde_json::json!({"version": version, "payload": format!("r.example.com/p:{version}")});
    let rules = serde_json::json!([{"type": "PromQL", "promql": {"promql": "max(up)"}}]);
    let risk = serde_json::json!({"name": "R", "url": "https://example.com", "message": "m", "matchingRules": rules});
    let answer = serde_json::json!({
        "nodes": [node("1.0.0"), node("1.1.0")], "edges": [],
        "conditionalEdges": [{"edges": [{"from": "1.0.0", "to": "1.1.0"}], "risks": [risk]}],
    });
    place.write("answer.json", answer.to_string());
    place.write("metrics.prom", "up 0\n");
    let commands = [
        "assess --graph answer.json --version 1.0.0 --series metrics.prom --as-of 2026-11-16T00:00:00Z --why",
        "risk explain R --graph answer.json",
        "graph lint --graph answer.json",
        "promql check max(up)",
    ];
    for command in commands {
        let run = |more: &[&str]| place.run(&[&command.split(' ').collect::<Vec<_>>()[..], more].concat());
        let usual = run(&[]);
        for limit in [&["--deny-metrics", "u.*"][..], &["--allow-metrics", "down"], &["--max-query-bytes", "3"]] {
            let limited = run(limit);
            assert_ne!((usual.code, &usual.out), (limited.code, &limited.out), "{command} {limit:?}");
        }
        assert_eq!(
            run(&["--deny-metrics", "down", "--allow-metrics", "up|x", "--max-query-range", "1h"]),
            usual,
            "{command}"
        );
        let wrong = run(&["--deny-metrics", "("]);
        assert!(wrong.code == 3 && wrong.err.contains("--deny-metrics is not a regular expression"), "{wrong:?}");
    }
    for command in ["operator", "fleet assess", "fleet diff", "risk test", "snapshot collect", "upgrade plan"] {
        let help = place.run(&command.split(' ').chain(["--help"]).collect::<Vec<_>>());
        assert!(help.out.contains("Limits on queries of risks:"), "{command}");
        for option in LIMITS {
            assert!(help.out.contains(option.0), "{command} {option:?}");
        }
    }
    // It is used, and not only taken: the option reaches the fence.
    let sample = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/graph-data");
    for command in [
        "operator --state state --status-listen 127.0.0.1:0",
        "fleet assess --graph answer.json --snapshots .",
        "fleet diff --graph answer.json --against answer.json --snapshots .",
        "snapshot collect --graph answer.json --version 1.0.0 --output-dir x --prometheus http://127.0.0.1:1",
        &format!("risk test --graph {sample}"),
    ] {
        let line: Vec<&str> = command.split(' ').chain(["--deny-metrics", "("]).collect();
        let wrong = place.run(&line);
        assert!(wrong.code == 3 && wrong.err.contains("--deny-metrics is not a regular expression"), "{wrong:?}");
    }
}

/// The options of the fence that have a value, with one that is too little for [`WIDE`].
const LIMITS: [(&str, &str, &str); 10] = [
    ("--max-query-bytes", "20", "bytes"),
    ("--max-query-depth", "2", "levels"),
    ("--max-query-nodes", "4", "nodes"),
    ("--max-query-selectors", "1", "selectors"),
    ("--max-query-regexes", "1", "regular expressions"),
    ("--max-query-regex-bytes", "10", "larger than 10 bytes"),
    ("--max-query-range", "1m", "range"),
    ("--max-query-offset", "1m", "offset"),
    ("--max-query-subquery", "1m", "subquery reaches back"),
    ("--max-query-steps", "3", "evaluates"),
];
const WIDE: &str = "max(max_over_time(up{a=~\"b+\",c=~\"d+\"}[5m:1m]) + rate(up[5m] offset 5m))";

/// U18: every limit of the fence is an option.
#[test]
fn every_limit_on_queries_can_be_set() {
    let place = Place::new();
    let check = |query: &str, more: &[&str]| place.run(&[&["promql", "check", query, "-o", "json"], more].concat());
    let words = ["PQ030", "the limit is", "larger than 10 bytes", "a metric name is required", "only stable functions"];
    let is_refused = |answer: &Answer| words.iter().any(|word| answer.out.contains(word));
    assert!(!is_refused(&check(WIDE, &[])), "{:?}", check(WIDE, &[]));
    for (option, value, said) in LIMITS {
        let refused = check(WIDE, &[option, value]);
        assert!(is_refused(&refused) && refused.out.contains(said), "{option}: {refused:?}");
    }
    let unnamed = "max({a=\"b\"})";
    assert!(is_refused(&check(unnamed, &[])) && !is_refused(&check(unnamed, &["--allow-unnamed-metrics"])));
    let experimental = "max(sort_by_label(up, \"a\"))";
    assert!(is_refused(&check(experimental, &[])));
    assert!(!is_refused(&check(experimental, &["--allow-experimental-functions"])));
    // A subquery that names no step is evaluated at the one that is assumed.
    let stepless = "max(max_over_time(up[10m:]))";
    assert!(!is_refused(&check(stepless, &["--max-query-steps", "20"])));
    assert!(is_refused(&check(stepless, &["--max-query-steps", "20", "--default-query-step", "10s"])));
}
