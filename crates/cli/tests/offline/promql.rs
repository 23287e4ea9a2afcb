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
    assert_eq!((good.code, good.err.as_str()), (0, "1 passed, 0 failed, 1 not supported\n"));
    assert_eq!(
        good.out,
        "ok good.test: 1 passed, 0 failed, 1 not supported\n  skip line 8: sum(h)\n       h has native histograms, which are not evaluated.\n"
    );
    let bad = place.run(&["promql", "test", "good.test", "bad.test", "--junit", "out.xml"]);
    assert_eq!((bad.code, bad.err.as_str()), (1, "1 passed, 1 failed, 1 not supported\n"));
    assert!(bad.out.ends_with("FAIL bad.test: 0 passed, 1 failed, 0 not supported\n  FAIL line 4: up\n       want:\n       up 2\n       got:\n       up 1\n"), "{}", bad.out);
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
        "assess --graph answer.json --version 1.0.0 --series metrics.prom --now 2026-11-16T00:00:00Z --why",
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
        assert!(wrong.code == 3 && wrong.err.contains("--deny-metrics is no regular expression"), "{wrong:?}");
    }
    for command in ["operator", "fleet assess", "risk test", "snapshot collect"] {
        let help = place.run(&command.split(' ').chain(["--help"]).collect::<Vec<_>>());
        assert!(help.out.contains("Limits on queries of risks:") && help.out.contains("--deny-metrics"), "{command}");
    }
}
