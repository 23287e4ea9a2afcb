//! TLS with an authority of one's own, and clients that prove who they are.

use std::path::Path;
use std::sync::Arc;

use clearway_sources::prometheus::{ClientIdentity, Prometheus, PrometheusOptions};
use clearway_testbed::{Authority, Identity};
use rustls::RootCertStore;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use tokio_rustls::TlsAcceptor;

use crate::refused;
use crate::server::{Server, one, one_at};

/// The server side: a certificate of the authority, and clients only with one of it, too.
fn acceptor(authority: &Authority) -> TlsAcceptor {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let certificate = |pem: &str| CertificateDer::from_pem_slice(pem.as_bytes()).unwrap();
    let identity = authority.server(&["127.0.0.1"]).unwrap();
    let key = PrivateKeyDer::from_pem_slice(identity.key.as_bytes()).unwrap();
    let mut roots = RootCertStore::empty();
    roots.add(certificate(authority.certificate())).unwrap();
    let clients = WebPkiClientVerifier::builder(Arc::new(roots)).build().unwrap();
    let config = rustls::ServerConfig::builder().with_client_cert_verifier(clients);
    let config = config.with_single_cert(vec![certificate(&identity.certificate)], key).unwrap();
    TlsAcceptor::from(Arc::new(config))
}

fn written(root: &Path, name: &str, identity: &Identity) -> ClientIdentity {
    let (certificate, key) = (root.join(format!("{name}.crt")), root.join(format!("{name}.key")));
    // Without the line break at the end, as some tools write it.
    std::fs::write(&certificate, identity.certificate.trim_end()).unwrap();
    std::fs::write(&key, &identity.key).unwrap();
    ClientIdentity { certificate, key }
}

#[tokio::test]
async fn both_sides_prove_who_they_are() {
    let (authority, other) = (Authority::new("ours").unwrap(), Authority::new("another").unwrap());
    let server = Server::start_with(Some(acceptor(&authority)), |_| one()).await;
    let root = tempfile::tempdir().unwrap();
    let ca_file = root.path().join("ca.crt");
    std::fs::write(&ca_file, authority.certificate()).unwrap();
    let known = written(root.path(), "known", &authority.client("me", None).unwrap());
    let stranger = written(root.path(), "stranger", &other.client("me", None).unwrap());
    let ask = |ca_file, identity| {
        let options = PrometheusOptions { ca_file, identity, ..PrometheusOptions::default() };
        Prometheus::new(&format!("https://{}", server.host), &options).unwrap()
    };
    let trusted = || Some(ca_file.clone());
    ask(trusted(), Some(known.clone())).instant("up", None).await.unwrap();
    for prometheus in [ask(None, Some(known)), ask(trusted(), None), ask(trusted(), Some(stranger))] {
        let error = refused(&prometheus).await;
        assert_eq!(error.kind(), "unreachable", "{error}");
    }
}

/// The command of a proof proves who asks as the program did, and does not show the token.
#[tokio::test]
async fn the_printed_command_works_with_the_same_files() {
    let authority = Authority::new("ours").unwrap();
    let server = Server::start_with(Some(acceptor(&authority)), |_| one_at(5)).await;
    let root = tempfile::tempdir().unwrap();
    let (ca_file, token_file) = (root.path().join("ca.crt"), root.path().join("it's a token"));
    std::fs::write(&ca_file, authority.certificate()).unwrap();
    std::fs::write(&token_file, "hunter2\n").unwrap();
    let identity = written(root.path(), "known", &authority.client("me", None).unwrap());
    let options = PrometheusOptions {
        ca_file: Some(ca_file),
        token_file: Some(token_file),
        identity: Some(identity),
        ..PrometheusOptions::default()
    };
    let prometheus = Prometheus::new(&format!("https://{}", server.host), &options).unwrap();
    // The answer is of the time five, and so is the question.
    let time = clearway_core::Timestamp::from_seconds(5).unwrap();
    let seen = prometheus.observe("max(up)", Some(time), || time).await.unwrap();
    let command = seen.reproduce.unwrap();
    assert!(!command.contains("hunter2"), "{command}");
    let asked = server.take();
    let shown = tokio::process::Command::new("sh").arg("-c").arg(&command).output().await.unwrap();
    // Where there is no curl, the command cannot be tried.
    if shown.status.code() != Some(127) {
        assert!(String::from_utf8_lossy(&shown.stdout).contains("\"success\""), "{command}: {shown:?}");
        let again = server.take();
        assert_eq!(again[0].header("authorization"), "Bearer hunter2");
        assert_eq!(again[0].header("authorization"), asked[0].header("authorization"));
        assert!(again[0].line.contains("query=max%28up%29") && again[0].line.contains("time=5"), "{again:?}");
    }
    let secret = Prometheus::new(&format!("https://me:hunter2@{}/?key=hunter2", server.host), &options).unwrap();
    let command = secret.observe("up", Some(time), || time).await.unwrap().reproduce.unwrap();
    assert!(!command.contains("hunter2") && command.contains("# add the user, password and parameters"), "{command}");
}
