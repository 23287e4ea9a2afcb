//! Where the object is: a cluster, or the state directory of the embedded mode. Never one in place of the other.

use std::env;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use clearway_sources::kubernetes::{Cluster, ClusterError, Connection};
use clearway_sources::store::{ClusterStore, StateDirectory};

use crate::arguments::UpgradeAccess;

/// The variable that names a state directory.
const STATE: &str = "CLEARWAY_STATE";

/// A store of one kind or the other.
pub(super) enum Place {
    Cluster(Box<ClusterStore>),
    Directory(StateDirectory),
}

/// Opens what the options and the environment name.
pub(super) async fn open(access: &UpgradeAccess) -> Result<Place> {
    let told = env::var_os(STATE).filter(|value| !value.is_empty()).map(PathBuf::from);
    let cluster = access.kubeconfig.is_some() || access.context.is_some();
    match (&access.state, &told) {
        (Some(_), _) if cluster => {
            bail!("--state names a directory and --kubeconfig or --context a cluster: name one of them")
        }
        (None, Some(path)) if cluster => bail!(
            "{STATE} names the directory {} and --kubeconfig or --context a cluster: unset the variable to work on the cluster",
            path.display()
        ),
        (Some(path), _) | (None, Some(path)) => directory(path),
        (None, None) => {
            let connection = Connection { kubeconfig: access.kubeconfig.clone(), context: access.context.clone() };
            match Cluster::connect(&connection).await {
                Ok(cluster) => Ok(Place::Cluster(Box::new(ClusterStore::new(cluster, "clearway-upgrade")))),
                Err(ClusterError::Config { why }) => bail!(
                    "no cluster to talk to: {why}; name one with --kubeconfig or KUBECONFIG, or a state directory with --state"
                ),
                Err(error) => Err(error.into()),
            }
        }
    }
}

/// A directory that is one already: a wrong name must not make a new one.
fn directory(path: &Path) -> Result<Place> {
    if !path.join("objects").is_dir() {
        bail!("{} is no state directory: it has no `objects` in it", path.display());
    }
    Ok(Place::Directory(StateDirectory::open(path)?))
}
