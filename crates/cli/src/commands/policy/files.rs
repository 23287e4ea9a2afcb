//! Files and directories of templates, constraints and objects.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, anyhow, bail};
use clearway_core::Limits;
use clearway_policy::{Constraint, Expander, PolicySet, Template, read_documents};
use clearway_sources::files::confined::read_regular_file;
use clearway_sources::files::{FilesError, Input, inputs};
use serde_json::Value;

use crate::output;

/// What is at some paths: files that were named, and those below directories, in the order of their names. What is below a
/// directory may be a stranger's, so links out of it, pipes and devices are refused.
fn list_inputs(paths: &[PathBuf]) -> Result<Vec<Input>> {
    let mut found = Vec::new();
    for input in paths.iter().flat_map(|path| inputs(path)) {
        match input {
            Ok(input) => found.push(input),
            Err(FilesError::Empty { .. }) => {}
            Err(error) => return Err(unread(&error)),
        }
    }
    Ok(found)
}

fn unread(error: &FilesError) -> anyhow::Error {
    let path = error.path().display();
    match error {
        FilesError::Io { error, .. } => anyhow!("cannot read {path}: {error}"),
        FilesError::Refused { why, .. } => anyhow!("cannot read {path}: {why}"),
        FilesError::Empty { .. } | FilesError::TooDeep { .. } => anyhow!("{path}: {error}"),
    }
}

/// The files below a directory, in the order of their names.
pub(super) fn list_below(directory: &Path) -> Result<Vec<PathBuf>> {
    Ok(list_inputs(&[directory.to_owned()])?.iter().map(|input| PathBuf::from(input.name())).collect())
}

/// The text of a file that a suite names, or that was found, within limits.
pub(super) fn read_text(file: &Path) -> Result<String> {
    let bytes = read_regular_file(file, Limits::default().file_bytes);
    let bytes = bytes.with_context(|| format!("cannot read {}", file.display()))?;
    String::from_utf8(bytes).map_err(|_| anyhow!("{} is not UTF-8", file.display()))
}

/// The objects of files, each with its file. Items of lists are objects of their own.
pub(super) fn read_objects(paths: &[PathBuf]) -> Result<Vec<(String, Value)>> {
    let limit = Limits::default().file_bytes;
    let mut objects = Vec::new();
    for input in list_inputs(paths)? {
        let name = input.name();
        let mut text = String::new();
        let read = input.open().map_err(|error| unread(&error))?.take(limit + 1).read_to_string(&mut text);
        if read.with_context(|| format!("cannot read {name}"))? as u64 > limit {
            bail!("{name} is larger than {limit} bytes");
        }
        let documents = read_documents(&text, &name, &Limits::default()).map_err(|error| anyhow!("{name}: {error}"))?;
        objects.extend(documents.into_iter().map(|object| (name.clone(), object)));
    }
    Ok(objects)
}

/// The templates and constraints among objects; warnings are printed.
pub(super) fn load(objects: &[(String, Value)], refuse_unknown_actions: bool) -> Result<PolicySet> {
    let mut policies = PolicySet::new().refusing_unknown_actions(refuse_unknown_actions);
    let name = |object: &Value| object.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default().to_owned();
    for (file, object) in objects.iter().filter(|(_, object)| Template::is_template(object)) {
        super::worker::watched(file, || policies.add_template(object))
            .map_err(|error| anyhow!("{file}: adding template {:?}: {error}", name(object)))?;
    }
    for (file, object) in objects.iter().filter(|(_, object)| Constraint::is_constraint(object)) {
        let warning = policies
            .add_constraint(object)
            .map_err(|error| anyhow!("{file}: adding constraint {:?}: {error}", name(object)))?;
        if let Some(warning) = warning {
            output::print_problem!(
                "warning: {file}: constraint {:?}: {warning}; it is not enforced in a cluster",
                name(object)
            );
        }
    }
    Ok(policies)
}

/// The expansion templates among objects.
pub(super) fn expander(objects: &[(String, Value)]) -> Result<Expander> {
    let templates = objects.iter().map(|(_, object)| object).filter(|object| Expander::is_template(object));
    Ok(Expander::read(templates)?)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn links_out_of_a_directory_and_pipes_are_refused() {
        let place = tempfile::tempdir().unwrap();
        let directory = place.path().join("policies");
        std::fs::create_dir(&directory).unwrap();
        std::fs::write(place.path().join("outside.yaml"), "kind: Outside\n").unwrap();
        std::fs::write(directory.join("a.yaml"), "kind: Inside\n").unwrap();
        let read = || read_objects(std::slice::from_ref(&directory)).map_err(|error| format!("{error:#}"));
        let kinds = |objects: Vec<(String, Value)>| -> Vec<Value> {
            objects.into_iter().map(|(_, object)| object["kind"].clone()).collect()
        };
        assert_eq!(read().map(kinds).unwrap(), ["Inside"]);
        let odd = directory.join("b.yaml");
        symlink("a.yaml", &odd).unwrap();
        assert_eq!(read().map(kinds).unwrap(), ["Inside", "Inside"]);
        for target in ["../outside.yaml", "/dev/zero"] {
            std::fs::remove_file(&odd).unwrap();
            symlink(target, &odd).unwrap();
            let why = read().unwrap_err();
            assert!(why.contains("b.yaml") && !why.contains("Outside"), "{target}: {why}");
        }
        std::fs::remove_file(&odd).unwrap();
        let pipe = (rustix::fs::FileType::Fifo, rustix::fs::Mode::RUSR);
        rustix::fs::mknodat(rustix::fs::CWD, &odd, pipe.0, pipe.1, 0).unwrap();
        assert!(read().unwrap_err().contains("named pipe"), "{:?}", read());
        assert!(read_text(&odd).is_err(), "a suite that names it does not wait either");
    }
}
