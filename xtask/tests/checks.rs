//! The checks of the workspace itself, as tests: `cargo xtask purity` and `cargo xtask text`.

use std::process::Command;

fn run(check: &str) {
    let workspace = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
    let output = Command::new(env!("CARGO_BIN_EXE_xtask")).arg(check).current_dir(workspace).output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&text));
}

#[test]
fn crates_keep_to_the_map_and_pure_ones_have_no_effects() {
    run("purity");
}

#[test]
fn texts_use_plain_words_and_cite_what_is_defined() {
    run("text");
}
