//! `bundle migrate` killed at random points on a real API server: older versions are never removed from
//! `status.storedVersions` while an object is stored in one, and running it again comes to the end (V5).
//!
//! `KILL_SEED` chooses other points; the one that was used is printed.

use clearway_testbed::cluster;

use crate::stored_things::StoredThings;

const OBJECTS: usize = 60;
const KILLS: usize = 10;
/// Objects to rewrite in a second: slow enough to be killed between two of them.
const RATE: &str = "50";

#[tokio::test(flavor = "multi_thread")]
async fn a_migration_survives_ten_kills_at_random_points() {
    let Some(cluster) = cluster().await else { return };
    let things = StoredThings::new(&cluster, "killed.example.com").await;
    let seed: u64 = std::env::var("KILL_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(13);
    println!("KILL_SEED={seed}");
    kill_and_complete(&things, OBJECTS, RATE, seed).await;
}

/// Ten kills, with the state checked after each, and a run to the end. The points are numbers of objects that are not
/// rewritten yet, so that they do not depend on the speed of the machine; none left means during the second list or the
/// pruning.
pub(crate) async fn kill_and_complete(things: &StoredThings<'_>, objects: usize, rate: &str, seed: u64) {
    let crd = things.crd_name();
    let arguments = ["migrate", &crd, "--rate", rate];
    let (mut random, mut left, mut killed) = (seed, 0, 0);
    for round in 1..=KILLS {
        if left == 0 {
            store_in_both(things, objects, round).await;
            left = objects;
        }
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let point = usize::try_from(random >> 33).unwrap() % left;
        let mut child = things.start(&arguments, None);
        // A run that ends has rewritten all objects, so that this ends, too.
        while count_old(things).await.0 > point {}
        killed += usize::from(child.try_wait().unwrap().is_none());
        // SIGKILL: nothing is put in order.
        child.kill().unwrap();
        child.wait().unwrap();
        let (old, all) = count_old(things).await;
        println!("kill {round} at {point}: {old} of {all} objects are stored in v1beta1");
        assert_eq!(all, objects, "no object is lost");
        let stored = things.stored_versions().await;
        assert!(old == 0 || stored.contains(&"v1beta1".to_owned()), "{old} objects in v1beta1, and only {stored:?}");
        left = old;
    }
    assert!(killed > 0, "every run had ended before it was killed");
    let run = things.run(&arguments, None);
    assert_eq!(run.code, Some(0), "{}", run.output);
    assert_eq!(count_old(things).await, (0, objects), "every object is rewritten");
    assert_eq!(things.stored_versions().await, ["v1"], "and the older version is removed");
}

/// Writes all objects in the older version, and then makes the newer one that in which is stored.
async fn store_in_both(things: &StoredThings<'_>, objects: usize, round: usize) {
    things.store_in("v1beta1").await;
    things.write(objects, round).await;
    things.store_in("v1").await;
    assert_eq!(count_old(things).await, (objects, objects));
    assert_eq!(things.stored_versions().await.len(), 2);
}

/// How many objects are stored in the older version, and how many there are.
async fn count_old(things: &StoredThings<'_>) -> (usize, usize) {
    let stored = things.stored_versions_of_objects().await;
    let stored: Vec<_> = stored.iter().filter(|(name, _)| name.starts_with('t')).collect();
    (stored.iter().filter(|(_, version)| version == "v1beta1").count(), stored.len())
}
