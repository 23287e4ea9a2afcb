//! A Kubernetes control plane on loopback, with simulated nodes.

pub(crate) mod control_plane;
pub(crate) mod credentials;
pub(crate) mod namespace;
mod stored;

use std::path::{Path, PathBuf};

use k8s_openapi::api::authentication::v1::{TokenRequest, TokenRequestSpec};
use k8s_openapi::api::core::v1::{Node, ServiceAccount};
use kube::api::PostParams;
use kube::{Api, Client};
use serde_json::json;
use tokio::sync::{Mutex, MutexGuard};

use crate::error::{Error, Result};
use crate::process::run_dir::RunDir;
use crate::process::{Process, show_logs_of_failure};
use crate::wait::{IN_TIME, wait_until};
use control_plane::{ControlPlane, config_from};
use credentials::{Authority, Proof};
use namespace::TestNamespace;

/// How often a start is tried, when another process took a port in between.
const ATTEMPTS: usize = 3;

/// What a cluster consists of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClusterOptions {
    /// With kube-controller-manager, kube-scheduler and kwok: Deployments roll out, namespaces end, garbage is
    /// collected. Without them there is only the API, which starts faster and takes half the memory.
    pub controllers: bool,
    /// How many simulated nodes there are at the start: `node-0`, `node-1` and so on. Only with controllers.
    pub nodes: usize,
    /// More flags for kube-apiserver.
    pub apiserver_flags: Vec<String>,
}

impl Default for ClusterOptions {
    fn default() -> Self {
        Self { controllers: true, nodes: 1, apiserver_flags: Vec::new() }
    }
}

impl ClusterOptions {
    /// Only etcd and kube-apiserver: no controllers, no nodes.
    pub fn api_only() -> Self {
        Self { controllers: false, nodes: 0, apiserver_flags: Vec::new() }
    }
}

/// A running cluster. It ends when the value is dropped, and when this process ends in any way. When that happens while
/// a test fails, the ends of the logs are shown.
#[derive(Debug)]
pub struct Cluster {
    // The processes end before their directory goes.
    control_plane: ControlPlane,
    dir: RunDir,
    singletons: Mutex<()>,
}

impl Cluster {
    /// Starts a whole control plane with one simulated node, and waits until it can be used.
    pub async fn start() -> Result<Self> {
        Self::start_with(&ClusterOptions::default()).await
    }

    /// Starts what the options say, and waits until it can be used.
    pub async fn start_with(options: &ClusterOptions) -> Result<Self> {
        // Fails when a provider is installed already, which is just as well.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut attempt = 1;
        loop {
            match Self::start_once(options).await {
                Err(error) if error.is_port_collision() && attempt < ATTEMPTS => attempt += 1,
                result => return result,
            }
        }
    }

    async fn start_once(options: &ClusterOptions) -> Result<Self> {
        let dir = RunDir::new("cluster")?;
        let control_plane = ControlPlane::start(&dir, options.controllers, &options.apiserver_flags).await?;
        let this = Self { control_plane, dir, singletons: Mutex::new(()) };
        if options.controllers {
            for number in 0..options.nodes {
                this.create_node(&format!("node-{number}")).await?;
            }
            for number in 0..options.nodes {
                this.wait_for_node(&format!("node-{number}")).await?;
            }
            this.wait_for_service_account("default", "default").await?;
        }
        Ok(this)
    }

    /// The URL of the API server.
    pub fn url(&self) -> &str {
        &self.control_plane.url
    }

    /// The kubeconfig of a user who may do everything.
    pub fn kubeconfig(&self) -> &Path {
        &self.control_plane.admin_kubeconfig
    }

    /// A bearer token of the user `admin`, who may do everything.
    pub fn admin_token(&self) -> &str {
        &self.control_plane.credentials.admin_token
    }

    /// The authority that the API server trusts and that signed its certificate: for clients of one's own, and for the
    /// certificates of webhooks.
    pub fn authority(&self) -> &Authority {
        &self.control_plane.credentials.authority
    }

    /// The directory of this run, which goes with the cluster.
    pub fn dir(&self) -> &Path {
        self.dir.path()
    }

    /// Writes a kubeconfig with a client certificate of a user. The user has no rights until a role binding grants
    /// some to the user or the group.
    pub fn kubeconfig_for(&self, user: &str, group: Option<&str>) -> Result<PathBuf> {
        self.control_plane.credentials.kubeconfig(user, group)
    }

    /// Writes a kubeconfig with a token of a service account, which must exist.
    pub async fn kubeconfig_for_service_account(&self, namespace: &str, name: &str) -> Result<PathBuf> {
        let token = self.token_for_service_account(namespace, name).await?;
        let user = format!("service-account {namespace} {name}");
        self.control_plane.credentials.write_kubeconfig(&user, &Proof::Token(&token))
    }

    /// A token of a service account, which must exist; valid for an hour.
    pub async fn token_for_service_account(&self, namespace: &str, name: &str) -> Result<String> {
        let accounts: Api<ServiceAccount> = Api::namespaced(self.client().await?, namespace);
        let request = TokenRequest { spec: Some(TokenRequestSpec::default()), ..TokenRequest::default() };
        let answer = accounts.create_token_request(name, &PostParams::default(), &request).await?;
        answer.status.and_then(|status| status.token).ok_or_else(|| Error::Answer {
            request: format!("token of {namespace}/{name}"),
            answer: "no token".to_owned(),
        })
    }

    /// The configuration of a client that may do everything.
    pub async fn config(&self) -> Result<kube::Config> {
        config_from(self.kubeconfig()).await
    }

    /// A client that may do everything. It belongs to the runtime it is made in: each test makes its own.
    pub async fn client(&self) -> Result<Client> {
        Ok(Client::try_from(self.config().await?)?)
    }

    /// A client of a user without any rights of their own; see [`Cluster::kubeconfig_for`].
    pub async fn client_for(&self, user: &str, group: Option<&str>) -> Result<Client> {
        let config = config_from(&self.kubeconfig_for(user, group)?).await?;
        Ok(Client::try_from(config)?)
    }

    /// Makes a namespace with a unique name, which is deleted when the value is dropped. It is ready to have pods.
    pub async fn namespace(&self) -> Result<TestNamespace> {
        let namespace = TestNamespace::create(self).await?;
        if self.control_plane.controllers.is_some() {
            self.wait_for_service_account(namespace.name(), "default").await?;
        }
        Ok(namespace)
    }

    /// Adds a simulated node, and waits until pods can be scheduled to it. Its kubelet has the API server's version.
    pub async fn add_node(&self, name: &str) -> Result<()> {
        self.create_node(name).await?;
        self.wait_for_node(name).await
    }

    /// Waits for the turn of a test that changes something of which the cluster has one only. The turn ends when the
    /// value is dropped.
    pub async fn take_turn(&self) -> MutexGuard<'_, ()> {
        self.singletons.lock().await
    }

    /// The process of kube-apiserver.
    pub fn apiserver(&self) -> &Process {
        &self.control_plane.apiserver
    }

    /// The process of etcd.
    pub fn etcd(&self) -> &Process {
        &self.control_plane.etcd
    }

    /// The objects of a custom resource as etcd has them: in the version in which each was written last, which the API
    /// server does not show.
    pub async fn stored_objects(&self, group: &str, plural: &str) -> Result<Vec<serde_json::Value>> {
        stored::objects(self.control_plane.etcd_port, &format!("/registry/{group}/{plural}/")).await
    }

    /// The process of kube-controller-manager; nothing in a cluster without controllers.
    pub fn controller_manager(&self) -> Option<&Process> {
        self.control_plane.controllers.as_ref().map(|controllers| &controllers.manager)
    }

    /// The process of kube-scheduler; nothing in a cluster without controllers.
    pub fn scheduler(&self) -> Option<&Process> {
        self.control_plane.controllers.as_ref().map(|controllers| &controllers.scheduler)
    }

    /// The process of kwok, which simulates nodes and pods; nothing in a cluster without controllers.
    pub fn kwok(&self) -> Option<&Process> {
        self.control_plane.controllers.as_ref().map(|controllers| &controllers.kwok)
    }

    /// Shows the ends of all logs, if this thread is failing a test.
    pub(crate) fn show_logs_of_failure(&self) {
        show_logs_of_failure(self.control_plane.processes());
    }

    async fn create_node(&self, name: &str) -> Result<()> {
        let client = self.client().await?;
        let version = client.apiserver_version().await?.git_version;
        let resources = json!({"cpu": "64", "memory": "256Gi", "ephemeral-storage": "1Ti", "pods": "1000"});
        let node = json!({
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {
                "name": name,
                "labels": {
                    "kubernetes.io/arch": "amd64",
                    "kubernetes.io/hostname": name,
                    "kubernetes.io/os": "linux",
                    "node-role.kubernetes.io/worker": "",
                },
            },
            "status": {
                "capacity": resources,
                "allocatable": resources,
                "addresses": [{"type": "Hostname", "address": name}],
                "nodeInfo": {
                    "architecture": "amd64", "bootID": "", "containerRuntimeVersion": "", "kernelVersion": "",
                    "kubeProxyVersion": "", "kubeletVersion": version, "machineID": "", "operatingSystem": "linux",
                    "osImage": "", "systemUUID": "",
                },
            },
        });
        let node: Node =
            serde_json::from_value(node).map_err(|error| Error::Kube(Box::new(kube::Error::SerdeError(error))))?;
        let nodes: Api<Node> = Api::all(client);
        nodes.create(&PostParams::default(), &node).await?;
        Ok(())
    }

    async fn wait_for_node(&self, name: &str) -> Result<()> {
        let nodes: Api<Node> = Api::all(self.client().await?);
        wait_until(IN_TIME, &format!("node {name} is ready"), async || {
            nodes.get(name).await.is_ok_and(|node| is_usable(&node))
        })
        .await
    }

    async fn wait_for_service_account(&self, namespace: &str, name: &str) -> Result<()> {
        let accounts: Api<ServiceAccount> = Api::namespaced(self.client().await?, namespace);
        wait_until(IN_TIME, &format!("{namespace} has the service account {name}"), async || {
            accounts.get_opt(name).await.is_ok_and(|account| account.is_some())
        })
        .await
    }
}

/// Whether the node is Ready, and the controller manager has taken away the taints of a new node.
fn is_usable(node: &Node) -> bool {
    let conditions = node.status.as_ref().and_then(|status| status.conditions.as_ref());
    let ready = conditions
        .is_some_and(|all| all.iter().any(|condition| condition.type_ == "Ready" && condition.status == "True"));
    let taints = node.spec.as_ref().and_then(|spec| spec.taints.as_ref());
    ready && taints.is_none_or(Vec::is_empty)
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.show_logs_of_failure();
    }
}
