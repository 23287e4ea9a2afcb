//! Expressions for sources: those that match nothing, too much, or only by chance.
//!
//! Each distinct expression is compiled and searched once, in every known release.

use std::collections::{BTreeMap, BTreeSet};

use clearway_core::{Severity, Version};

use super::alternatives::alternatives;
use super::{At, Draft, Index, first_few};
use crate::block::{Block, Sources};
use crate::codes;
use crate::edges::rank;
use crate::pattern::Pattern;

/// Checks the `from` of every block.
pub(super) fn check(index: &Index<'_>, drafts: &mut Vec<Draft>) {
    let mut users: BTreeMap<&str, Vec<&Block>> = BTreeMap::new();
    for block in index.own_blocks() {
        if let Sources::Expression(text) = &block.from
            && text != ".*"
        {
            users.entry(text).or_default().push(block);
        }
    }
    for (text, blocks) in users {
        let Some(judgement) = Judgement::of(text, index) else { continue };
        for block in blocks {
            judgement.report(text, block, index, drafts);
        }
    }
}

/// What there is to say about an expression, whoever uses it.
struct Judgement<'i> {
    /// It matches no release, but would without the architecture: with such a version.
    bare: Option<&'i Version>,
    nothing: bool,
    /// Releases that are matched only because nothing ends the expression.
    beyond: BTreeSet<&'i Version>,
    /// Releases that are matched only because nothing begins the expression.
    within: BTreeSet<&'i Version>,
    /// The expression with its dots escaped, and the releases that then are no longer matched.
    dots: Option<(String, BTreeSet<&'i Version>)>,
    /// Alternatives that match no release, and the version they would match without the architecture.
    dead: Vec<(String, Option<&'i Version>)>,
}

impl<'i> Judgement<'i> {
    fn of(text: &str, index: &Index<'i>) -> Option<Self> {
        let matched = matches(text, index)?;
        // A stricter expression is found only where this one is.
        let lost = |other: &str| -> Vec<usize> {
            let Ok(pattern) = Pattern::new(other) else { return Vec::new() };
            let kept = |place: &usize| index.full.get(*place).is_some_and(|full| pattern.matches(full));
            matched.iter().copied().filter(|place| !kept(place)).collect()
        };
        let versions = |places: &[usize]| -> BTreeSet<&'i Version> {
            let releases = places.iter().filter_map(|place| index.revision.releases().get(*place));
            releases.map(|release| release.node.version()).collect()
        };
        let nothing = matched.is_empty();
        let bare = nothing.then(|| bare(text, index)).flatten();
        // A match that ends within a number goes on in other versions; one behind the `+` or at a word's end does not.
        let beyond = versions(&lost(&format!("(?:{text})(?:(?-u:\\b)|[^+]*$)")));
        // What matches nowhere from the start is meant to match behind it.
        let within = lost(&format!("^(?:{text})"));
        let within = if within.len() == matched.len() { BTreeSet::new() } else { versions(&within) };
        let dots = escaped(text).map(|escaped| {
            let surplus = versions(&lost(&escaped));
            (escaped, surplus)
        });
        let dead = if nothing { Vec::new() } else { dead(text, &matched, index) };
        Some(Judgement { bare, nothing, beyond, within, dots, dead })
    }

    fn report(&self, text: &str, block: &Block, index: &Index<'_>, drafts: &mut Vec<Draft>) {
        let mut draft = |code, message: String, help: String| {
            drafts.push(Draft::new(code, &block.file, At::Key("from"), message, help));
        };
        if let Some(version) = self.bare {
            let message = format!("`{text}` never matches: a source is searched as {version}+<arch>");
            draft(&codes::SOURCE_SUFFIX, message, "end it with `[+].*$` in place of `$`".to_owned());
        } else if self.nothing {
            let help = "mend it, or remove the file".to_owned();
            draft(&codes::SOURCE_NOTHING, format!("`{text}` matches no known release"), help);
        }
        for (alternative, bare) in &self.dead {
            let said = format!("the alternative `{alternative}` of `{text}`");
            if let Some(version) = bare {
                let message = format!("{said} never matches: a source is searched as {version}+<arch>");
                draft(&codes::SOURCE_SUFFIX, message, "end it with `[+].*$` in place of `$`".to_owned());
            } else {
                let help = "mend it, or leave it out; it is right for releases that are still to come".to_owned();
                draft(&codes::SOURCE_ALTERNATIVE, format!("{said} matches no known release"), help);
            }
        }
        if !self.beyond.is_empty() {
            let message = format!(
                "`{text}` also matches {}, where it ends within a number",
                first_few(self.beyond.iter().copied())
            );
            let help = format!("if only whole numbers are meant, write `({text})[+]`");
            draft(&codes::SOURCE_OPEN_END, message, help);
            let reached = reached(&self.beyond, block, index);
            let number = self.beyond.len();
            let releases = if number == 1 { "release" } else { "releases" };
            let note = format!("{number} known {releases} too many, of which {reached} can update to {}", block.to);
            drafts.last_mut().into_iter().for_each(|draft| draft.note = Some(note.clone()));
        }
        let mut by_chance = |code, surplus: &BTreeSet<&Version>, message: String, help: String| {
            let mut draft = Draft::new(code, &block.file, At::Key("from"), message, help);
            if reached(surplus, block, index) == 0 {
                draft.severity = Severity::Info;
            }
            drafts.push(draft);
        };
        if !self.within.is_empty() {
            let also = first_few(self.within.iter().copied());
            let message = format!("`{text}` also matches {also}, where it begins within the version");
            by_chance(&codes::SOURCE_OPEN_START, &self.within, message, format!("write `^({text})`"));
        }
        if let Some((escaped, surplus)) = &self.dots {
            let also = match surplus.len() {
                0 => String::new(),
                _ => format!(", so that it also matches {}", first_few(surplus.iter().copied())),
            };
            let message = format!("a dot of `{text}` stands for any character{also}");
            by_chance(&codes::SOURCE_DOT, surplus, message, format!("write `{escaped}`"));
        }
    }
}

/// The releases that an expression is found in; nothing if it is none.
fn matches(text: &str, index: &Index<'_>) -> Option<Vec<usize>> {
    let pattern = Pattern::new(text).ok()?;
    Some(index.full.iter().enumerate().filter(|(_, full)| pattern.matches(full)).map(|(place, _)| place).collect())
}

/// The alternatives of an expression that match none of the releases it is found in.
///
/// With one alternative in place of all, an expression is found only where it was before, so no other release has to be
/// looked at. An alternative within an alternative that is named is not named as well.
fn dead<'i>(text: &str, matched: &[usize], index: &Index<'i>) -> Vec<(String, Option<&'i Version>)> {
    let mut found: Vec<(std::ops::Range<usize>, Option<&'i Version>)> = Vec::new();
    for (content, alternative) in alternatives(text) {
        let part = |range: std::ops::Range<usize>| text.get(range).unwrap_or_default();
        let only = [part(0..content.start), part(alternative.clone()), part(content.end..text.len())].concat();
        let Ok(pattern) = Pattern::new(&only) else { continue };
        let alive = matched.iter().filter_map(|place| index.full.get(*place)).any(|full| pattern.matches(full));
        let told = found.iter().any(|(outer, _)| outer.start <= alternative.start && alternative.end <= outer.end);
        if !alive && !told {
            found.push((alternative, bare(&only, index)));
        }
    }
    found.into_iter().map(|(part, bare)| (text.get(part).unwrap_or_default().to_owned(), bare)).collect()
}

/// A version that an expression is found in as long as no architecture follows.
fn bare<'i>(text: &str, index: &Index<'i>) -> Option<&'i Version> {
    let pattern = Pattern::new(text).ok()?;
    let versions = index.revision.releases().iter().map(|release| release.node.version());
    versions.into_iter().find(|version| pattern.matches(&version.to_string()))
}

/// How many of some versions have an update to the target of a block.
fn reached(versions: &BTreeSet<&Version>, block: &Block, index: &Index<'_>) -> usize {
    let revision = index.revision;
    let Some(rank) = rank(&revision.versions, &block.to) else { return 0 };
    let rows = revision.members.of_version(rank).iter().flat_map(|to| revision.table.incoming(*to));
    let sources = rows.filter_map(|row| revision.releases().get(row.from as usize)).map(|r| r.node.version());
    sources.filter(|version| versions.contains(version)).collect::<BTreeSet<_>>().len()
}

/// The expression with every dot between two digits escaped; nothing if there is none.
fn escaped(text: &str) -> Option<String> {
    let mut out = String::with_capacity(text.len() + 8);
    let mut letters = text.chars().peekable();
    let (mut last, mut in_class, mut changed) = (' ', false, false);
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => {
                out.push(letter);
                out.extend(letters.next());
                last = '\\';
                continue;
            }
            '[' if !in_class => in_class = true,
            ']' if in_class => in_class = false,
            '.' if !in_class && last.is_ascii_digit() && letters.peek().is_some_and(char::is_ascii_digit) => {
                out.push_str("[.]");
                (last, changed) = (']', true);
                continue;
            }
            _ => {}
        }
        out.push(letter);
        last = letter;
    }
    changed.then_some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_dot_between_digits_outside_of_a_class_is_escaped() {
        for (text, want) in [
            ("4.18.*", Some("4[.]18.*")),
            ("4[.](17[.]0-.*|18.0-rc)", Some("4[.](17[.]0-.*|18[.]0-rc)")),
            (r"4\.18[.].*", None),
            ("[4.18]", None),
            ("4[.]18[.].*", None),
            (".*", None),
        ] {
            assert_eq!(escaped(text).as_deref(), want, "{text}");
        }
    }
}
