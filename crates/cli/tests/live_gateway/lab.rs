//! A cluster with the kinds of Gateway API, and a program of ours beside it.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use clearway_testbed::{Cluster, ClusterOptions, IN_TIME, Program, own_cluster, wait_until};
use kube::api::{ApiResource, DynamicObject, GroupVersionKind, Patch, PatchParams, PostParams};
use kube::{Api, Client};
use serde_json::{Value, json};

pub(crate) const GATEWAY: &str = "gateway.networking.k8s.io/v1";
/// The kinds that every cluster of these tests has; other kinds of routes are not served at first.
const KINDS: [(&str, &str, bool); 7] = [
    ("gatewayclasses", "GatewayClass", false),
    ("gateways", "Gateway", true),
    ("listenersets", "ListenerSet", true),
    ("httproutes", "HTTPRoute", true),
    ("grpcroutes", "GRPCRoute", true),
    ("referencegrants", "ReferenceGrant", true),
    ("backendtlspolicies", "BackendTLSPolicy", true),
];

/// A cluster that one test owns.
pub(crate) struct Lab {
    pub(crate) cluster: Cluster,
    pub(crate) client: Client,
    pub(crate) directory: tempfile::TempDir,
}

impl Lab {
    pub(crate) async fn start() -> Option<Self> {
        let cluster = own_cluster(&ClusterOptions::api_only()).await?;
        let client = cluster.client().await.unwrap();
        let lab = Lab { cluster, client, directory: tempfile::tempdir().unwrap() };
        for (plural, kind, namespaced) in KINDS {
            lab.serve(plural, kind, namespaced).await;
        }
        Some(lab)
    }

    /// Installs a CRD and waits until its kind is served.
    pub(crate) async fn serve(&self, plural: &str, kind: &str, namespaced: bool) {
        let schema = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
        self.create(json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {
                "name": format!("{plural}.gateway.networking.k8s.io"),
                "annotations": {
                    "api-approved.kubernetes.io": "unapproved, for tests",
                    "gateway.networking.k8s.io/bundle-version": "v1.6.1",
                    "gateway.networking.k8s.io/channel": "standard",
                },
            },
            "spec": {
                "group": "gateway.networking.k8s.io", "scope": if namespaced { "Namespaced" } else { "Cluster" },
                "names": {"plural": plural, "kind": kind, "singular": kind.to_lowercase(), "listKind": format!("{kind}List")},
                "versions": [{
                    "name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
                    "schema": {"openAPIV3Schema": schema},
                }],
            },
        }))
        .await;
        let api = self.api(GATEWAY, kind, None);
        wait_until(IN_TIME, &format!("{kind} is served"), async || {
            api.list(&kube::api::ListParams::default()).await.is_ok()
        })
        .await
        .unwrap();
    }

    pub(crate) fn api(&self, api_version: &str, kind: &str, namespace: Option<&str>) -> Api<DynamicObject> {
        let (group, version) = clearway_core::split_api_version(api_version);
        let mut resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
        if kind == "BackendTLSPolicy" {
            "backendtlspolicies".clone_into(&mut resource.plural);
        }
        match namespace {
            Some(namespace) => Api::namespaced_with(self.client.clone(), namespace, &resource),
            None => Api::all_with(self.client.clone(), &resource),
        }
    }

    fn api_of(&self, object: &Value) -> Api<DynamicObject> {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let namespace = object["metadata"]["namespace"].as_str();
        self.api(&text(&object["apiVersion"]), &text(&object["kind"]), namespace)
    }

    pub(crate) async fn create(&self, object: Value) {
        let api = self.api_of(&object);
        let object: DynamicObject = serde_json::from_value(object).unwrap();
        api.create(&PostParams::default(), &object).await.unwrap();
    }

    /// Merges a patch into an object of the namespace `default`; of its status, if it has one.
    pub(crate) async fn patch(&self, api_version: &str, kind: &str, name: &str, patch: Value) {
        let api = self.api(api_version, kind, Some("default"));
        let parameters = PatchParams::default();
        if patch.get("status").is_some() {
            api.patch_status(name, &parameters, &Patch::Merge(&patch)).await.unwrap();
        } else {
            api.patch(name, &parameters, &Patch::Merge(&patch)).await.unwrap();
        }
    }

    /// An object of Gateway API; of the namespace `default` unless it is a class.
    pub(crate) async fn get(&self, kind: &str, name: &str) -> Value {
        let namespace = (kind != "GatewayClass").then_some("default");
        serde_json::to_value(self.api(GATEWAY, kind, namespace).get(name).await.unwrap()).unwrap()
    }

    /// Waits until an object is as it should be, and returns it.
    pub(crate) async fn wait(&self, what: &str, kind: &str, name: &str, is: impl Fn(&Value) -> bool) -> Value {
        let waited = wait_until(IN_TIME, what, async || is(&self.get(kind, name).await)).await;
        let object = self.get(kind, name).await;
        waited.unwrap_or_else(|error| panic!("{error}: {}", object["status"]));
        object
    }

    pub(crate) async fn create_class(&self, name: &str, controller: &str) {
        self.create(json!({
            "apiVersion": GATEWAY, "kind": "GatewayClass", "metadata": {"name": name},
            "spec": {"controllerName": controller},
        }))
        .await;
    }

    /// A Gateway with a listener for HTTP, and one for HTTPS with the certificate in the Secret `cert`.
    pub(crate) async fn create_gateway(&self, name: &str, class: &str) {
        self.create(json!({
            "apiVersion": GATEWAY, "kind": "Gateway", "metadata": {"name": name, "namespace": "default"},
            "spec": {"gatewayClassName": class, "listeners": [
                {"name": "http", "port": 80, "protocol": "HTTP"},
                {"name": "https", "port": 443, "protocol": "HTTPS", "tls": {"certificateRefs": [{"name": "cert"}]}},
            ]},
        }))
        .await;
    }

    pub(crate) async fn create_route(&self, name: &str, gateway: &str) {
        self.create(json!({
            "apiVersion": GATEWAY, "kind": "HTTPRoute", "metadata": {"name": name, "namespace": "default"},
            "spec": {
                "parentRefs": [{"name": gateway, "sectionName": "http"}],
                "rules": [{"backendRefs": [{"name": "web", "port": 80}]}],
            },
        }))
        .await;
    }

    pub(crate) async fn create_service(&self, name: &str) {
        self.create(json!({
            "apiVersion": "v1", "kind": "Service", "metadata": {"name": name, "namespace": "default"},
            "spec": {"ports": [{"port": 80}]},
        }))
        .await;
    }

    pub(crate) async fn create_certificate(&self, name: &str) {
        let pem = |label: &str| format!("-----BEGIN {label}-----\nAAAA\n-----END {label}-----\n");
        self.create(json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "namespace": "default"},
            "stringData": {"tls.crt": pem("CERTIFICATE"), "tls.key": pem("PRIVATE KEY")},
        }))
        .await;
    }

    /// The operator for the class `clearway`, as the user of a kubeconfig.
    pub(crate) fn operator(&self, kubeconfig: &Path, namespace: &str, more: &[&str]) -> Program {
        let log = self.directory.path().join("operator.log");
        let kubeconfig = kubeconfig.to_str().unwrap();
        let line = ["operator", "--kubeconfig", kubeconfig, "--namespace", namespace, "--status-listen", "127.0.0.1:0"];
        start(log, &[&line[..], &["--gateway-class", "clearway"], more].concat())
    }

    /// Runs a command on the cluster.
    pub(crate) fn run(&self, arguments: &[&str]) -> (i32, String, String) {
        let kubeconfig = self.cluster.kubeconfig().to_str().unwrap();
        run(&[arguments, &["--kubeconfig", kubeconfig]].concat())
    }
}

/// Runs a command: its exit code, and what it prints to standard output and error.
pub(crate) fn run(arguments: &[&str]) -> (i32, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_clearway"));
    let Output { status, stdout, stderr } = command.args(arguments).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (status.code().unwrap(), text(stdout), text(stderr))
}

/// A condition of a list, as `status/reason`.
pub(crate) fn condition(conditions: &Value, kind: &str) -> String {
    let all = conditions.as_array().into_iter().flatten();
    let found = all.filter(|one| one["type"] == kind).map(|one| format!("{}/{}", one["status"], one["reason"]));
    found.collect::<Vec<_>>().join(" ").replace('"', "")
}

/// Starts a program of ours.
fn start(log: PathBuf, arguments: &[&str]) -> Program {
    let program = Program::start_with(env!("CARGO_BIN_EXE_clearway"), arguments.iter().copied(), log, |command| {
        command.env_remove("CLEARWAY_STATE");
    });
    program.unwrap()
}
