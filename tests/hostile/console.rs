//! Attacks on the web console: by whoever publishes the graph-data that it shows, and by clients that ask for much and read
//! nothing.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use clearway_testbed::IN_TIME;
use serde::Deserialize;

use crate::attack::{self, Content};
use crate::memory;
use crate::program::{COMMAND, Service, run, shortened};

/// Graph-data, and pages about it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Attack {
    /// What somebody tries.
    title: String,
    files: BTreeMap<String, Content>,
    /// Addresses below `/console/`, each with a text that its page has.
    pages: BTreeMap<String, String>,
    /// Commands that show the same.
    #[serde(default)]
    commands: Vec<String>,
}

/// Bytes of a page with its head, which `docs/limits.md` has.
const PAGE: usize = (16 << 20) + 4096;

/// A service with a console, on the graph-data of a place.
struct Site {
    service: Service,
    address: String,
}

impl Site {
    fn start(place: &Path) -> Self {
        let any = "127.0.0.1:0";
        let listen = ["--listen", any, "--status-listen", any, "--console-listen", any, "--log", "info"];
        let mut service = Service::start(place, &[&["serve", "--graph-data", "data"][..], &listen].concat());
        let line = service.line_with(&["console on http://"]);
        let address = line.split("console on http://").nth(1).unwrap().split('/').next().unwrap().to_owned();
        let site = Site { service, address };
        let begin = Instant::now();
        while site.get("").contains("No graph could be read yet") {
            assert!(begin.elapsed() < IN_TIME, "nothing is served");
            thread::sleep(Duration::from_millis(50));
        }
        site
    }

    /// Asks for a page, and reads nothing.
    fn ask(&self, page: &str) -> TcpStream {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(IN_TIME)).unwrap();
        let head = "HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
        stream.write_all(format!("GET /console/{page} {head}").as_bytes()).unwrap();
        stream
    }

    fn get(&self, page: &str) -> String {
        let mut bytes = Vec::new();
        self.ask(page).read_to_end(&mut bytes).unwrap();
        assert!(bytes.len() <= PAGE, "{page} has {} bytes", bytes.len());
        String::from_utf8(bytes).unwrap()
    }
}

/// A page without what its forms send back, which nobody sees.
fn shown(page: &str) -> String {
    let mut parts = page.split("<input type=\"hidden\"");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |all, part| all + part.split_once('>').map_or("", |(_, rest)| rest))
}

#[test]
fn graph_data_on_pages() {
    for (name, attack) in attack::all::<Attack>("console") {
        let what = format!("{name} ({})", attack.title);
        let place = tempfile::tempdir().unwrap();
        attack::write(&place.path().join("data"), &attack.files);
        let site = Site::start(place.path());
        for page in ["", "health", "risks", "revisions"] {
            let text = site.get(page);
            assert!(text.starts_with("HTTP/1.1 200 "), "{what}: {page}: {}", shortened(&text));
        }
        for (page, want) in &attack.pages {
            let text = site.get(page);
            assert!(text.contains(want), "{what}: {page}: {}", shortened(&text));
            let deceives = |letter: char| letter == '\u{202e}' || (letter.is_control() && !"\r\n\t".contains(letter));
            assert!(!shown(&text).contains(deceives), "{what}: {page}");
            assert!(!text.contains("<script>"), "{what}: {page}");
        }
        site.service.end(COMMAND);
        for command in &attack.commands {
            let words: Vec<&str> = command.split_whitespace().chain(["--graph", "data"]).collect();
            run(place.path(), &words);
        }
    }
}

/// Graph-data at its caps, with every page that lists much of it.
#[test]
fn graph_data_at_its_caps_on_pages() {
    let place = tempfile::tempdir().unwrap();
    memory::write(&place.path().join("data"), "as many channels as the cap allows");
    let site = Site::start(place.path());
    for page in ["", "risks", "channel?channel=c99998", "channel?channel=c99998&find=1"] {
        site.get(page);
    }
    site.service.end(COMMAND);
}

/// Clients that ask for different large pages and do not read them hold up nobody for long, and take no more memory.
#[test]
fn clients_that_do_not_read() {
    let place = tempfile::tempdir().unwrap();
    let versions = |each: &dyn Fn(usize) -> String| (0..1_000).map(each).collect::<String>();
    let files = [
        ("version".to_owned(), "1.2.0\n".to_owned()),
        (
            "channels/c.yaml".to_owned(),
            format!("name: c\nversions:\n{}", versions(&|patch| format!("- 1.0.{patch}\n"))),
        ),
        (
            "releases/r.yaml".to_owned(),
            versions(&|patch| format!("- {{version: 1.0.{patch}, arch: amd64, payload: 'r.example.com/p:{patch}'}}\n")),
        ),
    ];
    for (path, text) in files {
        let path = place.path().join("data").join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let site = Site::start(place.path());
    let silent: Vec<TcpStream> =
        (0..100).map(|patch| site.ask(&format!("channel?channel=c&find=1.0.{patch}"))).collect();
    // Either it is shown, or it says that too many pages are being sent.
    let text = site.get("health");
    assert!(text.contains("Graph-data") || text.contains("Too many pages"), "{}", shortened(&text));
    drop(silent);
    site.service.end(COMMAND);
}
