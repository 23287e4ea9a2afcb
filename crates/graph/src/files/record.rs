//! One YAML file that holds one object, read with places.
//!
//! Every graph-data file but the large lists of releases is such a file. [`read_one`] hands the object over as a
//! [`Record`]; a file that holds none, several, or no object at all is reported.

use std::cell::Cell;
use std::collections::HashSet;
use std::io::{self, BufRead, Read};

use clearway_core::{Diagnostic, Place, Position};
use clearway_yaml::{Node, ReadEvent, Source};

use crate::codes::{self, Code};
use crate::files::findings::Findings;

/// The object of a file.
#[derive(Clone, Copy)]
pub(crate) struct Record<'a> {
    pub(crate) root: Node<'a>,
    source: Source<'a>,
}

impl<'a> Record<'a> {
    pub(crate) fn new(root: Node<'a>, source: Source<'a>) -> Self {
        Record { root, source }
    }

    /// A finding at a value.
    pub(crate) fn finding(&self, code: &Code, node: Node<'_>, message: impl Into<String>) -> Diagnostic {
        code.finding(message).at(self.source.place(node)).with_excerpt(self.source.excerpt(node))
    }

    /// The line and column of a value.
    pub(crate) fn position(&self, node: Node<'_>) -> Option<Position> {
        self.source.place(node).position
    }

    /// Reports keys that are not known or stand twice, and says which stand twice.
    pub(crate) fn check_keys(&self, known: &[&str], findings: &mut Findings<'_>) -> Vec<&'a str> {
        self.check_keys_of(self.root, "this file", known, findings)
    }

    /// The same for an object in the file, which `what` names.
    pub(crate) fn check_keys_of(
        &self,
        object: Node<'a>,
        what: &str,
        known: &[&str],
        findings: &mut Findings<'_>,
    ) -> Vec<&'a str> {
        let mut repeated = Vec::new();
        let mut seen: HashSet<&str> = HashSet::with_capacity(8);
        for (key, _) in object.fields() {
            let name = key.raw();
            if !seen.insert(name) {
                if known.contains(&name) {
                    repeated.push(name);
                }
                findings.report(&codes::REPEATED_KEY, || {
                    let message = format!("`{}` is set twice", shortened(name));
                    self.finding(&codes::REPEATED_KEY, key, message).with_help("keep one of the two")
                });
            } else if !known.contains(&name) {
                findings.report(&codes::UNKNOWN_KEY, || {
                    let message = format!("`{}` is not a key of {what}, and has no effect", shortened(name));
                    let help = similar(name, known).map_or_else(
                        || format!("known keys are {}", known.join(", ")),
                        |meant| format!("did you mean `{meant}`?"),
                    );
                    self.finding(&codes::UNKNOWN_KEY, key, message).with_help(help)
                });
            }
        }
        repeated
    }
}

/// The first key, at any level of a value, that stands twice in its object.
pub(crate) fn repeated_key(node: Node<'_>) -> Option<Node<'_>> {
    let mut seen: HashSet<&str> = HashSet::new();
    let in_fields = node.fields().find_map(|(key, value)| {
        let is_new = seen.insert(key.raw());
        if is_new { repeated_key(value) } else { Some(key) }
    });
    in_fields.or_else(|| node.items().find_map(repeated_key))
}

/// The known key that was probably meant: equal but for case and separators.
fn similar<'k>(name: &str, known: &[&'k str]) -> Option<&'k str> {
    // No known key is that long, however it is written.
    if name.len() > 64 {
        return None;
    }
    let fold = |text: &str| text.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase();
    known.iter().find(|key| fold(key) == fold(name)).copied()
}

/// Reads a file that holds one object; `parse` makes of it what it is. Anything else refuses the revision.
pub(crate) fn read_one<T>(
    path: &str,
    bytes: &[u8],
    code: &Code,
    findings: &mut Findings<'_>,
    mut parse: impl FnMut(Record<'_>, &mut Findings<'_>) -> Option<T>,
) -> Option<T> {
    let mut parsed = None;
    let (mut objects, mut problems) = (0_usize, 0_usize);
    let limits = findings.yaml();
    let enough = Cell::new(false);
    // One object is in the file, and `items` is no key of it: behind a list of other objects, it would be hidden.
    clearway_yaml::read_documents(Until { bytes, enough: &enough }, path, &limits, |found| match found {
        ReadEvent::Object { root, source, .. } => {
            objects += 1;
            enough.set(objects > 1);
            let record = Record { root, source };
            if objects > 1 {
                findings.refuse_with(&codes::NOT_ONE_DOCUMENT, || {
                    let message = "a second object in this file";
                    record.finding(&codes::NOT_ONE_DOCUMENT, root, message).with_help("write one object per file")
                });
            } else if root.is_mapping() {
                parsed = parse(record, findings);
            } else {
                let message = format!("the file contains {} instead of an object", root.describe());
                findings.refuse(record.finding(code, root, message));
            }
        }
        ReadEvent::Problem(problem) => {
            problems += 1;
            findings.refuse(named(problem));
        }
    });
    if objects + problems == 0 {
        findings.refuse(code.finding("the file is empty").at(whole(path)).with_help("remove it, or fill it in"));
    }
    if objects == 1 && problems == 0 { parsed } else { None }
}

/// Bytes that end when there was enough of them: a file of a million documents says nothing that the second one did not.
struct Until<'b> {
    bytes: &'b [u8],
    enough: &'b Cell<bool>,
}

impl Read for Until<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.fill_buf()?.read(buffer)?;
        self.consume(read);
        Ok(read)
    }
}

impl BufRead for Until<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        Ok(if self.enough.get() { &[] } else { self.bytes })
    }

    fn consume(&mut self, amount: usize) {
        self.bytes = self.bytes.get(amount..).unwrap_or_default();
    }
}

/// What is wrong with a text, with the caps that it may be above.
pub(crate) fn named(problem: Diagnostic) -> Diagnostic {
    if problem.code == clearway_yaml::codes::STRUCTURE {
        problem.with_help("see the caps `object_values` and `object_depth` in docs/limits.md")
    } else {
        problem
    }
}

/// Foreign text as a message may hold it: so much of it as helps.
pub(crate) fn shortened(text: &str) -> std::borrow::Cow<'_, str> {
    const SHOWN: usize = 200;
    match text.char_indices().nth(SHOWN) {
        None => text.into(),
        Some((end, _)) => format!("{} …", text.get(..end).unwrap_or_default()).into(),
    }
}

/// The place of a whole file.
pub(crate) fn whole(path: &str) -> Place {
    Place { file: Some(path.to_owned()), ..Place::default() }
}
