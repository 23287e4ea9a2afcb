//! Which Kubernetes objects somebody has to read before rules about them can be evaluated.

use clearway_core::{GroupKind, form, is_config_map, is_secret_kind};

use super::{Failure, FailureClass};

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

    /// Whether rules may ask for these objects. A stranger writes them, and they become paths of the API server, names of
    /// files and commands: what is not a kind, a namespace or a name is refused before anything is made of it.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        let malformed = |what: &str| Failure::new(FailureClass::Malformed, format!("The rule names {what}."));
        let unsupported = |message: String| Failure::new(FailureClass::Unsupported, message);
        let ObjectRequest { kind, namespace, name } = self;
        if is_secret_kind(&kind.kind) {
            return Err(unsupported(format!("Rules cannot read {kind} objects.")));
        }
        if !form::is_kind(&kind.kind) {
            return Err(malformed("a kind that no API server has"));
        }
        if !(kind.group.is_empty() || form::is_dns_subdomain(&kind.group)) {
            return Err(malformed("an API group that no API server has"));
        }
        if namespace.as_deref().is_some_and(|namespace| !form::is_dns_label(namespace)) {
            return Err(malformed("a namespace that no API server has"));
        }
        if name.as_deref().is_some_and(|name| !form::is_object_name(name)) {
            return Err(malformed("an object that no API server has"));
        }
        if is_config_map(kind) {
            // Whoever reads for rules may get ConfigMaps by name and list none, and a name alone is not enough for that.
            let missing = [("name", name), ("namespace", namespace)].into_iter().find(|(_, value)| value.is_none());
            if let Some((key, _)) = missing {
                let message = format!("Rules can read only ConfigMaps that they name: `{key}` is missing.");
                return Err(unsupported(message));
            }
            if name.as_deref().is_some_and(|name| !form::is_dns_subdomain(name)) {
                return Err(malformed("a ConfigMap that no API server has"));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_can_be_a_name_is_asked_for() {
        let request = |api_version: &str, kind: &str, namespace: Option<&str>, name: Option<&str>| {
            let owned = |text: Option<&str>| text.map(str::to_owned);
            ObjectRequest {
                kind: GroupKind::from_api_version(api_version, kind),
                namespace: owned(namespace),
                name: owned(name),
            }
        };
        let long = "a".repeat(64);
        for (asked, want) in [
            (request("v1", "Pod", None, None), None),
            (request("apps/v1", "Deployment", Some("shop"), Some("web.example")), None),
            (request("rbac.authorization.k8s.io/v1", "ClusterRole", None, Some("system:node")), None),
            (request("v1", "ConfigMap", Some("shop"), Some("web")), None),
            (request("v1", "secrets", None, None), Some(FailureClass::Unsupported)),
            (request("example.com/v1", "SecretList", None, None), Some(FailureClass::Unsupported)),
            (request("v1", "ConfigMap", Some("shop"), None), Some(FailureClass::Unsupported)),
            (request("v1", "ConfigMap", None, Some("web")), Some(FailureClass::Unsupported)),
            (request("v1", "A.B", None, None), Some(FailureClass::Malformed)),
            (request("v1", "secret/login", None, None), Some(FailureClass::Malformed)),
            (request("v1", "secrets,nodes", None, None), Some(FailureClass::Malformed)),
            (request(",secrets/v1", "nodes", None, None), Some(FailureClass::Malformed)),
            (request("a_b/v1", "Pod", None, None), Some(FailureClass::Malformed)),
            (request("v1", "Pod", Some(" "), None), Some(FailureClass::Malformed)),
            (request("v1", "Pod", Some(&long), None), Some(FailureClass::Malformed)),
            (request("v1", "ConfigMap", Some("a/secrets?watch=1&y="), Some("x")), Some(FailureClass::Malformed)),
            (request("v1", "ConfigMap", Some("a"), Some("x?watch=1")), Some(FailureClass::Malformed)),
            (request("v1", "Pod", None, Some("../secrets")), Some(FailureClass::Malformed)),
        ] {
            assert_eq!(asked.check().err().map(|failure| failure.class), want, "{asked:?}");
        }
    }
}
