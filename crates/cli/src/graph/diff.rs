//! `clearway graph diff`: what a change of graph-data does to the answers, channel by channel, and which files are why.

use std::path::PathBuf;

use anyhow::Result;
use clearway_graph::diff::{Diff, Says, What};
use clearway_graph::{Inputs, Revision};
use serde_json::{Value, json};

use crate::arguments::{GraphDiff, GraphSource};
use crate::exit::Exit;
use crate::output;

/// Runs the command. Exit code 0: the answers are the same; 1: they differ.
pub(super) fn run(options: &GraphDiff) -> Result<Exit> {
    let load = |name: &str| -> Result<Revision> { super::revision(&side(options, name)?) };
    let (before, after) = (load(&options.before)?, load(&options.after)?);
    let mut names: Vec<&str> = before.channels().chain(after.channels()).map(|channel| channel.name.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    names.retain(|name| options.channels.is_empty() || options.channels.iter().any(|channel| channel == name));
    let diffs: Vec<(&str, Diff)> = names
        .into_iter()
        .map(|name| (name, before.diff(&after, name, &options.arch)))
        .filter(|(_, diff)| !diff.is_empty())
        .collect();
    let data: Vec<Value> = diffs.iter().map(|(channel, diff)| json!({"channel": channel, "diff": diff})).collect();
    output::print_data(options.output, &data, || {
        diffs.iter().map(|(channel, diff)| described(channel, diff)).collect::<Vec<_>>().join("\n")
    })?;
    anstream::eprintln!("{} channels differ", diffs.len());
    Ok(if diffs.is_empty() { Exit::Yes } else { Exit::No })
}

/// A directory if there is one of that name, else a git revision of the graph-data directory.
fn side(options: &GraphDiff, name: &str) -> Result<Inputs> {
    let path = PathBuf::from(name);
    super::inputs(&if path.is_dir() {
        GraphSource { graph: path, rev: None }
    } else {
        GraphSource { graph: options.graph.clone(), rev: Some(name.to_owned()) }
    })
}

fn described(channel: &str, diff: &Diff) -> String {
    let mut lines = vec![channel.to_owned()];
    let mut line = |sentence: String| lines.push(format!("  {sentence}"));
    for (word, versions) in [("gained", &diff.releases.gained), ("lost", &diff.releases.lost)] {
        let versions: Vec<String> = versions.iter().map(ToString::to_string).collect();
        if !versions.is_empty() {
            line(format!("releases {word}: {}", versions.join(", ")));
        }
    }
    for change in &diff.releases.changed {
        line(format!("release {} changed: payload or metadata", change.version));
    }
    for update in &diff.updates {
        let risks = update.risks.join(", ");
        let unless = if risks.is_empty() { String::new() } else { format!(" unless {risks} applies") };
        let what = match update.what {
            What::Gained => format!("offered now{unless}"),
            What::Lost if risks.is_empty() => "no longer offered".to_owned(),
            What::Lost => format!("no longer offered; it carried {risks}"),
            What::BecameConditional => format!("offered only{unless}"),
            What::BecameUnconditional => format!("offered to all now; it carried {risks}"),
            What::RisksGained => format!("carries {risks} as well"),
            What::RisksLost => format!("no longer carries {risks}"),
        };
        line(format!("{update}: {what}"));
        for file in &update.files {
            let now = match file.now {
                Says::Gained => "speaks of it now",
                Says::Lost => "no longer speaks of it",
                Says::Changed => "says something else",
            };
            line(format!("  because {} {now}", file.file));
        }
    }
    for risk in &diff.risks.changed {
        line(format!("risk {} changed its {} on {} updates", risk.after.name(), risk.fields.join(", "), risk.updates));
    }
    lines.join("\n") + "\n"
}
