//! Names of fields that are no names in CEL are written with escapes: `a-b` is `a__dash__b`.

use crate::syntax::token::{is_keyword, is_reserved};

/// Whether a word is escaped as a whole.
pub(super) fn is_escaped_word(word: &str) -> bool {
    is_keyword(word) || is_reserved(word)
}

/// The name of a field in expressions; nothing if it cannot be written.
pub(crate) fn escape(name: &str) -> Option<String> {
    if name.is_empty() || name.starts_with(|char: char| char.is_ascii_digit()) {
        return None;
    }
    if is_escaped_word(name) {
        return Some(format!("__{name}__"));
    }
    let mut out = String::with_capacity(name.len());
    let mut chars = name.chars().peekable();
    while let Some(char) = chars.next() {
        match char {
            '_' if chars.peek() == Some(&'_') => {
                chars.next();
                out.push_str("__underscores__");
            }
            '.' => out.push_str("__dot__"),
            '-' => out.push_str("__dash__"),
            '/' => out.push_str("__slash__"),
            char if char.is_ascii_alphanumeric() || char == '_' => out.push(char),
            _ => return None,
        }
    }
    Some(out)
}

/// The name in the data; nothing if the name in the expression has an escape that is none.
pub(crate) fn unescape(name: &str) -> Option<std::borrow::Cow<'_, str>> {
    if !name.contains("__") {
        return Some(name.into());
    }
    let mut out = String::with_capacity(name.len());
    let mut rest = name;
    while let Some((before, after)) = rest.split_once("__") {
        // An escape has something between two pairs of underscores, and no underscore in it.
        let end =
            after.find('_').filter(|end| *end > 0 && after.get(*end..).is_some_and(|tail| tail.starts_with("__")));
        let Some(end) = end else {
            // Not an escape here; one may begin with the second underscore.
            out.push_str(before);
            out.push('_');
            rest = rest.get(before.len().saturating_add(1)..).unwrap_or_default();
            continue;
        };
        let word = after.get(..end).unwrap_or_default();
        out.push_str(before);
        match word {
            "underscores" => out.push_str("__"),
            "dot" => out.push('.'),
            "dash" => out.push('-'),
            "slash" => out.push('/'),
            word if is_escaped_word(word) && name.len() == word.len().saturating_add(4) => out.push_str(word),
            _ => return None,
        }
        rest = after.get(end.saturating_add(2)..).unwrap_or_default();
    }
    out.push_str(rest);
    Some(out.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_escaped_and_back() {
        for (name, escaped) in [
            ("a", "a"),
            ("a-b", "a__dash__b"),
            ("a.b/c", "a__dot__b__slash__c"),
            ("a__b", "a__underscores__b"),
            ("_a_", "_a_"),
            ("namespace", "__namespace__"),
            ("namespaces", "namespaces"),
            ("___a", "__underscores___a"),
        ] {
            assert_eq!(escape(name).as_deref(), Some(escaped));
            assert_eq!(unescape(escaped).as_deref(), Some(name), "{escaped}");
        }
        for name in ["", "1a", "a b", "é"] {
            assert_eq!(escape(name), None, "{name}");
        }
        assert_eq!(unescape("a__other__b"), None);
        assert_eq!(unescape("a__in__b"), None);
        assert_eq!(unescape("a__b").as_deref(), Some("a__b"));
    }
}
