//! `clearway upgrade history`: past updates, newest first.

use anyhow::Result;
use clearway_core::humanize;
use clearway_update::api::UpdateHistory as Entry;

use crate::arguments::{DataFormat, UpgradeHistory};
use crate::commands::upgrade::condition_text::{clean, indented};
use crate::commands::upgrade::object::FetchedObject;
use crate::exit::Exit;
use crate::output::{self, Document, printable};

const HEAD: [&str; 7] = ["VERSION", "STATE", "STARTED", "COMPLETED", "VERIFIED", "RISKS", "IMAGE"];

/// Runs the command.
pub(crate) fn run(found: &FetchedObject, options: &UpgradeHistory, format: DataFormat) -> Result<Exit> {
    let history = &found.status.history;
    output::print_data(format, history, || {
        if history.is_empty() {
            return Document::from("There are no updates in the history.".to_owned()).named([]);
        }
        let mut text = Document::from(output::table(&HEAD, history.iter().map(row)));
        if options.details {
            history.iter().filter(|entry| is_risky(entry)).for_each(|entry| text.push_text(&details(entry)));
        }
        text
    })?;
    if format.is_text() && !options.details && history.iter().any(is_risky) {
        output::print_note!("--details shows the accepted risks");
    }
    Ok(Exit::Yes)
}

fn is_risky(entry: &Entry) -> bool {
    !entry.accepted_risks.trim().is_empty()
}

fn row(entry: &Entry) -> Vec<String> {
    let text = |text: &str| if text.is_empty() { "-".to_owned() } else { text.to_owned() };
    let completed = entry
        .completion_time
        .map_or_else(|| "-".to_owned(), |time| format!("{time} ({})", humanize(time.since(entry.started_time))));
    vec![
        text(&entry.version),
        entry.state.as_str().to_owned(),
        entry.started_time.to_string(),
        completed,
        if entry.verified { "yes" } else { "no" }.to_owned(),
        if is_risky(entry) { "accepted" } else { "-" }.to_owned(),
        text(&entry.image),
    ]
}

fn details(entry: &Entry) -> String {
    let what = if entry.version.is_empty() { &entry.image } else { &entry.version };
    let risks = indented(&clean(&entry.accepted_risks), 2);
    format!("\n{}, started {}:\n  {risks}\n", printable(what), entry.started_time)
}
