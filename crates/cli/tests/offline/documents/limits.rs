//! The tables of `docs/limits.md` and `docs/limits-files.md` are what the code has.

use std::fmt::Write as _;
use std::path::Path;

use clearway_advice::evidence::MAX_SERIES;
use clearway_advice::{EXPRESSION_CAPS, EvaluationBudget, RULE_MEMORY, RULE_PATTERNS};
use clearway_core::limits::Cap;
use clearway_core::{GraphLimits, RegistryLimits};
use clearway_operator::driver::{COMPONENT_ANSWER_BYTES, COMPONENT_ANSWERS, COMPONENT_RELEASE_BYTES};
use clearway_operator::heartbeat::HANGS_AFTER;
use clearway_operator::release_violations::{COMMAND_ROUND_BYTES, COMPONENT_ROUND_BYTES, ROUND_BYTES};
use clearway_promql::{Fence, Limits};
use clearway_release::ReleaseLimits;
use clearway_sources::collector::ObjectLimits;
use clearway_sources::file_caps::{ARCHIVE_CAPS, GRAPH_DATA_CAPS};
use clearway_sources::graph_data::GIT_CAPS;
use clearway_sources::kubernetes::{PAGE_BYTES, PAGE_MEMORY};
use clearway_sources::oci::LAYER_CAPS;
use clearway_sources::prometheus::CollectLimits;
use clearway_sources::snapshot::{COLLECTED_BYTES, COLLECTED_MEMORY, SNAPSHOT_CAPS};
use clearway_sources::store::STATE_CAPS;
use clearway_update::status::shape::STATUS_CAPS;
use clearway_update::upstream::BudgetLimits;

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

/// The caps of files, without names: messages say what is counted.
fn file_table(caps: &[Cap]) -> String {
    let mut out = "| what | limit | real | times |\n|---|--:|--:|--:|\n".to_owned();
    for Cap { what, needs, default, .. } in caps {
        let (needs, times) = match needs {
            0 => ("–".to_owned(), "–".to_owned()),
            needs => (number(*needs), number(default / needs)),
        };
        // Writing into a text cannot fail.
        let _ = writeln!(out, "| {what} | {} | {needs} | {times} |", number(*default));
    }
    out
}

/// Caps without what is real.
fn list(caps: &[(&str, u64)]) -> String {
    let mut out = "| what is counted | cap |\n|---|--:|\n".to_owned();
    for (what, most) in caps {
        // Writing into a text cannot fail.
        let _ = writeln!(out, "| {what} | {} |", number(*most));
    }
    out
}

/// The caps on a release, and those that differ for one that only a graph names.
fn releases() -> String {
    let (limits, named) = (ReleaseLimits::default(), ReleaseLimits::of_graph());
    let mut out = "| what is counted | cap | of a release that only a graph names |\n|---|--:|--:|\n".to_owned();
    for (what, most, named) in [
        (
            "Files, and in a directory also the directories below `release-manifests`",
            limits.files as u64,
            named.files as u64,
        ),
        ("Bytes of all files", limits.bytes, named.bytes),
        ("Objects", limits.objects as u64, named.objects as u64),
        ("Values of one object", limits.values as u64, named.values as u64),
        ("Bytes of memory of all objects, estimated; each alias counts as its value", limits.memory, named.memory),
    ] {
        let _ = writeln!(out, "| {what} | {} | {} |", number(most), number(named));
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

/// What evaluating rules about objects may cost, and what is read and written of objects.
fn objects() -> String {
    let (objects, budget) = (ObjectLimits::default(), EvaluationBudget::default());
    let mut rows = EXPRESSION_CAPS.to_vec();
    rows.extend([
        ("Objects of one kind", objects.count as u64),
        ("Bytes of the objects of one kind, as JSON without what is removed", objects.bytes as u64),
        ("Bytes of one answer of the API server with such objects", PAGE_BYTES as u64),
        ("Bytes of memory that such an answer takes, estimated before it is read", PAGE_MEMORY as u64),
    ]);
    rows.extend([
        ("Samples that queries look at, of one rule", budget.samples.rule),
        ("Steps of expressions over all objects: cost, and what is looked at, of one rule", budget.steps.rule),
        ("Samples, of all rules of one risk", budget.samples.risk),
        ("Steps, of all rules of one risk", budget.steps.risk),
        ("Samples, of one assessment", budget.samples.assessment),
        ("Steps, of one assessment", budget.steps.assessment),
    ]);
    rows.extend(STATUS_CAPS);
    list(&rows)
}

/// What is read of a cluster at most, by whom.
fn evidence() -> String {
    let (objects, series, budget) =
        (ObjectLimits::default(), CollectLimits::default(), EvaluationBudget::default().samples);
    let number = |value: usize| number(value as u64);
    let count = number(objects.count);
    let bytes = number(objects.bytes);
    let mut out = "| what is counted | operator | `assess` | `snapshot collect` |\n|---|--:|--:|--:|\n".to_owned();
    for (what, operator, assess, snapshot) in [
        ("Objects of one kind", count.clone(), count.clone(), count),
        ("Bytes of the objects of one kind", bytes.clone(), bytes, "–".to_owned()),
        ("Bytes of the objects of all kinds", "–".to_owned(), "–".to_owned(), number(COLLECTED_BYTES)),
        (
            "Bytes of memory of the objects that are in memory at one time",
            number(PAGE_MEMORY),
            number(PAGE_MEMORY),
            number(COLLECTED_MEMORY),
        ),
        ("Series of all queries", "–".to_owned(), "–".to_owned(), number(series.series)),
        (
            "Samples of all queries",
            self::number(budget.assessment),
            self::number(budget.assessment),
            number(series.samples),
        ),
        (
            "Bytes of the files of all releases that rules ask about",
            self::number(ROUND_BYTES),
            self::number(COMMAND_ROUND_BYTES),
            self::number(COMMAND_ROUND_BYTES),
        ),
        (
            "The same for the rules of one ComponentVersion",
            self::number(COMPONENT_ROUND_BYTES),
            "–".to_owned(),
            "–".to_owned(),
        ),
        (
            "Bytes of such files that wait to be evaluated, of all ComponentVersions",
            number(COMPONENT_RELEASE_BYTES),
            "–".to_owned(),
            "–".to_owned(),
        ),
    ] {
        let _ = writeln!(out, "| {what} | {operator} | {assess} | {snapshot} |");
    }
    out
}

/// What the operator keeps of update services, over all of its objects.
fn kept() -> String {
    let budget = BudgetLimits::default();
    let rows = [
        ("`answer_memory` of the ClusterVersion, which no other object uses", budget.cluster_version),
        ("`answer_memory` that is always there for a ComponentVersion: its share", budget.share),
        ("ComponentVersions that have a share", budget.shares),
        ("`answer_memory` for ComponentVersions above their shares, and for those without one: the pool", budget.pool),
        ("The most of the pool for one ComponentVersion", budget.most_of_pool),
        ("All of that", budget.total()),
        ("`rule_memory`: bytes of memory for the rules of one answer", RULE_MEMORY),
        (
            "`rule_patterns`: bytes written and read to compile the regular expressions of the rules of one answer",
            RULE_PATTERNS,
        ),
        ("Bytes of one answer for a ComponentVersion", usize::try_from(COMPONENT_ANSWER_BYTES).unwrap()),
        ("Answers for ComponentVersions that are asked for and parsed at one time", COMPONENT_ANSWERS),
        ("Series of the result of a query that are counted", MAX_SERIES),
    ];
    list(&rows.map(|(what, most)| (what, most as u64)))
}

/// The bounds that hold for every document, whatever it is about.
fn documents() -> String {
    let limits = clearway_core::Limits::default();
    list(&[
        ("Bytes of one file or stream", limits.file_bytes),
        ("Bytes of one document of a stream", limits.document_bytes as u64),
        ("Bytes of one object: a document, or an item of a list", limits.object_bytes as u64),
        ("Levels of nesting in one document", limits.depth as u64),
        ("Values in one object, after YAML aliases were followed", limits.nodes as u64),
        ("Values that the YAML aliases of one file or stream expand to", limits.alias_values as u64),
        ("Bytes of the texts that they expand to", limits.alias_text as u64),
    ])
}

/// Fails unless the tables of a page are these. With `SNAPSHOTS=overwrite` in the environment, they are written into it.
fn check(page: &str, tables: &[(&str, String)]) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(page);
    let text = std::fs::read_to_string(&path).unwrap();
    let mut wanted = text.clone();
    for (name, table) in tables {
        let (begin, end) = (format!("<!-- caps: {name} -->\n"), "<!-- end -->");
        let (head, rest) = wanted.split_once(&begin).unwrap_or_else(|| panic!("no `{}` in {page}", begin.trim()));
        let (_, tail) = rest.split_once(end).unwrap_or_else(|| panic!("no `{end}` behind `{}`", begin.trim()));
        wanted = format!("{head}{begin}{table}{end}{tail}");
    }
    if std::env::var("SNAPSHOTS").is_ok_and(|what| what == "overwrite") {
        std::fs::write(&path, &wanted).unwrap();
    }
    assert!(text == wanted, "{page} differs from the code; run this test with SNAPSHOTS=overwrite, which corrects it");
}

#[test]
fn the_documented_caps_are_those_of_the_code() {
    check(
        "docs/limits.md",
        &[
            ("graph", table(GraphLimits::CAPS)),
            ("registry", table(RegistryLimits::CAPS)),
            ("queries", table(&queries())),
            ("objects", objects()),
            ("evidence", evidence()),
            ("documents", documents()),
            ("kept", kept()),
        ],
    );
    for cap in queries() {
        assert!(cap.default >= 10 * cap.needs, "{}", cap.name);
    }
}

#[test]
fn the_documented_time_of_a_computation_is_that_of_the_code() {
    let limits = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/limits.md")).unwrap();
    let row = limits.lines().find(|line| line.starts_with("| one computation of the operator")).unwrap();
    let minutes = format!("| {} minutes; then `/livez` fails", HANGS_AFTER.as_secs() / 60);
    assert!(row.contains(&minutes), "{row}");
}

#[test]
fn the_documented_caps_of_files_are_those_of_the_code() {
    check(
        "docs/limits-files.md",
        &[
            ("graph-data", file_table(GRAPH_DATA_CAPS)),
            ("archives", file_table(ARCHIVE_CAPS)),
            ("layers", list(LAYER_CAPS)),
            ("git", list(GIT_CAPS)),
            ("snapshots", list(SNAPSHOT_CAPS)),
            ("releases", releases()),
            ("state", list(STATE_CAPS)),
        ],
    );
}
