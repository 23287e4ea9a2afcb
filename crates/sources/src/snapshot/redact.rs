//! Replaces names in a snapshot by short hashes, so that it can be handed to somebody else.
//!
//! Replaced are the cluster's id, who was asked, namespaces, names and UIDs of objects, and values of labels, wherever
//! they stand as a word of their own, and IPv4 addresses; annotations are dropped but for a few. Equal names stay equal, in series and in
//! objects alike. The hashes are keyed ([`RedactOptions::key`]), or names could be guessed and compared.
//!
//! What the rules see must not change: a value stays as it is if some selector of the snapshot tells it from its hash
//! (`namespace="openshift-image-registry"`), and so do names that every cluster has. What a rule decides by the
//! cluster's id cannot be decided again, and functions that read values of labels (`label_replace`) read hashes. Names
//! of labels and of custom resource definitions stay, and so do words of free text that are no name of anything in the
//! snapshot.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;

use clearway_core::{Digest, GroupKind};
use clearway_promql::ast::{ExprKind, MatchOp};
use clearway_promql::matching::Pattern;
use clearway_promql::series::{BuildError, Builder, Capacity};
use clearway_promql::{CLUSTER_ID_LABEL, Limits, Query, Series};
use serde_json::{Map, Value};

use super::{Omission, Part, Snapshot, SnapshotError, strip};

/// Labels of series whose values say what is measured, not whose it is.
const LABELS: [&str; 22] = [
    "__name__",
    "le",
    "quantile",
    "type",
    "version",
    "arch",
    "phase",
    "status",
    "condition",
    "reason",
    "role",
    "mode",
    "vendor",
    "family",
    "resource",
    "invoker",
    "provider",
    "code",
    "verb",
    "channel",
    "from_version",
    "region_type",
];
/// Labels and annotations of objects whose values every cluster has; a slash at the end means all below.
const KEYS: [&str; 7] = [
    "kubernetes.io/arch",
    "kubernetes.io/os",
    "app.kubernetes.io/version",
    "node-role.kubernetes.io/",
    "gateway.networking.k8s.io/",
    "clearway.dev/",
    "pod-security.kubernetes.io/",
];
/// Names that say nothing about whose cluster it is, and that rules ask for.
const NAMES: [&str; 14] = [
    "cluster",
    "version",
    "default",
    "true",
    "false",
    "linux",
    "windows",
    "amd64",
    "arm64",
    "ppc64le",
    "s390x",
    "enabled",
    "disabled",
    "restricted",
];
/// How names of namespaces begin that belong to the platform.
const PREFIXES: [&str; 2] = ["kube-", "openshift-"];
/// Fields whose texts are words of an API.
const WORDS: [&str; 6] = ["kind", "apiVersion", "type", "status", "reason", "phase"];

/// What is kept, and how the rest is hashed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RedactOptions {
    /// Goes into every hash. With the same key a name has the same hash in every snapshot; by default it is the
    /// cluster's id, so that it has within one cluster.
    pub key: Option<String>,
    /// Labels whose values are kept besides those that always are.
    pub keep_labels: BTreeSet<String>,
    /// Names and values that are kept.
    pub keep_names: BTreeSet<String>,
}

/// The snapshot with hashes for names.
pub fn redact(snapshot: &Snapshot, options: &RedactOptions) -> Result<Snapshot, SnapshotError> {
    let id = snapshot.cluster.id.clone().unwrap_or_default();
    let key = options.key.clone().unwrap_or_else(|| id.clone());
    let mut names = Names { options, key, id, kept: BTreeSet::new(), known: BTreeMap::new() };
    let mut redacted = snapshot.clone();
    redacted.redacted = true;
    for part in redacted.objects.values_mut() {
        if let Part::Collected(objects) = part {
            objects.items = std::mem::take(&mut objects.items).into_iter().filter_map(strip).collect();
        }
    }
    // First all that is to be replaced, so that it is replaced everywhere.
    if let Ok(evidence) = snapshot.series.known() {
        let selectors = evidence.windows.iter().map(|window| parsed(&window.selector));
        names.of_series(&evidence.series, &selectors.collect::<Result<Vec<_>, _>>()?)?;
    }
    // The names in definitions are words of an API: rules about bundles go by them.
    let others = redacted.objects.iter().filter(|(kind, _)| !is_definition(kind));
    for objects in others.filter_map(|(_, part)| part.known().ok()) {
        objects.items.iter().for_each(|item| names.of_object(item));
    }
    if !names.id.is_empty() {
        let id = names.id.clone();
        names.replace(&id);
    }
    names.known.retain(|name, _| !names.kept.contains(name));

    redacted.cluster.id = snapshot.cluster.id.as_ref().map(|id| names.hash(id));
    redacted.sources = snapshot.sources.iter().map(|source| names.hash(source)).collect();
    let omission = |out: &Omission| Omission { what: names.text(&out.what), why: names.text(&out.why) };
    redacted.left_out = snapshot.left_out.iter().map(omission).collect();
    if let Part::Collected(evidence) = &mut redacted.series {
        let failed = |error: BuildError| SnapshotError::Series { why: error.to_string() };
        evidence.series = names.series(&evidence.series).map_err(failed)?;
        for window in &mut evidence.windows {
            window.selector = names.without_id(&window.selector)?;
        }
    }
    for (kind, part) in &mut redacted.objects {
        match part {
            Part::NotCollected { why } => *why = names.text(why),
            Part::Collected(objects) if is_definition(kind) => {
                // Their names are words of an API, and stay.
                objects.items.iter_mut().for_each(|item| names.definition(item));
            }
            Part::Collected(objects) => {
                let selection = &mut objects.selection;
                let unread = selection.not_read.iter_mut().map(|one| &mut one.name);
                let by_name = selection.only.iter_mut().chain(unread);
                let only = by_name.flat_map(|one| one.namespace.iter_mut().chain([&mut one.name]));
                for text in only.chain(&mut selection.namespace).chain(&mut selection.name) {
                    let stays = names.is_common(text) || names.kept.contains(text);
                    *text = if stays { text.clone() } else { names.hash(text) };
                }
                selection.labels = selection.labels.as_ref().map(|labels| names.text(labels));
                objects.items.iter_mut().for_each(|item| names.value(item));
            }
        }
    }
    for why in [not_collected(&mut redacted.series), not_collected(&mut redacted.crds)].into_iter().flatten() {
        *why = names.text(why);
    }
    Ok(redacted)
}

/// Whether objects define an API.
fn is_definition(kind: &GroupKind) -> bool {
    kind.group == "apiextensions.k8s.io" && kind.kind == "CustomResourceDefinition"
}

fn not_collected<T>(part: &mut Part<T>) -> Option<&mut String> {
    match part {
        Part::Collected(_) => None,
        Part::NotCollected { why } => Some(why),
    }
}

/// The names of a snapshot and what stands for them.
struct Names<'o> {
    options: &'o RedactOptions,
    key: String,
    /// The cluster's id; empty if it is not known.
    id: String,
    /// Values that stay, wherever they stand.
    kept: BTreeSet<String>,
    known: BTreeMap<String, String>,
}

impl Names<'_> {
    fn hash(&self, text: &str) -> String {
        let digest = Digest::sha256(format!("{}\0{text}", self.key).as_bytes());
        format!("r-{}", digest.hex().chars().take(12).collect::<String>())
    }

    fn replace(&mut self, name: &str) {
        if !self.known.contains_key(name) {
            self.known.insert(name.to_owned(), self.hash(name));
        }
    }

    /// Whether a name is one that every cluster has, or a mere number.
    fn is_common(&self, name: &str) -> bool {
        name.len() < 2
            || NAMES.contains(&name)
            || name.bytes().all(|byte| byte.is_ascii_digit())
            || PREFIXES.iter().any(|prefix| name.starts_with(prefix))
            || self.options.keep_names.contains(name)
    }

    fn keeps_label(&self, label: &str) -> bool {
        LABELS.contains(&label) || self.options.keep_labels.contains(label)
    }

    /// The values of labels: which stay, and which are replaced.
    fn of_series(&mut self, series: &Series, selectors: &[Query]) -> Result<(), SnapshotError> {
        let matchers = matchers(selectors)?;
        let mut seen: BTreeSet<(String, String)> = BTreeSet::new();
        for (labels, _) in series.iter() {
            seen.extend(labels.iter().map(|(label, value)| (label.to_owned(), value.to_owned())));
        }
        for (label, value) in seen {
            let hash = self.hash(&value);
            let told_apart = matchers
                .get(&label)
                .is_some_and(|tests| tests.iter().any(|test| test.matches(&value) != test.matches(&hash)));
            // The id is replaced in selectors, too.
            let is_id = label == CLUSTER_ID_LABEL && value == self.id;
            if !is_id && (self.keeps_label(&label) || told_apart) {
                self.kept.insert(value);
            } else if !self.is_common(&value) {
                self.known.insert(value, hash);
            }
        }
        Ok(())
    }

    /// The names of an object and of whatever has `metadata` within it.
    fn of_object(&mut self, value: &Value) {
        match value {
            Value::Array(items) => items.iter().for_each(|item| self.of_object(item)),
            Value::Object(fields) => {
                if let Some(Value::Object(metadata)) = fields.get("metadata") {
                    self.of_metadata(metadata);
                }
                fields.values().for_each(|value| self.of_object(value));
            }
            _ => {}
        }
    }

    fn of_metadata(&mut self, metadata: &Map<String, Value>) {
        let text = |name: &str| metadata.get(name).and_then(Value::as_str);
        let own = ["name", "namespace", "uid"].into_iter().filter_map(text).map(str::to_owned);
        // Generated names end in a dash, which no word does.
        let prefix = text("generateName").map(|name| name.trim_end_matches('-').to_owned());
        let labels = metadata.get("labels").and_then(Value::as_object).into_iter().flatten();
        let labels =
            labels.filter(|(key, _)| !keeps_key(key)).filter_map(|(_, value)| value.as_str()).map(str::to_owned);
        let names: Vec<String> = own.chain(prefix).chain(labels).filter(|name| !self.is_common(name)).collect();
        for name in names {
            self.replace(&name);
        }
    }

    fn series(&self, series: &Series) -> Result<Series, BuildError> {
        let mut builder = Builder::new(Capacity::default());
        for (labels, samples) in series.iter() {
            for (label, value) in labels.iter() {
                let known = self.known.get(value).filter(|_| !self.keeps_label(label));
                builder.label(label, known.map_or(value, String::as_str))?;
            }
            let id = builder.series()?;
            for (time, value) in samples.times.iter().zip(samples.values) {
                builder.sample(id, *time, *value)?;
            }
        }
        builder.finish()
    }

    /// A definition keeps its API and the annotations of its bundle; labels, other annotations and the webhook for
    /// conversion belong to whoever installed it.
    fn definition(&self, definition: &mut Value) {
        let notes = definition.pointer_mut("/metadata/annotations").and_then(Value::as_object_mut);
        if let Some(notes) = notes {
            notes.retain(|key, _| keeps_key(key) || key.ends_with("/bundle-version") || key.ends_with("/channel"));
        }
        for place in ["/metadata/labels", "/metadata/ownerReferences", "/metadata/uid", "/spec/conversion/webhook"] {
            if let Some(value) = definition.pointer_mut(place) {
                self.value(value);
            }
        }
    }

    fn value(&self, value: &mut Value) {
        match value {
            Value::String(text) => *text = self.text(text),
            Value::Array(items) => items.iter_mut().for_each(|item| self.value(item)),
            Value::Object(fields) => {
                if let Some(Value::Object(annotations)) = fields.get_mut("annotations") {
                    annotations.retain(|key, _| keeps_key(key));
                }
                for (name, value) in std::mem::take(fields) {
                    let (mut value, word) = (value, WORDS.contains(&name.as_str()));
                    if !(word && value.is_string()) {
                        self.value(&mut value);
                    }
                    fields.insert(self.text(&name), value);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// A text with hashes for the names in it: it may be a name, hold some as words, or as parts of a word
    /// (`web.shop.svc`).
    fn text(&self, text: &str) -> String {
        if let Some(hash) = self.known.get(text) {
            return hash.clone();
        }
        let in_word = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '.' | '_' | '-');
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while !rest.is_empty() {
            let end = rest.find(|letter| !in_word(letter)).unwrap_or(rest.len());
            let (word, tail) = rest.split_at(end);
            self.word(word, &mut out);
            let between = tail.find(in_word).unwrap_or(tail.len());
            let (other, tail) = tail.split_at(between);
            out.push_str(other);
            rest = tail;
        }
        out
    }

    fn word(&self, word: &str, out: &mut String) {
        let bare = word.trim_end_matches(['.', '-', '_']);
        let end = word.strip_prefix(bare).unwrap_or_default();
        match self.known.get(bare) {
            Some(hash) => out.push_str(hash),
            None if bare.parse::<Ipv4Addr>().is_ok() => out.push_str(&self.hash(bare)),
            None => {
                for (index, part) in bare.split('.').enumerate() {
                    if index > 0 {
                        out.push('.');
                    }
                    out.push_str(self.known.get(part).map_or(part, String::as_str));
                }
            }
        }
        out.push_str(end);
    }

    /// A selector that asks for the cluster by its new id.
    fn without_id(&self, selector: &str) -> Result<String, SnapshotError> {
        let mut expr = parsed(selector)?.expr().clone();
        if let ExprKind::Selector(selector) = &mut expr.kind {
            for matcher in &mut selector.matchers {
                if matcher.label.text == CLUSTER_ID_LABEL && !self.id.is_empty() && matcher.value.text == self.id {
                    matcher.value.text = self.hash(&self.id);
                }
            }
        }
        Ok(expr.to_string())
    }
}

fn keeps_key(key: &str) -> bool {
    KEYS.iter().any(|known| key == *known || (known.ends_with('/') && key.starts_with(known)))
}

/// A condition on a label.
enum Test {
    Equal(String),
    Matches(Pattern),
}

impl Test {
    fn matches(&self, value: &str) -> bool {
        match self {
            Test::Equal(wanted) => value == wanted,
            Test::Matches(pattern) => pattern.matches(value),
        }
    }
}

/// A selector that cannot be read may ask for anything, so that nothing could be replaced.
fn parsed(selector: &str) -> Result<Query, SnapshotError> {
    let failed = || SnapshotError::Series { why: format!("`{selector}` is not a selector") };
    Query::parse(selector, &Limits::default()).map_err(|_| failed())
}

/// The conditions that selectors have for each label. Whether they say yes or no makes no difference.
fn matchers(selectors: &[Query]) -> Result<BTreeMap<String, Vec<Test>>, SnapshotError> {
    let mut tests: BTreeMap<String, Vec<Test>> = BTreeMap::new();
    for matcher in selectors.iter().flat_map(Query::selectors).flat_map(|selector| &selector.matchers) {
        let value = &matcher.value.text;
        let test = match matcher.op {
            MatchOp::Equal | MatchOp::NotEqual => Test::Equal(value.clone()),
            MatchOp::Matches | MatchOp::NotMatches => {
                let pattern = Pattern::new(value, Limits::default().pattern_bytes);
                Test::Matches(pattern.map_err(|error| SnapshotError::Series { why: error.to_string() })?)
            }
        };
        tests.entry(matcher.label.text.clone()).or_default().push(test);
    }
    Ok(tests)
}
