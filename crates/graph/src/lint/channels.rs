//! Channels: repeated entries, order, what each must hold of the other, and versions that are stranded in one.

use std::collections::{BTreeMap, BTreeSet};

use clearway_core::{Arch, Exceeded, Version};

use super::{At, Draft, Drafts, Index};
use crate::codes;
use crate::files::channel::Channel;
use crate::model::graph::Graph;
use crate::query::stranded::{Missing, stranded_places};

/// Which channel a release is in before it comes into another.
const BEFORE: [(&str, &str); 2] = [("stable-", "fast-"), ("fast-", "candidate-")];

/// Checks every channel.
pub(super) fn check(index: &Index<'_>, drafts: &mut Drafts) {
    let within = index.revision.rows_of_channels() <= index.revision.caps.answers_edges;
    if !within {
        let what = "updates to read in all channels";
        let above = Exceeded { cap: "answers_edges", limit: index.revision.caps.answers_edges, what };
        let message = format!("{above}: stranded versions were not checked");
        drafts.push(Draft::new(&codes::CHANNEL_UNCHECKED, "", At::Key("versions"), message, "list fewer versions"));
    }
    for channel in index.revision.channels() {
        repeated(channel, drafts);
        order(channel, drafts);
        subset(index, channel, drafts);
        if within {
            without_a_way(index, channel, drafts);
        }
    }
}

fn draft(code: &'static codes::Code, channel: &Channel, version: &Version, message: String, help: String) -> Draft {
    let at = At::Entry { list: "versions", text: version.to_string(), repeat: 0 };
    Draft::new(code, channel.files.first().map_or("", String::as_str), at, message, help)
}

fn repeated(channel: &Channel, drafts: &mut Drafts) {
    // With several files, the same version in each is what `GD012` tells.
    if channel.files.len() > 1 {
        return;
    }
    let mut seen: BTreeMap<&Version, usize> = BTreeMap::new();
    for version in &channel.versions {
        let times = seen.entry(version).or_insert(0);
        *times += 1;
        if *times > 1 {
            let message = format!("{version} is already listed in {}", channel.name);
            let mut draft =
                draft(&codes::CHANNEL_REPEATED, channel, version, message, "remove one of the two".to_owned());
            draft.at = At::Entry { list: "versions", text: version.to_string(), repeat: *times - 1 };
            drafts.push(draft);
        }
    }
}

fn order(channel: &Channel, drafts: &mut Drafts) {
    let key = |version: &Version| (version.major(), version.minor(), version.patch());
    let unordered = channel.versions.windows(2).find_map(|pair| match pair {
        [one, other] if channel.files.len() == 1 && key(one) > key(other) => Some((one, other)),
        _ => None,
    });
    if let Some((one, other)) = unordered {
        let message = format!("{other} is listed after {one}");
        drafts.push(draft(&codes::CHANNEL_ORDER, channel, other, message, "sort the list by version".to_owned()));
    }
}

fn subset(index: &Index<'_>, channel: &Channel, drafts: &mut Drafts) {
    let before = BEFORE.iter().find_map(|(name, before)| {
        let minor = channel.name.strip_prefix(name)?;
        index.revision.channels.get(&format!("{before}{minor}"))
    });
    let Some(before) = before else { return };
    let soaked: BTreeSet<&Version> = before.versions.iter().collect();
    let holds = |version: &Version| soaked.contains(version) || soaked.contains(&version.without_build());
    let mut told = BTreeSet::new();
    for version in channel.versions.iter().filter(|version| !holds(version)) {
        if told.insert(version) {
            let message = format!("{version} is in {}, but not in {}", channel.name, before.name);
            let help = format!("list it in {} first, or remove it here", before.name);
            drafts.push(draft(&codes::CHANNEL_SUBSET, channel, version, message, help));
        }
    }
}

/// Stranded versions, one finding for each, whatever the architectures.
fn without_a_way(index: &Index<'_>, channel: &Channel, drafts: &mut Drafts) {
    let mut found: BTreeMap<Version, (Missing, Vec<&Arch>)> = BTreeMap::new();
    // Architectures mostly have the same releases and updates, and then the same versions are stranded.
    let mut known: Vec<(Graph, Vec<(u32, Missing)>)> = Vec::new();
    for arch in index.revision.arches() {
        let graph = index.revision.graph(&channel.name, arch);
        let at = known.iter().position(|(other, _)| same_updates(&graph, other)).unwrap_or_else(|| {
            let stuck = stranded_places(&graph);
            known.push((graph, stuck));
            known.len() - 1
        });
        let Some((graph, stuck)) = known.get(at) else { continue };
        for (place, missing) in stuck {
            let Some(node) = graph.node(*place) else { continue };
            found.entry(node.version().clone()).or_insert((*missing, Vec::new())).1.push(arch);
        }
    }
    for (version, (missing, arches)) in found {
        let message = format!("in {}, {}", channel.name, no_way(&version, missing));
        let help = format!("see `clearway graph stranded {}`", channel.name);
        let mut draft = draft(&codes::CHANNEL_STRANDED, channel, &version, message, help);
        let arches: Vec<&str> = arches.into_iter().map(Arch::as_str).collect();
        draft.note = Some(format!("on {}", arches.join(", ")));
        drafts.push(draft);
    }
}

/// Whether two graphs have the same versions, and the same updates without a risk among them.
fn same_updates(one: &Graph, other: &Graph) -> bool {
    let versions = |graph: &Graph| graph.nodes().len();
    versions(one) == versions(other)
        && one.edges() == other.edges()
        && one.nodes().iter().zip(other.nodes()).all(|(one, other)| one.version() == other.version())
}

/// That a version is stranded, in words.
pub(super) fn no_way(version: &Version, missing: Missing) -> String {
    let goal = match missing {
        Missing::ToNewestPatch => "the newest patch of its minor version",
        Missing::OutOfMinor => "a later minor version",
        Missing::Both => "the newest patch of its minor version, nor a later one",
    };
    format!("there is no path without a risk from {version} to {goal}")
}
