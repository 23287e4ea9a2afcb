//! One element of a list of releases, borrowed from its text where that is possible.
//!
//! [`each`] hands over the elements of a JSON text one at a time, so that a list of any length takes the memory of its
//! longest element, and an element takes no more than its caps.

use std::borrow::Cow;
use std::fmt;

use clearway_core::{Diagnostic, GraphLimits};
use clearway_yaml::Node;
use serde::de::{Deserialize, DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};

use crate::codes;
use crate::files::findings::Findings;
use crate::files::record::{Record, shortened};
use crate::model::edges::is_consumed;

const KEYS: &[&str] = &["kind", "version", "arch", "payload", "previous", "next", "metadata"];

/// A release as it is written. A file with anything else in it takes the slow way, which says what.
#[derive(Default)]
pub(super) struct Entry<'a> {
    pub(super) version: Text<'a>,
    pub(super) arch: Option<Text<'a>>,
    pub(super) payload: Text<'a>,
    pub(super) previous: Vec<Text<'a>>,
    pub(super) next: Vec<Text<'a>>,
    pub(super) metadata: Vec<(Text<'a>, Text<'a>)>,
    /// It has more neighbours than a release may have, and not all of them are here.
    pub(super) too_many_neighbours: bool,
    /// It has more metadata than a release may have, and not all of it is here.
    pub(super) too_many_keys: bool,
}

/// A text, borrowed if it has no escapes.
#[derive(Default)]
pub(super) struct Text<'a>(Cow<'a, str>);

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
                f.write_str("a string")
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

/// Hands over each element of a JSON list, until one cannot be read this way.
pub(super) fn each<'t>(
    text: &'t str,
    caps: &GraphLimits,
    visit: &mut dyn FnMut(Entry<'t>),
) -> Result<(), serde_json::Error> {
    struct Each<'c, 't> {
        caps: &'c GraphLimits,
        visit: &'c mut dyn FnMut(Entry<'t>),
    }
    impl<'t> Visitor<'t> for Each<'_, 't> {
        type Value = ();
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a list of releases")
        }
        fn visit_seq<A: SeqAccess<'t>>(self, mut list: A) -> Result<(), A::Error> {
            while let Some(entry) = list.next_element_seed(Element { caps: self.caps })? {
                (self.visit)(entry);
            }
            Ok(())
        }
    }
    let mut deserializer = serde_json::Deserializer::from_str(text);
    deserializer.deserialize_seq(Each { caps, visit })?;
    deserializer.end()
}

/// Reads one element.
struct Element<'c> {
    caps: &'c GraphLimits,
}

impl<'de> DeserializeSeed<'de> for Element<'_> {
    type Value = Entry<'de>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Element<'_> {
    type Value = Entry<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a release")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut entry = Entry::default();
        // One bit for each of the keys: one that stands twice takes the slow way.
        let mut seen = 0_u8;
        while let Some(key) = map.next_key::<Text<'de>>()? {
            let place = KEYS.iter().position(|known| *known == key.as_str());
            let bit = place.map_or(0, |place| 1 << place);
            if bit == 0 || seen & bit != 0 {
                return Err(A::Error::custom("a key that is unknown or set twice"));
            }
            seen |= bit;
            match key.as_str() {
                "version" => entry.version = map.next_value()?,
                "arch" => entry.arch = map.next_value()?,
                "payload" => entry.payload = map.next_value()?,
                "previous" | "next" => {
                    let most = self.caps.neighbours;
                    let (list, over) = map.next_value_seed(List { most })?;
                    entry.too_many_neighbours |= over;
                    if key.as_str() == "next" { entry.next = list } else { entry.previous = list }
                }
                "metadata" => {
                    let most = self.caps.metadata_keys;
                    (entry.metadata, entry.too_many_keys) = map.next_value_seed(Pairs { most })?;
                }
                _ => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        let (version, payload) = (1 << 1, 1 << 3);
        if seen & version == 0 || seen & payload == 0 {
            return Err(A::Error::custom("no version or no payload"));
        }
        Ok(entry)
    }
}

/// Reads a list of texts, and keeps so many of them.
struct List {
    most: usize,
}

impl<'de> DeserializeSeed<'de> for List {
    type Value = (Vec<Text<'de>>, bool);

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for List {
    type Value = (Vec<Text<'de>>, bool);

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of strings")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let (mut texts, mut over) = (Vec::new(), false);
        while let Some(text) = list.next_element()? {
            if texts.len() < self.most { texts.push(text) } else { over = true }
        }
        Ok((texts, over))
    }
}

/// Reads an object of texts, and keeps so many of them.
struct Pairs {
    most: usize,
}

impl<'de> DeserializeSeed<'de> for Pairs {
    type Value = (Vec<(Text<'de>, Text<'de>)>, bool);

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Pairs {
    type Value = (Vec<(Text<'de>, Text<'de>)>, bool);

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object of strings")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let (mut pairs, mut over) = (Vec::new(), false);
        while let Some(pair) = map.next_entry()? {
            if pairs.len() < self.most { pairs.push(pair) } else { over = true }
        }
        Ok((pairs, over))
    }
}

/// What is wrong with an element, and where. A list may have millions of such elements, so this is not a finding yet.
pub(super) struct BadElement<'a> {
    node: Node<'a>,
    why: String,
}

impl BadElement<'_> {
    pub(super) fn finding(self, record: Record<'_>) -> Diagnostic {
        let finding = record.finding(&codes::RELEASE_UNREADABLE, self.node, self.why);
        finding.with_help("the release is not served; the others are")
    }
}

/// The same from a located object: what has the wrong shape is reported, and refuses at most this release.
pub(super) fn located<'a>(record: Record<'a>, findings: &mut Findings<'_>) -> Result<Entry<'a>, BadElement<'a>> {
    let bad = |node: Node<'a>, why: String| BadElement { node, why };
    let root = record.root;
    if !root.is_mapping() {
        return Err(bad(root, format!("{} instead of a release", root.describe())));
    }
    if let Some(key) = record.check_keys(KEYS, findings).first() {
        return Err(bad(root, format!("`{key}` of a release is set twice")));
    }
    let text = |key: &str| match root.get(key).map(|node| (node, node.as_text())) {
        Some((_, Some(text))) => Ok(Some(Text(Cow::Borrowed(text)))),
        None => Ok(None),
        Some((node, None)) if node.is_null() => Ok(None),
        Some((node, None)) => Err(bad(node, format!("`{key}` of a release is {}, not a string", node.describe()))),
    };
    let version = text("version")?.ok_or_else(|| bad(root, "a release without a `version`".to_owned()))?;
    let name = || shortened(version.as_str());
    let payload = text("payload")?.ok_or_else(|| bad(root, format!("release {} has no `payload`", name())))?;
    let arch = text("arch")?;
    let most = findings.caps().neighbours;
    let mut over = false;
    let mut list = |key: &str| {
        let mut texts = Vec::new();
        let Some(node) = root.get(key).filter(|node| !node.is_null()) else { return texts };
        let report = |node: Node<'_>| {
            let message = format!("`{key}` of release {}: {} is not a version", name(), node.describe());
            record.finding(&codes::RELEASE_NEIGHBOUR, node, message).with_help("it adds no edge")
        };
        if !node.is_sequence() {
            findings.report(&codes::RELEASE_NEIGHBOUR, || report(node));
        }
        for item in node.items() {
            match item.as_text() {
                Some(text) if texts.len() < most => texts.push(Text(Cow::Borrowed(text))),
                Some(_) => over = true,
                None => findings.report(&codes::RELEASE_NEIGHBOUR, || report(item)),
            }
        }
        texts
    };
    let (previous, next) = (list("previous"), list("next"));
    let (mut metadata, mut too_many_keys) = (Vec::new(), false);
    let most = findings.caps().metadata_keys;
    if let Some(node) = root.get("metadata").filter(|node| !node.is_mapping() && !node.is_null()) {
        return Err(bad(node, format!("`metadata` of release {} is {}, not an object", name(), node.describe())));
    }
    for (key, value) in root.get("metadata").into_iter().flat_map(Node::fields) {
        match value.as_text() {
            // It may remove edges, and without it they would be offered.
            None if is_consumed(key.raw()) => {
                let why = format!("`{}` of release {} is {}, not a string", key.raw(), name(), value.describe());
                return Err(bad(value, why));
            }
            Some(text) if metadata.len() < most => {
                metadata.push((Text(Cow::Borrowed(key.raw())), Text(Cow::Borrowed(text))));
            }
            Some(_) => too_many_keys = true,
            None => findings.report(&codes::RELEASE_METADATA, || {
                let message = format!("`{}` of release {} is {}", shortened(key.raw()), name(), value.describe());
                record.finding(&codes::RELEASE_METADATA, value, message).with_help("write it in quotes")
            }),
        }
    }
    Ok(Entry { version, arch, payload, previous, next, metadata, too_many_neighbours: over, too_many_keys })
}
