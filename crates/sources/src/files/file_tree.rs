//! A tree of files from a stranger, whatever holds it: a directory, a git revision, an archive.
//!
//! Paths are bytes relative to the root of the tree, with `/` between names; the root is the empty path. [`resolve`]
//! follows symbolic links, and only inside the tree: a link that leaves the root, leads nowhere or in a circle is refused.

use std::fmt;

use clearway_core::terminal_text::escape_line;

/// Links on the way to one file; Linux follows as many.
pub(crate) const LINKS: usize = 40;
/// Bytes of the target of one link; Linux takes no longer path.
pub(crate) const TARGET_BYTES: u64 = 4096;

/// What is at a path. Links are not followed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Node {
    /// Nothing.
    Missing,
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link with its target.
    Link(Vec<u8>),
    /// Something whose content is not read, in words: `a named pipe`.
    Other(&'static str),
}

/// Why the content of a file cannot be had.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ReadError {
    /// It has more bytes than were allowed.
    TooLarge,
    /// It cannot be read, in words.
    Refused(String),
}

/// Files by path. Every path given to these methods is free of links, as [`resolve`] makes it.
pub(crate) trait FileTree {
    /// What is at a path, or why nobody can tell.
    fn node(&mut self, path: &[u8]) -> Result<Node, String>;

    /// The names in a directory, sorted.
    fn names(&mut self, directory: &[u8]) -> Result<Vec<Vec<u8>>, String>;

    /// The content of a file of at most `limit` bytes.
    fn read(&mut self, file: &[u8], limit: u64) -> Result<Vec<u8>, ReadError>;

    /// The target of an absolute link as a path of this tree; `None` if it leads elsewhere.
    fn inside<'t>(&self, _target: &'t [u8]) -> Option<&'t [u8]> {
        None
    }
}

/// What a path stands for after links were followed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Target {
    /// Nothing.
    Missing,
    /// The file at this path, which is free of links.
    File(Vec<u8>),
    /// The directory at this path, which is free of links.
    Directory(Vec<u8>),
}

/// Why something that exists is not read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// A link to something that does not exist.
    Dangling(Vec<u8>),
    /// A link that leaves the tree.
    Outside(Vec<u8>),
    /// Links that lead in a circle, or too many of them.
    Circle,
    /// Neither a file nor a directory.
    Other(&'static str),
    /// The tree does not give it.
    Unreadable(String),
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::Dangling(target) => write!(f, "it links to `{}`, which does not exist", printable(target)),
            Refusal::Outside(target) => {
                write!(f, "it links to `{}`, outside the directory", printable(target))
            }
            Refusal::Circle => {
                write!(f, "its links form a loop, or are more than {LINKS} on the way to one file (the cap `links`)")
            }
            Refusal::Other(what) => write!(f, "it is {what}, not a file"),
            Refusal::Unreadable(why) => f.write_str(why),
        }
    }
}

/// What a path below a directory stands for. `base` is free of links.
pub(crate) fn resolve(tree: &mut impl FileTree, base: &[u8], path: &[u8]) -> Result<Target, Refusal> {
    let mut here: Vec<Vec<u8>> = names_of(base).map(<[u8]>::to_vec).collect();
    // The names that are still to be walked, the next one last.
    let mut ahead: Vec<Vec<u8>> = names_of(path).map(<[u8]>::to_vec).collect();
    ahead.reverse();
    // The link that is being followed: its target, and how many names will be ahead behind its end.
    let mut link: Option<(Vec<u8>, usize)> = None;
    let mut links = 0;
    let absent = |link: Option<(Vec<u8>, usize)>| match link {
        Some((target, _)) => Err(Refusal::Dangling(target)),
        None => Ok(Target::Missing),
    };
    while let Some(name) = ahead.pop() {
        link = link.filter(|(_, behind)| ahead.len() >= *behind);
        if name == b".." {
            if here.pop().is_none() {
                return Err(Refusal::Outside(link.map_or_else(|| path.to_vec(), |(target, _)| target)));
            }
            continue;
        }
        here.push(name);
        let at = here.join(&b'/');
        match tree.node(&at).map_err(Refusal::Unreadable)? {
            Node::Directory => {}
            Node::File if ahead.is_empty() => return Ok(Target::File(at)),
            // Nothing is below a file.
            Node::Missing | Node::File => return absent(link),
            Node::Other(what) => return Err(Refusal::Other(what)),
            Node::Link(target) => {
                links += 1;
                if links > LINKS {
                    return Err(Refusal::Circle);
                }
                here.pop();
                let rest = if target.starts_with(b"/") {
                    here.clear();
                    match tree.inside(&target) {
                        Some(rest) => rest.to_vec(),
                        None => return Err(Refusal::Outside(target)),
                    }
                } else if target.is_empty() {
                    return Err(Refusal::Dangling(target));
                } else {
                    target.clone()
                };
                let from = ahead.len();
                ahead.extend(names_of(&rest).map(<[u8]>::to_vec));
                if let Some(added) = ahead.get_mut(from..) {
                    added.reverse();
                }
                link.get_or_insert((target, from));
            }
        }
    }
    Ok(Target::Directory(here.join(&b'/')))
}

/// The names of a path, without empty ones and `.`.
pub(crate) fn names_of(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    path.split(|byte| *byte == b'/').filter(|name| !name.is_empty() && *name != b".")
}

/// A path without its last name, and that name.
pub(crate) fn split_last(path: &[u8]) -> (&[u8], &[u8]) {
    match path.iter().rposition(|byte| *byte == b'/') {
        Some(at) => (path.get(..at).unwrap_or_default(), path.get(at + 1..).unwrap_or_default()),
        None => (&[], path),
    }
}

/// A path with a name added.
pub(crate) fn join(directory: &[u8], name: &[u8]) -> Vec<u8> {
    if directory.is_empty() { name.to_vec() } else { [directory, b"/", name].concat() }
}

/// Bytes as people read them: what is no UTF-8 and what drives a terminal is escaped, and what is very long is cut.
pub(crate) fn printable(bytes: &[u8]) -> String {
    const SHOWN: usize = 200;
    let mut text = String::new();
    for chunk in bytes.utf8_chunks() {
        text.push_str(&escape_line(chunk.valid()));
        text.extend(chunk.invalid().escape_ascii().map(char::from));
    }
    match text.char_indices().nth(SHOWN) {
        Some((at, _)) => format!("{}…", text.get(..at).unwrap_or_default()),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    /// A tree in memory, rooted at `/data` for absolute links.
    struct Sketch<'n>(BTreeMap<&'n str, Node>);

    impl FileTree for Sketch<'_> {
        fn node(&mut self, path: &[u8]) -> Result<Node, String> {
            let path = str::from_utf8(path).unwrap();
            if path == "locked" {
                return Err("permission denied".to_owned());
            }
            Ok(self.0.get(path).cloned().unwrap_or(Node::Missing))
        }

        fn names(&mut self, _: &[u8]) -> Result<Vec<Vec<u8>>, String> {
            unreachable!("resolving lists nothing")
        }

        fn read(&mut self, _: &[u8], _: u64) -> Result<Vec<u8>, ReadError> {
            unreachable!("resolving reads nothing")
        }

        fn inside<'t>(&self, target: &'t [u8]) -> Option<&'t [u8]> {
            target.strip_prefix(b"/data/")
        }
    }

    #[test]
    fn links_are_followed_inside_the_tree_only() {
        let link = |target: &str| Node::Link(target.as_bytes().to_vec());
        let mut tree = Sketch(BTreeMap::from([
            ("d", Node::Directory),
            ("d/file", Node::File),
            ("d/up", link("../d/./file")),
            ("d/absolute", link("/data/d//file")),
            ("d/out", link("../../etc/passwd")),
            ("d/deep-out", link("/data/../etc/passwd")),
            ("d/root", link("/etc/passwd")),
            ("d/empty", link("")),
            ("d/nowhere", link("gone")),
            ("d/through-file", link("file/x")),
            ("d/self", link("self")),
            ("d/pipe", Node::Other("a named pipe")),
            ("..data", link("..2026")),
            ("..2026", Node::Directory),
            ("..2026/c", Node::Directory),
            ("..2026/c/file", Node::File),
            ("c", link("..data/c")),
            ("locked", Node::File),
        ]));
        let file = |path: &str| Ok(Target::File(path.as_bytes().to_vec()));
        let outside = |target: &str| Err(Refusal::Outside(target.as_bytes().to_vec()));
        let dangling = |target: &str| Err(Refusal::Dangling(target.as_bytes().to_vec()));
        for (base, path, want) in [
            ("", "d/file", file("d/file")),
            ("d", "file", file("d/file")),
            ("d", "up", file("d/file")),
            ("d", "absolute", file("d/file")),
            ("d", "out", outside("../../etc/passwd")),
            ("d", "deep-out", outside("/data/../etc/passwd")),
            ("d", "root", outside("/etc/passwd")),
            ("d", "empty", dangling("")),
            ("d", "nowhere", dangling("gone")),
            ("d", "through-file", dangling("file/x")),
            ("d", "self", Err(Refusal::Circle)),
            ("d", "pipe", Err(Refusal::Other("a named pipe"))),
            ("", "c", Ok(Target::Directory(b"..2026/c".to_vec()))),
            ("", "c/file", file("..2026/c/file")),
            ("", "c/gone", Ok(Target::Missing)),
            ("", "gone", Ok(Target::Missing)),
            ("", "d/file/x", Ok(Target::Missing)),
            ("", "../d", outside("../d")),
            ("", "", Ok(Target::Directory(Vec::new()))),
            ("", "locked", Err(Refusal::Unreadable("permission denied".to_owned()))),
        ] {
            assert_eq!(resolve(&mut tree, base.as_bytes(), path.as_bytes()), want, "{base} {path}");
        }
    }

    #[test]
    fn so_many_links_lead_to_a_file_and_no_more() {
        let names: Vec<String> = (0..=LINKS).map(|number| format!("l{number}")).collect();
        let mut nodes = vec![("file", Node::File)];
        for (at, name) in names.iter().enumerate() {
            let next = names.get(at + 1).map_or("file", String::as_str);
            nodes.push((name, Node::Link(next.as_bytes().to_vec())));
        }
        let mut tree = Sketch(BTreeMap::from_iter(nodes));
        assert_eq!(resolve(&mut tree, b"", b"l1"), Ok(Target::File(b"file".to_vec())));
        let refusal = resolve(&mut tree, b"", b"l0").unwrap_err();
        assert_eq!(refusal, Refusal::Circle);
        assert!(refusal.to_string().ends_with("more than 40 on the way to one file (the cap `links`)"), "{refusal}");
    }

    #[test]
    fn foreign_names_cannot_drive_a_terminal() {
        assert_eq!(printable(b"a/b c.yaml"), "a/b c.yaml");
        assert_eq!(printable(b"\xffa\x1b[2J\n"), "\\xffa\\x1b[2J ");
        assert_eq!(printable("é".repeat(300).as_bytes()), "é".repeat(200) + "…");
    }
}
