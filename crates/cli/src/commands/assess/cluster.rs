//! The connection to the assessed cluster, and its `ClusterVersion` if it has one.

use anyhow::{Context as _, Result};
use clearway_catalog::{Detection, Product};
use clearway_core::{Arch, Version};
use clearway_sources::catalog;
use clearway_sources::kubernetes::{Catalog, Cluster, ClusterError};
use clearway_sources::store::ClusterStore;
use serde_json::Value;
use tokio::runtime::Runtime;

use crate::arguments::ClusterConnection;
use crate::runtime;

/// What a live cluster goes by in proofs and snapshots.
pub(crate) const CLUSTER: &str = "the cluster";
/// The name of the one `ClusterVersion`.
const SINGLETON: &str = "version";

/// What is known of a cluster before its risks are looked at.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct ClusterInfo {
    pub(crate) version: Option<Version>,
    pub(crate) channel: Option<String>,
    pub(crate) arch: Option<Arch>,
    pub(crate) id: Option<String>,
    /// The image of its release.
    pub(crate) image: Option<String>,
}

/// A cluster and the kinds it serves.
pub(crate) struct ClusterClient {
    pub(crate) runtime: Runtime,
    pub(crate) cluster: Cluster,
    pub(crate) catalog: Catalog,
}

impl ClusterClient {
    /// The cluster that the options name, or that `kubectl` would talk to; nothing if no cluster is configured.
    pub(crate) fn open(options: &ClusterConnection) -> Result<Option<Self>> {
        let connection = options.connection();
        if !connection.is_configured() {
            return Ok(None);
        }
        let runtime = runtime::on_this_thread()?;
        let (cluster, catalog) = runtime.block_on(async {
            let cluster = Cluster::connect(&connection).await?;
            let catalog = cluster.catalog().await?;
            Ok::<_, ClusterError>((cluster, catalog))
        })?;
        Ok(Some(ClusterClient { runtime, cluster, catalog }))
    }

    /// The cluster as a place that objects are read from.
    pub(crate) fn store(&self) -> ClusterStore {
        ClusterStore::new(self.cluster.clone(), "clearway")
    }

    /// The version that its API server reports, or why that is unknown.
    pub(crate) fn api_server_version(&self) -> Result<String, String> {
        self.runtime.block_on(self.cluster.api_server_version()).map_err(|error| error.to_string())
    }

    /// Which versions of products the cluster runs.
    pub(crate) fn installed(&self, products: &[&Product]) -> Vec<Detection> {
        let version = self.api_server_version();
        let version = version.as_deref().map_err(String::as_str);
        self.runtime.block_on(catalog::installed(&self.store(), products, version))
    }

    /// What the cluster says about itself.
    pub(crate) fn about(&self) -> Result<ClusterInfo> {
        let Some(resource) = self.catalog.of("config.openshift.io", "ClusterVersion") else {
            return Ok(ClusterInfo::default());
        };
        match self.runtime.block_on(self.cluster.get(resource, "", SINGLETON)) {
            Ok(object) => read(&object),
            Err(ClusterError::NotFound { .. }) => Ok(ClusterInfo::default()),
            Err(error) => Err(error.into()),
        }
    }
}

fn read(object: &Value) -> Result<ClusterInfo> {
    let text = |path: &str| object.pointer(path).and_then(Value::as_str).filter(|text| !text.is_empty());
    // What the cluster is at, or on its way to: that is where the next update starts.
    let version = text("/status/desired/version").map(str::parse).transpose();
    let version = version.context("the version of the ClusterVersion is not a semantic version")?;
    Ok(ClusterInfo {
        version,
        channel: text("/spec/channel").map(str::to_owned),
        // A cluster of one architecture does not say which; its nodes do, but there may be several kinds of them.
        arch: text("/status/desired/architecture").and_then(|arch| arch.to_ascii_lowercase().parse().ok()),
        id: text("/spec/clusterID").map(str::to_owned),
        image: text("/status/desired/image").map(str::to_owned),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_cluster_version_says_where_the_next_update_starts() {
        let object = json!({
            "spec": {"channel": "stable-1.5", "clusterID": "7c9e6679"},
            "status": {
                "desired": {"version": "1.4.2", "architecture": "Multi", "image": "quay.io/platform@x"},
                "history": [{"version": "1.4.1"}],
            },
        });
        let about = read(&object).unwrap();
        let (id, arch) = (Some("7c9e6679".to_owned()), "multi".parse().ok());
        let (channel, image) = (Some("stable-1.5".to_owned()), Some("quay.io/platform@x".to_owned()));
        assert_eq!(about, ClusterInfo { version: "1.4.2".parse().ok(), channel, arch, id, image });
        assert_eq!(read(&json!({"spec": {"channel": ""}})).unwrap(), ClusterInfo::default());
        assert!(read(&json!({"status": {"desired": {"version": "new"}}})).is_err());
    }
}
