//! A real Prometheus on loopback, with the series of a test.

pub(crate) mod series;

use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::Value;
use tokio::process::Command;

use crate::assets::Component;
use crate::error::{Error, Result};
use crate::http;
use crate::process::ports;
use crate::process::run_dir::RunDir;
use crate::process::{Launch, Probe, Process, show_logs_of_failure};
use crate::wait::{IN_TIME, wait_until};
use series::{Endpoint, GENERATION, Series};

/// How often a start is tried, when another process took the port in between.
const ATTEMPTS: usize = 3;

/// A running Prometheus. It ends when the value is dropped, and when this process ends in any way.
#[derive(Debug)]
pub struct Prometheus {
    // The process ends before its directory goes.
    process: Process,
    port: u16,
    promtool: PathBuf,
    endpoint: Endpoint,
    _dir: RunDir,
}

impl Prometheus {
    /// Starts Prometheus with these series, and waits until queries find them.
    ///
    /// The series are text as programs expose it, one sample a line. A sample with a time after its value, in seconds
    /// since 1970 as in `OpenMetrics`, is written into the database (`promtool tsdb create-blocks-from openmetrics`); see
    /// [`seconds_ago`]. A sample without a time is scraped again and again, so its value is that of now. A text that
    /// ends with `# EOF` is read as `OpenMetrics`, another one as the older text format.
    ///
    /// Besides the series given there are `up`, the `scrape_...` series and `clearway_testbed_generation`.
    pub async fn start(series: &str) -> Result<Self> {
        Self::start_with(series, &[]).await
    }

    /// The same with more flags for Prometheus, such as `--enable-feature=promql-experimental-functions`.
    pub async fn start_with(series: &str, flags: &[&str]) -> Result<Self> {
        let mut attempt = 1;
        loop {
            match Self::start_once(series, flags).await {
                Err(error) if error.is_port_collision() && attempt < ATTEMPTS => attempt += 1,
                result => return result,
            }
        }
    }

    async fn start_once(series: &str, flags: &[&str]) -> Result<Self> {
        let program = Component::Prometheus.find()?;
        let promtool = Component::Promtool.find()?;
        let dir = RunDir::new("prometheus")?;
        let series = Series::parse(series);
        let data = dir.join("data");
        if !series.past.is_empty() {
            let file = dir.write("past.txt", &series.past)?;
            create_blocks(&promtool, &file, &data).await?;
        }
        let endpoint = Endpoint::start(&series.live).map_err(Error::io("serving the series"))?;
        let [port] = ports::free()?;
        let config = dir.write("prometheus.yml", &config(endpoint.port()))?;
        let mut args = vec![
            format!("--config.file={}", config.display()),
            format!("--storage.tsdb.path={}", data.display()),
            // Samples of a test may be of any year.
            "--storage.tsdb.retention.time=100y".to_owned(),
            format!("--web.listen-address=127.0.0.1:{port}"),
            // Not documented: how long new targets wait; five seconds unless told.
            "--scrape.discovery-reload-interval=100ms".to_owned(),
        ];
        args.extend(flags.iter().map(|&flag| flag.to_owned()));
        let process = Process::spawn(Launch {
            name: "prometheus",
            program,
            args: args.into_iter().map(Into::into).collect(),
            dir: dir.path().to_owned(),
            probe: Probe::Http { port, path: "/-/ready" },
        })?;
        process.wait_ready().await?;
        let this = Self { process, port, promtool, endpoint, _dir: dir };
        if !series.live.is_empty() {
            this.wait_for_generation(this.endpoint.generation()).await?;
        }
        Ok(this)
    }

    /// The port on loopback.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The URL, without a slash at the end.
    pub fn base_url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// The path of `promtool`.
    pub fn promtool(&self) -> &Path {
        &self.promtool
    }

    /// The process: to pause, resume, kill and restart it. Samples survive a restart.
    pub fn process(&self) -> &Process {
        &self.process
    }

    /// Replaces the samples without a time, and waits until queries find the new ones. A series that is not among them
    /// ends now. Samples with a time are ignored: the past does not change.
    pub async fn replace(&self, series: &str) -> Result<()> {
        let generation = self.endpoint.replace(&Series::parse(series).live);
        self.wait_for_generation(generation).await
    }

    /// Asks for the value of an expression now; gives what stands under `data` in the answer.
    pub async fn query(&self, expression: &str) -> Result<Value> {
        self.ask(&format!("/api/v1/query?query={}", http::percent_encode(expression))).await
    }

    /// Asks for the value of an expression at a time, in seconds since 1970.
    pub async fn query_at(&self, expression: &str, time: f64) -> Result<Value> {
        self.ask(&format!("/api/v1/query?query={}&time={time}", http::percent_encode(expression))).await
    }

    async fn ask(&self, path: &str) -> Result<Value> {
        let answer = http::get(self.port, path).await.map_err(Error::io(format!("GET {path}")))?;
        let unexpected = |body| Error::Answer { request: path.to_owned(), answer: body };
        let Ok(mut value) = serde_json::from_str::<Value>(&answer.body) else {
            return Err(unexpected(answer.body));
        };
        if answer.status == 200 && value["status"] == "success" {
            Ok(value["data"].take())
        } else {
            Err(unexpected(answer.body))
        }
    }

    async fn wait_for_generation(&self, generation: u64) -> Result<()> {
        let expected = generation.to_string();
        let waited = wait_until(IN_TIME, "Prometheus has scraped the series", async || {
            self.query(GENERATION).await.is_ok_and(|data| data["result"][0]["value"][1] == expected.as_str())
        })
        .await;
        if waited.is_err() {
            // Most often the text is not what Prometheus reads; it says so here.
            let targets = self.ask("/api/v1/targets?state=active").await?;
            if let Some(error) = targets["activeTargets"][0]["lastError"].as_str().filter(|error| !error.is_empty()) {
                return Err(Error::Answer { request: "scraping the series".to_owned(), answer: error.to_owned() });
            }
        }
        waited
    }
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        show_logs_of_failure([&self.process]);
    }
}

/// The time so many seconds ago, as samples have it: in seconds since 1970.
///
/// ```
/// use clearway_testbed::seconds_ago;
///
/// let series = format!("requests_total 10 {}\nrequests_total 70 {}\n", seconds_ago(120), seconds_ago(60));
/// ```
pub fn seconds_ago(seconds: u64) -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    now.as_secs().saturating_sub(seconds)
}

async fn create_blocks(promtool: &Path, file: &Path, data: &Path) -> Result<()> {
    let output = Command::new(promtool)
        .args(["tsdb", "create-blocks-from", "openmetrics", "--quiet"])
        .args([file, data])
        .kill_on_drop(true)
        .output()
        .await
        .map_err(Error::io("starting promtool"))?;
    if output.status.success() {
        return Ok(());
    }
    let output = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    Err(Error::Program { program: promtool.to_owned(), output })
}

/// One target, whose series get no labels besides their own: Prometheus would add `job` and `instance`. A scrape that
/// takes too long ends all series, so a busy machine has a whole second for it.
fn config(target: u16) -> String {
    format!(
        r#"global: {{scrape_interval: 1s, scrape_timeout: 1s}}
scrape_configs:
- job_name: testbed
  honor_labels: true
  static_configs:
  - targets: ["127.0.0.1:{target}"]
    labels: {{instance: clearway-testbed}}
  relabel_configs:
  - {{action: labeldrop, regex: job}}
  metric_relabel_configs:
  - {{source_labels: [instance], regex: clearway-testbed, target_label: instance, replacement: ""}}
"#
    )
}
