//! Series as text, and how they get into Prometheus: samples with a time are back-filled, those without are scraped.

use std::io::{self, Read as _, Write as _};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// The name of the series that says which text was scraped last.
pub(crate) const GENERATION: &str = "clearway_testbed_generation";
/// The last line of `OpenMetrics`, and of no other format.
const END: &str = "# EOF\n";
const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
const PLAIN: &str = "text/plain; version=0.0.4";
/// How long a client of the endpoint may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// A text, taken apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Series {
    /// Samples with a time, in the order of time, as `OpenMetrics`; empty when there are none.
    pub(crate) past: String,
    /// Samples without a time, with the lines that describe them; empty when there are none. As in the text given,
    /// the last line says whether it is `OpenMetrics`.
    pub(crate) live: String,
}

impl Series {
    pub(crate) fn parse(text: &str) -> Self {
        let mut past = Vec::new();
        let mut live = String::new();
        let mut has_live = false;
        let lines = || text.lines().map(str::trim);
        for line in lines().filter(|line| !line.is_empty() && *line != "# EOF") {
            let time = if line.starts_with('#') { None } else { time_of(line) };
            if let Some(time) = time {
                past.push((time, line));
            } else {
                has_live |= !line.starts_with('#');
                live.push_str(line);
                live.push('\n');
            }
        }
        if lines().any(|line| line == "# EOF") {
            live.push_str(END);
        }
        // Prometheus takes the samples of a series in the order of time only.
        past.sort_by(|(one, _), (other, _)| one.total_cmp(other));
        let past: Vec<_> = past.into_iter().map(|(_, line)| line).chain([END]).collect();
        Self {
            past: if past.len() > 1 { past.join("\n") } else { String::new() },
            live: if has_live { live } else { String::new() },
        }
    }
}

/// The time of a sample, if it has one: what follows the value.
fn time_of(line: &str) -> Option<f64> {
    let mut fields = after_labels(line).split_whitespace();
    let _value = fields.next()?;
    fields.next()?.parse().ok()
}

/// What follows the name and the labels of a sample. Label values are quoted and may contain anything.
fn after_labels(line: &str) -> &str {
    let (mut in_labels, mut in_quotes, mut escaped) = (false, false, false);
    for (position, character) in line.char_indices() {
        match character {
            _ if escaped => escaped = false,
            '\\' if in_quotes => escaped = true,
            '"' => in_quotes = !in_quotes,
            '{' if !in_quotes => in_labels = true,
            '}' if !in_quotes => return &line[position + 1..],
            _ if character.is_whitespace() && !in_quotes && !in_labels => {
                // A space may stand between the name and the labels.
                let rest = line[position..].trim_start();
                if !rest.starts_with('{') {
                    return rest;
                }
            }
            _ => {}
        }
    }
    ""
}

/// An HTTP server that gives Prometheus the samples without a time. It has a thread of its own, since the runtime of a
/// test need not run while the test waits.
#[derive(Debug)]
pub(crate) struct Endpoint {
    port: u16,
    shared: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    text: String,
    generation: u64,
    ended: bool,
}

impl Endpoint {
    pub(crate) fn start(text: &str) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let port = listener.local_addr()?.port();
        let shared = Arc::new(Mutex::new(State { text: text.to_owned(), generation: 1, ended: false }));
        let state = Arc::clone(&shared);
        thread::Builder::new().name("series".to_owned()).spawn(move || serve(&listener, &state))?;
        Ok(Self { port, shared })
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// Replaces the text, and gives the number that [`GENERATION`] has from now on.
    pub(crate) fn replace(&self, text: &str) -> u64 {
        let mut state = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        text.clone_into(&mut state.text);
        state.generation += 1;
        state.generation
    }

    pub(crate) fn generation(&self) -> u64 {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner).generation
    }
}

impl Drop for Endpoint {
    fn drop(&mut self) {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner).ended = true;
        // One more connection, so that the thread looks.
        let _ = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port));
    }
}

fn serve(listener: &TcpListener, state: &Mutex<State>) {
    for stream in listener.incoming() {
        let (kind, body) = {
            let state = state.lock().unwrap_or_else(PoisonError::into_inner);
            if state.ended {
                return;
            }
            let State { text, generation, .. } = &*state;
            match text.strip_suffix(END) {
                Some(text) => (OPEN_METRICS, format!("{text}{GENERATION} {generation}\n{END}")),
                None => (PLAIN, format!("{text}{GENERATION} {generation}\n")),
            }
        };
        // A client that goes away is no concern of ours.
        let _ = stream.and_then(|stream| answer(stream, kind, &body));
    }
}

fn answer(mut stream: TcpStream, kind: &str, body: &str) -> io::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let mut request = Vec::new();
    let mut buffer = [0; 4096];
    while !request.windows(4).any(|window| window == b"\r\n\r\n") {
        let count = stream.read(&mut buffer)?;
        if count == 0 {
            return Ok(());
        }
        request.extend_from_slice(&buffer[..count]);
    }
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes())?;
    stream.write_all(body.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_with_a_time_are_the_past() {
        let series = Series::parse(
            "# TYPE a gauge\na 1\na{x=\"1 2} 3\"} 5\nb{x=\"\\\"} 1 2\"} 7 200.5\nb {y=\"z\"} 6 100\n# EOF\n",
        );
        assert_eq!(series.live, "# TYPE a gauge\na 1\na{x=\"1 2} 3\"} 5\n# EOF\n");
        assert_eq!(series.past, "b {y=\"z\"} 6 100\nb{x=\"\\\"} 1 2\"} 7 200.5\n# EOF\n");
    }

    #[test]
    fn a_text_may_have_one_kind_only() {
        assert_eq!(Series::parse(""), Series { past: String::new(), live: String::new() });
        assert_eq!(Series::parse("# TYPE a gauge\na 1 2\n").live, "");
        assert_eq!(Series::parse("a 1").past, "");
    }

    #[tokio::test]
    async fn the_endpoint_serves_the_newest_text() {
        let endpoint = Endpoint::start("a 1\n").unwrap();
        let answer = crate::http::get(endpoint.port(), "/metrics").await.unwrap();
        assert_eq!(answer.body, "a 1\nclearway_testbed_generation 1\n");
        assert_eq!(endpoint.replace("a 2\n# EOF\n"), 2);
        let answer = crate::http::get(endpoint.port(), "/metrics").await.unwrap();
        assert_eq!(answer.body, "a 2\nclearway_testbed_generation 2\n# EOF\n");
    }
}
