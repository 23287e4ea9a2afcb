//! A cluster with what `install --policies` brings, and the operator beside it with the rights of its account.

use std::fs::{self, File};
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};

use clearway_testbed::{Cluster, ClusterOptions, IN_TIME, http, own_cluster, wait_until};
use kube::api::{
    ApiResource, DeleteParams, DynamicObject, GroupVersionKind, ListParams, Patch, PatchParams, PostParams,
};
use kube::{Api, Client};
use serde_json::{Value, json};

const IMAGE: &str = "example.com/clearway@sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
pub(crate) const NAME: &str = "clearway-policies";
pub(crate) const TEMPLATES: &str = "templates.gatekeeper.sh/v1";
pub(crate) const CONSTRAINTS: &str = "constraints.gatekeeper.sh/v1beta1";
/// Rego that reports each label of `parameters.labels` that an object does not have.
pub(crate) const REQUIRED_LABELS: &str = r#"package required
violation[{"msg": msg, "details": {"missing": label}}] {
  label := input.parameters.labels[_]
  not input.review.object.metadata.labels[label]
  msg := sprintf("label %v is missing", [label])
}"#;

/// A cluster that one test owns.
pub(crate) struct Lab {
    pub(crate) cluster: Cluster,
    pub(crate) client: Client,
    pub(crate) directory: tempfile::TempDir,
    kubeconfig: PathBuf,
}

impl Lab {
    pub(crate) async fn start() -> Option<Self> {
        let cluster = own_cluster(&ClusterOptions::api_only()).await?;
        let client = cluster.client().await.unwrap();
        let lab = Lab { cluster, client, directory: tempfile::tempdir().unwrap(), kubeconfig: PathBuf::new() };
        let (code, out, err) = lab.run(&["install", "--policies", "--image", IMAGE]);
        assert_eq!(code, 0, "{out}{err}");
        let kubeconfig = lab.cluster.kubeconfig_for_service_account("clearway", NAME).await.unwrap();
        let lab = Lab { kubeconfig, ..lab };
        lab.create_namespace("gatekeeper-system").await;
        lab.create_namespace("shop").await;
        Some(lab)
    }

    pub(crate) fn kubeconfig(&self) -> &std::path::Path {
        &self.kubeconfig
    }

    pub(crate) fn api(&self, api_version: &str, kind: &str, namespace: Option<&str>) -> Api<DynamicObject> {
        let (group, version) = clearway_core::split_api_version(api_version);
        let mut resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
        if ["constraints.gatekeeper.sh", "expansion.gatekeeper.sh"].contains(&group) {
            resource.plural = kind.to_lowercase();
        }
        match namespace {
            Some(namespace) => Api::namespaced_with(self.client.clone(), namespace, &resource),
            None => Api::all_with(self.client.clone(), &resource),
        }
    }

    fn api_of(&self, object: &Value) -> Api<DynamicObject> {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        self.api(&text(&object["apiVersion"]), &text(&object["kind"]), object["metadata"]["namespace"].as_str())
    }

    pub(crate) async fn try_create(&self, object: &Value) -> kube::Result<DynamicObject> {
        let api = self.api_of(object);
        let object: DynamicObject = serde_json::from_value(object.clone()).unwrap();
        api.create(&PostParams::default(), &object).await
    }

    pub(crate) async fn create(&self, object: Value) {
        self.try_create(&object).await.unwrap();
    }

    pub(crate) async fn create_namespace(&self, name: &str) {
        self.create(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})).await;
    }

    /// A ConfigMap in the namespace `shop`, with labels.
    pub(crate) async fn create_config_map(&self, name: &str, labels: Value) {
        let metadata = json!({"name": name, "namespace": "shop", "labels": labels});
        self.create(json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})).await;
    }

    pub(crate) async fn create_template(&self, kind: &str, rego: &str) {
        self.create(template(kind, rego)).await;
    }

    /// Creates a constraint as soon as its kind is served.
    pub(crate) async fn create_constraint(&self, constraint: Value) {
        let created = async || self.try_create(&constraint).await.is_ok();
        wait_until(IN_TIME, "the constraint is created", created).await.unwrap();
    }

    pub(crate) async fn patch(&self, api_version: &str, kind: &str, name: &str, patch: Value) {
        let api = self.api(api_version, kind, None);
        let parameters = PatchParams::default();
        if patch.get("status").is_some() {
            api.patch_status(name, &parameters, &Patch::Merge(&patch)).await.unwrap();
        } else {
            api.patch(name, &parameters, &Patch::Merge(&patch)).await.unwrap();
        }
    }

    pub(crate) async fn delete(&self, api_version: &str, kind: &str, namespace: Option<&str>, name: &str) {
        self.api(api_version, kind, namespace).delete(name, &DeleteParams::default()).await.unwrap();
    }

    /// An object without namespace; null if there is none.
    pub(crate) async fn get(&self, api_version: &str, kind: &str, name: &str) -> Value {
        match self.api(api_version, kind, None).get_opt(name).await {
            Ok(object) => serde_json::to_value(object).unwrap(),
            Err(_) => Value::Null,
        }
    }

    /// The Events about violations that the operator wrote, by their reason.
    pub(crate) async fn violation_events(&self, reason: &str) -> Vec<Value> {
        let events = self.api("v1", "Event", Some("clearway")).list(&ListParams::default()).await.unwrap();
        let events = events.items.into_iter().map(|event| serde_json::to_value(event).unwrap());
        events.filter(|event| event["reason"] == reason).collect()
    }

    /// The data of a Secret of the operator; null if there is none.
    pub(crate) async fn get_secret(&self, name: &str) -> Value {
        let secret = self.api("v1", "Secret", Some("clearway")).get_opt(name).await.unwrap();
        secret.map_or(Value::Null, |secret| secret.data["data"].clone())
    }

    /// Waits until an object is as it should be, and returns it.
    pub(crate) async fn wait(
        &self,
        what: &str,
        (api_version, kind, name): (&str, &str, &str),
        is: impl Fn(&Value) -> bool,
    ) -> Value {
        let waited = wait_until(IN_TIME, what, async || is(&self.get(api_version, kind, name).await)).await;
        let object = self.get(api_version, kind, name).await;
        waited.unwrap_or_else(|error| panic!("{error}: {object:#}"));
        object
    }

    /// Changes fields of the webhook that reviews requests, as an administrator may.
    pub(crate) async fn change_webhook(&self, fields: Value) {
        let api = self.api("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", None);
        let mut configuration = api.get(NAME).await.unwrap();
        for (name, value) in fields.as_object().unwrap() {
            configuration.data["webhooks"][0][name] = value.clone();
        }
        api.replace(NAME, &PostParams::default(), &configuration).await.unwrap();
    }

    /// Sets how long the API server waits for the webhooks, without regard to what the operator writes meanwhile.
    pub(crate) async fn set_webhook_timeouts(&self, seconds: u32) {
        let api = self.api("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", None);
        let webhooks = api.get(NAME).await.unwrap().data["webhooks"].clone();
        let timeout = |webhook: &Value| json!({"name": webhook["name"], "timeoutSeconds": seconds});
        let webhooks: Vec<Value> = webhooks.as_array().unwrap().iter().map(timeout).collect();
        let patch = Patch::Strategic(json!({"webhooks": webhooks}));
        api.patch(NAME, &PatchParams::default(), &patch).await.unwrap();
    }

    /// The operator as the pod of a name, with the rights of the installation.
    pub(crate) fn operator(&self, pod: &str, more: &[&str]) -> Program {
        self.operator_of(None, pod, more)
    }

    /// The same with another program.
    pub(crate) fn operator_of(&self, program: Option<&str>, pod: &str, more: &[&str]) -> Program {
        let log = self.directory.path().join(format!("{pod}.log"));
        let kubeconfig = self.kubeconfig.to_str().unwrap();
        let line = ["operator", "--policies", "--kubeconfig", kubeconfig, "--namespace", "clearway"];
        let fixed = ["--status-listen", "127.0.0.1:0", "--evaluators", "2", "--log", "info,clearway_operator=debug"];
        let program = program.unwrap_or(env!("CARGO_BIN_EXE_clearway"));
        Program::start(program, log, pod, &[&line[..], &fixed, more].concat())
    }

    /// Runs a command on the cluster as its administrator.
    pub(crate) fn run(&self, arguments: &[&str]) -> (i32, String, String) {
        let kubeconfig = self.cluster.kubeconfig().to_str().unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_clearway"));
        let Output { status, stdout, stderr } =
            command.args(arguments).args(["--kubeconfig", kubeconfig]).output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (status.code().unwrap(), text(stdout), text(stderr))
    }
}

/// A template in Rego whose constraints have a list of labels as parameter.
pub(crate) fn template(kind: &str, rego: &str) -> Value {
    let labels = json!({"type": "array", "items": {"type": "string"}});
    let schema = json!({"type": "object", "properties": {"labels": labels}});
    json!({
        "apiVersion": TEMPLATES, "kind": "ConstraintTemplate", "metadata": {"name": kind.to_lowercase()},
        "spec": {
            "crd": {"spec": {"names": {"kind": kind}, "validation": {"openAPIV3Schema": schema}}},
            "targets": [{"target": "admission.k8s.gatekeeper.sh", "rego": rego}],
        },
    })
}

/// A constraint about ConfigMaps of the namespace `shop`, which must have the label `owner`.
pub(crate) fn constraint(kind: &str, name: &str, action: &str) -> Value {
    json!({
        "apiVersion": CONSTRAINTS, "kind": kind, "metadata": {"name": name},
        "spec": {
            "enforcementAction": action,
            "match": {"kinds": [{"apiGroups": [""], "kinds": ["ConfigMap"]}], "namespaces": ["shop"]},
            "parameters": {"labels": ["owner"]},
        },
    })
}

/// The entry of a pod in a status.
pub(crate) fn by_pod<'o>(object: &'o Value, pod: &str) -> &'o Value {
    let entries = object["status"]["byPod"].as_array();
    entries.and_then(|entries| entries.iter().find(|entry| entry["id"] == pod)).unwrap_or(&Value::Null)
}

/// A process of ours, with its log; it ends with this value.
pub(crate) struct Program {
    child: Child,
    log: PathBuf,
}

impl Program {
    fn start(program: &str, log: PathBuf, pod: &str, arguments: &[&str]) -> Self {
        let file = File::create(&log).unwrap();
        let child = Command::new(program)
            .args(arguments)
            .env_remove("CLEARWAY_STATE")
            .env("POD_NAME", pod)
            .stdout(Stdio::from(file.try_clone().unwrap()))
            .stderr(Stdio::from(file))
            .spawn()
            .unwrap();
        Program { child, log }
    }

    pub(crate) fn said(&self) -> String {
        fs::read_to_string(&self.log).unwrap_or_default()
    }

    /// Waits until the log has a text.
    pub(crate) async fn wait_for(&self, text: &str) {
        wait_until(IN_TIME, &format!("the log has {text:?}"), async || self.said().contains(text)).await.unwrap();
    }

    /// The semantic lines of an event.
    pub(crate) fn lines(&self, event_type: &str) -> Vec<Value> {
        let said = self.said();
        let lines = said.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        lines.filter(|line| line["event_type"] == event_type && line["semantic"] == true).collect()
    }

    /// Asks the process to stop, as the kubelet does.
    pub(crate) fn terminate(&self) {
        let pid = i32::try_from(self.child.id()).ok().and_then(rustix::process::Pid::from_raw).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    }

    /// Waits until the process has ended by itself, and returns whether it did so in order.
    pub(crate) async fn wait_end(&mut self) -> bool {
        let mut ended = None;
        wait_until(IN_TIME, "the process ends", async || {
            ended = self.child.try_wait().unwrap();
            ended.is_some()
        })
        .await
        .unwrap();
        ended.unwrap().success()
    }

    /// The port of the webhook, once it has one.
    pub(crate) async fn webhook_port(&self) -> u16 {
        let port = || {
            let said = self.said();
            let (_, rest) = said.split_once("admission requests on https://127.0.0.1:")?;
            rest.split_whitespace().next()?.parse().ok()
        };
        wait_until(IN_TIME, "the webhook listens", async || port().is_some()).await.unwrap();
        port().unwrap()
    }

    fn port(&self) -> Option<u16> {
        let said = self.said();
        let (_, rest) = said.split_once("http://127.0.0.1:")?;
        rest.split('/').next()?.parse().ok()
    }

    /// What `/readyz` or `/metrics` answers: its code, and its body.
    pub(crate) async fn ask(&self, path: &str) -> (u16, String) {
        wait_until(IN_TIME, "the operator listens", async || self.port().is_some()).await.unwrap();
        let answer = http::get(self.port().unwrap(), path).await.unwrap();
        (answer.status, answer.body)
    }

    /// Waits until the operator is ready.
    pub(crate) async fn wait_ready(&self) {
        wait_until(IN_TIME, "the operator is ready", async || self.ask("/readyz").await.0 == 200).await.unwrap();
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if std::thread::panicking() {
            eprintln!("==== {}\n{}", self.log.display(), self.said());
        }
    }
}
