//! Whose conventions an object follows.
//!
//! The sources disagree (whether a reason may be empty, when `lastTransitionTime` moves, what absence means), so each
//! rule asks the profile. Without a choice by the user the API group of the object decides: [`Profile::of`]. A ClusterVersion that
//! Clearway keeps is of OpenShift's group, and known by its conditions.

use std::fmt;
use std::str::FromStr;

use clearway_yaml::Node;

use crate::Object;

/// The domain of the condition types that Clearway's operator adds to every object it keeps.
const CLEARWAY: &str = "clearway.dev/";

/// A set of conventions for conditions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Profile {
    /// `metav1.Condition` and the API conventions of Kubernetes; also what an unknown group is held to.
    Metav1,
    /// Knative's error signalling: `severity`, a summary that follows the other conditions, one generation per status.
    Knative,
    /// Gateway API: positive summaries always there, negative conditions only while True, a generation everywhere.
    Gateway,
    /// kstatus and Flux: `Ready`, with `Reconciling` and `Stalled` only while True.
    Kstatus,
    /// `OpenShift`'s operators: `Available`, `Progressing`, `Degraded`.
    Openshift,
    /// The kinds of Kubernetes itself, whose conditions predate `metav1.Condition`: reason and generation are optional,
    /// heartbeat fields are allowed, names are history.
    Native,
}

/// A text that names no profile.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a profile: metav1, knative, gateway, kstatus, openshift or native")]
pub struct ProfileError {
    /// What was read.
    pub text: String,
}

/// Groups under `k8s.io` that Kubernetes itself serves; other groups there are custom resources of its projects.
const NATIVE_GROUPS: &[&str] = &[
    "",
    "apps",
    "autoscaling",
    "batch",
    "extensions",
    "policy",
    "admissionregistration.k8s.io",
    "apiextensions.k8s.io",
    "apiregistration.k8s.io",
    "authentication.k8s.io",
    "authorization.k8s.io",
    "certificates.k8s.io",
    "coordination.k8s.io",
    "discovery.k8s.io",
    "events.k8s.io",
    "flowcontrol.apiserver.k8s.io",
    "internal.apiserver.k8s.io",
    "lifecycle.k8s.io",
    "metrics.k8s.io",
    "networking.k8s.io",
    "node.k8s.io",
    "rbac.authorization.k8s.io",
    "resource.k8s.io",
    "scheduling.k8s.io",
    "storage.k8s.io",
    "storagemigration.k8s.io",
];

impl Profile {
    /// Every profile.
    pub const ALL: [Profile; 6] =
        [Profile::Metav1, Profile::Knative, Profile::Gateway, Profile::Kstatus, Profile::Openshift, Profile::Native];

    /// The word of the command line.
    pub const fn as_str(self) -> &'static str {
        match self {
            Profile::Metav1 => "metav1",
            Profile::Knative => "knative",
            Profile::Gateway => "gateway",
            Profile::Kstatus => "kstatus",
            Profile::Openshift => "openshift",
            Profile::Native => "native",
        }
    }

    /// The profile of an object without a choice by the user.
    pub fn of(object: &Object<'_>) -> Profile {
        Profile::declared_by(object).unwrap_or(Profile::Metav1)
    }

    /// The profile that the group or the conditions of an object commit it to.
    pub(crate) fn declared_by(object: &Object<'_>) -> Option<Profile> {
        let declared = Profile::declared(object.group());
        let is_shared = declared == Some(Profile::Openshift) && object.kind() == "ClusterVersion";
        if is_shared && is_kept_by_clearway(object) { Some(Profile::Knative) } else { declared }
    }

    /// The profile a group has committed itself to; nothing for a group nobody here knows.
    ///
    /// A `severity` field is no evidence: Cluster API had one with other words and another meaning. SC012 names it.
    pub(crate) fn declared(group: &str) -> Option<Profile> {
        // Whole labels only: `notknative.dev` is somebody else.
        let within =
            |domain: &str| group.strip_suffix(domain).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'));
        if NATIVE_GROUPS.contains(&group) {
            Some(Profile::Native)
        } else if within("gateway.networking.k8s.io") || within("gateway.networking.x-k8s.io") {
            Some(Profile::Gateway)
        } else if within("knative.dev") || within("tekton.dev") || within("clearway.dev") {
            Some(Profile::Knative)
        } else if within("fluxcd.io") || within("fluxcd.controlplane.io") {
            Some(Profile::Kstatus)
        } else if within("openshift.io") {
            Some(Profile::Openshift)
        } else {
            None
        }
    }

    /// Whether `lastTransitionTime` also moves with reason and message, and not with the status only (A13, 1d).
    pub(crate) fn content_moves_time(self) -> bool {
        matches!(self, Profile::Knative | Profile::Kstatus)
    }
}

/// Whether Clearway's operator writes the status of an object.
fn is_kept_by_clearway(object: &Object<'_>) -> bool {
    let conditions = object.root.get("status").and_then(|status| status.get("conditions"));
    let types = conditions.into_iter().flat_map(Node::items).filter_map(|condition| condition.get("type"));
    types.filter_map(Node::as_text).any(|type_| type_.starts_with(CLEARWAY))
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for Profile {
    type Err = ProfileError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Profile::ALL
            .into_iter()
            .find(|profile| profile.as_str() == text)
            .ok_or_else(|| ProfileError { text: text.chars().take(64).collect() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_group_decides() {
        for (group, want) in [
            ("", Some(Profile::Native)),
            ("apps", Some(Profile::Native)),
            ("networking.k8s.io", Some(Profile::Native)),
            ("gateway.networking.k8s.io", Some(Profile::Gateway)),
            ("policy.networking.k8s.io", None),
            ("snapshot.storage.k8s.io", None),
            ("serving.knative.dev", Some(Profile::Knative)),
            ("networking.internal.knative.dev", Some(Profile::Knative)),
            ("notknative.dev", None),
            ("tekton.dev", Some(Profile::Knative)),
            ("source.toolkit.fluxcd.io", Some(Profile::Kstatus)),
            ("config.openshift.io", Some(Profile::Openshift)),
            ("operator.openshift.io", Some(Profile::Openshift)),
            ("cert-manager.io", None),
        ] {
            assert_eq!(Profile::declared(group), want, "{group}");
        }
    }

    #[test]
    fn a_profile_is_read_as_it_is_written() {
        for profile in Profile::ALL {
            assert_eq!(profile.to_string().parse(), Ok(profile));
        }
        assert!("auto".parse::<Profile>().is_err() && "Gateway".parse::<Profile>().is_err());
    }
}
