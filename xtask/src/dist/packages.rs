//! The packages that a release is made of: exactly those that cargo compiles into the binary, with its features and target.
//!
//! `cargo metadata` lists what any member of the workspace might use; `cargo tree` says what the binary does use.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use super::output_of;

/// A package of the binary.
#[derive(Debug, Clone)]
pub(crate) struct Package {
    pub(crate) name: String,
    pub(crate) version: String,
    /// The licence as an SPDX expression; nothing if the package only has a file.
    pub(crate) licence: Option<String>,
    pub(crate) repository: Option<String>,
    /// The checksum of the package in the registry; nothing for a crate of this workspace.
    pub(crate) checksum: Option<String>,
    /// The directory of its source.
    pub(crate) directory: PathBuf,
    /// Names and versions of the packages that it uses.
    pub(crate) uses: BTreeSet<(String, String)>,
}

/// The packages of the binary, by name and version.
pub(crate) struct Packages {
    /// The version of the product.
    pub(crate) version: String,
    pub(crate) root: PathBuf,
    pub(crate) target_directory: PathBuf,
    pub(crate) all: BTreeMap<(String, String), Package>,
}

impl Packages {
    /// Asks cargo.
    pub(crate) fn of_binary(target: &str) -> Result<Self> {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let metadata = output_of(&cargo, &["metadata", "--format-version=1", "--locked", "--filter-platform", target])?;
        let metadata: Value = serde_json::from_slice(&metadata)?;
        let tree = ["tree", "--locked", "--package", "clearway", "--target", target, "--edges", "normal"];
        let tree = output_of(&cargo, &[&tree[..], &["--prefix", "none", "--format", "{p}"]].concat())?;
        let used = used(&String::from_utf8(tree)?);
        ensure!(!used.is_empty(), "cargo tree lists no package");
        let root = PathBuf::from(string(&metadata["workspace_root"])?);
        let lock = std::fs::read_to_string(root.join("Cargo.lock")).context("cannot read Cargo.lock")?;
        let all = packages(&metadata, &used, &checksums(&lock))?;
        let version = all.keys().find(|(name, _)| name == "clearway").map(|(_, version)| version.clone());
        Ok(Packages {
            version: version.context("cargo tree does not list clearway")?,
            root,
            target_directory: PathBuf::from(string(&metadata["target_directory"])?),
            all,
        })
    }
}

/// Name and version of each line of `cargo tree`, such as `serde v1.0.0 (*)`.
fn used(tree: &str) -> BTreeSet<(String, String)> {
    let package = |line: &str| {
        let mut words = line.split_whitespace();
        Some((words.next()?.to_owned(), words.next()?.strip_prefix('v')?.to_owned()))
    };
    tree.lines().filter_map(package).collect()
}

/// The checksums of a lock file, by name and version.
fn checksums(lock: &str) -> BTreeMap<(String, String), String> {
    let mut checksums = BTreeMap::new();
    for package in lock.split("[[package]]").skip(1) {
        let value = |key: &str| {
            let line = package.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(" = \""))?;
            Some(line.trim_end_matches('"').to_owned())
        };
        if let (Some(name), Some(version), Some(checksum)) = (value("name"), value("version"), value("checksum")) {
            checksums.insert((name, version), checksum);
        }
    }
    checksums
}

fn packages(
    metadata: &Value,
    used: &BTreeSet<(String, String)>,
    checksums: &BTreeMap<(String, String), String>,
) -> Result<BTreeMap<(String, String), Package>> {
    let mut keys = BTreeMap::new();
    let mut all = BTreeMap::new();
    for package in array(&metadata["packages"]) {
        let key = (string(&package["name"])?, string(&package["version"])?);
        if !used.contains(&key) {
            continue;
        }
        keys.insert(string(&package["id"])?, key.clone());
        let text = |field: &str| package[field].as_str().map(str::to_owned);
        let manifest = PathBuf::from(string(&package["manifest_path"])?);
        let package = Package {
            name: key.0.clone(),
            version: key.1.clone(),
            licence: text("license"),
            repository: text("repository"),
            checksum: checksums.get(&key).cloned(),
            directory: manifest.parent().context("a manifest without a directory")?.to_owned(),
            uses: BTreeSet::new(),
        };
        all.insert(key, package);
    }
    for node in array(&metadata["resolve"]["nodes"]) {
        let Some(package) = keys.get(node["id"].as_str().unwrap_or_default()).and_then(|key| all.get_mut(key)) else {
            continue;
        };
        for dependency in array(&node["deps"]) {
            let is_normal = array(&dependency["dep_kinds"]).iter().any(|kind| kind["kind"].is_null());
            let key = keys.get(dependency["pkg"].as_str().unwrap_or_default());
            package.uses.extend(key.filter(|_| is_normal).cloned());
        }
    }
    ensure!(all.len() == used.len(), "cargo tree and cargo metadata do not list the same packages");
    Ok(all)
}

fn array(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn string(value: &Value) -> Result<String> {
    value.as_str().map(str::to_owned).context("cargo metadata has another form than expected")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lines_of_cargo_tree_and_the_lock_file_are_read() {
        let pair = |name: &str, version: &str| (name.to_owned(), version.to_owned());
        let tree = "clearway v0.1.0 (/work/clearway/crates/cli)\nserde v1.0.2\nserde v1.0.2 (*)\nserde_derive v1.0.2 (proc-macro)\n\n";
        assert_eq!(
            used(tree).into_iter().collect::<Vec<_>>(),
            [pair("clearway", "0.1.0"), pair("serde", "1.0.2"), pair("serde_derive", "1.0.2")]
        );
        let lock = "version = 4\n\n[[package]]\nname = \"a\"\nversion = \"1.0.0\"\nchecksum = \"abc\"\n\n[[package]]\nname = \"b\"\nversion = \"1.0.0\"\n";
        assert_eq!(checksums(lock), BTreeMap::from([(pair("a", "1.0.0"), "abc".to_owned())]));
    }
}
