//! The files of one graph-data directory, as bytes by path, and the name of their sum.
//!
//! Reading a directory, an archive or an image is somebody else's work; whoever did it hands the files in here. The
//! order in which they come has no say in anything.

use std::collections::BTreeMap;

use clearway_core::Digest;
use sha2::Digest as _;

/// The files of one revision: path (relative, with `/`) to content.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Inputs {
    files: BTreeMap<String, Vec<u8>>,
    /// Files that exist and could not be read, with the reason.
    unreadable: BTreeMap<String, String>,
}

/// What a file is for, by its path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// The file `version`.
    Version,
    /// A file of `channels/`.
    Channel,
    /// A file of `blocked-edges/`.
    Block,
    /// A file of `risks/`.
    Declaration,
    /// A file of `releases/`.
    Releases,
    /// The file `raw/metadata.json`.
    Raw,
    /// In one of the directories, but with a name that is not read.
    Misnamed,
    /// Nothing of ours.
    Other,
}

impl Inputs {
    /// No files.
    pub fn new() -> Self {
        Inputs::default()
    }

    /// Adds a file; a file of the same path is replaced.
    pub fn insert(&mut self, path: impl Into<String>, content: impl Into<Vec<u8>>) {
        self.files.insert(path.into(), content.into());
    }

    /// Notes a file or directory that exists and cannot be read, and why. It may hold a block, so it refuses the revision.
    pub fn insert_unreadable(&mut self, path: impl Into<String>, why: impl Into<String>) {
        self.unreadable.insert(path.into(), why.into());
    }

    /// What exists and cannot be read, by path, with the reason.
    pub fn unreadable(&self) -> impl Iterator<Item = (&str, &str)> {
        self.unreadable.iter().map(|(path, why)| (path.as_str(), why.as_str()))
    }

    /// The files by path.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.files.iter().map(|(path, content)| (path.as_str(), content.as_slice()))
    }

    /// The content of a file.
    pub fn get(&self, path: &str) -> Option<&[u8]> {
        self.files.get(path).map(Vec::as_slice)
    }

    /// The name of exactly these files: SHA-256 over the sorted list of their paths and content hashes.
    ///
    /// Each file adds its path, a zero byte, and the 32 bytes of its own SHA-256.
    pub fn id(&self) -> Digest {
        let mut sum = Sum::default();
        self.iter().for_each(|(path, content)| sum.add(path, content));
        // No path of a file begins with a zero byte.
        self.unreadable().for_each(|(path, why)| sum.add(&format!("\0{path}"), why.as_bytes()));
        sum.id()
    }
}

/// The sum of files that are added in the order of their paths.
///
/// Whoever reads the files anyway adds each as it is read: what was just hashed need not be fetched from memory again.
#[derive(Default)]
pub(crate) struct Sum(Vec<u8>);

impl Sum {
    pub(crate) fn add(&mut self, path: &str, content: &[u8]) {
        self.0.extend_from_slice(path.as_bytes());
        self.0.push(0);
        self.0.extend_from_slice(&sha2::Sha256::digest(content));
    }

    pub(crate) fn id(self) -> Digest {
        Digest::sha256(&self.0)
    }
}

impl<P: Into<String>, C: Into<Vec<u8>>> FromIterator<(P, C)> for Inputs {
    fn from_iter<I: IntoIterator<Item = (P, C)>>(files: I) -> Self {
        let files = files.into_iter().map(|(path, content)| (path.into(), content.into())).collect();
        Inputs { files, unreadable: BTreeMap::new() }
    }
}

/// What the file of a path is for.
pub(crate) fn role(path: &str) -> Role {
    match path {
        "version" => return Role::Version,
        "raw/metadata.json" => return Role::Raw,
        _ => {}
    }
    let Some((directory, name)) = path.split_once('/') else { return Role::Other };
    let role = match directory {
        "channels" => Role::Channel,
        "blocked-edges" => Role::Block,
        "risks" => Role::Declaration,
        "releases" => Role::Releases,
        _ => return Role::Other,
    };
    let extension = extension(name);
    let named = match role {
        Role::Releases => matches!(extension, "json" | "yaml" | "yml"),
        _ => is_yaml(extension),
    };
    if named && !name.contains('/') { role } else { Role::Misnamed }
}

/// What follows the last dot of a path.
pub(crate) fn extension(path: &str) -> &str {
    path.rsplit_once('.').map_or("", |(_, extension)| extension)
}

/// Cincinnati's own test is `ya+ml`; `yml` is ours.
fn is_yaml(extension: &str) -> bool {
    extension == "yml"
        || extension
            .strip_prefix('y')
            .and_then(|rest| rest.strip_suffix("ml"))
            .is_some_and(|middle| !middle.is_empty() && middle.bytes().all(|byte| byte == b'a'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_says_what_a_file_is_for() {
        for (path, want) in [
            ("version", Role::Version),
            ("raw/metadata.json", Role::Raw),
            ("raw/other.json", Role::Other),
            ("channels/stable-4.1.yaml", Role::Channel),
            ("channels/stable-4.1.yml", Role::Channel),
            ("channels/stable-4.1.yaaml", Role::Channel),
            ("channels/OWNERS", Role::Misnamed),
            ("channels/old/stable-4.1.yaml", Role::Misnamed),
            ("blocked-edges/4.1.0.yaml", Role::Block),
            ("blocked-edges/4.1.0.yaml.orig", Role::Misnamed),
            ("blocked-edges/4.1.0.json", Role::Misnamed),
            ("risks/Slow.yaml", Role::Declaration),
            ("releases/all.json", Role::Releases),
            ("releases/all.yaml", Role::Releases),
            ("internal-channels/stable.yaml", Role::Other),
            ("LICENSE", Role::Other),
        ] {
            assert_eq!(role(path), want, "{path}");
        }
    }

    #[test]
    fn the_id_is_of_paths_and_contents_and_not_of_their_order() {
        let one: Inputs = [("a", "1"), ("b", "2")].into_iter().collect();
        let two: Inputs = [("b", "2"), ("a", "1")].into_iter().collect();
        assert_eq!(one.id(), two.id());
        for other in [[("a", "1"), ("b", "3")], [("a", "1"), ("c", "2")], [("a", "2"), ("b", "1")]] {
            assert_ne!(one.id(), other.into_iter().collect::<Inputs>().id());
        }
        let mut unreadable = one.clone();
        unreadable.insert_unreadable("c", "permission denied");
        assert_ne!(unreadable.id(), one.id());
    }
}
