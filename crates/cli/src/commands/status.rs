//! `clearway status`: the conditions and the health of objects.

mod explain;
mod lint;
pub(super) mod live_objects;
pub(crate) mod related_objects;
pub(crate) mod show;
mod wait;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use clearway_conditions::Object;
use clearway_core::{Diagnostic, Limits, Place, Severity};
use clearway_sources::files;
use clearway_yaml::{FieldFilter, ReadEvent, codes, read_fields};

use crate::arguments::{Selection, Status};
use crate::exit::Exit;
use crate::runtime::block_on;

/// Carries out a command.
pub(crate) fn run(command: &Status) -> Result<Exit> {
    match command {
        Status::Show(options) => block_on(show::run(options))?,
        Status::Lint(options) => block_on(lint::run(options))?,
        Status::Wait(options) => block_on(wait::run(options))?,
        Status::Explain { code, output } => explain::run(code.as_deref(), output.format),
    }
}

/// Whether a file that is named twice is read twice.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Repeats {
    /// Once is enough: its objects are the same.
    Once,
    /// Each time: the files are snapshots.
    EachTime,
}

/// Refuses a command line that names no objects, before a cluster is asked for.
fn require_named(selection: &Selection) -> Result<()> {
    if selection.files.is_empty() && selection.targets.is_empty() {
        bail!("no objects selected: pass a KIND, KIND/NAME, or files with -f; see --help");
    }
    if let Some(file) = selection.targets.iter().find(|target| is_file_name(target)) {
        bail!("`{file}` is a file or a directory, not a kind of objects; read it with -f {file}");
    }
    Ok(())
}

/// Whether somebody forgot `-f`: no kind has such a name, and there is such a file.
fn is_file_name(target: &str) -> bool {
    let is_path = target.ends_with('/') || [".yaml", ".yml", ".json"].iter().any(|end| target.ends_with(end));
    is_path && Path::new(target).exists()
}

/// Hands each object in the named files to `visit`, and each problem to `complain`, in order.
///
/// What cannot be read is a problem like any other: the rest is still read.
pub(super) fn read_files(
    files: &[PathBuf],
    max_file_size: u64,
    repeats: Repeats,
    keep: FieldFilter,
    mut visit: impl FnMut(&Object<'_>) -> Result<()>,
    mut complain: impl FnMut(Diagnostic) -> Result<()>,
) -> Result<()> {
    let limits = Limits { file_bytes: max_file_size, ..Limits::default() };
    let mut known = BTreeSet::new();
    for path in files {
        let mut is_empty = true;
        for input in clearway_sources::files::inputs(path) {
            let opened = input.and_then(|input| Ok((input.name(), input.identity(), input.open()?)));
            let (name, identity, stream) = match opened {
                Ok(opened) => opened,
                Err(error) => {
                    is_empty = false;
                    complain(not_read(&error))?;
                    continue;
                }
            };
            if repeats == Repeats::Once && !known.insert(identity) {
                is_empty = false;
                continue;
            }
            let mut outcome = Ok(());
            let summary = read_fields(stream, &name, &limits, keep, |found| {
                // The reader cannot be stopped; after the first failure to write there is nothing left to do.
                if outcome.is_ok() {
                    outcome = match found {
                        ReadEvent::Object { root, source, list } => match Object::new(root, source, list) {
                            Ok(object) => visit(&object),
                            Err(problem) => complain(*problem),
                        },
                        ReadEvent::Problem(problem) => complain(problem),
                    };
                }
            });
            outcome?;
            is_empty &= summary.is_empty();
        }
        if is_empty {
            complain(nothing_in(path))?;
        }
    }
    Ok(())
}

fn not_read(error: &files::FilesError) -> Diagnostic {
    let help = match error {
        files::FilesError::Io { .. } => "correct the name or the permissions; the other files were read",
        files::FilesError::Refused { .. } => "only regular files are supported; the other files were read",
        files::FilesError::Empty { .. } => "pass the path of the file itself to read it; the other files were read",
        files::FilesError::TooDeep { .. } => "pass its subdirectories one by one",
    };
    Diagnostic::new(codes::UNREADABLE, Severity::Error, error.to_string()).at(in_file(error.path())).with_help(help)
}

/// A yes about nothing would be a lie: whatever should have written the objects may have failed.
fn nothing_in(path: &Path) -> Diagnostic {
    Diagnostic::new(codes::EMPTY, Severity::Error, "it contains no objects")
        .at(in_file(path))
        .with_help("check whether the command that wrote the objects failed")
}

fn in_file(path: &Path) -> Place {
    Place { file: Some(path.display().to_string()), ..Place::default() }
}
