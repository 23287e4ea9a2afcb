//! A service under test: graph-data in a directory of its own, short times, and a clock that only tests move.

use std::fs;
use std::net::{SocketAddr, TcpListener};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clearway_core::Timestamp;
use clearway_server::{Config, Feed, ListenOptions, RunningService, ServiceOptions};
use clearway_testbed::wait_until;
use tempfile::TempDir;

use crate::client::{self, DEADLINE, Reply};

/// What comes before every path.
pub(crate) const PREFIX: &str = "/api/upgrades_info";
/// A client that has the sample's busiest channel.
pub(crate) const CANDIDATE: &str = "/api/upgrades_info/graph?channel=candidate-1.5";
/// The answer for what nobody declared.
pub(crate) const EMPTY: &str = r#"{"version":1,"nodes":[],"edges":[],"conditionalEdges":[]}"#;

/// Makes a clock that stands still until `pass` is called. Each test that moves time has its own.
macro_rules! clock {
    ($name:ident) => {
        mod $name {
            use std::sync::atomic::{AtomicI64, Ordering};

            static NOW: AtomicI64 = AtomicI64::new(1_700_000_000);

            pub(super) fn now() -> clearway_core::Timestamp {
                clearway_core::Timestamp::from_seconds(NOW.load(Ordering::SeqCst)).unwrap()
            }

            pub(super) fn pass(seconds: i64) {
                NOW.fetch_add(seconds, Ordering::SeqCst);
            }
        }
    };
}
pub(crate) use clock;

/// Time that stands still.
fn still() -> Timestamp {
    Timestamp::from_seconds(1_700_000_000).unwrap()
}

/// Where the example of the documentation is.
pub(crate) fn example() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/graph-data")
}

/// A directory of graph-data that a test may change.
pub(crate) struct Data {
    root: TempDir,
}

impl Data {
    /// The example of the documentation.
    pub(crate) fn example() -> Self {
        let data = Data { root: tempfile::tempdir().unwrap() };
        copy(&example(), data.path());
        data
    }

    /// A few releases in the channel `c`, each of which may follow the one before.
    pub(crate) fn of(versions: &[&str]) -> Self {
        let data = Data { root: tempfile::tempdir().unwrap() };
        data.write("version", "1.1.0\n");
        data.release(versions);
        data
    }

    /// Writes the releases anew.
    pub(crate) fn release(&self, versions: &[&str]) {
        let entry = |(position, version): (usize, &&str)| {
            let previous = position.checked_sub(1).map_or("", |before| versions[before]);
            let payload = format!("r.example.com/p@sha256:{position:064}");
            format!("- {{version: {version}, arch: amd64, payload: '{payload}', previous: [{previous}]}}\n")
        };
        let releases: Vec<String> = versions.iter().enumerate().map(entry).collect();
        self.write("releases/r.yaml", releases.concat());
        self.write("channels/c.yaml", format!("name: c\nversions: [{}]\n", versions.join(", ")));
    }

    pub(crate) fn path(&self) -> &Path {
        self.root.path()
    }

    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    /// A configuration that serves it, and looks at it only when it changes or when it is told to.
    pub(crate) fn config(&self) -> Config {
        config(Some(Feed::directory(self.path())))
    }
}

/// Copies a directory.
pub(crate) fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// A configuration that looks at its sources once, and then when it is told to.
pub(crate) fn config(feed: Option<Feed>) -> Config {
    Config {
        feed,
        mirror: None,
        cache: None,
        interval: Duration::from_hours(1),
        service: ServiceOptions::default(),
        // Nobody is cut because the machine is busy; a test about cutting sets timeouts of its own.
        listen: ListenOptions {
            threads: NonZeroUsize::new(2).unwrap(),
            read_timeout: Duration::from_hours(1),
            write_timeout: Duration::from_hours(1),
            ..ListenOptions::default()
        },
        clock: still,
    }
}

/// A service at work.
pub(crate) struct Site {
    pub(crate) running: RunningService,
    pub(crate) address: SocketAddr,
    pub(crate) status: SocketAddr,
}

impl Site {
    /// Starts a service, and does not wait for anything.
    pub(crate) fn begin(config: Config) -> Self {
        let socket = || TcpListener::bind("127.0.0.1:0").unwrap();
        let running = RunningService::start(config, socket(), Some(socket())).unwrap();
        let (address, status) = (running.address(), running.status_address().unwrap());
        Site { running, address, status }
    }

    /// Starts a service, and waits until its graph-data has been looked at.
    pub(crate) async fn start(config: Config) -> Self {
        let site = Self::begin(config);
        site.wait_for_refresh(0).await;
        site
    }

    /// Waits until the graph-data was looked at more often than this.
    pub(crate) async fn wait_for_refresh(&self, more_than: u64) -> u64 {
        tokio::time::timeout(DEADLINE, self.running.wait_for_refresh(more_than))
            .await
            .expect("the graph-data is looked at")
    }

    /// Has the graph-data looked at, and waits until that is done.
    pub(crate) async fn refresh_now(&self) {
        // Twice: a look that was under way may have begun before the test's last change.
        for _ in 0..2 {
            let before = self.looks();
            self.running.refresh_now();
            self.wait_for_refresh(before).await;
        }
    }

    /// How often the graph-data was looked at.
    pub(crate) fn looks(&self) -> u64 {
        ["published", "unchanged", "refused", "failed"]
            .iter()
            .map(|outcome| self.metric(&format!("clearway_refreshes_total{{outcome=\"{outcome}\"}}")).unwrap())
            .sum()
    }

    pub(crate) async fn get(&self, target: &str) -> Reply {
        client::ask(self.address, "GET", target, &[]).await
    }

    pub(crate) async fn get_with(&self, target: &str, headers: &[(&str, &str)]) -> Reply {
        client::ask(self.address, "GET", target, headers).await
    }

    /// The graph of a channel for amd64.
    pub(crate) async fn graph(&self, channel: &str) -> Reply {
        self.get(&format!("{PREFIX}/graph?channel={channel}")).await
    }

    /// Whether the service says that it is ready.
    pub(crate) async fn ready(&self) -> u16 {
        client::ask(self.status, "GET", "/readyz", &[]).await.status
    }

    /// A sample of the metrics by its name and labels.
    pub(crate) fn metric(&self, name: &str) -> Option<u64> {
        let text = self.running.service().metrics().text();
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')).map(str::to_owned);
        line.map(|value| value.parse().unwrap())
    }

    /// What the metrics say is wrong with the graph-data: severity and code.
    pub(crate) fn findings(&self) -> Vec<String> {
        let text = self.running.service().metrics().text();
        let lines = text.lines().filter_map(|line| line.strip_prefix("clearway_graph_data_findings{"));
        lines.map(|line| line.split('}').next().unwrap().to_owned()).collect()
    }

    /// Waits until there are this many connections.
    pub(crate) async fn connections(&self, count: u64) {
        let what = format!("there are {count} connections");
        wait_until(DEADLINE, &what, async || self.metric("clearway_http_connections") == Some(count)).await.unwrap();
    }

    /// Waits until the answer for a channel has these versions.
    pub(crate) async fn serves(&self, channel: &str, versions: &[&str]) -> Reply {
        let mut last = None;
        let what = format!("{channel} has {versions:?}");
        let waited = wait_until(DEADLINE, &what, async || {
            let reply = self.graph(channel).await;
            let same = reply.status == 200 && reply.versions() == versions;
            last = Some(reply);
            same
        });
        waited.await.unwrap_or_else(|error| panic!("{error}: {last:?}"));
        last.unwrap()
    }
}
