//! Where a page is executed: a directory with the project's examples, and the real programs behind its example hosts.

use std::fs;
use std::io::Read as _;
use std::os::unix::fs::symlink;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use clearway_testbed::{
    Browser, Cluster, ClusterOptions, Component, IN_TIME, Prometheus, Registry, browser, free_port, have, http,
    own_cluster, prometheus, registry, wait_until,
};

use crate::ROOT;
use crate::browser_block::{self, BrowserBlock};
use crate::page::{self, Page};

/// Hosts of the documentation, and what stands behind them here.
const UPDATE_SERVICE: &str = "https://updates.example.com";
const PROMETHEUS: &str = "http://prometheus.example.com:9090";
const REGISTRY: &str = "registry.example.com";
/// Where servers listen unless told otherwise; here each page has ports of its own.
const CLIENTS: &str = "127.0.0.1:8080";
const PROBES: &str = "127.0.0.1:9080";
/// The size of the browser's window.
const WINDOW: (u32, u32) = (1280, 640);

/// The metrics of the sample cluster, as an exporter gives them.
const METRICS: &str = "cluster_version{type=\"current\",version=\"1.4.2\"} 1
cluster_proxy_enabled{type=\"https\"} 1
vsphere_node_hw_version_total{hw_version=\"vmx-17\"} 3
";

/// Command lines that cannot be executed by a test, and why.
const NOT_HERE: &[(&str, &str)] = &[
    ("make test", "runs this test"),
    ("make cluster", "starts the cluster that these tests start"),
    ("make image", "tests/image.rs does it"),
    ("cargo install", "builds the program that this test was given"),
];

/// The programs and the directory of a page. Everything ends with this value.
pub(crate) struct World {
    directory: tempfile::TempDir,
    programs: Vec<Program>,
    cluster: Option<Cluster>,
    browser: Option<Browser>,
    /// What a page writes, and what it means here.
    addresses: Vec<(String, String)>,
    // They run until the page ends.
    _prometheus: Option<Prometheus>,
    _registry: Option<Registry>,
}

/// A program that a page started, in a process group of its own.
struct Program(Child);

impl Drop for Program {
    fn drop(&mut self) {
        if let Some(group) = rustix::process::Pid::from_raw(self.0.id().cast_signed()) {
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        }
        let _ = self.0.wait();
    }
}

fn free_address() -> String {
    format!("127.0.0.1:{}", free_port().unwrap())
}

impl World {
    /// Nothing if a component is missing, which is reported.
    pub(crate) async fn start(page: &Page) -> Option<Self> {
        let directory = tempfile::tempdir().unwrap();
        let bin = directory.path().join("bin");
        fs::create_dir_all(&bin).unwrap();
        fs::create_dir_all(directory.path().join("work")).unwrap();
        for name in ["clearway", "kubectl-clearway"] {
            symlink(env!("CARGO_BIN_EXE_clearway"), bin.join(name)).unwrap();
        }
        for name in ["examples", "catalog", "deploy", "crds"] {
            let path = Path::new(ROOT).join(name);
            if path.is_dir() {
                copy(&path, &directory.path().join("work").join(name));
            }
        }
        let mut local = page.local_addresses();
        local.extend([CLIENTS, PROBES].map(str::to_owned));
        let mut addresses: Vec<_> = local.into_iter().map(|address| (address, free_address())).collect();
        let mut cluster = None;
        if page.console_blocks().any(|block| block.cluster) {
            if !have(&[Component::Kubectl]) {
                return None;
            }
            symlink(Component::Kubectl.find().unwrap(), bin.join("kubectl")).unwrap();
            let has_controllers = page.console_blocks().any(|block| block.controllers);
            let options = if has_controllers { ClusterOptions::default() } else { ClusterOptions::api_only() };
            cluster = Some(own_cluster(&options).await?);
        }
        let mut prometheus_server = None;
        if page.mentions(PROMETHEUS) {
            let server = prometheus(METRICS).await?;
            addresses.push((PROMETHEUS.to_owned(), server.base_url()));
            prometheus_server = Some(server);
        }
        let mut registry_server = None;
        if page.mentions(REGISTRY) {
            let server = registry().await?;
            addresses.push((REGISTRY.to_owned(), server.host()));
            registry_server = Some(server);
        }
        let mut window = None;
        if page.has_browser_blocks() {
            let browser = browser().await?;
            browser.resize(WINDOW.0, WINDOW.1).await.unwrap();
            window = Some(browser);
        }
        let mut world = Self {
            directory,
            programs: Vec::new(),
            cluster,
            browser: window,
            addresses,
            _prometheus: prometheus_server,
            _registry: registry_server,
        };
        if page.mentions(UPDATE_SERVICE) {
            let (clients, probes) = (free_address(), free_address());
            let serve =
                format!("clearway serve --graph examples/graph-data --listen {clients} --status-listen {probes}");
            world.start_server(&serve, &probes).await;
            world.addresses.push((UPDATE_SERVICE.to_owned(), format!("http://{clients}")));
        }
        Some(world)
    }

    /// Runs a command line; fails if its exit code or its output is not what the page says.
    pub(crate) fn run(&self, page: &str, command: &page::Command) {
        if NOT_HERE.iter().any(|(beginning, _)| command.text.starts_with(beginning)) {
            return;
        }
        let output = self.shell(&self.with_addresses(&command.text)).output().unwrap();
        let place = format!("{page}:{}: {}", command.line, command.text);
        let text = |bytes: &[u8]| self.with_example_hosts(&String::from_utf8_lossy(bytes));
        let (printed, errors) = (text(&output.stdout), text(&output.stderr));
        assert_eq!(output.status.code(), Some(command.exit_code), "{place}\n{printed}\n{errors}");
        let lines: Vec<_> = printed.lines().collect();
        assert!(
            command.output.is_empty() || page::matches(&command.output, &lines),
            "{place}\nThe page shows:\n{}\nIt prints:\n{printed}\n{errors}",
            command.output.join("\n")
        );
    }

    /// Starts a server of the product and waits until it is ready.
    pub(crate) async fn start_program(&mut self, page: &str, command: &page::Command) {
        let line = self.with_addresses(&command.text);
        let line = line.split('#').next().unwrap_or_default().trim();
        let words: Vec<_> = line.split_whitespace().take(2).collect();
        assert!(
            matches!(words.as_slice(), ["clearway", "serve" | "operator"]),
            "{page}:{}: only `clearway serve` and `clearway operator` can run in the background",
            command.line
        );
        let listen = words.as_slice() == ["clearway", "serve"] && !line.contains("--listen");
        let line = if listen { format!("{line} --listen {}", self.with_addresses(CLIENTS)) } else { line.to_owned() };
        let named = line.split_once("--status-listen ").and_then(|(_, after)| after.split_whitespace().next());
        if let Some(probes) = named.map(str::to_owned) {
            self.start_server(&line, &probes).await;
        } else {
            let probes = self.with_addresses(PROBES);
            self.start_server(&format!("{line} --status-listen {probes}"), &probes).await;
        }
    }

    /// Does what a block says in the browser of the page.
    pub(crate) async fn browse(&self, page: &str, block: &BrowserBlock) {
        let browser = self.browser.as_ref().unwrap();
        browser_block::execute(browser, page, block, |address| self.with_addresses(address)).await;
    }

    /// Starts a server that has its probes at this address.
    async fn start_server(&mut self, line: &str, probes: &str) {
        let port: u16 = probes.rsplit(':').next().unwrap().parse().unwrap();
        let mut command = self.shell(&format!("exec {line}"));
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).process_group(0).spawn().unwrap();
        let mut errors = child.stderr.take().unwrap();
        self.programs.push(Program(child));
        let ready = wait_until(IN_TIME, "the server was ready", async || {
            http::get(port, "/readyz").await.is_ok_and(|answer| answer.status == 200)
        });
        if let Err(error) = ready.await {
            drop(self.programs.pop());
            let mut said = String::new();
            let _ = errors.read_to_string(&mut said);
            panic!("{line}: {error}\n{said}");
        }
        // What it says is not read: it must not wait for a reader.
        std::thread::spawn(move || std::io::copy(&mut errors, &mut std::io::sink()));
    }

    fn shell(&self, line: &str) -> Command {
        let mut shell = Command::new("timeout");
        let path =
            format!("{}:{}", self.directory.path().join("bin").display(), std::env::var("PATH").unwrap_or_default());
        shell.args(["600", "bash", "-euo", "pipefail", "-c", line]);
        shell.current_dir(self.directory.path().join("work")).env("PATH", path).env("HOME", self.directory.path());
        shell.stdin(Stdio::null()).env("NO_COLOR", "1").env_remove("KUBECONFIG");
        if let Some(cluster) = &self.cluster {
            shell.env("KUBECONFIG", cluster.kubeconfig());
        }
        shell
    }

    fn with_addresses(&self, text: &str) -> String {
        let text = text.replace("cargo run --release -- ", "clearway ");
        self.addresses.iter().fold(text, |text, (example, real)| text.replace(example, real))
    }

    fn with_example_hosts(&self, text: &str) -> String {
        self.addresses.iter().fold(text.to_owned(), |text, (example, real)| text.replace(real, example))
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let copied = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy(&path, &copied);
        } else {
            fs::copy(&path, &copied).unwrap();
        }
    }
}
