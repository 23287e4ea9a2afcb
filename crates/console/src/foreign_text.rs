//! Text of others on its way to a page: graph-data, cluster objects, answers, requests.
//!
//! Templates escape HTML. What is left is text that deceives its reader without any markup: control characters,
//! bidirectional overrides and invisible characters are shown as escapes, as they are on a terminal. Addresses become
//! links only if they are of the web.

use clearway_core::terminal_text;

/// Characters of a text that are shown; more of them help nobody.
const MOST: usize = 20_000;
/// Characters of a text that is one of many.
const EXCERPT: usize = 300;

/// Text for one line.
pub fn line(text: &str) -> String {
    shortened(&terminal_text::escape_line(text))
}

/// The start of a text for one line, where many of them are shown.
pub fn excerpt(text: &str) -> String {
    cut(&terminal_text::escape_line(text), EXCERPT)
}

/// The start of a list, where many of them are shown. No more of it is put together.
pub fn list_excerpt<'t>(texts: impl Iterator<Item = &'t str>) -> String {
    let mut list = String::new();
    for text in texts {
        if list.len() > EXCERPT * 4 {
            break;
        }
        if !list.is_empty() {
            list.push_str(", ");
        }
        list.push_str(text);
    }
    excerpt(&list)
}

/// Text of several lines.
pub fn lines(text: &str) -> String {
    shortened(&terminal_text::escape(text.trim_end()))
}

fn shortened(text: &str) -> String {
    cut(text, MOST)
}

fn cut(text: &str, most: usize) -> String {
    let mut letters = text.chars();
    let shown: String = letters.by_ref().take(most).collect();
    if letters.next().is_some() { shown + "…" } else { shown }
}

/// An address that someone else wrote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForeignAddress {
    /// How it is shown.
    pub text: String,
    /// Where a link to it leads; nothing if it is not an address of the web, such as `javascript:…`.
    pub link: Option<String>,
}

impl ForeignAddress {
    /// Reads an address. Only `http` and `https` are followed, and only if nothing in it is shown differently.
    pub fn new(address: &str) -> Self {
        let text = line(address);
        let scheme = address.split_once("://").map_or("", |(scheme, _)| scheme);
        let is_web = scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https");
        let is_plain = text == address && !address.contains(char::is_whitespace);
        ForeignAddress { link: (is_web && is_plain).then(|| text.clone()), text }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_addresses_of_the_web_are_links() {
        for (address, is_link) in [
            ("https://example.com/a?b=c#d", true),
            ("HTTP://example.com", true),
            ("javascript:alert(1)", false),
            ("javascript://example.com/%0aalert(1)", false),
            ("data:text/html,<script>", false),
            ("//example.com", false),
            ("https://example.com/\u{202e}moc", false),
            ("https://example.com/ x", false),
            ("", false),
        ] {
            assert_eq!(ForeignAddress::new(address).link.is_some(), is_link, "{address}");
        }
    }

    #[test]
    fn deceiving_characters_are_shown_as_escapes() {
        assert_eq!(line("a\u{202e}b\u{7}\nc"), "a\\u{202e}b\\x07 c");
        assert_eq!(lines("a\nb\r\n"), "a\nb");
        assert!(line(&"x".repeat(50_000)).chars().count() <= MOST + 1);
        assert!(excerpt(&"x".repeat(50_000)).chars().count() <= EXCERPT + 1);
    }
}
