//! From the files of one directory to one revision: read everything, then build everything.
//!
//! Every file is read even after one of them refused the revision, so that a run names all that is wrong.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::Arc;

use clearway_core::{Arch, Diagnostic, Digest, Limits};

use crate::block::{self, Block};
use crate::channel::{self, Channel};
use crate::codes;
use crate::declaration::{self, Declaration};
use crate::edges::{self, Context, is_consumed};
use crate::graph::Node;
use crate::inputs::{Inputs, Role, Sum, extension, role};
use crate::raw::{self, Raw};
use crate::record::{Findings, whole};
use crate::releases::{Listed, Releases};
use crate::revision::{Members, Release, Revision};
use crate::schema;
use crate::verdicts::{self, Targets};

/// What came of loading.
#[derive(Debug)]
pub struct Outcome {
    /// The revision; nothing if it is refused, and then the last good one is to stay.
    pub revision: Option<Revision>,
    /// What is wrong with the files, by place.
    pub diagnostics: Vec<Diagnostic>,
}

/// The metadata key that names a release's channels.
const CHANNELS: &str = "io.openshift.upgrades.graph.release.channels";

/// Makes a revision of the files.
pub fn load(inputs: &Inputs, limits: &Limits) -> Outcome {
    let mut findings = Findings::new(limits);
    let mut version_is_unreadable = false;
    for (path, why) in inputs.unreadable() {
        version_is_unreadable |= path == "version";
        let finding = codes::FILE_UNREADABLE.finding(format!("cannot read {path}: {why}")).at(whole(path));
        findings.refuse(finding.with_help("put a regular file there, or remove it"));
    }
    if !version_is_unreadable {
        schema::check(inputs.get("version"), &mut findings);
    }
    let raw = raw::read(inputs.get(raw::PATH), &mut findings);
    let mut releases = Releases::default();
    let mut blocks: Vec<Block> = Vec::new();
    let mut declarations: Vec<Declaration> = Vec::new();
    let mut channels: BTreeMap<String, Channel> = BTreeMap::new();
    let mut sum = Sum::default();
    for (path, bytes) in inputs.iter() {
        sum.add(path, bytes);
        let role = role(path);
        match role {
            Role::Version | Role::Raw | Role::Other => continue,
            Role::Misnamed => {
                let finding = codes::FILE_NAME.finding("no service reads a file of this name here").at(whole(path));
                findings.push(finding.with_help("rename it to end in .yaml, or move it elsewhere"));
                continue;
            }
            Role::Channel => {
                if let Some(channel) = channel::read(path, bytes, &mut findings) {
                    add_channel(&mut channels, channel, &mut findings);
                }
            }
            Role::Block => blocks.extend(block::read(path, bytes, &mut findings)),
            Role::Declaration => declarations.extend(declaration::read(path, bytes, &mut findings)),
            Role::Releases => releases.read(path, bytes, &mut findings),
        }
        if extension(path) == "yml" && matches!(role, Role::Channel | Role::Block) {
            let finding = codes::FILE_NAME.finding("a .yml file is read here, but Cincinnati passes over it");
            findings.push(finding.at(whole(path)).with_help("rename it to end in .yaml"));
        }
    }
    let files = Files { releases, blocks, declarations, channels, raw };
    let revision = (!findings.refused).then(|| build(sum.id(), files, &mut findings));
    let mut diagnostics = findings.diagnostics;
    diagnostics.sort_by(|one, other| one.place.cmp(&other.place).then_with(|| one.code.cmp(&other.code)));
    Outcome { revision, diagnostics }
}

fn add_channel(channels: &mut BTreeMap<String, Channel>, channel: Channel, findings: &mut Findings<'_>) {
    if let Some(known) = channels.get_mut(&channel.name) {
        let first = known.files.first().map_or("", String::as_str);
        let message =
            format!("the channel `{}` is also declared in {first}; it holds the versions of both", channel.name);
        let file = channel.files.first().map_or("", String::as_str);
        findings.push(codes::CHANNEL_TWICE.finding(message).at(whole(file)).with_help("one file a channel"));
        known.join(channel);
    } else {
        channels.insert(channel.name.clone(), channel);
    }
}

/// What the files hold.
struct Files {
    releases: Releases,
    blocks: Vec<Block>,
    declarations: Vec<Declaration>,
    channels: BTreeMap<String, Channel>,
    raw: Raw,
}

fn build(id: Digest, files: Files, findings: &mut Findings<'_>) -> Revision {
    let Files { releases, mut blocks, declarations, channels, raw } = files;
    let Releases { listed, versions, arches, files, mut keys } = releases;
    let channels_key = keys.share(CHANNELS);
    let (versions, ranks) = versions.ranked();
    let arches: Vec<(Arch, u32)> = arches.into_iter().collect();
    let mut arch_ranks = vec![0_u32; arches.len()];
    for (rank, (_, old)) in (0..).zip(&arches) {
        arch_ranks.get_mut(*old as usize).into_iter().for_each(|slot| *slot = rank);
    }
    let arches: Vec<Arch> = arches.into_iter().map(|(arch, _)| arch).collect();
    let name = |release: &Listed| {
        let version = versions.get(release.version as usize).map(ToString::to_string).unwrap_or_default();
        format!("{version}+{}", arches.get(release.arch as usize).map_or("", Arch::as_str))
    };
    let mut listed = in_order(listed, &ranks, &arch_ranks);
    unite(&mut listed, &files, &name, findings);
    for release in &mut listed {
        let extra = versions.get(release.version as usize).and_then(|version| raw.get(version));
        for (key, value) in extra.into_iter().flatten() {
            let present = release.metadata.contains_key(key);
            if let Some(text) = release.metadata.entry(&keys.share(key)) {
                if present {
                    text.push(',');
                }
                text.push_str(value);
            }
        }
    }
    let full: Vec<String> = listed.iter().map(&name).collect();
    let context = Context { releases: &listed, versions: &versions, full: &full, files: &files };
    let mut table = edges::build(&context, findings);
    let members = Members::new(&listed, versions.len(), arches.len());
    let of_version = |rank: u32| members.of_version(rank);
    let targets = Targets { versions: &versions, of_version: &of_version, full: &full };
    blocks.extend(declarations.iter().flat_map(|declaration| declaration.compile(&versions)));
    let judged = verdicts::judge(&mut blocks, &targets, &mut table, findings);
    let members = members.with_channels(&channels, &versions, &listed, &arches);
    let names = served_names(&channels, &members, listed.len());
    let files: Vec<Arc<str>> = files.into_iter().map(Into::into).collect();
    let releases = listed
        .into_iter()
        .zip(names)
        .filter_map(|(release, names)| {
            let version = versions.get(release.version as usize)?.clone();
            let mut metadata = release.metadata;
            metadata.retain(|key| !is_consumed(key));
            if !names.is_empty() {
                metadata.insert(&channels_key, names);
            }
            Some(Release {
                node: Arc::new(Node::new(version, release.payload, metadata)),
                arch: arches.get(release.arch as usize)?.clone(),
                file: files.get(release.file as usize)?.clone(),
                position: release.position,
            })
        })
        .collect();
    Revision { id, versions, arches, releases, members, table, judged, blocks, declarations, channels, raw }
}

/// The releases by architecture and version, with ranks in place of ids.
fn in_order(mut listed: Vec<Listed>, ranks: &[u32], arch_ranks: &[u32]) -> Vec<Listed> {
    let ranked = |id: &mut u32, ranks: &[u32]| *id = ranks.get(*id as usize).copied().unwrap_or(*id);
    for release in &mut listed {
        ranked(&mut release.version, ranks);
        ranked(&mut release.arch, arch_ranks);
        release.previous.iter_mut().chain(&mut release.next).for_each(|version| ranked(version, ranks));
    }
    listed.sort_by_key(|release| (release.arch, release.version));
    listed
}

/// Makes one of entries for one release: joined if they agree on the payload, none if they do not.
fn unite(listed: &mut Vec<Listed>, files: &[String], name: &dyn Fn(&Listed) -> String, findings: &mut Findings<'_>) {
    let same = |one: &Listed, other: &Listed| one.arch == other.arch && one.version == other.version;
    if listed.windows(2).all(|pair| !matches!(pair, [one, other] if same(one, other))) {
        return;
    }
    let mut united: Vec<Listed> = Vec::with_capacity(listed.len());
    let mut torn: Option<(u32, u32)> = None;
    for release in std::mem::take(listed) {
        let key = (release.arch, release.version);
        let mut report = |so: &str| {
            let mut place = whole(files.get(release.file as usize).map_or("", String::as_str));
            place.position = release.position;
            let message = format!("release {} is listed twice; {so}", name(&release));
            findings.push(codes::RELEASE_TWICE.finding(message).at(place).with_help("list each release once"));
        };
        match united.last_mut() {
            _ if torn == Some(key) => report("none is served"),
            Some(last) if same(last, &release) => {
                if last.payload == release.payload {
                    report("the entries are joined");
                    last.previous.extend(release.previous);
                    last.next.extend(release.next);
                    last.metadata.join(release.metadata);
                } else {
                    report("with two payloads, and none is served");
                    torn = Some(key);
                    united.pop();
                }
            }
            _ => united.push(release),
        }
    }
    *listed = united;
}

/// For each release, the channels that hold it, in Cincinnati's order.
fn served_names(channels: &BTreeMap<String, Channel>, members: &Members, releases: usize) -> Vec<String> {
    let mut order: Vec<&str> = channels.keys().map(String::as_str).collect();
    order.sort_by(|one, other| channel_order(one, other));
    let mut names = vec![String::new(); releases];
    for channel in order {
        for release in members.of_channel(channel) {
            if let Some(list) = names.get_mut(*release as usize) {
                if !list.is_empty() {
                    list.push(',');
                }
                list.push_str(channel);
            }
        }
    }
    names
}

/// By what follows the first `-`, then by the whole name: `stable-4.10` before `candidate-4.9`.
fn channel_order(one: &str, other: &str) -> Ordering {
    let behind = |name: &'_ str| name.split_once('-').map_or(String::new(), |(_, rest)| rest.to_owned());
    behind(one).cmp(&behind(other)).then_with(|| one.cmp(other))
}
