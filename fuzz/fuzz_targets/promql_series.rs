//! Any bytes as series: every reader ends, and what is read is written as a snapshot that reads as the same.
#![no_main]

use clearway_promql::read::{self, ReadLimits};
use clearway_promql::series::Capacity;
use clearway_promql::{Millis, Series};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let capacity = Capacity { series: 10_000, samples: 100_000, bytes: 1 << 20 };
    let limits = ReadLimits { bytes: 1 << 20, capacity: capacity.clone() };
    let same = |series: &Series| {
        let written = read::write_snapshot(series);
        let again = read::snapshot(written.as_bytes(), &limits).expect("what is written is read");
        assert_eq!(read::write_snapshot(&again), written);
    };
    for series in [
        read::text(bytes, Millis(0), &limits).ok(),
        read::open_metrics(bytes, Millis(0), &limits).ok(),
        read::snapshot(bytes, &limits).ok(),
        read::api(bytes, &limits).ok().and_then(|answer| answer.into_series(capacity.clone()).ok()),
    ]
    .iter()
    .flatten()
    {
        same(series);
    }
});
