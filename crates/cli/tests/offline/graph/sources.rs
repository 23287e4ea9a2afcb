//! `clearway graph` on everything that `--graph` may name: a directory, an archive, an answer, a service (U1, U22).

use std::fmt::Write as _;
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::thread;

use flate2::Compression;
use flate2::write::GzEncoder;
use snapbox::{assert_data_eq, file};

use crate::{Answer, Place};

/// More requests than any test here makes.
const REQUESTS: usize = 200;

/// The sample product as a directory, an archive and an answer, and a service that hands them out.
struct Product {
    place: Place,
    service: String,
}

/// What the service hands out.
struct Served {
    archive: Vec<u8>,
    without_releases: Vec<u8>,
    answer: Vec<u8>,
}

fn product() -> Product {
    let place = Place::new();
    let sample = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/graph-data");
    let mut files: Vec<(String, Vec<u8>)> = vec![("version".to_owned(), fs::read(sample.join("version")).unwrap())];
    for directory in ["blocked-edges", "channels", "raw", "releases", "risks"] {
        for entry in fs::read_dir(sample.join(directory)).unwrap() {
            let path = entry.unwrap().path();
            let name = format!("{directory}/{}", path.file_name().unwrap().to_str().unwrap());
            files.push((name, fs::read(path).unwrap()));
        }
    }
    for (name, content) in &files {
        place.write(&format!("data/{name}"), content);
    }
    let archive = packed(&files);
    place.write("data.archive", &archive);
    files.retain(|(name, _)| !name.starts_with("releases/"));
    let built = run(&place, "graph build --graph data --channel stable-1.5");
    assert_eq!(built.code, 0, "{built:?}");
    place.write("stable.answer", &built.out);
    let served = Served { archive, without_releases: packed(&files), answer: built.out.into_bytes() };
    Product { place, service: serve(served) }
}

fn packed(files: &[(String, Vec<u8>)]) -> Vec<u8> {
    let mut builder = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
    for (name, content) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(content.len() as u64);
        header.set_mode(0o644);
        builder.append_data(&mut header, format!("graph-data/{name}"), content.as_slice()).unwrap();
    }
    builder.into_inner().unwrap().finish().unwrap()
}

/// A service on this machine: its address.
fn serve(served: Served) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming().take(REQUESTS).flatten() {
            answer(stream, &served);
        }
    });
    format!("http://{address}")
}

/// Answers one request. The first part of the path says what kind of service it is.
fn answer(mut stream: TcpStream, served: &Served) {
    let mut request = Vec::new();
    while !request.ends_with(b"\r\n\r\n") && request.len() < 1 << 16 {
        let mut byte = [0];
        if stream.read(&mut byte).unwrap_or(0) == 0 {
            return;
        }
        request.push(byte[0]);
    }
    let request = String::from_utf8(request).unwrap();
    let target = request.split(' ').nth(1).unwrap().trim_start_matches('/');
    let (kind, endpoint) = target.split_once('/').unwrap_or((target, ""));
    let empty = br#"{"version":1,"nodes":[],"edges":[],"conditionalEdges":[]}"#;
    let missing = br#"{"kind":"missing_params","value":"mandatory client parameters missing: token"}"#;
    let (status, body): (&str, &[u8]) = match (kind, endpoint) {
        ("full" | "quiet", "graph?channel=stable-1.5&arch=amd64") => ("200 OK", &served.answer),
        ("full" | "quiet", endpoint) if endpoint.starts_with("graph?") => ("200 OK", empty),
        ("full", "graph-data") => ("200 OK", &served.archive),
        ("quiet", "graph-data") => ("200 OK", &served.without_releases),
        ("page", _) => ("200 OK", b"<!doctype html><title>Welcome</title>"),
        ("cut", _) => ("200 OK", &served.archive[..served.archive.len() / 2]),
        ("strict", _) => ("400 Bad Request", missing),
        ("endless", _) => {
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n");
            let chunk = format!("40000\r\n{}\r\n", "{".repeat(0x40000));
            // Until the other side has had enough, or it took far too much.
            (0..1 << 12).all(|_| stream.write_all(chunk.as_bytes()).is_ok());
            return;
        }
        _ => ("404 Not Found", b""),
    };
    let head = format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n", body.len());
    let _ = stream.write_all(&[head.as_bytes(), body].concat());
}

fn run(place: &Place, line: &str) -> Answer {
    let mut command = place.command(&line.split_whitespace().collect::<Vec<_>>());
    for name in ["http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"] {
        command.env_remove(name);
    }
    crate::answer(command.output().unwrap())
}

impl Product {
    fn run(&self, line: &str) -> Answer {
        run(&self.place, &line.replace("SERVICE", &self.service))
    }

    /// What commands come to, as a person sees it.
    fn transcript(&self, lines: &[&str]) -> String {
        let mut told = String::new();
        for line in lines {
            let Answer { code, out, err } = self.run(line);
            writeln!(told, "$ clearway {line}\n{out}{err}[exit code {code}]\n").unwrap();
        }
        told.replace(&self.service, "SERVICE")
    }
}

/// A drawing without what only some sources say about it.
fn without_caption(text: &str) -> String {
    let lines = text.lines().filter(|line| !line.starts_with("%% "));
    lines.map(|line| line.replace("stable-1.5 (amd64)", "stable-1.5") + "\n").collect()
}

#[test]
fn a_channel_is_the_same_wherever_it_comes_from() {
    let product = product();
    for (line, channel) in [
        ("graph show CHANNEL", "stable-1.5"),
        ("graph show CHANNEL -o json", "stable-1.5"),
        ("graph build CHANNEL", "--channel stable-1.5"),
        ("graph paths 1.4.0 1.5.2 CHANNEL", "--channel stable-1.5"),
        ("graph stranded CHANNEL --newest-patches", "stable-1.5"),
        ("graph render CHANNEL -o mermaid", "stable-1.5"),
    ] {
        let want = product.run(&format!("{} --graph data", line.replace("CHANNEL", channel)));
        assert!(want.code != 3 && !want.out.is_empty(), "{line}: {want:?}");
        for graph in ["data.archive", "stable.answer", "SERVICE/full", "SERVICE/quiet/graph"] {
            let named = product.run(&format!("{} --graph {graph}", line.replace("CHANNEL", channel)));
            // An answer does not say which revision it is of, and one in a file not for which architecture, so the drawing
            // cannot.
            let named = Answer { out: without_caption(&named.out), ..named };
            let want = Answer { out: without_caption(&want.out), err: want.err.clone(), ..want };
            assert_eq!(named, want, "{line} --graph {graph}");
        }
        // Where the channel is clear it need not be named.
        let unnamed = line.replace("CHANNEL", "");
        let from_url = product.run(&format!("{unnamed} --graph SERVICE/full/graph?channel=stable-1.5&arch=amd64"));
        let (from_url_out, want_out) = (without_caption(&from_url.out), without_caption(&want.out));
        assert_eq!((from_url.code, from_url_out), (want.code, want_out), "{line}");
        let from_answer = product.run(&format!("{unnamed} --graph stable.answer"));
        assert_eq!(from_answer.code, want.code, "{line}: {from_answer:?}");
    }
}

#[test]
fn everything_is_the_same_from_a_directory_an_archive_and_a_service() {
    let product = product();
    for line in [
        "graph lint",
        "graph lint -o json",
        "graph explain 1.4.2 1.5.0",
        "graph stranded",
        "graph convert -o blocks",
        "graph render stable-1.5 --blocked -o dot",
    ] {
        let want = product.run(&format!("{line} --graph data"));
        for graph in ["data.archive", "SERVICE/full"] {
            assert_eq!(product.run(&format!("{line} --graph {graph}")), want, "{line} --graph {graph}");
        }
    }
    let built = product.run("graph build --graph SERVICE/full --output-dir out");
    assert_eq!(built.code, 0, "{built:?}");
    let written = fs::read_to_string(product.place.path().join("out/stable-1.5_amd64.json")).unwrap();
    assert_eq!(product.run("graph build --graph stable.answer").out.trim_end(), written);
    let stream = fs::read(product.place.path().join("stable.answer")).unwrap();
    let streamed = product.place.run_with(&stream, &["graph", "show", "--graph", "-"]);
    assert_eq!(streamed.out, product.run("graph show --graph stable.answer").out);
}

#[test]
fn an_answer_is_explained_compared_and_checked_for_what_it_is() {
    let product = product();
    let mut bad: serde_json::Value =
        serde_json::from_slice(&fs::read(product.place.path().join("stable.answer")).unwrap()).unwrap();
    let risk = &mut bad["conditionalEdges"][0]["risks"][0];
    risk["url"] = "http://example.com".into();
    risk["matchingRules"] = serde_json::json!([{"type": "PromQL", "promql": {"promql": "up{"}}]);
    bad["edges"].as_array_mut().unwrap().push(serde_json::json!([0, 99]));
    bad["nodes"].as_array_mut().unwrap().push(serde_json::json!({"version": "soon"}));
    product.place.write("bad.answer", bad.to_string());
    let told = product.transcript(&[
        "graph explain 1.4.0 1.4.1 --graph stable.answer",
        "graph explain 1.4.2 1.5.0 --channel stable-1.5 --graph SERVICE/full",
        "graph explain 1.5.0 1.4.0 --graph SERVICE/quiet/graph?channel=stable-1.5 -o json",
        "graph lint --graph stable.answer",
        "graph lint --graph bad.answer",
        "graph lint --graph SERVICE/quiet/graph?channel=stable-1.5",
        "graph diff data SERVICE/full",
        "graph diff data stable.answer --channel stable-1.5",
        "graph diff stable.answer SERVICE/quiet --channel stable-1.5",
        "graph diff stable.answer bad.answer",
    ]);
    assert_data_eq!(&told, file!["../golden/graph_answers.txt"].raw());
}

#[test]
fn what_cannot_be_told_from_a_source_is_refused_in_one_sentence() {
    let product = product();
    product.place.write("page.html", "<!doctype html>");
    product.place.write("other.json", "{\"kind\":\"List\"}");
    let archive = fs::read(product.place.path().join("data.archive")).unwrap();
    product.place.write("cut.archive", &archive[..archive.len() / 2]);
    let told = product.transcript(&[
        "graph convert -o risks --graph stable.answer",
        "graph build --graph stable.answer --output-dir out",
        "graph build --graph SERVICE/full",
        "graph show --graph data",
        "graph show --graph SERVICE/full",
        "graph show beta --graph SERVICE/full",
        "graph show beta --graph stable.answer",
        "graph show --arch arm64 --graph stable.answer",
        "graph explain 1.4.0 9.9.9 --graph stable.answer",
        "graph explain 1.4.2 1.5.0 --graph SERVICE/quiet",
        "graph lint --graph SERVICE/quiet",
        "graph lint --graph data.archive --new-since HEAD",
        "graph render stable-1.5 --blocked --graph stable.answer",
        "graph show stable-1.5 --graph data.archive --rev HEAD",
        "graph show stable-1.5 --graph SERVICE/full --rev HEAD",
        "graph diff data stable.answer",
        "graph diff data data.archive --channel beta",
        "graph show --graph page.html",
        "graph show --graph other.json",
        "graph lint --graph cut.archive",
        "graph lint --graph SERVICE/page",
        "graph show stable-1.5 --graph SERVICE/page",
        "graph lint --graph SERVICE/cut",
        "graph lint --graph SERVICE/strict",
        "graph lint --graph SERVICE/nowhere",
        "graph show stable-1.5 --graph SERVICE/strict",
        "graph show stable-1.5 --graph SERVICE/endless",
        "graph lint --graph SERVICE/endless",
        "graph show stable-1.5 --graph http://",
        "graph show stable-1.5 --graph SERVICE/full --ca-file none.pem",
    ]);
    assert_eq!(told.matches("[exit code ").count(), told.matches("[exit code 3]").count(), "{told}");
    assert_data_eq!(&told, file!["../golden/graph_refused.txt"].raw());
}
