//! Takes custom resource definitions from a live cluster. Objects that rules ask about are read by
//! [`collector`](crate::collector).

use clearway_core::GroupVersionKind;

use super::{Crd, Part};
use crate::collector::{ObjectLimits, each_object};
use crate::store::Store;

/// The custom resource definitions of a cluster.
pub async fn crds<S: Store>(store: &S, limits: &ObjectLimits) -> Part<Vec<Crd>> {
    let kind = GroupVersionKind::new("apiextensions.k8s.io/v1", "CustomResourceDefinition");
    let mut crds = Vec::new();
    let seen = each_object(store, kind, limits, |object| {
        let unread = || format!("a custom resource definition cannot be read: {}", object["metadata"]["name"]);
        crds.push(Crd::of(&object).ok_or_else(unread)?);
        Ok(())
    });
    match seen.await {
        Ok(()) => Part::Collected(crds),
        Err(why) => Part::NotCollected { why },
    }
}
