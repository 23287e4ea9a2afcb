//! What exempts namespaces from the webhook: the Config, and the label of namespaces that may have it.

use clearway_policy::ExcludedNamespaces;

/// The namespaces that the webhook leaves out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Exemptions {
    /// What the Config excludes from the webhook.
    pub excluded: ExcludedNamespaces,
    /// Namespaces that may have the label `admission.gatekeeper.sh/ignore`.
    pub exempt_namespaces: Vec<String>,
    /// Beginnings of names of such namespaces.
    pub exempt_prefixes: Vec<String>,
    /// Ends of names of such namespaces.
    pub exempt_suffixes: Vec<String>,
}

impl Exemptions {
    /// Whether a namespace may have the label that switches the webhook off.
    pub fn may_be_ignored(&self, namespace: &str) -> bool {
        self.exempt_namespaces.iter().any(|name| name == namespace)
            || self.exempt_prefixes.iter().any(|prefix| namespace.starts_with(prefix.as_str()))
            || self.exempt_suffixes.iter().any(|suffix| namespace.ends_with(suffix.as_str()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_exempt_namespaces_may_be_ignored() {
        let exemptions = Exemptions {
            exempt_namespaces: vec!["infra".to_owned()],
            exempt_prefixes: vec!["kube-".to_owned()],
            exempt_suffixes: vec!["-system".to_owned()],
            ..Exemptions::default()
        };
        for (name, want) in [("infra", true), ("infra-2", false), ("kube-x", true), ("a-system", true), ("", false)] {
            assert_eq!(exemptions.may_be_ignored(name), want, "{name}");
        }
    }
}
