//! Risks themselves, wherever they stand: what clients show of them, their lists of rules, and declarations that older
//! services do not see.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use clearway_core::Version;

use super::{At, Draft, Drafts, Index, first_few, is_own, risk};
use crate::codes;
use crate::files::block::Block;
use crate::model::risk::{Risk, Rule};

/// Bytes of a message above which it is too long: fifteen times the longest in use, and a `ClusterVersion` that lists it
/// for a hundred targets still fits into etcd.
const LONG: usize = 8 << 10;

/// Checks what clients show of a risk that stands in a file, and its rules.
pub(super) fn check(file: &str, risk: &Risk, drafts: &mut Drafts) {
    texts(file, risk, drafts);
    rules(file, risk, drafts);
}

fn texts(file: &str, risk: &Risk, drafts: &mut Drafts) {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    if !risk.name().starts_with(|first: char| first.is_ascii_uppercase()) || !risk.name().bytes().all(plain) {
        let message = format!("`{}` is not a valid name of a risk", risk.name());
        let help = "such as `SlowDisks`: letters, digits and `_`, starting with a capital letter";
        drafts.push(Draft::new(&codes::RISK_TEXT, file, At::Key("name"), message, help));
    }
    if !risk.url().starts_with("https://") {
        let message = format!("the url of `{}` does not begin with `https://`", risk.name());
        drafts.push(Draft::new(
            &codes::RISK_TEXT,
            file,
            At::Key("url"),
            message,
            "link to a page with more information",
        ));
    }
    if risk.message().trim().is_empty() {
        let message = format!("the message of `{}` is empty", risk.name());
        drafts.push(Draft::new(
            &codes::RISK_TEXT,
            file,
            At::Key("message"),
            message,
            "say what goes wrong, and for which clusters",
        ));
    }
    if risk.message().len() > LONG {
        let message = format!("the message of `{}` has {} bytes", risk.name(), risk.message().len());
        let help = "say in a few sentences what goes wrong and for which clusters, and link to the rest";
        drafts.push(Draft::new(&codes::RISK_MESSAGE, file, At::Key("message"), message, help));
    }
}

fn rules(file: &str, risk: &Risk, drafts: &mut Drafts) {
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    let mut told: BTreeSet<&str> = BTreeSet::new();
    for rule in risk.rules() {
        if !seen.insert(&rule.kind) && told.insert(&rule.kind) {
            let message = format!("the risk `{}` has two rules of the type `{}`", risk.name(), rule.kind);
            let help = "merge them, for example into one query with `or`";
            drafts.push(Draft::new(&codes::RULE_REPEATED, file, At::Key("matchingRules"), message, help));
        }
    }
    let extra = risk.rules().iter().filter(|rule| rule.kind == Rule::ALWAYS).flat_map(|rule| rule.parameters.keys());
    let extra: Vec<String> = extra.map(|key| format!("`{key}`")).collect();
    if !extra.is_empty() {
        let message = format!("the rule `Always` of the risk `{}` also has {}", risk.name(), extra.join(", "));
        let help = "remove it, or set the type that it belongs to";
        drafts.push(Draft::new(&codes::RULE_PARAMETERS, file, At::Key("matchingRules"), message, help));
    }
}

/// Checks that whatever a declared risk is on, a file of `blocked-edges/` puts it there too.
pub(super) fn declared(index: &Index<'_>, drafts: &mut Drafts) {
    let revision = index.revision;
    if revision.declarations().is_empty() {
        return;
    }
    let mut missing: BTreeMap<&str, BTreeSet<&Version>> = BTreeMap::new();
    // Equal risks are one, so their addresses tell them apart; a block that removes its edges has none.
    let address = |block: &Block| risk(block).map(std::ptr::from_ref);
    let mut own: HashSet<Option<*const Risk>> = HashSet::new();
    for row in 0..revision.table.rows.len() {
        let blocks = || revision.judged.hits.of(row).iter().filter_map(|block| revision.blocks().get(*block as usize));
        if blocks().all(is_own) {
            continue;
        }
        own.clear();
        own.extend(blocks().filter(|block| is_own(block)).map(address));
        for block in blocks().filter(|block| !is_own(block) && !own.contains(&address(block))) {
            missing.entry(&block.file).or_default().insert(&block.to);
        }
    }
    for (file, targets) in missing {
        let message = format!("no file of blocked-edges/ puts this risk on all its updates to {}", first_few(targets));
        let help = "write them beside the declarations: `clearway graph convert -o blocks --keep --output-dir DIR`";
        // Where edges stand in a list of their own, the file as a whole is shown.
        drafts.push(Draft::new(&codes::DECLARED_ONLY, file, At::Key("to"), message, help));
    }
}
