//! `bundle preflight` over many stored objects on a real API server: every one is checked, in a bounded amount of memory.

use clearway_testbed::cluster;
use serde_json::Value;

use crate::stored_things::StoredThings;

/// The memory that a preflight may take, in kB, however many objects there are: one page of at most 8 MiB, read into at
/// most 64 MiB (docs/limits.md), and the program itself.
pub(crate) const PEAK: u64 = 128 << 10;

/// Several pages of 500.
const OBJECTS: usize = 1_300;

#[tokio::test(flavor = "multi_thread")]
async fn a_preflight_of_many_objects_takes_bounded_memory() {
    let Some(cluster) = cluster().await else { return };
    let things = StoredThings::new(&cluster, "many.example.com").await;
    things.store_in("v1").await;
    things.write(OBJECTS, 0).await;
    check(&things, OBJECTS);
}

/// Runs a preflight that accepts all objects and one that refuses all, and gives the larger peak, in kB.
pub(crate) fn check(things: &StoredThings<'_>, objects: usize) -> u64 {
    let directory = tempfile::tempdir().unwrap();
    let bundle = |name: &str, crd: &Value| {
        let path = directory.path().join(name);
        std::fs::write(&path, crd.to_string()).unwrap();
        path
    };
    let loose = bundle("accepts", &things.crd("v1.1.0", "v1", 2_000));
    let strict = bundle("refuses", &things.crd("v1.1.0", "v1", 3));
    let run = things.run(&["preflight", "-"], Some(&loose));
    assert_eq!((run.code, &run.output), (Some(0), &Value::Array(Vec::new())));
    let refused = things.run(&["preflight", "-"], Some(&strict));
    assert_eq!(
        (refused.code, &refused.output[0]["problem"]),
        (Some(1), &"refused-objects".into()),
        "{}",
        refused.output
    );
    assert_eq!(refused.output[0]["count"], objects, "{}", refused.output);
    let peak = run.peak.max(refused.peak);
    println!("{objects} objects: {} and {} kB", run.peak, refused.peak);
    assert!(peak > 0 && peak < PEAK, "{peak} kB, at most {PEAK}");
    peak
}
