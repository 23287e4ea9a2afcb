//! 10,000 stored objects on a real API server: `bundle preflight` checks them in the memory that it takes for a tenth of
//! them, and `bundle migrate` rewrites them although it is killed ten times.
//!
//! And 150,000 objects that `policy audit` evaluates by twenty constraints.
//!
//! `tools/scale` runs it; it takes about ten minutes, and needs the test bed. `OBJECTS=N` takes another number,
//! `KILL_SEED=N` other points to kill at, `AUDITED=N` another number of objects to audit.

use std::process::ExitCode;
use std::time::Instant;

use clearway_testbed::{Cluster, ClusterOptions};

#[path = "scale/audits.rs"]
mod audits;
#[path = "../tests/live_bundle/killed_migration.rs"]
#[expect(dead_code, unused_imports, reason = "its test is not part of this program")]
mod killed_migration;
#[path = "../tests/live_policy/lab.rs"]
#[expect(dead_code, reason = "tests use more of it")]
mod lab;
#[path = "../tests/live_bundle/many_objects.rs"]
#[expect(dead_code, unused_imports, reason = "its test is not part of this program")]
mod many_objects;
#[path = "../tests/live_bundle/stored_things.rs"]
mod stored_things;

use stored_things::StoredThings;

/// How much more memory ten times as many objects may take; pages differ a little, and so do allocators.
const RATIO: f64 = 1.25;

fn main() -> ExitCode {
    // Without `--bench` this is `cargo test --benches`, which only wants to know that it builds.
    if !std::env::args().any(|argument| argument == "--bench") {
        return ExitCode::SUCCESS;
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime");
    let passes = runtime.block_on(async { measure().await & audits::measure(number("AUDITED", 150_000)).await });
    if passes { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn number(name: &str, otherwise: usize) -> usize {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

async fn measure() -> bool {
    let objects = number("OBJECTS", 10_000);
    let cluster = Cluster::start_with(&ClusterOptions::api_only()).await.expect("a control plane");
    let things = StoredThings::new(&cluster, "scale.example.com").await;
    things.store_in("v1").await;
    let begin = Instant::now();
    things.write(objects / 10, 0).await;
    let few = many_objects::check(&things, objects / 10);
    things.write(objects, 0).await;
    println!("{objects} objects written after {:.0} s", begin.elapsed().as_secs_f64());
    let begin = Instant::now();
    let many = many_objects::check(&things, objects);
    println!("two preflights: {:.1} s", begin.elapsed().as_secs_f64());
    #[expect(clippy::cast_precision_loss, reason = "kilobytes of a process")]
    let ratio = many as f64 / few as f64;
    let passes = ratio <= RATIO;
    println!(
        "  {}: {few} kB for {} objects and {many} kB for {objects}: {ratio:.2} times, at most {RATIO}, and at most {} kB",
        if passes { "PASS" } else { "FAIL" },
        objects / 10,
        many_objects::PEAK
    );
    let seed = u64::try_from(number("KILL_SEED", 13)).unwrap_or(13);
    println!("KILL_SEED={seed}");
    let begin = Instant::now();
    killed_migration::kill_and_complete(&things, objects, "2000", seed).await;
    println!("  PASS: {objects} objects migrated in spite of ten kills, {:.0} s", begin.elapsed().as_secs_f64());
    passes
}
