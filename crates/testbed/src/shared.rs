//! The entry points for tests: a cluster that all tests of one process share, and parts that one test owns.
//!
//! Each gives nothing when a component is not installed and that was written down (see [`crate::have`]); the test
//! returns then. Everything else that goes wrong fails the test.
//!
//! ```no_run
//! # async fn test() {
//! let Some(cluster) = clearway_testbed::cluster().await else { return };
//! let namespace = cluster.namespace().await.unwrap();
//! # }
//! ```

use std::ops::Deref;

use tokio::sync::OnceCell;

use crate::browser::Browser;
use crate::cluster::{Cluster, ClusterOptions};
use crate::error::{Error, Result};
use crate::missing::available;
use crate::prometheus::Prometheus;
use crate::registry::Registry;

/// Never dropped: its processes and its directory go when this process ends.
static CLUSTER: OnceCell<Result<Cluster>> = OnceCell::const_new();

/// A test's share of the cluster that all tests of the process have in common. When the test fails, the ends of the
/// cluster's logs are shown.
#[derive(Debug)]
pub struct SharedCluster {
    cluster: &'static Cluster,
}

impl Deref for SharedCluster {
    type Target = Cluster;

    fn deref(&self) -> &Cluster {
        self.cluster
    }
}

impl Drop for SharedCluster {
    fn drop(&mut self) {
        self.cluster.show_logs_of_failure();
    }
}

/// The cluster that all tests of this process share, with controllers and one node; the first caller starts it. A test
/// makes its own namespace, takes turns for things of which there is one only ([`Cluster::lock_singletons`]), and does
/// not disturb the processes.
///
/// # Panics
///
/// When the cluster does not start.
pub async fn cluster() -> Option<SharedCluster> {
    let result = match CLUSTER.get_or_init(Cluster::start).await {
        Ok(cluster) => Ok(SharedCluster { cluster }),
        Err(Error::Missing(missing)) => Err(Error::Missing(missing.clone())),
        Err(error) => panic!("the shared cluster did not start: {error}"),
    };
    available(result)
}

/// A cluster that one test owns and may disturb.
///
/// # Panics
///
/// When the cluster does not start.
pub async fn own_cluster(options: &ClusterOptions) -> Option<Cluster> {
    available(Cluster::start_with(options).await)
}

/// A browser that one test owns.
///
/// # Panics
///
/// When the browser does not start.
pub async fn browser() -> Option<Browser> {
    available(Browser::start().await)
}

/// A Prometheus that one test owns, with these series; see [`Prometheus::start`].
///
/// # Panics
///
/// When Prometheus does not start.
pub async fn prometheus(series: &str) -> Option<Prometheus> {
    available(Prometheus::start(series).await)
}

/// A registry that one test owns.
///
/// # Panics
///
/// When the registry does not start.
pub async fn registry() -> Option<Registry> {
    available(Registry::start().await)
}
