use super::*;
use crate::eval::Settings;
use crate::syntax::limits::Limits;

fn report(script: &str) -> Report {
    run(script, &Limits::default(), &Settings::default()).unwrap()
}

fn verdict(script: &str) -> Verdict {
    report(script).outcomes.pop().unwrap().verdict
}

#[test]
fn a_script_says_what_passes() {
    let report = report(
        "# A comment.\nload 1m\n  up{job=\"a\"} 1 1 0 _ 1+1x2 stale\n  up{job=\"b\"} _x2 5\n\n\
         eval instant at 2m up\n  up{job=\"b\"} 5\n  up{job=\"a\"} 0\n\n\
         eval instant at 2m sort(up)\n  expect ordered\n  up{job=\"a\"} 0\n  up{job=\"b\"} 5\n\n\
         eval_ordered instant at 2m sort_desc(up)\n  up{job=\"b\"} 5\n  up{job=\"a\"} 0\n\n\
         eval range from 0 to 6m step 2m sum(up)\n  {} 1 5 6 8\n\n\
         eval instant at 7m up{job=\"a\"}\n\n\
         eval instant at 1m 1 + 1\n  2\n\n\
         eval instant at 1m \"a b\"\n  expect string \"a b\"\n\n\
         eval instant at 2m up[2m]\n  expect range vector from 1m to 2m step 1m\n  up{job=\"a\"} 1 0\n  up{job=\"b\"} _ 5\n\n\
         eval_fail instant at 2m up + on () up\n  expected_fail_regexp found duplicate .* right\n\n\
         eval instant at 2m rate(up[2m])\n  expect info msg: PromQL info: metric might not be a counter, name does not \
         end in _total/_sum/_count/_bucket: \"up\" (1:6)\n  expect no_warn\n  {job=\"a\"} 0\n\n\
         clear\n\neval instant at 2m up\n",
    );
    let failed: Vec<&Outcome> = report.outcomes.iter().filter(|outcome| outcome.verdict != Verdict::Passed).collect();
    assert_eq!((report.outcomes.len(), failed), (11, vec![]));
}

#[test]
fn a_wrong_expectation_fails_with_what_was_wanted_and_what_came() {
    for (script, words) in [
        ("load 1m\n  a 1\n\neval instant at 0 a\n  a 2", "want:\na 2\ngot:\na 1"),
        ("load 1m\n  a 1\n\neval instant at 0 a\n", "want:\n\ngot:\na 1"),
        ("eval instant at 0 a\n  a 2", "want:\na 2\ngot:\n"),
        ("eval instant at 0 1\n  expect fail", "It should fail"),
        ("eval instant at 0 a{\n", "The query is refused"),
        (
            "load 1m\n  a{x=\"1\"} 1\n  a{x=\"2\"} 1\n\neval instant at 0 a * on () a",
            "It fails: found duplicate series",
        ),
        (
            "load 1m\n  a{x=\"1\"} 1\n  a{x=\"2\"} 1\n\neval instant at 0 a * on () a\n  expect fail msg: no",
            "another message",
        ),
        ("eval instant at 0 vector(1)\n  expect warn\n  {} 1", "A warning is expected"),
        ("load 1m\n  a 1 2\n\neval instant at 1m rate(a[2m])\n  expect no_info\n", "No remark is expected"),
        (
            "load 1m\n  a 2\n  b 1\n\neval instant at 0 sort({__name__=~\"a|b\"})\n  expect ordered\n  a 2\n  b 1",
            "want:",
        ),
        ("eval range from 0 to 2m step 1m vector(1)\n  {} 1 1", "want:"),
        ("eval instant at 0 1\n  expect string \"1\"", "want:"),
    ] {
        match verdict(script) {
            Verdict::Failed(message) => assert!(message.contains(words), "{script}: {message}"),
            other => panic!("{script}: {other:?}"),
        }
    }
}

#[test]
fn native_histograms_are_named() {
    for (script, words) in [
        ("load 1m\n  h {{schema:0 sum:1 count:1}}\n\neval instant at 0 sum(h)\n", "h has native histograms"),
        ("load 1m\n  h 1 {{sum:1}}\n\neval instant at 1m count_over_time(h[5m])\n", "h has native histograms"),
        ("load_with_nhcb 1m\n  h_bucket{le=\"+Inf\"} 1\n\neval instant at 0 h\n", "h has native histograms"),
        ("eval instant at 0 vector(1)\n  {} {{sum:1}}", "A native histogram is expected"),
        ("eval instant at 0 info(a)", "`info` is not supported"),
    ] {
        match verdict(script) {
            Verdict::Unsupported(message) => assert!(message.contains(words), "{script}: {message}"),
            other => panic!("{script}: {other:?}"),
        }
    }
    // What does not look at them is not concerned.
    assert_eq!(verdict("load 1m\n  h {{sum:1}}\n  a 1\n\neval instant at 0 a\n  a 1"), Verdict::Passed);
}

#[test]
fn what_is_no_script_is_refused_with_its_line() {
    for (script, line) in [
        ("\nlaod 5m\n", 2),
        ("load\n  a 1", 1),
        ("load 5m\n  a 1\n  a x", 3),
        ("load 5m\n  a@st 0s\n  a 1", 2),
        ("eval instant 0 a", 1),
        ("eval instant at 0", 1),
        ("eval sometimes at 0 a", 1),
        ("eval_twice instant at 0 a", 1),
        ("eval range from 5m to 0 step 1m a", 1),
        ("eval instant at 0 a\n  expect nothing", 2),
        ("eval instant at 0 a\n  expect warn because", 2),
        ("eval instant at 0 a\n  expect fail regex: (", 2),
        ("eval instant at 0 a\n  expect string a", 2),
    ] {
        let error = run(script, &Limits::default(), &Settings::default()).unwrap_err();
        assert_eq!(error.line, line, "{script}: {error}");
    }
}

#[test]
fn experimental_syntax_is_read_only_if_wanted() {
    let script = "load 1s\n  m 0+1x100\n  n{a=\"b\"} 1x100\n\n\
                  eval range from 50s to 60s step 10s count_over_time(m[step() + 1])\n  {} 11 11\n\n\
                  eval range from 50s to 60s step 5s m offset -min_of(step(), 1s)\n  m 51 56 61\n\n\
                  eval range from 50s to 60s step 5s m offset range()\n  m 40 45 50\n\n\
                  eval instant at 50s count_over_time(m[-5 + 2 ^ 3 * 2s])\n  {} 11\n\n\
                  eval instant at 50s n + on (a) fill (5) m\n  {a=\"b\"} 6\n  {} 55\n\n\
                  eval instant at 50s m - fill_left (1) fill_right (-2) n\n  {} 52\n  {a=\"b\"} 0\n\n\
                  eval instant at 50s m[1s / 0]\n  expect fail\n\n\
                  eval instant at 50s m[step()]\n  expect fail\n\n\
                  eval instant at 50s m and fill (1) n\n  expect fail\n";
    let wanted = Limits { experimental: true, ..Limits::default() };
    let report = run(script, &wanted, &Settings::default()).unwrap();
    let failed: Vec<&Outcome> = report.outcomes.iter().filter(|outcome| outcome.verdict != Verdict::Passed).collect();
    assert_eq!((report.outcomes.len(), failed), (9, vec![]));
    let (_, failed, unsupported) = run(script, &Limits::default(), &Settings::default()).unwrap().counts();
    assert_eq!((failed, unsupported), (0, 9));
}
