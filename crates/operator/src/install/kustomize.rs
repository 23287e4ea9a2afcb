//! The same objects as files: `kubectl apply -k deploy/standard`, and components that add to it.

use std::collections::BTreeMap;

use clearway_bundle::{Channel, to_yaml};
use serde_json::{Value, json};

use super::release_keys::{self, RELEASE_KEYS, ReleaseKeys};
use super::rights::{
    APPLY, AUTHENTICATE_METRICS, EVIDENCE, IMPERSONATE_UPDATER, METRICS_READER, OPERATOR, RBAC, Right, own_namespace,
};
use super::update_service::{self, ARCHIVE, UpdateServiceSettings};
use super::workload::arguments;
use super::{MetricsExposure, NAME, Settings, alerts, gateway_status, manifests, policies};

/// The file of keys that the component mounts.
const KEY_FILE: &str = "release.pub";
/// Where a container has its arguments.
const CONTAINER: &str = "/spec/template/spec/containers/0";
/// The ConfigMap with graph-data that the update service mounts.
const GRAPH_CONFIG_MAP: &str = "clearway-graph-data";
/// The GatewayClass of the component.
const CLASS: &str = "clearway";

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
        base(channel, &mut files)?;
    }
    apply_updates(&mut files)?;
    monitoring(&mut files)?;
    gateway_status(&mut files)?;
    policies(&mut files)?;
    update_service(&mut files)?;
    let head = "# The alerts, for a Prometheus that reads rule files.\n";
    files.insert("alerts.yaml".to_owned(), format!("{head}{}", yaml(&[&alerts::rules()])?));
    Ok(files)
}

/// Advice only, for one channel.
fn base(channel: Channel, files: &mut BTreeMap<String, String>) -> Result<(), KustomizeError> {
    let all = manifests(&Settings::new(channel))?;
    let rights = [
        explained("The operator (clearway-operator), in the whole cluster:", OPERATOR),
        explained("The operator, in its own namespace:", &own_namespace(channel)),
        explained("Rules of a graph (clearway-evidence-reader), in the whole cluster:", EVIDENCE),
        "# ClusterRoles with the label clearway.dev/aggregate-to-evidence=true add to the latter.\n".to_owned(),
    ]
    .concat();
    let image = "# The image is named by a tag, which can be moved. In your own kustomization.yaml, name it by digest:\n\
                 #   images: [{name: ghcr.io/clearway-dev/clearway, digest: 'sha256:...'}]\n";
    let parts: [(&str, &str, Vec<&Value>); 4] = [
        ("crds.yaml", "", all.crds.iter().collect()),
        ("namespace.yaml", "", vec![&all.namespace]),
        ("rights.yaml", &rights, all.rights.iter().collect()),
        ("operator.yaml", image, all.workload.iter().collect()),
    ];
    let resources: Vec<&str> = parts.iter().map(|(name, ..)| *name).collect();
    let kustomization = json!({
        "apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization", "resources": resources,
    });
    let head = "# Advice only: nothing here can change anything but Clearway's own objects. In your own kustomization.yaml add\n\
                #   components: [deploy/apply-updates]   to have updates applied; its head says what that adds\n\
                #   components: [deploy/gateway-status]  to have the status of Gateway API objects written\n\
                #   components: [deploy/policies]        to have Gatekeeper's policies enforced, where Gatekeeper is not installed\n\
                #   components: [deploy/monitoring]      for authenticated metrics, scraping and alerts (Prometheus operator)\n";
    files.insert(format!("{channel}/kustomization.yaml"), format!("{head}{}", yaml(&[&kustomization])?));
    for (name, head, objects) in parts {
        files.insert(format!("{channel}/{name}"), format!("{head}{}", yaml(&objects)?));
    }
    Ok(())
}

/// The component with which updates are applied.
fn apply_updates(files: &mut BTreeMap<String, String>) -> Result<(), KustomizeError> {
    let advice = Settings::new(Channel::Standard);
    let mut release_keys = ReleaseKeys::default();
    release_keys.add(KEY_FILE, String::new());
    let applying = Settings { apply_updates: true, release_keys, ..advice.clone() };
    let all = manifests(&applying)?;
    let rights: Vec<&Value> = all.apply_updates.iter().filter(|object| object["kind"] != "ConfigMap").collect();
    let mut patch = changed_arguments(&advice, &applying);
    patch.push(json!({"op": "add", "path": "/spec/template/spec/volumes/-", "value": release_keys::volume()}));
    patch.push(json!({"op": "add", "path": format!("{CONTAINER}/volumeMounts/-"), "value": release_keys::mount()}));
    let head = [
        "# Has the operator apply the update that spec.desiredUpdate asks for. This adds:\n#\n",
        &explained("A service account (clearway-updater), in the whole cluster:", APPLY),
        &explained("The operator (clearway-operator), in its own namespace:", IMPERSONATE_UPDATER),
        "#\n# and the arguments below. Releases must be signed with one of your keys: without this ConfigMap no pod starts.\n",
        "# In your own kustomization.yaml, with the public keys (PEM) in release.pub:\n#\n",
        "#   resources: [deploy/standard]\n",
        "#   components: [deploy/apply-updates]\n",
        "#   configMapGenerator:\n",
        &format!("#   - {{name: {RELEASE_KEYS}, namespace: clearway, files: [{KEY_FILE}], options: {{immutable: true}}}}\n"),
    ]
    .concat();
    component("apply-updates", &head, &[("rights.yaml", rights)], &[("Deployment", patch)], files)
}

/// The component with which metrics are reached, scraped and watched.
fn monitoring(files: &mut BTreeMap<String, String>) -> Result<(), KustomizeError> {
    let loopback = Settings::new(Channel::Standard);
    let authenticated = Settings { metrics: MetricsExposure::Authenticated, ..loopback.clone() };
    let all = manifests(&authenticated)?;
    let last = |object: &str, list: &str| -> Option<&Value> {
        let found = all.workload.iter().find(|one| one["kind"] == object)?;
        found.pointer(list)?.as_array()?.last()
    };
    let ports = format!("{CONTAINER}/ports");
    let mut deployment = changed_arguments(&loopback, &authenticated);
    deployment.push(json!({"op": "add", "path": format!("{ports}/-"), "value": last("Deployment", &ports)}));
    let rule = last("NetworkPolicy", "/spec/ingress");
    let policy = vec![json!({"op": "add", "path": "/spec/ingress/-", "value": rule})];
    let head = [
        "# Serves the metrics to who has a token and the right to get the URL /metrics, and has a Prometheus operator scrape\n",
        "# them and watch the alerts. This adds:\n#\n",
        &explained("The operator (clearway-operator), in the whole cluster:", AUTHENTICATE_METRICS),
        &format!("#\n# Bind the ClusterRole {METRICS_READER} to the service account of your Prometheus:\n"),
        &format!("#   kubectl create clusterrolebinding prometheus-{METRICS_READER} --clusterrole={METRICS_READER} \\\n"),
        "#     --serviceaccount=monitoring:prometheus-k8s\n",
    ]
    .concat();
    let resources =
        [("metrics.yaml", all.metrics.iter().collect()), ("monitoring.yaml", all.monitoring.iter().collect())];
    component("monitoring", &head, &resources, &[("Deployment", deployment), ("NetworkPolicy", policy)], files)
}

/// The component that writes the status of Gateway API objects.
fn gateway_status(files: &mut BTreeMap<String, String>) -> Result<(), KustomizeError> {
    let class = BTreeMap::from([(gateway_status::OPTION.to_owned(), vec![CLASS.to_owned()])]);
    let settings = Settings { gateway_status: class, ..Settings::new(Channel::Standard) };
    let all = manifests(&settings)?;
    let is_workload = |object: &&Value| object["apiVersion"] != "v1" && !is_rbac(object);
    let rights = all.gateway_status.iter().filter(|object| !is_workload(object)).collect();
    let workload = all.gateway_status.iter().filter(is_workload).collect();
    let head = [
        "# Writes the status of Gateway API objects whose class has the controllerName clearway.dev/gateway-status. This adds:\n#\n",
        &explained("A service account (clearway-gateway-status), in the whole cluster:", gateway_status::GATEWAY_STATUS),
        &explained("The same account, in its own namespace:", gateway_status::OWN_NAMESPACE),
        &format!("#\n# The class must be called {CLASS}; for another name, patch the argument --gateway-class of the Deployment.\n"),
    ]
    .concat();
    let resources = [("rights.yaml", rights), ("gateway-status.yaml", workload)];
    component("gateway-status", &head, &resources, &[], files)
}

/// The component that enforces policies.
fn policies(files: &mut BTreeMap<String, String>) -> Result<(), KustomizeError> {
    let option = BTreeMap::from([(policies::OPTION.to_owned(), vec![])]);
    let settings = Settings { policies: option, ..Settings::new(Channel::Standard) };
    let all = manifests(&settings)?;
    let is_workload = |object: &&Value| object["apiVersion"] != "v1" && !is_rbac(object);
    let rights = all.policies.iter().filter(|object| !is_workload(object)).collect();
    let workload = all.policies.iter().filter(is_workload).collect();
    let head = [
        "# Enforces Gatekeeper's templates and constraints. Where Gatekeeper itself is installed it writes nothing. This adds\n\
         # Gatekeeper's CRDs (leave crds.yaml out where they exist), and:\n#\n",
        &explained("A service account (clearway-policies), in the whole cluster:", policies::POLICIES),
        &explained("The same account, in its own namespace:", policies::OWN_NAMESPACE),
    ]
    .concat();
    let resources =
        [("crds.yaml", all.policy_crds.iter().collect()), ("rights.yaml", rights), ("policies.yaml", workload)];
    component("policies", &head, &resources, &[], files)
}

/// The update service, which is installed on its own.
fn update_service(files: &mut BTreeMap<String, String>) -> Result<(), KustomizeError> {
    let settings = UpdateServiceSettings {
        graph_config_map: Some(GRAPH_CONFIG_MAP.to_owned()),
        ..UpdateServiceSettings::default()
    };
    let objects = update_service::objects(&settings);
    let is_namespace = |object: &&Value| object["kind"] == "Namespace";
    let namespace: Vec<&Value> = objects.iter().filter(is_namespace).collect();
    let others: Vec<&Value> = objects.iter().filter(|object| !is_namespace(object)).collect();
    let kustomization = json!({
        "apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization",
        "resources": ["namespace.yaml", "update-service.yaml"],
    });
    let head = format!(
        "# The update service: two replicas of `clearway serve`. It needs no operator and no rights.\n\
         # Graph-data comes from a ConfigMap; without it no pod starts. In your own kustomization.yaml:\n#\n\
         #   resources: [deploy/update-service]\n\
         #   configMapGenerator:                      # tar -czf {ARCHIVE} -C graph-data .\n\
         #   - {{name: {GRAPH_CONFIG_MAP}, namespace: {}, files: [{ARCHIVE}]}}\n#\n\
         # Graph-data in a registry instead: `clearway install update-service --graph oci://... --dry-run` prints those objects.\n",
        settings.namespace
    );
    files.insert("update-service/kustomization.yaml".to_owned(), format!("{head}{}", yaml(&[&kustomization])?));
    files.insert("update-service/namespace.yaml".to_owned(), yaml(&namespace)?);
    files.insert("update-service/update-service.yaml".to_owned(), yaml(&others)?);
    Ok(())
}

fn is_rbac(object: &Value) -> bool {
    object["apiVersion"].as_str().is_some_and(|version| version.starts_with(RBAC))
}

/// A kustomize component: its objects in files, and patches of our objects of some kinds.
fn component(
    directory: &str,
    head: &str,
    resources: &[(&str, Vec<&Value>)],
    patches: &[(&str, Vec<Value>)],
    files: &mut BTreeMap<String, String>,
) -> Result<(), KustomizeError> {
    let mut listed = Vec::new();
    for (kind, operations) in patches {
        let operations: Vec<&Value> = operations.iter().collect();
        let text = to_yaml(&json!(operations)).map_err(|error| KustomizeError::Yaml(error.to_string()))?;
        let text = text.trim_start_matches("---\n").to_owned();
        listed.push(json!({"target": {"kind": kind, "name": NAME}, "patch": text}));
    }
    let names: Vec<&str> = resources.iter().map(|(name, _)| *name).collect();
    let kustomization = json!({
        "apiVersion": "kustomize.config.k8s.io/v1alpha1", "kind": "Component", "resources": names, "patches": listed,
    });
    files.insert(format!("{directory}/kustomization.yaml"), format!("{head}{}", yaml(&[&kustomization])?));
    for (name, objects) in resources {
        files.insert(format!("{directory}/{name}"), yaml(objects)?);
    }
    Ok(())
}

/// What turns the operator's arguments for some settings into those for others: arguments in place are replaced, after
/// a test that they are what is expected, and the rest is added.
fn changed_arguments(from: &Settings, to: &Settings) -> Vec<Value> {
    let (from, to) = (arguments(from), arguments(to));
    let mut operations = Vec::new();
    for (place, argument) in to.iter().enumerate() {
        let path = format!("{CONTAINER}/args/{place}");
        match from.get(place) {
            Some(before) if before == argument => {}
            Some(before) => {
                operations.push(json!({"op": "test", "path": path, "value": before}));
                operations.push(json!({"op": "replace", "path": path, "value": argument}));
            }
            None => operations.push(json!({"op": "add", "path": format!("{CONTAINER}/args/-"), "value": argument})),
        }
    }
    operations
}

fn yaml(objects: &[&Value]) -> Result<String, KustomizeError> {
    let one = |object: &&Value| to_yaml(object).map_err(|error| KustomizeError::Yaml(error.to_string()));
    objects.iter().map(one).collect()
}

/// What rights are for, rule by rule, as comments.
fn explained(head: &str, rights: &[Right]) -> String {
    let mut lines = vec![format!("# {head}\n")];
    for right in rights {
        lines.push(format!("#   {right}\n#       {}\n", right.why));
    }
    lines.concat()
}
