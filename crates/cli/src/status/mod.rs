//! `clearway status`: the conditions and the health of any objects.

mod explain;
pub(crate) mod family;
mod lint;
mod live;
pub(crate) mod show;
mod wait;

use anyhow::{Context as _, Result};
use clearway_conditions::Object;
use clearway_core::{Diagnostic, Limits};
use clearway_sources::files;
use clearway_yaml::{Found, Keep, read_fields};

use crate::arguments::{Selection, Status};
use crate::exit::Exit;

/// Carries out a command.
pub(crate) fn run(command: &Status) -> Result<Exit> {
    match command {
        Status::Show(options) => block_on(show::run(options)),
        Status::Lint(options) => block_on(lint::run(options)),
        Status::Wait(options) => block_on(wait::run(options)),
        Status::Explain { code, output } => explain::run(code.as_deref(), *output),
    }
}

fn block_on<T>(work: impl Future<Output = Result<T>>) -> Result<T> {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().context("cannot start the runtime")?;
    runtime.block_on(work)
}

/// Hands each object in the named files to `visit`, and each problem to `complain`, in order.
fn read_files(
    selection: &Selection,
    keep: Keep,
    mut visit: impl FnMut(&Object<'_>) -> Result<()>,
    mut complain: impl FnMut(Diagnostic) -> Result<()>,
) -> Result<()> {
    let limits = Limits { file_bytes: selection.max_file_size, ..Limits::default() };
    for input in files::inputs(&selection.files)? {
        let stream = input.open()?;
        let mut outcome = Ok(());
        read_fields(stream, &input.name(), &limits, keep, |found| {
            // The reader cannot be stopped; after the first failure to write there is nothing left to do.
            if outcome.is_ok() {
                outcome = match found {
                    Found::Object { root, source, list } => match Object::new(root, source, list) {
                        Ok(object) => visit(&object),
                        Err(problem) => complain(*problem),
                    },
                    Found::Problem(problem) => complain(problem),
                };
            }
        });
        outcome?;
    }
    Ok(())
}
