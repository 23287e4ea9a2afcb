//! Wrong usages of every command family, as data: what a person types by mistake, what is answered, and the exit code.
//!
//! Each message says what is wrong, where, and what to do; each exit code is the documented one. The cases are in
//! `wrong_usage/*.yaml`, one list per family.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use serde::Deserialize;

use crate::{Answer, Place};

/// The number of cases below which a family was lost.
const AT_LEAST: usize = 60;

/// One wrong usage.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    /// The arguments, as they are typed: words separated by spaces, with quotes around words that have spaces.
    run: String,
    /// Standard input, if it is not empty.
    #[serde(default)]
    stdin: String,
    /// Files in the directory that the command runs in. A name that ends with a slash is an empty directory.
    #[serde(default)]
    files: std::collections::BTreeMap<String, String>,
    /// The beginning of standard error, or parts of it in their order with `…` between them.
    says: String,
    /// The exit code.
    exit: i32,
}

/// The words of a line.
fn words(line: &str) -> Vec<String> {
    let (mut words, mut word, mut quoted, mut any) = (Vec::new(), String::new(), false, false);
    for letter in line.chars() {
        match letter {
            '\'' => (quoted, any) = (!quoted, true),
            ' ' if !quoted => {
                if any || !word.is_empty() {
                    words.push(std::mem::take(&mut word));
                }
                any = false;
            }
            other => word.push(other),
        }
    }
    if any || !word.is_empty() {
        words.push(word);
    }
    words
}

/// A directory with graph-data that is fine, beside the files of the case.
fn place(case: &Case) -> Place {
    let place = Place::new();
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    std::os::unix::fs::symlink(examples, place.path().join("examples")).unwrap();
    for (name, content) in &case.files {
        if name.ends_with('/') {
            fs::create_dir_all(place.path().join(name)).unwrap();
        } else {
            place.write(name, content);
        }
    }
    place
}

fn says(answer: &Answer, wanted: &str) -> bool {
    let mut rest = answer.err.as_str();
    for (number, part) in wanted.trim_end().split('…').enumerate() {
        let found = if number == 0 { rest.strip_prefix(part) } else { rest.split_once(part).map(|(_, after)| after) };
        match found {
            Some(after) => rest = after,
            None => return false,
        }
    }
    true
}

#[test]
fn every_wrong_usage_is_answered_with_what_to_do() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/offline/wrong_usage");
    let mut files: Vec<_> = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let (mut count, mut wrong) = (0, Vec::new());
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        let cases: Vec<Case> =
            serde_saphyr::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        for case in cases {
            count += 1;
            let place = place(&case);
            let words = words(&case.run);
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            let answer = place.run_with(&case.stdin, &words);
            if answer.code != case.exit || !says(&answer, &case.says) {
                wrong.push(format!(
                    "clearway {}\n  wanted {} {:?}\n  got    {} {:?}",
                    case.run, case.exit, case.says, answer.code, answer.err
                ));
            }
        }
    }
    assert!(count >= AT_LEAST, "only {count} cases");
    assert!(wrong.is_empty(), "{} of {count}:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn a_directory_without_permission_is_named() {
    let place = Place::new();
    let locked = place.path().join("locked");
    fs::create_dir(&locked).unwrap();
    fs::set_permissions(&locked, fs::Permissions::from_mode(0o000)).unwrap();
    // Whoever may read everything anyway, such as root, cannot see this.
    if fs::read_dir(&locked).is_err() {
        for line in
            ["status lint -f locked", "graph lint --graph locked", "policy lint -f locked", "bundle show locked"]
        {
            let answer = place.run(&line.split(' ').collect::<Vec<_>>());
            assert_eq!(answer.code, 3, "{line}: {answer:?}");
            let told = format!("{}{}", answer.out, answer.err);
            assert!(told.contains("locked") && told.contains("ermission denied"), "{line}: {answer:?}");
        }
    }
    fs::set_permissions(&locked, fs::Permissions::from_mode(0o700)).unwrap();
}
