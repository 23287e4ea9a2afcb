//! Scenario: all features, on sample objects and a sample product.

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

use super::console;
use super::hints::introduce;
use super::manifests::{self, show_gateway, show_policies};
use super::narration::Narrator;
use super::platform::{CHANNEL, PLATFORM};
use super::stage::Stage;
use super::status_wait::is_settled;
use super::{QUESTION, quoted, service, without_checks, write_files};
use crate::commands::assess;
use crate::commands::bundle::findings_table;
use crate::commands::explain;
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

/// Findings about the status of objects that are shown.
const SHOWN_FINDINGS: usize = 2;
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
    tell_story(narrator).await?;
    show_assessment(narrator, kept_in).await?;

    narrator.page("What does the administrator see?").await?;
    introduce(stage, narrator).await?;
    stage.until("advice", is_settled).await?;
    let root = stage.state.root().to_owned();
    narrator.upgrade(&root, &["recommend"]).await?;
    console::show_page(stage, narrator).await?;

    show_graph(narrator).await?;
    narrator.page("How do clusters get the graph?").await?;
    narrator.command("clearway serve --graph DIR")?;
    service::show(stage, narrator).await?;

    // The objects are of the same morning as the snapshot of the cluster.
    show_objects(narrator, PLATFORM.taken_at()?).await?;
    show_bundles(narrator).await?;
    show_gateway(narrator).await?;
    show_policies(narrator).await?;
    match kept_in {
        Some(directory) => show_commands(narrator, directory).await,
        None => Ok(()),
    }
}

/// Why the product exists: the story of the enhancement "targeted update edge blocking".
async fn tell_story(narrator: &mut Narrator) -> Result<()> {
    narrator.page(QUESTION).await?;
    narrator.prose(
        "A cluster runs 4.6.23 on vSphere, with virtual hardware version 14, behind a proxy. Its administrator wants 4.7.4. \
         Others have updated already, and found three bugs: nodes on vSphere lose their names, traffic between nodes is lost on \
         hardware version 14, and behind a proxy the authentication operator takes more and more memory. The publisher of the \
         releases knows about them.",
    )?;
    narrator.lines("")?;
    narrator.prose(
        "If they withdraw the update, every cluster has to wait, also those that never had the problems. If they do not, \
         some clusters break. So they publish the update with its risks, and with rules that say which clusters have them.",
    )?;
    narrator.lines("")?;
    narrator.prose(
        "Each cluster evaluates the rules with its own evidence: metrics, objects, conditions. You get an answer for your \
         cluster, with the proof. What cannot be evaluated is never recommended.",
    )?;
    narrator.lines("")?;
    narrator.prose(
        "`clearway demo story` is about this cluster. This tour shows all features on a smaller sample product, with the real \
         update service and the real operator, and without a cluster.",
    )
}

/// Whether objects are healthy, and whether what they report is reliable.
async fn show_objects(narrator: &mut Narrator, now: Timestamp) -> Result<()> {
    let (family, findings) = judge(now);
    let trees = forest(family.judge());
    narrator.page("Are these objects healthy?").await?;
    narrator.command("clearway status show --tree -f objects")?;
    // Health, reason and object of each row; the times and messages are left to the command.
    let rows = trees.iter().flat_map(|tree| show::tree_rows(tree, now)).map(|row| shown_cells(&row));
    narrator.table(&output::table(
        &shown_cells(&show::HEAD.map(str::to_owned)).each_ref().map(String::as_str),
        rows.map(Vec::from),
    ))?;
    narrator.lines("")?;
    narrator.prose(
        "The rollout of `checkout` is not slow, it has failed: its newest pod crashes, which the Deployment reports only at \
         its deadline. `orders` has an empty status, which other tools treat as healthy. `cart` reports that it is ready.",
    )?;

    narrator.page("Is the reported status reliable?").await?;
    narrator.command("clearway status lint -f objects")?;
    for finding in findings.iter().take(SHOWN_FINDINGS) {
        narrator.styled(&format!("{}\n\n", terminal::render(finding, output::colour())))?;
    }
    narrator.prose(&format!("And {} more.", findings.len().saturating_sub(SHOWN_FINDINGS)))?;
    if let Some(finding) = findings.first() {
        narrator.page(&format!("What does {} mean?", finding.code)).await?;
        narrator.command(&format!("clearway explain {}", finding.code))?;
        let page = explain::page_text(&finding.code).context("a code of a finding has no page")?;
        // The examples are left to the command.
        narrator.lines(page.split("\nWrong:").next().unwrap_or_default().trim_end())?;
    }
    Ok(())
}

/// The cells of a row that fit.
fn shown_cells(row: &[String]) -> [String; 3] {
    [0, 2, 4].map(|at| row.get(at).cloned().unwrap_or_default())
}

/// The commands on the files that are kept.
async fn show_commands(narrator: &mut Narrator, directory: &Path) -> Result<()> {
    let (shown, now) = (quoted(&directory.display().to_string()), PLATFORM.taken_at()?);
    narrator.page("The same commands on the files").await?;
    narrator.verbatim(&format!("  clearway status show --tree -f {shown}/{OBJECTS} --now {now}"))?;
    narrator.verbatim(&format!("  clearway status lint -f {shown}/{OBJECTS} --now {now}"))?;
    narrator.verbatim(&format!("  {} --why", PLATFORM.command(Some(directory))))?;
    let [old, new] = BUNDLES.map(|(name, _)| format!("{shown}/{BUNDLES_DIRECTORY}/{name}"));
    narrator.verbatim(&format!("  clearway bundle check {old} {new}"))?;
    narrator.verbatim(&format!("  clearway gateway status -f {shown}/gateway --tree"))?;
    narrator.verbatim(&format!(
        "  clearway policy explain {shown}/policies/namespace.yaml -f {shown}/policies/owner.yaml"
    ))?;
    narrator.verbatim(&format!("  clearway serve --graph {shown}/graph-data"))
}

/// The update graph of the sample product: where each release may go, why one update is conditional, and whether the
/// files are sound.
async fn show_graph(narrator: &mut Narrator) -> Result<()> {
    let revision = PLATFORM.revision()?;
    let arch = Arch::default();
    narrator.page("Where do the updates come from?").await?;
    narrator.command(&format!("clearway graph show {CHANNEL} --graph examples/graph-data"))?;
    narrator.table(&graph::show::table(&revision.graph(CHANNEL, &arch)))?;
    let (from, to) = (Version::new(1, 4, 2), Version::new(1, 5, 0));
    let explanation = revision.explain(&from, &to, &arch).context("the sample product has too few releases")?;
    narrator.page(&format!("Why not from {from} to {to} directly?")).await?;
    narrator.command(&format!("clearway graph explain {from} {to} --graph examples/graph-data"))?;
    narrator.lines(&graph::explain::text(&explanation))?;
    narrator.page("Are the graph-data files valid?").await?;
    narrator.command("clearway graph lint --graph examples/graph-data")?;
    let findings = graph::lint::findings(&PLATFORM.inputs());
    let told =
        |finding: &&Diagnostic| finding.severity != Severity::Info || finding.code == codes::CHANNEL_STRANDED.code;
    for finding in findings.iter().filter(told) {
        narrator.styled(&format!("{}\n\n", terminal::render(finding, output::colour())))?;
    }
    let count = |severity| findings.iter().filter(|finding| finding.severity == severity).count();
    narrator.prose(&format!(
        "{} files: {} errors, {} warnings, {} notes",
        PLATFORM.graph_data.len(),
        count(Severity::Error),
        count(Severity::Warning),
        count(Severity::Info)
    ))
}

/// The product's question, asked for the sample cluster: one update of each answer, and the proof for one of them.
async fn show_assessment(narrator: &mut Narrator, kept_in: Option<&Path>) -> Result<()> {
    let assessment = PLATFORM.assess(kept_in)?;
    let command = PLATFORM.command(kept_in);
    narrator.page("Which updates are safe for this cluster?").await?;
    narrator.prose("The sample cluster runs 1.4.2, also behind a proxy.")?;
    narrator.lines("")?;
    narrator.command(&command)?;
    narrator.table(&assess::table(&assessment))?;
    narrator.lines("")?;
    narrator.prose(
        "The cluster is behind a proxy, so the risk ProxyTimeouts applies to it. Its disks are not measured, so SlowEtcd is \
         unknown: that is not taken for a yes.",
    )?;
    let update = assessment.updates.iter().find(|update| update.version == Version::new(1, 5, 0));
    let update = update.context("the sample cluster has no such update")?;
    narrator.page("And why?").await?;
    narrator.command(&format!("{command} --why"))?;
    narrator.lines(without_checks(&render::update(update)).trim_end())?;
    narrator.lines("")?;
    narrator.prose("With each query it also prints a command that repeats it.")
}

/// Two releases of CRDs compared: what a minor version may change, the change that it may not, and why.
async fn show_bundles(narrator: &mut Narrator) -> Result<()> {
    let [old, new] = BUNDLES.map(|(name, text)| {
        let mut reader = BundleReader::new(name, "data.example.com", BundleLimits::default());
        reader.add_file(name, text.as_bytes());
        reader.finish()
    });
    narrator.page("May this change of CRDs ship in a minor version?").await?;
    narrator.command("clearway bundle check bundles/v1.0.0.yaml bundles/v1.1.0.yaml --show-allowed")?;
    let judgement = Comparison::new(&old, &new).judge();
    let findings: Vec<&Finding> = judgement.findings.iter().collect();
    narrator.table(&findings_table(&findings))?;
    let violation = findings.iter().find(|finding| finding.verdict == Verdict::Violation);
    let violation = violation.context("the sample bundles have no violation")?;
    let rule = Rule::find(violation.rule.as_str()).context("the rule of a finding is unknown")?;
    narrator.lines("")?;
    narrator.prose(&format!("{}: {}. {} {}", rule.id, rule.title, rule.why, violation.stored_objects))
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
