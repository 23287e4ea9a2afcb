//! N to N+1 without downtime (P7): replicas are replaced one after the other while the API server asks for admissions.
//!
//! `CLEARWAY_PREVIOUS` names the program of the previous release; without it, this one is replaced by itself.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use clearway_testbed::{IN_TIME, wait_until};
use serde_json::{Value, json};

use super::lab::{CONSTRAINTS, Lab, Program, REQUIRED_LABELS, by_pod, constraint};
use super::requests::try_create;
use super::service::Service;

const KIND: &str = "K8sRequiredLabels";
/// How long a replica answers after it was told to stop: far longer than it takes to see that it is not ready.
const SHUTDOWN_DELAY: &str = "20s";
/// Clients that ask at the same time.
const CLIENTS: usize = 4;

/// What clients were answered.
#[derive(Default)]
struct Load {
    is_over: AtomicBool,
    decided: AtomicU64,
}

/// Asks for admissions until it is over; the answers that are neither a denial nor an admission as they should be.
async fn ask(lab: Arc<Lab>, load: Arc<Load>, client: usize) -> Vec<String> {
    let map = |labels: Value| {
        let metadata = json!({"name": format!("map-{client}"), "namespace": "shop", "labels": labels});
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})
    };
    let (good, bad) = (map(json!({"owner": "x"})), map(json!({})));
    let mut failed = Vec::new();
    while !load.is_over.load(Ordering::Relaxed) {
        let (admitted, denied) = (try_create(&lab, &good).await, try_create(&lab, &bad).await);
        if admitted.code != 201 {
            failed.push(format!("{admitted:?}"));
        }
        if denied.code != 403 || !denied.message.ends_with("[owner] label owner is missing") {
            failed.push(format!("{denied:?}"));
        }
        load.decided.fetch_add(2, Ordering::Relaxed);
    }
    failed
}

/// Stops a replica as Kubernetes does: it is told to stop, says that it is not ready, and gets no new connections then. It
/// answers requests on the connections that it has until it ends.
async fn stop(service: &Service, replica: &Program) {
    replica.terminate();
    wait_until(IN_TIME, "it is not ready any more", async || replica.ask("/readyz").await.0 != 200).await.unwrap();
    service.remove(replica).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn replicas_are_replaced_and_no_admission_fails() {
    let Some(lab) = Lab::start().await else { return };
    let lab = Arc::new(lab);
    let service = Service::start().await;
    let more = ["--shutdown-delay", SHUTDOWN_DELAY];
    let previous = std::env::var("CLEARWAY_PREVIOUS").ok();
    let start = |pod: &str, program: Option<&str>| service.operator_of(&lab, program, pod, &more);
    let mut old = [start("old-a", previous.as_deref()), start("old-b", previous.as_deref())];
    for replica in &old {
        service.add(replica).await;
    }
    service.wait_until_asked(&lab).await;
    lab.create_template(KIND, REQUIRED_LABELS).await;
    lab.create_constraint(constraint(KIND, "owner", "deny")).await;
    let loaded = |object: &Value| ["old-a", "old-b"].iter().all(|pod| by_pod(object, pod)["enforced"] == true);
    lab.wait("both replicas enforce the constraint", (CONSTRAINTS, KIND, "owner"), loaded).await;
    // A request that is not answered fails, and does not pass.
    lab.change_webhook(json!({"failurePolicy": "Fail", "timeoutSeconds": 30})).await;
    let secret = async || lab.get_secret("clearway-policies-webhook-certificate").await;
    let before = secret().await;

    let load = Arc::new(Load::default());
    let clients: Vec<_> =
        (0..CLIENTS).map(|client| tokio::spawn(ask(Arc::clone(&lab), Arc::clone(&load), client))).collect();
    let mut new = Vec::new();
    for (number, replica) in old.iter().enumerate() {
        // A new replica is ready before an old one goes; ready means that it has loaded everything.
        let replacement = start(&format!("new-{number}"), None);
        service.add(&replacement).await;
        new.push(replacement);
        stop(&service, replica).await;
    }
    for replica in &mut old {
        assert!(replica.wait_end().await, "{}", replica.said());
        assert!(!replica.said().contains("were not answered"), "{}", replica.said());
    }
    // The new ones decide alone.
    let until = load.decided.load(Ordering::Relaxed) + 100;
    let lasted = async || load.decided.load(Ordering::Relaxed) > until;
    wait_until(IN_TIME, "the load lasted", lasted).await.unwrap();
    load.is_over.store(true, Ordering::Relaxed);
    let mut failed = Vec::new();
    for client in clients {
        failed.extend(client.await.unwrap());
    }
    let decided = load.decided.load(Ordering::Relaxed);
    assert!(
        failed.is_empty(),
        "{} of {decided} admissions failed: {:#?}",
        failed.len(),
        &failed[..failed.len().min(5)]
    );
    assert_eq!(secret().await, before, "replicas share their certificates");
}
