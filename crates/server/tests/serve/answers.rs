//! What is at which path, for which method, with which parameters, as which media type; and what clients are told who
//! ask for anything else (U4, U16).

use serde_json::json;

use crate::client::{Client, ask};
use crate::site::{CANDIDATE, Data, EMPTY, PREFIX, Site};

const VENDOR: &str = "application/vnd.redhat.cincinnati.v1+json";
const JSON: &str = "application/json";

#[tokio::test]
async fn every_path_leads_to_one_thing_and_any_other_to_an_empty_404() {
    let data = Data::example();
    data.write("signatures/sha256/ab12/signature-1", b"\x00signed\xff");
    let site = Site::start(data.config()).await;
    for (path, status, content_type) in [
        ("/graph?channel=stable-1.5", 200, Some(VENDOR)),
        ("/v1/graph?channel=stable-1.5", 200, Some(VENDOR)),
        ("/openapi", 200, Some(JSON)),
        ("/v1/openapi", 200, Some(JSON)),
        ("/graph-data", 200, Some("application/gzip")),
        ("/signatures/sha256=ab12/signature-1", 200, Some("application/octet-stream")),
        ("/graph/?channel=stable-1.5", 404, None),
        ("/v1/graph/", 404, None),
        ("/v2/graph?channel=stable-1.5", 404, None),
        ("/openapi/", 404, None),
        ("/graph-data/", 404, None),
        ("/v1/graph-data", 404, None),
        ("/signatures", 404, None),
        ("/signatures/", 404, None),
        ("/signatures/sha256=ab12", 404, None),
        ("/Graph?channel=stable-1.5", 404, None),
        ("//graph?channel=stable-1.5", 404, None),
        ("/../upgrades_info/graph?channel=stable-1.5", 404, None),
        ("", 404, None),
        ("/", 404, None),
    ] {
        let reply = site.get(&format!("{PREFIX}{path}")).await;
        assert_eq!((reply.status, reply.header("content-type")), (status, content_type), "{path}");
        assert_eq!(reply.body.is_empty(), status == 404, "{path}");
        assert_eq!(reply.header("content-length"), Some(reply.body.len().to_string().as_str()), "{path}");
        assert!(reply.header("vary").unwrap().contains("Origin"), "{path}");
    }
    for path in ["/", "/graph?channel=stable-1.5", "/api/upgrades_infograph?channel=x", "*"] {
        assert_eq!(site.get(path).await.status, 404, "{path}");
    }
    // The address of a proxy's client is an address as well.
    let absolute = site.get(&format!("http://elsewhere.example.com{CANDIDATE}")).await;
    assert_eq!(absolute.body, site.get(CANDIDATE).await.body);
}

#[tokio::test]
async fn the_prefix_is_free_and_its_slashes_do_not_matter() {
    let data = Data::of(&["1.0.0"]);
    for (prefix, path) in [("", "/graph"), ("/", "/graph"), ("//a/b//", "/a/b/graph"), ("a", "/a/graph")] {
        let mut config = data.config();
        config.service.prefix = prefix.to_owned();
        let site = Site::start(config).await;
        assert_eq!(site.get(&format!("{path}?channel=c")).await.versions(), ["1.0.0"], "{prefix}");
        assert_eq!(site.get(CANDIDATE).await.status, 404, "{prefix}");
        let described = site.get(&path.replace("graph", "openapi")).await.json();
        assert!(described["paths"].get(path).is_some(), "{prefix}");
    }
}

#[tokio::test]
async fn head_is_get_without_the_body() {
    let data = Data::example();
    data.write("signatures/sha256/ab12/signature-1", "signed");
    let site = Site::start(data.config()).await;
    let plain: &[(&str, &str)] = &[];
    for (path, headers) in [
        ("/graph?channel=candidate-1.5", plain),
        ("/graph?channel=candidate-1.5", &[("Accept-Encoding", "gzip"), ("Accept", JSON)]),
        ("/graph?channel=nobody-knows", plain),
        ("/graph", plain),
        ("/openapi", &[("Accept-Encoding", "br")]),
        ("/graph-data", plain),
        ("/signatures/sha256=ab12/signature-1", plain),
        ("/nothing", plain),
    ] {
        let target = format!("{PREFIX}{path}");
        // One connection: a body where none belongs would be taken for the next answer.
        let mut client = Client::connect(site.address).await;
        let mut head = client.ask("HEAD", &target, headers).await.unwrap();
        let mut get = client.ask("GET", &target, headers).await.unwrap();
        head.headers.remove("date");
        get.headers.remove("date");
        if get.body.is_empty() {
            // The length of nothing may be left unsaid.
            get.headers.remove("content-length");
        }
        assert_eq!((head.status, head.headers), (get.status, get.headers), "{path}");
        assert!(head.body.is_empty(), "{path}");
    }
}

#[tokio::test]
async fn other_methods_are_told_what_is_allowed() {
    let data = Data::of(&["1.0.0"]);
    let site = Site::start(data.config()).await;
    for method in ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "PROPFIND", "get"] {
        for path in ["/graph?channel=c", "/openapi", "/graph-data", "/signatures/sha256=ab/signature-1"] {
            let reply = ask(site.address, method, &format!("{PREFIX}{path}"), &[]).await;
            let seen = (reply.status, reply.header("allow"), reply.body.len(), reply.header("content-type"));
            assert_eq!(seen, (405, Some("GET, HEAD"), 0, None), "{method} {path}");
        }
        assert_eq!(ask(site.address, method, "/nothing", &[]).await.status, 404, "{method}");
    }
}

#[tokio::test]
async fn parameters_are_read_as_cincinnati_reads_them() {
    let data = Data::example();
    let site = Site::start(data.config()).await;
    let whole = |channel: &'static str, arch: &'static str| {
        let site = &site;
        async move { site.get(&format!("{PREFIX}/graph?channel={channel}&arch={arch}")).await.body }
    };
    let (stable, fast, arm) =
        (whole("stable-1.5", "amd64").await, whole("fast-1.5", "amd64").await, whole("stable-1.5", "arm64").await);
    assert!(stable != fast && stable != arm && stable.len() > 1000);
    let empty = EMPTY.as_bytes().to_vec();
    for (query, want) in [
        ("channel=stable-1.5", &stable),
        ("channel=stable-1.5&arch=amd64", &stable),
        ("arch=arm64&channel=stable-1.5", &arm),
        ("channel=fast-1.5&id=11111111-2222&version=1.4.0", &fast),
        ("channel=stable-1.5&content_type=text/html&nonsense", &stable),
        // Of two the last one counts.
        ("channel=fast-1.5&channel=stable-1.5", &stable),
        ("channel=stable-1.5&arch=arm64&arch=amd64", &stable),
        ("channel=Wrong&channel=stable-1.5", &stable),
        // Escapes in names and values.
        ("chan%6eel=stable%2D1%2e5", &stable),
        // Nobody declared it: never 404, and never somebody else's edges.
        ("channel=stable-1.6", &empty),
        ("channel=stable", &empty),
        ("channel=table-1.5", &empty),
        ("channel=..", &empty),
        ("channel=stable-1.5&arch=s390x", &empty),
        ("channel=stable-1.5&arch=multi", &empty),
        ("channel=stable-1.5&arch=arm", &empty),
        ("channel=stable-1.5&arch=4", &empty),
    ] {
        for path in ["graph", "v1/graph"] {
            let reply = site.get(&format!("{PREFIX}/{path}?{query}")).await;
            assert_eq!(reply.status, 200, "{query}");
            assert!(reply.body == *want, "{query}: {}", reply.text());
        }
    }
}

#[tokio::test]
async fn errors_have_the_bytes_that_clients_know_and_name_the_field() {
    let data = Data::example();
    let site = Site::start(data.config()).await;
    let channel = |value: &str| {
        let value = format!(r"invalid client parameters: channel '{value}' does not match regex '^[0-9a-z\-\.]+$'");
        (400, json!({"kind": "invalid_params", "value": value}).to_string())
    };
    let arch = |value: &str| {
        let value = format!("invalid client parameters: arch '{value}' does not match regex '^[0-9a-z]+$'");
        (400, json!({"kind": "invalid_params", "value": value}).to_string())
    };
    let invalid = |value: &str| (400, json!({"kind": "invalid_params", "value": value}).to_string());
    let missing =
        || (400, r#"{"kind":"missing_params","value":"mandatory client parameters missing: channel"}"#.to_owned());
    for (path, (status, body)) in [
        ("graph", missing()),
        ("v1/graph", missing()),
        ("graph?", missing()),
        ("graph?arch=AMD", missing()),
        ("graph?Channel=stable-1.5", missing()),
        ("graph?channel=", channel("")),
        ("graph?channel", channel("")),
        ("graph?channel=Foo", channel("Foo")),
        ("graph?channel=stable-1.5&channel=", channel("")),
        ("graph?channel=a%zzb", channel("a%zzb")),
        ("graph?channel=stable%201.5", channel("stable 1.5")),
        ("graph?channel=stable+1.5", channel("stable 1.5")),
        ("graph?channel=stable-1.5%0A", channel("stable-1.5\n")),
        ("graph?channel=%C3%BC", channel("ü")),
        ("graph?channel=%22%5C%00", channel("\"\\\0")),
        ("graph?channel=stable-1.5&arch=AMD", arch("AMD")),
        ("graph?channel=stable-1.5&arch=", arch("")),
        ("graph?channel=stable-1.5&arch=x86-64", arch("x86-64")),
        ("signatures/sha256/signature-1", invalid("provided digest is in incorrect format: sha256")),
        ("signatures/sha256=../signature-1", invalid("provided digest is in incorrect format: sha256=..")),
        ("signatures/md5=ab/signature-1", invalid("algo not supported: md5")),
        (
            "signatures/sha256=ab/signature-9",
            (404, r#"{"kind":"does_not_exist","value":"does not exist: signature sha256=ab/signature-9"}"#.to_owned()),
        ),
    ] {
        let reply = site.get(&format!("{PREFIX}/{path}")).await;
        assert_eq!((reply.status, reply.text()), (status, body.as_str()), "{path}");
        assert_eq!(reply.header("content-type"), Some(JSON), "{path}");
        assert_eq!(reply.header("cache-control"), Some("no-store"), "{path}");
        assert_eq!(reply.header("etag"), None, "{path}");
    }
    assert_eq!(site.metric("clearway_http_errors_total{kind=\"missing_params\",code=\"400\"}"), Some(5));
}

#[tokio::test]
async fn accept_is_read_as_the_standard_says_and_browsers_get_json() {
    const BROWSER: &str = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8";
    let data = Data::example();
    let site = Site::start(data.config()).await;
    let whole = site.get(CANDIDATE).await;
    assert_eq!(whole.header("content-type"), Some(VENDOR), "without Accept");
    for (accept, content_type) in [
        ("*", Some(JSON)),
        ("*/*", Some(JSON)),
        ("application/*", Some(JSON)),
        (JSON, Some(JSON)),
        (VENDOR, Some(VENDOR)),
        ("application/json, */*", Some(JSON)),
        ("APPLICATION/JSON", Some(JSON)),
        ("application/json;q=0.5, application/vnd.redhat.cincinnati.v1+json", Some(VENDOR)),
        (BROWSER, Some(JSON)),
        ("text/html", None),
        ("application/json;q=0", None),
        ("", None),
    ] {
        let reply = site.get_with(CANDIDATE, &[("Accept", accept)]).await;
        if content_type.is_some() {
            assert_eq!((reply.status, reply.header("content-type")), (200, content_type), "{accept}");
            assert!(reply.body == whole.body, "{accept}");
        } else {
            assert_eq!(reply.status, 406, "{accept}");
            assert_eq!(reply.text(), r#"{"kind":"invalid_content_type","value":"invalid Content-Type requested"}"#);
            assert_eq!(reply.header("content-type"), Some(JSON), "{accept}");
        }
    }
    // What the client takes is looked at before what it asks for.
    let both = site.get_with(&format!("{PREFIX}/graph"), &[("Accept", "text/html")]).await;
    assert_eq!(both.status, 406);
    // What has one type only is sent to everybody.
    for path in ["openapi", "graph-data"] {
        assert_eq!(site.get_with(&format!("{PREFIX}/{path}"), &[("Accept", "text/html")]).await.status, 200, "{path}");
    }
}
