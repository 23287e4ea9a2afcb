//! Records what `clearway version` shows of the build: the compiler, the target, and the revision of the source.
//!
//! The revision is that of `CLEARWAY_REVISION`, which `cargo xtask dist` sets, or what git says. Development builds have none:
//! every commit would build them again.

use std::env;
use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=CLEARWAY_REVISION");
    let variable = |name: &str| env::var(name).ok().filter(|value| !value.is_empty());
    let set = |name: &str, value: Option<String>| {
        println!("cargo::rustc-env={name}={}", value.unwrap_or_default());
    };
    set("CLEARWAY_TARGET", variable("TARGET"));
    set("CLEARWAY_COMPILER", variable("RUSTC").and_then(|rustc| output(&rustc, &["--version"])));
    let is_release = variable("PROFILE").is_some_and(|profile| profile == "release");
    let revision = variable("CLEARWAY_REVISION").or_else(|| is_release.then(git_revision).flatten());
    set("CLEARWAY_BUILT_REVISION", revision);
}

/// The commit that is checked out; nothing where the source is not in git.
fn git_revision() -> Option<String> {
    for name in ["HEAD", "logs/HEAD"] {
        // The log changes with every commit, checkout and rebase.
        let path = output("git", &["rev-parse", "--git-path", name])?;
        if Path::new(&path).exists() {
            println!("cargo::rerun-if-changed={path}");
        }
    }
    output("git", &["rev-parse", "HEAD"])
}

fn output(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8(output.stdout).ok()?.trim().to_owned())
}
