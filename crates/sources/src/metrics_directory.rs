//! Metrics in files: the `*.prom` files of a directory, as the metrics feed of a state directory has them.
//!
//! Half of a file is a valid file too, in which series are missing that a rule may ask for: a directory that changes while it is
//! read is read again.

use std::path::{Path, PathBuf};

use clearway_core::Timestamp;
use clearway_promql::read::{self, ReadLimits};
use clearway_promql::{Millis, Series};

use crate::files::confined::{ConfinedDirectory, DirectoryError, Pauses, READS, ReadHooks, read_settled};

/// Bytes of all files together.
pub(crate) const BYTES: u64 = 64 << 20;

/// The series of all files `*.prom` of a directory; samples without a time are of `now`. An error is one sentence, and
/// quotes no line of a file.
pub fn series(directory: &Path, now: Timestamp) -> Result<Series, String> {
    series_with(directory, now, &mut Pauses)
}

fn series_with(directory: &Path, now: Timestamp, hooks: &mut dyn ReadHooks) -> Result<Series, String> {
    let text = read_settled(directory, hooks, |root| text(directory, root)).map_err(|error| match error {
        DirectoryError::Open(error) => failed(directory, &error),
        DirectoryError::Changing => {
            failed(directory, &format!("it changed during each of {READS} reads; replace each file with one rename"))
        }
        DirectoryError::Read(why) => why,
    })?;
    let time = Millis(now.as_seconds().saturating_mul(1_000));
    // What is wrong with a line would quote it.
    read::text(&text, time, &ReadLimits::default())
        .map_err(|_| failed(directory, &"a line is not valid exposition text"))
}

fn failed(path: &Path, error: &dyn std::fmt::Display) -> String {
    format!("The metrics feed {} cannot be read: {error}.", path.display())
}

/// The text of all files.
fn text(directory: &Path, root: &mut ConfinedDirectory) -> Result<Vec<u8>, String> {
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
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::io::Write as _;
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

    /// Writes a file in so many parts, one after each reading.
    struct Writer<'f> {
        file: &'f Path,
        parts: usize,
        readings: usize,
    }

    impl ReadHooks for Writer<'_> {
        fn after_reading(&mut self, reading: usize) {
            self.readings += 1;
            if reading < self.parts {
                let mut file = fs::OpenOptions::new().append(true).open(self.file).unwrap();
                writeln!(file, "part{reading} 1").unwrap();
            }
        }

        fn before_next(&mut self, _: usize) {}
    }

    /// What was written of a file so far is a valid file, in which the series that a rule asks for may be missing.
    #[test]
    fn a_file_that_is_being_written_is_read_again() {
        let now = Timestamp::from_seconds(1_700_000_000).unwrap();
        let root = tempfile::tempdir().unwrap();
        let file = root.path().join("a.prom");
        for (parts, whole) in [(0, true), (1, true), (READS - 1, true), (READS, false)] {
            fs::write(&file, "up 1\n").unwrap();
            let mut writer = Writer { file: &file, parts, readings: 0 };
            let found = series_with(root.path(), now, &mut writer);
            assert_eq!(writer.readings, (parts + 1).min(READS));
            match found {
                Ok(series) => assert!(whole && series.len() == parts + 1, "{parts} parts"),
                Err(why) => {
                    assert!(!whole && why.contains("it changed during each of 5 reads"), "{parts} parts: {why}");
                }
            }
        }
    }
}
