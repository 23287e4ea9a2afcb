//! Which files graph-data is made of, for every source alike: a directory, an archive, a git revision, an image.
//!
//! | in the tree | what becomes of it |
//! |---|---|
//! | `version`; files directly in `channels`, `blocked-edges`, `risks`, `releases`, `raw`; `signatures/ALGORITHM/DIGEST/NAME` | read |
//! | one of these that is a link inside the tree, in a directory or git revision | read where it leads |
//! | one of these that exists and cannot be read: a link that leaves the tree, leads nowhere or in a circle, any link in an archive or image, a named pipe, a socket, a device, a directory named like a file (`risks/x.yaml/`), a submodule, a name that is not UTF-8, no permission | noted, and refuses the revision |
//! | one of the directories that is something else | noted, and refuses the revision |
//! | sub-directories that are not named like a file, and directories whose names begin with `..` (Kubernetes mounts) | ignored |
//! | files directly in `signatures` or `signatures/ALGORITHM`, and everything elsewhere, such as `README.md` | ignored |

use clearway_graph::Inputs;

use super::{DIRECTORIES, SIGNATURES};
use crate::files::file_tree::{FileTree, ReadError, Target, printable, resolve};

/// Files of one revision. OpenShift's graph-data has 1,800.
pub(crate) const FILES: usize = 200_000;
/// Names that are looked at to find them: also directories, and what is passed over. A directory of signatures may hold
/// directories without end and no file; each signature has a directory.
pub(crate) const ENTRIES: usize = 2 * FILES;
/// Bytes of all files of one revision. OpenShift's graph-data has 6 MB.
pub(crate) const BYTES: u64 = 64 << 20;
/// Bytes of the path of one file.
pub(crate) const NAME_BYTES: usize = 1024;

/// Above which cap the files are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Excess {
    /// Bytes of all files.
    Bytes(u64),
    /// Files.
    Files(usize),
    /// Names that are looked at.
    Entries(usize),
}

/// Whether a tree has anything of graph-data at its root.
pub(crate) fn is_graph_data(tree: &mut impl FileTree) -> bool {
    [&b"version"[..], b"channels"].iter().any(|name| resolve(tree, b"", name) != Ok(Target::Missing))
}

/// Reads the files of the graph-data at the root of a tree, at most `bytes` in all.
pub(crate) fn collect(tree: &mut impl FileTree, bytes: u64) -> Result<Inputs, Excess> {
    let limit = bytes.min(BYTES);
    let mut collector = Collector { tree, inputs: Inputs::new(), limit, left: limit, files: 0, entries: 0 };
    collector.entry("version", b"", b"version", Level::File)?;
    for (directory, levels) in DIRECTORIES {
        collector.entry(directory, b"", directory.as_bytes(), Level::Directories(levels))?;
    }
    Ok(collector.inputs)
}

/// What is expected at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Level {
    /// A file that is read.
    File,
    /// A directory, with files so many levels below.
    Directories(usize),
}

struct Collector<'t, T> {
    tree: &'t mut T,
    inputs: Inputs,
    limit: u64,
    left: u64,
    files: usize,
    entries: usize,
}

impl<T: FileTree> Collector<'_, T> {
    /// Takes in what is at a path that graph-data has; `shown` is its name in graph-data.
    fn entry(&mut self, shown: &str, directory: &[u8], name: &[u8], level: Level) -> Result<(), Excess> {
        let refused = match (resolve(self.tree, directory, name), level) {
            (Ok(Target::Missing), _) => return Ok(()),
            (Ok(Target::File(path)), Level::File) => return self.file(shown, &path),
            (Ok(Target::Directory(path)), Level::Directories(levels)) => return self.below(shown, &path, levels),
            (Ok(Target::File(_)), Level::Directories(_)) => "it is a file, not a directory".to_owned(),
            (Ok(Target::Directory(_)), Level::File) => "it is a directory, not a file".to_owned(),
            (Err(refusal), _) => refusal.to_string(),
        };
        self.refuse(shown, &refused)
    }

    /// Takes in the files so many levels below a directory that is free of links.
    fn below(&mut self, shown: &str, directory: &[u8], levels: usize) -> Result<(), Excess> {
        let names = match self.tree.names(directory) {
            Ok(names) => names,
            Err(why) => return self.refuse(shown, &why),
        };
        for name in names {
            self.entries += 1;
            if self.entries > ENTRIES {
                return Err(Excess::Entries(ENTRIES));
            }
            let exact = str::from_utf8(&name).map_or_else(|_| printable(&name), str::to_owned);
            let path = format!("{shown}/{exact}");
            // Hand-made git trees have such names.
            if name.is_empty() || name == b"." || name == b".." || name.contains(&b'/') {
                self.refuse(&path, "its name is not a valid file name")?;
                continue;
            }
            let why = match (unusual_name(directory, &name), resolve(self.tree, directory, &name)) {
                // Above the level of signatures, only directories matter; at it, only those in place of a file.
                (_, Ok(Target::File(_))) if levels > 1 => continue,
                (_, Ok(Target::Directory(_))) if is_passed_over(&name, shown, levels) => continue,
                (Some(why), _) => why.to_owned(),
                (None, Ok(Target::File(file))) => {
                    self.file(&path, &file)?;
                    continue;
                }
                (None, Ok(Target::Directory(below))) if levels > 1 => {
                    self.below(&path, &below, levels - 1)?;
                    continue;
                }
                (None, Ok(Target::Directory(_))) => "it is a directory, not a file".to_owned(),
                (None, Ok(Target::Missing)) => "it was removed while the directory was read".to_owned(),
                (None, Err(refusal)) => refusal.to_string(),
            };
            self.refuse(&path, &why)?;
        }
        Ok(())
    }

    fn file(&mut self, shown: &str, path: &[u8]) -> Result<(), Excess> {
        self.count()?;
        match self.tree.read(path, self.left) {
            Ok(content) => {
                self.left = self.left.saturating_sub(content.len() as u64);
                self.inputs.insert(shown, content);
            }
            Err(ReadError::TooLarge) => return Err(Excess::Bytes(self.limit)),
            Err(ReadError::Refused(why)) => self.inputs.insert_unreadable(shown, why),
        }
        Ok(())
    }

    fn refuse(&mut self, shown: &str, why: &str) -> Result<(), Excess> {
        self.count()?;
        self.inputs.insert_unreadable(printable(shown.as_bytes()), why);
        Ok(())
    }

    fn count(&mut self) -> Result<(), Excess> {
        self.files += 1;
        if self.files > FILES { Err(Excess::Files(FILES)) } else { Ok(()) }
    }
}

/// Why a file of this name is not read.
fn unusual_name(directory: &[u8], name: &[u8]) -> Option<&'static str> {
    if str::from_utf8(name).is_err() {
        Some("its name is not UTF-8")
    } else if directory.len() + 1 + name.len() > NAME_BYTES {
        Some("its path is longer than 1024 bytes")
    } else {
        None
    }
}

/// Whether a directory does not stand where a file would be read, or is Kubernetes' own.
fn is_passed_over(name: &[u8], directory: &str, levels: usize) -> bool {
    name.starts_with(b"..") || levels == 1 && !directory.starts_with(SIGNATURES) && !is_named_like_a_file(name)
}

/// Whether a name in one of the directories is one of those that are read: `.json`, `.yml`, `.yaml`.
fn is_named_like_a_file(name: &[u8]) -> bool {
    let extension = name.rsplit(|byte| *byte == b'.').next().filter(|rest| rest.len() < name.len());
    extension
        .is_some_and(|extension| extension == b"json" || (extension.starts_with(b"y") && extension.ends_with(b"ml")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::file_tree::Node;

    /// As many risks as are asked for, of one byte each.
    struct Many(usize);

    impl FileTree for Many {
        fn node(&mut self, path: &[u8]) -> Result<Node, String> {
            Ok(match path {
                b"risks" => Node::Directory,
                path if path.starts_with(b"risks/") => Node::File,
                _ => Node::Missing,
            })
        }

        fn names(&mut self, _: &[u8]) -> Result<Vec<Vec<u8>>, String> {
            Ok((0..self.0).map(|number| format!("{number}.yaml").into_bytes()).collect())
        }

        fn read(&mut self, _: &[u8], limit: u64) -> Result<Vec<u8>, ReadError> {
            if limit == 0 { Err(ReadError::TooLarge) } else { Ok(b"x".to_vec()) }
        }
    }

    /// Signatures of an algorithm: so many directories of so many directories, and no file; every other name at the top is a
    /// file that is passed over.
    struct Nested {
        width: usize,
        looked_at: usize,
    }

    impl FileTree for Nested {
        fn node(&mut self, path: &[u8]) -> Result<Node, String> {
            self.looked_at += 1;
            let levels = path.split(|byte| *byte == b'/').count();
            Ok(match path {
                path if !path.starts_with(b"signatures") => Node::Missing,
                path if levels == 2 && path.ends_with(b"1") => Node::File,
                _ => Node::Directory,
            })
        }

        fn names(&mut self, directory: &[u8]) -> Result<Vec<Vec<u8>>, String> {
            let levels = directory.split(|byte| *byte == b'/').count();
            let width = if levels == 3 { 0 } else { self.width };
            Ok((0..width).map(|number| number.to_string().into_bytes()).collect())
        }

        fn read(&mut self, _: &[u8], _: u64) -> Result<Vec<u8>, ReadError> {
            Ok(Vec::new())
        }
    }

    #[test]
    fn names_that_are_passed_over_are_counted() {
        // A thousand names, a tenth of them files, and a thousand directories in each of the others.
        let mut nested = Nested { width: 1_000, looked_at: 0 };
        assert_eq!(collect(&mut nested, BYTES), Err(Excess::Entries(ENTRIES)));
        // Each name is looked at with the directories above it.
        assert!(nested.looked_at <= 4 * ENTRIES, "{}", nested.looked_at);
        let mut nested = Nested { width: 600, looked_at: 0 };
        assert_eq!(collect(&mut nested, BYTES).unwrap().iter().count(), 0);
    }

    #[test]
    fn files_and_bytes_are_counted() {
        assert_eq!(collect(&mut Many(FILES), BYTES).unwrap().iter().count(), FILES);
        assert_eq!(collect(&mut Many(FILES + 1), BYTES), Err(Excess::Files(FILES)));
        assert_eq!(collect(&mut Many(10), 10).unwrap().iter().count(), 10);
        assert_eq!(collect(&mut Many(11), 10), Err(Excess::Bytes(10)));
        assert_eq!(collect(&mut Many(1), u64::MAX).unwrap().iter().count(), 1);
    }
}
