//! Scenario: all features, on sample objects and a sample product.

use std::io::Write;
use std::path::Path;

use anyhow::{Context as _, Result};
use clearway_advice::render;
use clearway_bundle::{BundleLimits, BundleReader, Comparison, Finding, Rule, Verdict};
use clearway_conditions::Object;
use clearway_conditions::health::forest;
use clearway_conditions::lint::{self, Policy};
use clearway_core::diagnostic::terminal;
use clearway_core::{Arch, Diagnostic, Limits, Severity, Timestamp, Version};
use clearway_graph::codes;
use clearway_yaml::{ReadEvent, read};

use super::hints::introduce;
use super::manifests::{self, show_gateway, show_policies};
use super::narration::Narrator;
use super::platform::{CHANNEL, PLATFORM};
use super::stage::Stage;
use super::status_wait::is_settled;
use super::{heading, quoted, service, write_files};
use crate::commands::assess;
use crate::commands::bundle::findings_table;
use crate::commands::graph;
use crate::commands::status::related_objects::{RelatedObjects, Schemas};
use crate::commands::status::show;
use crate::output;

/// The sample objects, by the names they have in a directory.
const SAMPLES: [(&str, &str); 2] = [
    ("shop.yaml", include_str!("../../../demo/shop.yaml")),
    ("platform.yaml", include_str!("../../../demo/platform.yaml")),
];

/// Two releases of the CRDs of a small product.
const BUNDLES: [(&str, &str); 2] = [
    ("v1.0.0.yaml", include_str!("../../../../../examples/bundles/v1.0.0.yaml")),
    ("v1.1.0.yaml", include_str!("../../../../../examples/bundles/v1.1.0.yaml")),
];

/// Where the objects are in a directory that is kept.
const OBJECTS: &str = "objects";
/// Where the bundles are in it.
const BUNDLES_DIRECTORY: &str = "bundles";

/// Shows it.
pub(super) async fn run(stage: &mut Stage, narrator: &mut Narrator, kept_in: Option<&Path>) -> Result<()> {
    if let Some(directory) = kept_in {
        write_files(&directory.join(OBJECTS), &SAMPLES)?;
        write_files(&directory.join(BUNDLES_DIRECTORY), &BUNDLES)?;
        write_files(&directory.join("gateway"), &manifests::GATEWAY)?;
        write_files(&directory.join("policies"), &manifests::POLICIES)?;
    }
    // The objects are of the same morning as the snapshot of the cluster.
    let now = PLATFORM.taken_at()?;
    let (family, findings) = judge(now);
    let trees = forest(family.judge());
    let out = &mut narrator.out;

    writeln!(out, "{}", heading("Are these objects healthy?   (clearway status show --tree)"))?;
    write!(out, "{}", output::table(&show::HEAD, trees.iter().flat_map(|tree| show::tree_rows(tree, now))))?;
    narrator.lines("")?;
    narrator.prose(
        "The rollout of `checkout` is not slow, it has failed: its newest pod crashes, which the Deployment reports only at \
         its deadline. `orders` has an empty status, which other tools treat as healthy. `cart` reports that it is ready.",
    )?;

    narrator.heading("Is the reported status reliable?   (clearway status lint)")?;
    let out = &mut narrator.out;
    for finding in &findings {
        writeln!(out, "{}\n", terminal::render(finding, output::colour()))?;
    }
    if let Some(rule) = findings.first().and_then(|finding| lint::rule(&finding.code)) {
        writeln!(out, "{}", heading(&format!("What does the rule mean?   (clearway status explain {})", rule.code)))?;
        // The examples of the page are left to the command.
        let told = rule.page.split("\n## Fails").next().unwrap_or(rule.page);
        writeln!(out, "{}", told.trim_end())?;
    }
    show_graph(out)?;
    show_assessment(out, kept_in)?;
    show_bundles(out)?;
    show_gateway(out)?;
    show_policies(out)?;
    if let Some(directory) = kept_in {
        let shown = quoted(&directory.display().to_string());
        writeln!(out, "\n{}", heading("The same commands on the files"))?;
        writeln!(out, "  clearway status show --tree -f {shown}/{OBJECTS} --now {now}")?;
        writeln!(out, "  clearway status lint -f {shown}/{OBJECTS} --now {now}")?;
        writeln!(out, "  {} --why", PLATFORM.command(Some(directory)))?;
        let [old, new] = BUNDLES.map(|(name, _)| format!("{shown}/{BUNDLES_DIRECTORY}/{name}"));
        writeln!(out, "  clearway bundle check {old} {new}")?;
        writeln!(out, "  clearway gateway status -f {shown}/gateway --tree")?;
        writeln!(out, "  clearway policy explain {shown}/policies/namespace.yaml -f {shown}/policies/owner.yaml")?;
        writeln!(out, "  clearway serve --graph {shown}/graph-data")?;
    }
    narrator.heading("How do clusters get the graph?   (clearway serve --graph DIR)")?;
    service::show(stage, narrator).await?;
    narrator.heading("How is a cluster kept up to date?   (clearway operator)")?;
    introduce(stage, narrator).await?;
    stage.until("advice", is_settled).await?;
    let root = stage.state.root().to_owned();
    narrator.upgrade(&root, &["--include-not-recommended"]).await
}

/// The update graph of the sample product: where each release may go, why one update is conditional, and whether the
/// files are sound.
fn show_graph(out: &mut impl Write) -> Result<()> {
    let revision = PLATFORM.revision()?;
    let arch = Arch::default();
    writeln!(out, "\n{}", heading("Which updates does a release have?   (clearway graph show stable-1.5)"))?;
    write!(out, "{}", graph::show::table(&revision.graph(CHANNEL, &arch)))?;
    let (from, to) = (Version::new(1, 4, 2), Version::new(1, 5, 0));
    let explanation = revision.explain(&from, &to, &arch).context("the sample product has too few releases")?;
    writeln!(
        out,
        "\n{}",
        heading(&format!("Why not from {from} to {to} directly?   (clearway graph explain {from} {to})"))
    )?;
    writeln!(out, "{}", graph::explain::text(&explanation))?;
    writeln!(out, "\n{}", heading("Are the graph-data files valid?   (clearway graph lint)"))?;
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

/// Two releases of CRDs compared: what a minor version may change, the change that it may not, and why.
fn show_bundles(out: &mut impl Write) -> Result<()> {
    let [old, new] = BUNDLES.map(|(name, text)| {
        let mut reader = BundleReader::new(name, "data.example.com", BundleLimits::default());
        reader.add_file(name, text.as_bytes());
        reader.finish()
    });
    writeln!(
        out,
        "\n{}",
        heading("May this change of CRDs ship in a minor version?   (clearway bundle check OLD NEW --show-allowed)")
    )?;
    let judgement = Comparison::new(&old, &new).judge();
    let findings: Vec<&Finding> = judgement.findings.iter().collect();
    write!(out, "{}", findings_table(&findings))?;
    let violation = findings.iter().find(|finding| finding.verdict == Verdict::Violation);
    let violation = violation.context("the sample bundles have no violation")?;
    let rule = Rule::find(violation.rule.as_str()).context("the rule of a finding is unknown")?;
    writeln!(out, "\n{}", heading(&format!("And why not?   (clearway bundle explain {})", rule.id)))?;
    writeln!(out, "{}: {}. {}\n{}", rule.id, rule.title, rule.why, violation.stored_objects)?;
    Ok(())
}

fn judge(now: Timestamp) -> (RelatedObjects, Vec<Diagnostic>) {
    let mut family = RelatedObjects::new(now, Schemas::new());
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
