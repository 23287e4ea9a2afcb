//! Files and directories of templates, constraints and objects.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, anyhow};
use clearway_core::Limits;
use clearway_policy::{Constraint, Expander, PolicySet, Template, read_documents};
use serde_json::Value;

use crate::findings::suppression_file;
use crate::output;

/// The files below some paths, in the order of their names.
pub(super) fn list(paths: &[PathBuf]) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for path in paths {
        if path.as_os_str() == "-" {
            files.push(path.clone());
            continue;
        }
        let metadata = fs::metadata(path).with_context(|| format!("cannot read {}", path.display()))?;
        if metadata.is_dir() {
            let before = files.len();
            list_below(path, &mut files)?;
            if let Some(found) = files.get_mut(before..) {
                found.sort();
            }
        } else {
            files.push(path.clone());
        }
    }
    Ok(files)
}

fn list_below(directory: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    let entries = fs::read_dir(directory).with_context(|| format!("cannot read {}", directory.display()))?;
    for entry in entries {
        let entry = entry?;
        let path = entry.path();
        // Links are not followed: they may lead in circles.
        let kind = entry.file_type()?;
        if kind.is_dir() {
            list_below(&path, files)?;
        } else if entry.file_name() == suppression_file::FILE_NAME {
            // It is about the other files.
        } else if path
            .extension()
            .is_some_and(|extension| ["yaml", "yml", "json"].iter().any(|known| extension == *known))
        {
            files.push(path);
        }
    }
    Ok(())
}

/// The text of a file, within limits.
pub(super) fn read_text(file: &Path) -> Result<String> {
    let bytes = crate::commands::promql::series::input(file)?;
    String::from_utf8(bytes).map_err(|_| anyhow!("{} is not UTF-8", file.display()))
}

/// The objects of files, each with its file. Items of lists are objects of their own.
pub(super) fn read_objects(paths: &[PathBuf]) -> Result<Vec<(String, Value)>> {
    let mut objects = Vec::new();
    for file in list(paths)? {
        let name = file.display().to_string();
        let text = read_text(&file)?;
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
