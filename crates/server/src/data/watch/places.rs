//! Where in a directory of graph-data something can change that is read.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::path::{Component, Path, PathBuf};

use clearway_sources::graph_data::DIRECTORIES;

/// Directories that are watched. What is in further ones is seen when all of it is looked at.
const MOST_PLACES: usize = 1000;
/// Names that are looked at in all of them.
const MOST_NAMES: usize = 20_000;
/// Links on the way to one place; Linux follows as many.
const LINKS: usize = 40;

/// The directories below a root, which is free of links, that hold what is read: files, and links on the way to them.
pub(super) fn below(root: &Path) -> BTreeSet<PathBuf> {
    let mut places = Places { root, found: BTreeSet::new(), names_left: MOST_NAMES };
    places.resolve(Path::new("version"));
    for (directory, levels) in DIRECTORIES {
        places.add_directory(Path::new(directory), levels);
    }
    places.found
}

struct Places<'r> {
    root: &'r Path,
    found: BTreeSet<PathBuf>,
    names_left: usize,
}

impl Places<'_> {
    /// Adds what can change in a directory, whose files are so many levels below. Paths are relative to the root.
    fn add_directory(&mut self, path: &Path, levels: usize) {
        let Some(place) = self.resolve(path).filter(|place| place.is_dir()) else { return };
        let Ok(inside) = place.strip_prefix(self.root).map(Path::to_owned) else { return };
        self.add(&place);
        for entry in fs::read_dir(&place).into_iter().flatten().flatten() {
            let Some(left) = self.names_left.checked_sub(1).filter(|_| self.found.len() < MOST_PLACES) else { return };
            self.names_left = left;
            let Ok(kind) = entry.file_type() else { continue };
            let path = inside.join(entry.file_name());
            if levels > 1 && !kind.is_file() {
                self.add_directory(&path, levels - 1);
            } else if kind.is_symlink() {
                // The file that it leads to may be written in place.
                let target = self.resolve(&path);
                target.as_deref().and_then(Path::parent).into_iter().for_each(|parent| self.add(parent));
            }
        }
    }

    /// Where a path leads inside the root; the directories of links on the way are added.
    ///
    /// The system is not asked to follow a link: it could lead to a place that never answers.
    fn resolve(&mut self, path: &Path) -> Option<PathBuf> {
        let mut here = self.root.to_owned();
        let mut ahead = names(path);
        let mut links = 0;
        while let Some(name) = ahead.pop() {
            if name == ".." {
                if here == self.root {
                    return None;
                }
                here.pop();
                continue;
            }
            let next = here.join(&name);
            if !fs::symlink_metadata(&next).ok()?.is_symlink() {
                here = next;
                continue;
            }
            self.add(&here);
            links += 1;
            let mut target = fs::read_link(&next).ok().filter(|_| links <= LINKS)?;
            if target.is_absolute() {
                target = target.strip_prefix(self.root).ok()?.to_owned();
                self.root.clone_into(&mut here);
            }
            ahead.extend(names(&target));
        }
        Some(here)
    }

    fn add(&mut self, place: &Path) {
        if self.found.len() < MOST_PLACES && place.starts_with(self.root) {
            self.found.insert(place.to_owned());
        }
    }
}

/// The names of a path, the first one last.
fn names(path: &Path) -> Vec<OsString> {
    let name = |component: Component<'_>| match component {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some("..".into()),
        _ => None,
    };
    path.components().rev().filter_map(name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn relative(root: &Path) -> Vec<String> {
        let found = below(root);
        found.iter().map(|place| place.strip_prefix(root).unwrap().display().to_string()).collect()
    }

    /// Whatever is read is watched: a change of a file is seen in the directory that holds it.
    #[test]
    fn every_directory_whose_files_are_read_is_watched() {
        let root = tempfile::tempdir().unwrap();
        let holding = |(directory, levels): (&str, usize)| {
            let below = ["sha256", "digest"].into_iter().take(levels - 1);
            below.fold(PathBuf::from(directory), |path, name| path.join(name))
        };
        for directory in DIRECTORIES.map(holding) {
            fs::create_dir_all(root.path().join(&directory)).unwrap();
            fs::write(root.path().join(&directory).join("a.yaml"), "").unwrap();
        }
        fs::write(root.path().join("version"), "1.0.0\n").unwrap();
        let read = clearway_sources::graph_data::directory(root.path(), &clearway_core::Limits::default()).unwrap();
        let found = below(root.path());
        let mut files = 0;
        for (file, _) in read.iter().filter(|(path, _)| *path != "version") {
            assert!(found.contains(root.path().join(file).parent().unwrap()), "{file}");
            files += 1;
        }
        assert_eq!(files, DIRECTORIES.len());
    }

    #[test]
    fn many_directories_that_are_not_read_add_nothing() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join("channels")).unwrap();
        for number in 0..1200 {
            fs::create_dir_all(root.path().join(format!("docs/{number}"))).unwrap();
            fs::create_dir_all(root.path().join(format!("channels/{number}"))).unwrap();
        }
        assert_eq!(relative(root.path()), ["channels"]);
        // And those that are read are bounded.
        for number in 0..1200 {
            fs::create_dir_all(root.path().join(format!("signatures/sha256/{number}"))).unwrap();
        }
        assert_eq!(relative(root.path()).len(), MOST_PLACES);
    }

    #[test]
    fn links_are_followed_inside_the_root_only() {
        let place = tempfile::tempdir().unwrap();
        let (outside, root) = (place.path().join("outside"), place.path().join("root"));
        for directory in ["..1/channels", "shared/deep", "risks", "releases"] {
            fs::create_dir_all(root.join(directory)).unwrap();
        }
        fs::create_dir(&outside).unwrap();
        fs::write(root.join("shared/deep/a.yaml"), "").unwrap();
        for (link, target) in [
            // As the kubelet mounts a volume.
            ("..data", "..1"),
            ("channels", "..data/channels"),
            // To a file elsewhere, by way of another link.
            ("risks/a.yaml", "../shared/current/a.yaml"),
            ("shared/current", "deep"),
            ("releases/out.yaml", "../../outside/a.yaml"),
            ("releases/circle.yaml", "circle.yaml"),
            ("raw", "/"),
            ("blocked-edges", outside.to_str().unwrap()),
            ("signatures", root.join("shared").to_str().unwrap()),
        ] {
            symlink(target, root.join(link)).unwrap();
        }
        assert_eq!(
            relative(&root),
            ["", "..1/channels", "releases", "risks", "shared", "shared/deep"].map(str::to_owned),
        );
    }
}
