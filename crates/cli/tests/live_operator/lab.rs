//! What the tests share: a control plane of their own, because there is one ClusterVersion to a cluster; a service; and
//! operators as processes.

use std::fs;
use std::ops::{Deref, DerefMut};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Duration;

use clearway_testbed::{Cluster, ClusterOptions, http, own_cluster, wait_until};
use kube::api::{ApiResource, DynamicObject, GroupVersionKind, Patch, PatchParams, PostParams};
use kube::{Api, Client};
use serde_json::{Value, json};

/// How long anything may take, on a busy machine.
pub(crate) const SOON: Duration = clearway_testbed::IN_TIME;
pub(crate) const ID: &str = "8d3c9d26-95cf-4b4e-8d0d-0a1f4e6b7c11";
const CLEARWAY: &str = env!("CARGO_BIN_EXE_clearway");
const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// A control plane with our CRDs and a ClusterVersion.
pub(crate) struct Lab {
    pub(crate) cluster: Cluster,
    pub(crate) client: Client,
    /// Whom the operators authenticate as.
    kubeconfig: PathBuf,
    /// Whom they impersonate.
    identities: &'static [&'static str],
    dir: tempfile::TempDir,
}

/// A program of ours with the port of its probes and metrics.
pub(crate) struct Program {
    program: clearway_testbed::Program,
    pub(crate) status: u16,
}

impl Deref for Program {
    type Target = clearway_testbed::Program;

    fn deref(&self) -> &Self::Target {
        &self.program
    }
}

impl DerefMut for Program {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.program
    }
}

impl Program {
    pub(crate) fn start(log: PathBuf, status: u16, arguments: &[&str]) -> Self {
        let program = clearway_testbed::Program::start_with(CLEARWAY, arguments.iter().copied(), log, |command| {
            command.env_remove("CLEARWAY_STATE");
        });
        Program { program: program.unwrap(), status }
    }

    /// The value of a series among its metrics, by the beginning of its line.
    pub(crate) async fn metric(&self, series: &str) -> Option<f64> {
        let answer = http::get(self.status, "/metrics").await.ok()?;
        let line = answer.body.lines().find(|line| line.starts_with(series))?.to_owned();
        line.rsplit(' ').next()?.parse().ok()
    }
}

/// A port that is free.
pub(crate) fn free_port() -> u16 {
    clearway_testbed::free_port().unwrap()
}

/// Serves graph-data, and waits until it does.
pub(crate) async fn serve(graph_data: &Path, log: PathBuf) -> (Program, String) {
    let (port, status) = (free_port(), free_port());
    let (listen, status_listen) = (format!("127.0.0.1:{port}"), format!("127.0.0.1:{status}"));
    let data = graph_data.display().to_string();
    let arguments =
        ["serve", "--graph", &data, "--listen", &listen, "--status-listen", &status_listen, "--refresh", "1s"];
    let program = Program::start(log, status, &arguments);
    wait_until(SOON, "the service serves", async || {
        http::get(status, "/readyz").await.is_ok_and(|answer| answer.status == 200)
    })
    .await
    .unwrap();
    (program, format!("http://{listen}/api/upgrades_info"))
}

impl Lab {
    /// A control plane with the CRDs of a channel and a cluster at a version of a channel of updates.
    pub(crate) async fn open(options: &ClusterOptions, crds: &str, version: &str, channel: &str) -> Option<Self> {
        let cluster = own_cluster(options).await?;
        let client = cluster.client().await.unwrap();
        let kubeconfig = cluster.kubeconfig().to_owned();
        let lab = Lab { cluster, client, kubeconfig, identities: &[], dir: tempfile::tempdir().unwrap() };
        lab.install(crds).await;
        lab.create(&json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "clearway"}})).await;
        let object = json!({
            "apiVersion": "config.openshift.io/v1", "kind": "ClusterVersion", "metadata": {"name": "version"},
            "spec": {"clusterID": ID, "channel": channel},
        });
        let object: DynamicObject = serde_json::from_value(object).unwrap();
        let mut object = lab.versions().create(&PostParams::default(), &object).await.unwrap();
        let image = format!("example.com/release:{version}");
        // A merge patch would take the null away.
        object.data["status"] = json!({
            "desired": {"version": version, "image": image}, "observedGeneration": 1, "versionHash": "", "availableUpdates": null,
            "history": [{"state": "Completed", "startedTime": "2026-01-01T00:00:00Z", "completionTime": "2026-01-01T01:00:00Z", "version": version, "image": image, "verified": true}],
        });
        lab.versions().replace_status("version", &PostParams::default(), &object).await.unwrap();
        Some(lab)
    }

    /// A control plane with real controllers and simulated nodes, on which `clearway install --apply-updates` has been;
    /// operators have the rights of its service accounts and no others.
    pub(crate) async fn installed(adopt: &str, channel: &str) -> Option<Self> {
        Self::installed_on(&ClusterOptions { nodes: 2, ..ClusterOptions::default() }, adopt, channel).await
    }

    /// The same without controllers and nodes, for releases that have nothing to roll out.
    pub(crate) async fn installed_without_controllers(adopt: &str, channel: &str) -> Option<Self> {
        Self::installed_on(&ClusterOptions::api_only(), adopt, channel).await
    }

    async fn installed_on(options: &ClusterOptions, adopt: &str, channel: &str) -> Option<Self> {
        let cluster = own_cluster(options).await?;
        let client = cluster.client().await.unwrap();
        let install = ["install", "--channel", "experimental", "--adopt", adopt];
        let applying = ["--apply-updates", "--allow-unsigned-releases"];
        let made = Self::run_at(cluster.kubeconfig(), &[&install[..], &applying].concat());
        assert!(made.status.success(), "{made:?}");
        let kubeconfig = cluster.kubeconfig_for_service_account("clearway", "clearway-operator").await.unwrap();
        let identities = &["--evidence-as", "clearway-evidence-reader", "--apply-as", "clearway-updater"];
        let lab = Lab { cluster, client, kubeconfig, identities, dir: tempfile::tempdir().unwrap() };
        lab.patch(json!({"spec": {"channel": channel}})).await;
        Some(lab)
    }

    fn run_at(kubeconfig: &Path, arguments: &[&str]) -> Output {
        let mut command = Command::new(CLEARWAY);
        command.args(arguments).arg("--kubeconfig").arg(kubeconfig).env_remove("CLEARWAY_STATE");
        command.output().unwrap()
    }

    /// Runs a command of an administrator, and gives what it printed.
    pub(crate) fn run(&self, arguments: &[&str]) -> (i32, String) {
        let output = Self::run_at(self.cluster.kubeconfig(), arguments);
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (output.status.code().unwrap_or(-1), text(&output.stdout) + &text(&output.stderr))
    }

    /// Installs the CRDs of a channel, and waits until they are served.
    pub(crate) async fn install(&self, channel: &str) {
        let directory = Path::new(ROOT).join("crds").join(channel);
        let api = self.api("apiextensions.k8s.io/v1", "CustomResourceDefinition");
        for entry in fs::read_dir(directory).unwrap() {
            let text = fs::read_to_string(entry.unwrap().path()).unwrap();
            let crd: Value = serde_saphyr::from_str(&text).unwrap();
            let name = crd["metadata"]["name"].as_str().unwrap().to_owned();
            let parameters = PatchParams::apply("test").force();
            api.patch(&name, &parameters, &Patch::Apply(&crd)).await.unwrap();
            wait_until(SOON, "the CRD is served", async || {
                let crd = serde_json::to_value(api.get(&name).await.unwrap()).unwrap();
                let conditions = crd["status"]["conditions"].as_array().cloned().unwrap_or_default();
                conditions.iter().any(|condition| condition["type"] == "Established" && condition["status"] == "True")
            })
            .await
            .unwrap();
        }
    }

    pub(crate) fn api(&self, api_version: &str, kind: &str) -> Api<DynamicObject> {
        Api::all_with(self.client.clone(), &Self::resource(api_version, kind))
    }

    pub(crate) fn resource(api_version: &str, kind: &str) -> ApiResource {
        let (group, version) = clearway_core::split_api_version(api_version);
        ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind))
    }

    pub(crate) fn versions(&self) -> Api<DynamicObject> {
        self.api("config.openshift.io/v1", "ClusterVersion")
    }

    /// The ClusterVersion as it is.
    pub(crate) async fn version(&self) -> Value {
        self.versions().get("version").await.map(|object| serde_json::to_value(object).unwrap()).unwrap_or_default()
    }

    /// Creates an object.
    pub(crate) async fn create(&self, object: &Value) {
        let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let resource = Self::resource(&word(&object["apiVersion"]), &word(&object["kind"]));
        let namespace = word(&object["metadata"]["namespace"]);
        let api: Api<DynamicObject> = match namespace.as_str() {
            "" => Api::all_with(self.client.clone(), &resource),
            namespace => Api::namespaced_with(self.client.clone(), namespace, &resource),
        };
        let object = serde_json::from_value(object.clone()).unwrap();
        api.create(&PostParams::default(), &object).await.unwrap();
    }

    /// Waits until the ClusterVersion is as it should be, and gives it.
    pub(crate) async fn until(&self, what: &str, is: impl Fn(&Value) -> bool) -> Value {
        let mut last = Value::Null;
        let waited = wait_until(SOON, what, async || {
            last = self.version().await;
            is(&last)
        })
        .await;
        if let Err(error) = waited {
            panic!("{error}: {}", serde_json::to_string_pretty(&last["status"]).unwrap());
        }
        last
    }

    /// A server that was restarted closes the connections that are open to it: what does not get through is sent again.
    pub(crate) async fn patch(&self, patch: Value) {
        let (parameters, patch) = (PatchParams::default(), Patch::Merge(patch));
        wait_until(SOON, "the server takes a patch", async || {
            match self.versions().patch("version", &parameters, &patch).await {
                Err(kube::Error::Api(refused)) => panic!("{refused}"),
                sent => sent.is_ok(),
            }
        })
        .await
        .unwrap();
    }

    /// A place for files of this test.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Starts an operator that applies updates or renders them, with short intervals unless others are given.
    pub(crate) fn operator(&self, name: &str, more: &[&str]) -> Program {
        let status = free_port();
        let (kubeconfig, listen) = (self.kubeconfig.display().to_string(), format!("127.0.0.1:{status}"));
        let mut arguments =
            vec!["operator", "--kubeconfig", &kubeconfig, "--status-listen", &listen, "--arch", "amd64"];
        if !more.contains(&"--log") {
            arguments.extend(["--log", "debug"]);
        }
        if !more.contains(&"--fetch-every") {
            arguments.extend(["--fetch-every", "1s", "--between-rounds", "1s", "--between-answers", "1s"]);
        }
        if !more.contains(&"--render") {
            arguments.push("--apply-updates");
        }
        arguments.extend(self.identities);
        arguments.extend(more);
        Program::start(self.path(name), status, &arguments)
    }
}

/// The status, reason and message of a condition in a list.
pub(crate) fn condition(conditions: &Value, type_: &str) -> (String, String, String) {
    let list = conditions.as_array().cloned().unwrap_or_default();
    let found = list.into_iter().find(|condition| condition["type"] == type_).unwrap_or_default();
    let word = |field: &str| found[field].as_str().unwrap_or_default().to_owned();
    (word("status"), word("reason"), word("message"))
}

/// The recommendation of a conditional update.
pub(crate) fn recommended(object: &Value, version: &str) -> (String, String, String) {
    let list = object["status"]["conditionalUpdates"].as_array().cloned().unwrap_or_default();
    let found = list.into_iter().find(|update| update["release"]["version"] == version).unwrap_or_default();
    condition(&found["conditions"], "Recommended")
}

pub(crate) fn available(object: &Value) -> Vec<String> {
    let list = object["status"]["availableUpdates"].as_array().cloned().unwrap_or_default();
    list.iter().map(|release| release["version"].as_str().unwrap_or_default().to_owned()).collect()
}
