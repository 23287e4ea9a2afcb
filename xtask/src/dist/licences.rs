//! The licences of the packages in the binary, with their texts.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};

use super::packages::Packages;

/// How the names of such files begin.
const NAMES: [&str; 5] = ["COPYING", "COPYRIGHT", "LICENCE", "LICENSE", "UNLICENSE"];

/// A list of the packages, and each text once with the packages that have it.
pub(crate) fn text(packages: &Packages) -> Result<String> {
    let mut list = String::new();
    let mut texts: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for package in packages.all.values().filter(|package| package.checksum.is_some()) {
        let name = format!("{} {}", package.name, package.version);
        writeln!(list, "{name}: {}", package.licence.as_deref().unwrap_or("see its text"))?;
        for text in licence_files(&package.directory)? {
            texts.entry(text).or_default().push(name.clone());
        }
    }
    let mut result = format!("clearway contains these packages, under these licences:\n\n{list}");
    for (text, names) in texts {
        let line = "=".repeat(80);
        write!(result, "\n{line}\n{}\n{line}\n\n{}\n", names.join(", "), text.trim_end())?;
    }
    Ok(result)
}

/// The texts in the directory of a package, in the order of their names.
fn licence_files(directory: &Path) -> Result<Vec<String>> {
    let mut paths = Vec::new();
    for entry in fs::read_dir(directory).with_context(|| format!("cannot read {}", directory.display()))? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_uppercase();
        if path.is_file() && NAMES.iter().any(|begin| name.starts_with(begin)) {
            paths.push(path);
        }
    }
    paths.sort();
    paths.iter().map(|path| Ok(String::from_utf8_lossy(&fs::read(path)?).replace("\r\n", "\n"))).collect()
}
