//! `clearway graph paths`: update paths from one version to another.

use anyhow::{Result, bail};
use clearway_graph::{NoPath, Path, paths};

use super::source;
use crate::arguments::GraphPaths;
use crate::exit::Exit;
use crate::output;

/// Runs the command. The exit code is the answer: 0 a way without a risk, 2 only ways with risks, 1 no way.
pub(super) fn run(options: &GraphPaths) -> Result<Exit> {
    let graph = source::view(&options.source, options.channel.as_deref(), options.arch.arch.as_ref())?.graph;
    let found = match paths(&graph, &options.from.without_build(), &options.to.without_build()) {
        Ok(found) => found,
        Err(why) if matches!(*why, NoPath::Unreachable { .. }) => {
            output::print_data(options.output.format, &why, || why.to_string())?;
            return Ok(Exit::No);
        }
        Err(why) => {
            let hints = [&options.from, &options.to].map(|version| super::version_hint(&graph, version));
            bail!("{why}{}", hints.concat())
        }
    };
    output::print_data(options.output.format, &found, || {
        let fewest = &found.fewest_risks;
        let search = if fewest.exact { "fewest risks" } else { "fewest risks found; there may be a path with fewer" };
        let others = [("fewest conditional hops", &found.fewest_conditional_hops), (search, &fewest.path)];
        let others =
            others.map(
                |(name, path)| {
                    if *path == found.shortest { format!("{name}: the same\n") } else { described(name, path) }
                },
            );
        described("shortest", &found.shortest) + &others.concat()
    })?;
    Ok(if found.fewest_conditional_hops.conditional_hops() == 0 { Exit::Yes } else { Exit::Unknown })
}

fn described(name: &str, path: &Path) -> String {
    let hops = path.hops.iter().map(|hop| {
        let names = super::names_of_risks(hop.risks.iter().map(|risk| risk.name()));
        let unless = if names.is_empty() { String::new() } else { format!("  unless {names} applies") };
        format!("  {} to {}{unless}\n", hop.from, hop.to)
    });
    let count = path.hops.len();
    format!("{name}: {count} update{}\n{}", if count == 1 { "" } else { "s" }, hops.collect::<String>())
}
