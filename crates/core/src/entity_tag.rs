//! What a server knows one answer by, so that it need not send the same twice.

/// Bytes of a tag: those of services have less than a hundred. A mirror keeps one for each of its answers.
const MAX_BYTES: usize = 1024;

/// An entity tag of HTTP with its quotes, such as `"33a64df5"` or `W/"33a64df5"`. It can be sent in a header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntityTag(String);

impl EntityTag {
    /// The tag, unless it is empty, longer than 1,024 bytes, or has a character that no header can carry.
    pub fn new(tag: &str) -> Option<Self> {
        let fits = |byte: u8| byte == b'\t' || (byte >= 0x20 && byte != 0x7f);
        (!tag.is_empty() && tag.len() <= MAX_BYTES && tag.bytes().all(fits)).then(|| EntityTag(tag.to_owned()))
    }

    /// The tag with its quotes.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_header_can_carry_is_no_tag() {
        for (text, is_tag) in [("\"a\"", true), ("W/\"ü\"", true), ("", false), ("\"a\nb\"", false), ("\u{7f}", false)]
        {
            assert_eq!(EntityTag::new(text).is_some(), is_tag, "{text:?}");
        }
    }

    #[test]
    fn a_tag_is_short() {
        for (length, is_tag) in [(MAX_BYTES, true), (MAX_BYTES + 1, false)] {
            assert_eq!(EntityTag::new(&"a".repeat(length)).is_some(), is_tag, "{length}");
        }
    }
}
