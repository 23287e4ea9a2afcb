//! Names of files of blocks: `<to>-<name>.yaml`.

use super::{At, Draft, Drafts, Index, risk};
use crate::codes;
use crate::model::risk::Risk;

/// Checks the file name of every block.
pub(super) fn check(index: &Index<'_>, drafts: &mut Drafts) {
    for block in index.own_blocks() {
        let name = block.file.rsplit_once('/').map_or(block.file.as_str(), |(_, name)| name);
        let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
        let to = block.to.to_string();
        let risk = risk(block).map(Risk::name);
        let want = risk.map_or_else(|| format!("{to}.yaml"), |risk| format!("{to}-{risk}.yaml"));
        // `4.19.99-x` does not begin with 4.19.9.
        let rest = stem.strip_prefix(&to).filter(|rest| rest.is_empty() || rest.starts_with(['-', '_', '+']));
        let Some(rest) = rest else {
            let message = format!("the file name does not begin with `{to}`, the target");
            drafts.push(Draft::new(&codes::FILE_NAME_TARGET, &block.file, At::Key("to"), message, rename(&want)));
            continue;
        };
        if let Some(risk) = risk.filter(|risk| !rest.contains(risk)) {
            let message = format!("the file name does not contain `{risk}`, the name of the risk");
            drafts.push(Draft::new(&codes::FILE_NAME_RISK, &block.file, At::Key("name"), message, rename(&want)));
        }
    }
}

fn rename(want: &str) -> String {
    format!("rename it to {want}")
}
