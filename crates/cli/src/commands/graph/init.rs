//! `clearway graph init`: a graph-data directory to start from, with a release chain, a channel, and a risk with its test.

use std::path::Path;

use anyhow::{Context as _, Result, bail};

use crate::arguments::GraphInit;
use crate::exit::Exit;
use crate::output;

/// The files of the directory. They are read like the user's own, so tests lint them and run their unit tests.
const FILES: &[(&str, &str)] = &[
    ("README.md", include_str!("init/README.md")),
    ("version", "1.1.0\n"),
    ("releases/product.yaml", include_str!("init/releases.yaml")),
    ("channels/stable.yaml", include_str!("init/channel.yaml")),
    ("blocked-edges/1.1.0-SlowDisks.yaml", include_str!("init/risk.yaml")),
    ("risk-tests/SlowDisks.yaml", include_str!("init/risk_test.yaml")),
];

/// Runs the command.
pub(super) fn run(options: &GraphInit) -> Result<Exit> {
    let directory = &options.directory;
    refuse_content(directory)?;
    for (name, text) in FILES {
        let path = directory.join(name);
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent).with_context(|| format!("cannot create {}", parent.display()))?;
        }
        std::fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
    }
    let shown = directory.display();
    output::print_line!(
        "Created {shown}: four releases, one channel, and one risk with a unit test.\n\n\
         Next steps:\n\
         \x20 clearway graph lint --graph {shown}\n\
         \x20 clearway risk test --graph {shown}\n\
         \x20 clearway graph show stable --graph {shown}\n\
         \x20 clearway graph explain 1.0.1 1.1.0 --graph {shown}\n\
         \x20 clearway graph render stable --graph {shown} --output graph.svg\n\
         \x20 clearway serve --graph {shown}\n\n\
         Then replace the releases in {shown}/releases/product.yaml by your own."
    );
    Ok(Exit::Yes)
}

/// Refuses a directory with content: nothing of the user's is overwritten or mixed with the example.
fn refuse_content(directory: &Path) -> Result<()> {
    let mut entries = match std::fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error).with_context(|| format!("cannot read {}", directory.display())),
    };
    if entries.next().is_some() {
        bail!("{} is not empty; name a directory that does not exist yet", directory.display());
    }
    Ok(())
}
