//! Goes through the objects of a stream: each document, and each item of a `List`, one at a time.
//!
//! What cannot be read is reported with its place, and the rest goes on. Start at [`read`], or at [`read_documents`] for
//! files that hold no Kubernetes objects.

mod pages;

use std::io::BufRead;

use clearway_core::{Diagnostic, Excerpt, Limits, Place, Position, Severity};
use granit_parser::{ErrorKind, Event, Marker, Parser, ScanError};
use memchr::memchr;

use crate::build::{Aliased, BuildError, Builder, FieldFilter};
use crate::split::{SplitError, Splitter};
use crate::tape::{Node, Span, Tape};

/// The codes of what is wrong with a stream as such.
pub mod codes {
    /// The text is not YAML or JSON.
    pub const SYNTAX: &str = "IN001";
    /// The bytes are not UTF-8.
    pub const ENCODING: &str = "IN002";
    /// A file or document is over its size limit.
    pub const SIZE: &str = "IN003";
    /// A document is over a limit of its structure.
    pub const STRUCTURE: &str = "IN004";
    /// A list is unusually long.
    pub const LONG_LIST: &str = "IN005";
    /// A file or stream cannot be opened or read on.
    pub const UNREADABLE: &str = "IN006";
    /// Nothing stands in what was named.
    pub const EMPTY: &str = "IN009";

    pub use super::pages::pages;
}

/// The text an object was read from.
#[derive(Debug, Clone, Copy, Default)]
pub struct Source<'a> {
    /// The file, or `-` for standard input; nothing for an object that came over the wire.
    pub file: Option<&'a str>,
    text: &'a str,
}

/// What is found in a stream.
#[derive(Debug)]
pub enum ReadEvent<'a> {
    /// An object, or whatever else a document holds.
    Object {
        /// Its value.
        root: Node<'a>,
        /// The text it stands in.
        source: Source<'a>,
        /// For an item of a `List`: the fields of that list that were read before its items (`kind`, `apiVersion`).
        list: Option<Node<'a>>,
    },
    /// Something that could not be read.
    Problem(Diagnostic),
}

/// How much was read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Summary {
    /// Objects handed over.
    pub objects: usize,
    /// Problems handed over.
    pub problems: usize,
    /// Lists gone through, also those without items.
    pub lists: usize,
}

impl Summary {
    /// Whether the stream held nothing at all: no document but empty ones.
    pub fn is_empty(&self) -> bool {
        self.objects + self.problems + self.lists == 0
    }
}

impl Source<'_> {
    /// The place of a node, with the name of the file.
    pub fn place(&self, node: Node<'_>) -> Place {
        let position = node.span().map(|span| Position { line: span.line, column: span.column });
        Place { file: self.file.map(str::to_owned), position, ..Place::default() }
    }

    /// The line a node stands on.
    pub fn excerpt(&self, node: Node<'_>) -> Option<Excerpt> {
        let Span { start, end, .. } = node.span()?;
        Excerpt::of(self.text, start..end)
    }
}

/// Reads a stream named `file` and hands each object and each problem to `visit`, in order.
pub fn read(input: impl BufRead, file: &str, limits: &Limits, visit: impl FnMut(ReadEvent<'_>)) -> Summary {
    read_fields(input, file, limits, |_, _| true, visit)
}

/// The same as [`read`], without the fields of objects that are not wanted: they are parsed, and stand as null.
pub fn read_fields(
    input: impl BufRead,
    file: &str,
    limits: &Limits,
    keep: FieldFilter,
    visit: impl FnMut(ReadEvent<'_>),
) -> Summary {
    read_stream(input, file, limits, keep, Lists::Streamed, visit)
}

/// The same as [`read`], with each document as one object: in files where `items` is a key like any other, an object that
/// has it must not disappear behind them.
pub fn read_documents(input: impl BufRead, file: &str, limits: &Limits, visit: impl FnMut(ReadEvent<'_>)) -> Summary {
    read_stream(input, file, limits, |_, _| true, Lists::Whole, visit)
}

/// What becomes of lists at the root of a document and of the `items` of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lists {
    /// Their items are the objects.
    Streamed,
    /// They are a part of their document.
    Whole,
}

fn read_stream(
    input: impl BufRead,
    file: &str,
    limits: &Limits,
    keep: FieldFilter,
    lists: Lists,
    mut visit: impl FnMut(ReadEvent<'_>),
) -> Summary {
    let mut summary = Summary::default();
    let mut count = |found: ReadEvent<'_>| {
        match &found {
            ReadEvent::Object { .. } => summary.objects += 1,
            ReadEvent::Problem(_) => summary.problems += 1,
        }
        visit(found);
    };
    let mut splitter = Splitter::new(input, limits.clone());
    let mut capacity = 64;
    let mut streamed = 0;
    let mut aliased = Aliased::new(limits);
    while let Some(next) = splitter.next_document() {
        match next {
            Ok((bytes, line)) => match std::str::from_utf8(bytes) {
                Ok(text) => {
                    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
                    // What is passed over may hold an anchor that an alias elsewhere names.
                    let keep = if memchr(b'&', bytes).is_some() { |_: Option<&str>, _: &str| true } else { keep };
                    let mut pass = Pass::new(text, file, line, limits, keep, capacity, aliased);
                    pass.whole = lists == Lists::Whole;
                    if let Err(problem) = pass.run(&mut count) {
                        count(ReadEvent::Problem(*problem));
                    }
                    streamed += pass.lists;
                    // Also of what could not be read: the objects before it were handed over.
                    aliased = pass.aliased;
                    capacity = pass.builder.tape.entries.capacity().min(4_096);
                }
                Err(error) => count(ReadEvent::Problem(not_utf8(bytes, error, file, line))),
            },
            Err((error, line)) => count(ReadEvent::Problem(passed_over(&error, file, line))),
        }
    }
    summary.lists = streamed;
    summary
}

/// One stretch of text on its way through the parser.
struct Pass<'s> {
    parser: Parser<'s, granit_parser::StrInput<'s>>,
    source: Source<'s>,
    first_line: usize,
    limits: &'s Limits,
    keep: FieldFilter,
    /// Whether a list is a part of its document like any other value.
    whole: bool,
    builder: Builder<'s>,
    /// What aliases stood for, from the beginning of the stream.
    aliased: Aliased,
    /// The fields before the items of the document at hand, once its items were handed over.
    streamed: Option<Tape<'s>>,
    lists: usize,
    /// Where the document at hand would begin if it had no items.
    document_start: usize,
}

impl<'s> Pass<'s> {
    fn new(
        text: &'s str,
        file: &'s str,
        first_line: usize,
        limits: &'s Limits,
        keep: FieldFilter,
        capacity: usize,
        aliased: Aliased,
    ) -> Self {
        let options = granit_parser::options! {
            flow_nesting_limit: limits.depth,
            block_nesting_limit: limits.depth,
        };
        Pass {
            parser: Parser::new_from_str_with_options(text, options),
            source: Source { file: Some(file), text },
            first_line,
            limits,
            keep,
            whole: false,
            builder: Builder::new(first_line, limits.nodes, keep, capacity),
            aliased,
            streamed: None,
            lists: 0,
            document_start: 0,
        }
    }

    fn run(&mut self, visit: &mut dyn FnMut(ReadEvent<'_>)) -> Result<(), Box<Diagnostic>> {
        while let Some(next) = self.parser.next_event() {
            let (event, span) = next.map_err(|error| self.syntax(&error))?;
            match event {
                Event::DocumentStart(..) => {
                    self.builder.next_document();
                    self.streamed = None;
                    self.document_start = offset(span.end);
                }
                Event::SequenceStart(..) if self.builder.depth() == 0 && !self.whole => {
                    self.items(None, span.start, visit)?;
                }
                Event::SequenceStart(..) if self.starts_items() => {
                    // Copied once: a key `items` may stand in an object any number of times.
                    let list = self.streamed.take().unwrap_or_else(|| self.builder.completed_part());
                    self.items(list.root(), span.start, visit)?;
                    self.streamed = Some(list);
                    // The list itself goes on with an empty one in their place.
                    self.feed(event, &span)?;
                    self.feed(Event::SequenceEnd, &span)?;
                }
                event => {
                    if self.feed(event, &span)? {
                        self.hand_over(visit);
                    }
                }
            }
        }
        Ok(())
    }

    fn feed(&mut self, event: Event<'s>, span: &granit_parser::Span) -> Result<bool, Box<Diagnostic>> {
        self.check_size(self.document_start, span)?;
        self.builder.feed(event, span, &mut self.aliased).map_err(|error| self.structure(error, span.start))
    }

    /// Fails where an object that begins at `start` has become too large.
    fn check_size(&self, start: usize, span: &granit_parser::Span) -> Result<(), Box<Diagnostic>> {
        let limit = self.limits.object_bytes;
        if offset(span.end).saturating_sub(start) <= limit {
            return Ok(());
        }
        let message = format!("the object is larger than {limit} bytes (the cap `object_bytes`)");
        let help = "this document is skipped from here on; the others are still read";
        Err(Box::new(self.problem(codes::SIZE, Severity::Error, message, span.start).with_help(help)))
    }

    fn hand_over(&self, visit: &mut dyn FnMut(ReadEvent<'_>)) {
        let Some(root) = self.builder.tape.root() else { return };
        let is_list = self.streamed.is_some() && root.get("kind").is_none_or(|kind| kind.raw().ends_with("List"));
        // An empty document is what stands between two separators, and says nothing.
        if !is_list && !root.is_null() {
            visit(ReadEvent::Object { root, source: self.source, list: None });
        }
    }

    /// Whether the sequence that comes next holds objects: the `items` of a `List`.
    ///
    /// `kubectl` writes `items` before `kind`, so a list whose kind is not known yet counts.
    fn starts_items(&self) -> bool {
        !self.whole
            && self.builder.top_key() == Some("items")
            && self.builder.kind().is_none_or(|kind| kind.ends_with("List"))
    }

    /// Hands over the items of a list one at a time.
    fn items(
        &mut self,
        list: Option<Node<'_>>,
        start: Marker,
        visit: &mut dyn FnMut(ReadEvent<'_>),
    ) -> Result<(), Box<Diagnostic>> {
        self.lists += 1;
        let mut item = Builder::new(self.first_line, self.limits.nodes, self.keep, 64);
        let mut count = 0_usize;
        let mut item_start = offset(start);
        while let Some(next) = self.parser.next_event() {
            let (event, span) = next.map_err(|error| self.syntax(&error))?;
            if item.depth() == 0 {
                if matches!(event, Event::SequenceEnd) {
                    self.document_start += offset(span.end).saturating_sub(offset(start));
                    break;
                }
                item_start = offset(span.start);
            }
            self.check_size(item_start, &span)?;
            if item.feed(event, &span, &mut self.aliased).map_err(|error| self.structure(error, span.start))? {
                if let Some(root) = item.tape.root() {
                    count += 1;
                    visit(ReadEvent::Object { root, source: self.source, list });
                }
                item.next_value();
            }
        }
        if count > self.limits.list_items {
            let message = format!(
                "a list of {count} objects; a file with more than {} is slow to process",
                self.limits.list_items
            );
            visit(ReadEvent::Problem(self.problem(codes::LONG_LIST, Severity::Info, message, start).with_help(
                "all of them were read; use one YAML document per object, or one file per namespace, to need less memory",
            )));
        }
        Ok(())
    }

    fn syntax(&self, error: &ScanError) -> Box<Diagnostic> {
        const PASSED_OVER: &str = "this document is skipped; the others are still read";
        let at = *error.marker();
        Box::new(match error.kind() {
            ErrorKind::RecursionLimitExceeded => {
                let message = format!("lists and objects nest deeper than {} levels", self.limits.depth);
                self.problem(codes::STRUCTURE, Severity::Error, message, at).with_help(PASSED_OVER)
            }
            ErrorKind::TabNotAllowed
            | ErrorKind::TabInBlockIndentation
            | ErrorKind::TabInIndentation
            | ErrorKind::TabInPlainScalar => {
                let message = "not YAML: a tab where only spaces may indent";
                let problem = self.problem(codes::SYNTAX, Severity::Error, message.to_owned(), at);
                self.at_the_tab(problem, at).with_help(format!("indent with spaces; {PASSED_OVER}"))
            }
            kind => {
                let ended = at
                    .byte_offset()
                    .and_then(|at| self.source.text.get(at..))
                    .is_none_or(|rest| rest.trim().is_empty());
                let kind = match kind {
                    // At the end of the text it is not the indentation that is wrong.
                    ErrorKind::InvalidQuotedScalarIndent if ended => &ErrorKind::UnclosedQuotedScalar,
                    kind => kind,
                };
                let json = self.source.file.and_then(|file| file.rsplit('.').next()) == Some("json");
                let message = format!("not {}: {kind}", if json { "JSON" } else { "YAML" });
                self.problem(codes::SYNTAX, Severity::Error, message, at).with_help(PASSED_OVER)
            }
        })
    }

    /// The scanner names a value near the tab; a person looks for the first line that is indented with one.
    fn at_the_tab(&self, problem: Diagnostic, from: Marker) -> Diagnostic {
        let text = self.source.text;
        let before = from.byte_offset().and_then(|from| text.get(..from)).unwrap_or("");
        let mut start = before.rfind('\n').map_or(0, |newline| newline + 1);
        for (number, line) in text.get(start..).unwrap_or("").split_inclusive('\n').enumerate() {
            let indent = line.len() - line.trim_start_matches([' ', '\t']).len();
            if let Some(at) = line.get(..indent).and_then(|indent| indent.find('\t')) {
                let position = Position { line: self.first_line + from.line() - 1 + number, column: at + 1 };
                let excerpt = Excerpt::of(text, start + at..start + at + 1);
                return problem.at(in_file(self.source.file, position)).with_excerpt(excerpt);
            }
            start += line.len();
        }
        problem
    }

    fn structure(&self, error: BuildError, at: Marker) -> Box<Diagnostic> {
        Box::new(
            self.problem(codes::STRUCTURE, Severity::Error, error.to_string(), at)
                .with_help("this document is skipped; the others are still read"),
        )
    }

    fn problem(&self, code: &'static str, severity: Severity, message: String, at: Marker) -> Diagnostic {
        let position = Position { line: self.first_line + at.line() - 1, column: at.col() + 1 };
        let excerpt = at.byte_offset().and_then(|start| Excerpt::of(self.source.text, start..start + 1));
        Diagnostic::new(code, severity, message).at(in_file(self.source.file, position)).with_excerpt(excerpt)
    }
}

/// The byte at which something stands in the text.
fn offset(at: Marker) -> usize {
    at.byte_offset().unwrap_or_default()
}

fn in_file(file: Option<&str>, position: Position) -> Place {
    Place { file: file.map(str::to_owned), position: Some(position), ..Place::default() }
}

fn not_utf8(bytes: &[u8], error: std::str::Utf8Error, file: &str, first_line: usize) -> Diagnostic {
    let good = bytes.get(..error.valid_up_to()).unwrap_or(&[]);
    let line = first_line + good.split(|byte| *byte == b'\n').count() - 1;
    let in_line = good.rsplit(|byte| *byte == b'\n').next().unwrap_or(&[]);
    let column = String::from_utf8_lossy(in_line).chars().count() + 1;
    Diagnostic::new(codes::ENCODING, Severity::Error, "not UTF-8 text")
        .at(in_file(Some(file), Position { line, column }))
        .with_help("binary and compressed files are not supported; convert text in another encoding to UTF-8")
}

fn passed_over(error: &SplitError, file: &str, line: usize) -> Diagnostic {
    let (code, help) = match error {
        SplitError::FileTooLarge { .. } => {
            (codes::SIZE, "the documents before this point were read; raise --max-file-size or split the file")
        }
        SplitError::DocumentTooLarge { .. } => (codes::SIZE, "the other documents are still read; split it up"),
        SplitError::Io(_) => (codes::UNREADABLE, "the documents before this point were read"),
    };
    Diagnostic::new(code, Severity::Error, error.to_string())
        .at(in_file(Some(file), Position { line, column: 1 }))
        .with_help(help)
}

#[cfg(test)]
mod tests;
