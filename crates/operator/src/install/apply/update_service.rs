//! Applying the objects of the update service, and taking them away again.

use serde_json::{Value, json};

use super::uninstall::remove_unless_shared;
use super::{InstallError, InstallTarget, ObjectAction, Options, Removal, apply_all, is_of_helm, is_ours};
use crate::install::update_service::{NAME, UpdateServiceSettings, objects};
use crate::install::{self, Change, installed_settings};

/// The present installation of the update service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CurrentUpdateService {
    /// What it was made with. The image is what another installation keeps: that of an earlier version was nobody's choice.
    pub settings: UpdateServiceSettings,
    /// The image that runs.
    image: String,
}

impl CurrentUpdateService {
    /// What installing with these settings changes.
    pub fn changes_to(&self, settings: &UpdateServiceSettings) -> Vec<Change> {
        settings.changes_since(&UpdateServiceSettings { image: self.image.clone(), ..self.settings.clone() })
    }
}

/// Reads what is installed in a namespace; nothing where there is no update service of ours.
pub async fn current_update_service(
    place: &InstallTarget<'_>,
    namespace: &str,
) -> Result<Option<CurrentUpdateService>, InstallError> {
    let wanted = json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"namespace": namespace, "name": NAME},
    });
    let stored = place.stored(place.resource(&wanted)?, &wanted).await?;
    if stored.as_ref().is_some_and(is_of_helm) {
        return Err(InstallError::ManagedByHelm { namespace: namespace.to_owned(), name: NAME });
    }
    Ok(stored.filter(is_ours).map(|deployment| CurrentUpdateService {
        settings: UpdateServiceSettings::read(&deployment, namespace),
        image: installed_settings::image(&deployment).unwrap_or_default().to_owned(),
    }))
}

/// Applies everything, in order. What was done until an error is in `log`.
pub async fn install_update_service(
    place: &InstallTarget<'_>,
    settings: &UpdateServiceSettings,
    dry_run: bool,
    log: &mut Vec<ObjectAction>,
) -> Result<(), InstallError> {
    let options = Options { dry_run, discard_experimental: false, skip_foreign_crds: false };
    let objects: Vec<Value> = objects(settings);
    apply_all(place, objects.iter(), options, log).await
}

/// Deletes what is ours, last made first. A namespace in which the operator runs stays.
pub async fn uninstall_update_service(
    place: &InstallTarget<'_>,
    namespace: &str,
    dry_run: bool,
    log: &mut Vec<ObjectAction>,
) -> Result<(), InstallError> {
    let settings = UpdateServiceSettings { namespace: namespace.to_owned(), ..UpdateServiceSettings::default() };
    let removal = Removal { dry_run, delete_crds: false };
    for object in objects(&settings).iter().rev() {
        log.push(remove_unless_shared(place, object, install::NAME, removal).await?);
    }
    Ok(())
}
