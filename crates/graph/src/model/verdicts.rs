//! What the blocks make of each edge: left alone, taken away, or given risks.
//!
//! Each distinct `from` is compiled once and searched at most once in each source, and only in sources of edges into
//! its targets, so the work grows with the edges that blocks touch. Start at [`judge`].

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use clearway_core::{Place, Version};

use crate::codes;
use crate::files::block::{Block, Effect, Sources};
use crate::files::findings::Findings;
use crate::files::record::{shortened, whole};
use crate::model::edges::{Table, by, rank};
use crate::model::pattern::{Pattern, Work};
use crate::model::range::Ranges;
use crate::model::risk::Risk;
use crate::model::risk_table::RiskTable;
use crate::model::versions::id;

/// What became of an edge: nothing, its end, or the number of a set of risks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ruling(u32);

impl Ruling {
    pub(crate) const PLAIN: Ruling = Ruling(u32::MAX);
    pub(crate) const REMOVED: Ruling = Ruling(u32::MAX - 1);

    /// The set of risks of a conditional edge.
    pub(crate) fn set(self) -> u32 {
        self.0
    }
}

/// What the blocks came to.
#[derive(Debug, Default)]
pub(crate) struct Judged {
    /// Which blocks touch which row of the table.
    pub(crate) hits: Hits,
    /// The distinct sets of risks.
    pub(crate) sets: Vec<Arc<[Arc<Risk>]>>,
}

/// The blocks that touch each row, in order.
#[derive(Debug, Default)]
pub(crate) struct Hits {
    /// Where the blocks of each row start; one more entry than there are rows.
    starts: Vec<u32>,
    blocks: Vec<u32>,
}

impl Hits {
    /// Sorts (row, block) pairs into their rows by counting.
    fn new(pairs: &[(u32, u32)], rows: usize) -> Self {
        let mut starts = vec![0_u32; rows + 1];
        for (row, _) in pairs {
            starts.get_mut(*row as usize + 1).into_iter().for_each(|count| *count += 1);
        }
        let mut sum = 0;
        for count in &mut starts {
            sum += *count;
            *count = sum;
        }
        // From the last pair to the first, each takes the last place of its row that is left: then the ends of the rows
        // have become their starts, one row too far, and no second list of them is needed.
        let mut blocks = vec![0_u32; pairs.len()];
        for (row, block) in pairs.iter().rev() {
            let Some(end) = starts.get_mut(*row as usize + 1) else { continue };
            *end -= 1;
            blocks.get_mut(*end as usize).into_iter().for_each(|entry| *entry = *block);
        }
        starts.remove(0);
        starts.push(id(pairs.len()));
        let mut hits = Hits { starts, blocks };
        for row in 0..rows {
            let range = hits.range(row);
            if range.len() > 1 {
                hits.blocks.get_mut(range).into_iter().for_each(<[u32]>::sort_unstable);
            }
        }
        hits
    }

    fn range(&self, row: usize) -> std::ops::Range<usize> {
        let at = |place: usize| self.starts.get(place).copied().unwrap_or(0) as usize;
        at(row)..at(row + 1)
    }

    /// The blocks that touch a row.
    pub(crate) fn of(&self, row: usize) -> &[u32] {
        self.blocks.get(self.range(row)).unwrap_or(&[])
    }
}

/// What blocks are matched against.
pub(crate) struct Targets<'t> {
    /// By rank.
    pub(crate) versions: &'t [Version],
    /// The releases of a version.
    pub(crate) of_version: &'t dyn Fn(u32) -> &'t [u32],
    /// `<version>+<arch>` of each release.
    pub(crate) full: &'t [String],
}

impl Targets<'_> {
    /// The releases that a block is about.
    fn of(&self, block: &Block) -> impl Iterator<Item = u32> {
        let releases = rank(self.versions, &block.to).map_or(&[][..], |rank| (self.of_version)(rank));
        let (full, only) = (self.full, block.to.build().to_owned());
        releases.iter().copied().filter(move |to| {
            let full = full.get(*to as usize).map_or("", String::as_str);
            only.is_empty() || full.rsplit_once('+').is_some_and(|(_, arch)| arch == only)
        })
    }
}

/// Applies every block to the edges of the table.
///
/// An expression is compiled, searched, and dropped before the next one: compiled ones take a thousand times the memory
/// of their text.
pub(crate) fn judge(
    blocks: &mut [Block],
    risks: RiskTable,
    targets: &Targets<'_>,
    table: &mut Table,
    work: &mut Work,
    findings: &mut Findings<'_>,
) -> Judged {
    let (risks, risk_of) = number(blocks, risks, findings);
    let caps = findings.caps();
    let rows = |block: &Block| targets.of(block).map(|to| table.range(to).len()).sum::<usize>();
    let trials = blocks.iter().map(rows).fold(0, usize::saturating_add);
    let expressions = by_sources(blocks);
    if findings.exceeds("block_trials", trials, caps.block_trials, "updates to match against blocks", Place::default)
        || findings.exceeds("patterns", expressions.len(), caps.patterns, "different expressions", Place::default)
    {
        return Judged::default();
    }
    let mut pairs: Vec<(u32, u32)> = Vec::new();
    // What is known of each source: twice the number of the pattern that was searched last, and its answer.
    let mut known: Vec<u32> = vec![0; targets.full.len()];
    for (number, (sources, users)) in (1_u32..).zip(expressions) {
        let pattern = match sources {
            Sources::Ranges(ranges) => Pattern::Held(ranges),
            Sources::Expression(text) => Pattern::new(&text, caps).unwrap_or_else(|why| {
                refuse_expression(blocks, &users, &text, &why, findings);
                Pattern::Any
            }),
        };
        for (at, block) in users.iter().filter_map(|at| Some((*at, blocks.get(*at as usize)?))) {
            for to in targets.of(block) {
                let range = table.range(to);
                for (row, edge) in range.clone().zip(table.rows.get(range).unwrap_or(&[])) {
                    match touches(&pattern, number, edge.from, targets.full, &mut known, work) {
                        Some(true) => pairs.push((id(row), at)),
                        Some(false) => {}
                        None => {
                            findings.exceed(Work::exceeded(caps), whole(&block.file));
                            return Judged::default();
                        }
                    }
                }
            }
        }
    }
    let hits = Hits::new(&pairs, table.rows.len());
    drop(pairs);
    let sets = rule(&hits, &risks, &risk_of, table);
    Judged { hits, sets }
}

/// Whether a pattern is found in a source; searched once for each pair. Nothing if there is no work left for it.
fn touches(
    pattern: &Pattern,
    number: u32,
    from: u32,
    full: &[String],
    known: &mut [u32],
    work: &mut Work,
) -> Option<bool> {
    if matches!(pattern, Pattern::Any) {
        return Some(true);
    }
    let (Some(slot), Some(full)) = (known.get_mut(from as usize), full.get(from as usize)) else { return Some(true) };
    if *slot >> 1 != number {
        if !work.take(pattern, full) {
            return None;
        }
        *slot = number << 1 | u32::from(pattern.matches(full));
    }
    Some(*slot & 1 == 1)
}

/// The different `from`s with the blocks that use them, in an order that does not depend on the blocks'.
fn by_sources(blocks: &[Block]) -> Vec<(Sources, Vec<u32>)> {
    let mut texts: BTreeMap<&str, Vec<u32>> = BTreeMap::new();
    let mut shared: HashMap<*const Ranges, (&Arc<Ranges>, Vec<u32>)> = HashMap::new();
    for (at, block) in (0..).zip(blocks) {
        match &block.from {
            Sources::Expression(text) => texts.entry(text).or_default().push(at),
            Sources::Ranges(ranges) => {
                shared.entry(Arc::as_ptr(ranges)).or_insert_with(|| (ranges, Vec::new())).1.push(at);
            }
        }
    }
    let mut held: BTreeMap<String, (&Arc<Ranges>, Vec<u32>)> = BTreeMap::new();
    for (ranges, users) in shared.into_values() {
        held.entry(ranges.to_string()).or_insert_with(|| (ranges, Vec::new())).1.extend(users);
    }
    let held = held.into_values().map(|(ranges, users)| (Sources::Ranges(Arc::clone(ranges)), users));
    held.chain(texts.into_iter().map(|(text, users)| (Sources::Expression(text.to_owned()), users))).collect()
}

/// Reports a `from` that is no expression at each block that has it: it blocks every source.
fn refuse_expression(blocks: &mut [Block], users: &[u32], text: &str, why: &str, findings: &mut Findings<'_>) {
    for at in users {
        let Some(block) = blocks.get_mut(*at as usize) else { continue };
        findings.report(&codes::BLOCK_SOURCE, || {
            let mut place = whole(&block.file);
            place.position = block.from_position;
            let text = shortened(text);
            let message = format!("`from: {text}` is not an expression: {why}; every source is blocked");
            codes::BLOCK_SOURCE.finding(message).at(place).with_help("a dot is written [.] and a plus sign [+]")
        });
        block.from = Sources::Expression(".*".to_owned());
    }
}

/// The different risks in their order, and the one of each block.
fn number(blocks: &[Block], risks: RiskTable, findings: &mut Findings<'_>) -> (Vec<Arc<Risk>>, Vec<Option<u32>>) {
    let risks = risks.in_order();
    for pair in risks.windows(2) {
        if let [(one, first), (other, file)] = pair
            && one.name() == other.name()
        {
            findings.report(&codes::RISK_NAME, || {
                let message = format!("the risk `{}` differs from the one of the same name in {first}", other.name());
                let finding = codes::RISK_NAME.finding(message).at(whole(file));
                finding.with_help("use the same url, message and matchingRules, or another name")
            });
        }
    }
    let risks: Vec<Arc<Risk>> = risks.into_iter().map(|(risk, _)| risk).collect();
    let places: HashMap<*const Risk, u32> = risks.iter().map(Arc::as_ptr).zip(0..).collect();
    let risk_of = blocks
        .iter()
        .map(|block| match &block.effect {
            Effect::Remove => None,
            Effect::Condition(risk) => places.get(&Arc::as_ptr(risk)).copied(),
        })
        .collect();
    (risks, risk_of)
}

/// Rules on each row: taken away if anybody says so, else with all risks that anybody names.
fn rule(hits: &Hits, risks: &[Arc<Risk>], risk_of: &[Option<u32>], table: &mut Table) -> Vec<Arc<[Arc<Risk>]>> {
    let mut sets: Vec<Arc<[Arc<Risk>]>> = Vec::new();
    let mut known: HashMap<Vec<u32>, u32> = HashMap::new();
    let mut last: (Vec<u32>, u32) = (Vec::new(), 0);
    let mut set: Vec<u32> = Vec::new();
    for (at, (row, by)) in table.rows.iter_mut().zip(&table.by).enumerate() {
        let of_row = hits.of(at);
        if by & by::REMOVED != 0 {
            row.ruling = Ruling::REMOVED;
            continue;
        }
        if of_row.is_empty() {
            continue;
        }
        set.clear();
        set.extend(of_row.iter().filter_map(|block| risk_of.get(*block as usize).copied().flatten()));
        // A block without a risk takes the edge away, whatever the others say.
        if set.len() < of_row.len() {
            row.ruling = Ruling::REMOVED;
            continue;
        }
        set.sort_unstable();
        set.dedup();
        if last.0 != set {
            let number = *known.entry(set.clone()).or_insert_with(|| {
                sets.push(set.iter().filter_map(|risk| risks.get(*risk as usize).cloned()).collect());
                id(sets.len() - 1)
            });
            last = (set.clone(), number);
        }
        row.ruling = Ruling(last.1);
    }
    sets
}
