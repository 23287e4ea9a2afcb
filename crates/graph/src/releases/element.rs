//! One element of a list of releases, borrowed from its text where that is possible.

use std::borrow::Cow;
use std::fmt;

use clearway_core::Diagnostic;
use clearway_yaml::Node;
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};

use crate::codes;
use crate::record::{Findings, Record};

const KEYS: &[&str] = &["kind", "version", "arch", "payload", "previous", "next", "metadata"];

/// A release as it is written. A file with anything else in it takes the slow way, which says what.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Entry<'a> {
    #[serde(borrow)]
    pub(super) version: Text<'a>,
    #[serde(borrow, default)]
    pub(super) arch: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) payload: Text<'a>,
    #[serde(borrow, default)]
    pub(super) previous: Vec<Text<'a>>,
    #[serde(borrow, default)]
    pub(super) next: Vec<Text<'a>>,
    #[serde(borrow, default)]
    pub(super) metadata: Pairs<'a>,
    #[serde(default, rename = "kind")]
    _kind: Option<IgnoredAny>,
}

/// A text, borrowed if it has no escapes.
pub(super) struct Text<'a>(Cow<'a, str>);

/// An object of texts.
#[derive(Default)]
pub(super) struct Pairs<'a>(pub(super) Vec<(Text<'a>, Text<'a>)>);

impl Text<'_> {
    pub(super) fn as_str(&self) -> &str {
        &self.0
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TextVisitor;
        impl<'de> Visitor<'de> for TextVisitor {
            type Value = Text<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text")
            }
            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(Text(Cow::Borrowed(text)))
            }
            fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
                Ok(Text(Cow::Owned(text.to_owned())))
            }
        }
        deserializer.deserialize_str(TextVisitor)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Pairs<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct PairsVisitor;
        impl<'de> Visitor<'de> for PairsVisitor {
            type Value = Pairs<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object of texts")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut pairs = Vec::new();
                while let Some(pair) = map.next_entry()? {
                    pairs.push(pair);
                }
                Ok(Pairs(pairs))
            }
        }
        deserializer.deserialize_map(PairsVisitor)
    }
}

/// The same from a located object: what has the wrong shape is reported, and refuses at most this release.
pub(super) fn located<'a>(record: Record<'a>, findings: &mut Findings<'_>) -> Result<Entry<'a>, Box<Diagnostic>> {
    let bad = |node: Node<'_>, why: String| {
        let finding = record.finding(&codes::RELEASE_UNREADABLE, node, why);
        Box::new(finding.with_help("the release is not served; the others are"))
    };
    let root = record.root;
    if !root.is_mapping() {
        return Err(bad(root, format!("{} where a release is expected", root.describe())));
    }
    record.check_keys(KEYS, findings);
    let text = |key: &str| match root.get(key).map(|node| (node, node.as_text())) {
        Some((_, Some(text))) => Ok(Some(Text(Cow::Borrowed(text)))),
        None => Ok(None),
        Some((node, None)) if node.is_null() => Ok(None),
        Some((node, None)) => Err(bad(node, format!("`{key}` of a release is {}, not a text", node.describe()))),
    };
    let version = text("version")?.ok_or_else(|| bad(root, "a release without a `version`".to_owned()))?;
    let payload =
        text("payload")?.ok_or_else(|| bad(root, format!("release {} has no `payload`", version.as_str())))?;
    let arch = text("arch")?;
    let mut list = |key: &str| {
        let mut texts = Vec::new();
        let Some(node) = root.get(key).filter(|node| !node.is_null()) else { return texts };
        let report = |node: Node<'_>| {
            let message = format!("`{key}` of release {}: {} is not a version", version.as_str(), node.describe());
            record.finding(&codes::RELEASE_NEIGHBOUR, node, message).with_help("no edge comes of it")
        };
        if !node.is_sequence() {
            findings.push(report(node));
        }
        for item in node.items() {
            match item.as_text() {
                Some(text) => texts.push(Text(Cow::Borrowed(text))),
                None => findings.push(report(item)),
            }
        }
        texts
    };
    let (previous, next) = (list("previous"), list("next"));
    let mut metadata = Vec::new();
    for (key, value) in root.get("metadata").into_iter().flat_map(Node::fields) {
        if let Some(text) = value.as_text() {
            metadata.push((Text(Cow::Borrowed(key.raw())), Text(Cow::Borrowed(text))));
        } else {
            let message = format!("`{}` of release {} is {}", key.raw(), version.as_str(), value.describe());
            findings.push(record.finding(&codes::RELEASE_METADATA, value, message).with_help("write it in quotes"));
        }
    }
    Ok(Entry { version, arch, payload, previous, next, metadata: Pairs(metadata), _kind: None })
}
