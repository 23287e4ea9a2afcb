//! Which Kubernetes objects somebody has to read before rules about them can be evaluated.

use clearway_core::GroupKind;

/// The objects that a rule is about, as far as a collector has to know; its label selector is applied afterwards.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectRequest {
    /// Their kind.
    pub kind: GroupKind,
    /// Only those in this namespace.
    pub namespace: Option<String>,
    /// Only those of this name.
    pub name: Option<String>,
}

impl ObjectRequest {
    /// Whether whoever has these objects has the others too.
    pub fn covers(&self, other: &ObjectRequest) -> bool {
        let same = |own: &Option<String>, other: &Option<String>| own.is_none() || own == other;
        self.kind == other.kind && same(&self.namespace, &other.namespace) && same(&self.name, &other.name)
    }
}

/// Whether objects of a kind are credentials, whatever its group. Rules about them are unsupported, whatever rights the
/// process has.
pub fn is_secret_kind(kind: &str) -> bool {
    matches!(
        kind,
        "Secret" | "TokenRequest" | "TokenReview" | "OAuthAccessToken" | "OAuthAuthorizeToken" | "UserOAuthAccessToken"
    )
}

/// Whether the objects hold whatever their owners put there, so that only those are read that a rule names.
pub fn is_config_map(kind: &GroupKind) -> bool {
    kind.group.is_empty() && kind.kind == "ConfigMap"
}
