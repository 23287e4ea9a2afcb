//! Messages of conditions: never empty, never longer than the API server takes.
//!
//! A message of more than 32,768 bytes makes the server refuse the whole status write. The limit is taken in bytes (the
//! server counts bytes in one place and characters in another; bytes are never fewer) and the cut falls on a character
//! boundary. Start at [`Message::new`]; [`Message::list`] joins what several parties have to say.

use std::fmt;

/// The most bytes a message may have.
pub const MAX_MESSAGE_BYTES: usize = 32_768;

/// What the end of a message looks like that had to be cut.
pub const CUT_MARK: &str = "… (cut)";

const NO_DETAILS: &str = "No details were given.";

/// A text for people that says why a condition has its status: 1 to 32,768 bytes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Message(String);

impl Message {
    /// The message with this text, cut if it is too long. A blank text becomes a sentence that says so, because a
    /// condition that is not healthy must have a message (K5).
    pub fn new(text: impl Into<String>) -> Self {
        let text = text.into();
        if text.trim().is_empty() {
            return Message(NO_DETAILS.to_owned());
        }
        Message(cut(text, MAX_MESSAGE_BYTES))
    }

    /// One line `name: text` for each item, in the order given. If all together are too long each text is cut to an
    /// equal share, so that no name is lost to a neighbour's long text.
    pub fn list<'a>(items: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let items: Vec<(&str, &str)> = items.into_iter().collect();
        let fixed: usize = items.iter().map(|(name, _)| name.len() + ": \n".len()).sum();
        let total: usize = fixed + items.iter().map(|(_, text)| text.len()).sum::<usize>();
        let share = if total <= MAX_MESSAGE_BYTES {
            MAX_MESSAGE_BYTES
        } else {
            MAX_MESSAGE_BYTES.saturating_sub(fixed) / items.len().max(1)
        };
        let lines: Vec<String> =
            items.into_iter().map(|(name, text)| format!("{name}: {}", cut(text.to_owned(), share))).collect();
        Message::new(lines.join("\n"))
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<&str> for Message {
    fn from(text: &str) -> Self {
        Message::new(text)
    }
}

impl From<String> for Message {
    fn from(text: String) -> Self {
        Message::new(text)
    }
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

fn cut(mut text: String, limit: usize) -> String {
    if text.len() <= limit {
        return text;
    }
    let end = text.floor_char_boundary(limit.saturating_sub(CUT_MARK.len()));
    text.truncate(end);
    text.push_str(CUT_MARK);
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_message_is_cut_at_32768_bytes_and_says_so() {
        let fits = "x".repeat(MAX_MESSAGE_BYTES);
        assert_eq!(Message::new(fits.clone()).as_str(), fits);
        let long = Message::new("x".repeat(MAX_MESSAGE_BYTES + 1));
        assert_eq!(long.as_str().len(), MAX_MESSAGE_BYTES);
        assert!(long.as_str().ends_with(CUT_MARK));
    }

    #[test]
    fn the_cut_falls_between_characters() {
        for lead in 0..4 {
            let long = Message::new(format!("{}{}", "x".repeat(lead), "🦀".repeat(10_000)));
            assert!(long.as_str().len() <= MAX_MESSAGE_BYTES);
            assert!(long.as_str().len() > MAX_MESSAGE_BYTES - 4);
            assert!(long.as_str().ends_with(&format!("🦀{CUT_MARK}")));
        }
    }

    #[test]
    fn k5_a_message_is_never_blank() {
        for text in ["", "  ", "\n"] {
            assert_eq!(Message::new(text).as_str(), "No details were given.");
        }
    }

    #[test]
    fn a_list_names_everybody_however_long_the_texts_are() {
        assert_eq!(Message::list([("A", "one"), ("B", "two")]).as_str(), "A: one\nB: two");
        let long = "y".repeat(40_000);
        let list = Message::list([("First", long.as_str()), ("Second", "short"), ("Third", &long)]);
        assert!(list.as_str().len() <= MAX_MESSAGE_BYTES);
        for name in ["First: y", "\nSecond: short\n", "Third: y"] {
            assert!(list.as_str().contains(name), "{name}");
        }
    }

    proptest! {
        #[test]
        fn no_text_is_too_long(text in "\\PC{0,12}", times in 1_usize..9_000) {
            let message = Message::new(text.repeat(times));
            prop_assert!(!message.as_str().is_empty() && message.as_str().len() <= MAX_MESSAGE_BYTES);
        }
    }
}
