//! Expressions for sources: those that match nothing, too much, or only by chance.
//!
//! Each distinct expression is compiled and searched once, in every known release, within the cap on work.

use std::collections::{BTreeMap, BTreeSet};

use clearway_core::{GraphLimits, Severity, Version};

use super::alternatives::alternatives;
use super::{At, Draft, Drafts, Index, first_few};
use crate::codes;
use crate::files::block::{Block, Sources};
use crate::files::record::shortened;
use crate::model::edges::rank;
use crate::model::pattern::{Pattern, Work};

/// Checks the `from` of every block.
pub(super) fn check(index: &Index<'_>, drafts: &mut Drafts) {
    let mut users: BTreeMap<&str, Vec<&Block>> = BTreeMap::new();
    for block in index.own_blocks() {
        if let Sources::Expression(text) = &block.from
            && text != ".*"
        {
            users.entry(text).or_default().push(block);
        }
    }
    let mut search = Search::new(index);
    for (text, blocks) in users {
        let judgement = match Judgement::of(text, &mut search) {
            Ok(Some(judgement)) => judgement,
            Ok(None) => continue,
            Err(Spent) => {
                let file = blocks.first().map_or("", |block| block.file.as_str());
                let message = format!("`{}` and the expressions after it were not checked", shortened(text));
                let help = "write fewer and smaller expressions";
                drafts.push(Draft::new(&codes::SOURCE_UNCHECKED, file, At::Key("from"), message, help));
                return;
            }
        };
        for block in blocks {
            judgement.report(&shortened(text), block, index, drafts);
        }
    }
}

/// How much more is searched than to load the graph: in every release, and not only in those that blocks are tried on.
const MORE: u64 = 20;

/// The cap on work is used up.
struct Spent;

/// Expressions that are compiled and searched, within the cap on work.
struct Search<'s, 'i> {
    index: &'s Index<'i>,
    /// What is put around an expression to ask about it makes it larger than it may be by itself.
    caps: GraphLimits,
    work: Work,
}

impl<'s, 'i> Search<'s, 'i> {
    fn new(index: &'s Index<'i>) -> Self {
        let own = &index.revision.caps;
        let caps = GraphLimits {
            pattern_bytes: own.pattern_bytes.saturating_mul(4),
            pattern_positions: own.pattern_positions.saturating_mul(2),
            pattern_compiled_bytes: own.pattern_compiled_bytes.saturating_mul(2),
            ..own.clone()
        };
        let work = Work::new(caps.pattern_work.saturating_mul(MORE));
        Search { index, caps, work }
    }

    /// Compiles an expression; nothing if it is none.
    fn compile(&mut self, text: &str) -> Result<Option<Pattern>, Spent> {
        let pattern = Pattern::new(text, &self.caps).ok();
        match &pattern {
            Some(compiled) if !self.work.take_compile(compiled) => Err(Spent),
            _ => Ok(pattern),
        }
    }

    fn is_found(&mut self, pattern: &Pattern, text: &str) -> Result<bool, Spent> {
        if self.work.take(pattern, text) { Ok(pattern.matches(text)) } else { Err(Spent) }
    }

    /// The releases among some, by their places, that an expression is found in, or is not.
    fn among(&mut self, pattern: &Pattern, places: &[usize], found: bool) -> Result<Vec<usize>, Spent> {
        let index = self.index;
        let mut kept = Vec::new();
        for place in places {
            let full = index.full.get(*place).map_or("", String::as_str);
            if self.is_found(pattern, full)? == found {
                kept.push(*place);
            }
        }
        Ok(kept)
    }

    /// A version that an expression is found in as long as no architecture follows.
    fn bare(&mut self, pattern: &Pattern) -> Result<Option<&'i Version>, Spent> {
        for release in self.index.revision.releases() {
            if self.is_found(pattern, &release.node.version().to_string())? {
                return Ok(Some(release.node.version()));
            }
        }
        Ok(None)
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
    fn of(text: &str, search: &mut Search<'_, 'i>) -> Result<Option<Self>, Spent> {
        let index = search.index;
        let Some(pattern) = search.compile(text)? else { return Ok(None) };
        let all: Vec<usize> = (0..index.full.len()).collect();
        let matched = search.among(&pattern, &all, true)?;
        // A stricter expression is found only where this one is.
        let mut lost = |other: &str| match search.compile(other)? {
            Some(pattern) => search.among(&pattern, &matched, false),
            None => Ok(Vec::new()),
        };
        let versions = |places: &[usize]| -> BTreeSet<&'i Version> {
            let releases = places.iter().filter_map(|place| index.revision.releases().get(*place));
            releases.map(|release| release.node.version()).collect()
        };
        // A match that ends within a number goes on in other versions; one behind the `+` or at a word's end does not.
        let beyond = versions(&lost(&format!("(?:{text})(?:(?-u:\\b)|[^+]*$)"))?);
        // What matches nowhere from the start is meant to match behind it.
        let within = lost(&format!("^(?:{text})"))?;
        let within = if within.len() == matched.len() { BTreeSet::new() } else { versions(&within) };
        let dots = match escaped(text) {
            Some(escaped) => {
                let surplus = versions(&lost(&escaped)?);
                Some((escaped, surplus))
            }
            None => None,
        };
        let nothing = matched.is_empty();
        let bare = if nothing { search.bare(&pattern)? } else { None };
        let dead = if nothing { Vec::new() } else { dead(text, &matched, search)? };
        Ok(Some(Judgement { bare, nothing, beyond, within, dots, dead }))
    }

    fn report(&self, text: &str, block: &Block, index: &Index<'_>, drafts: &mut Drafts) {
        let mut draft = |code, message: String, help: String| {
            drafts.push(Draft::new(code, &block.file, At::Key("from"), message, help));
        };
        if let Some(version) = self.bare {
            let message = format!("`{text}` never matches: a source is searched as {version}+<arch>");
            draft(&codes::SOURCE_SUFFIX, message, "end it with `[+].*$` in place of `$`".to_owned());
        } else if self.nothing {
            let help = "correct it, or remove the file".to_owned();
            draft(&codes::SOURCE_NOTHING, format!("`{text}` matches no known release"), help);
        }
        for (alternative, bare) in &self.dead {
            let said = format!("the alternative `{alternative}` of `{text}`");
            if let Some(version) = bare {
                let message = format!("{said} never matches: a source is searched as {version}+<arch>");
                draft(&codes::SOURCE_SUFFIX, message, "end it with `[+].*$` in place of `$`".to_owned());
            } else {
                let help = "correct it or remove it, unless it is meant for future releases".to_owned();
                draft(&codes::SOURCE_ALTERNATIVE, format!("{said} matches no known release"), help);
            }
        }
        if !self.beyond.is_empty() {
            let message = format!(
                "`{text}` also matches {}, where it ends within a number",
                first_few(self.beyond.iter().copied())
            );
            let help = format!("if only whole numbers are meant, write `({text})[+]`");
            let mut draft = Draft::new(&codes::SOURCE_OPEN_END, &block.file, At::Key("from"), message, help);
            let reached = reached(&self.beyond, block, index);
            let number = self.beyond.len();
            let releases = if number == 1 { "release" } else { "releases" };
            draft.note =
                Some(format!("{number} known {releases} too many, of which {reached} can update to {}", block.to));
            drafts.push(draft);
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
                _ => format!(", so it also matches {}", first_few(surplus.iter().copied())),
            };
            let message = format!("a dot of `{text}` matches any character{also}");
            by_chance(&codes::SOURCE_DOT, surplus, message, format!("write `{}`", shortened(escaped)));
        }
    }
}

/// The alternatives of an expression that match none of the releases it is found in.
///
/// With one alternative in place of all, an expression is found only where it was before, so no other release has to be
/// looked at. An alternative within an alternative that is named is not named as well.
fn dead<'i>(
    text: &str,
    matched: &[usize],
    search: &mut Search<'_, 'i>,
) -> Result<Vec<(String, Option<&'i Version>)>, Spent> {
    let mut found: Vec<(std::ops::Range<usize>, Option<&'i Version>)> = Vec::new();
    for (content, alternative) in alternatives(text) {
        let part = |range: std::ops::Range<usize>| text.get(range).unwrap_or_default();
        let only = [part(0..content.start), part(alternative.clone()), part(content.end..text.len())].concat();
        let Some(pattern) = search.compile(&only)? else { continue };
        let mut alive = false;
        for full in matched.iter().filter_map(|place| search.index.full.get(*place)) {
            alive = search.is_found(&pattern, full)?;
            if alive {
                break;
            }
        }
        let told = found.iter().any(|(outer, _)| outer.start <= alternative.start && alternative.end <= outer.end);
        if !alive && !told {
            let bare = search.bare(&pattern)?;
            found.push((alternative, bare));
        }
    }
    let text_of = |part| shortened(text.get(part).unwrap_or_default()).into_owned();
    Ok(found.into_iter().map(|(part, bare)| (text_of(part), bare)).collect())
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
