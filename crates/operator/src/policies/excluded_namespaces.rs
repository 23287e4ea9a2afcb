//! Namespaces that are left out: those that the Config excludes from a process, and those that may have the label which
//! switches the webhook off.

use clearway_policy::Glob;
use serde_json::Value;

/// What looks at objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Process {
    /// The audit of objects that exist.
    Audit,
    /// The inventory.
    Sync,
    /// The admission webhook.
    Webhook,
}

impl Process {
    /// As it is written in a Config.
    pub fn name(self) -> &'static str {
        match self {
            Process::Audit => "audit",
            Process::Sync => "sync",
            Process::Webhook => "webhook",
        }
    }
}

/// `spec.match` of the Config.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ExcludedNamespaces {
    entries: Vec<(Vec<String>, Vec<Glob>)>,
}

impl ExcludedNamespaces {
    /// Reads a Config. What has another form is left out; the API server has checked it.
    pub fn of_config(config: &Value) -> Self {
        let entries = config.pointer("/spec/match").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let entry = |entry: &Value| {
            let globs = texts(entry, "excludedNamespaces").iter().map(|text| Glob::new(text)).collect();
            (texts(entry, "processes"), globs)
        };
        ExcludedNamespaces { entries: entries.iter().map(entry).collect() }
    }

    /// Whether a process leaves a namespace out.
    pub fn has(&self, process: Process, namespace: &str) -> bool {
        let is_meant = |processes: &[String]| processes.iter().any(|name| name == "*" || name == process.name());
        let matches = |globs: &[Glob]| globs.iter().any(|glob| glob.matches(namespace));
        self.entries.iter().any(|(processes, globs)| is_meant(processes) && matches(globs))
    }

    /// Whether a process leaves an object out: by the namespace that it is in, or that it is.
    pub fn has_object(&self, process: Process, object: &Value) -> bool {
        let text = |field: &str| object.pointer(&format!("/metadata/{field}")).and_then(Value::as_str);
        let is_namespace = object["apiVersion"] == "v1" && object["kind"] == "Namespace";
        let namespace = if is_namespace { text("name") } else { text("namespace") };
        namespace.is_some_and(|namespace| !namespace.is_empty() && self.has(process, namespace))
    }
}

fn texts(value: &Value, field: &str) -> Vec<String> {
    let list = value.get(field).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    list.iter().filter_map(Value::as_str).map(str::to_owned).collect()
}

/// Everything that exempts a namespace from the webhook.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Exemptions {
    /// What the Config excludes.
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
    use serde_json::json;

    #[test]
    fn namespaces_are_excluded_by_process_and_pattern() {
        let excluded = ExcludedNamespaces::of_config(&json!({"spec": {"match": [
            {"processes": ["audit", "sync"], "excludedNamespaces": ["kube-*"]},
            {"processes": ["*"], "excludedNamespaces": ["*-system"]},
            {"processes": ["webhook"], "excludedNamespaces": ["shop"]},
        ]}}));
        for (process, namespace, want) in [
            (Process::Audit, "kube-public", true),
            (Process::Sync, "kube-public", true),
            (Process::Webhook, "kube-public", false),
            (Process::Webhook, "gatekeeper-system", true),
            (Process::Audit, "shop", false),
            (Process::Webhook, "shop", true),
            (Process::Webhook, "shop-2", false),
        ] {
            assert_eq!(excluded.has(process, namespace), want, "{process:?} {namespace}");
        }
        let object = |kind: &str, metadata: Value| json!({"apiVersion": "v1", "kind": kind, "metadata": metadata});
        for (object, want) in [
            (object("Pod", json!({"name": "a", "namespace": "kube-public"})), true),
            (object("Namespace", json!({"name": "kube-public"})), true),
            (object("Node", json!({"name": "kube-public"})), false),
        ] {
            assert_eq!(excluded.has_object(Process::Audit, &object), want, "{object}");
        }
        assert!(!ExcludedNamespaces::of_config(&json!({"spec": {"match": "odd"}})).has(Process::Audit, "x"));
    }

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
