//! Everything there is, on sample objects and a sample product: recorded samples first, and then the live ones.

use std::io::Write;
use std::path::Path;

use anyhow::{Context as _, Result};
use clearway_advice::render;
use clearway_conditions::Object;
use clearway_conditions::health::forest;
use clearway_conditions::lint::{self, Policy};
use clearway_core::diagnostic::terminal;
use clearway_core::{Arch, Diagnostic, Limits, Severity, Timestamp, Version};
use clearway_graph::codes;
use clearway_yaml::{ReadEvent, read};

use super::ending::introduce;
use super::narration::Teller;
use super::platform::{CHANNEL, PLATFORM};
use super::stage::Stage;
use super::watching::is_settled;
use super::{heading, quoted, service, write_files};
use crate::commands::assess;
use crate::commands::graph;
use crate::commands::status::family::{Family, Schemas};
use crate::commands::status::show;
use crate::output;

/// The sample objects, by the names they have in a directory.
const SAMPLES: [(&str, &str); 2] = [
    ("shop.yaml", include_str!("../../../demo/shop.yaml")),
    ("platform.yaml", include_str!("../../../demo/platform.yaml")),
];

/// Where they are in a directory that is kept.
const OBJECTS: &str = "objects";

/// Shows it.
pub(super) async fn run(stage: &mut Stage, teller: &mut Teller, kept_in: Option<&Path>) -> Result<()> {
    if let Some(directory) = kept_in {
        write_files(&directory.join(OBJECTS), &SAMPLES)?;
    }
    // The objects are of the same morning as the snapshot of the cluster.
    let now = PLATFORM.taken_at()?;
    let (family, findings) = judge(now);
    let trees = forest(family.judge());
    let out = &mut teller.out;

    writeln!(out, "{}", heading("How are these objects doing?   (clearway status show --tree)"))?;
    write!(out, "{}", output::table(&show::HEAD, trees.iter().flat_map(|tree| show::tree_rows(tree, now))))?;
    teller.lines("")?;
    teller.prose(
        "The rollout of `checkout` is not slow, it has failed: its newest pod crashes, which the Deployment itself will not say \
         before its deadline. `orders` has an empty status, which other tools take for well. And `cart` says that it is \
         ready.",
    )?;

    teller.heading("Is the reported status reliable?   (clearway status lint)")?;
    let out = &mut teller.out;
    for finding in &findings {
        writeln!(out, "{}\n", terminal::render(finding, output::colour()))?;
    }
    if let Some(rule) = findings.first().and_then(|finding| lint::rule(&finding.code)) {
        writeln!(out, "{}", heading(&format!("Why is that so?   (clearway status explain {})", rule.code)))?;
        // The examples of the page are left to the command.
        let told = rule.page.split("\n## Fails").next().unwrap_or(rule.page);
        writeln!(out, "{}", told.trim_end())?;
    }
    show_graph(out)?;
    show_assessment(out, kept_in)?;
    if let Some(directory) = kept_in {
        let shown = quoted(&directory.display().to_string());
        writeln!(out, "\n{}", heading("The same on the files that are kept"))?;
        writeln!(out, "  clearway status show --tree -f {shown}/{OBJECTS} --now {now}")?;
        writeln!(out, "  clearway status lint -f {shown}/{OBJECTS} --now {now}")?;
        writeln!(out, "  {} --why", PLATFORM.command(Some(directory)))?;
        writeln!(out, "  clearway serve --graph {shown}/graph-data")?;
    }
    teller.heading("And to clusters?   (clearway serve --graph DIR)")?;
    service::ask(stage, teller).await?;
    teller.heading("And in a cluster, all the time?   (clearway operator)")?;
    introduce(stage, teller).await?;
    stage.until("advice", is_settled).await?;
    let root = stage.state.root().to_owned();
    teller.upgrade(&root, &["--include-not-recommended"]).await
}

/// The update graph of the sample product: where each release may go, why one update is conditional, and whether the
/// files are sound.
fn show_graph(out: &mut impl Write) -> Result<()> {
    let revision = PLATFORM.revision()?;
    let arch = Arch::default();
    writeln!(out, "\n{}", heading("Where can a release go?   (clearway graph show stable-1.5)"))?;
    write!(out, "{}", graph::show::table(&revision.graph(CHANNEL, &arch)))?;
    let (from, to) = (Version::new(1, 4, 2), Version::new(1, 5, 0));
    let explanation = revision.explain(&from, &to, &arch).context("the sample product lost a release")?;
    writeln!(
        out,
        "\n{}",
        heading(&format!("And why not simply {from} to {to}?   (clearway graph explain {from} {to})"))
    )?;
    writeln!(out, "{}", graph::explain::text(&explanation))?;
    writeln!(out, "\n{}", heading("Are the files behind it sound?   (clearway graph lint)"))?;
    let findings = graph::lint::findings(&PLATFORM.inputs());
    let told =
        |finding: &&Diagnostic| finding.severity != Severity::Info || finding.code == codes::CHANNEL_STRANDED.code;
    for finding in findings.iter().filter(told) {
        writeln!(out, "{}\n", terminal::render(finding, output::colour()))?;
    }
    let count = |severity| findings.iter().filter(|finding| finding.severity == severity).count();
    writeln!(
        out,
        "{} files: {} errors, {} warnings, {} notes",
        PLATFORM.graph_data.len(),
        count(Severity::Error),
        count(Severity::Warning),
        count(Severity::Info)
    )?;
    Ok(())
}

/// The product's question, asked for the sample cluster: one update of each answer, with its proof.
fn show_assessment(out: &mut impl Write, kept_in: Option<&Path>) -> Result<()> {
    let assessment = PLATFORM.assess(kept_in)?;
    let command = PLATFORM.command(kept_in);
    writeln!(out, "\n{}", heading(&format!("Which updates are safe for this cluster?   ({command})")))?;
    write!(out, "{}", assess::table(&assessment))?;
    writeln!(out, "\n{}", heading("And why?   (the same with --why)"))?;
    writeln!(out, "{}", render::assessment(&assessment).trim_end())?;
    Ok(())
}

fn judge(now: Timestamp) -> (Family, Vec<Diagnostic>) {
    let mut family = Family::new(now, Schemas::new());
    let mut findings = Vec::new();
    let policy = Policy::new(now);
    for (name, text) in SAMPLES {
        read(text.as_bytes(), name, &Limits::default(), |found| match found {
            ReadEvent::Object { root, source, list } => match Object::new(root, source, list) {
                Ok(object) => {
                    family.add(&object);
                    lint::lint(&object, &policy, &mut findings);
                }
                Err(problem) => findings.push(*problem),
            },
            ReadEvent::Problem(problem) => findings.push(problem),
        });
    }
    (family, findings)
}
