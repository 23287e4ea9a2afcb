//! The shared cluster does what a real one does: workloads roll out, namespaces end, RBAC decides.

use std::time::Duration;

use clearway_testbed::{Cluster, cluster, unique_name, wait_until};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Pod, ServiceAccount};
use k8s_openapi::api::rbac::v1::{Role, RoleBinding};
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::{Api, Client};
use serde_json::{Value, json};

const SOON: Duration = clearway_testbed::IN_TIME;

fn object<T: serde::de::DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).unwrap()
}

fn deployment(name: &str, replicas: u32, simulate: Option<&str>) -> Deployment {
    let mut labels = json!({"app": name});
    if let Some(simulate) = simulate {
        labels["clearway.dev/simulate"] = simulate.into();
    }
    object(json!({
        "metadata": {"name": name},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [{"name": "main", "image": "example.dev/app:1"}]},
            },
        },
    }))
}

fn is_available(deployment: &Deployment) -> bool {
    let conditions = deployment.status.as_ref().and_then(|status| status.conditions.as_ref());
    conditions.is_some_and(|all| {
        all.iter().any(|one| one.type_.as_deref() == Some("Available") && one.status.as_deref() == Some("True"))
    })
}

async fn wait_for_available(deployments: &Api<Deployment>, name: &str) {
    wait_until(SOON, &format!("{name} is available"), async || is_available(&deployments.get(name).await.unwrap()))
        .await
        .unwrap();
}

async fn pods_of(client: &Client, namespace: &str, app: &str) -> Vec<Pod> {
    let pods: Api<Pod> = Api::namespaced(client.clone(), namespace);
    pods.list(&ListParams::default().labels(&format!("app={app}"))).await.unwrap().items
}

/// The status of the condition Ready; nothing when the pod has none yet.
fn readiness(pod: &Pod) -> Option<&str> {
    let conditions = pod.status.as_ref()?.conditions.as_ref()?;
    conditions.iter().find(|one| one.type_ == "Ready").map(|one| one.status.as_str())
}

#[tokio::test]
async fn a_deployment_becomes_available() {
    let Some(cluster) = cluster().await else { return };
    let (client, namespace) = (cluster.client().await.unwrap(), cluster.namespace().await.unwrap());
    let deployments: Api<Deployment> = Api::namespaced(client.clone(), namespace.name());
    deployments.create(&PostParams::default(), &deployment("web", 3, None)).await.unwrap();
    wait_for_available(&deployments, "web").await;
    wait_until(SOON, "three replicas are ready", async || {
        deployments.get("web").await.unwrap().status.and_then(|status| status.ready_replicas) == Some(3)
    })
    .await
    .unwrap();

    // Scaling down deletes a pod, which the simulated node lets go.
    let patch = json!({"spec": {"replicas": 1}});
    deployments.patch("web", &PatchParams::default(), &Patch::Merge(patch)).await.unwrap();
    wait_until(SOON, "one pod is left", async || pods_of(&client, namespace.name(), "web").await.len() == 1)
        .await
        .unwrap();
}

#[tokio::test]
async fn a_namespace_really_ends() {
    let Some(cluster) = cluster().await else { return };
    let (client, namespace) = (cluster.client().await.unwrap(), cluster.namespace().await.unwrap());
    let deployments: Api<Deployment> = Api::namespaced(client.clone(), namespace.name());
    deployments.create(&PostParams::default(), &deployment("web", 2, None)).await.unwrap();
    wait_for_available(&deployments, "web").await;

    let namespaces: Api<Namespace> = Api::all(client);
    namespaces.delete(namespace.name(), &DeleteParams::default()).await.unwrap();
    wait_until(SOON, "the namespace is gone", async || namespaces.get_opt(namespace.name()).await.unwrap().is_none())
        .await
        .unwrap();
}

#[tokio::test]
async fn the_namespace_of_a_test_goes_with_it() {
    let Some(cluster) = cluster().await else { return };
    let namespace = cluster.namespace().await.unwrap();
    let name = namespace.name().to_owned();
    drop(namespace);
    let namespaces: Api<Namespace> = Api::all(cluster.client().await.unwrap());
    wait_until(SOON, "the namespace is gone", async || namespaces.get_opt(&name).await.unwrap().is_none())
        .await
        .unwrap();
}

#[tokio::test]
async fn pods_fail_on_demand() {
    let Some(cluster) = cluster().await else { return };
    let (client, namespace) = (cluster.client().await.unwrap(), cluster.namespace().await.unwrap());
    let deployments: Api<Deployment> = Api::namespaced(client.clone(), namespace.name());
    for (name, simulate) in [("stuck", Some("never-ready")), ("crashing", Some("crash")), ("good", None)] {
        deployments.create(&PostParams::default(), &deployment(name, 1, simulate)).await.unwrap();
    }
    wait_for_available(&deployments, "good").await;
    for name in ["stuck", "crashing"] {
        wait_until(SOON, &format!("the pod of {name} runs, but is not ready"), async || {
            let pods = pods_of(&client, namespace.name(), name).await;
            !pods.is_empty() && pods.iter().all(|pod| readiness(pod) == Some("False"))
        })
        .await
        .unwrap();
        assert!(!is_available(&deployments.get(name).await.unwrap()), "{name} is available");
    }
    let pods = pods_of(&client, namespace.name(), "crashing").await;
    let status = serde_json::to_value(&pods[0].status).unwrap();
    assert_eq!(status["containerStatuses"][0]["state"]["waiting"]["reason"], "CrashLoopBackOff");
    assert_eq!(status["phase"], "Running");

    // Without the label the pod recovers.
    let pods: Api<Pod> = Api::namespaced(client.clone(), namespace.name());
    let name = pods_of(&client, namespace.name(), "stuck").await.remove(0).metadata.name.unwrap();
    let patch = json!({"metadata": {"labels": {"clearway.dev/simulate": null}}});
    pods.patch(&name, &PatchParams::default(), &Patch::Merge(patch)).await.unwrap();
    wait_for_available(&deployments, "stuck").await;
}

#[tokio::test]
async fn jobs_complete_and_fail() {
    let Some(cluster) = cluster().await else { return };
    let (client, namespace) = (cluster.client().await.unwrap(), cluster.namespace().await.unwrap());
    let jobs: Api<Job> = Api::namespaced(client, namespace.name());
    for (name, labels, condition) in
        [("good", json!({}), "Complete"), ("bad", json!({"clearway.dev/simulate": "crash"}), "Failed")]
    {
        let job = object(json!({
            "metadata": {"name": name},
            "spec": {
                "backoffLimit": 0,
                "template": {
                    "metadata": {"labels": labels},
                    "spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "example.dev/job:1"}]},
                },
            },
        }));
        jobs.create(&PostParams::default(), &job).await.unwrap();
        wait_until(SOON, &format!("job {name} is {condition}"), async || {
            let conditions = jobs.get(name).await.unwrap().status.and_then(|status| status.conditions);
            conditions.is_some_and(|all| all.iter().any(|one| one.type_ == condition && one.status == "True"))
        })
        .await
        .unwrap();
    }
}

#[tokio::test]
async fn an_added_node_takes_pods() {
    let Some(cluster) = cluster().await else { return };
    let (client, namespace) = (cluster.client().await.unwrap(), cluster.namespace().await.unwrap());
    let node = unique_name("node");
    cluster.add_node(&node).await.unwrap();
    let pods: Api<Pod> = Api::namespaced(client, namespace.name());
    let pod = object(json!({
        "metadata": {"name": "here"},
        "spec": {
            "nodeSelector": {"kubernetes.io/hostname": node},
            "containers": [{"name": "main", "image": "example.dev/app:1"}],
        },
    }));
    pods.create(&PostParams::default(), &pod).await.unwrap();
    wait_until(SOON, "the pod is ready", async || readiness(&pods.get("here").await.unwrap()) == Some("True"))
        .await
        .unwrap();
}

/// Whether a client may list config maps; the API server's refusal is a "no", anything else fails the test.
async fn may_list(client: Client, namespace: &str) -> bool {
    let maps: Api<ConfigMap> = Api::namespaced(client, namespace);
    match maps.list(&ListParams::default()).await {
        Ok(_) => true,
        Err(kube::Error::Api(status)) if status.code == 403 => false,
        Err(error) => panic!("neither granted nor denied: {error}"),
    }
}

async fn grant(cluster: &Cluster, namespace: &str, subject: Value) {
    let client = cluster.client().await.unwrap();
    let roles: Api<Role> = Api::namespaced(client.clone(), namespace);
    let bindings: Api<RoleBinding> = Api::namespaced(client, namespace);
    let role = object(json!({
        "metadata": {"name": "reader"},
        "rules": [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["list"]}],
    }));
    let binding = object(json!({
        "metadata": {"name": "reader"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "reader"},
        "subjects": [subject],
    }));
    roles.create(&PostParams::default(), &role).await.unwrap();
    bindings.create(&PostParams::default(), &binding).await.unwrap();
}

#[tokio::test]
async fn rbac_denies_what_is_not_granted() {
    let Some(cluster) = cluster().await else { return };
    let namespace = cluster.namespace().await.unwrap();
    let user = cluster.client_for("jane", None).await.unwrap();
    let member = cluster.client_for("joe", Some("readers")).await.unwrap();
    assert!(!may_list(user.clone(), namespace.name()).await);
    assert!(!may_list(member.clone(), namespace.name()).await);
    let group = json!({"kind": "Group", "name": "readers", "apiGroup": "rbac.authorization.k8s.io"});
    grant(&cluster, namespace.name(), group).await;
    wait_until(SOON, "the group may list", async || may_list(member.clone(), namespace.name()).await).await.unwrap();
    assert!(!may_list(user, namespace.name()).await);
}

#[tokio::test]
async fn a_service_account_has_a_kubeconfig() {
    let Some(cluster) = cluster().await else { return };
    let namespace = cluster.namespace().await.unwrap();
    let accounts: Api<ServiceAccount> = Api::namespaced(cluster.client().await.unwrap(), namespace.name());
    let account = object(json!({"metadata": {"name": "operator"}}));
    accounts.create(&PostParams::default(), &account).await.unwrap();

    let path = cluster.kubeconfig_for_service_account(namespace.name(), "operator").await.unwrap();
    let kubeconfig = kube::config::Kubeconfig::read_from(path).unwrap();
    let config = kube::Config::from_custom_kubeconfig(kubeconfig, &kube::config::KubeConfigOptions::default()).await;
    let client = Client::try_from(config.unwrap()).unwrap();
    assert!(!may_list(client.clone(), namespace.name()).await);
    let subject = json!({"kind": "ServiceAccount", "name": "operator", "namespace": namespace.name()});
    grant(&cluster, namespace.name(), subject).await;
    wait_until(SOON, "the account may list", async || may_list(client.clone(), namespace.name()).await).await.unwrap();
}

#[tokio::test]
async fn the_server_says_its_real_version() {
    let Some(cluster) = cluster().await else { return };
    let version = cluster.client().await.unwrap().apiserver_version().await.unwrap();
    assert!(!version.git_version.starts_with("v0.0.0"), "{}", version.git_version);
    assert!(!version.minor.is_empty());
}
