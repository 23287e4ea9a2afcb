//! The update service against nginx with the same bytes as a static file, in one run: at least 0.9 of its requests per
//! second (plain, gzip, 304), and at most 1.5 times its 99th percentile (plain, gzip). And the memory it takes with
//! every channel loaded: below 100 MiB, and below 200 MiB while another revision takes the place of the first. And the
//! console's page of the same channel against the answer: at least a tenth of its requests per second.
//!
//! `cargo bench --bench serve` needs nginx and wrk (Debian packages of these names). nginx has two workers, sendfile and
//! `gzip_static`; wrk has one thread and eight connections. The two take turns, and medians of five are compared.
//!
//! The graph-data is generated; `CLEARWAY_BENCH_GRAPH_DATA=DIR CLEARWAY_BENCH_CHANNEL=NAME` take another.

use std::error::Error;
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

#[path = "../../graph/examples/generate/data.rs"]
mod data;

type Outcome<T> = Result<T, Box<dyn Error>>;

const RUNS: usize = 5;
const SECONDS: u32 = 4;
/// The share of nginx's requests per second, and the multiple of its 99th percentile.
const SHARE: f64 = 0.9;
const LATE: f64 = 1.5;
/// In kilobytes, as the kernel tells it.
const LOADED: u64 = 100 << 10;
const REPLACING: u64 = 200 << 10;
/// The share of the answer's requests per second that the console's page of the channel has.
const PAGE_SHARE: f64 = 0.1;
/// A channel of the generated data with about as many releases as the busiest channels of large products.
const CHANNEL: &str = "candidate-10.14";

fn main() -> Outcome<ExitCode> {
    // Without `--bench` this is `cargo test --benches`, which only wants to know that it builds.
    if !std::env::args().any(|argument| argument == "--bench") {
        return Ok(ExitCode::SUCCESS);
    }
    let directory = tempfile::tempdir()?;
    let graph_data = directory.path().join("graph-data");
    let channel = if let Some(given) = std::env::var_os("CLEARWAY_BENCH_GRAPH_DATA") {
        copy(Path::new(&given), &graph_data)?;
        std::env::var("CLEARWAY_BENCH_CHANNEL")?
    } else {
        generate(&graph_data)?;
        CHANNEL.to_owned()
    };
    let service = Service::start(&graph_data, None)?;
    // The memory of building the first revision has a moment to go back to the system.
    thread::sleep(Duration::from_secs(3));
    let loaded = service.memory("VmRSS")?;
    let path = format!("/api/upgrades_info/graph?channel={channel}");
    let plain = get(service.port, &path, "identity")?;
    let packed = get(service.port, &path, "gzip")?;
    let site = directory.path().join("site");
    fs::create_dir_all(&site)?;
    fs::write(site.join("graph.json"), &plain.body)?;
    fs::write(site.join("graph.json.gz"), &packed.body)?;
    let nginx = Nginx::start(directory.path(), &site)?;
    let own = format!("http://127.0.0.1:{}{path}", service.port);
    // With tcp_nopush, nginx sends the large body twice as fast, and the small one with a delay; it gets its best for each.
    let peer = format!("http://127.0.0.1:{}/graph.json", nginx.port);
    let plain_peer = format!("http://127.0.0.1:{}/plain/graph.json", nginx.port);
    let same = get(nginx.port, "/graph.json", "identity")?;
    println!("{channel}: {} bytes, {} with gzip; medians of {RUNS} runs", plain.body.len(), packed.body.len());
    println!(
        "  {:9} {:>12} {:>12} {:>6}   {:>9} {:>9} {:>6}",
        "", "requests/s", "nginx's", "share", "p99 (ms)", "nginx's", "times"
    );
    let mut passes = same.body == plain.body;
    let none_match = |tag: &str| format!("If-None-Match: {tag}");
    for (name, peer, own_header, peer_header, late) in [
        ("plain", &plain_peer, String::new(), String::new(), true),
        ("gzip", &peer, "Accept-Encoding: gzip".to_owned(), "Accept-Encoding: gzip".to_owned(), true),
        ("304", &peer, none_match(&plain.tag), none_match(&same.tag), false),
    ] {
        let mut runs = (Vec::new(), Vec::new());
        for _ in 0..RUNS {
            runs.1.push(wrk(peer, &peer_header)?);
            runs.0.push(wrk(&own, &own_header)?);
        }
        let ((rate, p99), (peer_rate, peer_p99)) = (medians(&runs.0), medians(&runs.1));
        let (share, times) = (rate / peer_rate, p99 / peer_p99);
        let holds = share >= SHARE && (!late || times <= LATE);
        passes &= holds;
        let verdict = if holds { "PASS" } else { "FAIL" };
        println!(
            "  {name:9} {rate:12.0} {peer_rate:12.0} {share:6.2}   {p99:9.2} {peer_p99:9.2} {times:6.2}  {verdict}"
        );
    }
    fs::write(format!("/proc/{}/clear_refs", service.child.id()), "5")?;
    let before = service.revision(&path)?;
    replace(&graph_data)?;
    let deadline = Instant::now() + Duration::from_mins(1);
    while service.revision(&path)? == before {
        if Instant::now() > deadline {
            return Err("the changed graph-data was not published within a minute".into());
        }
        thread::sleep(Duration::from_millis(50));
    }
    let replacing = service.memory("VmHWM")?;
    for (name, kilobytes, bound) in [("loaded", loaded, LOADED), ("replacing", replacing, REPLACING)] {
        let holds = kilobytes < bound;
        passes &= holds;
        let verdict = if holds { "PASS" } else { "FAIL" };
        println!("  memory, {name:10} {:6.1} MiB, less than {} {verdict}", mebibytes(kilobytes), bound >> 10);
    }
    drop(service);
    passes &= console(&graph_data, &channel)?;
    Ok(if passes { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Whether the page of the channel has its share of the answer's requests per second.
fn console(graph_data: &Path, channel: &str) -> Outcome<bool> {
    let port = free_port()?;
    let service = Service::start(graph_data, Some(port))?;
    let answer = format!("http://127.0.0.1:{}/api/upgrades_info/graph?channel={channel}", service.port);
    let path = format!("/console/channel?channel={channel}");
    let page = format!("http://127.0.0.1:{port}{path}");
    let (plain, packed) = (get(port, &path, "identity")?, get(port, &path, "gzip")?);
    if plain.status != 200 {
        return Err(format!("the page of the channel: {}", plain.status).into());
    }
    println!("console: {} bytes, {} with gzip", plain.body.len(), packed.body.len());
    println!("  {:9} {:>12} {:>12} {:>6}", "", "requests/s", "answer's", "share");
    let mut passes = true;
    for (name, header) in [("plain", ""), ("gzip", "Accept-Encoding: gzip")] {
        let mut runs = (Vec::new(), Vec::new());
        for _ in 0..RUNS {
            runs.1.push(wrk(&answer, header)?);
            runs.0.push(wrk(&page, header)?);
        }
        let ((rate, _), (answers, _)) = (medians(&runs.0), medians(&runs.1));
        let share = rate / answers;
        let holds = share >= PAGE_SHARE;
        passes &= holds;
        println!("  {name:9} {rate:12.0} {answers:12.0} {share:6.2}  {}", if holds { "PASS" } else { "FAIL" });
    }
    Ok(passes)
}

#[expect(clippy::cast_precision_loss, reason = "kilobytes of a process")]
fn mebibytes(kilobytes: u64) -> f64 {
    kilobytes as f64 / 1024.0
}

fn generate(directory: &Path) -> std::io::Result<()> {
    for (path, text) in data::files(0) {
        let path = directory.join(path);
        path.parent().map(fs::create_dir_all).transpose()?;
        fs::write(path, text)?;
    }
    Ok(())
}

fn copy(from: &Path, to: &Path) -> std::io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}

/// Changes every release, so that no body stays what it was.
fn replace(graph_data: &Path) -> std::io::Result<()> {
    for entry in fs::read_dir(graph_data.join("releases"))? {
        let path = entry?.path();
        let scratch = path.with_extension("new");
        fs::write(&scratch, fs::read_to_string(&path)?.replace("@sha256:", "/moved@sha256:"))?;
        fs::rename(scratch, path)?;
    }
    Ok(())
}

/// The service under test.
struct Service {
    child: Child,
    port: u16,
}

impl Service {
    fn start(graph_data: &Path, console: Option<u16>) -> Outcome<Self> {
        let (port, status_port) = (free_port()?, free_port()?);
        let mut command = Command::new(env!("CARGO_BIN_EXE_clearway"));
        command
            .args(["serve", "--log", "error", "--graph"])
            .arg(graph_data)
            .args(["--listen", &format!("127.0.0.1:{port}"), "--status-listen", &format!("127.0.0.1:{status_port}")])
            .stdin(Stdio::null());
        if let Some(port) = console {
            command.args(["--console-listen", &format!("127.0.0.1:{port}")]);
        }
        let child = command.spawn()?;
        let service = Service { child, port };
        wait(|| get(status_port, "/readyz", "identity").is_ok_and(|answer| answer.status == 200))?;
        Ok(service)
    }

    fn revision(&self, path: &str) -> Outcome<String> {
        Ok(get(self.port, path, "identity")?.revision)
    }

    fn memory(&self, field: &str) -> Outcome<u64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let line = status.lines().find(|line| line.starts_with(field)).ok_or("no such field")?;
        Ok(line.split_whitespace().nth(1).ok_or("no value")?.parse()?)
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        stop(&mut self.child);
    }
}

/// The peer.
struct Nginx {
    child: Child,
    port: u16,
}

impl Nginx {
    fn start(directory: &Path, site: &Path) -> Outcome<Self> {
        let port = free_port()?;
        let (root, at) = (site.display(), directory.display());
        let config = format!(
            "daemon off; worker_processes 2; pid {at}/nginx.pid; error_log {at}/nginx.log;
             events {{ worker_connections 1024; }}
             http {{
               access_log off; sendfile on; gzip_static on; keepalive_requests 1000000000;
               types {{ application/json json; }}
               client_body_temp_path {at}/t1; proxy_temp_path {at}/t2; fastcgi_temp_path {at}/t3;
               uwsgi_temp_path {at}/t4; scgi_temp_path {at}/t5;
               server {{
                 listen 127.0.0.1:{port}; root {root};
                 location /plain/ {{ alias {root}/; tcp_nopush on; }}
               }}
             }}"
        );
        let file = directory.join("nginx.conf");
        fs::write(&file, config)?;
        let program = ["/usr/sbin/nginx", "/usr/bin/nginx", "/usr/local/sbin/nginx"].map(PathBuf::from);
        let program =
            program.iter().find(|path| path.exists()).ok_or("nginx is not installed (apt-get install nginx)")?;
        // Its workers give up root for a user that may not be able to read a temporary directory.
        let user = if rustix::process::getuid().is_root() { "user root;" } else { "" };
        let child = Command::new(program).arg("-c").arg(&file).args(["-g", user]).stderr(Stdio::null()).spawn()?;
        let nginx = Nginx { child, port };
        wait(|| get(port, "/graph.json", "identity").is_ok_and(|answer| answer.status == 200))?;
        Ok(nginx)
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        stop(&mut self.child);
    }
}

/// Asks a process to end, and waits for it.
fn stop(child: &mut Child) {
    if let Some(pid) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
        let _ = kill_process(pid, Signal::TERM);
    }
    let _ = child.wait();
}

fn free_port() -> std::io::Result<u16> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}

fn wait(mut until: impl FnMut() -> bool) -> Outcome<()> {
    for _ in 0..600 {
        if until() {
            return Ok(());
        }
        thread::sleep(Duration::from_millis(50));
    }
    Err("a server did not start within half a minute".into())
}

/// What the measured servers answer, as far as it matters here.
struct Answer {
    status: u16,
    tag: String,
    revision: String,
    body: Vec<u8>,
}

fn get(port: u16, path: &str, coding: &str) -> Outcome<Answer> {
    let mut stream = TcpStream::connect(("127.0.0.1", port))?;
    stream.set_read_timeout(Some(Duration::from_secs(10)))?;
    write!(stream, "GET {path} HTTP/1.1\r\nHost: localhost\r\nAccept-Encoding: {coding}\r\nConnection: close\r\n\r\n")?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    let end = answer.windows(4).position(|window| window == b"\r\n\r\n").ok_or("no end of headers")?;
    let head = String::from_utf8_lossy(answer.get(..end).unwrap_or_default()).into_owned();
    let header = |name: &str| {
        let found = head.lines().find_map(|line| {
            let (key, value) = line.split_once(':')?;
            key.eq_ignore_ascii_case(name).then(|| value.trim().to_owned())
        });
        found.unwrap_or_default()
    };
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).ok_or("no status")?;
    let body = answer.get(end + 4..).unwrap_or_default().to_vec();
    Ok(Answer { status, tag: header("etag"), revision: header("clearway-revision"), body })
}

/// Requests per second, and the 99th percentile in milliseconds.
fn wrk(url: &str, header: &str) -> Outcome<(f64, f64)> {
    let mut command = Command::new("wrk");
    command.args(["-t1", "-c8", &format!("-d{SECONDS}s"), "--latency"]);
    if !header.is_empty() {
        command.args(["-H", header]);
    }
    let output = command.arg(url).output().map_err(|error| format!("wrk (apt-get install wrk): {error}"))?;
    let text = String::from_utf8(output.stdout)?;
    if text.contains("Non-2xx or 3xx responses") || text.contains("Socket errors") {
        return Err(format!("some requests failed:\n{text}").into());
    }
    let field = |name: &str| {
        let line = text.lines().find_map(|line| line.trim().strip_prefix(name));
        line.map(str::trim).ok_or_else(|| format!("wrk says no {name}:\n{text}"))
    };
    let latency = field("99%")?;
    let (number, factor) = [("us", 0.001), ("ms", 1.0), ("s", 1000.0)]
        .into_iter()
        .find_map(|(unit, factor)| Some((latency.strip_suffix(unit)?, factor)))
        .ok_or("no unit")?;
    Ok((field("Requests/sec:")?.parse()?, number.parse::<f64>()? * factor))
}

fn medians(runs: &[(f64, f64)]) -> (f64, f64) {
    let median = |mut values: Vec<f64>| {
        values.sort_by(f64::total_cmp);
        values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
    };
    (median(runs.iter().map(|run| run.0).collect()), median(runs.iter().map(|run| run.1).collect()))
}
