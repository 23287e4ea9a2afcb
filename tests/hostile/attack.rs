//! The files that describe attacks.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::Path;

use rustix::fs::{CWD, FileType, Mode, mknodat};
use serde::Deserialize;

use crate::stranger::{End, Said};

/// What a stranger says to one request.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Answer {
    #[serde(default = "ok")]
    pub(crate) status: u16,
    /// Lines of the head.
    #[serde(default)]
    pub(crate) head: Vec<(String, String)>,
    pub(crate) body: Content,
    #[serde(default)]
    pub(crate) end: End,
}

pub(crate) fn ok() -> u16 {
    200
}

impl Answer {
    pub(crate) fn said(&self) -> Said {
        let Answer { status, head, body, end } = self.clone();
        Said { status, head, body: body.bytes().unwrap(), end }
    }
}

/// The lines of a head, in which `{elsewhere}` is another host.
pub(crate) fn head(lines: &[(String, String)], elsewhere: &str) -> Vec<(String, String)> {
    lines.iter().map(|(name, value)| (name.clone(), value.replace("{elsewhere}", elsewhere))).collect()
}

/// What a stranger puts somewhere.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged, deny_unknown_fields)]
pub(crate) enum Content {
    /// A text as it is.
    Text(String),
    /// As many files, whose name and text have the number of each as `{n}`; a part of the text is repeated.
    Files {
        files: usize,
        #[serde(default)]
        before: String,
        repeat: String,
        times: usize,
        #[serde(default)]
        after: String,
    },
    /// A text that is repeated, `{n}` in it being the number of the repetition, and `{n+1}` that of the next one, between two
    /// others.
    Repeated {
        #[serde(default)]
        before: String,
        repeat: String,
        times: usize,
        #[serde(default)]
        after: String,
    },
    /// A text in the middle of as many of two others, between two more.
    Nested {
        #[serde(default)]
        before: String,
        open: String,
        middle: String,
        close: String,
        depth: usize,
        #[serde(default)]
        after: String,
    },
    /// What is in it, packed.
    Packed { gzip: Box<Content> },
    /// A symbolic link.
    Link { link: String },
    /// What is no file at all.
    Odd { odd: Odd },
}

/// What is no file at all.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Odd {
    /// A named pipe that nobody writes to.
    Pipe,
    /// A socket that nobody listens on.
    Socket,
}

impl Content {
    /// The bytes of it, if it is a file.
    pub(crate) fn bytes(&self) -> Option<Vec<u8>> {
        match self {
            Content::Text(text) => Some(text.clone().into_bytes()),
            Content::Repeated { before, repeat, times, after } => {
                let mut bytes = before.clone().into_bytes();
                for number in 0..*times {
                    let next = (number + 1).to_string();
                    let text = repeat.replace("{n}", &number.to_string()).replace("{n+1}", &next);
                    bytes.extend(text.into_bytes());
                }
                bytes.extend(after.as_bytes());
                Some(bytes)
            }
            Content::Nested { before, open, middle, close, depth, after } => Some(
                [before, &open.repeat(*depth), middle, &close.repeat(*depth), after]
                    .map(String::as_str)
                    .concat()
                    .into_bytes(),
            ),
            Content::Packed { gzip } => gzip.bytes().map(|bytes| clearway_testbed::images::gzip(&bytes)),
            Content::Files { .. } | Content::Link { .. } | Content::Odd { .. } => None,
        }
    }
}

/// Puts contents below a directory, in place of what is there.
pub(crate) fn write(root: &Path, files: &BTreeMap<String, Content>) {
    for (name, content) in files {
        let path = root.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let _ = fs::remove_file(&path);
        match content {
            Content::Files { files, before, repeat, times, after } => {
                for number in (0..*files).map(|number| number.to_string()) {
                    let text =
                        [before, &repeat.repeat(*times), after].map(|text| text.replace("{n}", &number)).concat();
                    fs::write(root.join(name.replace("{n}", &number)), text).unwrap();
                }
            }
            Content::Link { link } => symlink(link, path).unwrap(),
            Content::Odd { odd: Odd::Pipe } => mknodat(CWD, path, FileType::Fifo, Mode::RUSR, 0).unwrap(),
            Content::Odd { odd: Odd::Socket } => drop(UnixListener::bind(path).unwrap()),
            file => fs::write(path, file.bytes().unwrap()).unwrap(),
        }
    }
}

/// Reads all attacks of one kind, in the order of their names.
pub(crate) fn all<Attack: for<'de> Deserialize<'de>>(kind: &str) -> BTreeMap<String, Attack> {
    let directory = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/hostile")).join(kind);
    let read = |path: &Path| {
        let text = fs::read_to_string(path).unwrap();
        serde_saphyr::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    };
    let paths = fs::read_dir(&directory).unwrap().map(|entry| entry.unwrap().path());
    let attacks: BTreeMap<String, Attack> =
        paths.map(|path| (path.file_stem().unwrap().to_str().unwrap().to_owned(), read(&path))).collect();
    assert!(!attacks.is_empty(), "no attacks in {}", directory.display());
    attacks
}
