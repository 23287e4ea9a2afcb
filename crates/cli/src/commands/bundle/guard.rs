//! `clearway bundle guard`: an admission policy that protects an installed bundle.

use anyhow::Result;
use clearway_bundle::guard_policy;

use super::source;
use crate::arguments::BundleName;
use crate::exit::Exit;
use crate::output;

pub(super) fn run(options: &BundleName) -> Result<Exit> {
    for bundle in source::read(&[&options.bundle], &options.reading)? {
        for object in guard_policy(&bundle) {
            output::print_document(&format!("---\n{}", output::to_yaml(&object)?))?;
        }
    }
    Ok(Exit::Yes)
}
