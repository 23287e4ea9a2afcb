//! Namespaces of single tests, and names that no other test uses.

use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

use k8s_openapi::api::core::v1::Namespace;
use kube::api::{DeleteParams, ObjectMeta, PostParams};
use kube::{Api, Client, Config};

use crate::cluster::Cluster;
use crate::error::Result;
use crate::process::ports::random;

/// How long is tried to delete a namespace at the end of a test.
const DELETED_WITHIN: Duration = Duration::from_secs(5);

/// A name that no other test uses, in this process or in another: a DNS label that begins with the prefix. For
/// namespaces, and for the groups of custom resources (`format!("{}.example.dev", unique_name("widgets"))`).
pub fn unique_name(prefix: &str) -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    format!("{prefix}-{number}-{:08x}", random() & 0xffff_ffff)
}

/// A namespace of one test. When the value is dropped the namespace is deleted; nobody waits for its end.
#[derive(Debug)]
pub struct TestNamespace {
    name: String,
    config: Config,
}

impl TestNamespace {
    pub(crate) async fn create(cluster: &Cluster) -> Result<Self> {
        let this = Self { name: unique_name("test"), config: cluster.config().await? };
        let namespaces: Api<Namespace> = Api::all(cluster.client().await?);
        let metadata = ObjectMeta { name: Some(this.name.clone()), ..ObjectMeta::default() };
        let namespace = Namespace { metadata, ..Namespace::default() };
        namespaces.create(&PostParams::default(), &namespace).await?;
        Ok(this)
    }

    /// The name.
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl Drop for TestNamespace {
    fn drop(&mut self) {
        // The runtime of the test is about to end, so the request has one of its own. Best effort: at the latest the
        // namespace goes with its cluster.
        let config = self.config.clone();
        let name = self.name.clone();
        thread::spawn(move || {
            let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else { return };
            let _ = runtime.block_on(async { tokio::time::timeout(DELETED_WITHIN, delete(config, &name)).await });
        });
    }
}

async fn delete(config: Config, name: &str) -> kube::Result<()> {
    let namespaces: Api<Namespace> = Api::all(Client::try_from(config)?);
    namespaces.delete(name, &DeleteParams::background()).await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_dns_labels() {
        let (one, two) = (unique_name("t"), unique_name("t"));
        assert_ne!(one, two);
        assert!(one.len() < 63);
        assert!(one.starts_with("t-"));
        assert!(one.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-'), "{one}");
    }
}
