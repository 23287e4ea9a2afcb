//! `cargo xtask dist`: the release archive, the same bytes wherever it is built.
//!
//! The archive has the static binary, its manual pages and completions, the licences and a bill of materials; beside it are
//! the Helm chart and the checksums of both. What would differ between machines is taken away: paths of the machine
//! (`--remap-path-prefix`, `-ffile-prefix-map`), times (`SOURCE_DATE_EPOCH`), owners and the order of files.

mod archive;
mod licences;
mod packages;
mod paths;
mod sbom;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail, ensure};

use archive::Entry;
use packages::Packages;
use paths::MachinePaths;

/// The target of releases. It is linked statically with glibc: tests/image.rs runs such a binary in an image without any file
/// besides, and a target with musl would need another C compiler for ring, zstd and jemalloc.
const TARGET: &str = "x86_64-unknown-linux-gnu";
/// The profile of cargo that releases are built with.
const PROFILE: &str = "dist";
/// How large the binary may be.
const BINARY_BYTES: u64 = 40_000_000;
/// Shells, and the names that their completions have.
const COMPLETIONS: [(&str, &str); 5] = [
    ("bash", "clearway.bash"),
    ("elvish", "clearway.elv"),
    ("fish", "clearway.fish"),
    ("powershell", "clearway.ps1"),
    ("zsh", "_clearway"),
];
/// The names under which kubectl finds the binary.
const LINKS: [&str; 2] = ["kubectl-clearway", "kubectl_complete-clearway"];

/// Builds the release archive into a directory.
pub(crate) fn run(output: &Path, allow_dirty: bool) -> Result<()> {
    let source = Source::read(allow_dirty)?;
    let packages = Packages::of_binary(TARGET)?;
    let binary = build(&source, &packages)?;
    let bytes = fs::metadata(&binary)?.len();
    ensure!(bytes < BINARY_BYTES, "{} has {bytes} bytes; the limit is {BINARY_BYTES}", binary.display());
    fs::create_dir_all(output).with_context(|| format!("cannot create {}", output.display()))?;

    let version = &packages.version;
    let name = format!("clearway-{version}-x86_64-linux");
    let mut checksums = String::new();
    for (file, top, entries) in [
        (format!("{name}.tar.gz"), name.as_str(), release_entries(&binary, &packages, &source)?),
        (format!("clearway-chart-{version}.tgz"), "clearway", chart_entries()?),
    ] {
        let packed = archive::pack(top, entries, source.epoch)?;
        let path = output.join(&file);
        fs::write(&path, &packed).with_context(|| format!("cannot write {}", path.display()))?;
        checksums.extend([&archive::sha256(&packed), "  ", &file, "\n"]);
    }
    // In the form that `sha256sum --check` reads.
    fs::write(output.join("SHA256SUMS"), &checksums)?;
    print!("{checksums}");
    Ok(())
}

/// What is built.
struct Source {
    /// The commit.
    revision: String,
    /// The time of the commit, in seconds since 1970: the time of every file.
    epoch: u64,
}

impl Source {
    /// From the environment, for a source without git, or from git.
    fn read(allow_dirty: bool) -> Result<Self> {
        let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let named = variable("CLEARWAY_REVISION");
        if named.is_none() && !allow_dirty {
            let changes = text("git", &["status", "--porcelain"])?;
            ensure!(
                changes.is_empty(),
                "there are changes that no commit has; commit them, or pass --allow-dirty:\n{changes}"
            );
        }
        let revision = named.map_or_else(|| text("git", &["rev-parse", "HEAD"]), Ok)?;
        let epoch = variable("SOURCE_DATE_EPOCH").map_or_else(|| text("git", &["log", "-1", "--format=%ct"]), Ok)?;
        let epoch =
            epoch.parse().with_context(|| format!("SOURCE_DATE_EPOCH: `{epoch}` is not a number of seconds"))?;
        Ok(Source { revision, epoch })
    }
}

/// Builds the binary, and makes sure that no path of this machine is in it.
fn build(source: &Source, packages: &Packages) -> Result<PathBuf> {
    let paths = MachinePaths::read(packages)?;
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args([
        "build",
        "--locked",
        "--profile",
        PROFILE,
        "--package",
        "clearway",
        "--bin",
        "clearway",
        "--target",
        TARGET,
    ]);
    // Flags in the environment count instead of RUSTFLAGS, and can hold paths with spaces.
    command.env_remove("RUSTFLAGS").env("CARGO_ENCODED_RUSTFLAGS", paths.rust_flags());
    command.env("CFLAGS", paths.c_flags()).env("CXXFLAGS", paths.c_flags());
    command.env("SOURCE_DATE_EPOCH", source.epoch.to_string()).env("CLEARWAY_REVISION", &source.revision);
    command.env("CARGO_INCREMENTAL", "0");
    ensure!(command.status().context("cannot run cargo")?.success(), "cargo build failed");
    let binary = packages.target_directory.join(TARGET).join(PROFILE).join("clearway");
    let leaked = paths.found_in(&fs::read(&binary).with_context(|| format!("cannot read {}", binary.display()))?);
    if !leaked.is_empty() {
        bail!("{} contains paths of this machine: {}", binary.display(), leaked.join(", "));
    }
    Ok(binary)
}

fn release_entries(binary: &Path, packages: &Packages, source: &Source) -> Result<Vec<Entry>> {
    let mut entries = vec![
        Entry::program("clearway", fs::read(binary)?),
        Entry::file("LICENSE", fs::read(packages.root.join("LICENSE"))?),
        Entry::file("THIRD-PARTY-LICENSES.txt", licences::text(packages)?.into_bytes()),
        Entry::file("sbom.cdx.json", sbom::document(packages, source.epoch, &source.revision)?.into_bytes()),
    ];
    entries.extend(LINKS.map(|name| Entry::link(name, "clearway")));
    for (shell, name) in COMPLETIONS {
        entries.push(Entry::file(&format!("completions/{name}"), output_of(binary, &["completions", shell])?));
    }
    let pages = packages.target_directory.join(TARGET).join(PROFILE).join("man");
    if pages.exists() {
        fs::remove_dir_all(&pages)?;
    }
    output_of(binary, &["man", "--output-dir", &pages.to_string_lossy()])?;
    for entry in fs::read_dir(&pages)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        entries.push(Entry::file(&format!("man/man1/{name}"), fs::read(&path)?));
    }
    Ok(entries)
}

/// The files of the Helm chart.
fn chart_entries() -> Result<Vec<Entry>> {
    let chart = Path::new("deploy/helm/clearway");
    let mut entries = Vec::new();
    let mut directories = vec![chart.to_owned()];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(&directory).with_context(|| directory.display().to_string())? {
            let path = entry?.path();
            if path.is_dir() {
                directories.push(path);
            } else {
                let name = path.strip_prefix(chart)?.to_string_lossy().into_owned();
                entries.push(Entry::file(&name, fs::read(&path)?));
            }
        }
    }
    Ok(entries)
}

/// What a program prints; an error if it fails.
pub(crate) fn output_of(program: impl AsRef<std::ffi::OsStr>, arguments: &[&str]) -> Result<Vec<u8>> {
    let program = program.as_ref();
    let shown = program.to_string_lossy();
    let output = Command::new(program).args(arguments).output().with_context(|| format!("cannot run {shown}"))?;
    ensure!(
        output.status.success(),
        "{shown} {} failed: {}",
        arguments.join(" "),
        String::from_utf8_lossy(&output.stderr).trim()
    );
    Ok(output.stdout)
}

/// What a program prints, without the end of the line.
fn text(program: &str, arguments: &[&str]) -> Result<String> {
    Ok(String::from_utf8(output_of(program, arguments)?)?.trim().to_owned())
}
