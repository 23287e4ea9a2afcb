//! Addresses and messages; what meets a server is in `tests/prometheus`.

use super::*;

#[test]
fn an_address_is_read_with_or_without_what_stands_below_the_base() {
    for (url, want) in [
        ("http://h:9090", "http://h:9090/api/v1/query"),
        ("https://h/", "https://h/api/v1/query"),
        ("https://h/prom/", "https://h/prom/api/v1/query"),
        ("https://h/api/v1/query?query=up", "https://h/api/v1/query"),
        ("https://h/prom/api/v1", "https://h/prom/api/v1/query"),
        ("http://h:9090/graph#x", "http://h:9090/api/v1/query"),
        ("https://me:hunter2@h/?token=hunter2", "https://h/api/v1/query"),
    ] {
        let prometheus = Prometheus::new(url, &PrometheusOptions::default()).unwrap();
        assert_eq!(prometheus.shown(), want, "{url}");
        assert!(!format!("{prometheus:?}").contains("hunter2"));
    }
    for (url, why) in [
        ("ftp://me:hunter2@h/", "`ftp://h/` is not the address of a Prometheus: it does not begin with https://"),
        ("me:hunter2@h/?hunter2", "it does not begin"),
        ("//me:hunter2@h/?hunter2", "`h/?…` is not the address"),
        ("https://me:hunter2@", "empty host"),
    ] {
        let error = Prometheus::new(url, &PrometheusOptions::default()).unwrap_err();
        assert!(error.kind() == "address" && error.to_string().contains(why), "{error}");
        assert!(!format!("{error} {error:?}").contains("hunter2"), "{error:?}");
    }
}

#[test]
fn user_and_password_are_decoded() {
    let prometheus = Prometheus::new("https://a%40b:p+%2f%26=@h/", &PrometheusOptions::default()).unwrap();
    assert_eq!(prometheus.user, Some(("a@b".to_owned(), Some("p+/&=".to_owned()))));
}

#[test]
fn an_identity_that_is_none_is_refused_by_name() {
    let root = tempfile::tempdir().unwrap();
    let (certificate, key) = (root.path().join("a.crt"), root.path().join("a.key"));
    let refused = || {
        let identity = Some(ClientIdentity { certificate: certificate.clone(), key: key.clone() });
        let error = Prometheus::new("https://h", &PrometheusOptions { identity, ..PrometheusOptions::default() });
        error.unwrap_err().to_string()
    };
    assert!(refused().contains("a.crt cannot be used as a client certificate: No such file"), "{}", refused());
    fs::write(&certificate, "x").unwrap();
    assert!(refused().contains("a.key cannot be used as the key of a client certificate"), "{}", refused());
    fs::write(&key, "hunter2").unwrap();
    assert!(
        refused().contains("it contains no PEM certificate with its private key") && !refused().contains("hunter2")
    );
}

#[test]
fn a_client_can_be_shared_between_tasks() {
    fn check<T: Send>(_: T) {}
    let prometheus = Prometheus::new("https://h/", &PrometheusOptions::default()).unwrap();
    check(prometheus.instant("up", None));
    check(prometheus.series_of(&[], &CollectLimits::default(), &|_, _| {}));
    check(prometheus);
}
