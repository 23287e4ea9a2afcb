//! What is seen of work that does not end.

use std::path::PathBuf;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use clearway_policy::{Constraint, ConstraintDefinition};
use clearway_sources::store::StateDirectory;
use clearway_testbed::{IN_TIME, wait_until};
use serde_json::json;

use super::*;
use crate::heartbeat::HANGS_AFTER;

/// Whether an audit has asked for the time.
static ASKED: AtomicBool = AtomicBool::new(false);
/// Set when it is answered.
static ANSWERED: OnceLock<()> = OnceLock::new();

/// A clock that an audit gets no answer from.
fn stopped_clock() -> Timestamp {
    ASKED.store(true, Ordering::Relaxed);
    ANSWERED.wait();
    Timestamp::EPOCH
}

fn policies() -> LoadedPolicies {
    let template = json!({
        "apiVersion": "templates.gatekeeper.sh/v1", "kind": "ConstraintTemplate", "metadata": {"name": "any"},
        "spec": {
            "crd": {"spec": {"names": {"kind": "Any"}}},
            "targets": [{"target": "admission.k8s.gatekeeper.sh", "rego": "package any\nviolation[{\"msg\": \"m\"}] { true }"}],
        },
    });
    let constraint =
        json!({"apiVersion": "constraints.gatekeeper.sh/v1beta1", "kind": "Any", "metadata": {"name": "any"}});
    let constraint = Constraint::read(&constraint, &ConstraintDefinition::read(&template).unwrap()).unwrap();
    LoadedPolicies { constraints: vec![Arc::new(constraint)], ..LoadedPolicies::default() }
}

#[tokio::test]
async fn an_audit_that_does_not_end_is_seen() {
    let directory = tempfile::tempdir().unwrap();
    // A child that is never asked anything.
    let ready = r#"printf '\000\000\000\007"ready"'; exec /bin/cat > /dev/null"#;
    let evaluators = EvaluatorSettings {
        program: PathBuf::from("/bin/sh"),
        arguments: vec!["-c".to_owned(), ready.to_owned()],
        processes: 1,
        memory: 1 << 20,
        time_limit: Duration::from_secs(1),
        steps: 1,
        reject_unknown_actions: false,
    };
    let heartbeat = Heartbeat::default();
    let hanging = || heartbeat.hanging(Instant::now() + 2 * HANGS_AFTER).map(|(what, _)| what);
    let (leads, leading) = watch::channel(true);
    let (store, heart) = (StateDirectory::open(directory.path()).unwrap(), heartbeat.clone());
    // A runtime of its own: its thread stands still.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let work = std::thread::spawn(move || {
        runtime.block_on(async move {
            let auditor = Auditor {
                store,
                evaluators: Evaluators::start(evaluators).await.unwrap(),
                policies: watch::channel(Arc::new(policies())).1,
                metrics: Arc::default(),
                settings: AuditSettings { interval: Duration::from_millis(1), ..AuditSettings::default() },
                clock: stopped_clock,
                events: None,
            };
            audit_while_leading(&auditor, leading, &heart).await;
        });
    });
    wait_until(IN_TIME, "the audit computes", async || ASKED.load(Ordering::Relaxed)).await.unwrap();
    let seen = hanging();
    // Before anything can fail: a thread that waits would be waited for.
    ANSWERED.set(()).unwrap();
    assert_eq!(seen, Some("a step of an audit"));
    leads.send_replace(false);
    wait_until(IN_TIME, "the audit is over", async || hanging().is_none()).await.unwrap();
    drop(leads);
    work.join().unwrap();
}
