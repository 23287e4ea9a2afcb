//! The last graph-data that was good, on disk: after a restart it is served until the source gives something newer.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use clearway_core::{Limits, Timestamp};
use clearway_graph::Inputs;
use clearway_sources::files::confined::{open_regular_file, read_regular_file};
use clearway_sources::files::write_atomically;
use clearway_sources::graph_data;
use serde::{Deserialize, Serialize};

use crate::data::archive;

const FILES: &str = "graph-data.tar.gz";
const ABOUT: &str = "graph-data.json";
/// Bytes of that file: a digest and a number.
const ABOUT_BYTES: u64 = 4 << 10;

/// A directory that keeps the last good graph-data.
#[derive(Debug, Clone)]
pub struct LastGoodData {
    directory: PathBuf,
}

/// Files that are written, but do not take the place of the kept ones yet.
#[derive(Debug)]
pub(crate) struct StagedData {
    file: tempfile::NamedTempFile,
    revision: String,
}

#[derive(Debug, Serialize, Deserialize)]
struct About {
    revision: String,
    /// When the source was last seen to hold this revision, in seconds.
    confirmed: i64,
}

impl LastGoodData {
    /// Keeps graph-data in a directory, which is made if it is not there.
    pub fn open(directory: &Path) -> io::Result<Self> {
        fs::create_dir_all(directory)?;
        Ok(LastGoodData { directory: directory.to_owned() })
    }

    /// Keeps these files in place of those before.
    pub fn save(&self, inputs: &Inputs, confirmed: Timestamp) -> io::Result<()> {
        self.commit(self.stage(inputs)?, confirmed)
    }

    /// Writes files beside those that are kept. They take their place with [`LastGoodData::commit`], and are gone
    /// without it.
    pub(crate) fn stage(&self, inputs: &Inputs) -> io::Result<StagedData> {
        let files: BTreeMap<&str, &[u8]> = inputs.iter().collect();
        let mut file = tempfile::NamedTempFile::new_in(&self.directory)?;
        archive::write(&files, io::BufWriter::new(file.as_file_mut()))?;
        file.as_file().sync_all()?;
        Ok(StagedData { file, revision: inputs.id().to_string() })
    }

    /// Keeps what was staged in place of what was kept before.
    pub(crate) fn commit(&self, staged: StagedData, confirmed: Timestamp) -> io::Result<()> {
        staged.file.persist(self.directory.join(FILES)).map_err(|error| error.error)?;
        self.confirm(&staged.revision, confirmed)
    }

    /// Notes that the kept files were seen to be current.
    pub fn confirm(&self, revision: &str, confirmed: Timestamp) -> io::Result<()> {
        let about = About { revision: revision.to_owned(), confirmed: confirmed.as_seconds() };
        write_atomically(&self.directory.join(ABOUT), &serde_json::to_vec(&about)?)
    }

    /// The kept files and when they were last known to be current, which is not later than now; nothing if there are none,
    /// or not these.
    pub fn load(&self, limits: &Limits, now: Timestamp) -> Option<(Inputs, Timestamp)> {
        let archive = open_regular_file(&self.directory.join(FILES)).ok()?;
        let inputs = graph_data::archive(archive, limits).ok()?;
        let about = read_regular_file(&self.directory.join(ABOUT), ABOUT_BYTES).ok()?;
        let about: About = serde_json::from_slice(&about).ok()?;
        // A crash between the two files leaves a date that is not theirs; the files are good, and as old as can be.
        let theirs = about.revision == inputs.id().to_string();
        let confirmed = Timestamp::from_seconds(about.confirmed).ok().filter(|_| theirs);
        // A date to come would make old files look new for years.
        Some((inputs, confirmed.unwrap_or(Timestamp::EPOCH).min(now)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inputs_of_one() -> Inputs {
        [("version", "1.2.0\n"), ("channels/b.yaml", "name: b\nversions: []\n")].into_iter().collect()
    }

    fn load(kept: &LastGoodData) -> Option<(Inputs, Timestamp)> {
        kept.load(&Limits::default(), Timestamp::from_seconds(1_800_000_000).unwrap())
    }

    #[test]
    fn no_kept_files_are_newer_than_now() {
        let directory = tempfile::tempdir().unwrap();
        let kept = LastGoodData::open(directory.path()).unwrap();
        let at = |seconds| Timestamp::from_seconds(seconds).unwrap();
        for (said, read) in [(4_102_444_800, 1_800_000_000), (1_799_999_999, 1_799_999_999)] {
            kept.save(&inputs_of_one(), at(said)).unwrap();
            assert_eq!(load(&kept), Some((inputs_of_one(), at(read))));
        }
    }

    #[test]
    fn what_was_good_is_found_after_a_restart() {
        let directory = tempfile::tempdir().unwrap();
        let kept = LastGoodData::open(&directory.path().join("cache")).unwrap();
        assert!(load(&kept).is_none());
        let inputs: Inputs =
            [("version", "1.2.0\n"), ("channels/a.yaml", "name: a\nversions: []\n")].into_iter().collect();
        let at = Timestamp::from_seconds(1_700_000_000).unwrap();
        kept.save(&inputs, at).unwrap();
        assert_eq!(load(&kept), Some((inputs.clone(), at)));
        kept.confirm("sha256:of-something-else", at).unwrap();
        assert_eq!(load(&kept), Some((inputs, Timestamp::EPOCH)));
        let about = directory.path().join("cache").join(ABOUT);
        for odd in [FILES, ABOUT] {
            kept.save(&inputs_of_one(), at).unwrap();
            let path = directory.path().join("cache").join(odd);
            fs::remove_file(&path).unwrap();
            assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
            assert_eq!(load(&kept), None, "a pipe is not waited for");
            fs::remove_file(&path).unwrap();
        }
        kept.save(&inputs_of_one(), at).unwrap();
        fs::write(&about, " ".repeat(1 << 20)).unwrap();
        assert_eq!(load(&kept), None);
        fs::write(directory.path().join("cache").join(FILES), "rubbish").unwrap();
        assert_eq!(load(&kept), None);
    }
}
