//! The same objects as files: `kubectl apply -k deploy/standard`.

use std::collections::BTreeMap;

use clearway_bundle::{Channel, to_yaml};
use serde_json::{Value, json};

use super::rights::{ADVICE, CARRY_OUT, EVIDENCE, OWN_NAMESPACE, Right};
use super::{Settings, alerts, manifests};

/// Why the files cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum KustomizeError {
    /// A type cannot be written as a CRD.
    #[error(transparent)]
    Build(#[from] clearway_bundle::BuildError),
    /// A value cannot be written as YAML.
    #[error("a manifest cannot be written as YAML: {0}")]
    Yaml(String),
}

/// Every file of `deploy/`, by its path in it.
pub fn files() -> Result<BTreeMap<String, String>, KustomizeError> {
    let mut files = BTreeMap::new();
    for channel in Channel::ALL {
        let all = manifests(&Settings::new(channel))?;
        let parts: [(&str, Vec<&Value>); 5] = [
            ("crds.yaml", all.crds.iter().collect()),
            ("namespace.yaml", vec![&all.namespace]),
            ("rights.yaml", all.rights.iter().collect()),
            ("carry-out-updates.yaml", all.carry_out.iter().collect()),
            ("operator.yaml", all.workload.iter().collect()),
        ];
        let resources: Vec<&str> = parts.iter().map(|(name, _)| *name).collect();
        let kustomization = json!({
            "apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization", "resources": resources,
        });
        let head = "# For advice only, leave out carry-out-updates.yaml. With the Prometheus operator, add\n\
                    # `components: [../monitoring]`.\n";
        files.insert(format!("{channel}/kustomization.yaml"), format!("{head}{}", yaml(&[&kustomization])?));
        for (name, objects) in parts {
            files.insert(format!("{channel}/{name}"), format!("{}{}", explained(name), yaml(&objects)?));
        }
        if channel == Channel::Standard {
            let resources = ["monitoring.yaml"];
            let component = json!({
                "apiVersion": "kustomize.config.k8s.io/v1alpha1", "kind": "Component", "resources": resources,
            });
            files.insert("monitoring/kustomization.yaml".to_owned(), yaml(&[&component])?);
            let objects: Vec<&Value> = all.monitoring.iter().collect();
            files.insert("monitoring/monitoring.yaml".to_owned(), yaml(&objects)?);
        }
    }
    let head = "# The alerts, for a Prometheus that reads rule files.\n";
    files.insert("alerts.yaml".to_owned(), format!("{head}{}", yaml(&[&alerts::rules()])?));
    Ok(files)
}

fn yaml(objects: &[&Value]) -> Result<String, KustomizeError> {
    let one = |object: &&Value| to_yaml(object).map_err(|error| KustomizeError::Yaml(error.to_string()));
    objects.iter().map(one).collect()
}

/// What the rights are for, rule by rule, at the head of their file.
fn explained(name: &str) -> String {
    let parts: &[(&str, &[Right])] = match name {
        "rights.yaml" => &[
            ("In the whole cluster, to advise:", ADVICE),
            ("In the whole cluster, what rules of a graph usually look at:", EVIDENCE),
            ("In its own namespace:", OWN_NAMESPACE),
        ],
        "carry-out-updates.yaml" => {
            &[("In the whole cluster, to carry out updates; leave it out for advice only:", CARRY_OUT)]
        }
        _ => &[],
    };
    let mut lines = Vec::new();
    for (head, rights) in parts {
        lines.push(format!("# {head}\n"));
        for right in *rights {
            let groups: Vec<&str> =
                right.groups.iter().map(|group| if group.is_empty() { "core" } else { *group }).collect();
            let (groups, resources, verbs) = (groups.join(", "), right.resources.join(", "), right.verbs.join(", "));
            lines.push(format!("#   {verbs}: {resources} ({groups})\n#       {}\n", right.why));
        }
    }
    lines.concat()
}
