//! The alternatives of a regular expression, by their places in its text.

use std::ops::Range;

/// Alternatives that are looked at in one expression: more are written by a program, for a purpose.
const MOST: usize = 200;

/// Each alternative of each `a|b`, outer ones first, with the place of all alternatives that it stands among.
pub(super) fn alternatives(text: &str) -> Vec<(Range<usize>, Range<usize>)> {
    let mut open: Vec<Group> = vec![Group { content: 0, bars: Vec::new() }];
    let mut found: Vec<(Range<usize>, Range<usize>)> = Vec::new();
    let mut letters = text.char_indices().peekable();
    let mut in_class = 0_usize;
    while let Some((at, letter)) = letters.next() {
        match letter {
            '\\' => {
                letters.next();
            }
            '[' => in_class += 1,
            ']' if in_class > 0 => in_class -= 1,
            _ if in_class > 0 => {}
            '(' => {
                let content = at + 1 + head(text.get(at + 1..).unwrap_or_default());
                open.push(Group { content, bars: Vec::new() });
            }
            ')' => {
                // The whole is never closed, whatever the text.
                if open.len() > 1
                    && let Some(group) = open.pop()
                {
                    group.close(at, &mut found);
                }
            }
            '|' => open.last_mut().into_iter().for_each(|group| group.bars.push(at)),
            _ => {}
        }
    }
    if let [whole] = open.as_slice() {
        whole.close(text.len(), &mut found);
    }
    found.sort_by_key(|(content, alternative)| (content.start, std::cmp::Reverse(content.end), alternative.start));
    found.truncate(MOST);
    found
}

/// A group that is not closed yet.
struct Group {
    content: usize,
    bars: Vec<usize>,
}

impl Group {
    fn close(&self, end: usize, found: &mut Vec<(Range<usize>, Range<usize>)>) {
        if self.bars.is_empty() {
            return;
        }
        let mut start = self.content;
        for bar in self.bars.iter().copied().chain([end]) {
            found.push((self.content..end, start..bar));
            start = bar + 1;
        }
    }
}

/// How long what stands before the content of a group is: `?:`, `?i:`, `?P<name>`.
fn head(group: &str) -> usize {
    if !group.starts_with('?') {
        return 0;
    }
    group.find([':', '>', ')']).map_or(0, |at| if group.get(at..=at) == Some(")") { at } else { at + 1 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alternatives_are_found_at_every_level_and_not_in_classes() {
        for (text, want) in [
            ("4[.]15[.](1|99)[+].*", &["1", "99"][..]),
            ("a|b", &["a", "b"]),
            ("(?:a|b(c|d))", &["a", "b(c|d)", "c", "d"]),
            ("(?P<n>a|)", &["a", ""]),
            (r"a\|[|]\(b", &[]),
            ("(?i)a", &[]),
            ("a)|b", &["a)", "b"]),
            ("(a|b", &[]),
            ("[[:alpha:]|x](é|ü)", &["é", "ü"]),
        ] {
            let found: Vec<&str> = alternatives(text).into_iter().map(|(_, part)| &text[part]).collect();
            assert_eq!(found, want, "{text}");
        }
    }
}
