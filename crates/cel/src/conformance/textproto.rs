//! Reads the text format of Protocol Buffers, as far as tests of CEL use it, without knowing the messages.

/// A message: names of fields with their values, in the order of the text.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Message {
    pub(super) fields: Vec<(String, FieldValue)>,
}

/// The value of a field.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum FieldValue {
    Message(Message),
    /// What stands between quotes.
    Bytes(Vec<u8>),
    /// A number or a word.
    Word(String),
}

/// How deep messages may be nested.
const DEPTH: usize = 100;

/// Why a text is not read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextError {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong.
    pub message: &'static str,
}

impl std::fmt::Display for TextError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "line {}: {}", self.line, self.message)
    }
}

impl std::error::Error for TextError {}

impl Message {
    /// Reads a whole text.
    pub(super) fn read(text: &str) -> Result<Message, TextError> {
        let mut reader = Reader { bytes: text.as_bytes(), at: 0 };
        let message = reader.message(None, 0)?;
        Ok(message)
    }

    /// The messages of a field.
    pub(super) fn messages<'m>(&'m self, name: &'m str) -> impl Iterator<Item = &'m Message> {
        self.all(name).filter_map(|value| match value {
            FieldValue::Message(message) => Some(message),
            _ => None,
        })
    }

    pub(super) fn all<'m>(&'m self, name: &'m str) -> impl Iterator<Item = &'m FieldValue> {
        self.fields.iter().filter(move |(known, _)| known == name).map(|(_, value)| value)
    }

    pub(super) fn message(&self, name: &str) -> Option<&Message> {
        self.fields.iter().rev().find_map(|(known, value)| match value {
            FieldValue::Message(message) if known == name => Some(message),
            _ => None,
        })
    }

    pub(super) fn text(&self, name: &str) -> Option<String> {
        self.fields.iter().rev().find_map(|(known, value)| match value {
            FieldValue::Bytes(bytes) if known == name => Some(String::from_utf8_lossy(bytes).into_owned()),
            _ => None,
        })
    }

    /// Whether a field is set to `true`.
    pub(super) fn flag(&self, name: &str) -> bool {
        self.fields.iter().any(|(known, value)| known == name && *value == FieldValue::Word("true".to_owned()))
    }
}

struct Reader<'t> {
    bytes: &'t [u8],
    at: usize,
}

impl Reader<'_> {
    fn error(&self, message: &'static str) -> TextError {
        let before = self.bytes.get(..self.at).unwrap_or_default();
        let line = before.split(|byte| *byte == b'\n').count();
        TextError { line, message }
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn step(&mut self) {
        self.at = self.at.saturating_add(1);
    }

    fn skip(&mut self) {
        while let Some(byte) = self.peek() {
            match byte {
                b'#' => {
                    while self.peek().is_some_and(|byte| byte != b'\n') {
                        self.step();
                    }
                }
                b' ' | b'\t' | b'\r' | b'\n' | b',' | b';' => self.step(),
                _ => return,
            }
        }
    }

    /// The fields up to the end, or up to a bracket.
    fn message(&mut self, end: Option<u8>, depth: usize) -> Result<Message, TextError> {
        if depth > DEPTH {
            return Err(self.error("messages are nested too deeply"));
        }
        let mut message = Message::default();
        loop {
            self.skip();
            match self.peek() {
                None if end.is_none() => return Ok(message),
                None => return Err(self.error("a message has no end")),
                byte if byte == end => {
                    self.step();
                    return Ok(message);
                }
                _ => {}
            }
            let name = self.name()?;
            self.skip();
            if self.peek() == Some(b':') {
                self.step();
                self.skip();
            }
            if self.peek() == Some(b'[') {
                self.step();
                loop {
                    self.skip();
                    if self.peek() == Some(b']') {
                        self.step();
                        break;
                    }
                    let value = self.value(depth)?;
                    message.fields.push((name.clone(), value));
                }
            } else {
                let value = self.value(depth)?;
                message.fields.push((name, value));
            }
        }
    }

    fn name(&mut self) -> Result<String, TextError> {
        if self.peek() == Some(b'[') {
            let start = self.at;
            while self.peek().is_some_and(|byte| byte != b']') {
                self.step();
            }
            self.step();
            let name = self.bytes.get(start..self.at).unwrap_or_default();
            return Ok(String::from_utf8_lossy(name).into_owned());
        }
        self.word()
    }

    fn word(&mut self) -> Result<String, TextError> {
        let start = self.at;
        let part = |byte: u8| byte.is_ascii_alphanumeric() || b"_.+-".contains(&byte);
        while self.peek().is_some_and(part) {
            self.step();
        }
        if self.at == start {
            return Err(self.error("a name, a number or a word is wanted here"));
        }
        let mut word = String::from_utf8_lossy(self.bytes.get(start..self.at).unwrap_or_default()).into_owned();
        // A sign may stand apart from its number.
        if word == "-" {
            self.skip();
            word.push_str(&self.word()?);
        }
        Ok(word)
    }

    fn value(&mut self, depth: usize) -> Result<FieldValue, TextError> {
        let below = depth.saturating_add(1);
        match self.peek() {
            Some(b'{') => {
                self.step();
                self.message(Some(b'}'), below).map(FieldValue::Message)
            }
            Some(b'<') => {
                self.step();
                self.message(Some(b'>'), below).map(FieldValue::Message)
            }
            Some(b'"' | b'\'') => {
                let mut bytes = Vec::new();
                // Texts that follow each other are one.
                while let Some(quote @ (b'"' | b'\'')) = self.peek() {
                    self.step();
                    self.quoted(quote, &mut bytes)?;
                    let after = self.at;
                    self.skip();
                    if !matches!(self.peek(), Some(b'"' | b'\'')) {
                        self.at = after;
                    }
                }
                Ok(FieldValue::Bytes(bytes))
            }
            _ => self.word().map(FieldValue::Word),
        }
    }

    fn quoted(&mut self, quote: u8, out: &mut Vec<u8>) -> Result<(), TextError> {
        loop {
            let Some(byte) = self.peek() else { return Err(self.error("a string has no end")) };
            self.step();
            match byte {
                byte if byte == quote => return Ok(()),
                b'\n' => return Err(self.error("a string has no end")),
                b'\\' => self.escape(out)?,
                byte => out.push(byte),
            }
        }
    }

    fn escape(&mut self, out: &mut Vec<u8>) -> Result<(), TextError> {
        let Some(byte) = self.peek() else { return Err(self.error("a string has no end")) };
        self.step();
        match byte {
            b'a' => out.push(7),
            b'b' => out.push(8),
            b'f' => out.push(12),
            b'n' => out.push(b'\n'),
            b'r' => out.push(b'\r'),
            b't' => out.push(b'\t'),
            b'v' => out.push(11),
            b'0'..=b'7' => {
                let mut value = u32::from(byte - b'0');
                for _ in 0..2 {
                    match self.peek() {
                        Some(digit @ b'0'..=b'7') => {
                            value = value.saturating_mul(8).saturating_add(u32::from(digit - b'0'));
                            self.step();
                        }
                        _ => break,
                    }
                }
                out.push(u8::try_from(value & 0xff).unwrap_or(0));
            }
            b'x' | b'X' => {
                let value = self.hexadecimal(2)?;
                out.push(u8::try_from(value & 0xff).unwrap_or(0));
            }
            b'u' | b'U' => {
                let value = self.hexadecimal(if byte == b'u' { 4 } else { 8 })?;
                let char = char::from_u32(value).ok_or_else(|| self.error("an escape is no character"))?;
                out.extend_from_slice(char.encode_utf8(&mut [0; 4]).as_bytes());
            }
            other => out.push(other),
        }
        Ok(())
    }

    fn hexadecimal(&mut self, most: usize) -> Result<u32, TextError> {
        let mut value = 0_u32;
        for count in 0..most {
            match self.peek().and_then(|byte| char::from(byte).to_digit(16)) {
                Some(digit) => {
                    value = value.wrapping_shl(4) | digit;
                    self.step();
                }
                None if count == 0 => return Err(self.error("an escape has no digits")),
                None => break,
            }
        }
        Ok(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_read() {
        let text = "# c\nname: \"a\" 'b'\nsection { test: { expr: '\\x41\\101\\n' n: -1.5e3 } }\n[a.b/c] <x: [1, 2]>";
        let message = Message::read(text).unwrap();
        assert_eq!(message.text("name").as_deref(), Some("ab"));
        let case = message.message("section").unwrap().message("test").unwrap();
        assert_eq!(case.text("expr").as_deref(), Some("AA\n"));
        assert_eq!(case.all("n").next(), Some(&FieldValue::Word("-1.5e3".to_owned())));
        assert_eq!(message.message("[a.b/c]").unwrap().all("x").count(), 2);
    }

    #[test]
    fn broken_texts_are_refused_with_their_line() {
        for (text, line) in [("a {", 1), ("\na: 'x", 2), ("a: \"\\q", 1), ("}", 1), ("a: @", 1)] {
            assert_eq!(Message::read(text).unwrap_err().line, line, "{text}");
        }
        assert!(Message::read(&"a{".repeat(10_000)).is_err());
    }
}
