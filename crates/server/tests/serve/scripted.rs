//! An upstream service that says exactly what a test wants, and counts what it is asked.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use clearway_core::Address;
use clearway_sources::http::HttpOptions;
use clearway_sources::service::Service;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::{JoinHandle, JoinSet};

/// What it does with a request.
#[derive(Clone)]
pub(crate) enum Says {
    /// Answers: the status line's end, headers, a body.
    This(&'static str, Vec<(&'static str, String)>, String),
    /// A good answer, with an entity tag if one is given; "not modified" for whoever has it.
    Graph(String, Option<&'static str>),
    /// Takes the request and never answers.
    Nothing,
    /// Sends a body without an end.
    Endless,
    /// Sends the beginning of a body and then nothing.
    Half,
    /// Closes the connection.
    Away,
}

/// A graph of these versions in the wire's words.
pub(crate) fn graph(versions: &[&str]) -> String {
    let nodes: Vec<String> = versions
        .iter()
        .map(|version| format!(r#"{{"version":"{version}","payload":"r.example.com/p@sha256:ab","metadata":{{}}}}"#))
        .collect();
    // Without `version`, as Cincinnati's graph-builder answers.
    format!(r#"{{"nodes":[{}],"edges":[],"conditionalEdges":[]}}"#, nodes.join(","))
}

/// Ends when dropped.
pub(crate) struct Scripted {
    address: SocketAddr,
    script: Arc<Mutex<Says>>,
    asked: Arc<Mutex<Vec<String>>>,
    /// The channels that are never answered for.
    silent: Arc<Mutex<Vec<String>>>,
    gate: Arc<Semaphore>,
    task: JoinHandle<()>,
}

impl Scripted {
    pub(crate) async fn start(says: Says) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let script = Arc::new(Mutex::new(says));
        let asked = Arc::<Mutex<Vec<String>>>::default();
        let gate = Arc::new(Semaphore::new(Semaphore::MAX_PERMITS));
        let silent = Arc::<Mutex<Vec<String>>>::default();
        let (script_too, asked_too, gate_too) = (Arc::clone(&script), Arc::clone(&asked), Arc::clone(&gate));
        let silent_too = Arc::clone(&silent);
        let task = tokio::spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                let (script, asked, gate) = (Arc::clone(&script_too), Arc::clone(&asked_too), Arc::clone(&gate_too));
                let silent = Arc::clone(&silent_too);
                connections.spawn(async move {
                    // A client that goes away is none of a test's concern.
                    let _ = answer(stream, &script, &asked, &silent, &gate).await;
                });
            }
        });
        Scripted { address, script, asked, silent, gate, task }
    }

    /// Says this from now on.
    pub(crate) fn says(&self, says: Says) {
        *self.script.lock().unwrap() = says;
    }

    /// Never answers for these channels from now on.
    pub(crate) fn never_answers(&self, channels: &[&str]) {
        self.silent.lock().unwrap().extend(channels.iter().map(|&channel| channel.to_owned()));
    }

    /// Holds every answer back from now on.
    pub(crate) fn hold(&self) {
        self.gate.forget_permits(Semaphore::MAX_PERMITS);
    }

    /// Gives out what was held back, and everything after.
    pub(crate) fn release(&self) {
        self.gate.add_permits(1000);
    }

    /// The channels that were asked for since the last time, in order.
    pub(crate) fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.asked.lock().unwrap())
    }

    /// How many requests came since the last time they were taken.
    pub(crate) fn count(&self) -> usize {
        self.asked.lock().unwrap().len()
    }

    /// How it is reached, by whoever waits until it has answered.
    pub(crate) fn service(&self) -> Service {
        self.service_within(Duration::from_hours(1))
    }

    /// How it is reached, by whoever waits for this long.
    pub(crate) fn service_within(&self, timeout: Duration) -> Service {
        let options = HttpOptions { timeout, body_bytes: 1 << 20, ..HttpOptions::default() };
        Service::new(&Address::from(format!("http://{}/api/upgrades_info", self.address).as_str()), &options).unwrap()
    }
}

impl Drop for Scripted {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn answer(
    mut stream: TcpStream,
    script: &Mutex<Says>,
    asked: &Mutex<Vec<String>>,
    silent: &Mutex<Vec<String>>,
    gate: &Semaphore,
) -> std::io::Result<()> {
    let mut request = Vec::new();
    while !request.ends_with(b"\r\n\r\n") {
        request.push(stream.read_u8().await?);
    }
    let request = String::from_utf8(request).unwrap();
    let channel = request.split_once("channel=").unwrap().1.split(['&', ' ']).next().unwrap();
    asked.lock().unwrap().push(channel.to_owned());
    if silent.lock().unwrap().iter().any(|silent| silent == channel) {
        return std::future::pending().await;
    }
    gate.acquire().await.unwrap().forget();
    let says = script.lock().unwrap().clone();
    match says {
        Says::This(status, headers, body) => say(&mut stream, status, &headers, &body).await,
        Says::Graph(body, None) => say(&mut stream, "200 OK", &[], &body).await,
        Says::Graph(body, Some(tag)) => {
            let etag = [("etag", tag.to_owned())];
            if request.contains(&format!("if-none-match: {tag}\r\n")) {
                return say(&mut stream, "304 Not Modified", &etag, "").await;
            }
            say(&mut stream, "200 OK", &etag, &body).await
        }
        Says::Nothing => std::future::pending().await,
        Says::Endless => {
            stream.write_all(b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n{\"nodes\":[").await?;
            loop {
                stream.write_all(&[b' '; 16 << 10]).await?;
            }
        }
        Says::Half => {
            stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n{\"nodes\":[").await?;
            std::future::pending().await
        }
        Says::Away => Ok(()),
    }
}

async fn say(stream: &mut TcpStream, status: &str, headers: &[(&str, String)], body: &str) -> std::io::Result<()> {
    let mut lines = vec![format!("HTTP/1.1 {status}"), "connection: close".to_owned()];
    if !status.starts_with("304") {
        lines.push(format!("content-length: {}", body.len()));
    }
    lines.extend(headers.iter().map(|(name, value)| format!("{name}: {value}")));
    stream.write_all(format!("{}\r\n\r\n{body}", lines.join("\r\n")).as_bytes()).await
}
