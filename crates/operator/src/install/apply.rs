//! Applying what the operator consists of, and taking it away again.
//!
//! Nothing of others is touched: a CRD without our annotations (OpenShift's) and a namespace that was there before are left
//! alone, and only what carries our label is deleted. Idempotent.

mod adopt;
mod current_installation;
mod uninstall;
mod update_service;

use std::time::Duration;

use clearway_bundle::{Channel, CrdSchema, Installed};
use clearway_core::GroupKind;
use clearway_sources::kubernetes::{Apply, Catalog, Cluster, ClusterError, Resource};
use serde::Serialize;
use serde_json::Value;

use super::{MANAGED_BY, MANAGER, Manifests};
use clearway_update::api::Kind;

pub(crate) use adopt::first;
pub use adopt::{Adoption, uuid_v4};
pub use current_installation::{CurrentInstallation, cluster_names_upstream, current_installation};
pub use uninstall::{Removal, uninstall};
pub use update_service::{
    CurrentUpdateService, current_update_service, install_update_service, uninstall_update_service,
};

/// How long a CRD may take to be served.
const SERVED_WITHIN: Duration = Duration::from_mins(1);
/// How often it is looked at meanwhile.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// What became of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Action {
    /// It was not there.
    Created,
    /// It was there, and is now as it should be.
    Configured,
    /// It was as it should be.
    Unchanged,
    /// It is somebody else's, or there is no place for it.
    LeftAlone,
    /// It is gone.
    Deleted,
    /// It was not there to begin with.
    Absent,
}

impl Action {
    /// The word for a person.
    pub const fn as_str(self) -> &'static str {
        match self {
            Action::Created => "created",
            Action::Configured => "configured",
            Action::Unchanged => "unchanged",
            Action::LeftAlone => "left alone",
            Action::Deleted => "deleted",
            Action::Absent => "not there",
        }
    }
}

/// One object, and what became of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ObjectAction {
    /// The kind.
    pub kind: String,
    /// The namespace; empty for what is in none.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    /// The name.
    pub name: String,
    /// What became of it.
    pub action: Action,
    /// Why, where that needs saying.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub why: String,
}

/// Why an installation did not happen, or stopped.
#[derive(Debug, thiserror::Error)]
pub enum InstallError {
    /// The API server does not answer, or not as wished.
    #[error(transparent)]
    Cluster(#[from] ClusterError),
    /// The cluster serves no such kind, which every cluster should.
    #[error("the cluster does not serve {0}; is this a Kubernetes API server?")]
    NoKind(String),
    /// Going back to the standard channel would lose data.
    #[error("going back to the standard channel would delete {what}; to delete it, pass --discard-experimental")]
    WouldLose {
        /// What would be lost, and of which objects.
        what: String,
    },
    /// A CRD is not served.
    #[error("the CRD {name} is not served after {} s: {why}", SERVED_WITHIN.as_secs())]
    NotServed {
        /// Its name.
        name: String,
        /// What its conditions say.
        why: String,
    },
    /// An object of somebody else is where ours should be, and cannot be changed.
    #[error("the {kind} {name} exists, was not created by `clearway install`, and is immutable; delete or rename it")]
    NotOurs {
        /// Its kind.
        kind: String,
        /// Its name.
        name: String,
    },
    /// There is no ClusterVersion to adopt with.
    #[error("{0}")]
    Adopt(String),
    /// A CRD of one of our kinds is somebody else's.
    #[error(
        "nothing was installed: the CRD {name} is not Clearway's (it has none of its annotations). If OpenShift's own operator manages the ClusterVersion, pass --skip-foreign-crds to leave that CRD unchanged and install everything else"
    )]
    ForeignCrd {
        /// Its name.
        name: String,
    },
    /// A Deployment was installed by Helm, which would undo changes.
    #[error(
        "nothing was installed: Helm manages the Deployment {name} in the namespace {namespace}; change it with \
         `helm upgrade`. To adopt the cluster, pass --adopt-only"
    )]
    ManagedByHelm {
        /// Its namespace.
        namespace: String,
        /// Its name.
        name: &'static str,
    },
    /// The keys of the present installation cannot be kept.
    #[error(
        "nothing was installed: cannot read the release keys of the current installation from the ConfigMap {name}: {why}. \
         Pass the keys with --release-key FILE"
    )]
    NoKeys {
        /// The name of the ConfigMap.
        name: String,
        /// What is wrong with it.
        why: String,
    },
}

/// How an installation is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// Only say what would be done.
    pub dry_run: bool,
    /// Go back to the standard channel although data is lost.
    pub discard_experimental: bool,
    /// Install although a CRD of one of our kinds is somebody else's. That CRD is left alone.
    pub skip_foreign_crds: bool,
}

/// A cluster, and what it serves.
pub struct InstallTarget<'c> {
    /// The cluster.
    pub cluster: &'c Cluster,
    /// What it serves.
    pub catalog: &'c Catalog,
}

impl InstallTarget<'_> {
    /// The kind of an object.
    fn resource(&self, object: &Value) -> Result<&Resource, InstallError> {
        let GroupKind { group, kind } = group_kind(object);
        self.catalog.of(&group, &kind).ok_or(InstallError::NoKind(kind))
    }

    /// The object as it is now, if it is there.
    async fn stored(&self, resource: &Resource, object: &Value) -> Result<Option<Value>, InstallError> {
        let (namespace, name) = name(object);
        match self.cluster.get(resource, namespace, name).await {
            Ok(stored) => Ok(Some(stored)),
            Err(ClusterError::NotFound { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Applies an object, and says what that changed.
    async fn apply(&self, object: &Value, options: Options) -> Result<ObjectAction, InstallError> {
        let resource = self.resource(object)?;
        let stored = self.stored(resource, object).await?;
        let how = Apply { manager: MANAGER, force: true, dry_run: options.dry_run };
        if let Some(stored) =
            stored.as_ref().filter(|stored| object["immutable"] == true && stored["data"] != object["data"])
        {
            return self.replace(resource, object, stored, &how).await;
        }
        let applied = match self.cluster.apply(resource, object, &how).await {
            Ok(applied) => applied,
            // In a namespace that itself would only be created nothing can be tried.
            Err(ClusterError::NotFound { .. }) if options.dry_run => return Ok(done(object, Action::Created, "")),
            Err(error) => return Err(error.into()),
        };
        let action = match stored {
            None => Action::Created,
            Some(stored) if same(&stored, &applied) => Action::Unchanged,
            Some(_) => Action::Configured,
        };
        Ok(done(object, action, ""))
    }

    /// Deletes an object whose content cannot be changed, and makes it again.
    async fn replace(
        &self,
        resource: &Resource,
        object: &Value,
        stored: &Value,
        how: &Apply<'_>,
    ) -> Result<ObjectAction, InstallError> {
        if !is_ours(stored) {
            return Err(InstallError::NotOurs { kind: group_kind(object).kind, name: name(object).1.to_owned() });
        }
        if !how.dry_run {
            let uid = stored["metadata"]["uid"].as_str().unwrap_or_default();
            self.cluster.delete(resource, name(object), uid).await?;
            self.cluster.apply(resource, object, how).await?;
        }
        Ok(done(object, Action::Configured, "it cannot be changed, so it is recreated"))
    }
}

/// Applies everything, in order, and adopts the cluster if that is asked for. Whatever can be refused is refused before
/// anything is changed. What was done until an error is in `log`.
pub async fn install(
    place: &InstallTarget<'_>,
    manifests: &Manifests,
    channel: Channel,
    adoption: Option<&Adoption>,
    options: Options,
    log: &mut Vec<ObjectAction>,
) -> Result<(), InstallError> {
    let existing = installed(place).await?;
    if !options.skip_foreign_crds {
        refuse_foreign(manifests, &existing)?;
    }
    if let Some(adoption) = adoption {
        adopt::check(place, &existing, adoption).await?;
    }
    if channel == Channel::Standard {
        leave_experimental(place, manifests, &existing, options, log).await?;
    }
    for crd in &manifests.crds {
        let (_, name) = name(crd);
        let there = existing.iter().find(|(_, stored)| self::name(stored).1 == name);
        if there.is_some_and(|(_, stored)| Installed::of(stored) == Installed::Foreign) {
            let why = "it is not Clearway's; where OpenShift's own operator runs, that operator manages the ClusterVersion, and Clearway only reads it";
            log.push(done(crd, Action::LeftAlone, why));
            continue;
        }
        log.push(place.apply(crd, options).await?);
        if !options.dry_run {
            served(place, crd).await?;
        }
    }
    install_policy_crds(place, manifests, options, log).await?;
    apply_all(place, manifests.always(), options, log).await?;
    if manifests.policies.is_empty() {
        let removal = Removal { dry_run: options.dry_run, delete_crds: false };
        uninstall::remove_operator_objects(place, manifests, removal, log).await?;
    }
    for object in &manifests.superfluous {
        let GroupKind { group, kind } = group_kind(object);
        if place.catalog.of(&group, &kind).is_none() {
            continue;
        }
        let removal = Removal { dry_run: options.dry_run, delete_crds: false };
        let removed = uninstall::remove(place, object, removal).await?;
        if removed.action != Action::Absent {
            let why = "an earlier installation created it, and these options do not include it";
            log.push(ObjectAction {
                why: if removed.why.is_empty() { why.to_owned() } else { removed.why },
                ..removed
            });
        }
    }
    for object in &manifests.monitoring {
        let GroupKind { group, kind } = group_kind(object);
        if place.catalog.of(&group, &kind).is_some() {
            log.push(place.apply(object, options).await?);
        } else {
            let why = format!(
                "the cluster does not serve {kind} ({group}); use the rule file deploy/alerts.yaml for the alerts"
            );
            log.push(done(object, Action::LeftAlone, &why));
        }
    }
    if let Some(adoption) = adoption {
        log.push(adopt::adopt(place, adoption, options).await?);
    }
    Ok(())
}

/// Adopts the cluster and changes nothing else, for operators that other tools install.
pub async fn adopt_only(
    place: &InstallTarget<'_>,
    adoption: &Adoption,
    options: Options,
    log: &mut Vec<ObjectAction>,
) -> Result<(), InstallError> {
    let existing = installed(place).await?;
    if !existing.iter().any(|(kind, _)| *kind == Kind::ClusterVersion) {
        let why = "the CRD of ClusterVersions is not installed: install the operator first";
        return Err(InstallError::Adopt(why.to_owned()));
    }
    log.push(adopt::adopt(place, adoption, options).await?);
    Ok(())
}

/// Applies objects in order. A namespace that others made is left as it is.
async fn apply_all<'o>(
    place: &InstallTarget<'_>,
    objects: impl Iterator<Item = &'o Value>,
    options: Options,
    log: &mut Vec<ObjectAction>,
) -> Result<(), InstallError> {
    for object in objects {
        if object["kind"] == "Namespace" && !is_ours_or_absent(place, object).await? {
            log.push(done(object, Action::LeftAlone, "it existed before, so uninstall does not delete it"));
            continue;
        }
        log.push(place.apply(object, options).await?);
    }
    Ok(())
}

/// Applies Gatekeeper's CRDs, unless Gatekeeper or somebody else brought them.
async fn install_policy_crds(
    place: &InstallTarget<'_>,
    manifests: &Manifests,
    options: Options,
    log: &mut Vec<ObjectAction>,
) -> Result<(), InstallError> {
    for crd in &manifests.policy_crds {
        if !is_ours_or_absent(place, crd).await? {
            log.push(done(crd, Action::LeftAlone, "it existed before, so uninstall does not delete it"));
            continue;
        }
        log.push(place.apply(crd, options).await?);
        if !options.dry_run {
            served(place, crd).await?;
        }
    }
    Ok(())
}

/// Refuses to install where a CRD that would be installed is there and is somebody else's.
fn refuse_foreign(manifests: &Manifests, existing: &[(Kind, Value)]) -> Result<(), InstallError> {
    let wanted = |crd: &Value| manifests.crds.iter().any(|ours| name(ours) == name(crd));
    let foreign = |crd: &&Value| wanted(crd) && Installed::of(crd) == Installed::Foreign;
    match existing.iter().map(|(_, crd)| crd).find(foreign) {
        Some(crd) => Err(InstallError::ForeignCrd { name: name(crd).1.to_owned() }),
        None => Ok(()),
    }
}

/// The CRDs of our kinds that are there, whoever made them.
async fn installed(place: &InstallTarget<'_>) -> Result<Vec<(Kind, Value)>, InstallError> {
    let mut found = Vec::new();
    let resource = crd_resource(place)?;
    for kind in Kind::ALL {
        match place.cluster.get(resource, "", kind.crd()).await {
            Ok(crd) => found.push((kind, crd)),
            Err(ClusterError::NotFound { .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(found)
}

fn crd_resource<'p>(place: &'p InstallTarget<'_>) -> Result<&'p Resource, InstallError> {
    let (group, kind) = ("apiextensions.k8s.io", "CustomResourceDefinition");
    place.catalog.of(group, kind).ok_or_else(|| InstallError::NoKind(kind.to_owned()))
}

/// Going from the experimental channel to the standard one: what it does not have goes, unless data would go with it.
async fn leave_experimental(
    place: &InstallTarget<'_>,
    manifests: &Manifests,
    existing: &[(Kind, Value)],
    options: Options,
    log: &mut Vec<ObjectAction>,
) -> Result<(), InstallError> {
    let mut lost = Vec::new();
    let mut superfluous = Vec::new();
    for (kind, stored) in existing {
        if !matches!(Installed::of(stored), Installed::Ours { channel: Some(Channel::Experimental), .. }) {
            continue;
        }
        let Some(resource) = Resource::defined_by(stored, kind.version()) else { continue };
        let objects = every(place, &resource).await?;
        let new = manifests.crds.iter().find(|crd| name(crd).1 == kind.crd());
        let schema = new.and_then(|crd| CrdSchema::of_crd(crd, kind.version()).ok());
        if let Some(schema) = schema {
            let losing = objects.iter().filter(|object| &schema.pruned(object) != *object);
            lost.extend(losing.map(|object| format!("experimental fields of {kind} {}", name(object).1)));
        } else {
            lost.extend(objects.iter().map(|object| format!("{kind} {}", name(object).1)));
            superfluous.push(stored);
        }
    }
    if !lost.is_empty() && !options.discard_experimental {
        return Err(InstallError::WouldLose { what: lost.join(", ") });
    }
    for crd in superfluous {
        if !options.dry_run {
            let uid = crd["metadata"]["uid"].as_str().unwrap_or_default();
            place.cluster.delete(crd_resource(place)?, ("", name(crd).1), uid).await?;
        }
        log.push(done(crd, Action::Deleted, "the standard channel does not have it"));
    }
    Ok(())
}

/// All objects of a kind.
async fn every(place: &InstallTarget<'_>, resource: &Resource) -> Result<Vec<Value>, InstallError> {
    let mut page = place.cluster.list(resource, None, None, None).await?;
    let mut objects = std::mem::take(&mut page.items);
    while let Some(token) = page.next {
        page = place.cluster.list(resource, None, None, Some(&token)).await?;
        objects.append(&mut page.items);
    }
    Ok(objects)
}

/// Waits until a CRD is served.
async fn served(place: &InstallTarget<'_>, crd: &Value) -> Result<(), InstallError> {
    let resource = crd_resource(place)?;
    let (_, name) = name(crd);
    let mut said = "it has no conditions yet".to_owned();
    let look = async {
        loop {
            let stored = place.cluster.get(resource, "", name).await?;
            let conditions =
                stored.pointer("/status/conditions").and_then(Value::as_array).cloned().unwrap_or_default();
            let is = |type_: &str| conditions.iter().any(|one| one["type"] == type_ && one["status"] == "True");
            if is("Established") && is("NamesAccepted") {
                return Ok::<_, InstallError>(());
            }
            if let Some(message) =
                conditions.iter().filter(|one| one["status"] != "True").find_map(|one| one["message"].as_str())
            {
                message.clone_into(&mut said);
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
    };
    match tokio::time::timeout(SERVED_WITHIN, look).await {
        Ok(looked) => looked,
        Err(_) => Err(InstallError::NotServed { name: name.to_owned(), why: said }),
    }
}

async fn is_ours_or_absent(place: &InstallTarget<'_>, object: &Value) -> Result<bool, InstallError> {
    let stored = place.stored(place.resource(object)?, object).await?;
    Ok(stored.is_none_or(|stored| is_ours(&stored)))
}

/// Whether Helm installed an object: it sets this label on everything.
fn is_of_helm(object: &Value) -> bool {
    object["metadata"]["labels"][MANAGED_BY] == "Helm"
}

fn is_ours(object: &Value) -> bool {
    object["metadata"]["labels"][MANAGED_BY] == MANAGER
}

/// Whether applying changed anything: the version of the stored object, or on a dry run its content.
fn same(before: &Value, after: &Value) -> bool {
    let content = |object: &Value| {
        let mut object = object.clone();
        if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.remove("managedFields");
            metadata.remove("resourceVersion");
            metadata.remove("generation");
        }
        object
    };
    before["metadata"]["resourceVersion"] == after["metadata"]["resourceVersion"] || content(before) == content(after)
}

fn group_kind(object: &Value) -> GroupKind {
    GroupKind::of(object).unwrap_or_default()
}

fn name(object: &Value) -> (&str, &str) {
    let text = |key: &str| object["metadata"][key].as_str().unwrap_or_default();
    (text("namespace"), text("name"))
}

fn done(object: &Value, action: Action, why: &str) -> ObjectAction {
    let (namespace, name) = name(object);
    ObjectAction {
        kind: group_kind(object).kind,
        namespace: namespace.to_owned(),
        name: name.to_owned(),
        action,
        why: why.to_owned(),
    }
}
