//! What rules of a graph may look at: kinds that say how a cluster is built and how it is doing.
//!
//! Never here: Secrets and whatever holds credentials (tokens, OAuth and identity providers, MachineConfigs with their
//! files), logs, exec and other subresources, roles and bindings, which would tell a stranger whom to attack.

use super::Right;

/// The label of ClusterRoles whose rules `clearway-evidence-reader` gets besides [`EVIDENCE`].
pub const AGGREGATE_TO_EVIDENCE: &str = "clearway.dev/aggregate-to-evidence";

const READ: &[&str] = &["get", "list"];

/// What rules of a graph usually look at. Nothing of it is changed.
pub const EVIDENCE: &[Right] = &[
    Right::new(
        &[""],
        &[
            "namespaces",
            "nodes",
            "persistentvolumeclaims",
            "persistentvolumes",
            "pods",
            "replicationcontrollers",
            "resourcequotas",
            "services",
        ],
        READ,
        "rules about nodes (architecture, kernel, kubelet), volumes, and what runs where",
    ),
    Right::new(
        &[""],
        &["configmaps"],
        &["get"],
        "rules about a ConfigMap that they name; listing is not allowed, because many contain confidential data",
    ),
    Right::new(
        &["apps"],
        &["daemonsets", "deployments", "replicasets", "statefulsets"],
        READ,
        "rules about the conditions of workloads",
    ),
    Right::new(&["batch"], &["cronjobs", "jobs"], READ, "rules about jobs that an update would interrupt"),
    Right::new(
        &["autoscaling", "policy"],
        &["horizontalpodautoscalers", "poddisruptionbudgets"],
        READ,
        "rules about disruption budgets that block draining of nodes",
    ),
    Right::new(
        &["networking.k8s.io"],
        &["ingressclasses", "ingresses", "networkpolicies"],
        READ,
        "rules about traffic into and inside the cluster",
    ),
    Right::new(
        &["gateway.networking.k8s.io"],
        &[
            "backendtlspolicies",
            "gatewayclasses",
            "gateways",
            "grpcroutes",
            "httproutes",
            "listenersets",
            "referencegrants",
            "tcproutes",
            "tlsroutes",
            "udproutes",
        ],
        READ,
        "the same for the Gateway API, and whether objects use a field of it",
    ),
    Right::new(
        &["storage.k8s.io"],
        &["csidrivers", "csinodes", "storageclasses", "volumeattachments"],
        READ,
        "rules about storage drivers",
    ),
    Right::new(
        &["apiextensions.k8s.io", "apiregistration.k8s.io"],
        &["apiservices", "customresourcedefinitions"],
        READ,
        "rules about the APIs that a cluster serves, their backends and bundles",
    ),
    Right::new(
        &["admissionregistration.k8s.io"],
        &[
            "mutatingwebhookconfigurations",
            "validatingadmissionpolicies",
            "validatingadmissionpolicybindings",
            "validatingwebhookconfigurations",
        ],
        READ,
        "rules about webhooks and policies that affect an update",
    ),
    Right::new(
        &["flowcontrol.apiserver.k8s.io", "node.k8s.io", "scheduling.k8s.io"],
        &["flowschemas", "priorityclasses", "prioritylevelconfigurations", "runtimeclasses"],
        READ,
        "rules about priorities, flow control and runtime classes",
    ),
    Right::new(
        &["config.openshift.io"],
        &[
            "apiservers",
            "clusteroperators",
            "clusterversions",
            "dnses",
            "featuregates",
            "infrastructures",
            "networks",
            "proxies",
            "schedulers",
        ],
        READ,
        "rules about the platform, where it is OpenShift's, and about the ClusterVersion",
    ),
    Right::new(
        &["machine.openshift.io", "machineconfiguration.openshift.io"],
        &["machineconfigpools", "machines", "machinesets"],
        READ,
        "rules about machines; MachineConfigs are excluded, because they contain files",
    ),
    Right::new(
        &["operator.openshift.io"],
        &[
            "etcds",
            "ingresscontrollers",
            "kubeapiservers",
            "kubecontrollermanagers",
            "kubeschedulers",
            "networks",
            "storages",
        ],
        READ,
        "rules about the platform's own operators",
    ),
    Right::new(&["clearway.dev"], &["componentversions"], READ, "rules about add-ons and their versions"),
];
