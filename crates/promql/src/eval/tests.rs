use super::*;
use crate::read::{self, ReadLimits};
use crate::series::Builder;
use crate::syntax::limits::Limits;
use crate::syntax::print::queries;
use proptest::prelude::*;

/// Series of a small cluster, all sampled at 60 s.
const SERIES: &str = "up{job=\"a\"} 1 60000\nup{job=\"b\"} 0 60000\nnodes{zone=\"x\",name=\"n1\"} 3 60000\n\
                      nodes{zone=\"x\",name=\"n2\"} 5 60000\nnodes{zone=\"y\",name=\"n3\"} NaN 60000\n";

fn series() -> Series {
    read::text(SERIES.as_bytes(), Millis(0), &ReadLimits::default()).unwrap()
}

fn ask(text: &str, settings: &Settings<'_>) -> Result<Answer, Error> {
    let query = Query::parse(text, &Limits::default()).unwrap();
    instant(&query, &series(), Millis(60_000), settings)
}

fn value(text: &str) -> String {
    ask(text, &Settings::default()).unwrap().value.to_string()
}

#[test]
fn the_idioms_of_update_risks() {
    for (query, expected) in [
        ("group(up == 1) or 0 * group(up)", "{} 1"),
        ("group(up == 2) or 0 * group(up)", "{} 0"),
        ("group(missing) or 0 * group(missing)", ""),
        (
            "topk(1, label_replace(group(missing), \"is\", \"yes\", \"\", \"\") or label_replace(0 * group(up), \"is\", \"no\", \"\", \"\"))",
            "{is=\"no\"} 0",
        ),
        ("max(up) * on () group_left (name) topk(1, nodes)", "{name=\"n2\"} 5"),
        ("bottomk(1, 0 * group by (zone) (nodes > 4) or group(up))", "{zone=\"x\"} 0"),
        ("count by (zone) (nodes)", "{zone=\"x\"} 2\n{zone=\"y\"} 1"),
        ("-1 * group(up)", "{} -1"),
        ("up{_id=\"\",job=\"a\"}", "up{job=\"a\"} 1"),
    ] {
        assert_eq!(value(query), expected, "{query}");
    }
}

#[test]
fn errors_have_the_words_of_prometheus_and_a_place() {
    for (query, place, words) in [
        (
            "up + on () nodes",
            "+ on ()",
            "found duplicate series for the match group {} on the right hand-side of the operation: [{__name__=\"nodes\", name=\"n1\", zone=\"x\"}, {__name__=\"nodes\", name=\"n2\", zone=\"x\"}];many-to-many matching not allowed: matching labels must be unique on one side",
        ),
        (
            "nodes + on (zone) sum by (zone) (nodes)",
            "nodes + on (zone) sum by (zone) (nodes)",
            "multiple matches for labels: many-to-one matching must be explicit (group_left/group_right)",
        ),
        (
            "nodes * ignoring (name) group_left (name) sum by (zone) (nodes)",
            "nodes * ignoring (name) group_left (name) sum by (zone) (nodes)",
            "multiple matches for labels: grouping labels must ensure unique matches",
        ),
        (
            "sum(label_replace(nodes, \"name\", \"\", \"\", \"\"))",
            "label_replace(nodes, \"name\", \"\", \"\", \"\")",
            "vector cannot contain metrics with the same labelset",
        ),
        ("abs(up) or topk(NaN, up)", "NaN", "Parameter value is NaN"),
    ] {
        let error = ask(query, &Settings::default()).unwrap_err();
        assert_eq!((error.code, error.message.as_str()), (Code::Evaluation, words), "{query}");
        assert_eq!(&query[error.span.start..error.span.end], place, "{query}");
    }
}

#[test]
fn a_budget_ends_what_would_run_away() {
    let few = Settings { samples: 1_000, ..Settings::default() };
    for query in ["sum_over_time(vector(1)[100y:1ms])", "count(up) + count(vector(1)[1h:1s] @ 0 > 0)"] {
        let query = query.replace("count(vector(1)[1h:1s] @ 0 > 0)", "scalar(sum_over_time(vector(1)[1h:1s]))");
        let error = ask(&query, &few).unwrap_err();
        assert_eq!(error.code, Code::Budget, "{query}");
    }
    let stop = || true;
    let stopped = Settings { stop: Some(&stop), ..Settings::default() };
    assert_eq!(ask("up", &stopped).unwrap_err().code, Code::Stopped);
}

#[test]
fn labels_cannot_grow_without_bound() {
    let mut query = "vector(1)".to_owned();
    query = format!("label_replace({query}, \"a\", \"0123456789abcdef\", \"\", \"\")");
    for _ in 0..20 {
        query = format!("label_replace({query}, \"a\", \"$1$1\", \"a\", \"(.*)\")");
    }
    assert_eq!(ask(&query, &Settings::default()).unwrap_err().code, Code::Budget);
    let mut query = "label_replace(vector(1), \"a\", \"0123456789abcdef\", \"\", \"\")".to_owned();
    for _ in 0..20 {
        query = format!("label_join({query}, \"a\", \"\", \"a\", \"a\")");
    }
    assert_eq!(ask(&query, &Settings::default()).unwrap_err().code, Code::Budget);
}

#[test]
fn an_explanation_has_the_value_of_every_part() {
    let text = "sum(up) > bool max_over_time((up * 2)[1m:30s])";
    let query = Query::parse(text, &Limits::default()).unwrap();
    let settings = Settings { explain: true, ..Settings::default() };
    let answer = instant(&query, &series(), Millis(60_000), &settings);
    // The sides have different labels, so nothing matches; what the sides are is seen all the same.
    let explained: Vec<(usize, &str, String, u64)> = answer
        .as_ref()
        .unwrap()
        .explained
        .iter()
        .map(|part| (part.level, &text[part.span.start..part.span.end], part.value.to_string(), part.times))
        .collect();
    let doubled = "{job=\"a\"} 2\n{job=\"b\"} 0".to_owned();
    assert_eq!(
        explained,
        [
            (1, text, String::new(), 1),
            (2, "sum(up)", "{} 1".to_owned(), 1),
            (3, "up", "up{job=\"a\"} 1\nup{job=\"b\"} 0".to_owned(), 1),
            (2, "max_over_time((up * 2)[1m:30s])", doubled.clone(), 1),
            (3, "(up * 2)[1m:30s]", "{job=\"a\"} 2@60000\n{job=\"b\"} 0@60000".to_owned(), 1),
            (4, "(up * 2)", doubled.clone(), 2),
            (5, "up * 2", doubled, 2),
            (6, "up", "up{job=\"a\"} 1\nup{job=\"b\"} 0".to_owned(), 2),
            (6, "2", "2".to_owned(), 2),
        ]
    );
}

#[test]
fn the_deepest_queries_fit_into_a_small_stack() {
    let limits = Limits { depth: Limits::DEEPEST, ..Limits::default() };
    let wrap = |before: &str, after: &str, levels: usize| {
        let text = format!("{}up{}", before.repeat(levels), after.repeat(levels));
        Query::parse(&text, &limits).unwrap()
    };
    let chain = format!("up{}", " + up".repeat(90));
    let deepest = [
        wrap("(", ")", 90),
        wrap("-(", ")", 45),
        wrap("sum by (job) (", ")", 90),
        wrap("abs(", ")", 90),
        wrap("label_replace(", ", \"a\", \"b\", \"\", \"\")", 90),
        wrap("last_over_time((", ")[1ms:1ms])", 30),
        Query::parse(&chain, &limits).unwrap(),
    ];
    let evaluated = std::thread::Builder::new().stack_size(1 << 20).spawn(move || {
        let settings = Settings { explain: true, ..Settings::default() };
        deepest.map(|query| instant(&query, &series(), Millis(60_000), &settings).is_ok())
    });
    assert_eq!(evaluated.unwrap().join().unwrap(), [true; 7]);
}

#[test]
fn a_range_needs_a_step_and_a_vector() {
    let range_of = |text: &str, step: i64| {
        let query = Query::parse(text, &Limits::default()).unwrap();
        range(&query, &series(), (Millis(0), Millis(120_000)), Millis(step), &Settings::default())
    };
    assert_eq!(range_of("up[1m]", 1_000).unwrap_err().code, Code::Type);
    assert_eq!(range_of("up", 0).unwrap_err().code, Code::Number);
    let value = range_of("sum(up)", 60_000).unwrap().value;
    assert_eq!(value.to_string(), "{} 1@60000 1@120000");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Whatever the query, an evaluation ends, and gives the same a second time and from a store filled backwards.
    #[test]
    fn an_evaluation_is_bounded_and_repeatable(text in queries(), time in -10_i64..200) {
        let Ok(query) = Query::parse(&text, &Limits::default()) else { return Ok(()) };
        let settings = Settings { samples: 20_000, ..Settings::default() };
        let mut builder = Builder::default();
        let forward = series();
        let rows: Vec<_> = forward.iter().collect();
        for (labels, samples) in rows.iter().rev() {
            for (name, value) in labels.iter() {
                builder.label(name, value).unwrap();
            }
            let series = builder.series().unwrap();
            for (time, value) in samples.times.iter().zip(samples.values) {
                builder.sample(series, *time, *value).unwrap();
            }
        }
        let backward = builder.finish().unwrap();
        let at = Millis(time * 1_000);
        let one = instant(&query, &forward, at, &settings);
        prop_assert_eq!(format!("{one:?}"), format!("{:?}", instant(&query, &backward, at, &settings)));
        if matches!(query.result(), ValueType::Scalar | ValueType::Vector) {
            let steps = (Millis(0), Millis(240_000));
            let one = range(&query, &forward, steps, Millis(60_000), &settings);
            prop_assert_eq!(format!("{one:?}"), format!("{:?}", range(&query, &backward, steps, Millis(60_000), &settings)));
        }
    }
}
