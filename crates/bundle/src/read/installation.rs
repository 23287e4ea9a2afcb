//! What is installed beside the CRDs: admission policies, and webhooks with the workloads that answer them.
//!
//! A webhook names services, a service selects pods by labels, and workloads say which labels their pods have.

use std::collections::{BTreeMap, BTreeSet};

use clearway_yaml::{Node, Source};

use super::{place, schema};
use crate::model::{AdmissionPolicy, WebhookConfiguration, Workload};

/// The objects that matter, in the order of kind and name.
#[derive(Debug, Default)]
pub(super) struct Installation {
    policies: BTreeMap<(String, String), AdmissionPolicy>,
    webhooks: BTreeMap<(String, String), WebhookConfiguration>,
    /// The labels that a service selects, by namespace and name.
    services: BTreeMap<String, BTreeMap<String, String>>,
    /// Workloads with the labels of their pods.
    workloads: Vec<(Workload, BTreeMap<String, String>)>,
}

impl Installation {
    /// Takes in an object of any kind; most kinds are not part of the model.
    pub(super) fn add(&mut self, root: Node<'_>, source: Source<'_>, kind: &str, name: &str, domain: &str) {
        let annotation = |key: &str| {
            let annotations = root.at(&["metadata", "annotations"])?;
            annotations.get(&format!("{domain}/{key}")).map(|value| value.raw().to_owned())
        };
        let namespace = root.at(&["metadata", "namespace"]).and_then(Node::as_text).unwrap_or("default");
        let key = (kind.to_owned(), name.to_owned());
        let at = || place(source, root, &format!("{kind} {name}"), "");
        match kind {
            "ValidatingAdmissionPolicy"
            | "ValidatingAdmissionPolicyBinding"
            | "MutatingAdmissionPolicy"
            | "MutatingAdmissionPolicyBinding" => {
                let rules = root.at(&["spec", "validations"]).into_iter().flat_map(Node::items);
                let policy = AdmissionPolicy {
                    kind: kind.to_owned(),
                    name: name.to_owned(),
                    bundle_version: annotation("bundle-version"),
                    channel: annotation("channel"),
                    validations: rules.map(schema::read_rule).collect(),
                    place: at(),
                };
                self.policies.entry(key).or_insert(policy);
            }
            "ValidatingWebhookConfiguration" | "MutatingWebhookConfiguration" => {
                let webhooks = root.get("webhooks").into_iter().flat_map(Node::items);
                let services = webhooks.filter_map(|webhook| {
                    let service = webhook.at(&["clientConfig", "service"])?;
                    let text = |key: &str| service.get(key).and_then(Node::as_text);
                    Some(format!("{}/{}", text("namespace").unwrap_or("default"), text("name")?))
                });
                let webhook = WebhookConfiguration {
                    kind: kind.to_owned(),
                    name: name.to_owned(),
                    bundle_version: annotation("bundle-version"),
                    channel: annotation("channel"),
                    services: services.collect(),
                    workloads: Vec::new(),
                    place: at(),
                };
                self.webhooks.entry(key).or_insert(webhook);
            }
            "Service" => {
                let selector = labels(root.at(&["spec", "selector"]));
                self.services.insert(format!("{namespace}/{name}"), selector);
            }
            "Deployment" | "StatefulSet" | "DaemonSet" => {
                let template = root.at(&["spec", "template"]);
                let containers = template.and_then(|template| template.at(&["spec", "containers"]));
                let images = containers.into_iter().flat_map(Node::items);
                let images = images.filter_map(|container| container.get("image").and_then(Node::as_text));
                let workload = Workload {
                    kind: kind.to_owned(),
                    name: format!("{namespace}/{name}"),
                    bundle_version: annotation("bundle-version"),
                    images: images.map(str::to_owned).collect(),
                };
                let labels = labels(template.and_then(|template| template.at(&["metadata", "labels"])));
                self.workloads.push((workload, labels));
            }
            _ => {}
        }
    }

    /// The policies, and the webhooks with their workloads.
    pub(super) fn finish(self) -> (Vec<AdmissionPolicy>, Vec<WebhookConfiguration>) {
        let behind = |services: &BTreeSet<String>| -> Vec<Workload> {
            let selects = |service: &String, workload: &Workload, labels: &BTreeMap<String, String>| {
                let same_namespace = workload.name.split('/').next() == service.split('/').next();
                let selector = self.services.get(service).filter(|selector| !selector.is_empty());
                same_namespace
                    && selector.is_some_and(|all| all.iter().all(|(key, value)| labels.get(key) == Some(value)))
            };
            let found = self
                .workloads
                .iter()
                .filter(|(workload, labels)| services.iter().any(|service| selects(service, workload, labels)));
            found.map(|(workload, _)| workload.clone()).collect()
        };
        let webhooks = self.webhooks.into_values().map(|webhook| {
            let mut workloads = behind(&webhook.services);
            workloads.sort_by(|one, two| (&one.kind, &one.name).cmp(&(&two.kind, &two.name)));
            WebhookConfiguration { workloads, ..webhook }
        });
        let webhooks = webhooks.collect();
        (self.policies.into_values().collect(), webhooks)
    }
}

fn labels(node: Option<Node<'_>>) -> BTreeMap<String, String> {
    let entries = node.into_iter().flat_map(Node::fields);
    entries.map(|(key, value)| (key.raw().to_owned(), value.raw().to_owned())).collect()
}
