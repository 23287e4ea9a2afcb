//! The update service in a cluster: two replicas of `clearway serve`, and what they need.
//!
//! It is installed on its own, in a namespace of its own: one service usually answers many clusters, and most of them run only
//! the operator. It has an account without rights and without a token, because it asks nothing of the API server.

use serde_json::{Value, json};

use super::pod::{self, TaskOptions};
use super::settings::{self, Change, default_image};
use super::workload::PROBES_PORT;
use super::{MANAGED_BY, MANAGER, installed_settings, namespace_object};

/// The name of everything that there is one of.
pub const NAME: &str = "clearway-update-service";
/// Where the service lives unless said otherwise.
pub const NAMESPACE: &str = "clearway-update-service";
/// The file of a ConfigMap that holds graph-data: an archive, because names in a ConfigMap cannot have directories.
pub const ARCHIVE: &str = "graph-data.tar.gz";
/// The settings that a cluster remembers, besides the options of `clearway serve` that are passed on.
pub const SETTINGS: [&str; 4] = ["graph", "graph-config-map", "image", "registry-secret"];
/// The options of `clearway serve` that are passed on.
pub const OPTIONS: [&str; 12] = [
    "allow-redirects-to",
    "connections",
    "drain",
    "max-age",
    "mirror",
    "plain-http",
    "prefix",
    "read-timeout",
    "refresh",
    "registry",
    "upstream",
    "write-timeout",
];

/// The name of the container.
pub(super) const CONTAINER: &str = "update-service";
/// Where clients ask.
const PORT: u16 = 8080;
/// The volume with graph-data.
const GRAPH_DATA: &str = "graph-data";
/// Where the pods find graph-data of a ConfigMap.
const GRAPH_DATA_DIRECTORY: &str = "/etc/clearway/graph-data";
/// The volume with the credentials of registries.
const REGISTRY: &str = "registry";
/// Where the pods find the credentials of registries.
const REGISTRY_DIRECTORY: &str = "/etc/clearway/registry";
/// Options that follow from the settings.
const DERIVED: [&str; 6] = ["cache", "graph", "listen", "log-format", "registry-config", "status-listen"];

/// What an update service is installed with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UpdateServiceSettings {
    /// Where it lives.
    pub namespace: String,
    /// Its image.
    pub image: String,
    /// Graph-data in a registry (`oci://…`).
    pub graph: Option<String>,
    /// The ConfigMap with graph-data as [`ARCHIVE`]; used instead of `graph`.
    pub graph_config_map: Option<String>,
    /// The Secret with credentials of registries (type `kubernetes.io/dockerconfigjson`).
    pub registry_secret: Option<String>,
    /// Further options of `clearway serve`, with their values; none for a flag.
    pub options: TaskOptions,
}

impl Default for UpdateServiceSettings {
    fn default() -> Self {
        UpdateServiceSettings {
            namespace: NAMESPACE.to_owned(),
            image: default_image(),
            graph: None,
            graph_config_map: None,
            registry_secret: None,
            options: TaskOptions::new(),
        }
    }
}

impl UpdateServiceSettings {
    /// The settings that a Deployment was made with.
    pub(super) fn read(deployment: &Value, namespace: &str) -> Self {
        let (image, mut options) = installed_settings::image_and_options(deployment);
        let graph = options.get("graph").and_then(|values| values.last().cloned());
        let volume = |name: &str, pointer: &str| {
            let volumes = deployment["spec"]["template"]["spec"]["volumes"].as_array()?;
            let volume = volumes.iter().find(|volume| volume["name"] == name)?;
            Some(volume.pointer(pointer)?.as_str()?.to_owned())
        };
        options.retain(|name, _| !DERIVED.contains(&name.as_str()));
        let graph_config_map = volume(GRAPH_DATA, "/configMap/name");
        UpdateServiceSettings {
            namespace: namespace.to_owned(),
            image,
            graph: graph.filter(|_| graph_config_map.is_none()),
            graph_config_map,
            registry_secret: volume(REGISTRY, "/secret/secretName"),
            options,
        }
    }

    /// Returns a setting to its default, by the name of its option.
    pub fn unset(&mut self, option: &str) {
        match option {
            "graph" => self.graph = None,
            "graph-config-map" => self.graph_config_map = None,
            "image" => self.image = default_image(),
            "registry-secret" => self.registry_secret = None,
            other => drop(self.options.remove(other)),
        }
    }

    /// What is different now, by the name of the option.
    pub fn changes_since(&self, before: &UpdateServiceSettings) -> Vec<Change> {
        settings::changes(before.shown(), self.shown())
    }

    /// Every setting that is set, by the name of its option, without credentials of addresses.
    fn shown(&self) -> std::collections::BTreeMap<String, String> {
        let own = [
            ("graph", self.graph.as_deref().map(settings::shown_value)),
            ("graph-config-map", self.graph_config_map.clone()),
            ("image", Some(self.image.clone())),
            ("registry-secret", self.registry_secret.clone()),
        ];
        let own = own.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
        let passed_on = self.options.iter().map(|(name, values)| (name.clone(), settings::shown_values(values)));
        own.chain(passed_on).collect()
    }

    /// What is unwise about them, one sentence each.
    pub fn warnings(&self) -> Vec<String> {
        settings::tag_warning(&self.image).into_iter().collect()
    }

    /// The address that clusters ask, inside the cluster.
    pub fn address(&self) -> String {
        let prefix = self.options.get("prefix").and_then(|values| values.last()).map_or("/api/upgrades_info", |it| it);
        format!("http://{NAME}.{}.svc{prefix}", self.namespace)
    }
}

/// Everything for these settings, in the order in which it is applied.
pub fn objects(settings: &UpdateServiceSettings) -> Vec<Value> {
    let metadata = json!({"name": NAME, "namespace": settings.namespace, "labels": labels()});
    let selector = json!({"app.kubernetes.io/name": NAME});
    vec![
        namespace_object(&settings.namespace, labels()),
        json!({
            "apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata,
            // Nothing here asks the API server.
            "automountServiceAccountToken": false,
        }),
        deployment(settings, &metadata, &selector),
        json!({
            "apiVersion": "v1", "kind": "Service", "metadata": metadata,
            "spec": {"selector": selector, "ports": [{"name": "http", "port": 80, "targetPort": "http"}]},
        }),
        json!({
            "apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": metadata,
            "spec": {"minAvailable": 1, "selector": {"matchLabels": selector}},
        }),
        // Clients, probes and whoever scrapes the metrics reach the pods, and nobody else. Where they connect to is not
        // limited: registries and upstream services are addresses that policies cannot name.
        json!({
            "apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": metadata,
            "spec": {
                "podSelector": {"matchLabels": selector},
                "policyTypes": ["Ingress", "Egress"],
                "ingress": [{"ports": [{"protocol": "TCP", "port": "http"}, {"protocol": "TCP", "port": "probes"}]}],
                "egress": [{}],
            },
        }),
    ]
}

fn deployment(settings: &UpdateServiceSettings, metadata: &Value, selector: &Value) -> Value {
    let mut volumes = vec![json!({"name": "scratch", "emptyDir": {"sizeLimit": "1Gi"}})];
    let mut mounts = vec![json!({"name": "scratch", "mountPath": "/tmp"})];
    if let Some(name) = &settings.graph_config_map {
        volumes.push(json!({"name": GRAPH_DATA, "configMap": {"name": name}}));
        mounts.push(json!({"name": GRAPH_DATA, "mountPath": GRAPH_DATA_DIRECTORY, "readOnly": true}));
    }
    if let Some(name) = &settings.registry_secret {
        volumes.push(json!({
            "name": REGISTRY,
            "secret": {"secretName": name, "items": [{"key": ".dockerconfigjson", "path": "config.json"}]},
        }));
        mounts.push(json!({"name": REGISTRY, "mountPath": REGISTRY_DIRECTORY, "readOnly": true}));
    }
    json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": metadata,
        "spec": {
            "replicas": 2,
            "selector": {"matchLabels": selector},
            // A new pod is ready before an old one goes.
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 0, "maxSurge": 1}},
            "template": {
                "metadata": {"labels": labels()},
                "spec": {
                    "serviceAccountName": NAME,
                    "automountServiceAccountToken": false,
                    // The pause below, and the time for current requests (`--drain`).
                    "terminationGracePeriodSeconds": 60,
                    "securityContext": pod::pod_security(),
                    "topologySpreadConstraints": pod::spread(selector),
                    "containers": [{
                        "name": CONTAINER,
                        "image": settings.image,
                        "args": arguments(settings),
                        "ports": [
                            {"name": "http", "containerPort": PORT},
                            {"name": "probes", "containerPort": PROBES_PORT},
                        ],
                        "livenessProbe": pod::probe("/livez"),
                        "readinessProbe": pod::probe("/readyz"),
                        // Clients are sent here until every node knows that the pod ends.
                        "lifecycle": {"preStop": {"sleep": {"seconds": 5}}},
                        "resources": {"requests": {"cpu": "50m", "memory": "64Mi"}, "limits": {"memory": "512Mi"}},
                        "securityContext": pod::container_security(),
                        "volumeMounts": mounts,
                    }],
                    "volumes": volumes,
                },
            },
        },
    })
}

/// The command line of `clearway serve` for these settings.
pub fn arguments(settings: &UpdateServiceSettings) -> Vec<String> {
    let mut arguments = vec![
        "serve".to_owned(),
        format!("--listen=0.0.0.0:{PORT}"),
        format!("--status-listen=0.0.0.0:{PROBES_PORT}"),
        "--cache=/tmp/cache".to_owned(),
        "--log-format=json".to_owned(),
    ];
    if settings.graph_config_map.is_some() {
        arguments.push(format!("--graph={GRAPH_DATA_DIRECTORY}/{ARCHIVE}"));
    } else {
        arguments.extend(settings.graph.iter().map(|graph| format!("--graph={graph}")));
    }
    if settings.registry_secret.is_some() {
        arguments.push(format!("--registry-config={REGISTRY_DIRECTORY}/config.json"));
    }
    arguments.extend(pod::option_arguments(&settings.options));
    arguments
}

fn labels() -> Value {
    json!({"app.kubernetes.io/name": NAME, "app.kubernetes.io/part-of": "clearway", MANAGED_BY: MANAGER})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_survive_the_way_into_a_deployment_and_back() {
        let everything = UpdateServiceSettings {
            image: "example.com/clearway:1".to_owned(),
            graph_config_map: Some("graph-data".to_owned()),
            registry_secret: Some("pull".to_owned()),
            options: TaskOptions::from([
                ("mirror".to_owned(), vec!["stable-1.5".to_owned(), "fast-1.5/arm64".to_owned()]),
                ("plain-http".to_owned(), vec![]),
                ("upstream".to_owned(), vec!["https://u.example/api".to_owned()]),
            ]),
            ..UpdateServiceSettings::default()
        };
        let image = UpdateServiceSettings { graph: Some("oci://r/g".to_owned()), ..UpdateServiceSettings::default() };
        for settings in [everything.clone(), image, UpdateServiceSettings::default()] {
            let objects = objects(&settings);
            let deployment = objects.iter().find(|object| object["kind"] == "Deployment").unwrap();
            assert_eq!(UpdateServiceSettings::read(deployment, NAMESPACE), settings);
        }
        let mut reset = everything;
        for name in SETTINGS.into_iter().chain(["mirror", "plain-http", "upstream"]) {
            reset.unset(name);
        }
        assert_eq!(reset, UpdateServiceSettings::default());
    }

    #[test]
    fn two_replicas_stay_reachable_and_confined() {
        let objects = objects(&UpdateServiceSettings::default());
        let kinds: Vec<&str> = objects.iter().map(|object| object["kind"].as_str().unwrap()).collect();
        assert_eq!(
            kinds,
            ["Namespace", "ServiceAccount", "Deployment", "Service", "PodDisruptionBudget", "NetworkPolicy"]
        );
        let spec = &objects[2]["spec"];
        assert_eq!((&spec["replicas"], &spec["strategy"]["rollingUpdate"]["maxUnavailable"]), (&json!(2), &json!(0)));
        let pod = &spec["template"]["spec"];
        let container = &pod["containers"][0];
        assert_eq!(pod["securityContext"]["runAsNonRoot"], true);
        assert_eq!(container["securityContext"]["readOnlyRootFilesystem"], true);
        assert_eq!(container["readinessProbe"]["httpGet"]["path"], "/readyz");
        let open = objects[5]["spec"]["ingress"][0]["ports"].as_array().unwrap().iter().map(|port| &port["port"]);
        let ports = container["ports"].as_array().unwrap().iter().map(|port| &port["name"]);
        assert!(open.eq(ports), "{container}");
    }
}
