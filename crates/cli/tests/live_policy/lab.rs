//! A cluster with Gatekeeper's kinds, and templates and constraints in it.

use std::path::Path;
use std::process::{Command, Output};

use clearway_policy::Template;
use clearway_testbed::{Cluster, ClusterOptions, IN_TIME, own_cluster, wait_until};
use kube::api::{ApiResource, DynamicObject, GroupVersionKind, ListParams, PostParams};
use kube::{Api, Client};
use serde_json::{Value, json};

pub(crate) const CONSTRAINTS: &str = "constraints.gatekeeper.sh/v1beta1";

/// Group, version, plural, kind, and whether it is in namespaces.
const KINDS: [(&str, &str, &str, &str, bool); 4] = [
    ("templates.gatekeeper.sh", "v1", "constrainttemplates", "ConstraintTemplate", false),
    ("config.gatekeeper.sh", "v1alpha1", "configs", "Config", true),
    ("syncset.gatekeeper.sh", "v1alpha1", "syncsets", "SyncSet", false),
    ("expansion.gatekeeper.sh", "v1beta1", "expansiontemplate", "ExpansionTemplate", false),
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
        for (group, version, plural, kind, namespaced) in KINDS {
            lab.serve(&json!({
                "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
                "metadata": {"name": format!("{plural}.{group}")},
                "spec": {
                    "group": group, "scope": if namespaced { "Namespaced" } else { "Cluster" },
                    "names": {"plural": plural, "kind": kind, "singular": kind.to_lowercase(), "listKind": format!("{kind}List")},
                    "versions": [{
                        "name": version, "served": true, "storage": true, "subresources": {"status": {}},
                        "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
                    }],
                },
            }))
            .await;
        }
        Some(lab)
    }

    /// Installs a CRD and waits until its kind is served.
    async fn serve(&self, crd: &Value) {
        self.create(crd.clone()).await;
        let spec = &crd["spec"];
        let gvk = GroupVersionKind::gvk(
            spec["group"].as_str().unwrap(),
            spec["versions"][0]["name"].as_str().unwrap(),
            spec["names"]["kind"].as_str().unwrap(),
        );
        let mut resource = ApiResource::from_gvk(&gvk);
        spec["names"]["plural"].as_str().unwrap().clone_into(&mut resource.plural);
        let api: Api<DynamicObject> = Api::all_with(self.client.clone(), &resource);
        wait_until(IN_TIME, &format!("{} is served", gvk.kind), async || {
            api.list(&ListParams::default()).await.is_ok()
        })
        .await
        .unwrap();
    }

    /// Creates a template, and its CRD as an operator would.
    pub(crate) async fn create_template(&self, kind: &str, rego: &str) {
        let template = template(kind, rego);
        self.create(template.clone()).await;
        self.serve(&Template::read(&template).unwrap().constraint_crd()).await;
    }

    pub(crate) fn api(&self, api_version: &str, kind: &str, namespace: Option<&str>) -> Api<DynamicObject> {
        let (group, version) = clearway_core::split_api_version(api_version);
        let mut resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
        if group == "constraints.gatekeeper.sh" {
            resource.plural = kind.to_lowercase();
        }
        if let Some((_, _, plural, ..)) = KINDS.iter().find(|(_, _, _, one, _)| *one == kind) {
            (*plural).clone_into(&mut resource.plural);
        }
        match namespace {
            Some(namespace) => Api::namespaced_with(self.client.clone(), namespace, &resource),
            None => Api::all_with(self.client.clone(), &resource),
        }
    }

    pub(crate) async fn create(&self, object: Value) {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let namespace = object["metadata"]["namespace"].as_str();
        let api = self.api(&text(&object["apiVersion"]), &text(&object["kind"]), namespace);
        let name = format!("{} {}", object["kind"], object["metadata"]["name"]);
        let object: DynamicObject = serde_json::from_value(object).unwrap();
        api.create(&PostParams::default(), &object).await.unwrap_or_else(|error| panic!("{name}: {error}"));
    }

    pub(crate) async fn create_namespace(&self, name: &str) {
        self.create(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})).await;
    }

    /// Creates the ClusterVersion of a cluster that runs the release in this image.
    pub(crate) async fn create_cluster_version(&self, image: &str) {
        let group = "config.openshift.io";
        self.serve(&json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": format!("clusterversions.{group}")},
            "spec": {
                "group": group, "scope": "Cluster",
                "names": {
                    "plural": "clusterversions", "kind": "ClusterVersion", "singular": "clusterversion",
                    "listKind": "ClusterVersionList",
                },
                "versions": [{
                    "name": "v1", "served": true, "storage": true,
                    "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
                }],
            },
        }))
        .await;
        self.create(json!({
            "apiVersion": format!("{group}/v1"), "kind": "ClusterVersion", "metadata": {"name": "version"},
            "status": {"desired": {"version": "1.0.0", "image": image}},
        }))
        .await;
    }

    /// Creates many objects at a time.
    pub(crate) async fn create_all(&self, objects: impl Iterator<Item = Value>) {
        let mut objects: Vec<Value> = objects.collect();
        while !objects.is_empty() {
            let rest = objects.split_off(objects.len().min(64));
            futures::future::join_all(std::mem::replace(&mut objects, rest).into_iter().map(|one| self.create(one)))
                .await;
        }
    }

    pub(crate) async fn status(&self, kind: &str, name: &str) -> Value {
        let object = self.api(CONSTRAINTS, kind, None).get(name).await.unwrap();
        serde_json::to_value(object).unwrap()["status"].clone()
    }

    /// Runs a command on the cluster.
    pub(crate) fn run(&self, arguments: &[&str]) -> (i32, String, String) {
        run_as(self.cluster.kubeconfig(), arguments)
    }
}

/// Runs a command as the user of a kubeconfig: its exit code, and what it prints to standard output and error.
pub(crate) fn run_as(kubeconfig: &Path, arguments: &[&str]) -> (i32, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_clearway"));
    let command = command.args(arguments).arg("--kubeconfig").arg(kubeconfig);
    let Output { status, stdout, stderr } = command.output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (status.code().unwrap(), text(stdout), text(stderr))
}

pub(crate) fn template(kind: &str, rego: &str) -> Value {
    json!({
        "apiVersion": "templates.gatekeeper.sh/v1", "kind": "ConstraintTemplate",
        "metadata": {"name": kind.to_lowercase()},
        "spec": {
            "crd": {"spec": {"names": {"kind": kind}, "validation": {"openAPIV3Schema": {
                "type": "object", "properties": {"label": {"type": "string"}},
            }}}},
            "targets": [{"target": "admission.k8s.gatekeeper.sh", "rego": rego}],
        },
    })
}

/// Violated by objects without a label.
pub(crate) const REQUIRED_LABEL: &str = r#"package requiredlabel
violation[{"msg": msg}] {
    label := input.parameters.label
    not input.review.object.metadata.labels[label]
    msg := sprintf("label %v is missing", [label])
}"#;

/// A constraint about `ConfigMap`s, with more in its specification.
pub(crate) fn constraint(kind: &str, name: &str, more: &Value) -> Value {
    let mut spec = json!({
        "match": {"kinds": [{"apiGroups": [""], "kinds": ["ConfigMap"]}], "namespaces": ["shop*"]},
        "parameters": {"label": "owner"},
    });
    spec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    json!({"apiVersion": CONSTRAINTS, "kind": kind, "metadata": {"name": name}, "spec": spec})
}

pub(crate) fn config_map(namespace: &str, name: &str, labels: &Value) -> Value {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": namespace, "labels": labels}, "data": {"a": "b"},
    })
}
