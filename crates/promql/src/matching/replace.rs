//! What becomes of a value that a pattern matches, as `label_replace` has it.

use super::Pattern;

/// A pattern with what replaces it: `$1` and `${name}` stand for groups, `$$` for a dollar sign.
#[derive(Debug, Clone)]
pub(crate) struct Replacement<'p> {
    pattern: &'p Pattern,
    parts: Vec<Part>,
}

/// A part of a replacement.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Text(String),
    Group(usize),
    Named(String),
}

/// What a replacement makes is longer than allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TooLong;

impl<'p> Replacement<'p> {
    pub(crate) fn new(pattern: &'p Pattern, with: &str) -> Self {
        Replacement { pattern, parts: parts(with) }
    }

    /// What becomes of a value that matches as a whole; nothing if it does not.
    pub(crate) fn replace(&self, value: &str, longest: usize) -> Result<Option<String>, TooLong> {
        let Some(groups) = self.pattern.0.captures(value) else { return Ok(None) };
        let mut made = String::new();
        for part in &self.parts {
            made.push_str(match part {
                Part::Text(text) => text,
                Part::Group(index) => groups.get(*index).map_or("", |group| group.as_str()),
                Part::Named(name) => groups.name(name).map_or("", |group| group.as_str()),
            });
            if made.len() > longest {
                return Err(TooLong);
            }
        }
        Ok(Some(made))
    }
}

/// Takes a replacement apart. A dollar sign that starts no group is itself.
fn parts(with: &str) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut rest = with;
    while let Some((before, after)) = rest.split_once('$') {
        parts.push(Part::Text(before.to_owned()));
        if let Some(tail) = after.strip_prefix('$') {
            parts.push(Part::Text("$".to_owned()));
            rest = tail;
            continue;
        }
        let braces = after.strip_prefix('{');
        let body = braces.unwrap_or(after);
        let end = body.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(body.len());
        let (name, tail) = body.split_at(end);
        let tail = if braces.is_some() { tail.strip_prefix('}') } else { Some(tail) };
        match tail {
            Some(tail) if !name.is_empty() => {
                parts.push(group(name));
                rest = tail;
            }
            _ => {
                parts.push(Part::Text("$".to_owned()));
                rest = after;
            }
        }
    }
    parts.push(Part::Text(rest.to_owned()));
    parts.retain(|part| *part != Part::Text(String::new()));
    parts
}

/// A group by its number, or by its name if that is no number.
fn group(name: &str) -> Part {
    let number =
        name.len() < 9 && name.bytes().all(|byte| byte.is_ascii_digit()) && (name == "0" || !name.starts_with('0'));
    match name.parse() {
        Ok(index) if number => Part::Group(index),
        _ => Part::Named(name.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replacements_name_groups_as_go_does() {
        for (pattern, with, value, expected) in [
            ("(.*)-(.*)", "$2-$1", "a-b", Some("b-a")),
            ("(.*)-(.*)", "${2}x$1x", "a-b", Some("bx")),
            ("(?P<first>.)(.*)", "$first.$2$$", "abc", Some("a.bc$")),
            ("(.)", "$ ${ ${1 $9 ${01}", "a", Some("$ ${ ${1  ")),
            ("a", "b", "c", None),
            ("", "yes", "", Some("yes")),
        ] {
            let pattern = Pattern::new(pattern, 1 << 16).unwrap();
            let made = Replacement::new(&pattern, with).replace(value, 100).unwrap();
            assert_eq!(made.as_deref(), expected, "{with} {value}");
        }
        let pattern = Pattern::new("(.*)", 1 << 16).unwrap();
        let doubled = Replacement::new(&pattern, "$1$1");
        assert_eq!(doubled.replace(&"a".repeat(60), 100), Err(TooLong));
    }
}
