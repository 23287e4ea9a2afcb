//! What the tests share: a namespace in a cluster, objects as JSON, and runs of the program.

use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use clearway_testbed::{Cluster, SharedCluster, TestNamespace, cluster, wait_until};
use kube::api::{DynamicObject, Patch, PatchParams, PostParams};
use kube::core::{ApiResource, GroupVersionKind};
use kube::{Api, Client};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncRead, BufReader};
use tokio::process::{Child, Command};
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// How long anything the cluster does may take, on a busy machine.
pub(crate) const SOON: Duration = clearway_testbed::IN_TIME;
/// How long any run of the program may take.
const LONGEST: Duration = clearway_testbed::IN_TIME;

/// A namespace of one test in the shared cluster.
pub(crate) struct Lab {
    pub(crate) cluster: SharedCluster,
    pub(crate) client: Client,
    namespace: TestNamespace,
}

impl Lab {
    pub(crate) async fn open() -> Option<Self> {
        let cluster = cluster().await?;
        let (client, namespace) = (cluster.client().await.unwrap(), cluster.namespace().await.unwrap());
        Some(Lab { cluster, client, namespace })
    }

    /// The name of the namespace.
    pub(crate) fn ns(&self) -> &str {
        self.namespace.name()
    }

    /// The objects of a kind in the namespace.
    pub(crate) fn api(&self, api_version: &str, kind: &str) -> Api<DynamicObject> {
        Api::namespaced_with(self.client.clone(), self.ns(), &resource(api_version, kind))
    }

    /// Creates an object in the namespace.
    pub(crate) async fn create(&self, object: Value) -> Value {
        create(&self.api(text(&object["apiVersion"]), text(&object["kind"])), object).await
    }

    /// Creates an object that is in no namespace.
    pub(crate) async fn create_global(&self, object: Value) -> Value {
        let kind = resource(text(&object["apiVersion"]), text(&object["kind"]));
        create(&Api::all_with(self.client.clone(), &kind), object).await
    }

    /// Changes an object of the namespace.
    pub(crate) async fn patch(&self, api_version: &str, kind: &str, name: &str, patch: Value) {
        let api = self.api(api_version, kind);
        api.patch(name, &PatchParams::default(), &Patch::Merge(patch)).await.unwrap();
    }

    /// Writes the status of an object of the namespace.
    pub(crate) async fn patch_status(&self, api_version: &str, kind: &str, name: &str, status: Value) {
        let patch = Patch::Merge(json!({"status": status}));
        self.api(api_version, kind).patch_status(name, &PatchParams::default(), &patch).await.unwrap();
    }

    /// Waits until an object is as it should be.
    pub(crate) async fn until(
        &self,
        api_version: &str,
        kind: &str,
        name: &str,
        what: &str,
        is: impl Fn(&Value) -> bool,
    ) {
        let api = self.api(api_version, kind);
        wait_until(SOON, what, async || {
            let object = api.get_opt(name).await.unwrap();
            object.is_some_and(|object| is(&serde_json::to_value(object).unwrap()))
        })
        .await
        .unwrap();
    }

    /// Runs a command in the namespace: `-n` and `--kubeconfig` are added.
    pub(crate) async fn run(&self, arguments: &str) -> Run {
        self.start(arguments).end().await
    }

    /// Starts a command in the namespace and leaves it running.
    pub(crate) fn start(&self, arguments: &str) -> Running {
        Running::start(&format!("{arguments} -n {}", self.ns()), self.cluster.kubeconfig())
    }

    /// Runs a command on the whole cluster: `--kubeconfig` is added.
    pub(crate) async fn run_anywhere(&self, arguments: &str) -> Run {
        self.start_anywhere(arguments).end().await
    }

    /// Starts a command on the whole cluster and leaves it running.
    pub(crate) fn start_anywhere(&self, arguments: &str) -> Running {
        Running::start(arguments, self.cluster.kubeconfig())
    }

    /// Grants a new user rights in the namespace, and gives the user's kubeconfig.
    pub(crate) async fn user(&self, name: &str, rules: Value) -> PathBuf {
        let kubeconfig = self.cluster.kubeconfig_for(name, None).unwrap();
        let rbac = "rbac.authorization.k8s.io/v1";
        self.create(json!({"apiVersion": rbac, "kind": "Role", "metadata": {"name": name}, "rules": rules})).await;
        self.create(json!({
            "apiVersion": rbac,
            "kind": "RoleBinding",
            "metadata": {"name": name},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name},
            "subjects": [{"kind": "User", "name": name, "apiGroup": "rbac.authorization.k8s.io"}],
        }))
        .await;
        kubeconfig
    }
}

/// A kind, from how objects name it.
pub(crate) fn resource(api_version: &str, kind: &str) -> ApiResource {
    let (group, version) = clearway_core::split_api_version(api_version);
    ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind))
}

/// Creates an object.
pub(crate) async fn create(api: &Api<DynamicObject>, object: Value) -> Value {
    let object = serde_json::from_value(object).unwrap();
    serde_json::to_value(api.create(&PostParams::default(), &object).await.unwrap()).unwrap()
}

/// The text of a value that is one.
pub(crate) fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("not a text: {value}"))
}

/// A Deployment whose pods are simulated to be well, or in this kind of trouble.
pub(crate) fn deployment(name: &str, replicas: u32, simulate: Option<&str>) -> Value {
    let mut labels = json!({"app": name});
    if let Some(simulate) = simulate {
        labels["clearway.dev/simulate"] = simulate.into();
    }
    json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [{"name": "main", "image": "example.dev/app:1"}]},
            },
        },
    })
}

/// A run of the program that has ended.
pub(crate) struct Run {
    command: String,
    status: ExitStatus,
    pub(crate) out: String,
    pub(crate) err: String,
    pub(crate) took: Duration,
}

impl Run {
    /// Asserts the exit code.
    #[track_caller]
    pub(crate) fn exits(&self, code: i32) -> &Self {
        assert_eq!(self.status.code(), Some(code), "the exit code of {self}");
        self
    }

    /// Asserts that standard output contains each of the texts.
    #[track_caller]
    pub(crate) fn prints(&self, texts: &[&str]) -> &Self {
        for text in texts {
            assert!(self.out.contains(text), "no `{text}` on standard output of {self}");
        }
        self
    }

    /// Asserts that standard error contains each of the texts.
    #[track_caller]
    pub(crate) fn says(&self, texts: &[&str]) -> &Self {
        for text in texts {
            assert!(self.err.contains(text), "no `{text}` on standard error of {self}");
        }
        self
    }

    /// Asserts that standard error is one line, which contains each of the texts, and that nothing else was printed.
    #[track_caller]
    pub(crate) fn says_only(&self, texts: &[&str]) -> &Self {
        assert_eq!(self.err.lines().count(), 1, "more or less than one sentence from {self}");
        assert_eq!(self.out, "", "output beside an error of {self}");
        self.says(texts)
    }

    /// The first line of standard output that contains the text.
    #[track_caller]
    pub(crate) fn line(&self, text: &str) -> &str {
        self.out.lines().find(|line| line.contains(text)).unwrap_or_else(|| panic!("no line with `{text}` in {self}"))
    }

    /// Standard output as JSON.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error} in {self}"))
    }
}

impl std::fmt::Display for Run {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Run { command, status, out, err, took } = self;
        write!(f, "`clearway {command}` ({status} after {took:.1?})\n--- stdout\n{out}--- stderr\n{err}---")
    }
}

/// A run of the program that goes on. It ends with the value.
pub(crate) struct Running {
    command: String,
    child: Child,
    started: tokio::time::Instant,
    out: (watch::Receiver<String>, JoinHandle<()>),
    err: (watch::Receiver<String>, JoinHandle<()>),
}

impl Running {
    /// Starts the program with words as one types them.
    pub(crate) fn start(command: &str, kubeconfig: &Path) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_clearway"))
            .args(command.split_whitespace())
            .arg("--kubeconfig")
            .arg(kubeconfig)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let (out, err) = (collect(child.stdout.take().unwrap()), collect(child.stderr.take().unwrap()));
        Running { command: command.to_owned(), child, started: tokio::time::Instant::now(), out, err }
    }

    /// Waits until it has said this on standard error.
    pub(crate) async fn until_says(&mut self, text: &str) {
        until_contains(&mut self.err.0, text, &self.command).await;
    }

    /// Waits until it has printed this on standard output.
    pub(crate) async fn until_prints(&mut self, text: &str) {
        until_contains(&mut self.out.0, text, &self.command).await;
    }

    /// Waits for its end.
    pub(crate) async fn end(mut self) -> Run {
        let status = tokio::time::timeout(LONGEST, self.child.wait()).await;
        let took = self.started.elapsed();
        let said = |all: &watch::Receiver<String>| all.borrow().clone();
        let Ok(status) = status else {
            panic!("`clearway {}` did not end, but said:\n{}\n{}", self.command, said(&self.out.0), said(&self.err.0));
        };
        self.out.1.await.unwrap();
        self.err.1.await.unwrap();
        let (out, err) = (said(&self.out.0), said(&self.err.0));
        let run = Run { command: self.command, status: status.unwrap(), out, err, took };
        println!("{run}\n");
        run
    }
}

async fn until_contains(all: &mut watch::Receiver<String>, text: &str, command: &str) {
    let said = tokio::time::timeout(SOON, all.wait_for(|all| all.contains(text))).await;
    if !matches!(said, Ok(Ok(_))) {
        drop(said);
        panic!("`clearway {command}` did not say `{text}` but:\n{}", *all.borrow());
    }
}

/// Gathers what is written, so that it can be read while more comes.
fn collect(from: impl AsyncRead + Unpin + Send + 'static) -> (watch::Receiver<String>, JoinHandle<()>) {
    let (sender, receiver) = watch::channel(String::new());
    let reader = tokio::spawn(async move {
        let mut lines = BufReader::new(from).lines();
        while let Some(line) = lines.next_line().await.unwrap() {
            sender.send_modify(|all| {
                all.push_str(&line);
                all.push('\n');
            });
        }
    });
    (receiver, reader)
}

/// Starts a command on a cluster that one test owns.
pub(crate) fn start_on(cluster: &Cluster, command: &str) -> Running {
    Running::start(command, cluster.kubeconfig())
}
