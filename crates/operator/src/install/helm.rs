//! The same objects as a Helm chart.
//!
//! A template is the objects of an installation in which every setting has a recognisable value, written as YAML; each line
//! with such a value is then replaced by what Helm puts there (`rules.rs`), and each element of a list that only some settings
//! add is put into a condition (`add_conditions`). So a change of the objects is a change of the chart. `values.yaml`, its
//! schema and the notes are files beside this one. The namespace is not part of the chart: it is that of the release.

mod conditions;
mod rules;

use std::collections::BTreeMap;

use clearway_bundle::{Channel, to_yaml};
use serde_json::{Value, json};

use super::kustomize::KustomizeError;
use super::release_keys::{RELEASE_KEYS, ReleaseKeys};
use super::update_service::{self, UpdateServiceSettings};
use super::{Manifests, MetricsExposure, Settings, default_image, gateway_status, manifests, policies};
use conditions::add_conditions;
use rules::fill;

/// Where the chart is, below `deploy/`.
const DIRECTORY: &str = "helm/clearway";
/// The annotation that keeps CRDs, and with them every ClusterVersion, when a release is uninstalled.
const RESOURCE_POLICY: &str = "helm.sh/resource-policy";
/// What a value in `values.yaml` is replaced by.
const IMAGE: &str = "IMAGE_OF_THIS_VERSION";

/// Every file of the chart, by its path in `deploy/`.
pub fn files() -> Result<BTreeMap<String, String>, KustomizeError> {
    let mut files = BTreeMap::new();
    let mut add = |name: &str, text: String| drop(files.insert(format!("{DIRECTORY}/{name}"), text));
    add("Chart.yaml", chart());
    add("values.yaml", include_str!("helm/values.yaml").replace(IMAGE, &default_image()));
    add("values.schema.json", include_str!("helm/values.schema.json").to_owned());
    add("templates/_helpers.tpl", include_str!("helm/_helpers.tpl").to_owned());
    add("templates/NOTES.txt", include_str!("helm/NOTES.txt").to_owned());
    add("templates/checks.yaml", include_str!("helm/checks.yaml").to_owned());
    add("templates/crds.yaml", crds_template());

    // CRDs are the same for every setting, so they are files that no template engine reads.
    for channel in Channel::ALL {
        let all = manifests(&Settings::new(channel))?;
        add(&format!("files/crds-{channel}.yaml"), kept(&all.crds)?);
    }
    let every = everything(Channel::Experimental)?;
    add("files/policy-crds.yaml", kept(&every.policy_crds)?);

    let mut rights = Value::Array(every.rights.clone());
    add_conditions(&json!(everything(Channel::Standard)?.rights), &mut rights, "eq .Values.channel \"experimental\"");
    add("templates/rights.yaml", template("if .Values.operator", &elements(rights))?);
    add("templates/operator.yaml", template("if .Values.operator", &operator(&every)?)?);
    let apply_updates = "if and .Values.operator .Values.applyUpdates";
    let is_keys = |object: &&Value| object["kind"] == "ConfigMap";
    let other: Vec<Value> = every.apply_updates.iter().filter(|object| !is_keys(object)).cloned().collect();
    add("templates/apply-updates.yaml", template(apply_updates, &other)?);
    let mut keys: Vec<Value> = every.apply_updates.iter().filter(is_keys).cloned().collect();
    for object in &mut keys {
        object["metadata"]["name"] = rules::KEYS_NAME.into();
    }
    let has_keys = "if and .Values.operator .Values.applyUpdates .Values.releaseKeys";
    add("templates/release-keys.yaml", template(has_keys, &keys)?);
    let metrics = "if and .Values.operator (eq .Values.metrics \"authenticated\")";
    add("templates/metrics.yaml", template(metrics, &every.metrics)?);
    let monitoring = "if and .Values.operator (eq .Values.metrics \"authenticated\") \
                      (.Capabilities.APIVersions.Has \"monitoring.coreos.com/v1\")";
    add("templates/monitoring.yaml", template(monitoring, &every.monitoring)?);
    add("templates/gateway-status.yaml", template("if .Values.gatewayClass", &every.gateway_status)?);
    add("templates/policies.yaml", template("if .Values.policies", &every.policies)?);
    add("templates/update-service.yaml", template("if .Values.updateService.enabled", &service())?);
    Ok(files)
}

fn chart() -> String {
    format!(
        "apiVersion: v2\n\
         name: clearway\n\
         description: \"Is this update safe for this cluster, and why? The operator, and the update service.\"\n\
         type: application\n\
         version: {version}\n\
         appVersion: {version}\n\
         # For the pause before a pod of the update service ends (lifecycle.preStop.sleep).\n\
         kubeVersion: \">=1.30.0-0\"\n\
         home: https://github.com/clearway-dev/clearway\n\
         sources: [https://github.com/clearway-dev/clearway]\n",
        version = env!("CARGO_PKG_VERSION"),
    )
}

/// The CRDs of the channel, and those of policies.
fn crds_template() -> String {
    "{{- if and .Values.operator .Values.crds }}\n\
     {{ .Files.Get (printf \"files/crds-%s.yaml\" .Values.channel) }}\n\
     {{- end }}\n\
     {{- if and .Values.policies .Values.policyCrds }}\n\
     {{ .Files.Get \"files/policy-crds.yaml\" }}\n\
     {{- end }}\n"
        .to_owned()
}

/// Everything that can be installed, each setting with a value that [`rules`] recognise.
fn everything(channel: Channel) -> Result<Manifests, KustomizeError> {
    let mut release_keys = ReleaseKeys::default();
    release_keys.add(rules::KEY_FILE, rules::KEY.to_owned());
    let one = |name: &str, value: &str| BTreeMap::from([(name.to_owned(), vec![value.to_owned()])]);
    let settings = Settings {
        namespace: rules::NAMESPACE.to_owned(),
        image: rules::IMAGE.to_owned(),
        apply_updates: true,
        release_keys,
        metrics: MetricsExposure::Authenticated,
        upstream: Some(rules::UPSTREAM.into()),
        prometheus: Some(rules::PROMETHEUS.into()),
        more: BTreeMap::from([(rules::OPTIONS.to_owned(), Vec::new())]),
        gateway_status: one(gateway_status::OPTION, rules::GATEWAY_CLASS),
        policies: BTreeMap::from([(policies::OPTION.to_owned(), Vec::new())]),
        ..Settings::new(channel)
    };
    Ok(manifests(&settings)?)
}

/// The operator's Deployment and what belongs to it, with what only some settings add in conditions.
fn operator(every: &Manifests) -> Result<Vec<Value>, KustomizeError> {
    let advice = Settings { namespace: rules::NAMESPACE.to_owned(), ..Settings::new(Channel::Standard) };
    let without_keys = manifests(&Settings { metrics: MetricsExposure::Authenticated, ..advice.clone() })?;
    let mut release_keys = ReleaseKeys::default();
    release_keys.add(rules::KEY_FILE, String::new());
    let without_metrics = manifests(&Settings { apply_updates: true, release_keys, ..advice })?;
    let mut objects = Value::Array(every.workload.clone());
    add_conditions(&json!(without_keys.workload), &mut objects, "and .Values.applyUpdates .Values.releaseKeys");
    add_conditions(&json!(without_metrics.workload), &mut objects, "eq .Values.metrics \"authenticated\"");
    let mut objects = elements(objects);
    // An immutable ConfigMap cannot be changed, so other keys are another ConfigMap.
    for volume in objects.iter_mut().filter_map(|object| object.pointer_mut("/spec/template/spec/volumes")) {
        for volume in volume.as_array_mut().into_iter().flatten().filter(|volume| volume["name"] == RELEASE_KEYS) {
            volume["configMap"]["name"] = rules::KEYS_NAME.into();
        }
    }
    Ok(objects)
}

/// The update service, without its namespace.
fn service() -> Vec<Value> {
    let plain = UpdateServiceSettings {
        namespace: rules::NAMESPACE.to_owned(),
        image: rules::IMAGE.to_owned(),
        ..UpdateServiceSettings::default()
    };
    let with_config_map =
        UpdateServiceSettings { graph_config_map: Some(rules::GRAPH_CONFIG_MAP.to_owned()), ..plain.clone() };
    let with_secret = UpdateServiceSettings { registry_secret: Some(rules::REGISTRY_SECRET.to_owned()), ..plain };
    let every = UpdateServiceSettings {
        registry_secret: with_secret.registry_secret.clone(),
        options: BTreeMap::from([(rules::SERVICE_OPTIONS.to_owned(), Vec::new())]),
        ..with_config_map.clone()
    };
    let mut objects = json!(update_service::objects(&every));
    add_conditions(&json!(update_service::objects(&with_secret)), &mut objects, ".Values.updateService.graphConfigMap");
    let without_secret = json!(update_service::objects(&with_config_map));
    add_conditions(&without_secret, &mut objects, ".Values.updateService.registrySecret");
    elements(objects).into_iter().filter(|object| object["kind"] != "Namespace").collect()
}

fn elements(array: Value) -> Vec<Value> {
    match array {
        Value::Array(elements) => elements,
        other => vec![other],
    }
}

/// A template of some objects under a condition.
fn template(condition: &str, objects: &[Value]) -> Result<String, KustomizeError> {
    let yaml: String = objects.iter().map(document).collect::<Result<_, _>>()?;
    Ok(format!("{{{{- {condition} }}}}\n{}{{{{- end }}}}\n", fill(&yaml)))
}

/// CRDs that stay when the release is uninstalled, because the objects in them would go too.
fn kept(crds: &[Value]) -> Result<String, KustomizeError> {
    let keep = |crd: &Value| {
        let mut crd = crd.clone();
        crd["metadata"]["annotations"][RESOURCE_POLICY] = "keep".into();
        document(&crd)
    };
    crds.iter().map(keep).collect()
}

fn document(object: &Value) -> Result<String, KustomizeError> {
    to_yaml(object).map_err(|error| KustomizeError::Yaml(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_recognisable_is_left_in_a_template_and_every_rule_is_used() {
        let files = files().unwrap();
        let templates: String =
            files.iter().filter(|(name, _)| name.contains("/templates/")).map(|(_, text)| text.as_str()).collect();
        assert!(!templates.contains(rules::MARK), "{templates}");
        assert!(!templates.contains("clearway-install"), "objects of a chart are managed by Helm");
        for expression in rules::expressions() {
            assert!(templates.contains(expression), "{expression}");
        }
    }

    #[test]
    fn braces_of_alerts_are_no_template() {
        let files = files().unwrap();
        let text = &files["helm/clearway/templates/monitoring.yaml"];
        assert!(text.contains("{{ \"{{\" }} $value {{ \"}}\" }}"), "{text}");
    }
}
