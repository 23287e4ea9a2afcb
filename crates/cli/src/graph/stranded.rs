//! `clearway graph stranded`: versions that only a risk leads out of (U17).

use anyhow::Result;
use clearway_graph::{Missing, Stranded, Supported, stranded};
use serde_json::{Value, json};

use crate::arguments::GraphStranded;
use crate::exit::Exit;
use crate::output;

/// Runs the command. Exit code 0: nobody is stranded; 1: somebody is.
pub(super) fn run(options: &GraphStranded) -> Result<Exit> {
    let revision = super::revision(&super::inputs(&options.source)?)?;
    for channel in &options.channels {
        super::known(&revision, channel, &options.arch)?;
    }
    let supported = Supported { oldest: options.oldest.clone(), newest: options.newest.clone() };
    let wanted = |name: &str| options.channels.is_empty() || options.channels.iter().any(|channel| channel == name);
    let found: Vec<(&str, Stranded)> = revision
        .channels()
        .filter(|channel| wanted(&channel.name))
        .flat_map(|channel| {
            let versions = stranded(&revision.graph(&channel.name, &options.arch), &supported);
            versions.into_iter().map(|version| (channel.name.as_str(), version))
        })
        .filter(|(_, version)| options.newest_patches || !version.newest_patch)
        .collect();
    let data: Vec<Value> =
        found.iter().map(|(channel, version)| json!({"channel": channel, "stranded": version})).collect();
    output::print_data(options.output, &data, || {
        output::table(&["CHANNEL", "VERSION", "CANNOT REACH", "WAYS WITH RISKS"], found.iter().map(row))
    })?;
    anstream::eprintln!("{} stranded", found.len());
    Ok(if found.is_empty() { Exit::Yes } else { Exit::No })
}

fn row((channel, version): &(&str, Stranded)) -> Vec<String> {
    let missing = match version.missing {
        Missing::ToNewestPatch => "the newest patch",
        Missing::OutOfMinor => "a later minor",
        Missing::Both => "the newest patch or a later minor",
    };
    let ways: Vec<String> = version
        .ways
        .iter()
        .map(|way| {
            let risks: Vec<&str> = way.hops.iter().flat_map(|hop| &hop.risks).map(|risk| risk.name()).collect();
            let target = way.hops.last().map(|hop| hop.to.to_string()).unwrap_or_default();
            format!("{target} unless {}", risks.join(", "))
        })
        .collect();
    let ways = if ways.is_empty() { "none".to_owned() } else { ways.join("; ") };
    vec![(*channel).to_owned(), version.version.to_string(), missing.to_owned(), ways]
}
