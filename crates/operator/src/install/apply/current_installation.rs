//! What a cluster remembers of the present installation.

use clearway_bundle::{Channel, Installed};
use clearway_sources::kubernetes::{ClusterError, Resource};
use clearway_update::api::{Kind, SINGLETON};
use serde_json::{Value, json};

use super::{InstallError, InstallTarget, installed, is_of_helm, is_ours};
use crate::install::{Change, NAME, ReleaseKeys, Settings, gateway_status, installed_settings as read_back, policies};

/// The present installation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CurrentInstallation {
    /// What it was made with. The image is what another installation keeps: that of an earlier version was nobody's choice.
    pub settings: Settings,
    /// The image that runs; nothing if only CRDs are left of an installation.
    pub image: Option<String>,
}

impl CurrentInstallation {
    /// What installing with these settings changes; nothing if only CRDs are left.
    pub fn changes_to(&self, settings: &Settings) -> Vec<Change> {
        let Some(image) = self.image.clone() else { return Vec::new() };
        settings.changes_since(&Settings { image, ..self.settings.clone() })
    }
}

/// Reads what is installed in a namespace; nothing where there is neither an operator nor a CRD of ours. Keys that cannot be
/// read are an error only if they are to be kept: without them unsigned releases would be applied.
pub async fn current_installation(
    place: &InstallTarget<'_>,
    namespace: &str,
    keeps_keys: bool,
) -> Result<Option<CurrentInstallation>, InstallError> {
    let channels: Vec<Option<Channel>> = installed(place)
        .await?
        .iter()
        .filter_map(|(_, crd)| match Installed::of(crd) {
            Installed::Ours { channel, .. } => Some(channel),
            Installed::Foreign => None,
        })
        .collect();
    let experimental = channels.contains(&Some(Channel::Experimental));
    let channel = if experimental { Channel::Experimental } else { Channel::Standard };
    let wanted = object("apps/v1", "Deployment", namespace, NAME);
    let stored = place.stored(place.resource(&wanted)?, &wanted).await?;
    if stored.as_ref().is_some_and(is_of_helm) {
        return Err(InstallError::ManagedByHelm { namespace: namespace.to_owned(), name: NAME });
    }
    let Some(deployment) = stored.filter(is_ours) else {
        let settings = Settings { namespace: namespace.to_owned(), ..Settings::new(channel) };
        return Ok((!channels.is_empty()).then_some(CurrentInstallation { settings, image: None }));
    };
    let keys = match read_back::keys_config_map(&deployment) {
        Some(name) => match keys(place, namespace, name).await {
            Err(InstallError::NoKeys { .. }) if !keeps_keys => ReleaseKeys::default(),
            keys => keys?,
        },
        None => ReleaseKeys::default(),
    };
    let mut settings = read_back::read(&deployment, namespace, channel, keys);
    let other = async |name: &str| {
        let wanted = object("apps/v1", "Deployment", namespace, name);
        let stored = place.stored(place.resource(&wanted)?, &wanted).await?;
        Ok::<_, InstallError>(stored.filter(is_ours).unwrap_or_default())
    };
    settings.gateway_status = read_back::gateway_status(&other(gateway_status::NAME).await?);
    settings.policies = read_back::policies(&other(policies::NAME).await?);
    Ok(Some(CurrentInstallation { settings, image: read_back::image(&deployment).map(str::to_owned) }))
}

/// Whether the ClusterVersion names an update service, or needs none because OpenShift's own operator keeps it.
pub async fn cluster_names_upstream(place: &InstallTarget<'_>) -> Result<bool, InstallError> {
    let existing = installed(place).await?;
    let Some((kind, crd)) = existing.iter().find(|(kind, _)| *kind == Kind::ClusterVersion) else { return Ok(false) };
    if Installed::of(crd) == Installed::Foreign {
        return Ok(true);
    }
    let Some(resource) = Resource::defined_by(crd, kind.version()) else { return Ok(false) };
    match place.cluster.get(&resource, "", SINGLETON).await {
        Ok(object) => Ok(object["spec"]["upstream"].as_str().is_some_and(|url| !url.is_empty())),
        Err(ClusterError::NotFound { .. }) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// The keys that the present installation checks signatures with.
async fn keys(place: &InstallTarget<'_>, namespace: &str, name: &str) -> Result<ReleaseKeys, InstallError> {
    let unreadable = |why: &str| InstallError::NoKeys { name: name.to_owned(), why: why.to_owned() };
    let wanted = object("v1", "ConfigMap", namespace, name);
    match place.cluster.get(place.resource(&wanted)?, namespace, name).await {
        Ok(map) => {
            let keys = ReleaseKeys::read(&map).filter(|keys| !keys.is_empty());
            keys.ok_or_else(|| unreadable("it contains no key"))
        }
        Err(ClusterError::NotFound { .. }) => Err(unreadable("not found")),
        Err(error) => Err(error.into()),
    }
}

fn object(api_version: &str, kind: &str, namespace: &str, name: &str) -> Value {
    json!({"apiVersion": api_version, "kind": kind, "metadata": {"namespace": namespace, "name": name}})
}
