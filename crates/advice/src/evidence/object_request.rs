//! Which Kubernetes objects somebody has to read before rules about them can be evaluated.

use std::fmt;

use serde_json::Value;

/// A kind of objects. The version of its API does not distinguish kinds.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectKind {
    /// The API group, empty for the core group.
    pub group: String,
    /// The kind.
    pub kind: String,
}

/// The objects that a rule is about, as far as a collector has to know; its label selector is applied afterwards.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectRequest {
    /// Their kind.
    pub kind: ObjectKind,
    /// Only those in this namespace.
    pub namespace: Option<String>,
    /// Only those of this name.
    pub name: Option<String>,
}

impl ObjectKind {
    /// The kind that an object's `apiVersion` and `kind` name.
    pub fn new(api_version: &str, kind: &str) -> Self {
        let group = api_version.split_once('/').map_or("", |(group, _)| group);
        ObjectKind { group: group.to_owned(), kind: kind.to_owned() }
    }

    /// The kind of an object; nothing if it does not say.
    pub fn of(object: &Value) -> Option<Self> {
        Some(ObjectKind::new(object.get("apiVersion")?.as_str()?, object.get("kind")?.as_str()?))
    }

    /// Whether objects of the kind are credentials. Rules about them are unsupported, whatever rights the process has.
    pub fn is_secret(&self) -> bool {
        matches!(
            self.kind.as_str(),
            "Secret"
                | "TokenRequest"
                | "TokenReview"
                | "OAuthAccessToken"
                | "OAuthAuthorizeToken"
                | "UserOAuthAccessToken"
        )
    }

    /// Whether the objects hold whatever their owners put there, so that only those are read that a rule names.
    pub fn is_config_map(&self) -> bool {
        self.group.is_empty() && self.kind == "ConfigMap"
    }
}

impl ObjectRequest {
    /// Whether whoever has these objects has the others too.
    pub fn covers(&self, other: &ObjectRequest) -> bool {
        let same = |own: &Option<String>, other: &Option<String>| own.is_none() || own == other;
        self.kind == other.kind && same(&self.namespace, &other.namespace) && same(&self.name, &other.name)
    }
}

impl fmt::Display for ObjectKind {
    /// As `kubectl get` takes it: `Deployment.apps`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let dot = if self.group.is_empty() { "" } else { "." };
        write!(f, "{}{dot}{}", self.kind, self.group)
    }
}
