//! Metrics in files: the `*.prom` files of a directory, as the metrics feed of a state directory has them.

use std::path::{Path, PathBuf};

use clearway_core::Timestamp;
use clearway_promql::read::{self, ReadLimits};
use clearway_promql::{Millis, Series};

use crate::files::confined::ConfinedDirectory;

/// Bytes of all files together.
pub(crate) const BYTES: u64 = 64 << 20;

/// The series of all files `*.prom` of a directory; samples without a time are of `now`. An error is one sentence, and
/// quotes no line of a file.
pub fn series(directory: &Path, now: Timestamp) -> Result<Series, String> {
    let failed = |path: &Path, error: &dyn std::fmt::Display| {
        format!("The metrics feed {} cannot be read: {error}.", path.display())
    };
    let mut root = ConfinedDirectory::open(directory).map_err(|error| failed(directory, &error))?;
    let listed = root.list_names(Path::new("")).map_err(|error| failed(directory, &error))?;
    let mut names: Vec<PathBuf> = listed.into_iter().flatten().map(PathBuf::from).collect();
    names.retain(|path| path.extension().is_some_and(|extension| extension == "prom"));
    if names.is_empty() {
        return Err(failed(directory, &"it has no *.prom file"));
    }
    let mut text = Vec::new();
    for name in &names {
        let left = BYTES.saturating_sub(text.len() as u64);
        let content = root.read_file(Path::new(""), name, left);
        text.extend(content.map_err(|error| failed(&directory.join(name), &error))?);
        text.push(b'\n');
    }
    let time = Millis(now.as_seconds().saturating_mul(1_000));
    // What is wrong with a line would quote it.
    read::text(&text, time, &ReadLimits::default())
        .map_err(|_| failed(directory, &"a line is not valid exposition text"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::process::Command;

    #[test]
    fn the_feed_is_its_files_and_what_is_no_file_is_named() {
        let now = Timestamp::from_seconds(1_700_000_000).unwrap();
        let root = tempfile::tempdir().unwrap();
        let why = |root: &Path| series(root, now).unwrap_err();
        assert!(why(root.path()).contains("no *.prom file"));
        fs::write(root.path().join("a.prom"), "up 1\n").unwrap();
        fs::write(root.path().join("notes"), "x").unwrap();
        assert!(series(root.path(), now).is_ok());
        let odd = root.path().join("b.prom");
        assert!(Command::new("mkfifo").arg(&odd).status().unwrap().success());
        assert!(why(root.path()).contains("b.prom cannot be read: it is a named pipe"), "{}", why(root.path()));
        fs::remove_file(&odd).unwrap();
        std::os::unix::fs::symlink("/etc/passwd", &odd).unwrap();
        assert!(why(root.path()).contains("outside the directory"), "{}", why(root.path()));
    }
}
