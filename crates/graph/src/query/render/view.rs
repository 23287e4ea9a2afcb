//! Which versions and updates are drawn, whatever the language.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use clearway_core::Version;
use clearway_core::terminal_text::is_unsafe;

use super::{Options, RenderDetail, RenderError};
use crate::model::graph::Graph;
use crate::model::risk::Risk;
use crate::model::versions::id;
use crate::query::bit_set::BitSet;
use crate::query::outgoing::{Outgoing, place};

/// What is drawn.
pub(super) struct View<'g> {
    pub(super) graph: &'g Graph,
    pub(super) title: &'g str,
    /// The places of the versions, in order.
    pub(super) nodes: Vec<u32>,
    /// By source and then target.
    pub(super) updates: Vec<DrawnUpdate<'g>>,
    pub(super) focus: BTreeSet<u32>,
    /// Which updates are left out, in words.
    left_out: &'static str,
    /// How many updates are blocked, if that is known.
    blocked: Option<usize>,
    revision: Option<&'g str>,
    /// By place.
    counts: Vec<Counts>,
}

/// An update that is drawn.
#[derive(Clone, Copy, PartialEq)]
pub(super) struct DrawnUpdate<'g> {
    pub(super) from: u32,
    pub(super) to: u32,
    pub(super) kind: Kind,
    pub(super) risks: &'g [Arc<Risk>],
    /// What tells sets of risks apart by their names, in the order of the names; 0 for none. Many updates may have many risks, so
    /// nothing keeps the names themselves for each of them.
    pub(super) set: u32,
}

/// How freely an update is offered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    Plain,
    Conditional,
    Removed,
}

/// How many updates a version has, drawn or not: without and with risks.
#[derive(Debug, Clone, Copy, Default)]
struct Counts {
    out: (usize, usize),
    into: (usize, usize),
}

/// Neighbouring versions of one minor with the same updates, drawn as one.
pub(super) struct Run<'v, 'g> {
    pub(super) nodes: Vec<u32>,
    pub(super) updates: Vec<&'v DrawnUpdate<'g>>,
}

impl<'g> View<'g> {
    pub(super) fn new(graph: &'g Graph, options: &'g Options) -> Result<Self, RenderError> {
        let find = |version: &Option<Version>| match version {
            Some(version) => {
                place(graph, version).map(Some).ok_or_else(|| RenderError::NotInGraph { version: version.clone() })
            }
            None => Ok(None),
        };
        let (from, to) = (find(&options.from)?, find(&options.to)?);
        let mut counts = vec![Counts::default(); graph.nodes().len()];
        let mut all: Vec<DrawnUpdate<'g>> = Vec::new();
        let sets = numbered_sets(graph);
        for (edge, risks) in graph.updates() {
            let kind = if risks.is_empty() { Kind::Plain } else { Kind::Conditional };
            let set = sets.get(&risks.as_ptr()).copied().unwrap_or(0);
            all.push(DrawnUpdate { from: edge.from, to: edge.to, kind, risks, set });
            let add = |counts: &mut (usize, usize)| match kind {
                Kind::Plain => counts.0 += 1,
                _ => counts.1 += 1,
            };
            counts.get_mut(edge.from as usize).into_iter().for_each(|counts| add(&mut counts.out));
            counts.get_mut(edge.to as usize).into_iter().for_each(|counts| add(&mut counts.into));
        }
        for (from, to) in &options.removed {
            if let (Some(from), Some(to)) = (place(graph, from), place(graph, to)) {
                all.push(DrawnUpdate { from, to, kind: Kind::Removed, risks: &[], set: 0 });
            }
        }
        all.sort_by_key(|update| (update.from, update.to, update.kind));
        let updates = match (from, to) {
            (None, None) if options.show == RenderDetail::All => all,
            (None, None) => newest(graph, &Outgoing::new(graph).plain_reach(), options.show, &all),
            (Some(from), None) => all.into_iter().filter(|update| update.from == from).collect(),
            (None, Some(to)) => all.into_iter().filter(|update| update.to == to).collect(),
            (Some(from), Some(to)) => between(graph.nodes().len(), from, to, all),
        };
        let focus: BTreeSet<u32> = from.into_iter().chain(to).collect();
        let nodes = if focus.is_empty() {
            (0..id(graph.nodes().len())).collect()
        } else {
            let ends = updates.iter().flat_map(|update| [update.from, update.to]);
            ends.chain(focus.iter().copied()).collect::<BTreeSet<u32>>().into_iter().collect()
        };
        let left_out = if focus.is_empty() && options.show != RenderDetail::All {
            "; updates that a newer or safer one replaces are left out"
        } else {
            ""
        };
        let (blocked, revision) = (options.blocked, options.revision.as_deref());
        Ok(View { graph, title: &options.title, nodes, updates, focus, left_out, blocked, revision, counts })
    }

    pub(super) fn version(&self, place: u32) -> Version {
        crate::query::outgoing::version(self.graph, place)
    }

    /// The versions by minor.
    pub(super) fn minors(&self) -> Vec<(String, &[u32])> {
        let minor = |place: u32| {
            let version = self.version(place);
            (version.major(), version.minor())
        };
        let chunks = self.nodes.chunk_by(|one, other| minor(*one) == minor(*other));
        let named =
            |nodes: &[u32]| nodes.first().map(|place| minor(*place)).map_or(String::new(), |(a, b)| format!("{a}.{b}"));
        chunks.map(|nodes| (named(nodes), nodes)).collect()
    }

    /// What a tooltip says of a version.
    pub(super) fn about(&self, place: u32) -> String {
        let counts = self.counts.get(place as usize).copied().unwrap_or_default();
        let say = |(plain, conditional): (usize, usize)| format!("{plain} unconditional, {conditional} conditional");
        let version = self.version(place);
        format!("{version}\nupdates from here: {}\nupdates to here: {}", say(counts.out), say(counts.into))
    }

    /// One line about the whole drawing: how much of the graph is drawn, by kind, and of which revision it is.
    pub(super) fn summary(&self) -> String {
        let conditional: usize = self.graph.conditional().iter().map(|group| group.edges.len()).sum();
        let drawn = |kind: Kind| self.updates.iter().filter(|update| update.kind == kind).count();
        let share = |drawn: usize, all: usize, what: &str| {
            if drawn == all { format!("{all} {what}") } else { format!("{drawn} of {all} {what}") }
        };
        let mut parts = vec![
            share(self.nodes.len(), self.graph.nodes().len(), "releases"),
            share(drawn(Kind::Plain), self.graph.edges().len(), "unconditional updates"),
            share(drawn(Kind::Conditional), conditional, "conditional updates"),
        ];
        let removed = drawn(Kind::Removed);
        // Whoever names updates that are blocked knows how many there are, unless only some are drawn.
        if let Some(blocked) = self.blocked.or((removed > 0).then_some(removed)) {
            parts.push(share(removed, blocked, "blocked updates"));
        }
        let revision = self.revision.map(|revision| format!("; revision {revision}")).unwrap_or_default();
        format!("{}{}{revision}", parts.join(", "), self.left_out)
    }

    /// The drawn versions with neighbours put together, by minor.
    pub(super) fn runs(&self) -> Vec<(String, Vec<Run<'_, 'g>>)> {
        let targets: BTreeSet<u32> = self.updates.iter().map(|update| update.to).collect();
        let mut of: BTreeMap<u32, Vec<&DrawnUpdate<'g>>> = BTreeMap::new();
        for update in &self.updates {
            of.entry(update.from).or_default().push(update);
        }
        let alike = |one: &[&DrawnUpdate<'g>], other: &[&DrawnUpdate<'g>]| {
            let same = |(one, other): (&&DrawnUpdate<'g>, &&DrawnUpdate<'g>)| {
                (one.to, one.kind, one.set) == (other.to, other.kind, other.set)
            };
            one.len() == other.len() && one.iter().zip(other).all(same)
        };
        let mut minors = Vec::new();
        for (name, nodes) in self.minors() {
            let mut runs: Vec<Run<'_, 'g>> = Vec::new();
            for place in nodes {
                let updates = of.remove(place).unwrap_or_default();
                let alone = |place: &u32| targets.contains(place) || self.focus.contains(place);
                let joins = |run: &Run<'_, 'g>| !run.nodes.iter().any(alone) && alike(&run.updates, &updates);
                match runs.last_mut().filter(|run| !alone(place) && joins(run)) {
                    Some(run) => run.nodes.push(*place),
                    None => runs.push(Run { nodes: vec![*place], updates }),
                }
            }
            minors.push((name, runs));
        }
        minors
    }

    /// What stands in the box of a run.
    pub(super) fn run_name(&self, run: &Run<'_, '_>) -> String {
        match run.nodes.as_slice() {
            [first, .., last] => {
                format!("{}–{}\n{} versions", self.version(*first), self.version(*last), run.nodes.len())
            }
            nodes => nodes.iter().map(|place| self.version(*place).to_string()).collect(),
        }
    }
}

/// Letters of one name that are drawn: names come from strangers, and are drawn once for each update that has them.
const LETTERS: usize = 120;
/// Bytes of all names of one update, and of all names in one drawing, as they are written.
const BYTES: (usize, usize) = (1_500, 32 << 20);

/// The names of risks as they are drawn where each of so many updates has its own; of many, the first ones and how many there
/// are besides. Of a name that has no room the beginning is drawn.
pub(super) fn drawn_names(risks: &[Arc<Risk>], updates: usize) -> Vec<String> {
    let most = BYTES.0.min(BYTES.1 / updates.max(1));
    let (mut drawn, mut bytes): (Vec<String>, usize) = (Vec::new(), 0);
    for risk in risks {
        let mut name = String::new();
        let mut is_cut = false;
        for (letter, count) in risk.name().chars().zip(1..) {
            is_cut = count > LETTERS || (drawn.is_empty() && bytes + drawn_bytes(letter) > most);
            if is_cut {
                name.push('…');
                break;
            }
            bytes += drawn_bytes(letter);
            name.push(letter);
        }
        bytes += if is_cut { '…'.len_utf8() } else { 0 };
        if bytes > most && !drawn.is_empty() {
            drawn.push(format!("and {} more", risks.len() - drawn.len()));
            break;
        }
        drawn.push(name);
    }
    drawn
}

/// The most bytes that a letter takes in any language of drawings, with the escapes of the language.
fn drawn_bytes(letter: char) -> usize {
    match letter {
        '"' => "&quot;".len(),
        '\n' => "<br/>".len(),
        '\\' => 2,
        '#' | '&' | '<' | '>' | '`' => "&amp;".len(),
        other if is_unsafe(other) => "\\\\u{e0041}".len(),
        other => other.len_utf8(),
    }
}

/// The numbers of the sets of risks of a graph, by where each list of risks is; lists with the same names have the same.
fn numbered_sets(graph: &Graph) -> HashMap<*const Arc<Risk>, u32> {
    let names = |risks: &'_ [Arc<Risk>]| -> Vec<String> { risks.iter().map(|risk| risk.name().to_owned()).collect() };
    let mut sets: BTreeMap<Vec<String>, Vec<*const Arc<Risk>>> = BTreeMap::new();
    for group in graph.conditional() {
        sets.entry(names(&group.risks)).or_default().push(group.risks.as_ptr());
    }
    (1..)
        .zip(sets.into_values())
        .flat_map(|(number, lists)| lists.into_iter().map(move |list| (list, number)))
        .collect()
}

/// The updates that decide where a cluster can go, of all of them by source and target.
fn newest<'g>(graph: &Graph, reach: &[BitSet], show: RenderDetail, all: &[DrawnUpdate<'g>]) -> Vec<DrawnUpdate<'g>> {
    let minors = crate::query::stranded::minors(graph);
    let minor = |place: u32| minors.partition_point(|minor| minor.last < place);
    let mut kept: Vec<DrawnUpdate<'g>> = Vec::new();
    for of_one in all.chunk_by(|one, other| one.from == other.from && minor(one.to) == minor(other.to)) {
        let newest = |kind: Kind| of_one.iter().rev().find(|update| update.kind == kind);
        let Some(first) = of_one.first() else { continue };
        let reached = || reach.get(first.from as usize).into_iter().flat_map(BitSet::iter);
        let safe = |update: &&DrawnUpdate<'_>| {
            let mut in_minor = reached().filter(|place| minor(*place) == minor(first.to));
            if show == RenderDetail::Risks {
                in_minor.any(|place| place == update.to)
            } else {
                in_minor.any(|place| place >= update.to)
            }
        };
        kept.extend(newest(Kind::Plain));
        kept.extend(newest(Kind::Conditional).filter(|update| !safe(update)));
        kept.extend(newest(Kind::Removed));
    }
    kept.sort_by_key(|update| (update.from, update.to, update.kind));
    kept
}

/// The updates from one version and to another that are part of a way between them.
fn between(count: usize, from: u32, to: u32, all: Vec<DrawnUpdate<'_>>) -> Vec<DrawnUpdate<'_>> {
    let (mut ahead, mut behind) = (BitSet::none(count), BitSet::none(count));
    ahead.insert(from);
    behind.insert(to);
    // By source, so what leads to a version comes before what leads on from it.
    let offered = || all.iter().filter(|update| update.kind != Kind::Removed);
    offered().for_each(|update| {
        if ahead.contains(update.from) {
            ahead.insert(update.to);
        }
    });
    all.iter().rev().filter(|update| update.kind != Kind::Removed).for_each(|update| {
        if behind.contains(update.to) {
            behind.insert(update.from);
        }
    });
    let wanted = |update: &DrawnUpdate<'_>| {
        (update.from == from && behind.contains(update.to)) || (update.to == to && ahead.contains(update.from))
    };
    all.into_iter().filter(wanted).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn risk(name: &str) -> Arc<Risk> {
        Arc::new(Risk::new(name, "https://example.com", "It breaks.", Vec::new()))
    }

    #[test]
    fn names_have_a_bound_as_they_are_written() {
        for letter in ["x", "\u{e0041}", "\"", "é"] {
            let risks = [risk(&letter.repeat(1_000)), risk(&letter.repeat(1_000))];
            for (updates, most) in [(1, 1_500), (22_370, 1_500), (500_000, 67), (usize::MAX, 0)] {
                let names = drawn_names(&risks, updates);
                let (last, whole) = names.split_last().unwrap();
                let bytes: usize = whole.iter().flat_map(|name| name.chars()).map(drawn_bytes).sum();
                // What says that something is missing is not counted.
                assert!(bytes <= most + '…'.len_utf8(), "{updates}: {bytes} of {names:?}");
                assert!(last == "and 1 more" || most == 1_500, "{updates}: {names:?}");
            }
        }
        let short = [risk("A"), risk("B")];
        assert_eq!(drawn_names(&short, 1), ["A", "B"]);
        assert_eq!(drawn_names(&short, 500_000), ["A", "B"]);
        assert_eq!(drawn_names(&[risk("ABC")], BYTES.1 / 2), ["AB…"]);
    }

    #[test]
    fn no_letter_is_written_with_more_bytes_than_are_counted() {
        use super::super::{dot, mermaid, svg};
        for letter in ('\0'..='\u{ffff}').chain('\u{e0000}'..='\u{e0100}') {
            let text = letter.to_string();
            // Two of them have quotes around it.
            let written = [dot::quoted(&text).len() - 2, mermaid::quoted(&text).len() - 2, svg::escaped(&text).len()];
            assert!(written.iter().all(|bytes| *bytes <= drawn_bytes(letter)), "{letter:?}: {written:?}");
        }
    }
}
