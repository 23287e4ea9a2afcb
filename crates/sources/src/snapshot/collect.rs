//! Takes objects from a live cluster, bounded, and already without what is never kept: what is judged live is what a
//! snapshot would hold.

use serde_json::Value;

use super::{Crd, GroupKind, Objects, Part, Selection, is_secret_kind, strip};
use crate::kubernetes::{Cluster, ClusterError, Resource};

/// How many objects of a kind are taken before it is left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjectLimits {
    /// Objects of one kind.
    pub count: usize,
    /// Bytes of the objects of one kind, as JSON without what is never kept.
    pub bytes: usize,
}

impl Default for ObjectLimits {
    /// Fifty thousand objects in 256 MiB: all pods of a very large cluster.
    fn default() -> Self {
        ObjectLimits { count: 50_000, bytes: 256 << 20 }
    }
}

/// The selected objects of a kind: all of them, or why they are not known. An object that is asked for by its name and
/// is not there is a fact, and gives no objects; a kind of which there is too much is left out as a whole.
pub async fn objects(
    cluster: &Cluster,
    resource: &Resource,
    selection: &Selection,
    limits: &ObjectLimits,
) -> (GroupKind, Part<Objects>) {
    let kind = GroupKind { group: resource.group.clone(), kind: resource.kind.clone() };
    if is_secret_kind(&resource.kind) {
        return (kind, Part::NotCollected { why: "secrets are never collected".to_owned() });
    }
    let mut taken = Taken { items: Vec::new(), bytes: 0, limits };
    let collected = if selection.only.is_empty() {
        all(cluster, resource, selection, |item| taken.add(strip(&item), resource)).await
    } else {
        named(cluster, resource, selection, &mut taken).await
    };
    let part = match collected {
        Ok(()) => Part::Collected(Objects { selection: selection.clone(), items: taken.items }),
        Err(why) => Part::NotCollected { why },
    };
    (kind, part)
}

/// Takes the objects that are named, each once.
async fn named(
    cluster: &Cluster,
    resource: &Resource,
    selection: &Selection,
    taken: &mut Taken<'_>,
) -> Result<(), String> {
    for (at, one) in selection.only.iter().enumerate() {
        let narrow =
            Selection { namespace: one.namespace.clone(), name: Some(one.name.clone()), ..Selection::default() };
        let before = selection.only.get(..at).unwrap_or_default();
        let see = |item: Value| {
            let known = before.iter().any(|earlier| earlier.names(&item));
            if known { Ok(()) } else { taken.add(strip(&item), resource) }
        };
        all(cluster, resource, &narrow, see).await?;
    }
    Ok(())
}

/// The custom resource definitions of a cluster; `resource` is their kind.
pub async fn crds(cluster: &Cluster, resource: &Resource, limits: &ObjectLimits) -> Part<Vec<Crd>> {
    let mut crds = Vec::new();
    let add = |item: Value| {
        let unread = || format!("a custom resource definition is none: {}", item["metadata"]["name"]);
        crds.push(Crd::of(&item).ok_or_else(unread)?);
        if crds.len() > limits.count { Err(format!("there are more than {} {resource}", limits.count)) } else { Ok(()) }
    };
    match all(cluster, resource, &Selection::default(), add).await {
        Ok(()) => Part::Collected(crds),
        Err(why) => Part::NotCollected { why },
    }
}

struct Taken<'l> {
    items: Vec<Value>,
    bytes: usize,
    limits: &'l ObjectLimits,
}

impl Taken<'_> {
    fn add(&mut self, item: Option<Value>, resource: &Resource) -> Result<(), String> {
        let Some(item) = item else { return Ok(()) };
        self.bytes = self.bytes.saturating_add(item.to_string().len());
        self.items.push(item);
        if self.items.len() > self.limits.count {
            return Err(format!("there are more than {} {resource}", self.limits.count));
        }
        if self.bytes > self.limits.bytes {
            return Err(format!("the {resource} have more than {} bytes", self.limits.bytes));
        }
        Ok(())
    }
}

/// Shows every selected object, page by page, until there are no more or somebody has had enough.
async fn all(
    cluster: &Cluster,
    resource: &Resource,
    selection: &Selection,
    mut see: impl FnMut(Value) -> Result<(), String>,
) -> Result<(), String> {
    let namespace = selection.namespace.as_deref();
    // By name and labels at once is a list, which is filtered here.
    if let (Some(name), None) = (&selection.name, &selection.labels)
        && (namespace.is_some() || !resource.namespaced)
    {
        return match cluster.get(resource, namespace.unwrap_or_default(), name).await {
            Ok(item) => see(item),
            Err(ClusterError::NotFound { .. }) => Ok(()),
            Err(error) => Err(error.to_string()),
        };
    }
    let wanted = |item: &Value| selection.name.as_ref().is_none_or(|name| item["metadata"]["name"] == name.as_str());
    let mut token: Option<String> = None;
    loop {
        let page = cluster.list(resource, namespace, selection.labels.as_deref(), token.as_deref()).await;
        let page = page.map_err(|error| error.to_string())?;
        page.items.into_iter().filter(wanted).try_for_each(&mut see)?;
        match page.next {
            // A server that gives the same place again would be asked for ever.
            Some(next) if token.as_ref() == Some(&next) => return Err(format!("the list of {resource} has no end")),
            Some(next) => token = Some(next),
            None => return Ok(()),
        }
    }
}
