//! The certificates of the webhook in a Secret of the cluster, at times that a test chooses.

use std::time::Duration;

use clearway_core::Timestamp;
use clearway_operator::policies::certificates::{CertificateKeeper, SECRET};
use clearway_operator::policies::webhook_configuration::{CONFIGURATION, WebhookAddress, WebhookConfiguration};
use clearway_sources::kubernetes::{Cluster, Connection};
use serde_json::json;

use super::lab::Lab;

const HOUR: Duration = Duration::from_hours(1);
const DAY: Duration = Duration::from_hours(24);

fn configuration() -> WebhookConfiguration {
    WebhookConfiguration {
        address: WebhookAddress::Url("https://127.0.0.1:8443".to_owned()),
        own_namespaces: vec!["clearway".to_owned()],
        operations: vec!["CREATE".to_owned()],
    }
}

fn start() -> Timestamp {
    "2026-01-01T00:00:00Z".parse().unwrap()
}

/// A replica with the rights of the installation.
async fn replica(lab: &Lab) -> CertificateKeeper {
    let connection = Connection { kubeconfig: Some(lab.kubeconfig().to_owned()), ..Connection::default() };
    let cluster = Cluster::connect(&connection).await.unwrap();
    CertificateKeeper::new(cluster, "clearway", configuration(), start)
}

#[tokio::test]
async fn replicas_share_certificates_and_rotate_them_with_an_overlap() {
    let Some(lab) = Lab::start().await else { return };
    let replicas = [replica(&lab).await, replica(&lab).await, replica(&lab).await];
    // All start at the same time: one makes the certificates, and the others use them.
    let [one, two, three] = &replicas;
    let (one, two, three) = tokio::join!(one.maintain(start()), two.maintain(start()), three.maintain(start()));
    let first = one.unwrap();
    assert_eq!((&two.unwrap(), &three.unwrap()), (&first, &first));
    assert!(replicas.iter().all(|replica| replica.certificates().is_ready()));
    assert_eq!(first.matches("BEGIN CERTIFICATE").count(), 1);
    let data = async || lab.get_secret(SECRET).await;
    let before = data().await;

    // Nothing is due the next day.
    assert_eq!(replicas[0].maintain(start().plus(DAY)).await.unwrap(), first);
    assert_eq!(data().await, before);

    // The certificate is renewed by the same authority.
    let later = start().plus(DAY * 61);
    let (one, two) = tokio::join!(replicas[0].maintain(later), replicas[1].maintain(later));
    assert_eq!((&one.unwrap(), &two.unwrap()), (&first, &first));
    let renewed = data().await;
    assert_ne!(renewed["tls.crt"], before["tls.crt"]);
    assert_eq!(renewed["ca.crt"], before["ca.crt"]);

    // A new authority comes long before the end of the old one; both are trusted until the new one has signed for a while.
    let due = start().plus(DAY * 551);
    let both = replicas[1].maintain(due).await.unwrap();
    assert!(both.starts_with(&first) && both.matches("BEGIN CERTIFICATE").count() == 2);
    assert_eq!(replicas[2].maintain(due.plus(HOUR)).await.unwrap(), both);
    let only = replicas[0].maintain(due.plus(HOUR * 2)).await.unwrap();
    assert_eq!(both, format!("{first}{only}"));

    // The configuration has the authorities, also after they changed; what an administrator changed stays.
    let connection = Connection { kubeconfig: Some(lab.kubeconfig().to_owned()), ..Connection::default() };
    let cluster = Cluster::connect(&connection).await.unwrap();
    configuration().publish(&cluster, &first).await.unwrap();
    lab.change_webhook(json!({"failurePolicy": "Fail"})).await;
    configuration().publish(&cluster, &only).await.unwrap();
    let object = lab.get("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", CONFIGURATION).await;
    assert_eq!(object["webhooks"][0]["failurePolicy"], "Fail");
    assert_eq!(object["webhooks"][1]["clientConfig"]["caBundle"], data().await["ca.crt"]);
    let version = &object["metadata"]["resourceVersion"];
    configuration().publish(&cluster, &only).await.unwrap();
    let object = lab.get("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", CONFIGURATION).await;
    assert_eq!(&object["metadata"]["resourceVersion"], version, "nothing is written without a change");

    // A Secret that is deleted or damaged is made anew.
    lab.delete("v1", "Secret", Some("clearway"), SECRET).await;
    assert_ne!(replicas[0].maintain(due.plus(HOUR * 3)).await.unwrap(), only);
}
