//! The store with the object: a cluster, or a state directory.

use std::path::Path;

use anyhow::{Result, bail};
use clearway_sources::kubernetes::{Cluster, ClusterError};
use clearway_sources::store::{ClusterStore, StateDirectory};

use crate::arguments::UpgradeAccess;
use crate::output;

/// A store of one kind or the other.
pub(super) enum UpgradeStore {
    Cluster(Box<ClusterStore>),
    Directory(StateDirectory),
}

/// Opens what the options name.
pub(super) async fn open(access: &UpgradeAccess) -> Result<UpgradeStore> {
    if let Some(path) = &access.state {
        if access.connection.is_named() {
            bail!("--state (or CLEARWAY_STATE) {} cannot be used with --kubeconfig or --context", path.display());
        }
        return directory(path);
    }
    match Cluster::connect(&access.connection.connection()).await {
        Ok(cluster) => Ok(UpgradeStore::Cluster(Box::new(ClusterStore::new(cluster, "clearway-upgrade")))),
        Err(ClusterError::Config { why }) => {
            bail!("no cluster configured: {why}; pass --kubeconfig or KUBECONFIG, or a state directory with --state")
        }
        Err(error) => Err(error.into()),
    }
}

/// A directory that is one already: a wrong name must not make a new one.
fn directory(path: &Path) -> Result<UpgradeStore> {
    if !path.join("objects").is_dir() {
        bail!("{} is not a state directory: `objects` not found in it", path.display());
    }
    let state = StateDirectory::open(path)?;
    for finding in state.check() {
        let file = finding.place.file.as_deref().map(|file| format!("{file}: ")).unwrap_or_default();
        output::print_problem!("warning: {file}{}", finding.message);
    }
    Ok(UpgradeStore::Directory(state))
}
