//! The compiler that builds the project is one exact version, the one that `Cargo.toml` promises to suffice.

use std::fs;
use std::path::Path;

/// The text behind `key = "` in a file of the project.
fn setting(file: &str, key: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(file);
    let text = fs::read_to_string(path).unwrap();
    let begin = format!("{key} = \"");
    let value = text.lines().find_map(|line| line.strip_prefix(&begin)).unwrap_or_else(|| panic!("{file}: {key}"));
    value.split('"').next().unwrap().to_owned()
}

#[test]
fn the_compiler_is_pinned_to_the_version_that_is_promised() {
    let (channel, promised) = (setting("rust-toolchain.toml", "channel"), setting("Cargo.toml", "rust-version"));
    let numbers: Vec<&str> = channel.split('.').collect();
    let is_number = |part: &&str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    assert!(numbers.len() == 3 && numbers.iter().all(is_number), "{channel} is not an exact version");
    assert!(channel == promised || channel.starts_with(&format!("{promised}.")), "{channel} is not {promised}");
}
