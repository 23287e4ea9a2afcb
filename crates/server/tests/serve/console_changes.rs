//! Forms of the console over real sockets: which requests reach whoever makes changes, and with which identity.

use std::fmt::Write as _;
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use clearway_console::pages::cluster::ClusterState;
use clearway_console::pages::health::PartHealth;
use clearway_console::{Change, ChangeOutcome, ChangeResult};
use clearway_core::{BearerToken, Timestamp};
use clearway_server::console::{ChangeLimits, ClusterChanges, ClusterSource, Console, RunningConsole};
use futures::future::BoxFuture;

use crate::client::{self, Client, Reply};

const START: &str = "/console/start-update";
const FORM: &str = "application/x-www-form-urlencoded";
const BODY: &str = "kind=ClusterVersion&name=version&version=4.7.4&token=of-the-form";

/// Headers of a request, by name.
type Headers<'a> = &'a [(&'a str, &'a str)];

/// Records what is to be changed and with whose token, and gives the outcome that the name of the object asks for.
#[derive(Clone, Default)]
struct Recorder(Arc<Mutex<Vec<(Change, String)>>>);

impl Recorder {
    fn taken(&self) -> Vec<(Change, String)> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }
}

impl ClusterChanges for Recorder {
    fn make<'a>(&'a self, change: &'a Change, caller: &'a BearerToken) -> BoxFuture<'a, ChangeOutcome> {
        self.0.lock().unwrap().push((change.clone(), caller.secret().to_owned()));
        let result = match change.name.as_str() {
            "invalid" => ChangeResult::Invalid,
            "unauthenticated" => ChangeResult::Unauthenticated,
            "forbidden" => ChangeResult::Forbidden,
            "missing" => ChangeResult::NotFound,
            "refused" => ChangeResult::Refused,
            "away" => ChangeResult::Unreachable,
            _ => ChangeResult::Done,
        };
        let sentence = "<script>alert(1)</script> \u{202e}is said.".to_owned();
        let warnings = vec!["<img src=x onerror=alert(1)>".to_owned()];
        Box::pin(std::future::ready(ChangeOutcome { result, sentence, warnings }))
    }
}

/// No cluster at all.
struct NoClusters;

impl ClusterSource for NoClusters {
    fn clusters(&self) -> Vec<ClusterState> {
        Vec::new()
    }

    fn health(&self) -> Vec<PartHealth> {
        Vec::new()
    }
}

struct Site {
    address: SocketAddr,
    recorder: Recorder,
    _console: RunningConsole,
}

fn console() -> Console {
    Console::new("1.2.3", || Timestamp::from_seconds(1_700_000_100).unwrap()).with_clusters(NoClusters)
}

impl Site {
    fn start(limits: ChangeLimits) -> Self {
        let recorder = Recorder::default();
        let console = console().with_changes(recorder.clone(), limits);
        let console = RunningConsole::start(console, TcpListener::bind("127.0.0.1:0").unwrap()).unwrap();
        Site { address: console.address(), recorder, _console: console }
    }

    /// Sends a form with these headers, and with those that a browser adds unless they are given.
    async fn post(&self, path: &str, headers: Headers<'_>, body: &str) -> Reply {
        let mut head = format!("POST {path} HTTP/1.1\r\n");
        let length = body.len().to_string();
        let usual = [
            ("Host", "localhost:1"),
            ("Origin", "http://localhost:1"),
            ("Content-Type", FORM),
            ("Content-Length", &length),
        ];
        let is_given = |name: &str| headers.iter().any(|(given, _)| given.eq_ignore_ascii_case(name));
        let usual = usual.iter().filter(|(name, _)| !is_given(name));
        for (name, value) in usual.chain(headers).filter(|(_, value)| !value.is_empty()) {
            write!(head, "{name}: {value}\r\n").unwrap();
        }
        let mut client = Client::connect(self.address).await;
        client.write(format!("{head}\r\n{body}").as_bytes()).await.unwrap();
        client.read(false).await.unwrap()
    }
}

#[tokio::test]
async fn a_form_reaches_the_cluster_with_the_token_of_its_caller() {
    let site = Site::start(ChangeLimits::default());
    for (headers, token) in [
        (&[][..], "of-the-form"),
        (&[("Authorization", "Bearer of-the-proxy")], "of-the-proxy"),
        (&[("Origin", ""), ("Sec-Fetch-Site", "same-origin")], "of-the-form"),
        (&[("Content-Type", "application/x-www-form-urlencoded; charset=UTF-8")], "of-the-form"),
    ] {
        let reply = site.post(START, headers, BODY).await;
        assert_eq!(reply.status, 200, "{}", reply.text());
        let taken = site.recorder.taken();
        assert_eq!(taken.len(), 1);
        assert_eq!((taken[0].0.name.as_str(), taken[0].1.as_str()), ("version", token), "{headers:?}");
        assert_eq!(reply.header("cache-control"), Some("no-store"));
        assert!(!reply.text().contains("of-the-") && !format!("{:?}", reply.headers).contains("of-the-"));
        assert!(reply.text().contains("href=\"/console/cluster-update?kind=ClusterVersion"), "{}", reply.text());
    }
}

#[tokio::test]
async fn requests_that_are_forged_broken_or_without_identity_change_nothing() {
    let site = Site::start(ChangeLimits::default());
    let large = format!("{BODY}&reason={}", "x".repeat(20_000));
    let chunked = format!("{:x}\r\n{large}\r\n0\r\n\r\n", large.len());
    let anonymous = "kind=ClusterVersion&name=version&version=4.7.4&token=";
    let rows: [(&str, Headers<'_>, &str, u16); 21] = [
        // From elsewhere, or from who knows where.
        (START, &[("Origin", "")], BODY, 403),
        (START, &[("Origin", "null")], BODY, 403),
        (START, &[("Origin", "https://attacker.example")], BODY, 403),
        (START, &[("Origin", "http://localhost:2")], BODY, 403),
        (START, &[("Sec-Fetch-Site", "cross-site")], BODY, 403),
        (START, &[("Sec-Fetch-Site", "same-site")], BODY, 403),
        (START, &[("Sec-Fetch-Site", "none")], BODY, 403),
        (START, &[("Host", "attacker.example"), ("Origin", "http://attacker.example")], BODY, 421),
        // Not a form.
        (START, &[("Content-Type", "text/plain")], BODY, 415),
        (START, &[("Content-Type", "multipart/form-data; boundary=x")], BODY, 415),
        (START, &[("Content-Type", "application/json")], "{}", 415),
        (START, &[("Content-Type", "")], BODY, 415),
        (START, &[], &large, 413),
        (START, &[("Content-Length", ""), ("Transfer-Encoding", "chunked")], &chunked, 413),
        // Not a change.
        (START, &[], "kind=ClusterVersion&token=of-the-form", 400),
        (START, &[], "kind=a&name=b&version=4.7.4&token=two%20words", 400),
        ("/console/accept-risk", &[], BODY, 400),
        ("/console/", &[], BODY, 405),
        ("/console/start-update/x", &[], BODY, 405),
        // Without an identity, or with one that is not a token.
        (START, &[], anonymous, 401),
        (START, &[("Authorization", "Basic dXNlcjpwYXNz")], BODY, 401),
    ];
    for (path, headers, body, status) in rows {
        let reply = site.post(path, headers, body).await;
        assert_eq!(reply.status, status, "{path} {headers:?}: {}", reply.text());
        assert_eq!(reply.header("cache-control"), Some("no-store"), "{path} {headers:?}");
        assert!(!reply.text().contains("of-the-form") && !reply.text().contains("dXNlcjpwYXNz"), "{}", reply.text());
        assert_eq!(reply.header("www-authenticate").is_some(), status == 401);
        assert_eq!(site.recorder.taken(), [], "{path} {headers:?}");
    }
    for method in ["GET", "HEAD", "PUT", "DELETE"] {
        let reply = client::ask(site.address, method, START, &[]).await;
        assert_eq!((reply.status, reply.header("allow")), (405, Some("POST")), "{method}");
    }
}

#[tokio::test]
async fn a_form_that_does_not_arrive_in_time_is_refused() {
    let site = Site::start(ChangeLimits { form_time: Duration::from_millis(20), ..ChangeLimits::default() });
    let reply = site.post(START, &[("Content-Length", "1000")], BODY).await;
    assert_eq!(reply.status, 408, "{}", reply.text());
    assert_eq!(site.recorder.taken(), []);
}

#[tokio::test]
async fn the_status_says_what_came_of_it_and_foreign_text_stays_text() {
    let site = Site::start(ChangeLimits::default());
    for (name, status) in [
        ("version", 200),
        ("invalid", 400),
        ("unauthenticated", 401),
        ("forbidden", 403),
        ("missing", 404),
        ("refused", 409),
        ("away", 502),
    ] {
        let reply = site.post(START, &[], &BODY.replace("name=version", &format!("name={name}"))).await;
        assert_eq!(reply.status, status, "{name}");
        let text = reply.text();
        assert_eq!(text.contains("<h1>Nothing was changed</h1>"), status != 200, "{text}");
        assert!(!text.contains("<script>") && !text.contains("<img") && !text.contains('\u{202e}'), "{text}");
        assert!(text.contains("\\u{202e}is said."), "{text}");
    }
}

/// Tokens are sent without encryption, so nobody else may be on the way.
#[test]
fn a_console_with_forms_starts_on_a_loopback_address_only() {
    let socket = || TcpListener::bind("0.0.0.0:0").unwrap();
    let error = RunningConsole::start(console().with_changes(Recorder::default(), ChangeLimits::default()), socket());
    assert!(error.unwrap_err().to_string().contains("plain text"));
    RunningConsole::start(console(), socket()).unwrap();
}
