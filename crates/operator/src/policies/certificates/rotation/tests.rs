use std::sync::Arc;

use rustls::RootCertStore;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::ServerCertVerifier as _;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};

use super::*;

const NAME: &str = "clearway-policies.clearway.svc";

fn names() -> Vec<String> {
    vec![NAME.to_owned()]
}

fn at(days: u64) -> Timestamp {
    let start: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
    start.plus(DAY.saturating_mul(u32::try_from(days).unwrap()))
}

/// Whether somebody who has a bundle trusts a certificate at a time.
fn trusts(bundle: &str, server: &Certificate, now: Timestamp) -> bool {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(bundle.as_bytes()) {
        roots.add(certificate.unwrap()).unwrap();
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider).build().unwrap();
    let certificate = CertificateDer::from_pem_slice(server.certificate.as_bytes()).unwrap();
    let name = ServerName::try_from(NAME).unwrap();
    let time = UnixTime::since_unix_epoch(Duration::from_secs(u64::try_from(now.as_seconds()).unwrap()));
    verifier.verify_server_cert(&certificate, &[], &name, &[], time).is_ok()
}

#[test]
fn at_first_there_is_one_of_each_and_nothing_changes_until_it_is_due() {
    let first = CertificateSet::renewed(None, &names(), at(0)).unwrap().unwrap();
    assert_eq!(first.authorities.len(), 1);
    assert!(trusts(&first.bundle(), &first.server, at(0)));
    for days in [0, 1, 59] {
        assert_eq!(CertificateSet::renewed(Some(&first), &names(), at(days)).unwrap(), None, "day {days}");
    }
    let second = CertificateSet::renewed(Some(&first), &names(), at(61)).unwrap().unwrap();
    assert_eq!(second.authorities, first.authorities);
    assert_ne!(second.server.certificate, first.server.certificate);
    assert!(trusts(&first.bundle(), &second.server, at(61)));
}

/// Replicas and the API server learn of changes late, but within the overlap: at every moment the older bundle trusts
/// the newer certificate and the newer bundle the older certificate.
#[test]
fn for_years_every_certificate_is_trusted_by_the_bundles_before_and_after_it() {
    let step = OVERLAP;
    let mut now = at(0);
    let mut set = CertificateSet::renewed(None, &names(), now).unwrap().unwrap();
    let (mut authorities, mut certificates) = (1, 1);
    while now < at(5 * 365) {
        // Every hour while something is under way, every day otherwise.
        let is_busy = set.authorities.len() > 1;
        now = now.plus(if is_busy { step } else { DAY });
        let before = set.clone();
        if let Some(after) = CertificateSet::renewed(Some(&before), &names(), now).unwrap() {
            assert!(trusts(&before.bundle(), &after.server, now), "{now}: new certificate, old bundle");
            assert!(trusts(&after.bundle(), &before.server, now), "{now}: old certificate, new bundle");
            assert!(after.authorities.len() <= 2, "{now}");
            authorities += usize::from(after.authorities.last() != before.authorities.last());
            certificates += usize::from(after.server != before.server);
            set = after;
        }
        assert!(trusts(&set.bundle(), &set.server, now), "{now}");
    }
    assert_eq!(authorities, 4, "a new authority every 550 days");
    assert!(certificates > 25, "{certificates}");
}

#[test]
fn after_a_long_sleep_everything_is_new_at_once() {
    let first = CertificateSet::renewed(None, &names(), at(0)).unwrap().unwrap();
    let later = CertificateSet::renewed(Some(&first), &names(), at(4_000)).unwrap().unwrap();
    assert_eq!(later.authorities.len(), 1);
    assert!(trusts(&later.bundle(), &later.server, at(4_000)));
}

#[test]
fn other_names_need_another_certificate_and_no_other_authority() {
    let first = CertificateSet::renewed(None, &["127.0.0.1".to_owned()], at(0)).unwrap().unwrap();
    let second = CertificateSet::renewed(Some(&first), &names(), at(0)).unwrap().unwrap();
    assert_eq!(second.bundle(), first.bundle());
    assert!(!trusts(&first.bundle(), &first.server, at(0)));
    assert!(trusts(&first.bundle(), &second.server, at(0)));
}
