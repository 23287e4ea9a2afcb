//! The tables of `docs/limits.md` are what the code has.

use std::fmt::Write as _;
use std::path::Path;

use clearway_core::limits::Cap;
use clearway_core::{GraphLimits, RegistryLimits};
use clearway_promql::{Fence, Limits};

/// A number with its thousands apart.
fn number(value: u64) -> String {
    let digits = value.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

fn table(caps: &[Cap]) -> String {
    let mut out = "| cap | what is counted | OpenShift needs | cap | times |\n|---|---|--:|--:|--:|\n".to_owned();
    for Cap { name, what, needs, default } in caps {
        let (needs, times) = match needs {
            0 => ("–".to_owned(), "–".to_owned()),
            needs => (number(*needs), number(default / needs)),
        };
        // Writing into a text cannot fail.
        let _ = writeln!(out, "| `{name}` | {} | {needs} | {} | {times} |", what.trim(), number(*default));
    }
    out
}

/// The bounds on queries, in the same form.
fn queries() -> Vec<Cap> {
    let (limits, fence) = (Limits::default(), Fence::default());
    let row =
        |name, what, needs: usize, default: usize| Cap { name, what, needs: needs as u64, default: default as u64 };
    vec![
        row("max_length", "Bytes of a query", 975, fence.max_length),
        row("max_nodes", "Nodes of its tree", 55, fence.max_nodes),
        row("max_selectors", "Selectors in it", 7, fence.max_selectors),
        row("max_regexes", "Regular expressions in it", 4, fence.max_regexes),
        row(
            "pattern_positions",
            "Positions of all of them, with their repetitions written out",
            184,
            limits.pattern_positions,
        ),
        row("max_regex_size", "Bytes of one of them when compiled", 7_604, fence.max_regex_size),
    ]
}

#[test]
fn the_documented_caps_are_those_of_the_code() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/limits.md");
    let text = std::fs::read_to_string(&path).unwrap();
    for (name, want) in
        [("graph", table(GraphLimits::CAPS)), ("registry", table(RegistryLimits::CAPS)), ("queries", table(&queries()))]
    {
        let (begin, end) = (format!("<!-- caps: {name} -->\n"), "<!-- end -->");
        let there = text.split_once(&begin).and_then(|(_, rest)| rest.split_once(end)).map(|(table, _)| table);
        assert!(
            there == Some(want.as_str()),
            "between `{}` and `{end}` in docs/limits.md belongs:\n{want}",
            begin.trim()
        );
    }
    for cap in queries() {
        assert!(cap.default >= 10 * cap.needs, "{}", cap.name);
    }
}
