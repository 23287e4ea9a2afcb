//! Everything there is, on sample objects and a sample product.

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
use clearway_yaml::{Found, read};

use super::product::{Product, embedded};
use super::{heading, quoted, service, write_files};
use crate::arguments::Demo;
use crate::assess;
use crate::graph;
use crate::output;
use crate::status::family::{Family, Schemas};
use crate::status::show;

/// The sample objects, by the names they have in a directory.
const SAMPLES: [(&str, &str); 2] =
    [("shop.yaml", include_str!("../../demo/shop.yaml")), ("platform.yaml", include_str!("../../demo/platform.yaml"))];

/// Where they are in a directory that is kept.
const OBJECTS: &str = "objects";

/// The sample product, and a cluster that runs it.
const PRODUCT: Product = Product {
    home: "examples",
    graph_data: embedded! { "graph-data":
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
    },
    cluster: embedded! { "cluster": "series.snap" "snapshot.json" },
};

/// The channel of the sample product that most of its clusters follow.
const CHANNEL: &str = "stable-1.5";

/// Shows it.
pub(super) fn run(out: &mut impl Write, options: &Demo) -> Result<()> {
    let scratch = tempfile::tempdir().context("cannot make a directory for the sample product")?;
    let directory = match &options.keep {
        Some(directory) => {
            write_files(&directory.join(OBJECTS), &SAMPLES)?;
            directory.as_path()
        }
        None => scratch.path(),
    };
    PRODUCT.write(directory)?;
    // The objects are of the same morning as the snapshot of the cluster.
    let now = PRODUCT.taken_at()?;
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
    show_graph(out)?;
    show_assessment(out, options.keep.as_deref())?;
    service::serve(out, &directory.join("graph-data"), CHANNEL, !options.once)?;
    writeln!(out, "\n{}", heading("Try it on your own"))?;
    match &options.keep {
        Some(directory) => {
            let shown = quoted(&directory.display().to_string());
            writeln!(out, "  clearway status show --tree -f {shown}/{OBJECTS} --now {now}")?;
            writeln!(out, "  clearway status lint -f {shown}/{OBJECTS} --now {now}")?;
            writeln!(out, "  {} --why", PRODUCT.command(Some(directory)))?;
            writeln!(out, "  clearway serve --graph-data {shown}/graph-data")?;
        }
        None => writeln!(out, "  clearway demo --keep samples     the same objects as files, to try the commands on")?,
    }
    writeln!(out, "  clearway demo story              one cluster with three risks on its way, told in full")?;
    writeln!(out, "  clearway status show deploy -A   the Deployments of your own cluster")?;
    writeln!(out, "  clearway status lint --all       the conditions of everything in it")?;
    writeln!(
        out,
        "  clearway graph --help            the update graph; examples/graph-data holds this sample product"
    )?;
    Ok(())
}

/// The update graph of the sample product: where each release may go, why one update is conditional, and whether the
/// files are sound.
fn show_graph(out: &mut impl Write) -> Result<()> {
    let revision = PRODUCT.revision()?;
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
    let findings = graph::lint::findings(&PRODUCT.inputs());
    let told =
        |finding: &&Diagnostic| finding.severity != Severity::Info || finding.code == codes::CHANNEL_STRANDED.code;
    for finding in findings.iter().filter(told) {
        writeln!(out, "{}\n", terminal::render(finding, output::colour()))?;
    }
    let count = |severity| findings.iter().filter(|finding| finding.severity == severity).count();
    writeln!(
        out,
        "{} files: {} errors, {} warnings, {} notes",
        PRODUCT.graph_data.len(),
        count(Severity::Error),
        count(Severity::Warning),
        count(Severity::Info)
    )?;
    Ok(())
}

/// The product's question, asked for the sample cluster: one update of each answer, with its proof.
fn show_assessment(out: &mut impl Write, kept_in: Option<&Path>) -> Result<()> {
    let assessment = PRODUCT.assess(kept_in)?;
    let command = PRODUCT.command(kept_in);
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
