//! `clearway serve` as a process: what it says, what signals do to it, and why it does not start.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, ChildStderr, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use super::Place;

/// Lines of a log that are read before a test gives up.
const LINES: usize = 200;

/// A service at work, and its log.
struct Served {
    child: Child,
    log: BufReader<ChildStderr>,
    port: u16,
}

impl Served {
    fn start(place: &Place, arguments: &[&str]) -> Self {
        let always = ["serve", "--listen", "127.0.0.1:0", "--status-listen", "127.0.0.1:0", "--refresh", "1h"];
        let mut command = place.command(&[&always[..], arguments].concat());
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let log = BufReader::new(child.stderr.take().unwrap());
        let mut served = Served { child, log, port: 0 };
        let line = served.line_with("serving on http://127.0.0.1:");
        let port = line.split("127.0.0.1:").nth(1).unwrap().split('/').next().unwrap();
        served.port = port.parse().unwrap();
        served
    }

    /// The next line of the log that holds a text.
    fn line_with(&mut self, text: &str) -> String {
        let mut seen = String::new();
        for _ in 0..LINES {
            let mut line = String::new();
            if self.log.read_line(&mut line).unwrap() == 0 {
                break;
            }
            if line.contains(text) {
                return line;
            }
            seen.push_str(&line);
        }
        panic!("no line with `{text}`:\n{seen}");
    }

    fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(i32::try_from(self.child.id()).unwrap()).unwrap();
        kill_process(pid, signal).unwrap();
    }

    fn get(&self, path: &str) -> String {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.set_read_timeout(Some(clearway_testbed::IN_TIME)).unwrap();
        write!(stream, "GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn with_graph_data() -> Place {
    let place = Place::new();
    place.write("data/version", "1.1.0\n");
    place.write("data/channels/c.yaml", "name: c\nversions: [1.0.0, 1.1.0]\n");
    place.write(
        "data/releases/r.yaml",
        "- {version: 1.0.0, arch: amd64, payload: example.com/p:1.0.0}\n- {version: 1.1.0, arch: amd64, payload: \
         example.com/p:1.1.0, previous: [1.0.0]}\n",
    );
    place
}

#[test]
fn it_serves_until_it_is_told_to_stop() {
    let place = with_graph_data();
    let mut served = Served::start(&place, &["--graph", "data", "--prefix", "updates"]);
    served.line_with("published");
    let answer = served.get("/updates/graph?channel=c");
    assert!(answer.starts_with("HTTP/1.1 200") && answer.contains(r#""edges":[[0,1]]"#), "{answer}");
    served.signal(Signal::TERM);
    served.line_with("stopping");
    assert_eq!(served.child.wait().unwrap().code(), Some(0));
}

#[test]
fn a_second_signal_ends_it_at_once_while_requests_are_under_way() {
    for second in [Signal::TERM, Signal::INT] {
        let place = with_graph_data();
        place.write("data/signatures/sha256/ab/signature-1", "x".repeat(32 << 20));
        let patient = ["--graph", "data", "--drain", "10m", "--write-timeout", "10m"];
        let mut served = Served::start(&place, &patient);
        served.line_with("published");
        // Somebody who asks for much and takes little of it.
        let mut client = TcpStream::connect(("127.0.0.1", served.port)).unwrap();
        let path = "/api/upgrades_info/signatures/sha256=ab/signature-1";
        write!(client, "GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
        client.read_exact(&mut [0; 100]).unwrap();
        served.signal(Signal::TERM);
        served.line_with("stopping");
        served.signal(second);
        assert_eq!(served.child.wait().unwrap().code(), Some(3), "{second:?}");
    }
}

#[test]
fn a_hang_up_makes_it_look_and_bad_data_are_told_and_not_served() {
    let place = with_graph_data();
    let mut served = Served::start(&place, &["--graph", "data", "--log-format", "json"]);
    served.line_with("published");
    let before = served.get("/api/upgrades_info/graph?channel=c");
    place.write("data/channels/c.yaml", "name: [\n");
    served.signal(Signal::HUP);
    let finding: serde_json::Value = serde_json::from_str(&served.line_with("channels/c.yaml")).unwrap();
    assert_eq!((finding["level"].as_str(), finding["code"].is_string()), (Some("ERROR"), true), "{finding}");
    served.line_with("the last good revision is still served");
    let body = |answer: &str| answer.split("\r\n\r\n").nth(1).unwrap().to_owned();
    assert_eq!(body(&served.get("/api/upgrades_info/graph?channel=c")), body(&before));
}

#[test]
fn what_it_cannot_start_with_is_said_in_one_line() {
    let place = with_graph_data();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    fs::write(place.path().join("file"), "").unwrap();
    for (arguments, said) in [
        (&["--graph", "data", "--listen", &address][..], "cannot listen on 127.0.0.1:"),
        (&["--graph", "oci://no spaces/here"], "no spaces"),
        (&["--graph", "data", "--registry", "nowhere"], "nowhere"),
        (&["--upstream", "ftp://example.com"], "https:// or http://"),
        (&["--upstream", "https://example.com", "--mirror", "/amd64"], "`/amd64` is not a channel"),
        (&["--upstream", "https://example.com", "--mirror", "c/AMD"], "`c/AMD` is not a channel"),
        (&["--upstream", "https://example.com", "--mirror", "a/../b/amd64"], "a/../b/amd64"),
        (&["--graph", "data", "--cache", "file"], "file"),
        (&["--graph", "data", "--log", "="], "is not a log filter"),
        (&[], "--graph"),
        (&["--graph", "data", "--mirror", "c"], "--upstream"),
    ] {
        let always = ["serve", "--listen", "127.0.0.1:0", "--status-listen", "127.0.0.1:0"];
        let own_address = arguments.contains(&"--listen");
        let always = if own_address { &["serve", "--status-listen", "127.0.0.1:0"][..] } else { &always[..] };
        let answer = place.run(&[always, arguments].concat());
        assert_eq!(answer.code, 3, "{arguments:?}: {answer:?}");
        assert!(answer.err.contains(said), "{arguments:?}: {answer:?}");
    }
}
