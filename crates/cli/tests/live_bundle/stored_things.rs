//! A CRD with two versions and many stored objects, for tests and for `cargo bench --bench scale`.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use clearway_testbed::{Cluster, wait_until};
use kube::api::{DynamicObject, Patch, PatchParams, PostParams};
use kube::core::{ApiResource, GroupVersionKind};
use kube::{Api, Client};
use serde_json::{Value, json};

/// Requests that are under way at once.
const AT_ONCE: usize = 16;

/// The objects of a group of its own.
pub(crate) struct StoredThings<'c> {
    cluster: &'c Cluster,
    client: Client,
    group: String,
}

/// What a run of the program came to.
pub(crate) struct Run {
    pub(crate) code: Option<i32>,
    pub(crate) output: Value,
    /// The most resident memory, in kB.
    pub(crate) peak: u64,
}

impl<'c> StoredThings<'c> {
    pub(crate) async fn new(cluster: &'c Cluster, group: &str) -> Self {
        StoredThings { cluster, client: cluster.client().await.unwrap(), group: group.to_owned() }
    }

    /// The CRD, which stores its objects in one of `v1beta1` and `v1`. Texts have a limit and a rule.
    pub(crate) fn crd(&self, bundle: &str, stored: &str, longest: usize) -> Value {
        let version = |name: &str| {
            let text = json!({
                "type": "string", "maxLength": longest,
                "x-kubernetes-validations": [{"rule": "self.size() > 0", "message": "must not be empty"}],
            });
            json!({"name": name, "served": true, "storage": name == stored, "schema": {"openAPIV3Schema": {
                "type": "object", "properties": {"spec": {"type": "object", "properties": {
                    "text": text, "round": {"type": "integer"},
                    "list": {"type": "array", "maxItems": 100, "items": {"type": "string", "maxLength": 100}},
                }}},
            }}})
        };
        json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": self.crd_name(), "annotations": {
                format!("{}/bundle-version", self.group): bundle, format!("{}/channel", self.group): "standard",
            }},
            "spec": {
                "group": self.group, "scope": "Cluster", "names": {"kind": "Thing", "plural": "things"},
                "versions": [version("v1"), version("v1beta1")],
            },
        })
    }

    pub(crate) fn crd_name(&self) -> String {
        format!("things.{}", self.group)
    }

    fn crds(&self) -> Api<DynamicObject> {
        let kind = GroupVersionKind::gvk("apiextensions.k8s.io", "v1", "CustomResourceDefinition");
        Api::all_with(self.client.clone(), &ApiResource::from_gvk(&kind))
    }

    fn things(&self) -> Api<DynamicObject> {
        Api::all_with(self.client.clone(), &ApiResource::from_gvk(&GroupVersionKind::gvk(&self.group, "v1", "Thing")))
    }

    /// Installs the CRD, and waits until the API server stores in that version.
    pub(crate) async fn store_in(&self, version: &str) {
        let crd = self.crd("v1.0.0", version, 1_000);
        let parameters = PatchParams::apply("test").force();
        self.crds().patch(&self.crd_name(), &parameters, &Patch::Apply(&crd)).await.unwrap();
        wait_until(Duration::from_mins(2), "objects are stored in the new version", async || {
            // An object of its own shows which version is used; it goes again.
            let (probe, things) = (format!("probe-{version}"), self.things());
            if things.create(&PostParams::default(), &self.thing(&probe, 0)).await.is_err() {
                let _ = things.delete(&probe, &kube::api::DeleteParams::default()).await;
                return false;
            }
            let stored = self.stored_versions_of_objects().await;
            let _ = things.delete(&probe, &kube::api::DeleteParams::default()).await;
            stored.iter().any(|(name, stored)| *name == probe && stored == version)
        })
        .await
        .unwrap();
    }

    fn thing(&self, name: &str, round: usize) -> DynamicObject {
        let list: Vec<String> = (0..20).map(|number| format!("element {number} of {name}")).collect();
        serde_json::from_value(json!({
            "apiVersion": format!("{}/v1", self.group), "kind": "Thing", "metadata": {"name": name},
            "spec": {"text": format!("text of {name}"), "round": round, "list": list},
        }))
        .unwrap()
    }

    /// Creates or changes this many objects.
    pub(crate) async fn write(&self, count: usize, round: usize) {
        let parameters = PatchParams::apply("test").force();
        let names: Vec<String> = (0..count).map(|number| format!("t{number:05}")).collect();
        for some in names.chunks(AT_ONCE) {
            let mut under_way = tokio::task::JoinSet::new();
            for name in some {
                let (things, thing, name) = (self.things(), self.thing(name, round), name.clone());
                let parameters = parameters.clone();
                under_way.spawn(async move { things.patch(&name, &parameters, &Patch::Apply(&thing)).await.map(drop) });
            }
            while let Some(done) = under_way.join_next().await {
                done.unwrap().unwrap();
            }
        }
    }

    /// The name of each object with the version that it is stored in, as etcd has it.
    pub(crate) async fn stored_versions_of_objects(&self) -> Vec<(String, String)> {
        let objects = self.cluster.stored_objects(&self.group, "things").await.unwrap();
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let version = |object: &Value| text(&object["apiVersion"]).rsplit('/').next().unwrap().to_owned();
        objects.iter().map(|object| (text(&object["metadata"]["name"]), version(object))).collect()
    }

    /// `status.storedVersions` of the CRD.
    pub(crate) async fn stored_versions(&self) -> Vec<String> {
        let crd = self.crds().get(&self.crd_name()).await.unwrap();
        serde_json::from_value(crd.data["status"]["storedVersions"].clone()).unwrap()
    }

    /// Starts `clearway bundle` on the cluster; a bundle is read from standard input.
    pub(crate) fn start(&self, arguments: &[&str], input: Option<&Path>) -> Child {
        let mut command = Command::new(env!("CARGO_BIN_EXE_clearway"));
        command.arg("bundle").args(arguments).args(["-o", "json", "--kubeconfig"]).arg(self.cluster.kubeconfig());
        let input = input.map_or_else(Stdio::null, |path| std::fs::File::open(path).unwrap().into());
        command.stdin(input).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap()
    }

    /// Runs it to its end.
    pub(crate) fn run(&self, arguments: &[&str], input: Option<&Path>) -> Run {
        let mut child = self.start(arguments, input);
        let status = format!("/proc/{}/status", child.id());
        let mut peak = 0;
        // The high-water mark only rises, so that the last look before the end has it but for a moment. What the program
        // prints at its end is less than a pipe holds.
        let exit = loop {
            let text = std::fs::read_to_string(&status).unwrap_or_default();
            if let Some(mark) = text.lines().find_map(|line| line.strip_prefix("VmHWM:")) {
                peak = peak.max(mark.trim().trim_end_matches("kB").trim().parse().unwrap());
            }
            if let Some(exit) = child.try_wait().unwrap() {
                break exit;
            }
            std::thread::sleep(Duration::from_millis(2));
        };
        let output = child.wait_with_output().unwrap().stdout;
        Run { code: exit.code(), output: serde_json::from_slice(&output).unwrap_or_default(), peak }
    }
}
