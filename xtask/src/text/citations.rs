//! Which ids of requirements and conventions are cited and defined nowhere.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use anyhow::{Result, bail};

/// The page that defines them: the first cell of a row is the id.
const PAGE: &str = "docs/requirements.md";
/// An id: one of these prefixes, and a number of one or two digits.
const PREFIXES: [&str; 8] = ["GW", "KN", "A", "G", "K", "P", "U", "V"];

/// A sentence for each id that is cited in code or pages and not defined.
pub(super) fn undefined() -> Result<Vec<String>> {
    let page = std::fs::read_to_string(PAGE)?;
    let defined: BTreeSet<&str> =
        page.lines().filter_map(|line| line.strip_prefix("| ")?.split(" |").next()).map(str::trim).collect();
    let mut cited: BTreeMap<String, String> = BTreeMap::new();
    for file in files()? {
        for id in ids(&std::fs::read_to_string(&file)?) {
            cited.entry(id).or_insert_with(|| file.clone());
        }
    }
    let missing = cited.iter().filter(|(id, _)| !defined.contains(id.as_str()));
    Ok(missing.map(|(id, file)| format!("{file} cites {id}, which {PAGE} does not define")).collect())
}

/// What may cite an id: source with its tests, and pages.
fn files() -> Result<Vec<String>> {
    let output = Command::new("git").args(["ls-files", "--", "crates/*.rs", "tests/*.rs", "docs/*.md"]).output()?;
    if !output.status.success() {
        bail!("git ls-files failed: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    let listed = String::from_utf8(output.stdout)?;
    Ok(listed.lines().filter(|path| std::path::Path::new(path).exists()).map(str::to_owned).collect())
}

/// The ids in comments of a source file, or in a page: a word in brackets, or one of several there.
fn ids(text: &str) -> BTreeSet<String> {
    let comments = text.lines().filter_map(|line| {
        let line = line.trim_start();
        line.strip_prefix("//").or_else(|| line.strip_prefix('|'))
    });
    comments
        .flat_map(|line| line.split(|letter: char| !letter.is_ascii_alphanumeric()))
        .filter(|word| is_id(word))
        .map(str::to_owned)
        .collect()
}

fn is_id(word: &str) -> bool {
    let digits = word.trim_start_matches(|letter: char| letter.is_ascii_uppercase());
    let prefix = &word[..word.len() - digits.len()];
    PREFIXES.contains(&prefix)
        && (1..=2).contains(&digits.len())
        && !digits.starts_with('0')
        && digits.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_comments_are_found() {
        let text = "/// Falls through (U2, K4); GW22.\nlet U9 = \"U10\"; // no comment line\n//! U100 and U0 and X1\n";
        assert_eq!(ids(text).into_iter().collect::<Vec<_>>(), ["GW22", "K4", "U2"]);
    }
}
