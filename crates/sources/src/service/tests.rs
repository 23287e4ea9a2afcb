//! A service on this machine, which says exactly what a test wants.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc;
use std::thread;

use super::*;

/// Answers one request with some bytes and tells what was asked. The connection is closed behind it, or held open.
fn server(answer: impl FnOnce(&mut TcpStream) + Send + 'static) -> (String, mpsc::Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (asked, heard) = mpsc::channel();
    thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut request = Vec::new();
        while !request.ends_with(b"\r\n\r\n") && request.len() < 1 << 16 {
            let mut byte = [0];
            if stream.read(&mut byte).unwrap_or(0) == 0 {
                break;
            }
            request.push(byte[0]);
        }
        let _ = asked.send(String::from_utf8(request).unwrap());
        answer(&mut stream);
    });
    (format!("http://{address}/api/upgrades_info"), heard)
}

/// One that answers with a head and a body.
fn says(head: &'static str, body: impl Into<Vec<u8>>) -> (String, mpsc::Receiver<String>) {
    let body = body.into();
    server(move |stream| {
        let head = format!("HTTP/1.1 {head}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n", body.len());
        let _ = stream.write_all(&[head.as_bytes(), &body].concat());
    })
}

fn run<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

fn asked(url: &str, options: &HttpOptions, known: Option<&EntityTag>) -> Result<Answer, ServiceError> {
    let service = Service::new(&Address::from(url), options).unwrap();
    run(service.answer("stable-1", &Arch::default(), known))
}

fn refused(url: &str, options: &HttpOptions) -> String {
    let error = asked(url, options, None).unwrap_err();
    assert!(error.to_string().contains("/graph?channel=stable-1&arch=amd64"), "{error}");
    error.to_string()
}

#[test]
fn credentials_and_tokens_are_never_shown() {
    let secret = |url: &str| url.replacen("http://", "http://me:hunter2@", 1) + "?token=hunter2";
    let gone = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let (repeating, _heard) =
        says("403 Forbidden", r#"{"kind":"no","value":"http://me:hunter2@h/graph?token=hunter2 is forbidden"}"#);
    let (elsewhere, _heard) = says("302 Found\r\nlocation: http://me:hunter2@elsewhere.example.com/?token=hunter2", "");
    let (page, heard) = says("200 OK", "<html>");
    let mut shown = Vec::new();
    for url in [format!("http://{gone}/p"), repeating, elsewhere, page] {
        let service = Service::new(&Address::from(secret(&url).as_str()), &HttpOptions::default()).unwrap();
        let error = run(service.answer("stable-1", &Arch::default(), None)).unwrap_err();
        shown.extend([format!("{service:?}"), service.base(), format!("{error:?}"), error.to_string()]);
    }
    for url in ["ftp://me:hunter2@h/?token=hunter2", "me:hunter2@h/?token=hunter2", "https://me:hunter2@?token=hunter2"]
    {
        let error = Service::new(&Address::from(url), &HttpOptions::default()).unwrap_err();
        shown.extend([format!("{error:?}"), error.to_string()]);
    }
    assert!(shown.iter().all(|text| !text.contains("hunter2")), "{shown:#?}");
    // They are sent all the same.
    let asked = heard.recv().unwrap();
    assert!(asked.contains("token=hunter2") && asked.contains("authorization: Basic"), "{asked}");
}

#[test]
fn an_address_is_read_with_or_without_what_stands_below_the_base() {
    for (url, base, graph, channel, arch) in [
        ("https://h/api/upgrades_info", "https://h/api/upgrades_info", "https://h/api/upgrades_info/graph", None, None),
        ("https://h/p/", "https://h/p", "https://h/p/graph", None, None),
        ("https://h/p/graph", "https://h/p", "https://h/p/graph", None, None),
        ("https://h/p/graph-data", "https://h/p", "https://h/p/graph", None, None),
        (
            "https://h/p/v1/graph?channel=a&arch=arm64#x",
            "https://h/p",
            "https://h/p/v1/graph",
            Some("a"),
            Some("arm64"),
        ),
        ("http://h:8080/?channel=", "http://h:8080", "http://h:8080/graph", None, None),
        ("https://u:secret@h/p/graph?token=t&channel=a", "https://h/p", "https://h/p/graph", Some("a"), None),
    ] {
        let service = Service::new(&Address::from(url), &HttpOptions::default()).unwrap();
        assert_eq!((service.base().as_str(), service.graph.to_string().as_str()), (base, graph), "{url}");
        assert_eq!((service.channel(), service.arch()), (channel, arch), "{url}");
    }
    for (url, why) in [("ftp://h/", "begin with https://"), ("h/graph", "relative URL"), ("https://", "empty host")] {
        let error = Service::new(&Address::from(url), &HttpOptions::default()).unwrap_err().to_string();
        assert!(error.contains(why), "{url}: {error}");
    }
}

/// `spec.upstream` is taken as OpenShift's operator takes it.
#[test]
fn an_address_that_an_administrator_wrote_is_asked_as_it_is() {
    for (url, graph) in [
        ("https://h/graph.json", "https://h/graph.json"),
        ("https://h/a/b/graph.json?token=t", "https://h/a/b/graph.json"),
        ("https://h", "https://h/"),
        ("https://h/p/", "https://h/p/"),
        ("https://h/p/v1/graph", "https://h/p/v1/graph"),
        ("https://h/api/upgrades_info/graph", "https://h/api/upgrades_info/graph"),
        ("https://h/api/upgrades_info/v1/graph", "https://h/api/upgrades_info/v1/graph"),
        ("https://h/api/upgrades_info", "https://h/api/upgrades_info/graph"),
        ("https://h/own/api/upgrades_info/", "https://h/own/api/upgrades_info/graph"),
        ("https://h/api/upgrades_info/v1", "https://h/api/upgrades_info/v1/graph"),
        ("https://h/own/api/upgrades_info/v1/", "https://h/own/api/upgrades_info/v1/graph"),
        ("https://h/v1", "https://h/v1"),
    ] {
        let service = Service::as_written(&Address::from(url), &HttpOptions::default()).unwrap();
        assert_eq!(service.graph.to_string(), graph, "{url}");
    }
}

#[test]
fn a_service_can_be_shared_between_tasks() {
    fn check<T: Send + Sync + 'static>(_: &T) {}
    fn check_future<T: Send>(_: T) {}
    let service = Service::new(&Address::from("https://h/"), &HttpOptions::default()).unwrap();
    check(&service);
    check_future(service.answer("a", &Arch::default(), None));
    check_future(service.graph_data(&Limits::default()));
}

#[test]
fn an_answer_comes_with_what_it_is_known_by_and_its_age() {
    let (url, heard) = says("200 OK\r\netag: \"r1\"\r\nage: 42", "{\"nodes\":[]}");
    let Ok(Answer::Body { bytes, validator, age }) = asked(&url, &HttpOptions::default(), None) else { panic!() };
    assert_eq!((bytes.as_ref(), age), (&b"{\"nodes\":[]}"[..], Some(Duration::from_secs(42))));
    let request = heard.recv().unwrap();
    let opening = "GET /api/upgrades_info/graph?channel=stable-1&arch=amd64 HTTP/1.1\r\n";
    assert!(request.starts_with(opening), "{request}");
    for header in ["accept: application/json\r\n", "accept-encoding: gzip\r\n", "user-agent: clearway/"] {
        assert!(request.contains(header), "{request}");
    }

    let known = validator.unwrap();
    let (url, heard) = says("304 Not Modified", "");
    assert_eq!(asked(&url, &HttpOptions::default(), Some(&known)).unwrap(), Answer::NotModified { age: None });
    assert!(heard.recv().unwrap().contains("if-none-match: \"r1\"\r\n"));
}

#[test]
fn a_packed_answer_is_unpacked_within_the_limit() {
    use flate2::{Compression, write::GzEncoder};
    let packed = |text: &str| {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(text.as_bytes()).unwrap();
        encoder.finish().unwrap()
    };
    let (url, _heard) = says("200 OK\r\ncontent-encoding: gzip", packed("{\"nodes\":[]}"));
    let answer = asked(&url, &HttpOptions::default(), None).unwrap();
    assert!(matches!(answer, Answer::Body { bytes, .. } if bytes.as_ref() == b"{\"nodes\":[]}"));
    let (url, _heard) = says("200 OK\r\ncontent-encoding: gzip", packed(&" ".repeat(1 << 20)));
    let small = HttpOptions { body_bytes: 1 << 16, ..HttpOptions::default() };
    assert!(refused(&url, &small).ends_with("the answer is larger than 65536 bytes (the cap `answer_bytes`)"));
}

#[test]
fn what_is_no_answer_is_said_in_one_sentence() {
    let options = HttpOptions::default();
    for (head, body, want) in [
        (
            "400 Bad Request",
            "{\"kind\":\"missing_params\",\"value\":\"mandatory client parameters missing: channel\"}",
            "the service answers 400: mandatory client parameters missing: channel",
        ),
        ("404 Not Found", "", "the service answers 404"),
        ("502 Bad Gateway", "<html>nginx</html>", "the service answers 502"),
        ("304 Not Modified", "", "the service answers 304"),
        ("200 OK", "<!doctype html>", "the answer is a web page, not a graph"),
        ("200 OK", "", "the answer is empty; the service may not be ready yet"),
        ("200 OK", "no graph", "the answer is not a graph in JSON"),
    ] {
        let (url, _heard) = says(head, body);
        let error = refused(&url, &options);
        assert!(error.ends_with(want), "{head}: {error}");
    }
    let gone = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    assert!(refused(&format!("http://{gone}/"), &options).contains("cannot be reached: Connection refused"));
}

#[test]
fn a_body_without_an_end_is_given_up() {
    let (url, _heard) = server(|stream| {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n");
        // Until the other side has had enough, or it took far too much.
        let chunk = format!("400\r\n{}\r\n", "{".repeat(0x400));
        (0..1 << 20).all(|_| stream.write_all(chunk.as_bytes()).is_ok());
    });
    let small = HttpOptions { body_bytes: 1 << 20, ..HttpOptions::default() };
    assert!(refused(&url, &small).ends_with("larger than 1048576 bytes (the cap `answer_bytes`)"));

    let (url, _heard) = server(|stream| {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{");
        // The rest never comes; the other side hangs up.
        let _ = stream.read(&mut [0]);
    });
    let short = HttpOptions { timeout: Duration::from_millis(200), ..HttpOptions::default() };
    assert!(refused(&url, &short).ends_with("no complete answer within 200ms"));
}

#[test]
fn graph_data_is_unpacked_or_said_to_be_none() {
    let data = |body: &[u8]| {
        let (url, heard) = says("200 OK", body);
        let service = Service::new(&Address::from(url.as_str()), &HttpOptions::default()).unwrap();
        let outcome = run(service.graph_data(&Limits::default()));
        assert!(heard.recv().unwrap().starts_with("GET /api/upgrades_info/graph-data HTTP/1.1\r\n"));
        outcome
    };
    let mut builder = tar::Builder::new(Vec::new());
    for (path, text) in [("version", "1.1.0\n"), ("channels/a.yaml", "name: a\nversions: []\n")] {
        let mut header = tar::Header::new_gnu();
        header.set_size(text.len() as u64);
        builder.append_data(&mut header, path, text.as_bytes()).unwrap();
    }
    let archive = builder.into_inner().unwrap();
    assert_eq!(data(&archive).unwrap().iter().count(), 2);
    let error = data(b"<html>").unwrap_err();
    assert!(
        error.to_string().ends_with("/graph-data: not an archive of graph-data (tar, or tar compressed with gzip)")
    );
    assert_eq!(error.kind(), "not_graph_data");
}

#[test]
fn what_is_too_large_is_refused_with_the_cap() {
    let (url, _heard) = says("200 OK", "{}  ".repeat(10));
    let service = Service::new(&Address::from(url.as_str()), &HttpOptions::default()).unwrap();
    let mut limits = Limits::default();
    limits.graph.packed_bytes = 39;
    let error = run(service.graph_data(&limits)).unwrap_err().to_string();
    assert!(error.ends_with("the answer is larger than 39 bytes (the cap `packed_bytes`)"), "{error}");
    let (url, _heard) = says("200 OK", "{}  ".repeat(10));
    let error = refused(&url, &HttpOptions { body_bytes: 39, ..HttpOptions::default() });
    assert!(error.ends_with("the answer is larger than 39 bytes (the cap `answer_bytes`)"), "{error}");
}
