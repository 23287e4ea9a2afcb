//! Adopting a cluster: it is at this version, and its history begins here.

use clearway_bundle::Installed;
use clearway_core::{Timestamp, Version};
use clearway_sources::kubernetes::{ClusterError, Part, Resource};
use serde_json::{Value, json};

use super::{Action, Done, InstallError, Options, Place, done};
use clearway_update::api::{Kind, Release, SINGLETON, Spec, Status, UpdateHistory, UpdateState, VersionObject};

/// What a cluster is adopted with.
#[derive(Debug, Clone)]
pub struct Adoption {
    /// The version it is at.
    pub version: Version,
    /// The id it gets, if it has none: a random UUID.
    pub id: String,
    /// The present.
    pub now: Timestamp,
}

/// A UUID of version 4, made of random bytes.
pub fn uuid_v4(random: [u8; 16]) -> String {
    let mut bytes = random;
    bytes[6] = (bytes[6] & 0x0f) | 0x40;
    bytes[8] = (bytes[8] & 0x3f) | 0x80;
    let all = u128::from_be_bytes(bytes);
    let part = |shift: u32, bits: u32| (all >> shift) & ((1 << bits) - 1);
    format!("{:08x}-{:04x}-{:04x}-{:04x}-{:012x}", part(96, 32), part(80, 16), part(64, 16), part(48, 16), part(0, 48))
}

/// What there is of the ClusterVersion of a cluster that may be adopted.
struct Found {
    resource: Resource,
    /// The object; nothing if it is not there.
    stored: Option<Value>,
    /// Whether it is at the version already.
    is_done: bool,
}

/// Refuses what [`adopt`] would refuse, before anything is installed.
pub(super) async fn check(
    place: &Place<'_>,
    existing: &[(Kind, Value)],
    adoption: &Adoption,
) -> Result<(), InstallError> {
    match existing.iter().find(|(kind, _)| *kind == Kind::ClusterVersion) {
        Some((_, crd)) => find(place, crd, adoption).await.map(drop),
        None => Ok(()),
    }
}

/// Looks at the ClusterVersion of a cluster; an error if it cannot be adopted at this version.
async fn find(place: &Place<'_>, crd: &Value, adoption: &Adoption) -> Result<Found, InstallError> {
    let kind = Kind::ClusterVersion;
    if Installed::of(crd) == Installed::Foreign {
        let why = "OpenShift's own operator manages the ClusterVersion of this cluster, so there is nothing to adopt; run \
                   without --adopt";
        return Err(InstallError::Adopt(why.to_owned()));
    }
    let resource = Resource::defined_by(crd, kind.version()).ok_or_else(|| InstallError::NoKind(kind.to_string()))?;
    let stored = place.stored(&resource, &wanted(adoption)).await?;
    let version = stored.as_ref().and_then(newest);
    let is_done = version.as_ref() == Some(&adoption.version.to_string());
    match version {
        Some(version) if !is_done => Err(InstallError::Adopt(format!(
            "the ClusterVersion is already at {version}; adopt works only once, use updates from then on"
        ))),
        _ => Ok(Found { resource, stored, is_done }),
    }
}

/// The ClusterVersion as it is made.
fn wanted(adoption: &Adoption) -> Value {
    let object = VersionObject {
        kind: Kind::ClusterVersion,
        metadata: serde_json::from_value(json!({"name": SINGLETON})).unwrap_or_default(),
        spec: Spec { cluster_id: adoption.id.clone(), ..Spec::default() },
        status: None,
    };
    serde_json::to_value(&object).unwrap_or_default()
}

/// Writes the first version, where there is none yet.
pub(super) async fn adopt(place: &Place<'_>, adoption: &Adoption, options: Options) -> Result<Done, InstallError> {
    let wanted = wanted(adoption);
    let crd = match place.cluster.get(super::crd_resource(place)?, "", Kind::ClusterVersion.crd()).await {
        Ok(crd) => crd,
        Err(ClusterError::NotFound { .. }) if options.dry_run => return Ok(done(&wanted, Action::Created, "")),
        Err(error) => return Err(error.into()),
    };
    let Found { resource, stored, is_done } = find(place, &crd, adoption).await?;
    if is_done {
        return Ok(done(&wanted, Action::Unchanged, ""));
    }
    let why = format!("the cluster is at {}", adoption.version);
    let action = if stored.is_some() { Action::Configured } else { Action::Created };
    if options.dry_run {
        return Ok(done(&wanted, action, &why));
    }
    let mut object = match stored {
        Some(stored) => stored,
        None => place.cluster.create(&resource, &wanted).await?,
    };
    let generation = object.pointer("/metadata/generation").and_then(Value::as_i64).unwrap_or_default();
    object["status"] = serde_json::to_value(first(adoption, generation)).unwrap_or_default();
    place.cluster.replace(&resource, Part::Status, &object).await?;
    Ok(done(&wanted, action, &why))
}

/// The version of the newest entry of the history, if there is any.
fn newest(object: &Value) -> Option<String> {
    let (status, _) = Status::read(object.get("status")?);
    Some(status?.history.first()?.version.clone())
}

/// The status of a cluster that is adopted.
pub(crate) fn first(adoption: &Adoption, generation: i64) -> Status {
    let version = adoption.version.to_string();
    let entry = UpdateHistory {
        state: UpdateState::Completed,
        started_time: adoption.now,
        completion_time: Some(adoption.now),
        version: version.clone(),
        image: String::new(),
        verified: false,
        accepted_risks: String::new(),
    };
    Status {
        desired: Release { version, ..Release::default() },
        history: vec![entry],
        observed_generation: generation,
        ..Status::default()
    }
}
