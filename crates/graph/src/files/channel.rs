//! One file of `channels/`: a name and the versions that the channel offers.

use std::collections::BTreeSet;

use clearway_core::Version;

use crate::codes;
use crate::files::findings::Findings;
use crate::files::record::{Record, read_one, shortened};

/// A channel as its files declare it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Channel {
    /// The name that clients ask for.
    pub name: String,
    /// The files that declare it.
    pub files: Vec<String>,
    /// The versions, as listed; one with build metadata is of that architecture only.
    pub versions: Vec<Version>,
    /// Versions that are never to be promoted into this channel (U21).
    pub tombstones: Vec<Version>,
}

const KEYS: &[&str] = &["name", "versions", "feeder", "tombstones"];

/// Reads a channel file; nothing, with the revision refused, if it cannot be read.
pub(crate) fn read(path: &str, bytes: &[u8], findings: &mut Findings<'_>) -> Option<Channel> {
    read_one(path, bytes, &codes::CHANNEL_UNREADABLE, findings, |record, findings| parse(path, record, findings))
}

fn parse(path: &str, record: Record<'_>, findings: &mut Findings<'_>) -> Option<Channel> {
    let repeated = record.check_keys(KEYS, findings);
    if repeated.iter().any(|key| matches!(*key, "name" | "versions")) {
        let message = "`name` or `versions` of the channel is set twice";
        findings.refuse(record.finding(&codes::CHANNEL_UNREADABLE, record.root, message));
        return None;
    }
    let name =
        record.root.get("name").and_then(|node| Some((node, node.as_text()?))).filter(|(_, name)| !name.is_empty());
    let Some((name_node, name)) = name else {
        let at = record.root.get("name").unwrap_or(record.root);
        let finding = record.finding(&codes::CHANNEL_UNREADABLE, at, "the channel has no `name` that is a string");
        findings.refuse(finding.with_help("such as `name: stable-4.14`"));
        return None;
    };
    let allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'-' | b'.');
    let caps = findings.caps();
    let place = |node: clearway_yaml::Node<'_>| record.finding(&codes::OVER_CAP, node, "").place;
    let cap = caps.channel_name_bytes;
    if findings.exceeds("channel_name_bytes", name.len(), cap, "bytes in the name of a channel", || place(name_node)) {
        return None;
    }
    if !name.bytes().all(allowed) {
        let message = format!("no client can request the channel `{}`", shortened(name));
        let help = "use lower-case letters, digits, `-` and `.`";
        findings.push(record.finding(&codes::CHANNEL_NAME, name_node, message).with_help(help));
    }
    let Some(list) = record.root.get("versions").filter(|list| list.is_sequence()) else {
        let at = record.root.get("versions").unwrap_or(record.root);
        let finding = record.finding(&codes::CHANNEL_UNREADABLE, at, "the channel has no list of `versions`");
        findings.refuse(finding.with_help("for a channel without versions, write `versions: []`"));
        return None;
    };
    let lists = [Some(list), record.root.get("tombstones")];
    for list in lists.into_iter().flatten() {
        let (count, cap) = (list.items().count(), caps.channel_versions);
        if findings.exceeds("channel_versions", count, cap, "versions in one channel", || place(list)) {
            return None;
        }
    }
    let versions: Vec<_> = versions(record, list, findings).collect();
    let tombstones: Vec<Version> = match record.root.get("tombstones") {
        Some(list) => crate::files::channel::versions(record, list, findings).map(|(version, _)| version).collect(),
        None => Vec::new(),
    };
    let dead: BTreeSet<&Version> = tombstones.iter().collect();
    for (version, node) in versions.iter().filter(|(version, _)| dead.contains(version)) {
        findings.report(&codes::CHANNEL_TOMBSTONE, || {
            let message = format!("{version} has a tombstone in this channel and is still listed");
            record
                .finding(&codes::CHANNEL_TOMBSTONE, *node, message)
                .with_help("it is still served; edges to and from a tombstoned version were never supported")
        });
    }
    let versions = versions.into_iter().map(|(version, _)| version).collect();
    Some(Channel { name: name.to_owned(), files: vec![path.to_owned()], versions, tombstones })
}

/// The entries of a list that are versions; the others are reported.
fn versions<'a>(
    record: Record<'a>,
    list: clearway_yaml::Node<'a>,
    findings: &mut Findings<'_>,
) -> std::vec::IntoIter<(Version, clearway_yaml::Node<'a>)> {
    let mut read = Vec::new();
    for node in list.items() {
        let parsed = match node.as_text().map(str::parse::<Version>) {
            Some(Ok(version)) => {
                read.push((version, node));
                continue;
            }
            Some(Err(error)) => Some(error),
            None => None,
        };
        findings.report(&codes::CHANNEL_VERSION, || {
            let why = parsed.map_or_else(|| format!("{} is not a version", node.describe()), |error| error.to_string());
            let help = "the entry is ignored; a version has three numbers, such as 4.10.0";
            record.finding(&codes::CHANNEL_VERSION, node, why).with_help(help)
        });
    }
    read.into_iter()
}

impl Channel {
    /// How many versions it lists, tombstones included.
    pub(crate) fn entries(&self) -> usize {
        self.versions.len() + self.tombstones.len()
    }

    /// Takes in another file of the same name.
    pub(crate) fn join(&mut self, other: Channel) {
        self.files.extend(other.files);
        self.versions.extend(other.versions);
        self.tombstones.extend(other.tombstones);
    }
}
