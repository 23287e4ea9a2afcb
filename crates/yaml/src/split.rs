//! Cuts a stream into documents before anything is parsed.
//!
//! A line that begins with `---` ends a YAML document wherever it stands, even inside quotes, so cutting there is exact.
//! It bounds memory by the largest document instead of the file, and keeps one broken document from taking the
//! following ones with it.

use std::io::{self, BufRead};

use clearway_core::Limits;

/// Why a part of a stream is passed over.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SplitError {
    #[error("the file is larger than {limit} bytes")]
    FileTooLarge { limit: u64 },
    #[error("the document is larger than {limit} bytes")]
    DocumentTooLarge { limit: usize },
    #[error("cannot be read on: {0}")]
    Io(#[from] io::Error),
}

/// A document with the line it starts at, or why it is passed over.
type Document<'b> = Result<(&'b [u8], usize), (SplitError, usize)>;

/// The documents of a stream, one buffer for all.
pub(crate) struct Splitter<R> {
    input: R,
    limits: Limits,
    /// The document at hand, its `---` line included.
    buffer: Vec<u8>,
    /// The `---` line that ended the document before.
    held: Vec<u8>,
    read: u64,
    line: usize,
    /// Whether what was read last ends with its line; a line longer than a document may be is read in pieces.
    line_ended: bool,
    ended: bool,
}

impl<R: BufRead> Splitter<R> {
    pub(crate) fn new(input: R, limits: Limits) -> Self {
        Splitter {
            input,
            limits,
            buffer: Vec::new(),
            held: Vec::new(),
            read: 0,
            line: 0,
            line_ended: true,
            ended: false,
        }
    }

    /// The next document and the line it starts at. After a file that is too large or an I/O error there is none.
    pub(crate) fn next_document(&mut self) -> Option<Document<'_>> {
        self.buffer.clear();
        self.buffer.append(&mut self.held);
        let first_line = self.line.max(1);
        let mut has_content = false;
        let mut too_large = false;
        while !self.ended {
            let start = self.buffer.len();
            let left = self.limits.file_bytes.saturating_sub(self.read);
            let room = self.limits.document_bytes.saturating_sub(start) as u64;
            // One byte beyond what is left tells "exactly at the limit" from "over it".
            let most = left.min(room).saturating_add(1);
            let result = io::Read::take(&mut self.input, most).read_until(b'\n', &mut self.buffer);
            let length = match result {
                Ok(length) => length as u64,
                Err(error) => {
                    self.ended = true;
                    return Some(Err((error.into(), self.line + 1)));
                }
            };
            if length > left {
                self.ended = true;
                return Some(Err((SplitError::FileTooLarge { limit: self.limits.file_bytes }, self.line + 1)));
            }
            if length == 0 {
                self.ended = true;
                break;
            }
            self.read += length;
            let line = self.buffer.get(start..).unwrap_or(&[]);
            let starts_line = std::mem::replace(&mut self.line_ended, line.ends_with(b"\n"));
            self.line += usize::from(starts_line);
            if starts_line && has_content && is_separator(line) {
                self.held = self.buffer.split_off(start);
                break;
            }
            has_content |= is_content(line) || too_large;
            if self.buffer.len() > self.limits.document_bytes {
                // Read on to the next document, but keep nothing of this one.
                too_large = true;
                self.buffer.clear();
            }
        }
        if too_large {
            return Some(Err((SplitError::DocumentTooLarge { limit: self.limits.document_bytes }, first_line)));
        }
        if self.buffer.is_empty() { None } else { Some(Ok((&self.buffer, first_line))) }
    }
}

fn is_separator(line: &[u8]) -> bool {
    line.strip_prefix(b"---").is_some_and(|rest| rest.first().is_none_or(u8::is_ascii_whitespace))
}

/// Whether a line is more than blank, a comment or a directive, all of which may stand before a document's `---`.
fn is_content(line: &[u8]) -> bool {
    let text = line.trim_ascii_start();
    !(text.is_empty() || text.starts_with(b"#") || line.starts_with(b"%") || text == b"\xef\xbb\xbf")
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
        assert_eq!(documents.get(1), Some(&Err(("the document is larger than 10 bytes".to_owned(), 2))));
        assert_eq!(documents.get(2), Some(&Ok(("---\nb: 2\n".to_owned(), 5))));
    }

    #[test]
    fn a_line_longer_than_a_document_may_be_is_never_held_whole() {
        let limits = Limits { document_bytes: 10, ..Limits::default() };
        let mut splitter = Splitter::new(io::Cursor::new("x".repeat(1_000_000) + "\n---\na: 1\n"), limits);
        assert!(matches!(splitter.next_document(), Some(Err((SplitError::DocumentTooLarge { .. }, 1)))));
        assert!(splitter.buffer.capacity() < 100);
        assert!(matches!(splitter.next_document(), Some(Ok((b"---\na: 1\n", 2)))));
    }

    #[test]
    fn a_file_over_its_limit_ends_with_one_error_and_at_the_limit_with_none() {
        let limits = Limits { file_bytes: 5, ..Limits::default() };
        assert_eq!(split("a: 1\n", limits.clone()).len(), 1);
        let documents = split("a: 1\nb: 2\n", limits);
        assert_eq!(documents, [Err(("the file is larger than 5 bytes".to_owned(), 2))]);
    }
}
