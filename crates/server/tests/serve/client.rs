//! The least of an HTTP client that can also be rude: what it sends is what the test wrote, byte for byte.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use http::{HeaderMap, HeaderName, HeaderValue};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufStream};
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::timeout;

/// No answer takes longer, on a busy machine either.
pub(crate) const DEADLINE: Duration = Duration::from_mins(2);

/// An answer as it came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
}

impl Reply {
    /// A header; nothing if it is not there.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }

    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.text()))
    }

    /// The versions of the nodes of a graph.
    pub(crate) fn versions(&self) -> Vec<String> {
        let nodes = self.json()["nodes"].as_array().cloned().unwrap_or_default();
        nodes.iter().map(|node| node["version"].as_str().unwrap().to_owned()).collect()
    }

    /// Seconds that the answer is old.
    pub(crate) fn age(&self) -> u64 {
        self.header("age").unwrap().parse().unwrap()
    }
}

/// One connection.
pub(crate) struct Client {
    stream: BufStream<TcpStream>,
}

impl Client {
    pub(crate) async fn connect(address: SocketAddr) -> Self {
        Client { stream: BufStream::new(TcpStream::connect(address).await.unwrap()) }
    }

    /// A client whose system takes few bytes that it has not read.
    pub(crate) async fn connect_narrow(address: SocketAddr) -> Self {
        let socket = TcpSocket::new_v4().unwrap();
        socket.set_recv_buffer_size(4096).unwrap();
        Client { stream: BufStream::new(socket.connect(address).await.unwrap()) }
    }

    /// Sends bytes as they are.
    pub(crate) async fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.write_all(bytes).await?;
        self.stream.flush().await
    }

    /// Says that nothing more will be sent.
    pub(crate) async fn half_close(&mut self) {
        self.stream.get_mut().shutdown().await.unwrap();
    }

    /// Goes away without a word: the other side gets a reset.
    pub(crate) fn reset(self) {
        self.stream.get_ref().set_zero_linger().unwrap();
    }

    /// Reads one answer; of an answer to HEAD only the head.
    pub(crate) async fn read(&mut self, of_head: bool) -> io::Result<Reply> {
        timeout(DEADLINE, self.read_reply(of_head)).await.map_err(|_| io::Error::other("the request timed out"))?
    }

    async fn read_reply(&mut self, of_head: bool) -> io::Result<Reply> {
        let (status, headers) = self.read_head().await?;
        let length = headers.get("content-length").map_or(0, |value| value.to_str().unwrap().parse().unwrap());
        let mut body = vec![0; if of_head || status == 304 { 0 } else { length }];
        self.stream.read_exact(&mut body).await?;
        Ok(Reply { status, headers, body })
    }

    /// Reads the first line and the headers of an answer, and no further.
    pub(crate) async fn read_head(&mut self) -> io::Result<(u16, HeaderMap)> {
        let first = self.line().await?;
        let status = first.split(' ').nth(1).and_then(|status| status.parse().ok());
        let status = status.ok_or_else(|| io::Error::other(format!("not an answer: {first:?}")))?;
        let mut headers = HeaderMap::new();
        loop {
            let line = self.line().await?;
            if line.is_empty() {
                return Ok((status, headers));
            }
            let (name, value) = line.split_once(':').unwrap();
            let name: HeaderName = name.parse().unwrap();
            headers.append(name, HeaderValue::from_bytes(value.trim().as_bytes()).unwrap());
        }
    }

    async fn line(&mut self) -> io::Result<String> {
        let mut line = Vec::new();
        if self.stream.read_until(b'\n', &mut line).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(String::from_utf8_lossy(&line).trim_end().to_owned())
    }

    /// Asks and reads the answer.
    pub(crate) async fn ask(&mut self, method: &str, target: &str, headers: &[(&str, &str)]) -> io::Result<Reply> {
        self.write(request(method, target, headers).as_bytes()).await?;
        self.read(method == "HEAD").await
    }

    /// Reads as many bytes, and forgets them.
    pub(crate) async fn take(&mut self, count: usize) -> io::Result<()> {
        let mut bytes = vec![0; count];
        timeout(DEADLINE, self.stream.read_exact(&mut bytes))
            .await
            .map_err(|_| io::Error::other("no more in time"))??;
        Ok(())
    }

    /// Waits for the server to end the connection, and says how many bytes came before that.
    pub(crate) async fn ended(&mut self) -> usize {
        let mut rest = Vec::new();
        // A reset is an end as well.
        let _ = timeout(DEADLINE, self.stream.read_to_end(&mut rest)).await.expect("the server ends the connection");
        rest.len()
    }
}

/// A request without a body.
pub(crate) fn request(method: &str, target: &str, headers: &[(&str, &str)]) -> String {
    let headers: Vec<String> = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    let host = if headers.iter().any(|line| line.starts_with("Host: ")) { "" } else { "Host: localhost\r\n" };
    format!("{method} {target} HTTP/1.1\r\n{host}{}\r\n", headers.concat())
}

/// Asks over a connection of its own.
pub(crate) async fn ask(address: SocketAddr, method: &str, target: &str, headers: &[(&str, &str)]) -> Reply {
    Client::connect(address).await.ask(method, target, headers).await.unwrap()
}
