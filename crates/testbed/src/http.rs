//! The least of an HTTP client: enough to ask a program on this machine whether it is ready, or what it has stored.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// An answer: its status and its body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The status code.
    pub status: u16,
    /// The body, as text.
    pub body: String,
}

/// Sends `GET path` without TLS to a port on loopback and reads the whole answer.
///
/// HTTP/1.0, so that the answer is neither chunked nor compressed and ends with the connection.
pub async fn get(port: u16, path: &str) -> io::Result<Answer> {
    get_with(port, path, &[]).await
}

/// The same with more headers.
pub async fn get_with(port: u16, path: &str, headers: &[(&str, &str)]) -> io::Result<Answer> {
    send(port, &format!("GET {path}"), headers, "").await
}

/// Sends `POST path` with a body.
pub async fn post(port: u16, path: &str, body: &str) -> io::Result<Answer> {
    post_with(port, path, &[], body).await
}

/// The same with more headers.
pub async fn post_with(port: u16, path: &str, headers: &[(&str, &str)], body: &str) -> io::Result<Answer> {
    let length = body.len().to_string();
    let headers = [&[("Content-Length", length.as_str())], headers].concat();
    send(port, &format!("POST {path}"), &headers, body).await
}

async fn send(port: u16, what: &str, headers: &[(&str, &str)], body: &str) -> io::Result<Answer> {
    let mut stream = TcpStream::connect(SocketAddr::from((Ipv4Addr::LOCALHOST, port))).await?;
    let mut lines = vec![format!("{what} HTTP/1.0"), format!("Host: 127.0.0.1:{port}"), "Accept: */*".to_owned()];
    lines.extend(headers.iter().map(|(name, value)| format!("{name}: {value}")));
    let request = lines.join("\r\n") + "\r\n\r\n" + body;
    stream.write_all(request.as_bytes()).await?;
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).await?;
    parse(&String::from_utf8_lossy(&bytes)).ok_or_else(|| io::Error::other("not an HTTP answer"))
}

fn parse(text: &str) -> Option<Answer> {
    let (head, body) = text.split_once("\r\n\r\n")?;
    let status = head.split(' ').nth(1)?.parse().ok()?;
    Some(Answer { status, body: body.to_owned() })
}

/// Encodes a value for the query part of a URL.
pub(crate) fn percent_encode(value: &str) -> String {
    use std::fmt::Write as _;
    let mut encoded = String::with_capacity(value.len());
    for byte in value.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            // Writing to a string cannot fail.
            let _ = write!(encoded, "%{byte:02X}");
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_split_into_status_and_body() {
        let answer = parse("HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\n\r\nok\r\n\r\nmore").unwrap();
        assert_eq!(answer, Answer { status: 200, body: "ok\r\n\r\nmore".to_owned() });
        assert_eq!(parse("garbage"), None);
    }

    #[test]
    fn everything_unusual_is_encoded() {
        assert_eq!(percent_encode("up{a=\"ü\"} > 1"), "up%7Ba%3D%22%C3%BC%22%7D%20%3E%201");
    }
}
