//! The two kinds, and how the API server is asked for them.

use std::fmt;

/// The name of the one ClusterVersion that counts.
pub const SINGLETON: &str = "version";

/// What an object is the version of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// The platform; there is one, named [`SINGLETON`].
    ClusterVersion,
    /// An add-on; one object for each (experimental channel).
    ComponentVersion,
}

impl Kind {
    /// Both.
    pub const ALL: [Kind; 2] = [Kind::ClusterVersion, Kind::ComponentVersion];

    /// The kind's name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Kind::ClusterVersion => "ClusterVersion",
            Kind::ComponentVersion => "ComponentVersion",
        }
    }

    /// The API group.
    pub const fn group(self) -> &'static str {
        match self {
            Kind::ClusterVersion => "config.openshift.io",
            Kind::ComponentVersion => "clearway.dev",
        }
    }

    /// The version of the API group.
    pub const fn version(self) -> &'static str {
        match self {
            Kind::ClusterVersion => "v1",
            Kind::ComponentVersion => "v1alpha1",
        }
    }

    /// The `apiVersion` of objects.
    pub const fn api_version(self) -> &'static str {
        match self {
            Kind::ClusterVersion => "config.openshift.io/v1",
            Kind::ComponentVersion => "clearway.dev/v1alpha1",
        }
    }

    /// The name in paths of the API.
    pub const fn plural(self) -> &'static str {
        match self {
            Kind::ClusterVersion => "clusterversions",
            Kind::ComponentVersion => "componentversions",
        }
    }

    /// The name of the CRD.
    pub const fn crd(self) -> &'static str {
        match self {
            Kind::ClusterVersion => "clusterversions.config.openshift.io",
            Kind::ComponentVersion => "componentversions.clearway.dev",
        }
    }

    /// The kind of an object with these type fields.
    pub fn of(api_version: &str, kind: &str) -> Option<Self> {
        Kind::ALL.into_iter().find(|one| one.api_version() == api_version && one.as_str() == kind)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
