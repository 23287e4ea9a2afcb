//! Cuts a stream into documents before anything is parsed.
//!
//! A line that begins with `---` ends a YAML document wherever it stands, even inside quotes, so cutting there is exact.
//! JSON values may follow each other without a separator, as `jq` writes them: behind a closing bracket, a line that
//! begins with an opening one is the next value, since inside of one a comma or a colon would stand between.
//! Cutting first bounds memory by the largest document instead of the file, and keeps one broken document from taking the
//! following ones with it.

use std::io::{self, BufRead};

use clearway_core::Limits;
use memchr::memmem;

/// Why a part of a stream is passed over.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SplitError {
    #[error("the file is larger than {limit} bytes (the cap `file_bytes`)")]
    FileTooLarge { limit: u64 },
    #[error("the document is larger than {limit} bytes (the cap `document_bytes`)")]
    DocumentTooLarge { limit: usize },
    #[error("cannot read further: {0}")]
    Io(#[from] io::Error),
}

/// A document with the line it starts at, or why it is passed over.
type Document<'b> = Result<(&'b [u8], usize), (SplitError, usize)>;

/// The documents of a stream, one buffer for all.
pub(crate) struct Splitter<R> {
    input: R,
    limits: Limits,
    buffer: Vec<u8>,
    /// Where the document at hand starts in the buffer, its `---` line included.
    start: usize,
    /// Where it ends.
    end: usize,
    /// The line it starts at.
    line: usize,
    read: u64,
    state: State,
    /// How many bytes of the document at hand are blank so far, and whether what follows them begins JSON.
    blank: usize,
    json: Option<bool>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Reading,
    /// All bytes are in the buffer.
    AtEnd,
    /// All bytes that the limit admits are in the buffer, and there are more.
    OverLimit,
    /// Nothing more will be said.
    Done,
}

/// Bytes read at a time.
const PIECE: usize = 1 << 16;

/// What more reading came to.
enum More {
    Some,
    End,
}

impl<R: BufRead> Splitter<R> {
    pub(crate) fn new(input: R, limits: Limits) -> Self {
        Splitter {
            input,
            limits,
            buffer: Vec::new(),
            start: 0,
            end: 0,
            line: 1,
            read: 0,
            state: State::Reading,
            blank: 0,
            json: None,
        }
    }

    /// The next document and the line it starts at. After a file that is too large or an I/O error there is none.
    pub(crate) fn next_document(&mut self) -> Option<Document<'_>> {
        if self.state == State::Done {
            return None;
        }
        self.start = self.end;
        (self.blank, self.json) = (0, None);
        let first_line = self.line;
        let mut scanned = self.start;
        let mut too_large = false;
        self.end = loop {
            if let Some(at) = self.boundary_from(scanned) {
                if too_large || has_content(self.buffer.get(self.start..at).unwrap_or(&[])) {
                    break at;
                }
                scanned = at + 3;
                continue;
            }
            // A separator that the end of the buffer cuts in two is found with the next piece.
            scanned = self.buffer.len().saturating_sub(4).max(scanned);
            if self.buffer.len() - self.start > self.limits.document_bytes {
                // Read on to the next document, but keep nothing of this one.
                too_large = true;
                self.line += newlines(self.buffer.get(self.start..scanned).unwrap_or(&[]));
                self.start = scanned;
                (self.blank, self.json) = (0, None);
            }
            // What was handed over or given up makes room for what comes.
            self.buffer.drain(..self.start);
            scanned -= self.start;
            self.start = 0;
            match self.fill() {
                Ok(More::Some) => {}
                Ok(More::End) => {
                    self.state = State::Done;
                    break self.buffer.len();
                }
                Err(error) => {
                    self.state = State::Done;
                    let line = self.line + newlines(&self.buffer);
                    return Some(Err((error, line)));
                }
            }
        };
        let document = self.buffer.get(self.start..self.end).unwrap_or(&[]);
        self.line += newlines(document);
        if too_large || document.len() > self.limits.document_bytes {
            return Some(Err((SplitError::DocumentTooLarge { limit: self.limits.document_bytes }, first_line)));
        }
        if document.is_empty() { None } else { Some(Ok((document, first_line))) }
    }

    /// Where the next document begins.
    fn boundary_from(&mut self, from: usize) -> Option<usize> {
        let separator = self.separator_from(from);
        let value = if self.is_json() { self.value_from(from) } else { None };
        separator.into_iter().chain(value).min()
    }

    /// Whether the document begins as JSON does. Blanks before it are looked at once, however many there are.
    fn is_json(&mut self) -> bool {
        if let Some(known) = self.json {
            return known;
        }
        let text = self.buffer.get(self.start + self.blank..).unwrap_or(&[]);
        let text = if self.blank == 0 { text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text) } else { text };
        let rest = text.trim_ascii_start();
        let Some(first) = rest.first() else {
            self.blank = self.buffer.len() - self.start;
            return false;
        };
        let json = matches!(first, b'{' | b'[');
        // A mark of the encoding may still be cut in two.
        self.json = (rest.len() > 3 || self.state != State::Reading).then_some(json);
        json
    }

    /// The start of the next line that begins another JSON value.
    fn value_from(&self, from: usize) -> Option<usize> {
        let mut at = from;
        loop {
            at += memchr::memchr(b'\n', self.buffer.get(at..)?)? + 1;
            let line = self.buffer.get(at..)?.iter().find(|byte| !matches!(byte, b' ' | b'\t'));
            if matches!(line, Some(b'{' | b'['))
                && matches!(self.buffer.get(self.start..at)?.trim_ascii_end().last(), Some(b'}' | b']'))
            {
                return Some(at);
            }
        }
    }

    /// The start of the next line that begins with `---`, other than the document's own.
    fn separator_from(&self, from: usize) -> Option<usize> {
        let mut at = from;
        loop {
            at += memmem::find(self.buffer.get(at..)?, b"\n---")? + 1;
            match self.buffer.get(at + 3) {
                Some(byte) if byte.is_ascii_whitespace() => return Some(at),
                None if self.state == State::AtEnd => return Some(at),
                None => return None,
                Some(_) => {}
            }
        }
    }

    fn fill(&mut self) -> Result<More, SplitError> {
        match self.state {
            State::Reading => {}
            State::OverLimit => return Err(SplitError::FileTooLarge { limit: self.limits.file_bytes }),
            State::AtEnd | State::Done => return Ok(More::End),
        }
        let piece = self.input.fill_buf()?;
        let length = piece.len().min(PIECE);
        let piece = piece.get(..length).unwrap_or(piece);
        let left = usize::try_from(self.limits.file_bytes - self.read).unwrap_or(usize::MAX);
        let admitted = piece.get(..left).unwrap_or(piece);
        self.buffer.extend_from_slice(admitted);
        self.read += admitted.len() as u64;
        if admitted.len() < length {
            self.state = State::OverLimit;
        } else if length == 0 {
            // Looked at once more: the last line may be a separator without a line break behind it.
            self.state = State::AtEnd;
        }
        self.input.consume(length);
        Ok(More::Some)
    }
}

fn newlines(bytes: &[u8]) -> usize {
    memchr::memchr_iter(b'\n', bytes).count()
}

/// Whether there is more than blank lines, comments and directives, all of which may stand before a document's `---`.
fn has_content(bytes: &[u8]) -> bool {
    bytes.split(|byte| *byte == b'\n').any(|line| {
        let text = line.trim_ascii_start();
        let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
        !(text.is_empty() || text.starts_with(b"#") || line.starts_with(b"%"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(text: &str, limits: Limits) -> Vec<Result<(String, usize), (String, usize)>> {
        let mut splitter = Splitter::new(text.as_bytes(), limits);
        let mut documents = Vec::new();
        while let Some(next) = splitter.next_document() {
            documents.push(match next {
                Ok((bytes, line)) => Ok((String::from_utf8(bytes.to_vec()).unwrap(), line)),
                Err((error, line)) => Err((error.to_string(), line)),
            });
        }
        documents
    }

    #[test]
    fn cuts_at_separators_and_counts_lines() {
        let documents = split("a: 1\n---\nb: 2\n--- # two\nc: 3\n", Limits::default());
        let want = [("a: 1\n", 1), ("---\nb: 2\n", 2), ("--- # two\nc: 3\n", 4)];
        assert_eq!(documents, want.map(|(text, line)| Ok((text.to_owned(), line))));
    }

    #[test]
    fn what_stands_before_a_separator_without_content_belongs_to_the_document_behind_it() {
        let documents = split("# licence\n%YAML 1.2\n---\na: 1\n---\n", Limits::default());
        assert_eq!(documents.len(), 2);
        assert_eq!(documents.first(), Some(&Ok(("# licence\n%YAML 1.2\n---\na: 1\n".to_owned(), 1))));
    }

    #[test]
    fn three_dashes_inside_a_line_or_a_longer_run_do_not_cut() {
        assert_eq!(split("a: |\n  ---\n---- x: 1\n", Limits::default()).len(), 1);
    }

    #[test]
    fn a_document_over_its_limit_is_passed_over_and_the_next_one_is_read() {
        let limits = Limits { document_bytes: 10, ..Limits::default() };
        let documents = split("a: 1\n---\nlong: aaaaaaaaaaaaaaaaaaaa\nmore: 1\n---\nb: 2\n", limits);
        assert_eq!(documents.len(), 3);
        assert_eq!(
            documents.get(1),
            Some(&Err(("the document is larger than 10 bytes (the cap `document_bytes`)".to_owned(), 2)))
        );
        assert_eq!(documents.get(2), Some(&Ok(("---\nb: 2\n".to_owned(), 5))));
    }

    #[test]
    fn pieces_of_any_size_are_cut_alike() {
        let text = "a: 1\n---\nb: 2\r\n--- # two\r\nc: 3\n---- no\n---";
        let want = split(text, Limits::default());
        assert_eq!(want.len(), 4, "{want:?}");
        for size in 1..20 {
            let mut splitter = Splitter::new(io::BufReader::with_capacity(size, text.as_bytes()), Limits::default());
            let mut documents = Vec::new();
            while let Some(Ok((bytes, line))) = splitter.next_document() {
                documents.push(Ok((String::from_utf8(bytes.to_vec()).unwrap(), line)));
            }
            assert_eq!(documents, want, "in pieces of {size}");
        }
    }

    #[test]
    fn json_values_in_a_row_are_documents_and_the_items_of_one_are_not() {
        let documents = split("{\"a\": 1}\n\n{\n  \"b\": [\n{\"c\": 2},\n[3]\n]\n}\n[4]\n", Limits::default());
        let lines: Vec<usize> = documents.iter().flatten().map(|(_, line)| *line).collect();
        assert_eq!(lines, [1, 3, 9], "{documents:?}");
        assert_eq!(split("a: {b: 1}\n{c: 2}\n", Limits::default()).len(), 1, "YAML needs its separators");
    }

    #[test]
    fn a_line_longer_than_a_document_may_be_is_never_held_whole() {
        let limits = Limits { document_bytes: 10, ..Limits::default() };
        let text = "x".repeat(1_000_000) + "\n---\na: 1\n";
        let mut splitter = Splitter::new(io::BufReader::with_capacity(1_000, text.as_bytes()), limits);
        assert!(matches!(splitter.next_document(), Some(Err((SplitError::DocumentTooLarge { .. }, 1)))));
        assert!(splitter.buffer.capacity() < 200_000, "{}", splitter.buffer.capacity());
        assert!(matches!(splitter.next_document(), Some(Ok((b"---\na: 1\n", 2)))));
    }

    #[test]
    fn a_file_over_its_limit_ends_with_one_error_and_at_the_limit_with_none() {
        let limits = Limits { file_bytes: 5, ..Limits::default() };
        assert_eq!(split("a: 1\n", limits.clone()).len(), 1);
        let documents = split("a: 1\nb: 2\n", limits);
        assert_eq!(documents, [Err(("the file is larger than 5 bytes (the cap `file_bytes`)".to_owned(), 2))]);
    }
}
