//! The operator on a real control plane and a real Prometheus: how soon there is advice, with how many writes, and what it
//! takes when there is nothing to do.
//!
//! - 20 risks, each with its own query: complete advice within 2 s of the start of the process, the lease being free, with at
//!   most two writes of the status;
//! - a channel of hundreds of releases: below 40 MiB, and at rest no writes and below 0.1 % of a core;
//! - two replicas, the one that leads killed: the other goes on within the lease and one retry.
//!
//! `cargo bench --bench operator` needs the test bed. `GRAPH_DATA=DIR CHANNEL=NAME VERSION=V` take other data for the second,
//! and `REST=600` looks at it for ten minutes instead of one.

use std::error::Error;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use clearway_testbed::{Cluster, ClusterOptions, Prometheus, http, wait_until};
use kube::Api;
use kube::api::{ApiResource, DynamicObject, GroupVersionKind, Patch, PatchParams};
use serde_json::{Value, json};

#[path = "../../graph/examples/generate/data.rs"]
mod data;

type Outcome<T> = Result<T, Box<dyn Error>>;

const SOON: Duration = Duration::from_mins(2);
const RISKS: usize = 20;
/// A channel and version of the generated data with hundreds of releases and many updates.
const CHANNEL: &str = "candidate-10.14";
const VERSION: &str = "10.13.19";

fn main() -> Outcome<ExitCode> {
    // Without `--bench` this is `cargo test --benches`, which only wants to know that it builds.
    if !std::env::args().any(|argument| argument == "--bench") {
        return Ok(ExitCode::SUCCESS);
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let passes = [runtime.block_on(first_advice())?, runtime.block_on(at_rest())?, runtime.block_on(take_over())?];
    Ok(if passes.contains(&false) { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn tell(what: &str, measured: &str, bound: &str, passes: bool) -> bool {
    println!("  {what:42} {measured:>14}   {bound:>12}   {}", if passes { "ok" } else { "MISSED" });
    passes
}

async fn first_advice() -> Outcome<bool> {
    let lab = Lab::open("1.0.0", "stable-1").await?;
    let data = lab.dir.path().join("graph-data");
    let versions: Vec<String> = (0..=RISKS).map(|patch| format!("1.0.{patch}")).collect();
    let releases: Vec<Value> = versions
        .iter()
        .map(|version| json!({"version": version, "arch": "amd64", "payload": format!("example.com/r@{version}"), "previous": if version == "1.0.0" { vec![] } else { vec!["1.0.0"] }}))
        .collect();
    write(&data.join("version"), "1.1.0\n")?;
    write(&data.join("channels/stable-1.yaml"), &format!("name: stable-1\nversions: [{}]\n", versions.join(", ")))?;
    write(&data.join("releases/all.json"), &Value::Array(releases).to_string())?;
    let mut series = String::new();
    for at in 1..=RISKS {
        let rule = format!("- {{type: PromQL, promql: {{promql: max(risk_{at})}}}}");
        let risk = format!(
            "to: 1.0.{at}\nfrom: .*\nurl: https://example.com/{at}\nname: Risk{at}\nmessage: It is bad.\nmatchingRules:\n{rule}\n"
        );
        write(&data.join(format!("blocked-edges/{at}.yaml")), &risk)?;
        writeln!(series, "risk_{at} {}", at % 2)?;
    }
    let metrics = Prometheus::start(&series).await?;
    let (_service, url) = lab.serve(&data).await?;
    let base = metrics.base_url();
    let start = Instant::now();
    let operator = lab.operator("operator", &["--upstream", &url, "--prometheus", &base])?;
    lab.until(|object| known(object).is_some_and(|(all, known)| all == RISKS && known == RISKS)).await?;
    let took = start.elapsed();
    wait_until(SOON, "the metrics say so", async || {
        operator.metric("clearway_operator_queries_answered_total").await >= 20.0
    })
    .await?;
    let writes = operator.metric("clearway_operator_status_writes_total").await;
    println!("{RISKS} risks with a query each");
    let soon =
        tell("first complete advice", &format!("{:.2} s", took.as_secs_f64()), "2 s", took <= Duration::from_secs(2));
    Ok(tell("writes of the status", &writes.to_string(), "2", writes <= 2.0) && soon)
}

async fn at_rest() -> Outcome<bool> {
    let var = |name: &str, otherwise: &str| std::env::var(name).unwrap_or_else(|_| otherwise.to_owned());
    let given = std::env::var_os("GRAPH_DATA").map(PathBuf::from);
    let (channel, version) = match given {
        Some(_) => (var("CHANNEL", "stable-4.16"), var("VERSION", "4.14.16")),
        None => (CHANNEL.to_owned(), VERSION.to_owned()),
    };
    let lab = Lab::open(&version, &channel).await?;
    let generated = given.is_none();
    let directory = given.unwrap_or_else(|| lab.dir.path().join("graph-data"));
    if generated {
        for (path, text) in data::files(0) {
            write(&directory.join(path), &text)?;
        }
    }
    let metrics = Prometheus::start("nothing 1\n").await?;
    let (_service, url) = lab.serve(&directory).await?;
    let base = metrics.base_url();
    let operator = lab.operator("operator", &["--upstream", &url, "--prometheus", &base])?;
    let object = lab.until(|object| known(object).is_some_and(|(all, known)| all > 0 && all == known)).await?;
    let rest: u64 = var("REST", "60").parse()?;
    let settle = Instant::now();
    let _ = wait_until(Duration::from_secs(10), "the first minutes are over", async || false).await;
    let (memory, before, writes) = (operator.kilobytes("VmRSS")?, operator.ticks()?, lab.revision().await?);
    let begin = Instant::now();
    let _ = wait_until(Duration::from_secs(rest), "the rest is over", async || false).await;
    let share = f64::from(u32::try_from(operator.ticks()? - before)?) / 100.0 / begin.elapsed().as_secs_f64() * 100.0;
    let peak = operator.kilobytes("VmHWM")?;
    println!(
        "{channel} seen from {version}: {} updates with risks, a status of {} bytes; at rest for {rest} s after {:.0} s",
        known(&object).unwrap_or_default().0,
        object["status"].to_string().len(),
        settle.elapsed().as_secs_f64() - begin.elapsed().as_secs_f64()
    );
    let small = tell("memory", &mebibytes(memory), "40 MiB", memory < 40 << 10);
    println!("  {:42} {:>14}", "at most so far", mebibytes(peak));
    let idle = tell("share of a core", &format!("{share:.3} %"), "0.1 %", share < 0.1);
    let still = writes == lab.revision().await?;
    Ok(tell("writes of the object", if still { "0" } else { "some" }, "0", still) && idle && small)
}

async fn take_over() -> Outcome<bool> {
    let lab = Lab::open("1.0.0", "stable-1").await?;
    let lease = ["--lease-duration", "15s", "--lease-renewal", "3s"];
    let mut first = lab.operator("first", &lease)?;
    wait_until(SOON, "the first leads", async || first.metric("clearway_operator_leads").await > 0.5).await?;
    let second = lab.operator("second", &lease)?;
    wait_until(SOON, "the second waits", async || second.metric("clearway_operator_leads").await == 0.0).await?;
    let killed = Instant::now();
    first.kill();
    lab.patch(json!({"spec": {"desiredUpdate": {"version": "7.7.7"}}})).await?;
    lab.until(|object| object["status"]["conditions"].to_string().contains("7.7.7")).await?;
    let took = killed.elapsed();
    println!("two replicas, the one that leads killed; a lease of 15 s, renewed every 3 s");
    Ok(tell("another goes on after", &format!("{:.1} s", took.as_secs_f64()), "18 s", took <= Duration::from_secs(18)))
}

fn mebibytes(kilobytes: u64) -> String {
    format!("{}.{} MiB", kilobytes / 1024, kilobytes % 1024 * 10 / 1024)
}

/// How many conditional updates there are, and of how many it is known whether they are recommended, as far as that goes.
fn known(object: &Value) -> Option<(usize, usize)> {
    let all = object["status"]["conditionalUpdates"].as_array()?;
    let known = |update: &&Value| {
        let text = update["conditions"].to_string();
        text.contains("\"Recommended\"") && !text.contains("EvaluationPending")
    };
    Some((all.len(), all.iter().filter(known).count()))
}

struct Lab {
    cluster: Cluster,
    dir: tempfile::TempDir,
}

impl Lab {
    async fn open(version: &str, channel: &str) -> Outcome<Self> {
        let cluster = Cluster::start_with(&ClusterOptions::api_only()).await?;
        let lab = Lab { cluster, dir: tempfile::tempdir()? };
        let made = Command::new(env!("CARGO_BIN_EXE_clearway"))
            .args(["install", "--adopt", version, "--kubeconfig"])
            .arg(lab.cluster.kubeconfig())
            .output()?;
        if !made.status.success() {
            return Err(String::from_utf8_lossy(&made.stderr).into_owned().into());
        }
        lab.patch(json!({"spec": {"channel": channel}})).await?;
        Ok(lab)
    }

    async fn versions(&self) -> Outcome<Api<DynamicObject>> {
        let resource = ApiResource::from_gvk(&GroupVersionKind::gvk("config.openshift.io", "v1", "ClusterVersion"));
        Ok(Api::all_with(self.cluster.client().await?, &resource))
    }

    async fn patch(&self, patch: Value) -> Outcome<()> {
        let parameters = PatchParams::default();
        self.versions().await?.patch("version", &parameters, &Patch::Merge(patch)).await?;
        Ok(())
    }

    async fn revision(&self) -> Outcome<Option<String>> {
        Ok(self.versions().await?.get("version").await?.metadata.resource_version)
    }

    async fn until(&self, is: impl Fn(&Value) -> bool) -> Outcome<Value> {
        let versions = self.versions().await?;
        let mut last = Value::Null;
        let waited = wait_until(SOON, "the object is as it should be", async || {
            last = versions
                .get("version")
                .await
                .ok()
                .and_then(|object| serde_json::to_value(object).ok())
                .unwrap_or_default();
            is(&last)
        });
        match waited.await {
            Ok(()) => Ok(last),
            Err(error) => Err(format!("{error}: {:#}", last["status"]["conditions"]).into()),
        }
    }

    async fn serve(&self, data: &Path) -> Outcome<(Program, String)> {
        let (port, status) = (free_port()?, free_port()?);
        let (listen, status_listen) = (format!("127.0.0.1:{port}"), format!("127.0.0.1:{status}"));
        let data = data.display().to_string();
        let arguments = ["serve", "--graph", &data, "--listen", &listen, "--status-listen", &status_listen];
        let program = Program::start(&self.dir.path().join("serve.log"), status, &arguments)?;
        wait_until(SOON, "the service serves", async || {
            http::get(status, "/readyz").await.is_ok_and(|answer| answer.status == 200)
        })
        .await?;
        Ok((program, format!("http://{listen}/api/upgrades_info")))
    }

    fn operator(&self, name: &str, more: &[&str]) -> Outcome<Program> {
        let status = free_port()?;
        let (kubeconfig, listen) = (self.cluster.kubeconfig().display().to_string(), format!("127.0.0.1:{status}"));
        let mut arguments =
            vec!["operator", "--arch", "amd64", "--kubeconfig", &kubeconfig, "--status-listen", &listen];
        arguments.extend(more);
        Program::start(&self.dir.path().join(format!("{name}.log")), status, &arguments)
    }
}

/// A process of ours; it ends with this value.
struct Program {
    child: Child,
    status: u16,
}

impl Program {
    fn start(log: &Path, status: u16, arguments: &[&str]) -> Outcome<Self> {
        let file = File::create(log)?;
        let mut command = Command::new(env!("CARGO_BIN_EXE_clearway"));
        let child = command.args(arguments).stdout(Stdio::from(file.try_clone()?)).stderr(Stdio::from(file)).spawn()?;
        Ok(Program { child, status })
    }

    fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    async fn metric(&self, series: &str) -> f64 {
        let Ok(answer) = http::get(self.status, "/metrics").await else { return -1.0 };
        let line = answer.body.lines().find(|line| line.starts_with(series)).unwrap_or_default();
        line.rsplit(' ').next().and_then(|value| value.parse().ok()).unwrap_or(-1.0)
    }

    fn kilobytes(&self, field: &str) -> Outcome<u64> {
        let text = fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let line = text.lines().find(|line| line.starts_with(field)).ok_or("no such field")?;
        Ok(line.split_whitespace().nth(1).ok_or("no value")?.parse()?)
    }

    /// Hundredths of a second of processor time.
    fn ticks(&self) -> Outcome<u64> {
        let text = fs::read_to_string(format!("/proc/{}/stat", self.child.id()))?;
        let behind = text.rsplit(')').next().ok_or("no fields")?;
        let fields: Vec<&str> = behind.split_whitespace().collect();
        let field = |at: usize| fields.get(at).and_then(|text| text.parse::<u64>().ok()).unwrap_or(0);
        Ok(field(11) + field(12))
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        self.kill();
    }
}

fn free_port() -> Outcome<u16> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}

fn write(path: &Path, text: &str) -> Outcome<()> {
    fs::create_dir_all(path.parent().ok_or("no directory")?)?;
    Ok(fs::write(path, text)?)
}
