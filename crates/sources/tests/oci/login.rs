//! Logins: tokens for nobody and for somebody, passwords, refusals, and TLS with an authority of one's own.

use std::sync::{Arc, Mutex};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use clearway_sources::oci::{Cache, Credentials, PlainHttp, Registry, RegistryOptions};
use clearway_testbed::images::Pusher;
use clearway_testbed::{Authority, registry};
use hyper::StatusCode;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

use crate::proxy::{Answer, Asked, Proxy, status};
use crate::{quick, scrape_as, versions};

fn basic() -> String {
    format!("Basic {}", STANDARD.encode("me:hunter2"))
}

fn authorization(asked: &Asked) -> &str {
    asked.headers.get("authorization").map_or("", |value| value.to_str().unwrap())
}

fn challenge(text: String) -> Answer {
    let body = br#"{"errors": [{"code": "UNAUTHORIZED", "message": "who\nare you"}]}"#;
    Answer::Say(StatusCode::UNAUTHORIZED, vec![("www-authenticate", text)], body.to_vec())
}

/// Wants a token, which it gives for this `Authorization`. A token is good for a few requests.
fn tokens(wanted: String) -> impl Fn(&Asked) -> Answer + Send + Sync {
    move |asked| {
        let host = asked.headers["host"].to_str().unwrap();
        if asked.line.starts_with("GET /token?") {
            assert_eq!(asked.line, "GET /token?service=here&scope=repository%3Aa%3Apull");
            if authorization(asked) != wanted {
                return status(401);
            }
            let body = format!(r#"{{"token": "t{}"}}"#, asked.number / 4);
            return Answer::Say(StatusCode::OK, vec![], body.into_bytes());
        }
        let age = authorization(asked).strip_prefix("Bearer t").and_then(|number| number.parse::<usize>().ok());
        if age.is_some_and(|number| asked.number / 4 <= number + 1) {
            return Answer::Pass;
        }
        challenge(format!("Bearer realm=\"http://{host}/token\",service=\"here\",scope=\"repository:a:pull\""))
    }
}

fn passwords(asked: &Asked) -> Answer {
    if authorization(asked) == basic() { Answer::Pass } else { challenge("Basic realm=\"x\"".to_owned()) }
}

fn connect(credentials: Credentials) -> Registry {
    Registry::new(RegistryOptions { credentials, concurrency: 2, ..quick() }).unwrap()
}

#[tokio::test]
async fn tokens_and_passwords_are_given_where_they_are_asked_for() {
    let Some(registry) = registry().await else { return };
    let push = Pusher::new(&registry.base_url(), "a");
    for tag in ["1", "2", "3"] {
        push.release(tag, &format!("{tag}.0.0"), "amd64").await;
    }
    let user = || Credentials::Basic { user: "me".to_owned(), password: "hunter2".to_owned() };
    let anonymous = Proxy::start(registry.base_url(), tokens(String::new())).await;
    let known = Proxy::start(registry.base_url(), tokens(basic())).await;
    let password = Proxy::start(registry.base_url(), passwords).await;
    let config = tempfile::NamedTempFile::new().unwrap();
    let auth = STANDARD.encode("me:hunter2");
    let text = format!(r#"{{"auths": {{"{}": {{"auth": "{auth}"}}}}}}"#, known.host());
    std::fs::write(config.path(), text).unwrap();
    let file = || Credentials::DockerConfig(config.path().to_owned());

    for (proxy, credentials) in [
        (&anonymous, Credentials::Anonymous),
        // The file does not name this registry, so nobody is asked for.
        (&anonymous, file()),
        (&known, user()),
        (&known, file()),
        (&password, user()),
    ] {
        let connection = connect(credentials.clone());
        let scraped = scrape_as(&connection, proxy.host(), "a", &Cache::none()).await.unwrap();
        assert_eq!(versions(&scraped), ["1.0.0", "2.0.0", "3.0.0"], "{credentials:?}");
        assert!(!format!("{connection:?}").contains("hunter2"));
    }
    for (proxy, credentials, want) in [
        (&known, Credentials::Anonymous, "pass a user, or a docker config.json with one"),
        (&password, Credentials::Anonymous, "it requires authentication"),
        (&password, file(), "check that `auths` of the docker config.json names the host"),
        (&known, Credentials::Basic { user: "me".into(), password: "wrong".into() }, "check the user, the password"),
        (
            &password,
            Credentials::Basic { user: "me".into(), password: "wrong".into() },
            "401 Unauthorized: who are you",
        ),
    ] {
        let error = scrape_as(&connect(credentials), proxy.host(), "a", &Cache::none()).await.unwrap_err();
        let text = error.to_string();
        assert!(error.kind() == "denied" && text.contains(want), "{text}");
        assert!(!text.contains("hunter2") && !text.contains("wrong"), "{text}");
    }
}

#[tokio::test]
async fn passwords_are_not_sent_where_anybody_could_read_them() {
    let Some(registry) = registry().await else { return };
    let proxy =
        Proxy::start(registry.base_url(), |_| challenge("Bearer realm=\"http://example.com/token\"".to_owned())).await;
    let connection = connect(Credentials::Basic { user: "me".into(), password: "hunter2".into() });
    let error = scrape_as(&connection, proxy.host(), "a", &Cache::none()).await.unwrap_err().to_string();
    assert!(error.contains("it requests the password for a host without TLS"), "{error}");
}

#[tokio::test]
async fn tokens_and_blobs_may_be_on_other_hosts_which_never_get_the_token() {
    let Some(registry) = registry().await else { return };
    Pusher::new(&registry.base_url(), "a").release("1", "1.0.0", "amd64").await;
    let port = |proxy: &Proxy| proxy.host().rsplit_once(':').unwrap().1.to_owned();
    // A storage behind the registry: whoever shows it a token, or where it came from, is refused.
    let storage = Proxy::start(registry.base_url(), |asked| {
        let bare = authorization(asked).is_empty() && !asked.headers.contains_key("referer");
        if bare { Answer::Pass } else { status(403) }
    })
    .await;
    let tokens = Proxy::start(registry.base_url(), |asked| {
        let known = asked.line.starts_with("GET /token?") && authorization(asked) == basic();
        if known { Answer::Say(StatusCode::OK, vec![], br#"{"token": "t"}"#.to_vec()) } else { status(401) }
    })
    .await;
    let (token_port, storage_port) = (port(&tokens), port(&storage));
    // Another name of this machine is another host.
    let front = Proxy::start(registry.base_url(), move |asked| {
        if authorization(asked) != "Bearer t" {
            return challenge(format!("Bearer realm=\"http://localhost:{token_port}/token\""));
        }
        match asked.line.strip_prefix("GET ").filter(|path| path.contains("/blobs/")) {
            Some(path) => {
                let location = format!("http://localhost:{storage_port}{path}");
                Answer::Say(StatusCode::TEMPORARY_REDIRECT, vec![("location", location)], vec![])
            }
            None => Answer::Pass,
        }
    })
    .await;
    let connection = connect(Credentials::Basic { user: "me".into(), password: "hunter2".into() });
    let scraped = scrape_as(&connection, front.host(), "a", &Cache::none()).await.unwrap();
    assert_eq!(versions(&scraped), ["1.0.0"]);
}

#[tokio::test]
async fn a_host_that_the_registry_redirects_to_never_gets_the_login() {
    let Some(registry) = registry().await else { return };
    Pusher::new(&registry.base_url(), "a").release("1", "1.0.0", "amd64").await;
    for (what, scheme) in [("a token", "Bearer realm=\"http://HOST/token\""), ("a password", "Basic realm=\"x\"")] {
        let sent = Arc::<Mutex<Vec<String>>>::default();
        let seen = Arc::clone(&sent);
        // It asks for the login, and would take it at its own source of tokens.
        let storage = Proxy::start(registry.base_url(), move |asked| {
            seen.lock().unwrap().push(format!("{} {}", asked.line, authorization(asked)));
            challenge(scheme.replace("HOST", asked.headers["host"].to_str().unwrap()))
        })
        .await;
        let port = storage.host().rsplit_once(':').unwrap().1.to_owned();
        let front = Proxy::start(registry.base_url(), move |asked| {
            match asked.line.strip_prefix("GET ").filter(|path| path.contains("/blobs/")) {
                Some(path) => {
                    let location = format!("http://localhost:{port}{path}");
                    Answer::Say(StatusCode::TEMPORARY_REDIRECT, vec![("location", location)], vec![])
                }
                None => Answer::Pass,
            }
        })
        .await;
        let connection = connect(Credentials::Basic { user: "me".into(), password: "hunter2".into() });
        let error = scrape_as(&connection, front.host(), "a", &Cache::none()).await.unwrap_err();
        let text = error.to_string();
        assert!(error.kind() == "denied" && text.contains("it redirects to localhost"), "{what}: {text}");
        let sent = sent.lock().unwrap();
        assert!(!sent.is_empty(), "{what}");
        for line in sent.iter() {
            assert!(line.starts_with("GET /v2/a/blobs/") && line.ends_with(' '), "{what}: {line}");
        }
    }
}

#[tokio::test]
async fn a_certificate_is_trusted_if_its_authority_is() {
    let Some(registry) = registry().await else { return };
    Pusher::new(&registry.base_url(), "a").release("1", "1.0.0", "amd64").await;
    let authority = Authority::new("a registry's own").unwrap();
    let identity = authority.server(&["127.0.0.1"]).unwrap();
    let chain = vec![CertificateDer::from_pem_slice(identity.certificate.as_bytes()).unwrap()];
    let key = PrivateKeyDer::from_pem_slice(identity.key.as_bytes()).unwrap();
    let _ = rustls::crypto::ring::default_provider().install_default();
    let server = rustls::ServerConfig::builder().with_no_client_auth().with_single_cert(chain, key).unwrap();
    let acceptor = tokio_rustls::TlsAcceptor::from(Arc::new(server));
    let proxy = Proxy::start_with(registry.base_url(), Some(acceptor), |_| Answer::Pass).await;

    let options = RegistryOptions { plain_http: PlainHttp::Never, ..quick() };
    let stranger = Registry::new(options.clone()).unwrap();
    let error = scrape_as(&stranger, proxy.host(), "a", &Cache::none()).await.unwrap_err();
    assert_eq!(error.kind(), "certificate", "{error}");
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), authority.certificate()).unwrap();
    let trusting = Registry::new(RegistryOptions { ca_file: Some(file.path().to_owned()), ..options }).unwrap();
    assert_eq!(versions(&scrape_as(&trusting, proxy.host(), "a", &Cache::none()).await.unwrap()), ["1.0.0"]);
}
