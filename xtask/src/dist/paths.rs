//! Paths of this machine, which must not get into a release: where the source, the crates, the compiler and the results are.

use std::path::PathBuf;

use anyhow::{Context as _, Result};

use super::packages::Packages;

/// Directories of this machine, each with what a release says instead; the longest first, because the first match counts.
pub(crate) struct MachinePaths(Vec<(PathBuf, &'static str)>);

impl MachinePaths {
    /// Asks cargo and the environment.
    pub(crate) fn read(packages: &Packages) -> Result<Self> {
        let home = std::env::var_os("HOME").map(PathBuf::from);
        let cargo_home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
        let cargo_home =
            cargo_home.or_else(|| Some(home.as_ref()?.join(".cargo"))).context("neither CARGO_HOME nor HOME is set")?;
        let sysroot = PathBuf::from(super::text("rustc", &["--print", "sysroot"])?);
        let mut paths = vec![
            (packages.root.clone(), "/clearway"),
            (packages.target_directory.clone(), "/target"),
            (cargo_home, "/cargo"),
            (sysroot, "/rust"),
        ];
        paths.extend(home.map(|home| (home, "/home")));
        Ok(MachinePaths::new(paths))
    }

    fn new(mut paths: Vec<(PathBuf, &'static str)>) -> Self {
        paths.sort_by_key(|(path, _)| std::cmp::Reverse(path.as_os_str().len()));
        MachinePaths(paths)
    }

    /// Flags for rustc, as `CARGO_ENCODED_RUSTFLAGS` has them.
    pub(crate) fn rust_flags(&self) -> String {
        let mut flags = vec!["-Ctarget-feature=+crt-static".to_owned()];
        // The last match counts for rustc.
        flags
            .extend(self.0.iter().rev().map(|(path, other)| format!("--remap-path-prefix={}={other}", path.display())));
        flags.join("\u{1f}")
    }

    /// Flags for the C compiler. They are separated by spaces, so that a path with a space cannot be among them; C sources are
    /// below the directories of cargo.
    pub(crate) fn c_flags(&self) -> String {
        let flag = |(path, other): &(PathBuf, &str)| format!("-ffile-prefix-map={}={other}", path.display());
        // The last match counts for the C compiler as well.
        let has_no_space = |(path, _): &&(PathBuf, &str)| !path.to_string_lossy().contains(' ');
        self.0.iter().rev().filter(has_no_space).map(flag).collect::<Vec<_>>().join(" ")
    }

    /// The paths that occur in a file.
    pub(crate) fn found_in(&self, bytes: &[u8]) -> Vec<String> {
        let paths = self.0.iter().map(|(path, _)| path.display().to_string());
        // The root directory, or a home directory of that name, occurs everywhere and says nothing.
        paths
            .filter(|path| path.trim_end_matches('/').matches('/').count() > 1 && contains(bytes, path.as_bytes()))
            .collect()
    }
}

fn contains(bytes: &[u8], text: &[u8]) -> bool {
    bytes.windows(text.len()).any(|window| window == text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths() -> MachinePaths {
        let all = [
            ("/home/me", "/home"),
            ("/home/me/work/clearway", "/clearway"),
            ("/home/me/.cargo", "/cargo"),
            ("/root", "/home"),
        ];
        MachinePaths::new(all.map(|(path, other)| (PathBuf::from(path), other)).to_vec())
    }

    #[test]
    fn the_longest_path_counts_because_it_is_last() {
        let flags = paths().rust_flags();
        let last = flags.split('\u{1f}').next_back().unwrap();
        assert_eq!(last, "--remap-path-prefix=/home/me/work/clearway=/clearway");
        assert!(flags.starts_with("-Ctarget-feature=+crt-static\u{1f}"), "{flags}");
    }

    #[test]
    fn a_path_of_the_machine_is_found_in_a_binary() {
        let binary = b"\x00panicked at /home/me/.cargo/registry/src/x.rs /root/a";
        assert_eq!(paths().found_in(binary), ["/home/me/.cargo", "/home/me"]);
        assert_eq!(paths().found_in(b"/cargo/registry/src/x.rs"), [""; 0]);
    }
}
