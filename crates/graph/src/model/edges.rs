//! Which edges the releases list, and which of them metadata takes away again.
//!
//! Releases are in order (architecture, then version) and their places there are their ids; edges stand in one table,
//! by target and then source, and never cross architectures. Start at [`build`].

use std::collections::BTreeMap;

use clearway_core::{Place, Version};

use crate::codes;
use crate::files::findings::Findings;
use crate::files::record::{shortened, whole};
use crate::files::releases::Listed;
use crate::model::pattern::{Pattern, Work};
use crate::model::verdicts::Ruling;
use crate::model::versions::{NONE, id};

/// Who listed an edge, and who took it away: bits, because several may have.
pub(crate) mod by {
    pub(crate) const PREVIOUS: u8 = 1;
    pub(crate) const NEXT: u8 = 2;
    pub(crate) const PREVIOUS_ADD: u8 = 4;
    pub(crate) const NEXT_ADD: u8 = 8;
    pub(crate) const PREVIOUS_REMOVE: u8 = 16;
    pub(crate) const NEXT_REMOVE: u8 = 32;
    pub(crate) const REMOVE_REGEX: u8 = 64;
    pub(crate) const REMOVED: u8 = PREVIOUS_REMOVE | NEXT_REMOVE | REMOVE_REGEX;
}

/// The metadata keys that change edges; they are used up and not served.
const PREFIX: &str = "io.openshift.upgrades.graph.";

/// One edge into a release. Small, because answers go through millions of them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Row {
    pub(crate) from: u32,
    pub(crate) ruling: Ruling,
}

/// The edges by target.
#[derive(Debug, Default)]
pub(crate) struct Table {
    /// Where the edges into each release start; one more entry than there are releases.
    starts: Vec<u32>,
    pub(crate) rows: Vec<Row>,
    /// Who listed each edge and who took it away.
    pub(crate) by: Vec<u8>,
}

impl Table {
    /// Where the edges into a release stand.
    pub(crate) fn range(&self, to: u32) -> std::ops::Range<usize> {
        let at = |place: usize| self.starts.get(place).copied().unwrap_or(0) as usize;
        at(to as usize)..at(to as usize + 1)
    }

    /// The edges into a release, by source.
    pub(crate) fn incoming(&self, to: u32) -> &[Row] {
        self.rows.get(self.range(to)).unwrap_or(&[])
    }

    /// The edges into a release, with who listed and who removed them.
    fn marks(&mut self, to: u32) -> impl Iterator<Item = (&Row, &mut u8)> {
        let range = self.range(to);
        let rows = self.rows.get(range.clone()).unwrap_or(&[]);
        rows.iter().zip(self.by.get_mut(range).unwrap_or(&mut []))
    }

    /// Appends the edges into the next release: sources in order, and who lists them.
    fn push(&mut self, sources: &[(u32, u8)]) {
        self.starts.push(id(self.rows.len()));
        for of_source in sources.chunk_by(|one, other| one.0 == other.0) {
            let Some((from, _)) = of_source.first() else { continue };
            self.rows.push(Row { from: *from, ruling: Ruling::PLAIN });
            self.by.push(of_source.iter().fold(0, |all, (_, by)| all | by));
        }
    }

    /// Where one edge stands.
    pub(crate) fn find(&self, from: u32, to: u32) -> Option<usize> {
        let at = self.incoming(to).binary_search_by_key(&from, |row| row.from).ok()?;
        Some(self.range(to).start + at)
    }
}

/// What is needed to read the metadata of releases.
pub(crate) struct Context<'c> {
    /// In order; versions and architectures are ranks, and so are their neighbours.
    pub(crate) releases: &'c [Listed],
    /// By rank.
    pub(crate) versions: &'c [Version],
    /// `<version>+<arch>` of each release.
    pub(crate) full: &'c [String],
    /// Files of releases, by their number.
    pub(crate) files: &'c [String],
}

/// Everything the releases and their metadata say about edges.
pub(crate) fn build(context: &Context<'_>, work: &mut Work, findings: &mut Findings<'_>) -> Table {
    let most = findings.caps().edges;
    let mut table = Table::default();
    let mut here = vec![NONE; context.versions.len()];
    let mut sources: Vec<(u32, u8)> = Vec::new();
    // What `next` lists: target, source, and who.
    let mut ahead: Vec<(u32, u32, u8)> = Vec::new();
    let mut first = 0_u32;
    for of_arch in context.releases.chunk_by(|one, other| one.arch == other.arch) {
        let members = || (first..).zip(of_arch);
        for (place, release) in members() {
            set(&mut here, release.version, place);
        }
        ahead.clear();
        for (place, release) in members() {
            list_next(context, release, place, &here, &mut ahead, findings);
            if findings.exceeds("edges", table.rows.len() + ahead.len(), most, UPDATES, Place::default) {
                return Table::default();
            }
        }
        ahead.sort_unstable();
        let mut rest = ahead.iter().peekable();
        for (place, release) in members() {
            sources.clear();
            list_previous(context, release, &here, &mut sources, findings);
            while let Some((_, from, by)) = rest.next_if(|(to, ..)| *to == place) {
                sources.push((*from, *by));
            }
            if !sources.is_sorted() {
                sources.sort_unstable();
            }
            table.push(&sources);
            if findings.exceeds("edges", table.rows.len(), most, UPDATES, Place::default) {
                return Table::default();
            }
        }
        for (_, release) in members() {
            set(&mut here, release.version, NONE);
        }
        first += id(of_arch.len());
    }
    table.starts.push(id(table.rows.len()));
    remove(context, &mut table, work, findings);
    table
}

const UPDATES: &str = "updates listed by releases";

fn set(here: &mut [u32], version: u32, place: u32) {
    if let Some(slot) = here.get_mut(version as usize) {
        *slot = place;
    }
}

/// The edges into a release that it lists itself: their sources.
fn list_previous(
    context: &Context<'_>,
    release: &Listed,
    here: &[u32],
    sources: &mut Vec<(u32, u8)>,
    findings: &mut Findings<'_>,
) {
    let added = added(context, release, "previous.add", findings);
    let listed = release.previous.iter().map(|version| (*version, by::PREVIOUS));
    let mut wrong: Vec<u32> = Vec::new();
    for (version, by) in listed.chain(added.into_iter().map(|version| (version, by::PREVIOUS_ADD))) {
        match here.get(version as usize).copied().filter(|found| *found != NONE) {
            _ if version >= release.version => wrong.push(version),
            Some(from) => sources.push((from, by)),
            None => {}
        }
    }
    report_order(context, release, "older", &wrong, findings);
}

/// The edges out of a release that it lists itself.
fn list_next(
    context: &Context<'_>,
    release: &Listed,
    place: u32,
    here: &[u32],
    ahead: &mut Vec<(u32, u32, u8)>,
    findings: &mut Findings<'_>,
) {
    let added = added(context, release, "next.add", findings);
    let listed = release.next.iter().map(|version| (*version, by::NEXT));
    let mut wrong: Vec<u32> = Vec::new();
    for (version, by) in listed.chain(added.into_iter().map(|version| (version, by::NEXT_ADD))) {
        match here.get(version as usize).copied().filter(|found| *found != NONE) {
            _ if version <= release.version => wrong.push(version),
            Some(to) => ahead.push((to, place, by)),
            None => {}
        }
    }
    report_order(context, release, "newer", &wrong, findings);
}

/// One finding for all entries of a release that lead the wrong way.
fn report_order(context: &Context<'_>, release: &Listed, must: &str, wrong: &[u32], findings: &mut Findings<'_>) {
    if wrong.is_empty() {
        return;
    }
    findings.report(&codes::RELEASE_ORDER, || {
        let name = |rank: &u32| context.versions.get(*rank as usize).map(ToString::to_string).unwrap_or_default();
        let mut shown: Vec<_> = wrong.iter().take(5).map(name).collect();
        if wrong.len() > shown.len() {
            shown.push(format!("{} more", wrong.len() - shown.len()));
        }
        let side = if must == "older" { "previous" } else { "next" };
        let message = format!("{} lists {} as {side}, which must be {must}", name(&release.version), shown.join(", "));
        at(context, release, codes::RELEASE_ORDER.finding(message)).with_help("the entry adds no edge")
    });
}

/// The ranks of the versions under a metadata key; a version that no release has adds nothing.
fn added(context: &Context<'_>, release: &Listed, key: &str, findings: &mut Findings<'_>) -> Vec<u32> {
    let Some(value) = metadata(release, key) else { return Vec::new() };
    let mut ranks = Vec::new();
    for text in value.split(',').map(str::trim).filter(|text| !text.is_empty()) {
        match text.parse::<Version>() {
            Ok(version) => ranks.extend(rank(context.versions, &version)),
            Err(error) => findings.report(&codes::EDGE_METADATA, || {
                unreadable(context, release, key, &error.to_string(), "nothing is added")
            }),
        }
    }
    ranks
}

/// Marks the edges that metadata takes away. What cannot be read takes all of them.
fn remove(context: &Context<'_>, table: &mut Table, work: &mut Work, findings: &mut Findings<'_>) {
    let mut expressions: BTreeMap<&str, Vec<u32>> = BTreeMap::new();
    let mut closed = vec![false; context.releases.len()];
    let mut cut: Vec<(u32, u32)> = Vec::new();
    for (place, release) in (0..).zip(context.releases) {
        if !release.metadata.keys().any(is_consumed) {
            continue;
        }
        let removal = removed(context, release, "previous.remove", findings);
        for (row, by) in table.marks(place) {
            let version = context.releases.get(row.from as usize).map_or(NONE, |from| from.version);
            if removal.takes(version) {
                *by |= by::PREVIOUS_REMOVE;
            }
        }
        if let Some(text) = metadata(release, REMOVE_REGEX) {
            expressions.entry(text).or_default().push(place);
        }
        match removed(context, release, "next.remove", findings) {
            Removal::All => closed.get_mut(place as usize).into_iter().for_each(|slot| *slot = true),
            Removal::Of(ranks) => cut.extend(ranks.into_iter().map(|rank| (place, rank))),
        }
    }
    remove_matching(context, &expressions, table, work, findings);
    cut.sort_unstable();
    if cut.is_empty() && !closed.contains(&true) {
        return;
    }
    for (to, release) in (0..).zip(context.releases) {
        for (row, by) in table.marks(to) {
            let all = closed.get(row.from as usize).copied().unwrap_or(true);
            if all || cut.binary_search(&(row.from, release.version)).is_ok() {
                *by |= by::NEXT_REMOVE;
            }
        }
    }
}

const REMOVE_REGEX: &str = "previous.remove_regex";

/// Marks the edges from sources that an expression of the target's metadata is found in. Each expression is compiled
/// once, whoever has it.
fn remove_matching(
    context: &Context<'_>,
    expressions: &BTreeMap<&str, Vec<u32>>,
    table: &mut Table,
    work: &mut Work,
    findings: &mut Findings<'_>,
) {
    let caps = findings.caps();
    let what = "different expressions in the metadata of releases";
    if findings.exceeds("patterns", expressions.len(), caps.patterns, what, Place::default) {
        return;
    }
    for (text, places) in expressions {
        let compiled = Pattern::new(text, caps);
        for place in places {
            if let (Err(why), Some(release)) = (&compiled, context.releases.get(*place as usize)) {
                findings.report(&codes::EDGE_METADATA, || {
                    unreadable(context, release, REMOVE_REGEX, why, "every source is blocked")
                });
            }
            let pattern = compiled.as_ref().unwrap_or(&Pattern::Any);
            for (row, by) in table.marks(*place) {
                let full = context.full.get(row.from as usize).map_or("", String::as_str);
                if !work.take(pattern, full) {
                    return findings.exceed(Work::exceeded(caps), Place::default());
                }
                if pattern.matches(full) {
                    *by |= by::REMOVE_REGEX;
                }
            }
        }
    }
}

/// Which edges a release's metadata removes, by the ranks of their other ends.
enum Removal {
    All,
    /// In order.
    Of(Vec<u32>),
}

impl Removal {
    fn takes(&self, version: u32) -> bool {
        match self {
            Removal::All => true,
            Removal::Of(ranks) => ranks.binary_search(&version).is_ok(),
        }
    }
}

fn removed(context: &Context<'_>, release: &Listed, key: &str, findings: &mut Findings<'_>) -> Removal {
    let mut ranks = Vec::new();
    let value = metadata(release, key).unwrap_or("");
    for text in value.split(',').map(str::trim).filter(|text| !text.is_empty()) {
        match text.parse::<Version>() {
            _ if text == "*" => return Removal::All,
            Ok(version) => ranks.extend(rank(context.versions, &version)),
            Err(error) => {
                findings.report(&codes::EDGE_METADATA, || {
                    unreadable(context, release, key, &error.to_string(), "all edges are removed")
                });
                return Removal::All;
            }
        }
    }
    ranks.sort_unstable();
    Removal::Of(ranks)
}

fn metadata<'r>(release: &'r Listed, key: &str) -> Option<&'r str> {
    let keys = release.metadata.iter();
    keys.filter_map(|(name, value)| Some((name.strip_prefix(PREFIX)?, value)))
        .find_map(|(name, value)| (name == key).then_some(value))
}

/// Whether a metadata key is used up by building the graph, and so not served.
pub(crate) fn is_consumed(key: &str) -> bool {
    key.strip_prefix(PREFIX).is_some_and(|rest| {
        matches!(
            rest,
            "previous.add"
                | "next.add"
                | "previous.remove"
                | "next.remove"
                | "previous.remove_regex"
                | "release.arch"
                | "release.channels"
        )
    })
}

fn unreadable(context: &Context<'_>, release: &Listed, key: &str, why: &str, so: &str) -> clearway_core::Diagnostic {
    let version = context.versions.get(release.version as usize).map(ToString::to_string).unwrap_or_default();
    let message = format!("`{PREFIX}{key}` of {version}: {}; {so}", shortened(why));
    at(context, release, codes::EDGE_METADATA.finding(message))
        .with_help("the key may come from the release itself or from raw/metadata.json")
}

fn at(context: &Context<'_>, release: &Listed, finding: clearway_core::Diagnostic) -> clearway_core::Diagnostic {
    let mut place = whole(context.files.get(release.file as usize).map_or("", String::as_str));
    place.position = release.position;
    finding.at(place)
}

/// The rank of a version, whatever its build metadata.
pub(crate) fn rank(versions: &[Version], version: &Version) -> Option<u32> {
    let found = if version.build().is_empty() {
        versions.binary_search(version)
    } else {
        versions.binary_search(&version.without_build())
    };
    found.ok().map(id)
}
