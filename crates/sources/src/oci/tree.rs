//! The files of an image as its layers leave them, as far as they are [`Wanted`]; and where in it graph-data is.

use std::collections::BTreeMap;
use std::io::Read;

use clearway_core::Digest;
use clearway_graph::Inputs;

use super::archive::{self, Kind, Spoiled, Then};
use crate::graph_data::{DIRECTORIES, name_parts};

/// Which files of an image are kept, and how many.
#[derive(Clone, Copy)]
pub(super) struct Wanted {
    /// Whether a file is.
    pub(super) file: fn(&str) -> bool,
    /// Whether something that is no file could stand where one is wanted.
    pub(super) other: fn(&str) -> bool,
    /// Whether files that are wanted can be gone with a path.
    pub(super) gone: fn(&str) -> bool,
    /// Bytes of all files of a layer.
    pub(super) bytes: u64,
    /// Files of a layer, and what it takes from lower ones.
    pub(super) entries: usize,
}

impl Wanted {
    /// What can be graph-data, wherever that is.
    pub(super) fn graph_data(bytes: u64) -> Self {
        Wanted {
            file: can_be_graph_data,
            other: |path| {
                can_be_graph_data(path) || DIRECTORIES.contains(&path.rsplit_once('/').map_or(path, |(_, name)| name))
            },
            gone: |_| true,
            bytes,
            entries: usize::MAX,
        }
    }
}

/// One thing that a layer does.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Change {
    /// Puts something at a path: a file with its content, or something without.
    Put(String, Option<Vec<u8>>),
    /// Takes what lower layers have at a path.
    Remove(String),
    /// Takes what lower layers have in a directory.
    Empty(String),
}

/// What one layer does, in order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Changes(Vec<Change>);

/// The files of some layers.
#[derive(Debug, Default)]
pub(super) struct Tree {
    /// By path: the content of a file, or nothing for a link or a device.
    files: BTreeMap<String, Option<Vec<u8>>>,
}

impl Changes {
    /// Reads a layer, keeping what is wanted. If its unpacked bytes have a digest, it is compared.
    pub(super) fn read(
        stream: &mut dyn Read,
        unpacked: u64,
        wanted: &Wanted,
        diff_id: Option<&Digest>,
    ) -> Result<Self, Spoiled> {
        let mut changes = Vec::new();
        let mut left = wanted.bytes;
        archive::walk_checked(stream, unpacked, diff_id, &mut |entry| {
            let (path, kind) = (entry.path, entry.kind);
            let (directory, name) = path.rsplit_once('/').unwrap_or(("", path));
            let change = if name == ".wh..wh..opq" {
                (wanted.gone)(directory).then(|| Change::Empty(directory.to_owned()))
            } else if let Some(gone) = name.strip_prefix(".wh.") {
                Some(join(directory, gone)).filter(|gone| (wanted.gone)(gone)).map(Change::Remove)
            } else if kind == Kind::File && (wanted.file)(path) {
                let content = entry.content(left)?.ok_or(Spoiled::TooLarge(wanted.bytes))?;
                left = left.saturating_sub(content.len() as u64);
                Some(Change::Put(path.to_owned(), Some(content)))
            } else if kind == Kind::Other && (wanted.other)(path) {
                Some(Change::Put(path.to_owned(), None))
            } else {
                None
            };
            changes.extend(change);
            if changes.len() > wanted.entries {
                return Err(Spoiled::Broken(format!("it has more than {} files of a release", wanted.entries)));
            }
            Ok(Then::Continue)
        })?;
        Ok(Changes(changes))
    }
}

impl Tree {
    /// Puts a layer above those that are there.
    pub(super) fn apply(&mut self, layer: Changes) {
        // What a layer takes away is what lower ones have, wherever in the layer that stands.
        for change in &layer.0 {
            match change {
                Change::Remove(path) => {
                    self.files.remove(path);
                    self.remove_below(path);
                }
                Change::Empty(directory) => self.remove_below(directory),
                // A link or file in place of a directory.
                Change::Put(path, _) => self.remove_below(path),
            }
        }
        for change in layer.0 {
            if let Change::Put(path, content) = change {
                self.files.insert(path, content);
            }
        }
    }

    /// Bytes of all files.
    pub(super) fn bytes(&self) -> u64 {
        self.files.values().flatten().map(|content| content.len() as u64).sum()
    }

    fn remove_below(&mut self, directory: &str) {
        if directory.is_empty() {
            self.files.clear();
            return;
        }
        let prefix = format!("{directory}/");
        let below: Vec<String> = self
            .files
            .range(prefix.clone()..)
            .map(|(path, _)| path)
            .take_while(|path| path.starts_with(&prefix))
            .cloned()
            .collect();
        for path in below {
            self.files.remove(&path);
        }
    }

    /// How many files there are.
    pub(super) fn len(&self) -> usize {
        self.files.len()
    }

    /// Every path with the content of its file, or nothing for a link or a device.
    pub(super) fn into_files(self) -> BTreeMap<String, Option<Vec<u8>>> {
        self.files
    }

    /// The files of the one directory that is graph-data.
    pub(super) fn graph_data(self) -> Result<Inputs, String> {
        let versions = self.files.iter().filter(|(_, content)| content.is_some());
        let roots: Vec<String> = versions
            .filter_map(|(path, _)| path.strip_suffix("version"))
            .filter(|root| root.is_empty() || root.ends_with('/'))
            .filter(|root| {
                let channels = format!("{root}channels/");
                self.files.range(channels.clone()..).next().is_some_and(|(path, _)| path.starts_with(&channels))
            })
            .map(str::to_owned)
            .collect();
        let root = match roots.as_slice() {
            [root] => root,
            [] => return Err("there is no graph-data in it".to_owned()),
            [one, other, ..] => return Err(format!("there is graph-data in it at `/{one}` and at `/{other}`")),
        };
        let mut inputs = Inputs::new();
        for (path, content) in self.files {
            let Some(name) = path.strip_prefix(root.as_str()) else { continue };
            let parts: Vec<&str> = name.split('/').collect();
            let wanted = name_parts(&parts) == Some(parts.len()) || DIRECTORIES.contains(&name);
            match content {
                Some(content) if wanted => inputs.insert(name, content),
                // Passing over a link could pass over a risk.
                None if wanted => return Err(format!("`/{path}` in it is a link, not a file")),
                _ => {}
            }
        }
        Ok(inputs)
    }
}

/// Whether a file can be one of graph-data, wherever that is.
fn can_be_graph_data(path: &str) -> bool {
    name_parts(&path.split('/').collect::<Vec<_>>()).is_some()
}

fn join(directory: &str, name: &str) -> String {
    if directory.is_empty() { name.to_owned() } else { format!("{directory}/{name}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layer(files: &[&str]) -> Changes {
        let mut builder = tar::Builder::new(Vec::new());
        for name in files {
            let mut header = tar::Header::new_gnu();
            if let Some(name) = name.strip_suffix('@') {
                header.set_entry_type(tar::EntryType::Symlink);
                header.set_size(0);
                builder.append_link(&mut header, name, "/etc/passwd").unwrap();
                continue;
            }
            let (name, content) = name.split_once('=').unwrap_or((name, ""));
            header.set_size(content.len() as u64);
            builder.append_data(&mut header, name, content.as_bytes()).unwrap();
        }
        let wanted = Wanted::graph_data(1 << 10);
        Changes::read(&mut builder.into_inner().unwrap().as_slice(), 1 << 20, &wanted, None).unwrap()
    }

    /// The graph-data of some layers as `path=content`, or why there is none.
    fn read(layers: &[&[&str]]) -> Result<Vec<String>, String> {
        let mut tree = Tree::default();
        for files in layers {
            tree.apply(layer(files));
        }
        let inputs = tree.graph_data()?;
        Ok(inputs.iter().map(|(path, content)| format!("{path}={}", String::from_utf8_lossy(content))).collect())
    }

    #[test]
    fn layers_are_applied_in_order_with_what_they_take_away() {
        let base: &[&str] =
            &["g/version=1", "g/channels/a.yaml=a", "g/channels/b.yaml=b", "g/README=x", "etc/version=9"];
        for (layers, want) in [
            (vec![base], vec!["channels/a.yaml=a", "channels/b.yaml=b", "version=1"]),
            (vec![base, &["g/channels/a.yaml=new"]], vec!["channels/a.yaml=new", "channels/b.yaml=b", "version=1"]),
            (vec![base, &["g/channels/.wh.a.yaml"]], vec!["channels/b.yaml=b", "version=1"]),
            (vec![base, &["g/channels/c.yaml=c", "g/channels/.wh..wh..opq"]], vec!["channels/c.yaml=c", "version=1"]),
            (
                vec![base, &["g/.wh.channels"], &["g/channels/d.yaml=d", "g/risks/r.yaml=r"]],
                vec!["channels/d.yaml=d", "risks/r.yaml=r", "version=1"],
            ),
            (vec![base, &[".wh.g", "version=2", "channels/e.yaml=e"]], vec!["channels/e.yaml=e", "version=2"]),
            (
                vec![&["version=1", "channels/a.yaml=a", "channels/old/b.yaml=b"]],
                vec!["channels/a.yaml=a", "version=1"],
            ),
        ] {
            assert_eq!(read(&layers).unwrap(), want, "{layers:?}");
        }
    }

    #[test]
    fn no_graph_data_two_of_them_and_links_are_refused() {
        for (files, want) in [
            (vec!["version=1"], "there is no graph-data in it"),
            (vec!["channels/a.yaml=a", "b/version=1"], "there is no graph-data in it"),
            (vec!["conversion=1", "channels/a.yaml=a"], "there is no graph-data in it"),
            (
                vec!["a/version=1", "a/channels/a=a", "b/version=1", "b/channels/a=a"],
                "there is graph-data in it at `/a/` and at `/b/`",
            ),
            (
                vec!["version=1", "channels/a.yaml=a", "blocked-edges/b.yaml@"],
                "`/blocked-edges/b.yaml` in it is a link, not a file",
            ),
            (vec!["version=1", "channels/a.yaml=a", "blocked-edges@"], "`/blocked-edges` in it is a link, not a file"),
        ] {
            assert_eq!(read(&[&files]), Err(want.to_owned()), "{files:?}");
        }
        // A link elsewhere is nobody's concern.
        assert_eq!(read(&[&["g/version=1", "g/channels/a=a", "usr/share/channels@"]]).unwrap().len(), 2);
    }

    #[test]
    fn more_than_the_limit_is_refused() {
        let mut builder = tar::Builder::new(Vec::new());
        let mut header = tar::Header::new_gnu();
        header.set_size(6);
        for name in ["version", "channels/a.yaml"] {
            builder.append_data(&mut header, name, &b"123456"[..]).unwrap();
        }
        let bytes = builder.into_inner().unwrap();
        assert!(Changes::read(&mut bytes.as_slice(), 1 << 20, &Wanted::graph_data(12), None).is_ok());
        assert_eq!(
            Changes::read(&mut bytes.as_slice(), 1 << 20, &Wanted::graph_data(11), None),
            Err(Spoiled::TooLarge(11))
        );
    }
}
