//! What lets clients and caches ask less: tags, codings, ages, and what they vary by; and who of another origin may read
//! (U4).

use std::collections::BTreeSet;
use std::io::Read as _;

use crate::client::{Client, Reply, ask};
use crate::site::{CANDIDATE, Data, EMPTY, PREFIX, Site, clock};

const VARIES: &str = "Accept, Accept-Encoding, Origin, Access-Control-Request-Method, Access-Control-Request-Headers";

/// The body of an answer without its coding.
pub(crate) fn decoded(reply: &Reply) -> Vec<u8> {
    let mut out = Vec::new();
    let body = reply.body.as_slice();
    match reply.header("content-encoding") {
        None => out.extend_from_slice(body),
        Some("gzip") => drop(flate2::read::GzDecoder::new(body).read_to_end(&mut out).unwrap()),
        Some("br") => drop(brotli::Decompressor::new(body, 4096).read_to_end(&mut out).unwrap()),
        Some("zstd") => drop(zstd::Decoder::new(body).unwrap().read_to_end(&mut out).unwrap()),
        Some(other) => panic!("{other}"),
    }
    out
}

#[tokio::test]
async fn every_answer_says_how_old_it_is_and_how_long_it_is_good() {
    clock!(time);
    let data = Data::example();
    let mut config = data.config();
    config.clock = time::now;
    config.service.max_age = std::time::Duration::from_secs(45);
    let site = Site::start(config).await;
    for (path, has_revision) in [
        ("/graph?channel=stable-1.5", true),
        ("/graph?channel=nobody-knows", true),
        ("/graph-data", true),
        ("/openapi", false),
    ] {
        let reply = site.get(&format!("{PREFIX}{path}")).await;
        assert_eq!(reply.header("cache-control"), Some("public, max-age=45"), "{path}");
        assert_eq!(reply.header("vary"), Some(VARIES), "{path}");
        assert_eq!(reply.header("access-control-allow-origin"), None, "{path}");
        assert!(reply.header("date").is_some(), "{path}");
        let etag = reply.header("etag").unwrap();
        assert!(etag.starts_with('"') && etag.ends_with('"') && etag.len() > 30, "{path}: {etag}");
        let revision = site.running.service().publication().unwrap().revision().to_string();
        assert_eq!(reply.header("clearway-revision"), has_revision.then_some(revision.as_str()), "{path}");
        assert_eq!(reply.header("age"), has_revision.then_some("0"), "{path}");
    }
    // Nothing is stale when it arrives: `max-age` counts from the same moment as `Age` (RFC 9111, section 4.2).
    time::pass(90);
    for path in ["/graph?channel=stable-1.5", "/graph?channel=nobody-knows", "/graph-data"] {
        let reply = site.get(&format!("{PREFIX}{path}")).await;
        assert_eq!((reply.age(), reply.header("cache-control")), (90, Some("public, max-age=135")), "{path}");
    }
    let openapi = site.get(&format!("{PREFIX}/openapi")).await;
    assert_eq!(openapi.header("cache-control"), Some("public, max-age=45"), "it has no age");
    // What the source still holds is as good as new.
    site.refresh_now().await;
    let reply = site.graph("stable-1.5").await;
    assert_eq!((reply.age(), reply.header("cache-control")), (0, Some("public, max-age=45")));
}

#[tokio::test]
async fn every_coding_is_the_same_body_with_its_own_tag() {
    let data = Data::example();
    let site = Site::start(data.config()).await;
    for target in [CANDIDATE, "/api/upgrades_info/openapi"] {
        let plain = site.get(target).await;
        assert_eq!(plain.header("content-encoding"), None);
        let mut tags = BTreeSet::from([plain.header("etag").unwrap().to_owned()]);
        for coding in ["gzip", "br", "zstd"] {
            let reply = site.get_with(target, &[("Accept-Encoding", coding)]).await;
            assert_eq!(reply.header("content-encoding"), Some(coding), "{target}");
            assert!(reply.body.len() < plain.body.len(), "{target}: {coding}");
            assert!(decoded(&reply) == plain.body, "{target}: {coding}");
            assert_eq!(reply.header("vary"), Some(VARIES));
            assert!(tags.insert(reply.header("etag").unwrap().to_owned()), "{tags:?}");
        }
    }
    for (accepted, coding) in [
        ("identity", None),
        ("gzip;q=0", None),
        ("deflate", None),
        ("gzip;q=0.5, identity;q=0.9", None),
        ("x-gzip", Some("gzip")),
        ("GZIP, deflate", Some("gzip")),
        ("br;q=0.1, gzip;q=0.2", Some("gzip")),
        ("identity;q=0, zstd", Some("zstd")),
    ] {
        let reply = site.get_with(CANDIDATE, &[("Accept-Encoding", accepted)]).await;
        assert_eq!((reply.status, reply.header("content-encoding")), (200, coding), "{accepted}");
    }
    // Nothing shrinks further, and nobody is refused for it.
    for path in ["/graph-data", "/graph?channel=nobody-knows"] {
        let reply = site.get_with(&format!("{PREFIX}{path}"), &[("Accept-Encoding", "gzip, identity;q=0")]).await;
        assert_eq!((reply.status, reply.header("content-encoding")), (200, None), "{path}");
    }
}

#[tokio::test]
async fn a_client_that_has_the_body_is_told_so_without_it() {
    let data = Data::example();
    let site = Site::start(data.config()).await;
    for target in [CANDIDATE, "/api/upgrades_info/openapi", "/api/upgrades_info/graph-data"] {
        for coding in ["identity", "gzip", "br", "zstd"] {
            // One connection: a 304 with a body would break what comes after it.
            let mut client = Client::connect(site.address).await;
            let whole = client.ask("GET", target, &[("Accept-Encoding", coding)]).await.unwrap();
            let tag = whole.header("etag").unwrap();
            for (known, status) in [
                (tag.to_owned(), 304),
                (format!("W/{tag}"), 304),
                (format!("\"other\", {tag}"), 304),
                (format!("W/\"other\" ,W/{tag},"), 304),
                ("*".to_owned(), 304),
                ("\"other\"".to_owned(), 200),
                (tag.trim_matches('"').to_owned(), 200),
                (String::new(), 200),
            ] {
                for method in ["GET", "HEAD"] {
                    let asked = [("Accept-Encoding", coding), ("If-None-Match", known.as_str())];
                    let reply = client.ask(method, target, &asked).await.unwrap();
                    assert_eq!((reply.status, reply.header("etag")), (status, Some(tag)), "{target} {coding} {known}");
                    if status == 304 {
                        let length = reply.header("content-length");
                        let whole_length = whole.body.len().to_string();
                        assert!(length.is_none_or(|length| length == whole_length), "{target} {coding}: {length:?}");
                    }
                    for name in ["cache-control", "vary", "clearway-revision", "age"] {
                        assert_eq!(reply.header(name), whole.header(name), "{target} {name}");
                    }
                }
            }
        }
    }
    // Other bytes have another tag; the same bytes under the other media type have the same.
    let json = site.get_with(CANDIDATE, &[("Accept", "application/json")]).await;
    let tag = json.header("etag").unwrap();
    let gzip = [("Accept", "application/json"), ("Accept-Encoding", "gzip"), ("If-None-Match", tag)];
    assert_eq!(site.get_with(CANDIDATE, &gzip).await.status, 200);
    assert_eq!(site.get_with(CANDIDATE, &[("If-None-Match", tag)]).await.status, 304, "the other media type");
    // An error is never "not modified".
    let wrong = site.get_with(&format!("{PREFIX}/graph"), &[("If-None-Match", "*")]).await;
    assert_eq!(wrong.status, 400);
}

#[tokio::test]
async fn the_same_files_give_the_same_bytes_on_every_start() {
    const TARGETS: [&str; 4] = [
        CANDIDATE,
        "/api/upgrades_info/graph?channel=stable-1.5&arch=arm64",
        "/api/upgrades_info/openapi",
        "/api/upgrades_info/graph-data",
    ];
    let mut seen = BTreeSet::new();
    for _ in 0..3 {
        // Another directory each time, so that the system lists its files in another order.
        let data = Data::example();
        let site = Site::start(data.config()).await;
        let mut all = Vec::new();
        for target in TARGETS {
            for coding in ["identity", "gzip", "br", "zstd"] {
                let reply = site.get_with(target, &[("Accept-Encoding", coding)]).await;
                let header = |name| reply.header(name).map(str::to_owned);
                all.push((header("etag"), header("clearway-revision"), reply.body.clone()));
            }
        }
        seen.insert(all);
    }
    assert_eq!(seen.len(), 1);
}

#[tokio::test]
async fn scripts_of_other_origins_may_read_everything() {
    let data = Data::of(&["1.0.0"]);
    let site = Site::start(data.config()).await;
    let origin = ("Origin", "https://console.example.com");
    for (path, status) in [("/graph?channel=c", 200), ("/graph?channel=x", 200), ("/graph", 400), ("/nothing", 404)] {
        let reply = site.get_with(&format!("{PREFIX}{path}"), &[origin]).await;
        assert_eq!(reply.status, status, "{path}");
        assert_eq!(reply.header("access-control-allow-origin"), Some(origin.1), "{path}");
        assert_eq!(reply.header("access-control-expose-headers"), Some("ETag, Age, Clearway-Revision"), "{path}");
        assert_eq!(reply.header("vary"), Some(VARIES), "{path}");
    }
    let preflight =
        async |asked: &[(&str, &str)]| ask(site.address, "OPTIONS", &format!("{PREFIX}/graph?channel=c"), asked).await;
    for method in ["GET", "HEAD"] {
        let reply = preflight(&[origin, ("Access-Control-Request-Method", method)]).await;
        assert_eq!((reply.status, reply.body.len()), (200, 0), "{method}");
        assert_eq!(reply.header("access-control-allow-methods"), Some("HEAD, GET"), "{method}");
        assert_eq!(reply.header("access-control-allow-origin"), Some(origin.1), "{method}");
        assert_eq!(reply.header("access-control-max-age"), Some("86400"), "{method}");
        assert_eq!(reply.header("vary"), Some(VARIES), "{method}");
    }
    for method in ["POST", "DELETE", "get", ""] {
        let reply = preflight(&[origin, ("Access-Control-Request-Method", method)]).await;
        assert_eq!((reply.status, reply.text()), (400, "Requested method is not allowed"), "{method}");
        assert_eq!(reply.header("access-control-allow-methods"), None, "{method}");
    }
    assert_eq!(preflight(&[origin]).await.status, 405, "no preflight: it asks for nothing");
    assert_eq!(preflight(&[("Access-Control-Request-Method", "GET")]).await.status, 405, "no preflight: no origin");
    assert_eq!(site.graph("x").await.text(), EMPTY);
}
