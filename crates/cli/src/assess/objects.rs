//! The objects that rules look at: from a cluster, only of the kinds that the graph's rules name.

use anyhow::Result;
use clearway_advice::Plan;
use clearway_advice::evidence::Objects;
use clearway_sources::clock;
use clearway_sources::kubernetes::{Cluster, ClusterError, Resource};

use super::cluster::Connected;

/// Pages of one kind that are read. What is beyond cannot be told to be absent, so the kind is left out whole.
const PAGES: usize = 200;

/// What the cluster has of the kinds that rules look at; nothing if no rule looks.
///
/// A kind that may not be listed is left out, with a word on standard error: its rules cannot be evaluated then.
pub(super) fn look(plan: &Plan, connected: &Connected) -> Result<Option<Objects>> {
    let kinds = plan.kinds();
    if kinds.is_empty() {
        return Ok(None);
    }
    let mut objects = Objects::new(clock::now(), "the cluster", true);
    for kind in kinds {
        let Some(resource) = connected.catalog.of(&kind.group, &kind.kind) else {
            // A kind that is not served has no objects.
            objects.looked_for(kind.clone());
            continue;
        };
        match connected.runtime.block_on(list(&connected.cluster, resource)) {
            Ok(Some(items)) => {
                objects.looked_for(kind.clone());
                for item in items {
                    objects.insert(item);
                }
            }
            Ok(None) => anstream::eprintln!("there are too many {resource}; rules about them are not evaluated"),
            Err(error @ (ClusterError::Forbidden { .. } | ClusterError::NoSuchKind { .. })) => {
                anstream::eprintln!("{error}; rules about them are not evaluated");
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(Some(objects))
}

/// Every object of a kind; nothing if there are more than are read.
async fn list(cluster: &Cluster, resource: &Resource) -> Result<Option<Vec<serde_json::Value>>, ClusterError> {
    let (mut all, mut token) = (Vec::new(), None);
    for _ in 0..PAGES {
        let page = cluster.list(resource, None, None, token.as_deref()).await?;
        all.extend(page.items);
        token = page.next;
        if token.is_none() {
            return Ok(Some(all));
        }
    }
    Ok(None)
}
