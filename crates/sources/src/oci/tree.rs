//! The files of an image as its layers leave them, as far as they can be graph-data, and where in it that is.

use std::collections::BTreeMap;
use std::io::Read;

use clearway_graph::Inputs;

use super::archive::{self, Kind, Spoiled, Then};
use crate::graph_data::{DIRECTORIES, name_parts};

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
    /// Reads a layer, keeping at most so many bytes of files.
    pub(super) fn read(stream: &mut dyn Read, unpacked: u64, kept: u64) -> Result<Self, Spoiled> {
        let mut changes = Vec::new();
        let mut left = kept;
        archive::walk(stream, unpacked, &mut |entry| {
            let (path, kind) = (entry.path, entry.kind);
            let (directory, name) = path.rsplit_once('/').unwrap_or(("", path));
            if name == ".wh..wh..opq" {
                changes.push(Change::Empty(directory.to_owned()));
            } else if let Some(gone) = name.strip_prefix(".wh.") {
                changes.push(Change::Remove(join(directory, gone)));
            } else if kind == Kind::File && can_be_graph_data(path) {
                let content = entry.content(left)?.ok_or(Spoiled::TooLarge(kept))?;
                left = left.saturating_sub(content.len() as u64);
                changes.push(Change::Put(path.to_owned(), Some(content)));
            } else if kind == Kind::Other && (can_be_graph_data(path) || DIRECTORIES.contains(&name)) {
                changes.push(Change::Put(path.to_owned(), None));
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
        Changes::read(&mut builder.into_inner().unwrap().as_slice(), 1 << 20, 1 << 10).unwrap()
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
        assert!(Changes::read(&mut bytes.as_slice(), 1 << 20, 12).is_ok());
        assert_eq!(Changes::read(&mut bytes.as_slice(), 1 << 20, 11), Err(Spoiled::TooLarge(11)));
    }
}
