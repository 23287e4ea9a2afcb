//! Which version of a product is installed, by the objects of a cluster.
//!
//! A [`Detector`] is given every object of the kinds that its product names, from a live cluster or a snapshot, one at a
//! time. It keeps a few versions and names of objects, so that its memory does not grow with the cluster.

use std::collections::BTreeMap;

use clearway_core::{GroupKind, Version};
use serde::Serialize;
use serde_json::Value;

use crate::product::{DetectionMethod, ObjectFilter, Product, VersionSource};
use crate::version::installed_version;

/// Distinct versions that are kept.
const VERSIONS: usize = 4;
/// Objects that are named for each version, and of those without one.
const NAMED: usize = 3;

/// Whether a product is installed, and in which version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "state", rename_all = "camelCase")]
pub enum Detection {
    /// It is, in exactly one version.
    Installed {
        /// The version.
        version: Version,
        /// What has this version, for people.
        #[serde(rename = "foundIn")]
        found_in: String,
    },
    /// It is not.
    NotInstalled,
    /// That is not known.
    Unknown {
        /// Why, in a sentence.
        reason: String,
    },
}

/// Finds the installed version of one product.
#[derive(Debug)]
pub struct Detector<'p> {
    product: &'p Product,
    /// The first things that have each version.
    versions: BTreeMap<Version, FirstNames>,
    /// Whether there are more versions than are kept.
    more_versions: bool,
    /// What belongs to the product and has no version, with the reason.
    without: FirstNames,
    failed: Option<String>,
}

/// The first of some names, and how many there are.
#[derive(Debug, Default)]
struct FirstNames {
    first: Vec<String>,
    count: usize,
}

impl FirstNames {
    fn add(&mut self, name: String) {
        self.count = self.count.saturating_add(1);
        if self.first.len() < NAMED {
            self.first.push(name);
        }
    }

    fn text(&self) -> String {
        let more = self.count.saturating_sub(self.first.len());
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        self.first.join(", ") + &more
    }
}

impl<'p> Detector<'p> {
    /// Nothing is known yet.
    pub fn new(product: &'p Product) -> Self {
        let (versions, without) = (BTreeMap::new(), FirstNames::default());
        Detector { product, versions, more_versions: false, without, failed: None }
    }

    /// Whether the version of the API server has to be known.
    pub fn needs_api_server(&self) -> bool {
        self.product.detect.contains(&DetectionMethod::ApiServer)
    }

    /// Records the version that the API server reports, such as `v1.33.4`.
    pub fn set_api_server(&mut self, reported: &str) {
        if self.needs_api_server() {
            self.record("the API server", &[("its version", reported.to_owned())]);
        }
    }

    /// Records why objects of a kind, or the version of the API server, could not be read.
    pub fn fail(&mut self, reason: impl Into<String>) {
        self.failed.get_or_insert(reason.into());
    }

    /// Looks at an object; one that does not belong to the product changes nothing.
    pub fn add(&mut self, object: &Value) {
        let Some(kind) = GroupKind::of(object) else { return };
        let (mut is_selected, mut texts) = (false, Vec::new());
        for method in &self.product.detect {
            if let DetectionMethod::Objects { filter, source } = method
                && filter.kind == kind
                && filter.selects(object)
            {
                is_selected = true;
                texts.extend(source.texts(object).into_iter().map(|text| (source.word(), text)));
            }
        }
        if is_selected {
            self.record(&object_name(&kind, object), &texts);
        }
    }

    /// Records the texts in which something names its version.
    fn record(&mut self, name: &str, texts: &[(&str, String)]) {
        let mut found = texts.iter().filter_map(|(_, text)| installed_version(text)).peekable();
        if found.peek().is_none() {
            // Which text it is, is the choice of whoever wrote the product file; it may be any annotation, so it is not repeated.
            let why = match texts.first() {
                Some((word, _)) => format!("{word} is not a version"),
                None => "nothing names its version".to_owned(),
            };
            return self.without.add(format!("{name} ({why})"));
        }
        let mut last = None;
        for version in found {
            if last.as_ref() == Some(&version) {
                continue;
            }
            if self.versions.len() < VERSIONS || self.versions.contains_key(&version) {
                self.versions.entry(version.clone()).or_default().add(name.to_owned());
            } else {
                self.more_versions = true;
            }
            last = Some(version);
        }
    }

    /// The result. `names_replaced`: the names of objects were replaced, so that one that was not found may exist.
    pub fn finish(self, names_replaced: bool) -> Detection {
        let title = &self.product.title;
        let unknown = |reason: String| Detection::Unknown { reason };
        if let Some(reason) = self.failed {
            return unknown(reason);
        }
        if self.without.count > 0 {
            return unknown(format!("The version of {title} is not known: {}.", self.without.text()));
        }
        if self.versions.len() > 1 || self.more_versions {
            let found = self.versions.iter().map(|(version, names)| format!("{version} in {}", names.text()));
            let more = if self.more_versions { ", and more" } else { "" };
            let found: Vec<String> = found.collect();
            return unknown(format!("Several versions of {title} are installed: {}{more}.", found.join("; ")));
        }
        match self.versions.into_iter().next() {
            Some((version, names)) => Detection::Installed { version, found_in: names.text() },
            None if names_replaced => {
                unknown(format!("Names were replaced in the snapshot, so {title} may be installed."))
            }
            None => Detection::NotInstalled,
        }
    }
}

impl ObjectFilter {
    /// Whether it selects an object of its kind.
    fn selects(&self, object: &Value) -> bool {
        let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str);
        let labels = object.pointer("/metadata/labels");
        let has_label = |(key, value): (&String, &String)| {
            labels.and_then(|labels| labels.get(key)).and_then(Value::as_str) == Some(value)
        };
        self.namespace.as_deref().is_none_or(|namespace| text("/metadata/namespace") == Some(namespace))
            && (self.names.is_empty() || self.names.iter().any(|name| text("/metadata/name") == Some(name)))
            && self.labels.iter().all(has_label)
            && self.definition_group.as_deref().is_none_or(|group| text("/spec/group") == Some(group))
    }
}

impl VersionSource {
    /// What the text is, in words.
    fn word(&self) -> &'static str {
        match self {
            VersionSource::Label(_) => "its label",
            VersionSource::Annotation(_) => "its annotation",
            VersionSource::Image(_) => "the tag of its image",
        }
    }

    /// The texts of an object that should name the version: at most one, but for the images of several containers.
    fn texts(&self, object: &Value) -> Vec<String> {
        let of_metadata = |part: &str, key: &str| {
            let value = object.get("metadata").and_then(|metadata| metadata.get(part)?.get(key)?.as_str());
            value.map(str::to_owned).into_iter().collect()
        };
        match self {
            VersionSource::Label(key) => of_metadata("labels", key),
            VersionSource::Annotation(key) => of_metadata("annotations", key),
            VersionSource::Image(name) => {
                let containers = object.pointer("/spec/template/spec/containers").and_then(Value::as_array);
                let images = containers.into_iter().flatten().filter_map(|container| container.get("image")?.as_str());
                images.filter_map(|image| tag_of(image, name)).collect()
            }
        }
    }
}

/// The tag of an image, if the last part of its name is this one; without a tag the whole name, which is no version.
fn tag_of(image: &str, name: &str) -> Option<String> {
    let without_digest = image.split('@').next().unwrap_or_default();
    let last = without_digest.rsplit('/').next().unwrap_or_default();
    let (own, tag) = last.split_once(':').map_or((last, image), |(own, tag)| (own, tag));
    (own == name).then(|| tag.to_owned())
}

fn object_name(kind: &GroupKind, object: &Value) -> String {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).map(excerpt);
    let name = text("/metadata/name").unwrap_or_default();
    let namespace = text("/metadata/namespace").filter(|namespace| !namespace.is_empty());
    let namespace = namespace.map(|namespace| namespace + "/").unwrap_or_default();
    format!("{} {namespace}{name}", excerpt(&kind.kind))
}

/// The start of a text of a stranger, on one line.
fn excerpt(text: &str) -> String {
    text.chars().filter(|letter| !letter.is_control()).take(80).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn product(detect: &str) -> Product {
        let head = "name: a\ntitle: The Product\nurl: https://example.com\nsummary: It is.\nchannel: stable\ndetect:\n";
        Product::read(format!("{head}{detect}").as_bytes()).unwrap()
    }

    fn deployment(name: &str, label: Option<&str>, images: &[&str]) -> Value {
        let containers: Vec<Value> = images.iter().map(|image| json!({"image": image})).collect();
        let labels = label.map_or(json!({}), |label| json!({"app.kubernetes.io/version": label}));
        json!({
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name, "namespace": "n", "labels": labels},
            "spec": {"template": {"spec": {"containers": containers}}},
        })
    }

    const BOTH: &str = "\
- objects: {apiVersion: apps/v1, kind: Deployment, names: [web, worker]}
  label: app.kubernetes.io/version
- objects: {apiVersion: apps/v1, kind: Deployment, names: [web, worker]}
  image: controller
";

    fn detect(detect: &str, objects: &[Value]) -> Detection {
        let product = product(detect);
        let mut detector = Detector::new(&product);
        for object in objects {
            detector.add(object);
        }
        detector.finish(false)
    }

    fn shown(detection: &Detection) -> String {
        match detection {
            Detection::Installed { version, found_in } => format!("{version} in {found_in}"),
            Detection::NotInstalled => "not installed".to_owned(),
            Detection::Unknown { reason } => reason.clone(),
        }
    }

    #[test]
    fn labels_and_tags_that_agree_are_the_version() {
        let image = "registry.example.com:5000/a/controller:v1.2.3";
        for (objects, want) in [
            (vec![deployment("web", Some("v1.2.3"), &[image])], "1.2.3 in Deployment n/web"),
            (vec![deployment("web", None, &["proxy:9.9.9", image])], "1.2.3 in Deployment n/web"),
            (vec![deployment("web", Some("1.2.3"), &[])], "1.2.3 in Deployment n/web"),
            // A tag that is no version says nothing against a label that is one.
            (vec![deployment("web", Some("1.2.3"), &["controller:latest"])], "1.2.3 in Deployment n/web"),
            (
                vec![deployment("web", Some("1.2.3"), &[]), deployment("worker", None, &[image])],
                "1.2.3 in Deployment n/web, Deployment n/worker",
            ),
            (vec![deployment("other", Some("1.2.3"), &[image])], "not installed"),
            (vec![json!({"kind": 7}), json!([])], "not installed"),
        ] {
            assert_eq!(shown(&detect(BOTH, &objects)), want);
        }
    }

    #[test]
    fn what_contradicts_itself_or_has_no_version_is_unknown_with_the_reason() {
        for (objects, want) in [
            (
                vec![deployment("web", Some("1.2.3"), &["controller:1.2.4"])],
                "Several versions of The Product are installed: 1.2.3 in Deployment n/web; 1.2.4 in Deployment n/web.",
            ),
            (
                vec![deployment("web", Some("1.2.3"), &[]), deployment("worker", Some("1.3.0"), &[])],
                "Several versions of The Product are installed: 1.2.3 in Deployment n/web; 1.3.0 in Deployment n/worker.",
            ),
            (
                vec![deployment("web", Some("1.2.3"), &[]), deployment("worker", None, &[])],
                "The version of The Product is not known: Deployment n/worker (nothing names its version).",
            ),
            (
                vec![deployment("web", None, &["controller@sha256:0123"])],
                "The version of The Product is not known: Deployment n/web (the tag of its image is not a version).",
            ),
            (
                vec![deployment("web", Some("a secret"), &[])],
                "The version of The Product is not known: Deployment n/web (its label is not a version).",
            ),
        ] {
            assert_eq!(shown(&detect(BOTH, &objects)), want);
        }
    }

    #[test]
    fn many_versions_and_objects_take_no_more_memory_than_few() {
        let objects: Vec<Value> =
            (0..1_000).map(|patch| deployment("web", Some(&format!("1.0.{patch}")), &[])).collect();
        let reason = shown(&detect(BOTH, &objects));
        assert!(reason.ends_with(", and more.") && reason.len() < 400, "{reason}");
        let objects: Vec<Value> = (0..1_000).map(|_| deployment("web", None, &[])).collect();
        let reason = shown(&detect(BOTH, &objects));
        assert!(reason.ends_with(" and 997 more.") && reason.len() < 400, "{reason}");
    }

    #[test]
    fn crds_are_selected_by_their_group() {
        let bundle = "- objects: {apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, definitionGroup: \
                      a.io}\n  annotation: a.io/bundle-version\n";
        let crd = |name: &str, group: &str, annotations: Value| {
            json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
                "metadata": {"name": name, "annotations": annotations}, "spec": {"group": group}})
        };
        let version = json!({"a.io/bundle-version": "v1.0.0"});
        let both = [crd("x.a.io", "a.io", version.clone()), crd("x.b.io", "b.io", json!({}))];
        assert_eq!(shown(&detect(bundle, &both)), "1.0.0 in CustomResourceDefinition x.a.io");
        let mixed = [crd("x.a.io", "a.io", version), crd("y.a.io", "a.io", json!(null))];
        assert!(shown(&detect(bundle, &mixed)).contains("y.a.io (nothing names its version)"));
    }

    #[test]
    fn what_could_not_be_read_is_unknown_and_never_absent() {
        let product = product("- apiServer: version\n");
        let mut detector = Detector::new(&product);
        detector.set_api_server("v1.33.4-gke.1");
        assert_eq!(shown(&detector.finish(false)), "1.33.4 in the API server");
        let mut detector = Detector::new(&product);
        detector.fail("Deployment.apps objects are unknown: permission denied.");
        assert_eq!(shown(&detector.finish(false)), "Deployment.apps objects are unknown: permission denied.");
        let reason = shown(&Detector::new(&product).finish(true));
        assert_eq!(reason, "Names were replaced in the snapshot, so The Product may be installed.");
    }
}
