//! Checks the words of the project: what people read uses plain words, and every cited requirement is defined.
//!
//! Three things are checked:
//! 1. no string of the product and no page contains a phrase of `xtask/phrases.txt`, which has a plainer one for each;
//! 2. no public type has a name of `xtask/type-names.txt`;
//! 3. every id of a requirement or convention that code or pages cite is defined in `docs/requirements.md`.
//!
//! Strings are those of the source outside tests, and the documentation of command-line arguments, which is their help.

mod citations;
mod strings;

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use strings::{Found, Text};

/// Phrases that must be decoded, each with what to write instead.
const PHRASES: &str = include_str!("../phrases.txt");
/// Names of types that do not say what the type is.
const TYPE_NAMES: &str = include_str!("../type-names.txt");

/// Runs the check on the workspace that `cargo` is called in; with `sample`, prints so many strings instead.
pub(crate) fn check(sample: Option<usize>) -> Result<()> {
    let files = files()?;
    let mut texts = Vec::new();
    let mut complaints = Vec::new();
    for file in &files {
        let content = std::fs::read_to_string(file).with_context(|| file.display().to_string())?;
        let found = if is_source(file) { strings::of_source(&content, is_arguments(file))? } else { pages(&content) };
        complaints.extend(found.public_types.iter().filter_map(|name| type_name(file, name)));
        texts.extend(found.texts.into_iter().map(|text| (file, text)));
    }
    if let Some(count) = sample {
        print_sample(&texts, count);
        return Ok(());
    }
    complaints.extend(texts.iter().filter_map(|(file, text)| phrase(file, text)));
    complaints.extend(citations::undefined()?);
    if complaints.is_empty() {
        println!("text: {} strings use plain words; every cited requirement is defined", texts.len());
        return Ok(());
    }
    for complaint in &complaints {
        eprintln!("text: {complaint}");
    }
    bail!(
        "{} texts need plainer words or a definition; xtask/src/text.rs says which texts are checked",
        complaints.len()
    )
}

/// The files that are checked: the source of the product, and its pages, those of the console included.
fn files() -> Result<Vec<PathBuf>> {
    let output = Command::new("git")
        .args([
            "ls-files",
            "--",
            "crates/*/src/*.rs",
            "*.md",
            "crates/console/templates/*.html",
            "crates/console/assets/*.js",
        ])
        .output()?;
    if !output.status.success() {
        bail!("git ls-files failed: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    let listed = String::from_utf8(output.stdout)?;
    let is_test = |path: &&str| path.ends_with("/tests.rs") || path.contains("/tests/") || path.contains("/testbed/");
    Ok(listed.lines().filter(|path| !is_test(path)).map(PathBuf::from).filter(|path| path.exists()).collect())
}

fn is_source(file: &Path) -> bool {
    file.extension().is_some_and(|extension| extension == "rs")
}

fn is_arguments(file: &Path) -> bool {
    file.starts_with("crates/cli/src/arguments") || file == Path::new("crates/cli/src/arguments.rs")
}

/// The lines of a page, apart from its blocks of code.
fn pages(content: &str) -> Found {
    let mut in_code = false;
    let mut texts = Vec::new();
    for (number, line) in content.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            in_code = !in_code;
        } else if !in_code {
            texts.push(Text { line: number + 1, text: line.to_owned() });
        }
    }
    Found { texts, public_types: Vec::new() }
}

/// The entries of a list: one to a line, `#` begins a comment.
fn entries(list: &'static str) -> impl Iterator<Item = &'static str> {
    list.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'))
}

fn phrase(file: &Path, text: &Text) -> Option<String> {
    let lower = text.text.to_lowercase();
    entries(PHRASES).find_map(|entry| {
        let (phrase, instead) = entry.split_once(" => ")?;
        contains_words(&lower, phrase).then(|| {
            let at = format!("{}:{}", file.display(), text.line);
            format!("{at}: `{phrase}` in {:?}; write, for example, `{instead}`", excerpt(&text.text))
        })
    })
}

/// Whether a text contains a phrase as whole words.
fn contains_words(text: &str, phrase: &str) -> bool {
    text.match_indices(phrase).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = text[at + phrase.len()..].chars().next();
        let joins = |letter: Option<char>| letter.is_some_and(|letter| letter.is_alphanumeric() || letter == '_');
        !joins(before) && !joins(after)
    })
}

fn type_name(file: &Path, name: &str) -> Option<String> {
    let listed = entries(TYPE_NAMES).any(|entry| entry == name);
    listed.then(|| format!("{}: the type `{name}` is named by a participle or mood; say what it is", file.display()))
}

fn excerpt(text: &str) -> String {
    let short: String = text.chars().take(100).collect();
    if short.len() < text.len() { format!("{short}…") } else { short }
}

/// Prints texts that look like sentences, chosen evenly over the whole project.
fn print_sample(texts: &[(&PathBuf, Text)], count: usize) {
    let sentences: Vec<&(&PathBuf, Text)> =
        texts.iter().filter(|(file, text)| is_source(file) && text.text.split_whitespace().count() >= 4).collect();
    let step = (sentences.len() / count.max(1)).max(1);
    for (file, text) in sentences.iter().step_by(step).take(count) {
        println!("{}:{}: {}", file.display(), text.line, text.text.replace('\n', " "));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phrases_are_found_as_whole_words() {
        assert!(contains_words("this is none of that", "is none"));
        assert!(!contains_words("this is nonesuch", "is none"));
        assert!(!contains_words("foretold", "told"));
    }

    #[test]
    fn every_phrase_has_an_alternative() {
        for entry in entries(PHRASES) {
            let (phrase, instead) = entry.split_once(" => ").unwrap_or_else(|| panic!("{entry}: no ` => `"));
            assert_eq!(phrase, phrase.to_lowercase(), "texts are compared in lower case");
            assert!(!instead.trim().is_empty(), "{entry}");
        }
    }

    #[test]
    fn code_blocks_of_pages_are_not_read() {
        let found = pages("a\n```\nb\n```\nc\n");
        let lines: Vec<usize> = found.texts.iter().map(|text| text.line).collect();
        assert_eq!(lines, [1, 5]);
    }
}
