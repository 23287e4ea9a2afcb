//! Any JSON as a list of conditions: it is read leniently, looked up, and taken up by a controller's pass, whose result
//! is read back without a remark about what the pass itself wrote.
#![no_main]

use clearway_conditions::model::{Conditions, ObjectStatus, Pass, Progress, StoredFields, Verdict, current_status};
use clearway_conditions::{condition_set, reason};
use clearway_core::Generation;
use libfuzzer_sys::fuzz_target;
use serde_json::Value;

condition_set! {
    /// What the fuzzed controller says.
    pub set Database { summary: Ready, progress: true }
    /// Always present.
    pub always Aspect {
        /// Clients can connect.
        Reachable: dependent,
        /// Nobody is connected.
        Idle: info,
    }
    /// Present while something is wrong.
    pub problems Problem {
        /// The last backup is too old.
        BackupOverdue = "example.com/BackupOverdue": problem,
    }
}

fuzz_target!(|bytes: &[u8]| {
    let Ok(value) = serde_json::from_slice::<Value>(bytes) else { return };
    let status = ObjectStatus::read(&value);
    for name in ["Ready", "Succeeded", "", "example.com/BackupOverdue"] {
        _ = current_status(status.observe(name));
    }
    let list = value.pointer("/status/conditions").unwrap_or(&value);
    let (conditions, _) = Conditions::read(list);
    for condition in conditions.iter() {
        assert!(conditions.get(condition.type_).is_some());
    }
    let generation = Generation::new(3).expect("a generation");
    let now = "2026-01-01T00:00:00Z".parse().expect("a time");
    for kept in [StoredFields::ALL, StoredFields::metav1()] {
        let mut pass = Pass::<Database>::begin(&conditions, generation, now).stored_in(kept);
        pass.report(Aspect::Reachable, Verdict::bad(reason!("DbDown"), "connection refused"));
        pass.retain(Aspect::Idle);
        pass.raise(Problem::BackupOverdue, reason!("TooOld"), "the last backup is three days old");
        pass.progress(Progress::reconciling(reason!("Restarting"), "waiting for the server"));
        let outcome = pass.finish();
        assert!(outcome.conditions.get("Ready").is_some());
    }
});
