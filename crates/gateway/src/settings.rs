//! What is assumed of the implementation whose status is computed.
//!
//! [`Settings::default`] is an implementation of the newest bundle that has every feature, a data plane that works, and the
//! default of every [`Choices`].

mod choices;

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

pub use choices::*;

use crate::model::{Address, Name, ObjectKind, RouteKind};

/// What is assumed of the implementation whose status is computed.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Which text decides where the first design (GEP-1364) and the present specification differ.
    pub specification: Specification,
    /// The bundle version that is judged by; none for that of the CRDs among the objects, or else the newest known.
    pub bundle_version: Option<BundleVersion>,
    /// The features that are supported; none for all.
    pub features: Option<BTreeSet<Name>>,
    /// Whether features come from `status.supportedFeatures` of each class that lists any.
    pub features_of_class: bool,
    /// Whether the implementation has the `Ready` condition.
    pub ready: bool,
    /// What fits into the infrastructure.
    pub capacity: Capacity,
    /// Whether configuration reaches a data plane.
    pub data_plane: DataPlane,
    /// Addresses that are assigned to Gateways which ask for none in particular.
    pub addresses: Vec<Address>,
    /// Addresses that cannot be used.
    pub unusable_addresses: BTreeSet<Name>,
    /// Kinds besides Service that backends may have.
    pub backend_kinds: BTreeSet<ObjectKind>,
    /// Kinds that filters may extend rules with.
    pub extension_kinds: BTreeSet<ObjectKind>,
    /// What of kinds that are not known: an implementation may have its own.
    pub unknown_kinds: UnknownKinds,
    /// Whether Secrets that are not among the objects do not exist, or were not read.
    pub secrets: Knowledge,
    /// Whether a Service without EndpointSlices has no endpoints, or they were not read.
    pub endpoints: Knowledge,
    /// Only classes of this controller; none for all controllers.
    pub controller: Option<Name>,
    /// The controller of classes that are not among the objects; none if they do not exist.
    pub assumed_controller: Option<Name>,
    /// Where the specification is silent.
    pub choices: Choices,
}

/// Which text decides where two differ.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Specification {
    /// The specification of the bundle version.
    #[default]
    Current,
    /// GEP-1364: a listener whose certificate is missing, a route without any backend that a data plane could answer for,
    /// and a Gateway without capacity are not accepted.
    Gep1364,
}

/// How much is supported; none for without limit.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Capacity {
    /// Gateways of one controller; older ones come first.
    pub gateways: Option<usize>,
    /// Listeners of one Gateway, those of its ListenerSets included.
    pub listeners: Option<usize>,
    /// Ports that are taken.
    pub unavailable_ports: BTreeSet<u16>,
}

/// Whether configuration reaches a data plane.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum DataPlane {
    /// What is valid is programmed.
    #[default]
    Assumed,
    /// There is none, so `Programmed` stays Unknown.
    Absent,
}

/// What of kinds that the settings do not name.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum UnknownKinds {
    /// They are not supported.
    #[default]
    Refused,
    /// They are supported, and exist: for judging an implementation whose extensions are not known.
    Assumed,
}

/// What it means that objects of a kind are missing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Knowledge {
    /// All were read: those that are missing do not exist.
    #[default]
    Complete,
    /// They were not read, so nothing is known of those that are missing.
    Unknown,
    /// Known if any object of the kind is among the objects.
    IfAny,
}

/// A bundle version of Gateway API.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct BundleVersion {
    /// The major version.
    pub major: u32,
    /// The minor version.
    pub minor: u32,
    /// The patch version.
    pub patch: u32,
}

/// A text that is no bundle version.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a bundle version such as v1.6.1")]
pub struct BundleVersionError {
    /// The text.
    pub text: String,
}

impl BundleVersion {
    /// The newest version that the rules are written for.
    pub const NEWEST: BundleVersion = BundleVersion { major: 1, minor: 6, patch: 1 };

    /// Whether routes without an answer for errors (TCP, UDP) are accepted although no backend resolves: from v1.6 on.
    pub(crate) fn accepts_streams_without_backends(self) -> bool {
        (self.major, self.minor) >= (1, 6)
    }
}

impl FromStr for BundleVersion {
    type Err = BundleVersionError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let read = || {
            let numbers = text.strip_prefix('v').unwrap_or(text).split(['-', '+']).next()?;
            let mut numbers = numbers.split('.').map(|number| number.parse::<u32>().ok());
            let version = BundleVersion {
                major: numbers.next()??,
                minor: numbers.next()??,
                patch: numbers.next().unwrap_or(Some(0))?,
            };
            numbers.next().is_none().then_some(version)
        };
        read().ok_or_else(|| BundleVersionError { text: text.chars().take(64).collect() })
    }
}

impl fmt::Display for BundleVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "v{}.{}.{}", self.major, self.minor, self.patch)
    }
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            specification: Specification::default(),
            bundle_version: None,
            features: None,
            features_of_class: false,
            ready: false,
            capacity: Capacity::default(),
            data_plane: DataPlane::default(),
            addresses: Vec::new(),
            unusable_addresses: BTreeSet::new(),
            backend_kinds: BTreeSet::new(),
            extension_kinds: BTreeSet::new(),
            unknown_kinds: UnknownKinds::default(),
            secrets: Knowledge::Complete,
            endpoints: Knowledge::IfAny,
            controller: None,
            assumed_controller: None,
            choices: Choices::default(),
        }
    }
}

/// The features of one implementation.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Features(pub(crate) Option<BTreeSet<Name>>);

impl Features {
    pub(crate) fn has(&self, feature: &str) -> bool {
        self.0.as_ref().is_none_or(|features| features.contains(feature))
    }

    pub(crate) fn has_route(&self, kind: RouteKind) -> bool {
        self.has(kind.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bundle_version_is_read_as_the_annotation_has_it() {
        let version = |text: &str| text.parse::<BundleVersion>().map(|version| version.to_string()).ok();
        assert_eq!(version("v1.6.1").as_deref(), Some("v1.6.1"));
        assert_eq!(version("1.5").as_deref(), Some("v1.5.0"));
        assert_eq!(version("v1.6.0-rc.1").as_deref(), Some("v1.6.0"));
        for text in ["", "v1", "monthly-2026.01", "v1.2.3.4", "v1.x"] {
            assert_eq!(version(text), None, "{text}");
        }
    }
}
