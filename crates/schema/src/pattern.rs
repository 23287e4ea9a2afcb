//! Patterns in Go's dialect, translated. The two dialects share their origin; what differs is few letters.

use regex::{Regex, RegexBuilder};

/// What a compiled pattern may take; the largest of public CRDs take a tenth.
const SIZE: usize = 1 << 20;

/// Compiles a pattern; nothing if it says something that cannot be said here.
pub(super) fn read(pattern: &str) -> Option<Regex> {
    RegexBuilder::new(&translated(pattern)?).size_limit(SIZE).build().ok()
}

/// In Go `\d`, `\w`, `\s` and `\b` are about ASCII, and brackets do not nest.
fn translated(pattern: &str) -> Option<String> {
    let mut out = String::with_capacity(pattern.len());
    let mut chars = pattern.chars().peekable();
    let mut class = false;
    let mut first = false;
    while let Some(c) = chars.next() {
        let at_start = std::mem::take(&mut first);
        match c {
            '\\' => match chars.next()? {
                'd' => out.push_str("[0-9]"),
                'D' => out.push_str("[^0-9]"),
                'w' => out.push_str("[0-9A-Za-z_]"),
                'W' => out.push_str("[^0-9A-Za-z_]"),
                's' => out.push_str("[\\t\\n\\f\\r ]"),
                'S' => out.push_str("[^\\t\\n\\f\\r ]"),
                'b' if !class => out.push_str("(?-u:\\b)"),
                // Not the bounds of a word, as here.
                literal @ ('<' | '>') => out.push(literal),
                // The negated one matches within characters, which is not allowed here; quoting has no counterpart.
                'B' | 'Q' | 'E' | 'C' => return None,
                other => {
                    out.push('\\');
                    out.push(other);
                }
            },
            '[' if class => {
                if chars.peek() == Some(&':') {
                    out.push('[');
                    // A named class runs to its own bracket.
                    for inner in chars.by_ref() {
                        out.push(inner);
                        if inner == ']' {
                            break;
                        }
                    }
                } else {
                    out.push_str("\\[");
                }
            }
            '[' => {
                class = true;
                out.push('[');
                if chars.peek() == Some(&'^') {
                    chars.next();
                    out.push('^');
                }
                first = true;
            }
            // The first of a class is no end of it.
            ']' if class && at_start => out.push_str("\\]"),
            ']' => {
                class = false;
                out.push(']');
            }
            '&' | '~' if class => {
                out.push('\\');
                out.push(c);
            }
            '-' if class && chars.peek() == Some(&'-') => return None,
            other => out.push(other),
        }
    }
    Some(out)
}
