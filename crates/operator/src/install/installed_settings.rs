//! The settings of the present installation, read back from its Deployment.

use std::collections::BTreeMap;

use clearway_bundle::Channel;
use clearway_core::Address;
use serde_json::Value;

use super::release_keys::RELEASE_KEYS;
use super::settings::is_default_of_any_version;
use super::{MetricsExposure, ReleaseKeys, Settings, default_image, update_service};

/// Options of the operator that follow from the settings, so that they are never kept as they are.
const DERIVED: [&str; 9] = [
    "apply-as",
    "apply-updates",
    "evidence-as",
    "log-format",
    "metrics-authentication",
    "metrics-listen",
    "namespace",
    "release-key",
    "status-listen",
];

/// The settings that a Deployment of ours was made with. The keys are in a ConfigMap ([`keys_config_map`]), and the channel is
/// that of the CRDs.
pub(super) fn read(deployment: &Value, namespace: &str, channel: Channel, release_keys: ReleaseKeys) -> Settings {
    let (image, mut options) = image_and_options(deployment);
    let mut one = |name: &str| options.remove(name)?.pop().map(|url| Address::from(url.as_str()));
    let (upstream, prometheus) = (one("upstream"), one("prometheus"));
    let metrics = if options.contains_key("metrics-authentication") {
        MetricsExposure::Authenticated
    } else {
        MetricsExposure::Loopback
    };
    let apply_updates = options.contains_key("apply-updates");
    options.retain(|name, _| !DERIVED.contains(&name.as_str()));
    Settings {
        channel,
        namespace: namespace.to_owned(),
        image,
        apply_updates,
        release_keys,
        metrics,
        upstream,
        prometheus,
        more: options,
        gateway_status: BTreeMap::new(),
        policies: BTreeMap::new(),
    }
}

/// The image that another installation keeps, and the options of the command line.
pub(super) fn image_and_options(deployment: &Value) -> (String, BTreeMap<String, Vec<String>>) {
    let container = container(deployment);
    let image = container["image"].as_str().filter(|image| !is_default_of_any_version(image));
    (image.map_or_else(default_image, str::to_owned), options(container))
}

/// The options of the Deployment that writes the status of Gateway API objects.
pub(super) fn gateway_status(deployment: &Value) -> BTreeMap<String, Vec<String>> {
    super::gateway_status::read(options(container(deployment)))
}

/// The options of the Deployment that enforces policies.
pub(super) fn policies(deployment: &Value) -> BTreeMap<String, Vec<String>> {
    super::policies::read(options(container(deployment)))
}

/// The image that runs now, which is not kept where it is only that of an earlier version.
pub(super) fn image(deployment: &Value) -> Option<&str> {
    container(deployment)["image"].as_str()
}

/// The ConfigMap with the keys that releases must be signed with; nothing where signatures are not checked.
pub(super) fn keys_config_map(deployment: &Value) -> Option<&str> {
    options(container(deployment)).get("release-key")?;
    let volumes = deployment["spec"]["template"]["spec"]["volumes"].as_array()?;
    // kustomize adds a hash to the name of the ConfigMap, and not to that of the volume.
    let volume = volumes.iter().find(|volume| volume["name"] == RELEASE_KEYS);
    Some(volume.and_then(|volume| volume["configMap"]["name"].as_str()).unwrap_or(RELEASE_KEYS))
}

fn container(deployment: &Value) -> &Value {
    let containers = &deployment["spec"]["template"]["spec"]["containers"];
    let is_ours =
        |container: &&Value| container["name"] == "operator" || container["name"] == update_service::CONTAINER;
    let found = containers.as_array().and_then(|all| all.iter().find(is_ours));
    found.unwrap_or(&Value::Null)
}

/// The options of a command line with their values, written `--name=value` or `--name value`.
fn options(container: &Value) -> BTreeMap<String, Vec<String>> {
    let words = container["args"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let mut options: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut last = None;
    for word in words {
        match (word.strip_prefix("--"), last.take()) {
            (Some(option), _) => {
                let (name, value) = option.split_once('=').map_or((option, None), |(name, value)| (name, Some(value)));
                options.entry(name.to_owned()).or_default().extend(value.map(str::to_owned));
                last = value.is_none().then(|| name.to_owned());
            }
            (None, Some(name)) => options.entry(name).or_default().push(word.to_owned()),
            // The name of the subcommand.
            (None, None) => {}
        }
    }
    options
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::manifests;
    use super::*;

    #[test]
    fn settings_survive_the_way_into_a_deployment_and_back() {
        let mut release_keys = ReleaseKeys::default();
        release_keys.add("platform.pub", "PEM".to_owned());
        let more = [("pace", vec!["single"]), ("allow-unnamed-metrics", vec![]), ("deny-metrics", vec!["a=b", "c"])];
        let everything = Settings {
            namespace: "ops".to_owned(),
            image: "example.com/clearway:1".to_owned(),
            apply_updates: true,
            release_keys,
            metrics: MetricsExposure::Authenticated,
            upstream: Some("https://u.example/?a=b".into()),
            prometheus: Some("http://p".into()),
            more: more
                .into_iter()
                .map(|(name, values)| (name.to_owned(), values.into_iter().map(str::to_owned).collect()))
                .collect(),
            ..Settings::new(Channel::Experimental)
        };
        for settings in [everything, Settings::new(Channel::Standard)] {
            let manifests = manifests(&settings).unwrap();
            let deployment = &manifests.workload[0];
            let keys = settings.release_keys.clone();
            assert_eq!(keys_config_map(deployment), (!keys.is_empty()).then_some(RELEASE_KEYS));
            assert_eq!(read(deployment, &settings.namespace, settings.channel, keys), settings);
        }
    }

    #[test]
    fn a_deployment_of_other_hands_is_read_as_well() {
        let deployment = json!({"spec": {"template": {"spec": {
            "containers": [
                {"name": "sidecar", "image": "example.com/proxy"},
                {"name": "operator", "image": "ghcr.io/clearway-dev/clearway:0.0.1",
                 "args": ["operator", "--upstream", "https://u", "--shared-store", "--release-key", "/k/a", "--log=debug", 7]},
            ],
            "volumes": [{"name": "clearway-release-keys", "configMap": {"name": "clearway-release-keys-7f9k"}}],
        }}}});
        let settings = read(&deployment, "clearway", Channel::Standard, ReleaseKeys::default());
        assert_eq!(settings.upstream, Some("https://u".into()));
        assert_eq!(settings.image, default_image(), "the image of another version was nobody's choice");
        assert_eq!(image(&deployment), Some("ghcr.io/clearway-dev/clearway:0.0.1"));
        assert_eq!(keys_config_map(&deployment), Some("clearway-release-keys-7f9k"));
        let more: Vec<&str> = settings.more.keys().map(String::as_str).collect();
        assert_eq!(more, ["log", "shared-store"]);
        for odd in [json!(null), json!({"spec": []}), json!({"spec": {"template": {"spec": {"containers": "x"}}}})] {
            let settings = read(&odd, "clearway", Channel::Standard, ReleaseKeys::default());
            assert_eq!((settings, keys_config_map(&odd)), (Settings::new(Channel::Standard), None));
        }
    }
}
