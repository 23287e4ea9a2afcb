//! Live objects: from the arguments of a command to objects of a cluster.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Result, bail};
use clearway_sources::kubernetes::{Catalog, Cluster, ClusterError, Resource};
use serde_json::Value;

use super::related_objects::{RelatedObjects, Schemas};
use crate::arguments::{ClusterConnection, Selection};
use crate::output::LiveLine;

/// A cluster and the kinds it serves.
pub(in crate::commands) struct LiveObjects {
    pub(super) cluster: Cluster,
    pub(super) catalog: Catalog,
}

/// Objects of one kind.
#[derive(Debug, Clone)]
pub(in crate::commands) struct Group {
    pub(super) resource: Resource,
    /// The namespace; none for all, and for kinds without.
    pub(super) namespace: Option<String>,
    /// The objects named; none for all.
    pub(super) names: Vec<String>,
}

/// What became of one wanted object.
pub(in crate::commands) enum Fetched {
    Object(Value),
    /// A named object that does not exist.
    Missing {
        resource: Resource,
        namespace: String,
        name: String,
    },
    /// Something that could not be looked at.
    Failed(ClusterError),
}

impl LiveObjects {
    /// Connects and asks for the kinds.
    pub(in crate::commands) async fn open(connection: &ClusterConnection) -> Result<Self> {
        let cluster = Cluster::connect(&connection.connection()).await?;
        let catalog = cluster.catalog().await?;
        Ok(LiveObjects { cluster, catalog })
    }

    /// What the words on the command line stand for: `KIND`, `KIND NAME...` or `KIND/NAME...`.
    pub(super) fn groups(&self, selection: &Selection) -> Result<Vec<Group>> {
        let mut wanted: BTreeMap<Resource, Vec<String>> = BTreeMap::new();
        match selection.targets.as_slice() {
            [] => {}
            targets if targets.iter().any(|target| target.contains('/')) => {
                for target in targets {
                    let Some((kind, name)) = target.split_once('/').filter(|(_, name)| !name.is_empty()) else {
                        bail!("`{target}` is not KIND/NAME, as the other arguments are");
                    };
                    wanted.entry(self.catalog.find(kind)?.clone()).or_default().push(name.to_owned());
                }
            }
            [kind, names @ ..] => {
                wanted.insert(self.catalog.find(kind)?.clone(), names.to_vec());
            }
        }
        if selection.all_namespaces && wanted.values().any(|names| !names.is_empty()) {
            bail!("-A cannot be used with the name of an object; use -n NAMESPACE");
        }
        Ok(wanted.into_iter().map(|(resource, names)| self.group(resource, names, selection)).collect())
    }

    /// Every kind whose objects can be listed, in all namespaces.
    pub(super) fn everything(&self) -> Vec<Group> {
        let group = |resource: &Resource| Group { resource: resource.clone(), namespace: None, names: Vec::new() };
        self.catalog.listable().map(group).collect()
    }

    /// All objects of a kind, in all namespaces; none if the cluster does not serve it.
    pub(in crate::commands) fn whole_kind(&self, group: &str, kind: &str) -> Option<Group> {
        let resource = self.catalog.of(group, kind)?.clone();
        Some(Group { resource, namespace: None, names: Vec::new() })
    }

    fn group(&self, resource: Resource, names: Vec<String>, selection: &Selection) -> Group {
        let namespace = (resource.namespaced && !selection.all_namespaces)
            .then(|| selection.namespace.clone().unwrap_or_else(|| self.cluster.default_namespace().to_owned()));
        Group { resource, namespace, names }
    }

    /// Of which kinds the schema promises conditions, so that an object without any is not taken for well before its
    /// controller has seen it. Who may not read definitions does without.
    pub(super) async fn schemas(&self, groups: &[Group]) -> Schemas {
        let mut schemas = Schemas::new();
        let Some(definitions) = self.catalog.of("apiextensions.k8s.io", "CustomResourceDefinition") else {
            return schemas;
        };
        // Groups without a dot are Kubernetes' own and have no definition to read.
        for resource in groups.iter().map(|group| &group.resource).filter(|resource| resource.kind.group.contains('.'))
        {
            if let Ok(definition) = self.cluster.get(definitions, "", &resource.to_string()).await {
                let promised = promises_conditions(&definition, &resource.kind.version);
                schemas.insert(resource.kind.group_kind(), promised);
            }
        }
        schemas
    }

    /// Adds to a family what the known objects (by uid) own in some namespaces, and what that owns in turn.
    pub(super) async fn add_owned(
        &self,
        kinds: &[(&str, &str)],
        namespaces: &BTreeSet<Option<String>>,
        mut known: BTreeSet<String>,
        family: &mut RelatedObjects,
    ) -> Result<()> {
        let group = |resource: &Resource, namespace: &Option<String>| Group {
            resource: resource.clone(),
            namespace: namespace.clone(),
            names: Vec::new(),
        };
        let resources = kinds.iter().filter_map(|(group, kind)| self.catalog.of(group, kind));
        let groups: Vec<Group> =
            resources.flat_map(|resource| namespaces.iter().map(move |namespace| group(resource, namespace))).collect();
        let mut candidates: Vec<Value> = Vec::new();
        self.fetch(&groups, None, |fetched| {
            match fetched {
                Fetched::Object(object) => candidates.push(object),
                Fetched::Failed(error) => return Err(error.into()),
                Fetched::Missing { .. } => {}
            }
            Ok(())
        })
        .await?;
        let uid = |object: &Value| object["metadata"]["uid"].as_str().unwrap_or_default().to_owned();
        candidates.retain(|object| !known.contains(&uid(object)));
        loop {
            let (owned, rest): (Vec<Value>, Vec<Value>) = candidates.into_iter().partition(|object| {
                let owners = object["metadata"]["ownerReferences"].as_array().into_iter().flatten();
                owners.filter_map(|owner| owner["uid"].as_str()).any(|owner| known.contains(owner))
            });
            if owned.is_empty() {
                return Ok(());
            }
            for object in &owned {
                known.insert(uid(object));
                family.add_value(object);
            }
            candidates = rest;
        }
    }

    /// Fetches the objects of groups, page by page, and hands each over.
    pub(in crate::commands) async fn fetch(
        &self,
        groups: &[Group],
        labels: Option<&str>,
        mut visit: impl FnMut(Fetched) -> Result<()>,
    ) -> Result<()> {
        let mut line = LiveLine::new();
        for (index, group) in groups.iter().enumerate() {
            line.set(&format!("{}/{} {}", index + 1, groups.len(), group.resource));
            let namespace = group.namespace.as_deref().unwrap_or_default();
            for name in &group.names {
                visit(match self.cluster.get(&group.resource, namespace, name).await {
                    Ok(object) => Fetched::Object(object),
                    Err(ClusterError::NotFound { .. }) => Fetched::Missing {
                        resource: group.resource.clone(),
                        namespace: namespace.to_owned(),
                        name: name.clone(),
                    },
                    Err(error) => Fetched::Failed(error),
                })?;
            }
            let mut token = None;
            while group.names.is_empty() {
                match self.cluster.list(&group.resource, group.namespace.as_deref(), labels, token.as_deref()).await {
                    Ok(page) => {
                        page.items.into_iter().try_for_each(|object| visit(Fetched::Object(object)))?;
                        token = page.next;
                    }
                    Err(error) => visit(Fetched::Failed(error))?,
                }
                if token.is_none() {
                    break;
                }
            }
        }
        Ok(())
    }
}

fn promises_conditions(definition: &Value, version: &str) -> bool {
    let versions = definition["spec"]["versions"].as_array().into_iter().flatten();
    versions.filter(|served| served["name"] == version).any(|served| {
        served["schema"]["openAPIV3Schema"]["properties"]["status"]["properties"]["conditions"].is_object()
    })
}
