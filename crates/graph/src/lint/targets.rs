//! Targets of blocks: those that no channel offers, those that are blocked without a reason, those whose risks a block hides, and the
//! releases that are said to mend a risk.

use std::collections::{BTreeMap, BTreeSet};

use clearway_core::Version;

use super::{At, Draft, Drafts, Index, is_own, risk};
use crate::codes;
use crate::files::block::{Block, Effect};
use crate::model::edges::rank;

/// Checks `to` and `fixedIn` of every block.
pub(super) fn check(index: &Index<'_>, drafts: &mut Drafts) {
    for block in index.own_blocks().filter(|block| !index.listed.contains(&block.to.without_build())) {
        let known = rank(&index.revision.versions, &block.to)
            .is_some_and(|rank| !index.revision.members.of_version(rank).is_empty());
        let unknown = if known { "" } else { ", and no release of it is known" };
        let message = format!("no channel lists {}{unknown}", block.to);
        let help = "remove the file, or list the release";
        drafts.push(Draft::new(&codes::TARGET_NOT_LISTED, &block.file, At::Key("to"), message, help));
    }
    for block in index.own_blocks().filter(|block| block.effect == Effect::Remove) {
        let message = format!("the updates to {} are blocked with no name, message or url", block.to);
        let help =
            "add `name`, `url`, `message` and `matchingRules`; with `type: Always` no cluster is recommended them";
        drafts.push(Draft::new(&codes::BLOCK_SILENT, &block.file, At::Key("to"), message, help));
    }
    hidden_risks(index, drafts);
    // A declared risk stands for many blocks.
    let mut told: BTreeSet<&str> = BTreeSet::new();
    for block in index.revision.blocks() {
        let Some(why) = block.fixed_in.as_ref().and_then(|fixed| wrong(block, fixed, index)) else { continue };
        if told.insert(&block.file) {
            let help = "name the first release of this minor version without the problem, or leave it out";
            drafts.push(Draft::new(&codes::FIXED_IN, &block.file, At::Key("fixedIn"), why, help));
        }
    }
}

/// Reports blocks that remove edges which another file puts a risk on: the risk is then shown to nobody.
fn hidden_risks(index: &Index<'_>, drafts: &mut Drafts) {
    let revision = index.revision;
    if index.own_blocks().all(|block| block.effect != Effect::Remove) {
        return;
    }
    // Each file that removes edges with its target, and the risks it hides with the files they stand in.
    let mut hidden: BTreeMap<(&str, &Version), BTreeSet<(&str, &str)>> = BTreeMap::new();
    for row in 0..revision.table.rows.len() {
        let blocks = || revision.judged.hits.of(row).iter().filter_map(|block| revision.blocks().get(*block as usize));
        for removing in blocks().filter(|block| is_own(block) && block.effect == Effect::Remove) {
            let risks = blocks().filter_map(|block| Some((risk(block)?.name(), block.file.as_str())));
            hidden.entry((&removing.file, &removing.to)).or_default().extend(risks);
        }
    }
    for ((file, to), risks) in hidden {
        let Some((name, other)) = risks.first() else { continue };
        let more = if risks.len() > 1 { format!(" and {} more", risks.len() - 1) } else { String::new() };
        let message = format!("this block removes updates to {to}, which hides the risk `{name}` ({other}){more}");
        let help = "remove this file to have the risk evaluated, or the risk if no cluster may take the update";
        drafts.push(Draft::new(&codes::BLOCK_HIDES_RISK, file, At::Key("to"), message, help));
    }
}

/// Why a release cannot be the one that mends what a block warns of.
fn wrong(block: &Block, fixed: &Version, index: &Index<'_>) -> Option<String> {
    let to = &block.to;
    if (fixed.major(), fixed.minor()) != (to.major(), to.minor()) {
        Some(format!("`fixedIn` {fixed} is of another minor version than {to}"))
    } else if fixed.precedence(to).is_le() {
        Some(format!("`fixedIn` {fixed} is not newer than {to}"))
    } else if !index.listed.contains(&fixed.without_build()) {
        Some(format!("`fixedIn` {fixed} is in no channel"))
    } else {
        None
    }
}
