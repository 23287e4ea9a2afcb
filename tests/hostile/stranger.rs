//! A server that says what an attack wants it to, whoever asks.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use serde::Deserialize;

/// What is said to one request.
#[derive(Debug, Clone)]
pub(crate) struct Said {
    pub(crate) status: u16,
    /// Lines of the head, besides the length.
    pub(crate) head: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
    pub(crate) end: End,
}

/// How an answer ends.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum End {
    /// After its body.
    #[default]
    Whole,
    /// Never: the body is said again and again.
    Endless,
    /// Never: nothing more is said.
    Stalled,
}

impl Said {
    pub(crate) fn json(body: impl Into<Vec<u8>>) -> Self {
        let head = vec![("content-type".to_owned(), "application/json".to_owned())];
        Said { status: 200, head, body: body.into(), end: End::Whole }
    }

    /// Names the answer, so that whoever knows it already is not sent it again.
    pub(crate) fn named(mut self, name: &str) -> Self {
        self.head.push(("etag".to_owned(), format!("\"{name}\"")));
        self
    }

    /// Whether the answer has this name.
    fn is_named(&self, name: &str) -> bool {
        self.head.iter().any(|(header, value)| header == "etag" && value == name)
    }
}

type Script = Arc<Mutex<Box<dyn Fn(&str) -> Said + Send>>>;

/// A server on this machine.
pub(crate) struct Stranger {
    pub(crate) host: String,
    script: Script,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Stranger {
    /// Starts one that answers a path, or the body of a request after it.
    pub(crate) fn start(script: impl Fn(&str) -> Said + Send + 'static) -> Self {
        let socket = TcpListener::bind("127.0.0.1:0").unwrap();
        let host = socket.local_addr().unwrap().to_string();
        let script: Script = Arc::new(Mutex::new(Box::new(script)));
        let asked = Arc::<Mutex<Vec<String>>>::default();
        let (said, requests) = (script.clone(), asked.clone());
        thread::spawn(move || {
            for stream in socket.incoming().map_while(Result::ok) {
                let (said, requests) = (said.clone(), requests.clone());
                // Whoever goes away while it is told something has had enough.
                thread::spawn(move || answer(stream, &said, &requests));
            }
        });
        Stranger { host, script, asked }
    }

    /// The same server by a name that makes it another host.
    pub(crate) fn other_host(&self) -> String {
        self.host.replace("127.0.0.1", "localhost")
    }

    /// The paths that were asked for.
    pub(crate) fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }

    pub(crate) fn says(&self, script: impl Fn(&str) -> Said + Send + 'static) {
        *self.script.lock().unwrap() = Box::new(script);
    }
}

fn answer(stream: TcpStream, script: &Script, requests: &Mutex<Vec<String>>) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream);
    let mut request = String::new();
    reader.read_line(&mut request)?;
    let (mut length, mut known) = (0, None);
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        if line.trim().is_empty() {
            break;
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap_or(0);
        }
        if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("if-none-match")
        {
            known = Some(value.trim().to_owned());
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    let path = request.split(' ').nth(1).unwrap_or_default();
    requests.lock().unwrap().push(path.to_owned());
    let asked = format!("{path} {}", String::from_utf8_lossy(&body));
    let mut said = script.lock().unwrap()(&asked);
    if known.is_some_and(|name| said.is_named(&name)) {
        (said.status, said.body) = (304, Vec::new());
    }
    let mut head = said.head;
    if said.end == End::Whole {
        head.push(("content-length".to_owned(), said.body.len().to_string()));
    }
    let lines: String = head.iter().map(|(name, value)| [name, ": ", value, "\r\n"].concat()).collect();
    let mut stream = reader.into_inner();
    let status = format!("HTTP/1.1 {} X\r\nconnection: close\r\n", said.status);
    stream.write_all(format!("{status}{lines}\r\n").as_bytes())?;
    stream.write_all(&said.body)?;
    match said.end {
        End::Whole => Ok(()),
        End::Endless => loop {
            stream.write_all(&said.body)?;
        },
        // Until the other side has had enough.
        End::Stalled => stream.read_to_end(&mut Vec::new()).map(drop),
    }
}
