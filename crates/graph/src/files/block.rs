//! One file of `blocked-edges/`: which edges into a release are taken away, or carry a risk.
//!
//! What the file fails to say is read against the edge, never for it; the table is at the crate's head.

use std::fmt;
use std::sync::Arc;

use clearway_core::{CapExceeded, Position, Version};
use clearway_yaml::Node;

use crate::codes;
use crate::files::findings::{Findings, over};
use crate::files::record::{Record, read_one, repeated_key, shortened};
use crate::model::range::Ranges;
use crate::model::risk::{Risk, Rule};

/// A block as its file declares it.
#[derive(Debug, Clone, PartialEq)]
pub struct Block {
    /// The file.
    pub file: String,
    /// Where its `to` stands.
    pub position: Option<Position>,
    /// The target; with build metadata, that architecture's release only.
    pub to: Version,
    /// The sources. An unreadable expression stands here as `.*`.
    pub from: Sources,
    /// Where its `from` stands.
    pub from_position: Option<Position>,
    /// What becomes of the edges.
    pub effect: Effect,
    /// The release that no longer has the problem.
    pub fixed_in: Option<Version>,
}

/// Which sources a block touches.
#[derive(Debug, Clone, PartialEq)]
pub enum Sources {
    /// Those in whose `<version>+<arch>` an expression is found.
    Expression(String),
    /// Those that version ranges hold. Shared by the blocks that one declared risk stands for.
    Ranges(Arc<Ranges>),
}

impl fmt::Display for Sources {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Sources::Expression(text) => f.write_str(text),
            Sources::Ranges(ranges) => ranges.fmt(f),
        }
    }
}

/// What a block does to the edges it touches.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// They are not offered to anybody.
    Remove,
    /// They are offered to clusters that the risk does not match.
    Condition(Arc<Risk>),
}

const KEYS: &[&str] = &["to", "from", "url", "name", "message", "matchingRules", "fixedIn", "autoExtend"];

/// Reads a block file; nothing, with the revision refused, if its target cannot be read.
pub(crate) fn read(path: &str, bytes: &[u8], findings: &mut Findings<'_>) -> Option<Block> {
    read_one(path, bytes, &codes::BLOCK_TARGET, findings, |record, findings| parse(path, record, findings))
}

fn parse(path: &str, record: Record<'_>, findings: &mut Findings<'_>) -> Option<Block> {
    let repeated = record.check_keys(KEYS, findings);
    let to = target(record, &repeated, findings)?;
    let from = Sources::Expression(source(record, &repeated, findings));
    let fixed_in = fixed_in(record, findings);
    auto_extend(record, findings);
    let position = record.root.get("to").and_then(|node| record.position(node));
    let from_position = record.root.get("from").and_then(|node| record.position(node));
    let effect = effect(record, findings);
    Some(Block { file: path.to_owned(), position, to, from, from_position, effect, fixed_in })
}

/// The release that no longer has the problem.
pub(crate) fn fixed_in(record: Record<'_>, findings: &mut Findings<'_>) -> Option<Version> {
    record.root.get("fixedIn").and_then(|node| {
        let version = node.as_text().and_then(|text| text.parse().ok());
        if version.is_none() {
            let message = format!("`fixedIn` is {}, not a version", shown(node));
            findings.push(record.finding(&codes::BLOCK_FIXED_IN, node, message).with_help("such as `fixedIn: 4.14.3`"));
        }
        version
    })
}

/// Where the wish to carry the risk on is recorded: any URL will do, for only people follow it.
fn auto_extend(record: Record<'_>, findings: &mut Findings<'_>) {
    let Some(node) = record.root.get("autoExtend") else { return };
    let is_url = |text: &str| {
        let (scheme, rest) = text.split_once("://").unwrap_or_default();
        matches!(scheme, "http" | "https") && !rest.is_empty() && !text.contains(char::is_whitespace)
    };
    if !node.as_text().is_some_and(is_url) {
        let message = format!("`autoExtend` is {}, not a URL", shown(node));
        let help = "such as `autoExtend: https://example.com/issues/1`";
        findings.push(record.finding(&codes::BLOCK_AUTO_EXTEND, node, message).with_help(help));
    }
}

fn target(record: Record<'_>, repeated: &[&str], findings: &mut Findings<'_>) -> Option<Version> {
    let node = record.root.get("to");
    let why = match node {
        _ if repeated.contains(&"to") => "`to` is set twice".to_owned(),
        None => "the block has no `to`".to_owned(),
        Some(node) => match node.as_text().map(str::parse::<Version>) {
            Some(Ok(version)) => return Some(version),
            Some(Err(error)) => error.to_string(),
            None => format!("`to` is {}, not a version", shown(node)),
        },
    };
    let finding = record.finding(&codes::BLOCK_TARGET, node.unwrap_or(record.root), why);
    findings.refuse(finding.with_help("name the one release that the edges lead to, such as `to: 4.14.3`"));
    None
}

fn source(record: Record<'_>, repeated: &[&str], findings: &mut Findings<'_>) -> String {
    let node = record.root.get("from");
    let why = match node {
        _ if repeated.contains(&"from") => "`from` is set twice".to_owned(),
        None => "the block has no `from`".to_owned(),
        Some(node) => match node.as_text() {
            Some(text) => return text.to_owned(),
            None => format!("`from` is {}, not a string", shown(node)),
        },
    };
    let finding =
        record.finding(&codes::BLOCK_SOURCE, node.unwrap_or(record.root), format!("{why}; every source is blocked"));
    findings.push(finding.with_help("write an expression in quotes, such as `from: '^4[.]13[.].*$'`, or `from: .*`"));
    ".*".to_owned()
}

/// What the texts and rules of a file come to.
pub(crate) fn effect(record: Record<'_>, findings: &mut Findings<'_>) -> Effect {
    let root = record.root;
    let rules = root.get("matchingRules");
    let texts = ["url", "name", "message"].map(|key| root.get(key));
    if rules.is_none() && texts.iter().all(Option::is_none) {
        return Effect::Remove;
    }
    let filled = |node: Option<Node<'_>>| {
        node.and_then(|node| node.as_text().filter(|text| !text.is_empty()).map(str::to_owned))
    };
    let [Some(url), Some(name), Some(message)] = texts.map(filled) else {
        let missing: Vec<_> = ["url", "name", "message"]
            .into_iter()
            .zip(texts)
            .filter(|(_, node)| filled(*node).is_none())
            .map(|(key, _)| format!("`{key}`"))
            .collect();
        let message = format!("the risk has no {} that is a string; its edges are removed", missing.join(" and no "));
        let at = rules.or_else(|| texts.into_iter().flatten().next()).unwrap_or(root);
        findings.push(
            record
                .finding(&codes::BLOCK_INCOMPLETE, at, message)
                .with_help("a risk is shown with its name, message and url"),
        );
        return Effect::Remove;
    };
    let caps = findings.caps();
    let above = CapExceeded::first([
        ("name_bytes", name.len(), caps.name_bytes, "bytes in the name of a risk"),
        ("url_bytes", url.len(), caps.url_bytes, "bytes in the url of a risk"),
        ("message_bytes", message.len(), caps.message_bytes, "bytes in the message of a risk"),
        ("rules", rules.map_or(0, |rules| rules.items().count()), caps.rules, "matching rules in one risk"),
    ]);
    let risk = above.map_or(Ok(()), Err).and_then(|()| {
        let risk = Risk::new(name, url, message, read_rules(record, rules, findings));
        risk.above(caps).map_or(Ok(risk), Err)
    });
    match risk {
        Ok(risk) => Effect::Condition(Arc::new(risk)),
        Err(above) => {
            let finding = over(&codes::TOO_LARGE, &above).at(record.finding(&codes::TOO_LARGE, root, "").place);
            findings.push(finding.with_note("its updates are removed"));
            Effect::Remove
        }
    }
}

/// The rules of a risk; [`Rule::ALWAYS`] where there are none that can be read.
fn read_rules(record: Record<'_>, node: Option<Node<'_>>, findings: &mut Findings<'_>) -> Vec<Rule> {
    let always = || vec![Rule::of_kind(Rule::ALWAYS)];
    let help = "such as `- type: Always`, or `- type: PromQL` with `promql.promql`";
    // Of two lists, or of two queries in one rule, one may match where the other does not.
    let lists = record.root.fields().filter(|(key, _)| key.raw() == "matchingRules");
    if let Some(key) = lists.skip(1).map(|(key, _)| key).next().or_else(|| node.and_then(repeated_key)) {
        let message =
            format!("`{}` is set twice; the risk is served as applying to every cluster", shortened(key.raw()));
        findings.push(record.finding(&codes::BLOCK_RULES, key, message).with_help("keep one of the two"));
        return always();
    }
    let Some(node) = node.filter(|node| node.items().next().is_some() || !node.is_sequence()) else {
        let message = "the risk has no `matchingRules`, and is served as applying to every cluster";
        findings.push(record.finding(&codes::BLOCK_NO_RULES, node.unwrap_or(record.root), message).with_help(help));
        return always();
    };
    let mut rules = Vec::new();
    for item in node.items() {
        let Some(rule) = Rule::from_json(&item.to_json()).filter(|rule| !rule.kind.is_empty()) else {
            let message = "an entry of `matchingRules` has no `type`; the risk is served as applying to every cluster";
            findings.push(record.finding(&codes::BLOCK_RULES, item, message).with_help(help));
            return always();
        };
        if !Rule::KNOWN.contains(&rule.kind.as_str()) {
            let message = format!("unknown rule type `{}`; it is served unchanged", shortened(&rule.kind));
            let help = format!("check the spelling; the known types are {}", Rule::KNOWN.join(", "));
            findings.push(record.finding(&codes::RULE_TYPE, item, message).with_help(help));
        }
        rules.push(rule);
    }
    if rules.is_empty() {
        let message = format!(
            "`matchingRules` is {}, not a list; the risk is served as applying to every cluster",
            node.describe()
        );
        findings.push(record.finding(&codes::BLOCK_RULES, node, message).with_help(help));
        return always();
    }
    rules
}

/// A value for a message: what it is, and how it is written where it is short.
fn shown(node: Node<'_>) -> String {
    match node.raw() {
        "" => node.describe().to_owned(),
        raw => format!("{} (`{}`)", node.describe(), raw.chars().take(40).collect::<String>()),
    }
}
