//! A query, a line `---`, and series: the evaluation ends within its budget, gives the same twice, and explains itself. A
//! text without that line is a test script.
#![no_main]

use clearway_promql::eval::{self, Settings};
use clearway_promql::read::{self, ReadLimits};
use clearway_promql::{Limits, Millis, Query, ValueType, script};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let limits = Limits { experimental: true, ..Limits::default() };
    let settings = Settings { samples: 200_000, explain: true, ..Settings::default() };
    let Some((query, series)) = text.split_once("\n---\n") else {
        _ = script::run(text, &limits, &settings);
        return;
    };
    let Ok(query) = Query::parse(query, &limits) else { return };
    let Ok(series) = read::text(series.as_bytes(), Millis(0), &ReadLimits::default()) else { return };
    let one = eval::instant(&query, &series, Millis(60_000), &settings);
    let other = eval::instant(&query, &series, Millis(60_000), &settings);
    assert_eq!(format!("{one:?}"), format!("{other:?}"));
    if matches!(query.result(), ValueType::Scalar | ValueType::Vector) {
        _ = eval::range(&query, &series, (Millis(0), Millis(600_000)), Millis(60_000), &settings);
    }
});
