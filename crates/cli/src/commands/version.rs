//! `clearway version`: this program, and the operator of a cluster or state directory.
//!
//! The JSON is `client {version, revision, target, compiler, crdBundle}` and, without `--client`, `operator {namespace, version,
//! image, leader}`, which is null where none is installed and absent where it is not known. What is not known is null.

use std::path::Path;

use anyhow::Result;
use clearway_core::{GroupVersionKind, ObjectReference};
use clearway_operator::{install, lease};
use clearway_sources::kubernetes::{Cluster, ClusterError};
use clearway_sources::store::{ClusterStore, StateDirectory, Store, StoreError};
use clearway_update::api;
use serde::Serialize;
use serde_json::{Value, json};

use crate::arguments::ShowVersion;
use crate::exit::Exit;
use crate::{output, runtime};

/// What is known of this program. Nothing of it depends on where it runs.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Client {
    version: &'static str,
    /// The commit that it was built from; nothing in a development build.
    revision: Option<&'static str>,
    target: &'static str,
    compiler: &'static str,
    /// The version of the CRDs that `clearway install` brings.
    crd_bundle: String,
}

/// What is known of the operator.
#[derive(Debug, Serialize, PartialEq, Eq)]
struct InstalledOperator {
    namespace: String,
    /// The version of the replica that leads, or led last; nothing if none has led yet.
    version: Option<String>,
    /// The image of its Deployment; nothing in a state directory.
    image: Option<String>,
    /// The replica that leads; nothing while none does.
    leader: Option<String>,
}

/// Why there is nothing to say about an operator.
enum OperatorState {
    Found(InstalledOperator),
    NotInstalled,
    NoCluster,
    Unknown(String),
}

/// Carries out `clearway version`.
pub(crate) fn run(options: &ShowVersion) -> Result<Exit> {
    let client = client();
    let operator = if options.client { None } else { Some(operator(options)?) };
    let mut data = json!({"client": client});
    match &operator {
        Some(OperatorState::Found(operator)) => data["operator"] = json!(operator),
        Some(OperatorState::NotInstalled) => data["operator"] = Value::Null,
        Some(OperatorState::NoCluster | OperatorState::Unknown(_)) | None => {}
    }
    output::print_data(options.output.format, &data, || table(&client, operator.as_ref(), options))?;
    if let Some(OperatorState::Unknown(why)) = &operator {
        output::print_note!("warning: the version of the operator is unknown: {why}; --client shows only this program");
        return Ok(Exit::Unknown);
    }
    Ok(Exit::Yes)
}

fn client() -> Client {
    let revision = env!("CLEARWAY_BUILT_REVISION");
    Client {
        version: env!("CARGO_PKG_VERSION"),
        revision: (!revision.is_empty()).then_some(revision),
        target: env!("CLEARWAY_TARGET"),
        compiler: env!("CLEARWAY_COMPILER"),
        crd_bundle: api::bundle_version().to_string(),
    }
}

fn operator(options: &ShowVersion) -> Result<OperatorState> {
    runtime::block_on(async {
        match &options.state {
            Some(path) => in_directory(path, &options.namespace).await,
            None => in_cluster(options).await,
        }
    })?
}

async fn in_directory(path: &Path, namespace: &str) -> Result<OperatorState> {
    if !path.join("objects").is_dir() {
        anyhow::bail!("{} is not a state directory: `objects` not found in it", path.display());
    }
    Ok(read(&StateDirectory::open(path)?, namespace).await)
}

async fn in_cluster(options: &ShowVersion) -> Result<OperatorState> {
    let cluster = match Cluster::connect(&options.connection.connection()).await {
        Ok(cluster) => cluster,
        // Nobody named a cluster.
        Err(ClusterError::Config { .. }) if !options.connection.is_named() => return Ok(OperatorState::NoCluster),
        Err(error) => return Err(error.into()),
    };
    Ok(read(&ClusterStore::new(cluster, "clearway-version"), &options.namespace).await)
}

/// Reads the lease, which says who leads with which version, and the Deployment.
async fn read<S: Store>(store: &S, namespace: &str) -> OperatorState {
    let object = async |api_version: &str, kind: &str| {
        let kind = GroupVersionKind::new(api_version, kind);
        let key = ObjectReference { kind, namespace: namespace.to_owned(), name: install::NAME.to_owned() };
        match store.get(&key).await {
            // A state directory has no Deployments.
            Err(StoreError::NoSuchKind { .. }) => Ok(None),
            found => found,
        }
    };
    let text = |value: &Value| value.as_str().filter(|text| !text.is_empty()).map(str::to_owned);
    let found = async {
        Ok::<_, StoreError>((object("apps/v1", "Deployment").await?, object("coordination.k8s.io/v1", "Lease").await?))
    };
    match found.await {
        Ok((None, None)) => OperatorState::NotInstalled,
        Ok((deployment, lease)) => {
            let (deployment, lease) = (deployment.unwrap_or_default(), lease.unwrap_or_default());
            let containers = deployment["spec"]["template"]["spec"]["containers"].as_array();
            let container = containers.and_then(|all| all.iter().find(|one| one["name"] == "operator"));
            OperatorState::Found(InstalledOperator {
                namespace: namespace.to_owned(),
                version: text(&lease["metadata"]["annotations"][lease::VERSION]),
                image: container.and_then(|container| text(&container["image"])),
                leader: text(&lease["spec"]["holderIdentity"]),
            })
        }
        Err(error) => OperatorState::Unknown(error.to_string()),
    }
}

fn table(client: &Client, operator: Option<&OperatorState>, options: &ShowVersion) -> output::Table {
    let row = |name: &str, value: &str| vec![name.to_owned(), value.to_owned()];
    let mut rows = vec![
        row("clearway", client.version),
        row("revision", client.revision.unwrap_or("not recorded (a development build)")),
        row("target", client.target),
        row("compiler", client.compiler),
        row("CRDs", client.crd_bundle.as_str()),
    ];
    match operator {
        None => {}
        Some(OperatorState::Found(operator)) => {
            let version = operator.version.as_deref().unwrap_or("unknown: no replica has led yet");
            rows.push(row("operator", &format!("{version} (namespace {})", operator.namespace)));
            rows.extend(operator.image.as_deref().map(|image| row("image", image)));
            rows.push(row("leader", operator.leader.as_deref().unwrap_or("none at present")));
        }
        Some(OperatorState::NotInstalled) => {
            rows.push(row("operator", &format!("not installed in the namespace {}", options.namespace)));
        }
        Some(OperatorState::NoCluster) => rows.push(row("operator", "unknown: no cluster is configured")),
        Some(OperatorState::Unknown(_)) => rows.push(row("operator", "unknown")),
    }
    output::table(&["COMPONENT", "VERSION"], rows)
}
