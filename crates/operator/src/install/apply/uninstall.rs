//! Taking away what `install` made, and nothing else.

use clearway_bundle::Installed;
use clearway_sources::kubernetes::ClusterError;
use serde_json::{Value, json};

use super::super::{MANAGED_BY, policies, update_service};
use super::{
    Action, InstallError, InstallTarget, Manifests, ObjectAction, crd_resource, done, group_kind, installed, is_ours,
    name,
};

/// How far it goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Removal {
    /// Only say what would be done.
    pub dry_run: bool,
    /// Also the CRDs, and with them every ClusterVersion and ComponentVersion.
    pub delete_crds: bool,
}

/// Deletes what is ours, with whatever options it was installed; last made first.
pub async fn uninstall(
    place: &InstallTarget<'_>,
    manifests: &Manifests,
    removal: Removal,
    log: &mut Vec<ObjectAction>,
) -> Result<(), InstallError> {
    remove_operator_objects(place, manifests, removal, log).await?;
    for object in
        manifests.superfluous.iter().rev().chain(manifests.monitoring.iter().rev()).chain(manifests.always().rev())
    {
        let kind = group_kind(object);
        if place.catalog.of(&kind.group, &kind.kind).is_some() {
            log.push(remove_unless_shared(place, object, update_service::NAME, removal).await?);
        }
    }
    // A pod may have made them once more before it ended.
    remove_operator_objects(place, manifests, removal, log).await?;
    for crd in &policies::all_crds() {
        let Some(stored) = place.stored(crd_resource(place)?, crd).await? else { continue };
        if is_ours(&stored) && !removal.delete_crds {
            let why = "it and its objects stay; to delete them, pass --delete-crds";
            log.push(done(crd, Action::LeftAlone, why));
        } else {
            log.push(remove(place, crd, removal).await?);
        }
    }
    for (kind, crd) in installed(place).await? {
        log.push(match (Installed::of(&crd), removal.delete_crds) {
            (Installed::Foreign, _) => done(&crd, Action::LeftAlone, "it is not Clearway's"),
            (_, false) => {
                let why = format!("it and every {kind} stay; to delete them, pass --delete-crds");
                done(&crd, Action::LeftAlone, &why)
            }
            (_, true) => {
                if !removal.dry_run {
                    let uid = crd["metadata"]["uid"].as_str().unwrap_or_default();
                    place.cluster.delete(crd_resource(place)?, ("", kind.crd()), uid).await?;
                }
                done(&crd, Action::Deleted, &format!("and every {kind} with it"))
            }
        });
    }
    Ok(())
}

/// Removes what the operator itself made while it enforced policies.
pub(super) async fn remove_operator_objects(
    place: &InstallTarget<'_>,
    manifests: &Manifests,
    removal: Removal,
    log: &mut Vec<ObjectAction>,
) -> Result<(), InstallError> {
    let namespace = name(&manifests.namespace).1;
    for object in &policies::made_by_operator(namespace) {
        let resource = place.resource(object)?;
        let Some(stored) = place.stored(resource, object).await? else { continue };
        if stored["metadata"]["labels"][MANAGED_BY] == policies::NAME {
            log.push(delete(place, object, &stored, removal).await?);
        }
    }
    Ok(())
}

/// Removes an object, but not a namespace in which another Deployment of ours runs.
pub(super) async fn remove_unless_shared(
    place: &InstallTarget<'_>,
    object: &Value,
    other: &str,
    removal: Removal,
) -> Result<ObjectAction, InstallError> {
    if object["kind"] == "Namespace" {
        let deployment = json!({
            "apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"namespace": name(object).1, "name": other},
        });
        if place.stored(place.resource(&deployment)?, &deployment).await?.is_some() {
            return Ok(done(object, Action::LeftAlone, &format!("{other} runs in it")));
        }
    }
    remove(place, object, removal).await
}

pub(super) async fn remove(
    place: &InstallTarget<'_>,
    object: &Value,
    removal: Removal,
) -> Result<ObjectAction, InstallError> {
    let resource = place.resource(object)?;
    let Some(stored) = place.stored(resource, object).await? else { return Ok(done(object, Action::Absent, "")) };
    if !is_ours(&stored) {
        return Ok(done(object, Action::LeftAlone, "install did not create it"));
    }
    delete(place, object, &stored, removal).await
}

async fn delete(
    place: &InstallTarget<'_>,
    object: &Value,
    stored: &Value,
    removal: Removal,
) -> Result<ObjectAction, InstallError> {
    let resource = place.resource(object)?;
    if !removal.dry_run {
        let uid = stored["metadata"]["uid"].as_str().unwrap_or_default();
        match place.cluster.delete(resource, name(object), uid).await {
            Ok(()) | Err(ClusterError::NotFound { .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(done(object, Action::Deleted, ""))
}
