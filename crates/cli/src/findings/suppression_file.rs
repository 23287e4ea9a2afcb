//! Files with accepted findings.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, anyhow};
use clearway_core::diagnostic::suppressions::{INVALID, Suppression, Suppressions};
use clearway_core::diagnostic::terminal;
use clearway_core::suggestion::did_you_mean;
use clearway_core::{Diagnostic, Limits, Severity, Timestamp};
use clearway_sources::files::confined::ConfinedDirectory;
use clearway_yaml::{Node, ReadEvent, Source, read};

/// The file of a linted directory.
const FILE_NAME: &str = ".clearway-lint.yaml";

/// The most bytes of such a file.
const MAX_BYTES: u64 = 1 << 20;
/// The most suppressions in one file: each is compared with every finding of its code.
const MAX_ENTRIES: usize = 1_000;

/// The fields of a suppression.
const FIELDS: [&str; 6] = ["code", "file", "object", "path", "reason", "expires"];

/// The suppressions of the named file, or of the linted directories, if they have any. `known` are the codes that exist.
pub(crate) fn load(named: Option<&Path>, directories: &[PathBuf], known: &[&str]) -> Result<Suppressions> {
    let read: Vec<(PathBuf, io::Result<Vec<u8>>)> = match named {
        Some(file) => vec![(file.to_owned(), read_named(file))],
        None => directories.iter().map(|directory| (directory.join(FILE_NAME), read_inside(directory))).collect(),
    };
    let mut all = Vec::new();
    for (file, content) in read {
        let name = file.display().to_string();
        let content = match content {
            // Only a file that was named has to exist.
            Err(error) if named.is_none() && error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) if named.is_none() && error.kind() == io::ErrorKind::NotADirectory => continue,
            content => content.with_context(|| format!("cannot read the suppressions in {name}"))?,
        };
        let text = String::from_utf8(content).with_context(|| format!("the suppressions in {name} are not UTF-8"))?;
        all.extend(parse(&text, &name, known).map_err(|problems| {
            let shown: Vec<String> = problems.iter().map(|problem| terminal::render(problem, false)).collect();
            anyhow!("invalid suppressions in {name}\n\n{}", shown.join("\n\n"))
        })?);
    }
    Ok(Suppressions::new(all))
}

/// A file that the user named: it may be a pipe.
fn read_named(file: &Path) -> io::Result<Vec<u8>> {
    let mut content = Vec::new();
    File::open(file)?.take(MAX_BYTES + 1).read_to_end(&mut content)?;
    if content.len() as u64 > MAX_BYTES {
        return Err(io::Error::other(format!("it has more than {MAX_BYTES} bytes")));
    }
    Ok(content)
}

/// The file of a directory. Whoever wrote the directory may have put a link or a pipe there, so only a file inside is read.
fn read_inside(directory: &Path) -> io::Result<Vec<u8>> {
    ConfinedDirectory::open(directory)?.read_file(Path::new(""), Path::new(FILE_NAME), MAX_BYTES)
}

/// Reads a file of suppressions; every mistake in it is reported.
fn parse(text: &str, file: &str, known: &[&str]) -> Result<Vec<Suppression>, Vec<Diagnostic>> {
    let (mut entries, mut problems) = (Vec::new(), Vec::new());
    read(text.as_bytes(), file, &Limits::default(), |found| match found {
        ReadEvent::Object { root, source, .. } => {
            let Some(list) = root.get("suppressions").filter(|list| list.is_sequence()) else {
                problems.push(*refuse(root, source, "the file has no list `suppressions`".to_owned()));
                return;
            };
            if list.items().nth(MAX_ENTRIES).is_some() {
                problems.push(*refuse(list, source, format!("the file has more than {MAX_ENTRIES} suppressions")));
                return;
            }
            for node in list.items() {
                match entry(node, source, known) {
                    Ok(entry) => entries.push(entry),
                    Err(problem) => problems.push(*problem),
                }
            }
        }
        ReadEvent::Problem(problem) => problems.push(problem),
    });
    if problems.is_empty() { Ok(entries) } else { Err(problems) }
}

fn refuse(node: Node<'_>, source: Source<'_>, message: String) -> Box<Diagnostic> {
    Box::new(
        Diagnostic::new(INVALID, Severity::Error, message)
            .at(source.place(node))
            .with_excerpt(source.excerpt(node))
            .with_help("a suppression has code, reason and expires, and may have file, object and path"),
    )
}

fn entry(node: Node<'_>, source: Source<'_>, known: &[&str]) -> Result<Suppression, Box<Diagnostic>> {
    let refuse = |node: Node<'_>, message: String| refuse(node, source, message);
    if !node.is_mapping() {
        return Err(refuse(node, format!("a suppression is an object, not {}", node.describe())));
    }
    if let Some((key, _)) = node.fields().find(|(key, _)| !FIELDS.contains(&key.raw())) {
        let hint = did_you_mean(key.raw(), FIELDS);
        return Err(refuse(key, format!("a suppression has no field `{}`{hint}", key.raw())));
    }
    // An unquoted `expires: 2027` is text here, whatever YAML takes it for.
    let text = |key: &str| node.get(key).filter(|node| !node.is_null() && !node.raw().trim().is_empty());
    let code_node = text("code").ok_or_else(|| refuse(node, "a suppression without a code".to_owned()))?;
    let code = code_node.raw().to_ascii_uppercase();
    if !known.contains(&code.as_str()) {
        let hint = did_you_mean(&code, known.iter().copied());
        return Err(refuse(code_node, format!("`{}` is not a code of this linter{hint}", code_node.raw())));
    }
    let expires_node = text("expires")
        .ok_or_else(|| refuse(node, format!("the suppression of {code} has no end: `expires` is missing")))?;
    let expires = end(expires_node.raw()).ok_or_else(|| {
        let raw = expires_node.raw();
        refuse(expires_node, format!("`{raw}` is neither a day such as 2027-06-30 nor an RFC 3339 time"))
    })?;
    let reason = text("reason").ok_or_else(|| refuse(node, format!("the suppression of {code} has no reason")))?;
    let pattern = |key: &str| text(key).map(|node| node.raw().into());
    Ok(Suppression {
        code,
        file: pattern("file"),
        object: pattern("object"),
        path: pattern("path"),
        reason: reason.raw().to_owned(),
        expires,
        place: source.place(node),
    })
}

/// A day counts to its last second.
fn end(text: &str) -> Option<Timestamp> {
    text.parse().ok().or_else(|| if text.len() == 10 { format!("{text}T23:59:59Z").parse().ok() } else { None })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(entry: &str) -> Result<Vec<Suppression>, Vec<Diagnostic>> {
        parse(&format!("suppressions:\n- {entry}\n"), "s.yaml", &["SC002", "SC020"])
    }

    #[test]
    fn a_day_counts_to_its_end() {
        let all = parsed("{code: sc002, file: 'a*', reason: r, expires: 2027-06-30}").unwrap();
        assert_eq!(all[0].expires, "2027-06-30T23:59:59Z".parse().unwrap());
        assert_eq!((all[0].code.as_str(), all[0].file.as_ref()), ("SC002", Some(&"a*".into())));
    }

    #[test]
    fn what_has_no_end_no_reason_or_no_code_is_refused_with_its_place() {
        for (text, want) in [
            ("{code: SC020, reason: r}", "the suppression of SC020 has no end: `expires` is missing"),
            ("{code: SC020, expires: 2026-02-01}", "the suppression of SC020 has no reason"),
            ("{code: SC020, expires: 2026-02-01, reason: ' '}", "the suppression of SC020 has no reason"),
            ("{expires: 2026-02-01, reason: r}", "a suppression without a code"),
            (
                "{code: SC022, expires: 2026-02-01, reason: r}",
                "`SC022` is not a code of this linter; did you mean SC002?",
            ),
            (
                "{code: SC020, expires: soon, reason: r}",
                "`soon` is neither a day such as 2027-06-30 nor an RFC 3339 time",
            ),
            (
                "{code: SC020, expires: 2026-02-01, raeson: r}",
                "a suppression has no field `raeson`; did you mean reason?",
            ),
            ("SC020", "a suppression is an object, not a string"),
        ] {
            let problems = parsed(text).unwrap_err();
            assert_eq!((problems.len(), problems[0].message.as_str()), (1, want));
            assert_eq!(problems[0].place.position.map(|position| position.line), Some(2), "{text}");
        }
        let problems = parse("- {code: SC020}\n", "s.yaml", &["SC020"]).unwrap_err();
        assert_eq!(problems[0].message, "the file has no list `suppressions`");
    }

    /// Whoever wrote a directory chooses what this file is.
    #[test]
    fn only_a_file_inside_of_the_directory_is_read() {
        let place = tempfile::tempdir().unwrap();
        let (linted, outside) = (place.path().join("linted"), place.path().join("outside"));
        std::fs::create_dir(&linted).unwrap();
        std::fs::write(&outside, "hunter2").unwrap();
        let file = linted.join(FILE_NAME);
        let loaded =
            || load(None, std::slice::from_ref(&linted), &["SC020"]).map(|_| ()).map_err(|why| format!("{why:#}"));
        assert_eq!(loaded(), Ok(()));
        for target in ["../outside", "/dev/zero", "/proc/self/environ", "missing"] {
            std::os::unix::fs::symlink(target, &file).unwrap();
            let why = loaded();
            assert!(
                target == "missing" || why.as_ref().is_err_and(|why| !why.contains("hunter2")),
                "{target}: {why:?}"
            );
            std::fs::remove_file(&file).unwrap();
        }
        let pipe = (rustix::fs::FileType::Fifo, rustix::fs::Mode::RUSR);
        rustix::fs::mknodat(rustix::fs::CWD, &file, pipe.0, pipe.1, 0).unwrap();
        assert!(loaded().unwrap_err().contains("named pipe"), "{:?}", loaded());
    }

    #[test]
    fn suppressions_without_number_are_refused() {
        let entry = "- {code: SC020, expires: 2026-02-01, reason: r}\n";
        let text = format!("suppressions:\n{}", entry.repeat(MAX_ENTRIES + 1));
        let problems = parse(&text, "s.yaml", &["SC020"]).unwrap_err();
        assert_eq!(problems[0].message, "the file has more than 1000 suppressions");
    }
}
