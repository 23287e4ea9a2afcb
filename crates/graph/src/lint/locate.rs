//! From drafts to findings: the files that drafts name are read again, each once, for places and source lines.

use std::collections::BTreeMap;

use clearway_core::{Diagnostic, Excerpt, GraphLimits, Limits, Position};
use clearway_yaml::{Node, ReadEvent, Source};

use super::drafts::{At, Draft, Drafts};
use crate::files::inputs::Inputs;
use crate::files::record::whole;

/// Bytes of a file in which a part of a text is searched for: above, the text as a whole is shown.
const SEARCHED: usize = 1 << 20;

/// Gives every draft its place.
pub(super) fn locate(drafts: Drafts, inputs: &Inputs, caps: &GraphLimits) -> Vec<Diagnostic> {
    let limits = Limits { graph: caps.clone(), ..Limits::default() }.of_graph_data();
    let mut found = drafts.omitted_findings();
    let mut by_file: BTreeMap<String, Vec<Draft>> = BTreeMap::new();
    for draft in drafts.kept {
        by_file.entry(draft.file.clone()).or_default().push(draft);
    }
    for (file, drafts) in by_file {
        let bytes = inputs.get(&file).unwrap_or_default();
        let mut first = true;
        clearway_yaml::read_documents(bytes, &file, &limits, |object| {
            if let ReadEvent::Object { root, source, .. } = object
                && std::mem::take(&mut first)
            {
                found.extend(drafts.iter().map(|draft| placed(draft, root, source, bytes)));
            }
        });
        if first {
            found.extend(drafts.iter().map(|draft| draft.finding().at(whole(&file))));
        }
    }
    found
}

fn placed(draft: &Draft, root: Node<'_>, source: Source<'_>, bytes: &[u8]) -> Diagnostic {
    let finding = draft.finding();
    let node = match &draft.at {
        At::Key(key) => root.get(key),
        At::Entry { list, text, repeat } => root
            .get(list)
            .and_then(|list| list.items().filter(|item| item.as_text() == Some(text.as_str())).nth(*repeat)),
        At::RuleText { rule, keys, text, span } => {
            let rule = root.get("matchingRules").and_then(|rules| rules.items().nth(*rule));
            let node = rule.and_then(|rule| text_node(rule, *keys).or(Some(rule)));
            let file = if bytes.len() > SEARCHED { "" } else { str::from_utf8(bytes).unwrap_or_default() };
            if let Some((position, excerpt)) = within(file, node, text, span.start, span.end) {
                let mut place = whole(&draft.file);
                place.position = Some(position);
                return finding.at(place).with_excerpt(excerpt);
            }
            node
        }
    };
    let node = node.unwrap_or(root);
    finding.at(source.place(node)).with_excerpt(source.excerpt(node))
}

/// The text of a rule under two keys, in any spelling.
fn text_node<'n>(rule: Node<'n>, [outer, inner]: [&str; 2]) -> Option<Node<'n>> {
    under(under(rule, outer)?, inner)
}

fn under<'n>(node: Node<'n>, wanted: &str) -> Option<Node<'n>> {
    node.fields().find(|(key, _)| key.raw().eq_ignore_ascii_case(wanted)).map(|(_, value)| value)
}

/// The place of a part of a text, where its line stands in the file: as it is, or escaped in quotes.
fn within(
    file: &str,
    node: Option<Node<'_>>,
    text: &str,
    start: usize,
    end: usize,
) -> Option<(Position, Option<Excerpt>)> {
    let from = node?.span()?.start;
    let before = text.get(..start)?;
    let line_start = before.rfind('\n').map_or(0, |at| at + 1);
    let line = text.get(line_start..)?.lines().next().filter(|line| !line.trim().is_empty())?;
    let (head, tail) = line.split_at_checked(start - line_start)?;
    let part = tail.get(..end.saturating_sub(start).min(tail.len()))?;
    // Lines that read the same are told apart by counting those before.
    let repeat = text.get(..line_start)?.matches(line).count();
    let rest = file.get(from..)?;
    let spellings: [fn(&str) -> String; 3] =
        [str::to_owned, |part| part.replace('\\', "\\\\").replace('"', "\\\""), |part| part.replace('\'', "''")];
    let (at, length) = spellings.into_iter().find_map(|spelt| {
        let (at, _) = rest.match_indices(&spelt(line)).nth(repeat)?;
        Some((from + at + spelt(head).len(), spelt(part).len()))
    })?;
    let head = file.get(..at)?;
    let column_start = head.rfind('\n').map_or(0, |at| at + 1);
    let position =
        Position { line: head.matches('\n').count() + 1, column: head.get(column_start..)?.chars().count() + 1 };
    Some((position, Excerpt::of(file, at..at + length)))
}
