//! The directory of one run: data, certificates, logs. It goes when the run ends, however it ends.

use std::fs;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::error::{Error, Result};

/// Waits for the end of the test process, which closes its standard input, and removes the directory. Other processes
/// of the run may still be writing at that moment, hence the repetition.
const JANITOR: &str = r#"
read -r _
tries=0
while [ -e "$1" ] && [ "$tries" -lt 50 ]; do
    rm -rf -- "$1" || sleep 0.1
    tries=$((tries + 1))
done
"#;

/// A directory that is removed when the value is dropped, and also when this process is killed.
///
/// With the environment variable `CLEARWAY_TESTBED_KEEP` set, it stays for inspection.
#[derive(Debug)]
pub(crate) struct RunDir {
    path: PathBuf,
    janitor: Option<Child>,
}

impl RunDir {
    /// Makes a directory with a unique name that contains `what`.
    pub(crate) fn new(what: &str) -> Result<Self> {
        let path = tempfile::Builder::new()
            .prefix(&format!("clearway-{what}-"))
            .tempdir()
            .map_err(Error::io("making a temporary directory"))?
            .keep();
        let mut this = Self { path, janitor: None };
        if std::env::var_os("CLEARWAY_TESTBED_KEEP").is_none() {
            let janitor = Command::new("/bin/sh")
                .args(["-c", JANITOR, "clearway-testbed-janitor"])
                .arg(&this.path)
                .stdin(Stdio::piped())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                // Ctrl-C at the terminal is for the program, not for this helper.
                .process_group(0)
                .spawn();
            this.janitor = Some(janitor.map_err(Error::io("starting sh"))?);
        }
        Ok(this)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// A path inside.
    pub(crate) fn join(&self, name: impl AsRef<Path>) -> PathBuf {
        self.path.join(name)
    }

    /// Writes a file inside that only this user can read, and gives its path.
    pub(crate) fn write(&self, name: &str, text: &str) -> Result<PathBuf> {
        // The directory itself is closed to others: `tempfile` makes it so.
        let path = self.join(name);
        fs::write(&path, text).map_err(Error::io(format!("writing {}", path.display())))?;
        Ok(path)
    }
}

impl Drop for RunDir {
    fn drop(&mut self) {
        let Some(mut janitor) = self.janitor.take() else {
            eprintln!("test bed: kept {}", self.path.display());
            return;
        };
        // What fails here, the janitor does.
        let _ = fs::remove_dir_all(&self.path);
        drop(janitor.stdin.take());
        let _ = janitor.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_directory_goes_with_the_value() {
        let dir = RunDir::new("test").unwrap();
        let path = dir.path().to_owned();
        let file = dir.write("file", "text").unwrap();
        assert_eq!(fs::read_to_string(file).unwrap(), "text");
        drop(dir);
        assert!(!path.exists());
    }
}
