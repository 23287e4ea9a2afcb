//! What an installation is made with: each setting by the name of its option, and what changes between two installations.

use std::collections::BTreeMap;

use clearway_bundle::Channel;
use clearway_core::{Address, Digest};
use serde::Serialize;

use super::{NAMESPACE, ReleaseKeys, gateway_status, policies};

/// The options of `clearway install` that a cluster remembers, besides those of `clearway operator` that are passed on.
pub const SETTINGS: [&str; 9] = [
    "apply-updates",
    "channel",
    "gateway-class",
    "image",
    "metrics",
    "policies",
    "prometheus",
    "release-key",
    "upstream",
];

/// What is to be installed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// The channel of the CRDs.
    pub channel: Channel,
    /// Where the operator lives.
    pub namespace: String,
    /// Its image.
    pub image: String,
    /// Whether the operator applies updates. Otherwise it only advises, and nothing in the cluster may do more for it.
    pub apply_updates: bool,
    /// The keys one of which must have signed a release that is applied; without any, signatures are not checked.
    pub release_keys: ReleaseKeys,
    /// Who can reach the metrics.
    pub metrics: MetricsExposure,
    /// The update service that is asked where an object names none.
    pub upstream: Option<Address>,
    /// The cluster's Prometheus.
    pub prometheus: Option<Address>,
    /// Further options of `clearway operator` (its pace, its limits on queries) with their values; none for a flag.
    pub more: BTreeMap<String, Vec<String>>,
    /// Options of the Deployment that writes the status of Gateway API objects, with their values; empty without it.
    pub gateway_status: BTreeMap<String, Vec<String>>,
    /// Options of the Deployment that enforces policies, with their values; empty without it.
    pub policies: BTreeMap<String, Vec<String>>,
}

/// Who can reach the operator's metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MetricsExposure {
    /// Only the pod itself, and who forwards a port into it.
    Loopback,
    /// Who has a token that the API server accepts, of a user that may get the URL `/metrics`.
    Authenticated,
}

/// A setting that another installation changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Change {
    /// The name of its option.
    pub setting: String,
    /// What it was; nothing if it was not set.
    pub before: Option<String>,
    /// What it is now; nothing if it is no longer set.
    pub after: Option<String>,
}

impl Settings {
    /// What is installed if nothing else is said: advice only.
    pub fn new(channel: Channel) -> Self {
        Settings {
            channel,
            namespace: NAMESPACE.to_owned(),
            image: default_image(),
            apply_updates: false,
            release_keys: ReleaseKeys::default(),
            metrics: MetricsExposure::Loopback,
            upstream: None,
            prometheus: None,
            more: BTreeMap::new(),
            gateway_status: BTreeMap::new(),
            policies: BTreeMap::new(),
        }
    }

    /// The same settings with everything that can be added, to find what is left of an earlier installation.
    pub(super) fn with_everything(&self) -> Self {
        let mut release_keys = ReleaseKeys::default();
        release_keys.add("release.pub", String::new());
        let gateway_status = BTreeMap::from([(gateway_status::OPTION.to_owned(), vec![String::new()])]);
        let metrics = MetricsExposure::Authenticated;
        let policies = BTreeMap::from([(policies::OPTION.to_owned(), vec![])]);
        Settings { apply_updates: true, release_keys, metrics, gateway_status, policies, ..self.clone() }
    }

    /// Returns a setting to its default, by the name of its option.
    pub fn unset(&mut self, option: &str) {
        let usual = Settings::new(Channel::Standard);
        match option {
            "apply-updates" => {
                self.apply_updates = false;
                self.release_keys = ReleaseKeys::default();
            }
            "channel" => self.channel = usual.channel,
            gateway_status::OPTION => self.gateway_status.clear(),
            other if gateway_status::OPTIONS.contains(&other) => drop(self.gateway_status.remove(other)),
            policies::OPTION => self.policies.clear(),
            other if policies::OPTIONS.contains(&other) => drop(self.policies.remove(other)),
            "image" => self.image = usual.image,
            "metrics" => self.metrics = usual.metrics,
            "prometheus" => self.prometheus = None,
            "release-key" => self.release_keys = ReleaseKeys::default(),
            "upstream" => self.upstream = None,
            other => drop(self.more.remove(other)),
        }
    }

    /// Every setting that is set, by the name of its option, as people may see it: without credentials of addresses.
    pub fn shown(&self) -> BTreeMap<String, String> {
        let metrics = match self.metrics {
            MetricsExposure::Loopback => "loopback",
            MetricsExposure::Authenticated => "authenticated",
        };
        let mut shown = BTreeMap::from([
            ("channel".to_owned(), self.channel.to_string()),
            ("image".to_owned(), self.image.clone()),
            ("metrics".to_owned(), metrics.to_owned()),
        ]);
        let mut add = |name: &str, value: String| drop(shown.insert(name.to_owned(), value));
        if self.apply_updates {
            add("apply-updates", "yes".to_owned());
        }
        if !self.release_keys.is_empty() {
            add("release-key", self.release_keys.to_string());
        }
        if let Some(url) = &self.upstream {
            add("upstream", url.to_string());
        }
        if let Some(url) = &self.prometheus {
            add("prometheus", url.to_string());
        }
        for (name, values) in self.more.iter().chain(&self.gateway_status).chain(&self.policies) {
            add(name, shown_values(values));
        }
        shown
    }

    /// What is different now, by the name of the option.
    pub fn changes_since(&self, before: &Settings) -> Vec<Change> {
        changes(before.shown(), self.shown())
    }

    /// What is wrong if neither these settings nor the ClusterVersion name an update service.
    pub fn upstream_warning(&self, is_named_in_cluster: bool) -> Option<&'static str> {
        (self.upstream.is_none() && !is_named_in_cluster).then_some(
            "the operator has no update service, so it finds no updates; pass --upstream URL, or set spec.upstream of the \
             ClusterVersion",
        )
    }

    /// What is unwise about them, one sentence each.
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::from_iter(tag_warning(&self.image));
        if self.apply_updates && self.release_keys.is_empty() {
            warnings.push(
                "releases are applied without checking signatures; pass the keys with --release-key FILE".to_owned(),
            );
        }
        warnings
    }
}

/// What is different between two installations, by the name of the option.
pub(super) fn changes(mut old: BTreeMap<String, String>, new: BTreeMap<String, String>) -> Vec<Change> {
    let mut changes = Vec::new();
    for (setting, after) in new {
        let before = old.remove(&setting);
        if before.as_ref() != Some(&after) {
            changes.push(Change { setting, before, after: Some(after) });
        }
    }
    let dropped = old.into_iter().map(|(setting, before)| Change { setting, before: Some(before), after: None });
    changes.extend(dropped);
    changes.sort_by(|one, other| one.setting.cmp(&other.setting));
    changes
}

/// The values of an option as people may see them; a flag has none.
pub(super) fn shown_values(values: &[String]) -> String {
    if values.is_empty() {
        return "yes".to_owned();
    }
    values.iter().map(|value| shown_value(value)).collect::<Vec<_>>().join(", ")
}

/// A value without credentials, if it may be an address.
pub(super) fn shown_value(value: &str) -> String {
    let is_address = value.contains("://") || value.contains('@');
    if is_address { Address::from(value).to_string() } else { value.to_owned() }
}

/// What is unwise about an image that is named by a tag.
pub(super) fn tag_warning(image: &str) -> Option<String> {
    (!is_pinned(image)).then(|| {
        format!(
            "the image {image} is named by a tag, so anyone who can write to its registry decides what runs; name it by digest (--image NAME@sha256:...)"
        )
    })
}

/// The image of this version.
pub fn default_image() -> String {
    format!("ghcr.io/clearway-dev/clearway:{}", env!("CARGO_PKG_VERSION"))
}

/// Whether an image is that of some version of Clearway, named as this program names it when nobody names another. Such an
/// image was not chosen, so installing another version replaces it.
pub(super) fn is_default_of_any_version(image: &str) -> bool {
    let name = |image: &str| image.rsplit_once(':').map(|(name, _)| name.to_owned());
    name(image) == name(&default_image())
}

/// Whether an image is named by what it contains, and not by a tag that can be moved.
fn is_pinned(image: &str) -> bool {
    image.rsplit_once('@').is_some_and(|(_, digest)| digest.parse::<Digest>().is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_name_the_option_with_its_old_and_new_value() {
        let before = Settings {
            upstream: Some("https://user:secret@a.example/graph?token=secret".into()),
            more: BTreeMap::from([("pace".to_owned(), vec!["single".to_owned()])]),
            ..Settings::new(Channel::Standard)
        };
        let mut after = Settings { metrics: MetricsExposure::Authenticated, ..before.clone() };
        after.unset("pace");
        after.upstream = Some("https://b.example".into());
        after.more.insert("deny-metrics".to_owned(), vec!["a.*".to_owned(), "b".to_owned()]);
        let shown: Vec<String> = after
            .changes_since(&before)
            .into_iter()
            .map(|Change { setting, before, after }| format!("{setting}: {before:?} -> {after:?}"))
            .collect();
        assert_eq!(
            shown,
            [
                r#"deny-metrics: None -> Some("a.*, b")"#,
                r#"metrics: Some("loopback") -> Some("authenticated")"#,
                r#"pace: Some("single") -> None"#,
                r#"upstream: Some("https://a.example/graph?…") -> Some("https://b.example")"#,
            ]
        );
        assert_eq!(after.changes_since(&after), []);
    }

    #[test]
    fn no_form_of_the_settings_shows_credentials() {
        let secret = "https://me:a hunter2/x?y@h/a?token=hunter2";
        let settings = Settings {
            upstream: Some(secret.into()),
            prometheus: Some(secret.into()),
            more: BTreeMap::from([("other".to_owned(), vec![secret.to_owned(), "a?b".to_owned()])]),
            ..Settings::new(Channel::Standard)
        };
        let shown = settings.shown();
        assert_eq!((shown["upstream"].as_str(), shown["other"].as_str()), ("https://?…", "https://?…, a?b"));
        let addresses = format!("{:?} {:?} {shown:?}", settings.upstream, settings.prometheus);
        assert!(!addresses.contains("hunter2"), "{addresses}");
    }

    #[test]
    fn unset_returns_each_setting_to_its_default() {
        let mut release_keys = ReleaseKeys::default();
        release_keys.add("a.pub", "PEM".to_owned());
        let mut settings = Settings {
            channel: Channel::Experimental,
            image: "example.com/clearway:1".to_owned(),
            apply_updates: true,
            release_keys,
            metrics: MetricsExposure::Authenticated,
            upstream: Some("u".into()),
            prometheus: Some("p".into()),
            more: BTreeMap::from([("pace".to_owned(), vec!["single".to_owned()])]),
            gateway_status: BTreeMap::from([("gateway-class".to_owned(), vec!["clearway".to_owned()])]),
            policies: BTreeMap::from([("policies".to_owned(), vec![])]),
            ..Settings::new(Channel::Standard)
        };
        let names: Vec<String> = settings.shown().into_keys().filter(|name| name != "pace").collect();
        assert_eq!(names, SETTINGS);
        for name in SETTINGS.into_iter().chain(["pace"]) {
            settings.unset(name);
        }
        assert_eq!(settings, Settings::new(Channel::Standard));
    }
}
