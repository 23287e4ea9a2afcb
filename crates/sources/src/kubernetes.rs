//! A Kubernetes cluster as a source of objects of any kind.
//!
//! Objects are raw JSON: what the linter is to judge must not pass through somebody's types first, which drop what they
//! do not know and fail on what they do not expect. Start at [`Cluster::connect`].

mod access_review;
mod bounded;
mod caller;
mod catalog;
mod configuration;
mod kind_watch;
mod path;
mod service_account;
mod watch;
mod write;

use std::path::PathBuf;
use std::time::Duration;

use kube::api::ListParams;
use serde_json::Value;

pub use access_review::User;
pub use bounded::{PAGE_BYTES, PAGE_MEMORY};
pub use caller::CallerIdentity;
pub use catalog::{Catalog, Resource};
pub(crate) use k8s_openapi::api::core::v1::ObjectReference;
pub use kind_watch::{KindEvent, ObjectPart};
pub use service_account::{ServiceAccountName, ServiceAccountNameError};
pub(crate) use watch::SILENCE;
pub use watch::WatchEvent;
pub use write::{Apply, Part};

use crate::http::{USER_AGENT, innermost};
use crate::waiting;

/// Objects asked for in one page of a list.
const PAGE: u32 = 500;
/// How long one object may take; a server that takes longer is as good as gone.
const ANSWER: Duration = Duration::from_secs(10);
/// How long a page of objects, or the kinds, may take.
const LONG_ANSWER: Duration = Duration::from_secs(30);

/// Why a cluster did not give what it was asked for.
#[derive(Debug, thiserror::Error)]
pub enum ClusterError {
    /// No usable kubeconfig, and not inside a cluster.
    #[error("no cluster configured: {why}; name one with --kubeconfig or KUBECONFIG, or read files with -f")]
    Config {
        /// What was tried.
        why: String,
    },
    /// The API server cannot be reached.
    #[error("cannot reach the API server at {server}: {why}")]
    Unreachable {
        /// Its address.
        server: String,
        /// What failed.
        why: String,
    },
    /// The API server refuses.
    #[error("not allowed to {verb} {resource}: {why}")]
    Forbidden {
        /// What was tried.
        verb: &'static str,
        /// On what.
        resource: String,
        /// What the server said.
        why: String,
    },
    /// There is no such object.
    #[error("{resource} {name} not found")]
    NotFound {
        /// The kind of object.
        resource: String,
        /// Its namespace and name.
        name: String,
    },
    /// The cluster does not serve such a kind.
    #[error("the cluster serves no kind named `{name}`{hint}")]
    NoSuchKind {
        /// What was asked for.
        name: String,
        /// Names that are near it.
        hint: String,
    },
    /// Somebody else changed it meanwhile, owns a field of it, or it is there already.
    #[error("cannot {verb} {resource} {name}: {why}")]
    Conflict {
        /// What was tried.
        verb: &'static str,
        /// On what kind of object.
        resource: String,
        /// Its namespace and name.
        name: String,
        /// What the server said.
        why: String,
    },
    /// The API server does not accept the object as it is.
    #[error("the API server refuses {resource} {name}: {why}")]
    Refused {
        /// The kind of object.
        resource: String,
        /// Its namespace and name.
        name: String,
        /// What the server said.
        why: String,
    },
    /// The answer is larger than is read.
    #[error("the answer about {resource} exceeds {limit} bytes on the wire or in memory")]
    AnswerTooLarge {
        /// What was asked for.
        resource: String,
        /// The bytes that are read.
        limit: usize,
    },
    /// The list took longer than the API server keeps its state; it can be started again.
    #[error("the list of {resource} took too long and expired")]
    Expired {
        /// What was listed.
        resource: String,
    },
    /// Anything else the API server answered.
    #[error("cannot {verb} {resource}: {why}")]
    Api {
        /// What was tried.
        verb: &'static str,
        /// On what.
        resource: String,
        /// What the server said.
        why: String,
    },
}

impl ClusterError {
    /// A stable word for the kind of error.
    pub fn kind(&self) -> &'static str {
        match self {
            ClusterError::Config { .. } => "config",
            ClusterError::Unreachable { .. } => "unreachable",
            ClusterError::Forbidden { .. } => "forbidden",
            ClusterError::NotFound { .. } => "not_found",
            ClusterError::NoSuchKind { .. } => "no_such_kind",
            ClusterError::Conflict { .. } => "conflict",
            ClusterError::Refused { .. } => "refused",
            ClusterError::AnswerTooLarge { .. } => "answer_too_large",
            ClusterError::Expired { .. } => "expired",
            ClusterError::Api { .. } => "api",
        }
    }
}

/// Which cluster to talk to.
#[derive(Debug, Clone, Default)]
pub struct Connection {
    /// The kubeconfig file; by default `KUBECONFIG`, `~/.kube/config`, or the service account of the pod.
    pub kubeconfig: Option<PathBuf>,
    /// The context in it; by default its current one.
    pub context: Option<String>,
    /// The service account whose rights requests have, in place of those of the user. The user needs the right to
    /// impersonate it, and nothing else.
    pub impersonate: Option<ServiceAccountName>,
}

impl Connection {
    /// Whether there is a cluster to talk to: one is named, or `kubectl` would find one. It need not answer.
    pub fn is_configured(&self) -> bool {
        let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let default_file =
            || std::env::var_os("HOME").is_some_and(|home| PathBuf::from(home).join(".kube/config").exists());
        self.kubeconfig.is_some()
            || self.context.is_some()
            || is_set("KUBECONFIG")
            || default_file()
            || is_set("KUBERNETES_SERVICE_HOST")
    }

    /// The options by which `kubectl` talks to the same cluster with the same rights.
    pub fn kubectl_options(&self) -> Vec<String> {
        let mut options = Vec::new();
        if let Some(path) = &self.kubeconfig {
            options.push(format!("--kubeconfig={}", path.display()));
        }
        if let Some(context) = &self.context {
            options.push(format!("--context={context}"));
        }
        if let Some(account) = &self.impersonate {
            options.push(format!("--as={}", account.user()));
        }
        options
    }
}

/// A connection to a cluster.
#[derive(Clone)]
pub struct Cluster {
    client: kube::Client,
    connection: Connection,
    server: String,
    namespace: String,
}

impl Cluster {
    /// Prepares a connection; nothing is sent yet.
    pub async fn connect(connection: &Connection) -> Result<Self, ClusterError> {
        let mut config = configuration::load(connection).await?;
        if let Some(account) = &connection.impersonate {
            // Nothing that a kubeconfig adds to an identity may stay: the rights are those of the account alone.
            config.auth_info.impersonate = Some(account.user());
            config.auth_info.impersonate_uid = None;
            config.auth_info.impersonate_groups = None;
            config.auth_info.impersonate_user_extra = None;
        }
        Self::with_config(config, connection)
    }

    /// A connection with the address, certificates and identity of a configuration.
    fn with_config(mut config: kube::Config, connection: &Connection) -> Result<Self, ClusterError> {
        // So that the server's audit log says who asks.
        config.headers.push((::http::header::USER_AGENT, ::http::HeaderValue::from_static(USER_AGENT)));
        config.connect_timeout = Some(Duration::from_secs(5));
        // Longer than the server's own limit on a watch, which would otherwise be cut for being quiet.
        config.read_timeout = Some(Duration::from_secs(330));
        let (server, namespace) = (config.cluster_url.to_string(), config.default_namespace.clone());
        let client = kube::Client::try_from(config)
            .map_err(|error| ClusterError::Config { why: configuration::chain(&error) })?;
        Ok(Cluster { client, connection: connection.clone(), server, namespace })
    }

    /// The client underneath, for what goes by other rules than objects: events, leases.
    pub(crate) fn client(&self) -> kube::Client {
        self.client.clone()
    }

    /// How it was connected to.
    pub fn connection(&self) -> &Connection {
        &self.connection
    }

    /// The namespace that is meant when none is named.
    pub fn default_namespace(&self) -> &str {
        &self.namespace
    }

    /// The kinds the cluster serves.
    pub async fn catalog(&self) -> Result<Catalog, ClusterError> {
        let failed = |error| self.error("discover", "the kinds the cluster serves", "", error);
        let core = self.within(ANSWER, self.client.list_core_api_versions_aggregated(), failed).await?;
        let groups = self.within(LONG_ANSWER, self.client.list_api_groups_aggregated(), failed).await?;
        Ok(Catalog::new(core.items.into_iter().chain(groups.items)))
    }

    /// The version that the API server reports, such as `v1.33.4`.
    pub async fn api_server_version(&self) -> Result<String, ClusterError> {
        let failed = |error| self.error("get", "the version of the API server", "", error);
        Ok(self.within(ANSWER, self.client.apiserver_version(), failed).await?.git_version)
    }

    /// One object, within the bounds of a page: which one is asked for may be a stranger's choice.
    pub async fn get(&self, resource: &Resource, namespace: &str, name: &str) -> Result<Value, ClusterError> {
        let (collection, segment) = Self::address(resource, (namespace, name))?;
        let shown = path::shown(namespace, name);
        let request = collection
            .get(&segment, &kube::api::GetParams::default())
            .map_err(|error| self.error("get", &resource.to_string(), &shown, kube::Error::BuildRequest(error)))?;
        self.bounded("get", resource, &shown, ANSWER, request).await
    }

    /// The next page of the objects of a kind; `token` is where the page before ended. `namespace` of none means all.
    pub async fn list(
        &self,
        resource: &Resource,
        namespace: Option<&str>,
        labels: Option<&str>,
        token: Option<&str>,
    ) -> Result<Page, ClusterError> {
        let parameters = ListParams {
            limit: Some(PAGE),
            continue_token: token.map(str::to_owned),
            label_selector: labels.map(str::to_owned),
            ..ListParams::default()
        };
        let failed = |error| self.error("list", &resource.to_string(), "", error);
        let request = Self::collection(resource, namespace)?
            .list(&parameters)
            .map_err(|error| failed(kube::Error::BuildRequest(error)))?;
        let list = self.within(LONG_ANSWER, self.client.request::<Value>(request), failed).await?;
        Ok(Page::of_list(list, resource))
    }

    /// The answer, if it comes in time: a server that hangs takes requests and never says a word.
    async fn within<T>(
        &self,
        limit: Duration,
        answer: impl Future<Output = kube::Result<T>>,
        failed: impl Fn(kube::Error) -> ClusterError,
    ) -> Result<T, ClusterError> {
        let silent = || ClusterError::Unreachable {
            server: self.server.clone(),
            why: format!("no answer within {} seconds", limit.as_secs()),
        };
        let answer = waiting::for_answer(format!("the API server at {}", self.server), limit, answer);
        tokio::time::timeout(limit, answer).await.map_err(|_| silent())?.map_err(failed)
    }

    /// Tells the errors a person can act on apart.
    fn error(&self, verb: &'static str, resource: &str, name: &str, error: kube::Error) -> ClusterError {
        match error {
            kube::Error::Api(status) if status.code == 404 && !name.is_empty() => {
                ClusterError::NotFound { resource: resource.to_owned(), name: name.to_owned() }
            }
            // A collection that is not there is a kind that is not served (any more, or yet).
            kube::Error::Api(status) if status.code == 404 => {
                ClusterError::NoSuchKind { name: resource.to_owned(), hint: String::new() }
            }
            kube::Error::Api(status) if status.code == 401 || status.code == 403 => {
                // The server begins with what the sentence says already: `pods "web" is forbidden: User "jane" cannot ...`.
                let why = status.message.split_once(" is forbidden: ").map_or(status.message.as_str(), |(_, why)| why);
                ClusterError::Forbidden { verb, resource: resource.to_owned(), why: why.to_owned() }
            }
            kube::Error::Api(status) if status.code == 409 && !name.is_empty() => ClusterError::Conflict {
                verb,
                resource: resource.to_owned(),
                name: name.to_owned(),
                why: status.message.clone(),
            },
            kube::Error::Api(status) if matches!(status.code, 400 | 413 | 422) && !name.is_empty() => {
                ClusterError::Refused {
                    resource: resource.to_owned(),
                    name: name.to_owned(),
                    why: status.message.clone(),
                }
            }
            kube::Error::Api(status) if status.code == 410 && verb == "list" => {
                ClusterError::Expired { resource: resource.to_owned() }
            }
            kube::Error::Api(status) => ClusterError::Api {
                verb,
                resource: resource.to_owned(),
                why: format!("{} ({})", status.message, status.code),
            },
            kube::Error::SerdeError(error) => ClusterError::Api {
                verb,
                resource: resource.to_owned(),
                why: format!("the answer is not JSON: {error}"),
            },
            error => ClusterError::Unreachable { server: self.server.clone(), why: innermost(&error) },
        }
    }
}

/// One page of a list.
#[derive(Debug)]
pub struct Page {
    /// The objects, each with its kind and API version.
    pub items: Vec<Value>,
    /// Where the next page starts, if there is one.
    pub next: Option<String>,
}

impl Page {
    fn of_list(mut list: Value, resource: &Resource) -> Self {
        let next = list["metadata"]["continue"].as_str().filter(|token| !token.is_empty()).map(str::to_owned);
        let items = match list["items"].take() {
            Value::Array(items) => items,
            _ => Vec::new(),
        };
        Page { items: items.into_iter().map(|item| resource.stamp(item)).collect(), next }
    }
}
