//! The web console of the demo: the graph of its service and the updates of its cluster, for as long as the demo runs.

use std::net::TcpListener;
use std::sync::Arc;

use anyhow::{Context as _, Result};
use clearway_operator::operator::LatestReports;
use clearway_server::Service;
use clearway_server::console::{Console, RunningConsole};
use clearway_sources::clock;
use clearway_sources::http::{HttpOptions, client};

use super::narration::Narrator;
use super::stage::Stage;
use crate::commands::operator::console::OperatorReports;

/// Facts of the overview that are the same each time; others are ages.
const FACTS: [&str; 5] = ["Current version", "Channel", "Channels", "Releases", "Risks"];
/// How the overview words the recommendation of an update.
const RECOMMENDATIONS: [&str; 3] = ["Recommended", "Known issue", "Unknown"];

/// Starts the console on a free port of this machine.
pub(super) fn start(service: Arc<Service>, reports: LatestReports) -> Result<RunningConsole> {
    let socket = TcpListener::bind("127.0.0.1:0").context("cannot listen for the console")?;
    // The demo has one operator, and there are no reports before it leads. The state directory has no policies or bundles.
    let reports = OperatorReports { reports, is_leading: Box::new(|| true), objects: None };
    let console = Console::new(env!("CARGO_PKG_VERSION"), clock::now).with_service(service).with_clusters(reports);
    RunningConsole::start(console, socket).context("cannot start the console")
}

/// A page about the console: where it is, and what its overview says, which is fetched as a browser does it.
pub(super) async fn show_page(stage: &Stage, narrator: &mut Narrator) -> Result<()> {
    narrator.page("And in the browser?").await?;
    narrator.prose(
        "The web console shows the cluster, the proof of each answer, the graph and its risks. It only reads, and here it \
         listens on this machine only:",
    )?;
    announce(stage, narrator)?;
    let link = stage.console.link();
    if !narrator.stays {
        narrator.lines(&format!("\nGET {link}"))?;
    }
    narrator.lines("\nIts first page says:\n")?;
    let html = fetch(&link).await.with_context(|| format!("cannot read {link}"))?;
    for [name, value] in facts(&html) {
        narrator.lines(&format!("  {name:17}{value}"))?;
    }
    narrator.lines("")?;
    narrator.prose(
        "`clearway serve` and `clearway operator` have the same console with --console-listen; see docs/console.md.",
    )
}

/// Prints the address of a console that stays, and opens it where there is a browser.
pub(super) fn announce(stage: &Stage, narrator: &mut Narrator) -> Result<()> {
    if !narrator.stays {
        return Ok(());
    }
    let link = stage.console.link();
    narrator.verbatim(&format!("\n  {link}"))?;
    narrator.open_in_browser(&link);
    Ok(())
}

async fn fetch(link: &str) -> Result<String> {
    let answer = client(&HttpOptions::default())?.get(link).send().await?.error_for_status()?;
    Ok(answer.text().await?)
}

/// What the overview says about the version, the updates and the graph.
fn facts(html: &str) -> Vec<[&str; 2]> {
    let fact = |line| match cells(line).as_slice() {
        [name, value] if FACTS.contains(name) => Some([*name, *value]),
        [version, word, _, ..] if RECOMMENDATIONS.contains(word) => Some([*version, *word]),
        _ => None,
    };
    html.lines().filter_map(fact).collect()
}

/// The texts between the tags of a line. The overview has each fact, and each row of a table, on a line of its own.
fn cells(line: &str) -> Vec<&str> {
    let texts = line.split('<').filter_map(|part| part.split_once('>')).map(|(_, text)| text.trim());
    texts.filter(|text| !text.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_are_the_lines_of_a_page_that_are_the_same_each_time() {
        let html = "<h1>Overview</h1>\n\
                    <div><dt>Current version</dt><dd>1.4.2</dd></div>\n\
                    <div><dt>Graph</dt><dd>retrieved 1s ago</dd></div>\n\
                    <tr><th scope=\"row\"><a href=\"/x\">1.5.0</a></th><td><span>Known issue</span></td><td>Slow</td></tr>\n\
                    <tr><th scope=\"row\">Ready</th><td>True</td><td></td></tr>\n";
        assert_eq!(facts(html), [["Current version", "1.4.2"], ["1.5.0", "Known issue"]]);
    }
}
