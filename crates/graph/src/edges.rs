//! Which edges the releases list, and which of them metadata takes away again.
//!
//! Releases are in order (architecture, then version) and their places there are their ids; edges stand in one table,
//! by target and then source, and never cross architectures. Start at [`build`].

use clearway_core::Version;

use crate::codes;
use crate::pattern::Pattern;
use crate::record::{Findings, whole};
use crate::releases::Listed;
use crate::verdicts::Ruling;
use crate::versions::{NONE, id};

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

/// One edge into a release.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Row {
    pub(crate) from: u32,
    pub(crate) by: u8,
    pub(crate) ruling: Ruling,
}

/// The edges by target.
#[derive(Debug, Default)]
pub(crate) struct Table {
    /// Where the edges into each release start; one more entry than there are releases.
    starts: Vec<u32>,
    pub(crate) rows: Vec<Row>,
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

    fn incoming_mut(&mut self, to: u32) -> &mut [Row] {
        let range = self.range(to);
        self.rows.get_mut(range).unwrap_or(&mut [])
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

/// An edge that somebody lists: target, source, and who.
type Draft = (u32, u32, u8);

/// Everything the releases and their metadata say about edges.
pub(crate) fn build(context: &Context<'_>, findings: &mut Findings<'_>) -> Table {
    // Edges into the release at hand come in order of releases; the few that `next` lists come behind.
    let mut drafts: Vec<Draft> = Vec::new();
    let mut later: Vec<Draft> = Vec::new();
    let mut here = vec![NONE; context.versions.len()];
    let mut first = 0_u32;
    for of_arch in context.releases.chunk_by(|one, other| one.arch == other.arch) {
        let members = || (first..).zip(of_arch);
        for (place, release) in members() {
            set(&mut here, release.version, place);
        }
        for (place, release) in members() {
            let start = drafts.len();
            list(context, release, place, &here, (&mut drafts, &mut later), findings);
            let own = drafts.get_mut(start..).unwrap_or(&mut []);
            if !own.is_sorted() {
                own.sort_unstable();
            }
        }
        for (_, release) in members() {
            set(&mut here, release.version, NONE);
        }
        first += id(of_arch.len());
    }
    if !later.is_empty() {
        drafts.append(&mut later);
        drafts.sort_unstable();
    }
    let mut table = tabulate(drafts, context.releases.len());
    remove(context, &mut table, findings);
    table
}

fn set(here: &mut [u32], version: u32, place: u32) {
    if let Some(slot) = here.get_mut(version as usize) {
        *slot = place;
    }
}

/// The edges that one release lists.
fn list(
    context: &Context<'_>,
    release: &Listed,
    place: u32,
    here: &[u32],
    (drafts, later): (&mut Vec<Draft>, &mut Vec<Draft>),
    findings: &mut Findings<'_>,
) {
    let mut wrong: Vec<u32> = Vec::new();
    let known = |version: u32| here.get(version as usize).copied().filter(|found| *found != NONE);
    let mut previous = |version: u32, by: u8| match known(version) {
        _ if version >= release.version => wrong.push(version),
        Some(from) => drafts.push((place, from, by)),
        None => {}
    };
    for version in &release.previous {
        previous(*version, by::PREVIOUS);
    }
    for version in added(context, release, "previous.add", findings) {
        previous(version, by::PREVIOUS_ADD);
    }
    report_order(context, release, "older", &wrong, findings);
    wrong.clear();
    let mut next = |version: u32, by: u8| match known(version) {
        _ if version <= release.version => wrong.push(version),
        Some(to) => later.push((to, place, by)),
        None => {}
    };
    for version in &release.next {
        next(*version, by::NEXT);
    }
    for version in added(context, release, "next.add", findings) {
        next(version, by::NEXT_ADD);
    }
    report_order(context, release, "newer", &wrong, findings);
}

/// One finding for all entries of a release that lead the wrong way.
fn report_order(context: &Context<'_>, release: &Listed, must: &str, wrong: &[u32], findings: &mut Findings<'_>) {
    if wrong.is_empty() {
        return;
    }
    let name = |rank: &u32| context.versions.get(*rank as usize).map(ToString::to_string).unwrap_or_default();
    let mut shown: Vec<_> = wrong.iter().take(5).map(name).collect();
    if wrong.len() > shown.len() {
        shown.push(format!("{} more", wrong.len() - shown.len()));
    }
    let side = if must == "older" { "previous" } else { "next" };
    let message = format!("{} lists {} as {side}, which must be {must}", name(&release.version), shown.join(", "));
    findings.push(at(context, release, codes::RELEASE_ORDER.finding(message)).with_help("no edge comes of the entry"));
}

/// The ranks of the versions under a metadata key; a version that no release has adds nothing.
fn added(context: &Context<'_>, release: &Listed, key: &str, findings: &mut Findings<'_>) -> Vec<u32> {
    let Some(value) = metadata(release, key) else { return Vec::new() };
    let mut ranks = Vec::new();
    for text in value.split(',').map(str::trim).filter(|text| !text.is_empty()) {
        match text.parse::<Version>() {
            Ok(version) => ranks.extend(rank(context.versions, &version)),
            Err(error) => findings.push(unreadable(context, release, key, &error.to_string(), "nothing is added")),
        }
    }
    ranks
}

/// Marks the edges that metadata takes away. What cannot be read takes all of them.
fn remove(context: &Context<'_>, table: &mut Table, findings: &mut Findings<'_>) {
    let mut closed = vec![false; context.releases.len()];
    let mut cut: Vec<(u32, u32)> = Vec::new();
    for (place, release) in (0..).zip(context.releases) {
        if !release.metadata.keys().any(|key| is_consumed(key)) {
            continue;
        }
        let removal = removed(context, release, "previous.remove", findings);
        for row in table.incoming_mut(place) {
            let version = context.releases.get(row.from as usize).map_or(NONE, |from| from.version);
            if removal.takes(version) {
                row.by |= by::PREVIOUS_REMOVE;
            }
        }
        if let Some(text) = metadata(release, "previous.remove_regex") {
            let pattern = Pattern::new(text).unwrap_or_else(|why| {
                findings.push(unreadable(context, release, "previous.remove_regex", &why, "every source is blocked"));
                Pattern::Any
            });
            for row in table.incoming_mut(place) {
                if context.full.get(row.from as usize).is_none_or(|full| pattern.matches(full)) {
                    row.by |= by::REMOVE_REGEX;
                }
            }
        }
        match removed(context, release, "next.remove", findings) {
            Removal::All => closed.get_mut(place as usize).into_iter().for_each(|slot| *slot = true),
            Removal::Of(ranks) => cut.extend(ranks.into_iter().map(|rank| (place, rank))),
        }
    }
    cut.sort_unstable();
    if cut.is_empty() && !closed.contains(&true) {
        return;
    }
    for (to, release) in (0..).zip(context.releases) {
        for row in table.incoming_mut(to) {
            let all = closed.get(row.from as usize).copied().unwrap_or(true);
            if all || cut.binary_search(&(row.from, release.version)).is_ok() {
                row.by |= by::NEXT_REMOVE;
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
                findings.push(unreadable(context, release, key, &error.to_string(), "all edges are removed"));
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
        .find_map(|(name, value)| (name == key).then_some(value.as_str()))
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
    let message = format!("`{PREFIX}{key}` of {version}: {why}; {so}");
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

/// The table of edges that are in order.
fn tabulate(drafts: Vec<Draft>, releases: usize) -> Table {
    let mut starts = Vec::with_capacity(releases + 1);
    let mut rows: Vec<Row> = Vec::with_capacity(drafts.len());
    let mut last = (NONE, NONE);
    for (to, from, by) in drafts {
        if last == (to, from) {
            if let Some(row) = rows.last_mut() {
                row.by |= by;
            }
            continue;
        }
        while starts.len() <= to as usize {
            starts.push(id(rows.len()));
        }
        last = (to, from);
        rows.push(Row { from, by, ruling: Ruling::Plain });
    }
    while starts.len() <= releases {
        starts.push(id(rows.len()));
    }
    Table { starts, rows }
}
