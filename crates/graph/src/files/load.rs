//! From the files of one directory to one revision: read everything, then build everything.
//!
//! Every file is read even after one of them refused the revision, so that a run names all that is wrong.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::Arc;

use clearway_core::{Arch, CapExceeded, Diagnostic, Digest, Limits, Place};

use crate::codes;
use crate::files::block::{self, Block, Effect};
use crate::files::channel::{self, Channel};
use crate::files::declaration::{self, Declaration};
use crate::files::findings::Findings;
use crate::files::inputs::{Inputs, Role, Sum, extension, role};
use crate::files::raw::{self, Raw};
use crate::files::record::{shortened, whole};
use crate::files::releases::{ListedRelease, Releases};
use crate::files::schema;
use crate::model::edges::{self, Context, is_consumed};
use crate::model::graph::Node;
use crate::model::metadata::Metadata;
use crate::model::pattern::Work;
use crate::model::revision::{Members, Release, Revision};
use crate::model::risk_table::RiskTable;
use crate::model::verdicts::{self, Targets};

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
    if !within_size(inputs, &mut findings) {
        return Outcome { revision: None, diagnostics: findings.finish() };
    }
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
    let mut files = Files { raw, ..Files::default() };
    let mut sum = Sum::default();
    for (path, bytes) in inputs.iter() {
        sum.add(path, bytes);
        let role = role(path);
        match role {
            Role::Version | Role::Raw | Role::Other => continue,
            Role::Misnamed => {
                findings.report(&codes::FILE_NAME, || {
                    let finding = codes::FILE_NAME.finding("no service reads a file of this name here").at(whole(path));
                    finding.with_help("rename it to end in .yaml, or move it elsewhere")
                });
                continue;
            }
            Role::Channel => files.add_channel(channel::read(path, bytes, &mut findings), &mut findings),
            Role::Block => files.add_block(block::read(path, bytes, &mut findings), &mut findings),
            Role::Declaration => files.add_declaration(declaration::read(path, bytes, &mut findings), &mut findings),
            Role::Releases => files.releases.read(path, bytes, &mut findings),
        }
        if extension(path) == "yml" && matches!(role, Role::Channel | Role::Block) {
            findings.report(&codes::FILE_NAME, || {
                let finding = codes::FILE_NAME.finding("a .yml file is read here, but Cincinnati ignores it");
                finding.at(whole(path)).with_help("rename it to end in .yaml")
            });
        }
    }
    let built = (!findings.refused).then(|| build(sum.id(), files, &mut findings));
    let revision = built.filter(|_| !findings.refused);
    Outcome { revision, diagnostics: findings.finish() }
}

/// Whether there are no more files and bytes than one source may have; otherwise nothing of them is read.
fn within_size(inputs: &Inputs, findings: &mut Findings<'_>) -> bool {
    let caps = findings.caps();
    let (mut files, mut bytes) = (0_usize, 0_u64);
    let unreadable = inputs.unreadable().map(|(path, why)| (path, why.len()));
    for (path, length) in inputs.iter().map(|(path, content)| (path, content.len())).chain(unreadable) {
        files += 1;
        bytes = bytes.saturating_add((path.len() + length) as u64);
        if path.len() > caps.path_bytes {
            findings.exceeds("path_bytes", path.len(), caps.path_bytes, "bytes in the path of a file", || {
                whole(&shortened(path))
            });
        }
    }
    if bytes > caps.data_bytes {
        let above = CapExceeded { cap: "data_bytes", limit: caps.data_bytes, what: "bytes in all files" };
        findings.exceed(above, Place::default());
    }
    findings.exceeds("files", files, caps.files, "files", Place::default);
    !findings.refused
}

/// What the files hold.
#[derive(Default)]
struct Files {
    releases: Releases,
    blocks: Vec<Block>,
    declarations: Vec<Declaration>,
    channels: BTreeMap<String, Channel>,
    raw: Raw,
    risks: RiskTable,
    /// Versions that all channels list, tombstones included.
    channel_entries: usize,
    /// Version ranges of all declarations.
    ranges: usize,
}

impl Files {
    fn add_channel(&mut self, channel: Option<Channel>, findings: &mut Findings<'_>) {
        let Some(channel) = channel else { return };
        let caps = findings.caps();
        let file = whole(channel.files.first().map_or("", String::as_str));
        self.channel_entries += channel.entries();
        let count = self.channels.len() + usize::from(!self.channels.contains_key(&channel.name));
        let all = "versions listed by all channels";
        if findings.exceeds("channels", count, caps.channels, "channels", || file.clone())
            || findings.exceeds("channel_entries", self.channel_entries, caps.channel_entries, all, || file.clone())
        {
            return;
        }
        let Some(known) = self.channels.get_mut(&channel.name) else {
            self.channels.insert(channel.name.clone(), channel);
            return;
        };
        findings.report(&codes::CHANNEL_TWICE, || {
            let first = known.files.first().map_or("", String::as_str);
            let message =
                format!("the channel `{}` is also declared in {first}; it contains the versions of both", channel.name);
            codes::CHANNEL_TWICE.finding(message).at(file.clone()).with_help("use one file per channel")
        });
        known.join(channel);
        let count = known.versions.len().max(known.tombstones.len());
        findings.exceeds("channel_versions", count, caps.channel_versions, "versions in one channel", || file);
    }

    fn add_block(&mut self, block: Option<Block>, findings: &mut Findings<'_>) {
        let Some(mut block) = block else { return };
        let file = whole(&block.file);
        let most = findings.caps().blocks;
        if !findings.exceeds("blocks", self.blocks.len() + 1, most, "blocks", || file)
            && self.share_risk(&mut block.effect, &block.file, findings)
        {
            self.blocks.push(block);
        }
    }

    fn add_declaration(&mut self, declaration: Option<Declaration>, findings: &mut Findings<'_>) {
        let Some(mut declaration) = declaration else { return };
        let (file, caps) = (whole(&declaration.file), findings.caps());
        self.ranges += declaration.ranges();
        let all = "version ranges in all declared risks";
        if !findings.exceeds("ranges_in_all", self.ranges, caps.ranges_in_all, all, || file.clone())
            && !findings.exceeds("blocks", self.declarations.len() + 1, caps.blocks, "declared risks", || file)
            && self.share_risk(&mut declaration.effect, &declaration.file, findings)
        {
            self.declarations.push(declaration);
        }
    }

    /// Makes an effect share its risk with those that are equal; false if there are more risks than there may be.
    fn share_risk(&mut self, effect: &mut Effect, file: &str, findings: &mut Findings<'_>) -> bool {
        let Effect::Condition(risk) = effect else { return true };
        match self.risks.share(Arc::clone(risk), file, findings.caps()) {
            Ok(shared) => {
                *risk = shared;
                true
            }
            Err(above) => {
                findings.exceed(above, whole(file));
                false
            }
        }
    }
}

fn build(id: Digest, files: Files, findings: &mut Findings<'_>) -> Revision {
    let Files { releases, mut blocks, declarations, channels, raw, risks, .. } = files;
    let Releases { listed, versions, arches, files, mut keys, mut bytes, .. } = releases;
    let caps = findings.caps();
    let channels_key = keys.share(CHANNELS);
    let (versions, ranks) = versions.ranked();
    let arches: Vec<(Arch, u32)> = arches.into_iter().collect();
    let mut arch_ranks = vec![0_u32; arches.len()];
    for (rank, (_, old)) in (0..).zip(&arches) {
        arch_ranks.get_mut(*old as usize).into_iter().for_each(|slot| *slot = rank);
    }
    let arches: Vec<Arch> = arches.into_iter().map(|(arch, _)| arch).collect();
    let name = |release: &ListedRelease| {
        let version = versions.get(release.version as usize).map(ToString::to_string).unwrap_or_default();
        format!("{version}+{}", arches.get(release.arch as usize).map_or("", Arch::as_str))
    };
    let mut listed = in_order(listed, &ranks, &arch_ranks);
    unite(&mut listed, &files, &name, findings);
    for release in &mut listed {
        let extra = versions.get(release.version as usize).and_then(|version| raw.get(version));
        let Some(extra) = extra else { continue };
        let more: usize = extra.iter().map(|(key, value)| Metadata::cost(key, value)).sum();
        bytes += more;
        if findings
            .exceeds("release_bytes", release.bytes() + more, caps.release_bytes, RELEASE_BYTES, || whole(raw::PATH))
            || findings.exceeds("release_texts", bytes, caps.release_texts, RELEASE_TEXTS, || whole(raw::PATH))
        {
            break;
        }
        for (key, value) in extra {
            let present = release.metadata.contains_key(key);
            if let Some(text) = release.metadata.entry(&keys.share(key)) {
                if present {
                    text.push(',');
                }
                text.push_str(value);
            }
        }
    }
    let mut work = Work::new(caps.pattern_work);
    let full: Vec<String> = listed.iter().map(&name).collect();
    let context = Context { releases: &listed, versions: &versions, full: &full, files: &files };
    let mut table = edges::build(&context, &mut work, findings);
    let members = Members::new(&listed, versions.len(), arches.len());
    let of_version = |rank: u32| members.of_version(rank);
    let targets = Targets { versions: &versions, of_version: &of_version, full: &full };
    for declaration in &declarations {
        if !declaration.compile(&versions, &mut blocks, caps.blocks) {
            let what = "blocks, those of declared risks included";
            findings.exceed(CapExceeded { cap: "blocks", limit: caps.blocks as u64, what }, whole(&declaration.file));
            blocks.clear();
            break;
        }
    }
    let judged = verdicts::judge(&mut blocks, risks, &targets, &mut table, &mut work, findings);
    let members = members.with_channels(&channels, &versions, &listed, &arches, findings);
    let in_channels: usize = channels.keys().map(|name| (name.len() + 1) * members.of_channel(name).len()).sum();
    let fits =
        !findings.exceeds("release_texts", bytes + in_channels, caps.release_texts, RELEASE_TEXTS, Place::default);
    let names = if fits { served_names(&channels, &members, listed.len()) } else { vec![String::new(); listed.len()] };
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
    let caps = caps.clone();
    Revision { id, versions, arches, releases, members, table, judged, blocks, declarations, channels, raw, caps }
}

const RELEASE_BYTES: &str = "bytes in the payload and metadata of a release";
const RELEASE_TEXTS: &str = "bytes in the payloads and metadata of all releases";

/// The releases by architecture and version, with ranks in place of ids.
fn in_order(mut listed: Vec<ListedRelease>, ranks: &[u32], arch_ranks: &[u32]) -> Vec<ListedRelease> {
    let ranked = |id: &mut u32, ranks: &[u32]| *id = ranks.get(*id as usize).copied().unwrap_or(*id);
    for release in &mut listed {
        ranked(&mut release.version, ranks);
        ranked(&mut release.arch, arch_ranks);
        release.previous.iter_mut().chain(&mut release.next).for_each(|version| ranked(version, ranks));
    }
    listed.sort_by_key(|release| (release.arch, release.version));
    listed
}

/// Makes one of entries for one release: joined if they agree on the payload and on the edges, none if they do not.
fn unite(
    listed: &mut Vec<ListedRelease>,
    files: &[String],
    name: &dyn Fn(&ListedRelease) -> String,
    findings: &mut Findings<'_>,
) {
    let same = |one: &ListedRelease, other: &ListedRelease| one.arch == other.arch && one.version == other.version;
    if listed.windows(2).all(|pair| !matches!(pair, [one, other] if same(one, other))) {
        return;
    }
    let mut united: Vec<ListedRelease> = Vec::with_capacity(listed.len());
    let mut torn: Option<(u32, u32)> = None;
    for release in std::mem::take(listed) {
        let key = (release.arch, release.version);
        let mut report = |so: &str| {
            findings.report(&codes::RELEASE_TWICE, || {
                let mut place = whole(files.get(release.file as usize).map_or("", String::as_str));
                place.position = release.position;
                let message = format!("release {} is listed twice; {so}", name(&release));
                codes::RELEASE_TWICE.finding(message).at(place).with_help("list each release once")
            });
        };
        match united.last_mut() {
            _ if torn == Some(key) => report("none is served"),
            Some(last) if same(last, &release) => {
                if last.payload == release.payload && last.metadata.contradicts(&release.metadata, is_consumed) {
                    report("with different metadata about edges, and none is served");
                    torn = Some(key);
                    united.pop();
                } else if last.payload == release.payload {
                    report("the entries are merged");
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
    fn behind(name: &str) -> &str {
        name.split_once('-').map_or("", |(_, rest)| rest)
    }
    behind(one).cmp(behind(other)).then_with(|| one.cmp(other))
}
