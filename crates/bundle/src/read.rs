//! Install files and objects of a cluster become a [`Bundle`].
//!
//! Every document is read by itself: what cannot be read is one diagnostic with its file, line and path among the
//! problems of the bundle, and the rest is read. Start at [`BundleReader`].

pub mod codes;
mod crd;
mod installation;
mod schema;

use std::collections::BTreeMap;

use clearway_core::{Diagnostic, Limits, Place, Severity};
use clearway_schema::excerpt;
use clearway_yaml::{Node, ReadEvent, Source, Tape};
use serde_json::Value;

use crate::channel::Channel;
use crate::model::{Bundle, BundleVersion};

use installation::Installation;

/// How much of a bundle is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BundleLimits {
    /// The limits of each file and document.
    pub documents: Limits,
    /// CRDs of one bundle. Gateway API has 13, OpenShift about 200.
    pub crds: usize,
    /// API versions of one CRD. The largest number known is 5.
    pub api_versions: usize,
    /// Levels of nesting of one schema. The schema of a pod has 15.
    pub schema_depth: usize,
    /// Schemas of fields in one API version of a CRD. The largest CRDs known have 20,000.
    pub schema_fields: usize,
}

impl Default for BundleLimits {
    fn default() -> Self {
        let documents = Limits { document_bytes: 64 << 20, depth: 200, ..Limits::default() };
        BundleLimits { documents, crds: 2_000, api_versions: 50, schema_depth: 64, schema_fields: 200_000 }
    }
}

/// Reads the files or objects of one bundle.
#[derive(Debug)]
pub struct BundleReader {
    bundle: Bundle,
    limits: BundleLimits,
    installation: Installation,
    /// How many objects were read, CRDs or not.
    objects: usize,
    left_out_crds: usize,
    version: Option<BundleVersion>,
    channel: Option<Channel>,
}

impl BundleReader {
    /// A reader for a bundle with a name for messages and the domain of its annotations, such as
    /// `gateway.networking.k8s.io`.
    pub fn new(name: impl Into<String>, domain: impl Into<String>, limits: BundleLimits) -> Self {
        BundleReader {
            bundle: Bundle { name: name.into(), domain: domain.into(), ..Bundle::default() },
            limits,
            installation: Installation::default(),
            objects: 0,
            left_out_crds: 0,
            version: None,
            channel: None,
        }
    }

    /// Takes this version instead of the one in the annotations, for bundles whose CRDs have none.
    #[must_use]
    pub fn with_version(mut self, version: BundleVersion) -> Self {
        self.version = Some(version);
        self
    }

    /// Takes this channel instead of the one in the annotations.
    #[must_use]
    pub fn with_channel(mut self, channel: Channel) -> Self {
        self.channel = Some(channel);
        self
    }

    /// Reads one file: any number of YAML or JSON documents, or lists of objects.
    pub fn add_file(&mut self, file: &str, content: &[u8]) {
        let limits = self.limits.documents.clone();
        clearway_yaml::read(content, file, &limits, |event| match event {
            ReadEvent::Object { root, source, .. } => self.add(root, source),
            ReadEvent::Problem(problem) => self.bundle.problems.push(problem),
        });
    }

    /// Reads one object, as a cluster returns it. It has no place but its name.
    pub fn add_object(&mut self, object: &Value) {
        if let Some(root) = Tape::from_json(object).root() {
            self.add(root, Source::default());
        }
    }

    fn add(&mut self, root: Node<'_>, source: Source<'_>) {
        self.objects = self.objects.saturating_add(1);
        let text = |path: &[&str]| root.at(path).and_then(Node::as_text).unwrap_or_default();
        let (api_version, kind, name) = (text(&["apiVersion"]), text(&["kind"]), text(&["metadata", "name"]));
        if kind.is_empty() {
            let message = format!("{} without `kind` is not a Kubernetes object", root.describe());
            let place = source.place(root);
            self.bundle.problems.push(Diagnostic::new(codes::NOT_AN_OBJECT, Severity::Error, message).at(place));
            return;
        }
        match kind {
            "CustomResourceDefinition" => self.add_crd(root, source, api_version),
            _ => self.installation.add(root, source, kind, name, &self.bundle.domain),
        }
    }

    fn add_crd(&mut self, root: Node<'_>, source: Source<'_>, api_version: &str) {
        if self.bundle.crds.len() >= self.limits.crds {
            self.left_out_crds = self.left_out_crds.saturating_add(1);
            return;
        }
        let reader = crd::CrdReader { source, domain: &self.bundle.domain, limits: &self.limits };
        let Some(crd) = reader.read(root, api_version, &mut self.bundle.problems) else { return };
        if let Some(first) = self.bundle.crds.get(&crd.name) {
            let where_first = first.place.file.as_deref().unwrap_or("the cluster");
            let message = format!("the CRD {} is in the bundle twice; the first is in {where_first}", crd.name);
            let problem = Diagnostic::new(codes::DUPLICATE, Severity::Error, message).at(crd.place);
            self.bundle.problems.push(problem.with_help("remove one of them; only the first was judged"));
            return;
        }
        self.bundle.crds.insert(crd.name.clone(), crd);
    }

    /// The bundle, with its version and channel taken from the annotations of its CRDs unless they were given.
    pub fn finish(mut self) -> Bundle {
        let mut bundle = self.bundle;
        (bundle.policies, bundle.webhooks) = self.installation.finish();
        if self.left_out_crds > 0 {
            let message = format!("more than {} CRDs; {} were not read", self.limits.crds, self.left_out_crds);
            bundle.problems.push(Diagnostic::new(codes::TOO_MANY_CRDS, Severity::Error, message));
        }
        if bundle.crds.is_empty() && bundle.problems.is_empty() {
            let message = format!("{} has no CRD among its {} objects", excerpt(&bundle.name), self.objects);
            bundle.problems.push(Diagnostic::new(codes::NO_CRDS, Severity::Error, message));
        }
        let version = most_frequent(bundle.crds.values().filter_map(|crd| crd.bundle_version.as_deref()));
        let version = version.map(|text| BundleVersion::read(&text));
        let channel = most_frequent(bundle.crds.values().filter_map(|crd| crd.channel.as_deref()));
        let channel = channel.and_then(|word| word.parse::<Channel>().ok());
        let contradicts = |given: Option<String>, annotated: Option<String>| match (given, annotated) {
            (Some(given), Some(annotated)) if given.trim_start_matches('v') != annotated.trim_start_matches('v') => {
                let message = format!("the bundle is given as {given}, but its CRDs are annotated with {annotated}");
                Some(Diagnostic::new(codes::OTHER_ANNOTATION, Severity::Warning, message))
            }
            _ => None,
        };
        let text = |version: &Option<BundleVersion>| version.as_ref().map(ToString::to_string);
        bundle.problems.extend(contradicts(text(&self.version), text(&version)));
        let text = |channel: Option<Channel>| channel.map(|channel| channel.to_string());
        bundle.problems.extend(contradicts(text(self.channel), text(channel)));
        bundle.version = self.version.take().or(version);
        bundle.channel = self.channel.or(channel);
        bundle
    }
}

/// The text that occurs most often; the first in order of those that occur equally often.
fn most_frequent<'t>(texts: impl Iterator<Item = &'t str>) -> Option<String> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for text in texts {
        let count = counts.entry(text).or_default();
        *count = count.saturating_add(1);
    }
    let most = counts.values().copied().max()?;
    counts.into_iter().find(|(_, count)| *count == most).map(|(text, _)| text.to_owned())
}

/// The place of a node, with the object and the path within it.
fn place(source: Source<'_>, node: Node<'_>, object: &str, path: &str) -> Place {
    let path = Some(path).filter(|path| !path.is_empty()).map(str::to_owned);
    Place { object: Some(excerpt(object)), path, ..source.place(node) }
}

#[cfg(test)]
mod tests;
