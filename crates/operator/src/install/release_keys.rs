//! The public keys with which releases must be signed, as a ConfigMap that the operator's pods mount.
//!
//! The ConfigMap is immutable: the operator may write ConfigMaps of its namespace (its state), and must not be able to
//! choose by which keys it is bound. Installing other keys deletes it and makes it again.

use std::collections::BTreeMap;
use std::fmt;

use clearway_core::Digest;
use serde_json::{Value, json};

use super::{Settings, metadata};

/// The ConfigMap, and the volume it is mounted by.
pub const RELEASE_KEYS: &str = "clearway-release-keys";
/// Where the pods find the keys.
pub(super) const DIRECTORY: &str = "/etc/clearway/release-keys";
/// Changes with the keys, so that the pods are replaced: an immutable ConfigMap is read once.
pub(super) const FINGERPRINT: &str = "clearway.dev/release-keys";

/// Public keys by file name, in PEM.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReleaseKeys(BTreeMap<String, String>);

impl ReleaseKeys {
    /// Adds a file of keys. The name is kept as far as a ConfigMap can hold it: messages about signatures show it.
    pub fn add(&mut self, file_name: &str, pem: String) {
        let allowed = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
        let name: String = file_name.chars().map(|letter| if allowed(letter) { letter } else { '-' }).collect();
        let name = if name.trim_matches('.').is_empty() { "release.pub".to_owned() } else { name };
        let taken = |name: &String| self.0.contains_key(name);
        let numbered = (2..).map(|number| format!("{number}-{name}"));
        let free = [name.clone()].into_iter().chain(numbered).find(|name| !taken(name));
        self.0.insert(free.unwrap_or(name), pem);
    }

    /// The keys of a ConfigMap that [`config_map`] made; nothing if it holds anything else.
    pub(super) fn read(config_map: &Value) -> Option<Self> {
        serde_json::from_value(config_map.get("data")?.clone()).ok().map(ReleaseKeys)
    }

    /// Whether there is no key.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The arguments by which the operator gets them.
    pub(super) fn arguments(&self) -> impl Iterator<Item = String> {
        self.0.keys().map(|name| format!("--release-key={DIRECTORY}/{name}"))
    }

    /// A text that differs when the keys do.
    pub(super) fn fingerprint(&self) -> String {
        Digest::sha256(json!(self.0).to_string().as_bytes()).hex().to_owned()
    }
}

impl fmt::Display for ReleaseKeys {
    /// The names, and the beginning of a digest that tells two sets of the same names apart.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.0.keys().map(String::as_str).collect();
        let fingerprint = self.fingerprint();
        write!(f, "{} (sha256 {})", names.join(", "), fingerprint.get(..12).unwrap_or(&fingerprint))
    }
}

/// The ConfigMap; nothing without keys.
pub(super) fn config_map(settings: &Settings) -> Option<Value> {
    let ReleaseKeys(keys) = &settings.release_keys;
    (!keys.is_empty()).then(|| {
        json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata(settings, RELEASE_KEYS),
            "immutable": true, "data": keys,
        })
    })
}

/// The volume of the pods.
pub(super) fn volume() -> Value {
    json!({"name": RELEASE_KEYS, "configMap": {"name": RELEASE_KEYS}})
}

/// Where the volume is in the container.
pub(super) fn mount() -> Value {
    json!({"name": RELEASE_KEYS, "mountPath": DIRECTORY, "readOnly": true})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_readable_and_apart() {
        let mut keys = ReleaseKeys::default();
        for name in ["platform.pub", "platform.pub", "my keys/ü.pem", "..", ""] {
            keys.add(name, "pem".to_owned());
        }
        let arguments: Vec<String> = keys.arguments().collect();
        assert_eq!(
            arguments,
            ["2-platform.pub", "2-release.pub", "my-keys--.pem", "platform.pub", "release.pub"]
                .map(|name| format!("--release-key=/etc/clearway/release-keys/{name}"))
        );
        let before = keys.fingerprint();
        keys.add("more.pub", "pem".to_owned());
        assert_ne!(keys.fingerprint(), before);
    }
}
