//! `raw/metadata.json`: metadata added to releases from outside, by version.
//!
//! It may remove edges, so a part that cannot be read refuses the revision, and so does one that stands twice: of two lists
//! one would be lost, and two expressions joined would match what neither of them does. Start at [`read`].

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, HashSet};

use clearway_core::Version;

use crate::codes;
use crate::files::findings::Findings;
use crate::files::record::{read_one, shortened};
use crate::model::edges::is_consumed;

/// The path of the file.
pub(crate) const PATH: &str = "raw/metadata.json";

/// Metadata by version without build metadata.
pub(crate) type Raw = BTreeMap<Version, Vec<(String, String)>>;

/// Reads the file; an absent one adds nothing.
pub(crate) fn read(bytes: Option<&[u8]>, findings: &mut Findings<'_>) -> Raw {
    let Some(bytes) = bytes else { return Raw::new() };
    read_one(PATH, bytes, &codes::RAW_UNREADABLE, findings, |record, findings| {
        let mut raw = Raw::new();
        for (key, entry) in record.root.fields() {
            let version = match key.raw().parse::<Version>() {
                Ok(version) => version.without_build(),
                Err(error) => {
                    findings.refuse_with(&codes::RAW_UNREADABLE, || {
                        record.finding(&codes::RAW_UNREADABLE, key, error.to_string())
                    });
                    continue;
                }
            };
            if !entry.is_mapping() {
                let message = format!("the metadata of {version} is {}, not an object of strings", entry.describe());
                findings.refuse(record.finding(&codes::RAW_UNREADABLE, entry, message));
            }
            let Entry::Vacant(vacant) = raw.entry(version.clone()) else {
                findings.refuse_with(&codes::RAW_UNREADABLE, || {
                    let message = format!("the metadata of {version} is set twice");
                    record.finding(&codes::RAW_UNREADABLE, key, message).with_help("write it in one object")
                });
                continue;
            };
            let pairs = vacant.insert(Vec::new());
            let mut consumed: HashSet<&str> = HashSet::new();
            for (name, value) in entry.fields() {
                if is_consumed(name.raw()) && !consumed.insert(name.raw()) {
                    findings.refuse_with(&codes::RAW_UNREADABLE, || {
                        let message = format!("`{}` of {version} is set twice", name.raw());
                        record.finding(&codes::RAW_UNREADABLE, name, message).with_help("write both into one value")
                    });
                }
                if let Some(text) = value.as_text() {
                    pairs.push((name.raw().to_owned(), text.to_owned()));
                } else {
                    findings.refuse_with(&codes::RAW_UNREADABLE, || {
                        let name = shortened(name.raw());
                        let message = format!("`{name}` of {version} is {}, not a string", value.describe());
                        record.finding(&codes::RAW_UNREADABLE, value, message)
                    });
                }
            }
        }
        Some(raw)
    })
    .unwrap_or_default()
}

/// Whether the file changes the edge between a version that has a key in it and another one.
///
/// Lists are joined with those of the release, so what matters is whether the other version stands in the one from
/// here. Expressions are joined too, and then it is the joined one that matches.
pub(crate) fn changes_edge(raw: &Raw, version: &Version, key: &str, other: &Version) -> bool {
    let entries = raw.get(version).into_iter().flatten();
    entries.filter(|(name, _)| name == key).any(|(_, value)| {
        let mut listed = value.split(',').map(str::trim);
        let is_other = |text: &str| text.parse::<Version>().is_ok_and(|listed| listed.without_build() == *other);
        key.ends_with("remove_regex") || listed.any(|text| text == "*" || is_other(text))
    })
}
