//! `clearway demo`: scenarios on samples that are part of the program.
//!
//! Nothing is recorded. The update service serves a sample product; an embedded cluster, a directory, asks it; and the
//! operator works on that as it does in a cluster: [`stage`]. The web console shows both: [`console`]. A scenario is a file of its own: [`tour`], [`story`],
//! [`outage`], [`publish`] and [`update`]; [`product`] and [`platform`] are what they have in common. What is judged of
//! recorded samples is judged as of fixed times, so that the ages are the same on every day.

mod browser;
mod console;
mod fit;
mod hints;
mod keyboard;
mod manifests;
mod narration;
mod outage;
mod platform;
mod product;
mod publish;
mod service;
mod stage;
mod status_wait;
mod story;
mod tour;
mod update;

use std::io::{IsTerminal as _, Write as _};
use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result};
use clap::ValueEnum as _;

use crate::arguments::{Demo, Scenario};
use crate::exit::Exit;
use crate::output;
use crate::runtime;
use crate::signals::stop_signal;
use browser::Browser;
use keyboard::Keyboard;
use narration::Narrator;
use stage::Stage;

/// The question of the product.
const QUESTION: &str = "Is this update safe for this cluster, and why?";
/// The last line after a signal.
const STOPPED: &str = "\nThe demo has stopped.";

/// Runs the demo.
pub(crate) fn run(options: &Demo) -> Result<Exit> {
    if options.list {
        write!(anstream::stdout(), "{}", list())?;
        return Ok(Exit::Yes);
    }
    let runtime = runtime::with_workers(1)?;
    // From here on a signal is heard, so nothing that is made below stays behind; a second one ends the demo at once.
    let stop = stop_signal()?;
    let scratch = if options.output_dir.is_some() {
        None
    } else {
        let made = tempfile::Builder::new().prefix("clearway-demo-").tempdir();
        Some(made.context("cannot create a directory for the demo")?)
    };
    let directory =
        scratch.as_ref().map(tempfile::TempDir::path).or(options.output_dir.as_deref()).unwrap_or(Path::new("."));
    let stays = !options.once && (options.stay || std::io::stdout().is_terminal());
    let reader = if options.once { None } else { Keyboard::of_terminal() };
    let browser = if stays && !options.no_browser { Browser::of_session() } else { None };
    let mut narrator = Narrator::new(stays, reader, browser);
    let outcome = runtime.block_on(async {
        let setting = match options.scenario {
            Scenario::Tour => platform::setting(""),
            Scenario::Story => story::setting()?,
            Scenario::Outage | Scenario::Publish | Scenario::Update => platform::setting(platform::FAST_DISKS),
        };
        let mut stop = std::pin::pin!(stop);
        let opened = tokio::select! {
            opened = Stage::open(directory, setting) => Some(opened?),
            () = &mut stop => None,
        };
        let Some(mut stage) = opened else { return narrator.lines(STOPPED) };
        let outcome = tokio::select! {
            outcome = show(&mut stage, &mut narrator, options) => outcome,
            () = &mut stop => narrator.lines(STOPPED),
        };
        stage.close().await;
        outcome
    });
    // Whoever still writes into the directory has to end first, or it would be there again.
    runtime.shutdown_timeout(Duration::from_secs(5));
    if let Some(scratch) = scratch {
        let path = scratch.path().to_owned();
        scratch.close().with_context(|| format!("cannot remove {}", path.display()))?;
    }
    outcome.map(|()| Exit::Yes)
}

async fn show(stage: &mut Stage, narrator: &mut Narrator, options: &Demo) -> Result<()> {
    match options.scenario {
        Scenario::Tour => tour::run(stage, narrator, options.output_dir.as_deref()).await?,
        Scenario::Story => story::run(stage, narrator, options.output_dir.as_deref()).await?,
        Scenario::Outage => outage::run(stage, narrator).await?,
        Scenario::Publish => publish::run(stage, narrator).await?,
        Scenario::Update => update::run(stage, narrator).await?,
    }
    hints::run(stage, narrator, options).await
}

/// Every scenario with what its help says.
fn list() -> String {
    let rows = Scenario::value_variants().iter().filter_map(clap::ValueEnum::to_possible_value).map(|scenario| {
        let help = scenario.get_help().map(ToString::to_string).unwrap_or_default();
        vec![scenario.get_name().to_owned(), help]
    });
    output::table(&["SCENARIO", "DESCRIPTION"], rows).to_string()
}

/// Writes files by their names below a directory.
fn write_files(directory: &Path, files: &[(&str, &str)]) -> Result<()> {
    for (name, text) in files {
        let path = directory.join(name);
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent).with_context(|| format!("cannot create {}", parent.display()))?;
        }
        std::fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}

/// A word as a shell takes it for one.
fn quoted(word: &str) -> String {
    let plain = |letter: char| letter.is_alphanumeric() || "/._-+:@%~".contains(letter);
    if word.chars().all(plain) { word.to_owned() } else { format!("'{}'", word.replace('\'', r"'\''")) }
}

/// A proof without the commands that repeat its queries, which are wider than a small terminal.
fn without_checks(proof: &str) -> String {
    proof.lines().filter(|line| !line.trim_start().starts_with("check    ")).flat_map(|line| [line, "\n"]).collect()
}
