//! `clearway demo`: what the product does, on sample objects and a sample product that are part of the program.
//!
//! Nothing is recorded: the same code judges these objects as judges those of a cluster, as of a fixed morning, so that
//! the ages are the same on every day.

mod service;

use std::io::Write as _;
use std::path::Path;

use anyhow::{Context as _, Result};
use clearway_advice::evidence::Snapshot;
use clearway_advice::{Plan, Settings, render};
use clearway_conditions::Object;
use clearway_conditions::health::forest;
use clearway_conditions::lint::{self, Policy};
use clearway_core::diagnostic::terminal;
use clearway_core::{Arch, Diagnostic, Limits, Severity, Timestamp, Version};
use clearway_graph::{Inputs, codes, load};
use clearway_promql::Millis;
use clearway_promql::read::ReadLimits;
use clearway_yaml::{Found, read};

use crate::arguments::Demo;
use crate::assess;
use crate::exit::Exit;
use crate::graph;
use crate::output;
use crate::status::family::{Family, Schemas};
use crate::status::show;

/// The sample objects, by the names they have in a directory.
const SAMPLES: [(&str, &str); 2] =
    [("shop.yaml", include_str!("../demo/shop.yaml")), ("platform.yaml", include_str!("../demo/platform.yaml"))];

/// Where they are in a directory that is kept.
const OBJECTS: &str = "objects";

macro_rules! graph_data {
    ($($path:literal)*) => {
        [$(($path, include_str!(concat!("../../../examples/graph-data/", $path)))),*]
    };
}

/// The graph-data of the sample product.
const GRAPH_DATA: [(&str, &str); 21] = graph_data! {
    "blocked-edges/1.5.0-ProxyTimeouts.yaml"
    "blocked-edges/1.5.0-SlowEtcd.yaml"
    "blocked-edges/1.5.0-VSphereOldHardware.yaml"
    "blocked-edges/1.5.0-rc.1-VSphereOldHardware.yaml"
    "blocked-edges/1.5.0.yaml"
    "blocked-edges/1.5.1-IngressSettingsLost.yaml"
    "blocked-edges/1.5.1-ProxyTimeouts.yaml"
    "blocked-edges/1.5.1-SlowEtcd.yaml"
    "blocked-edges/1.5.1-VSphereOldHardware.yaml"
    "blocked-edges/1.5.2-SlowEtcd.yaml"
    "blocked-edges/1.5.2-VSphereOldHardware.yaml"
    "channels/candidate-1.5.yaml"
    "channels/fast-1.5.yaml"
    "channels/stable-1.5.yaml"
    "raw/metadata.json"
    "releases/platform.yaml"
    "risks/IngressSettingsLost.yaml"
    "risks/ProxyTimeouts.yaml"
    "risks/SlowEtcd.yaml"
    "risks/VSphereOldHardware.yaml"
    "version"
};

/// The metrics of a cluster that runs the sample product.
const CLUSTER: [(&str, &str); 1] = [("metrics.prom", include_str!("../../../examples/cluster/metrics.prom"))];

/// The channel of the sample product that most of its clusters follow.
const CHANNEL: &str = "stable-1.5";

/// The morning the samples are judged as of.
const MORNING: &str = "2026-05-04T09:00:00Z";

/// Runs the demo.
pub(crate) fn run(options: &Demo) -> Result<Exit> {
    let scratch = tempfile::tempdir().context("cannot make a directory for the sample product")?;
    let directory = match &options.keep {
        Some(directory) => {
            write_files(&directory.join(OBJECTS), &SAMPLES)?;
            write_files(&directory.join("cluster"), &CLUSTER)?;
            directory.as_path()
        }
        None => scratch.path(),
    };
    let graph_data = directory.join("graph-data");
    write_files(&graph_data, &GRAPH_DATA)?;
    let now: Timestamp = MORNING.parse()?;
    let mut out = anstream::stdout();
    let (family, findings) = judge(now);
    let trees = forest(family.judge());

    writeln!(out, "{}", heading("How are these objects doing?   (clearway status show --tree)"))?;
    write!(out, "{}", output::table(&show::HEAD, trees.iter().flat_map(|tree| show::tree_rows(tree, now))))?;
    writeln!(
        out,
        "\nThe rollout of `checkout` is not slow, it has failed: its newest pod crashes, which the Deployment itself\n\
         will not say before its deadline. `orders` has an empty status, which other tools take for well. And `cart`\n\
         says that it is ready.\n"
    )?;

    writeln!(out, "{}", heading("May one believe their status?   (clearway status lint)"))?;
    for finding in &findings {
        writeln!(out, "{}\n", terminal::render(finding, output::colour()))?;
    }
    if let Some(rule) = findings.first().and_then(|finding| lint::rule(&finding.code)) {
        writeln!(out, "{}", heading(&format!("Why is that so?   (clearway status explain {})", rule.code)))?;
        // The examples of the page are left to the command.
        let told = rule.page.split("\n## Fails").next().unwrap_or(rule.page);
        writeln!(out, "{}", told.trim_end())?;
    }
    show_graph(&mut out)?;
    show_assessment(&mut out)?;
    service::serve(&mut out, &graph_data, !options.once)?;
    writeln!(out, "\n{}", heading("Try it on your own"))?;
    match &options.keep {
        Some(directory) => {
            let shown = quoted(&directory.display().to_string());
            writeln!(out, "  clearway status show --tree -f {shown}/{OBJECTS} --now {MORNING}")?;
            writeln!(out, "  clearway status lint -f {shown}/{OBJECTS} --now {MORNING}")?;
            writeln!(
                out,
                "  clearway assess --graph {shown}/graph-data --channel {CHANNEL} --version 1.4.2 --series \
                 {shown}/cluster/metrics.prom --why"
            )?;
            writeln!(out, "  clearway serve --graph-data {shown}/graph-data")?;
        }
        None => writeln!(out, "  clearway demo --keep samples     the same objects as files, to try the commands on")?,
    }
    writeln!(out, "  clearway status show deploy -A   the Deployments of your own cluster")?;
    writeln!(out, "  clearway status lint --all       the conditions of everything in it")?;
    writeln!(
        out,
        "  clearway graph --help            the update graph; examples/graph-data holds this sample product"
    )?;
    Ok(Exit::Yes)
}

fn write_files(directory: &Path, files: &[(&str, &str)]) -> Result<()> {
    for (name, text) in files {
        let path = directory.join(name);
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent).with_context(|| format!("cannot make {}", parent.display()))?;
        }
        std::fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}

/// The update graph of the sample product: where each release may go, why one update is conditional, and whether the
/// files are sound.
fn show_graph(out: &mut impl std::io::Write) -> Result<()> {
    let inputs: Inputs = GRAPH_DATA.into_iter().collect();
    let revision = load(&inputs, &Limits::default()).revision.context("the sample graph-data is refused")?;
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
    let findings = graph::lint::findings(&inputs);
    let told =
        |finding: &&Diagnostic| finding.severity != Severity::Info || finding.code == codes::CHANNEL_STRANDED.code;
    for finding in findings.iter().filter(told) {
        writeln!(out, "{}\n", terminal::render(finding, output::colour()))?;
    }
    let count = |severity| findings.iter().filter(|finding| finding.severity == severity).count();
    writeln!(
        out,
        "{} files: {} errors, {} warnings, {} notes",
        GRAPH_DATA.len(),
        count(Severity::Error),
        count(Severity::Warning),
        count(Severity::Info)
    )?;
    Ok(())
}

/// The product's question, asked for the sample cluster: one update of each answer, with its proof.
fn show_assessment(out: &mut impl std::io::Write) -> Result<()> {
    let inputs: Inputs = GRAPH_DATA.into_iter().collect();
    let revision = load(&inputs, &Limits::default()).revision.context("the sample graph-data is refused")?;
    let [(name, metrics)] = CLUSTER;
    let series = clearway_promql::read::text(metrics.as_bytes(), Millis(0), &ReadLimits::default())?;
    let now: Timestamp = MORNING.parse()?;
    let plan = Plan::new(&revision.graph(CHANNEL, &Arch::default()), &Version::new(1, 4, 2), &Settings::default())?;
    let path = format!("cluster/{name}");
    let assessment = plan.assess(&Snapshot::new(&series, now, &path), now);
    writeln!(out, "\n{}", heading("Which updates are safe for this cluster?   (clearway assess --version 1.4.2)"))?;
    write!(out, "{}", assess::table(&assessment))?;
    writeln!(out, "\n{}", heading("And why?   (clearway assess --version 1.4.2 --why)"))?;
    writeln!(out, "{}", render::assessment(&assessment).trim_end())?;
    Ok(())
}

fn judge(now: Timestamp) -> (Family, Vec<Diagnostic>) {
    let mut family = Family::new(now, Schemas::new());
    let mut findings = Vec::new();
    let policy = Policy::new(now);
    for (name, text) in SAMPLES {
        read(text.as_bytes(), name, &Limits::default(), |found| match found {
            Found::Object { root, source, list } => match Object::new(root, source, list) {
                Ok(object) => {
                    family.add(&object);
                    lint::lint(&object, &policy, &mut findings);
                }
                Err(problem) => findings.push(*problem),
            },
            Found::Problem(problem) => findings.push(problem),
        });
    }
    (family, findings)
}

/// A word as a shell takes it for one.
fn quoted(word: &str) -> String {
    let plain = |letter: char| letter.is_alphanumeric() || "/._-+:@%~".contains(letter);
    if word.chars().all(plain) { word.to_owned() } else { format!("'{}'", word.replace('\'', r"'\''")) }
}

fn heading(text: &str) -> String {
    let style = anstyle::Style::new().bold();
    format!("{style}── {text}{style:#}\n")
}
