//! The run of a risk over the releases of a minor version: its holes, its end, and what stands in it twice.
//!
//! Pre-releases are left out of holes and ends: a risk on releases need not be on what came before them.

use std::collections::{BTreeMap, BTreeSet};

use clearway_core::Version;

use super::{At, Draft, Drafts, Index, first_few, is_own};
use crate::codes;
use crate::files::block::Block;

/// Checks the blocks of every risk, one minor version at a time.
pub(super) fn check(index: &Index<'_>, drafts: &mut Drafts) {
    // The releases of each minor version that a channel lists.
    let mut releases: BTreeMap<(u64, u64), Vec<&Version>> = BTreeMap::new();
    for version in index.listed.iter().filter(|version| version.pre_release().is_empty()) {
        releases.entry((version.major(), version.minor())).or_default().push(version);
    }
    for ((name, major, minor), run) in &index.runs {
        let releases = releases.get(&(*major, *minor)).map_or(&[][..], Vec::as_slice);
        gaps(name, run, releases, drafts);
        end(name, run, releases, drafts);
        twice(name, run, drafts);
        fixed_in(name, run, drafts);
    }
}

/// Releases that a risk leaves out between two that it is on.
fn gaps(name: &str, run: &[&Block], releases: &[&Version], drafts: &mut Drafts) {
    let covered: BTreeSet<Version> = run.iter().map(|block| block.to.without_build()).collect();
    let mut blocks = run.iter().filter(|block| block.to.pre_release().is_empty()).peekable();
    while let (Some(block), Some(next)) = (blocks.next(), blocks.peek()) {
        // Both are in order, so each release is looked at once.
        let after = releases.partition_point(|version| version.precedence(&block.to).is_le());
        let before = releases.partition_point(|version| version.precedence(&next.to).is_lt());
        let between = releases.get(after..before).unwrap_or_default();
        let missing: Vec<&Version> = between.iter().filter(|version| !covered.contains(**version)).copied().collect();
        if missing.is_empty() {
            continue;
        }
        let missing = first_few(missing);
        let message = format!("the risk `{name}` is on {} and {}, but not on {missing}", block.to, next.to);
        let help = format!("add a block for {missing}");
        drafts.push(Draft::new(&codes::RISK_GAP, &next.file, At::Key("to"), message, help));
    }
}

/// A risk that stops before the newest release, without a word.
fn end(name: &str, run: &[&Block], releases: &[&Version], drafts: &mut Drafts) {
    let Some(last) = run.last() else { return };
    let later = releases.iter().copied().find(|version| version.precedence(&last.to).is_gt());
    // Whoever says it once has said it for the run.
    let said = run.iter().any(|block| block.fixed_in.is_some());
    if let (Some(later), false) = (later, said) {
        let message =
            format!("the risk `{name}` ends with {}, and no `fixedIn` says why {later} does not have it", last.to);
        let help = format!("add `fixedIn: {later}`, or a block for {later}");
        drafts.push(Draft::new(&codes::FIXED_IN_MISSING, &last.file, At::Key("to"), message, help));
    }
}

/// Two files for one risk and one target.
fn twice(name: &str, run: &[&Block], drafts: &mut Drafts) {
    for pair in run.windows(2) {
        if let [one, other] = pair
            && one.to == other.to
            && is_own(other)
        {
            let message = format!("the risk `{name}` is also declared for {} in {}", other.to, one.file);
            let help = "keep one file, with one expression for all sources";
            drafts.push(Draft::new(&codes::RISK_TWICE, &other.file, At::Key("to"), message, help));
        }
    }
}

/// Two answers to the question where a risk ends.
fn fixed_in(name: &str, run: &[&Block], drafts: &mut Drafts) {
    let mut named = run.iter().filter_map(|block| Some((block, block.fixed_in.as_ref()?)));
    let Some((first, fixed)) = named.next() else { return };
    let mut told = BTreeSet::new();
    for (block, other) in named.filter(|(_, other)| *other != fixed) {
        if told.insert(&block.file) {
            let message = format!("the risk `{name}` is fixed in {other} here, and in {fixed} in {}", first.file);
            let help = "name the first release of this minor version without the problem in both";
            drafts.push(Draft::new(&codes::FIXED_IN_DIFFERS, &block.file, At::Key("fixedIn"), message, help));
        }
    }
}
