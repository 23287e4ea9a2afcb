//! Takes custom resource definitions from a live cluster. Objects that rules ask about are read by
//! [`collector`](crate::collector).

use serde_json::Value;

use super::{Crd, Part};
use crate::collector::ObjectLimits;
use crate::kubernetes::{Cluster, Resource};

/// The custom resource definitions of a cluster; `resource` is their kind.
pub async fn crds(cluster: &Cluster, resource: &Resource, limits: &ObjectLimits) -> Part<Vec<Crd>> {
    let mut crds = Vec::new();
    let add = |item: Value| {
        let unread = || format!("a custom resource definition is none: {}", item["metadata"]["name"]);
        crds.push(Crd::of(&item).ok_or_else(unread)?);
        if crds.len() > limits.count { Err(format!("there are more than {} {resource}", limits.count)) } else { Ok(()) }
    };
    match all(cluster, resource, add).await {
        Ok(()) => Part::Collected(crds),
        Err(why) => Part::NotCollected { why },
    }
}

/// Shows every object of a kind, page by page, until there are no more or `see` refuses one.
async fn all(
    cluster: &Cluster,
    resource: &Resource,
    mut see: impl FnMut(Value) -> Result<(), String>,
) -> Result<(), String> {
    let mut token: Option<String> = None;
    loop {
        let page = cluster.list(resource, None, None, token.as_deref()).await.map_err(|error| error.to_string())?;
        page.items.into_iter().try_for_each(&mut see)?;
        match page.next {
            Some(next) if token.as_ref() == Some(&next) => return Err(format!("the list of {resource} has no end")),
            Some(next) => token = Some(next),
            None => return Ok(()),
        }
    }
}
