//! `clearway assess`: which updates are recommended for a cluster, and why.

pub(crate) mod cluster;
pub(crate) mod opened_evidence;
pub(crate) mod products;
pub(crate) mod prometheus_evidence;
mod release_findings;
pub(crate) mod release_reader;
pub(crate) mod snapshot_evidence;
mod update_path;

use std::time::Duration;

use anyhow::{Context as _, Result, anyhow, bail};
use clearway_advice::{Assessment, Plan, Settings, Status, Update, render};
use clearway_core::{Version, humanize};
use clearway_graph::paths;
use serde::Serialize;

use crate::arguments::{Assess, ClusterAccess, DataFormat, GraphSource};
use crate::commands::graph;
use crate::commands::graph::source::{self, View};
use crate::exit::Exit;
use crate::output::{self, Document};
use cluster::ClusterInfo;
use opened_evidence::OpenedEvidence;
use release_findings::{OpenedRelease, ReleaseFindings, WithRelease};
use release_reader::{ReleaseReader, ReleaseSources};
use update_path::UpdatePaths;

/// The columns of the list.
pub(crate) const HEAD: [&str; 5] = ["VERSION", "RECOMMENDED", "REASON", "AGE", "RISKS"];

/// What there is to find out about a cluster.
pub(crate) struct AssessmentPlan {
    pub(crate) plan: Plan,
    /// The cluster's id.
    pub(crate) id: Option<String>,
    settings: Settings,
    version: Version,
    view: View,
}

impl AssessmentPlan {
    /// The same with what the ways to a version need to know.
    pub(crate) fn toward(mut self, target: &Version) -> Result<Self> {
        let found = paths(&self.view.graph, &self.version, target).map_err(|why| anyhow!("{why}"))?;
        self.plan = self.plan.with_path(&found.shortest).with_path(&found.fewest_risks.path);
        Ok(self)
    }
}

/// Runs the command.
pub(crate) fn run(options: &Assess) -> Result<Exit> {
    if options.products.is_any() {
        return products::run(options);
    }
    if options.products.catalog.catalog.is_some() {
        bail!("--catalog needs --product or --all-products");
    }
    let mut given = OpenedEvidence::open(&options.evidence, &options.source.trust)?;
    if options.why || options.to.is_some() || options.release.is_some() {
        given = given.showing_values();
    }
    let release = OpenedRelease::open(options)?;
    let named = release.as_ref().map(|release| release.payload().clone());
    let evidence = &options.evidence;
    let about = given.about()?;
    let sources = ReleaseSources {
        source: &options.source,
        catalog: None,
        allowed: &options.release_hosts,
        running: about.image.as_deref(),
    };
    given = given.with_releases(ReleaseReader::new(&sources, evidence.cluster.arch.arch.clone(), named)?);
    let planned = plan_assessment(&options.source, &evidence.cluster, about, evidence.time.max_age)?;
    let format = options.output.format;
    let to = options.to.as_ref().map(Version::without_build).or_else(|| Some(release.as_ref()?.version()));
    let release = release.map(|release| release.check(&given)).transpose()?;
    let answer = Answer { format, release: release.as_ref(), target: to.as_ref().map(ToString::to_string) };
    if let Some(to) = to {
        return answer_target(&given, planned, &to, &answer);
    }
    let AssessmentPlan { plan, id, .. } = planned;
    let assessment = given.evaluate(&plan, id.as_deref(), |evidence, now| plan.assess(evidence, now))?;
    let risks = assessment.updates.iter().flat_map(|update| &update.risks);
    let is_incomplete = given.report_unreachable(risks.map(AsRef::as_ref));
    all(options, &assessment, is_incomplete)
}

/// Shows one update, or the paths to a version that is several updates away.
fn answer_target(
    given: &OpenedEvidence<'_>,
    planned: AssessmentPlan,
    to: &Version,
    answer: &Answer<'_>,
) -> Result<Exit> {
    let AssessmentPlan { plan, id, settings, version, view } = planned;
    if plan.targets().all(|target| target != to) {
        let found = match update_path::find_paths(&view, &version, to, answer)? {
            Ok(found) => found,
            Err(exit) => return Ok(exit),
        };
        let plan = plan.with_path(&found.shortest).with_path(&found.fewest_risks.path);
        let ways = given
            .evaluate(&plan, id.as_deref(), |evidence, now| UpdatePaths::assess(&found, evidence, now, &settings))?;
        let ways = ways.context("the path has no updates")?;
        given.report_unreachable(ways.risks());
        return ways.print(answer);
    }
    let assessment = given.evaluate(&plan, id.as_deref(), |evidence, now| plan.assess(evidence, now))?;
    let update = assessment.update(to).with_context(|| format!("there is no update to {to}"))?;
    given.report_unreachable(update.risks.iter().map(AsRef::as_ref));
    answer.print(update, status_exit(update.recommended.status), || render::update(update))
}

/// How an answer is printed, and what a release adds to it.
struct Answer<'a> {
    format: DataFormat,
    release: Option<&'a ReleaseFindings>,
    /// The version that is asked about.
    target: Option<String>,
}

impl Answer<'_> {
    fn print<T: Serialize>(&self, answer: &T, exit: Exit, text: impl FnOnce() -> String) -> Result<Exit> {
        let document = |text: String| Document::from(text).named(self.target.clone());
        let Some(release) = self.release else {
            output::print_data(self.format, answer, || document(text()))?;
            return Ok(exit);
        };
        output::print_data(self.format, &WithRelease { answer, release }, || document(text() + &release.text()))?;
        Ok(release.combine(exit))
    }
}

/// What there is to find out about a cluster, and its id: by what was named, and else by what the cluster says.
pub(crate) fn plan_assessment(
    graph: &GraphSource,
    access: &ClusterAccess,
    about: ClusterInfo,
    max_age: Duration,
) -> Result<AssessmentPlan> {
    let version = access.version.clone().or(about.version);
    let version = version.context("the version of the cluster is unknown; pass --version")?.without_build();
    let channel = access.channel.clone().or(about.channel);
    let view = source::view_for(graph, channel.as_deref(), access.arch.arch.as_ref(), about.arch.as_ref())?;
    plan_view(view, &version, access, access.cluster_id.clone().or(about.id), max_age)
}

/// What there is to find out about a version of a channel.
pub(crate) fn plan_view(
    mut view: View,
    version: &Version,
    access: &ClusterAccess,
    id: Option<String>,
    max_age: Duration,
) -> Result<AssessmentPlan> {
    let version = version.clone();
    let settings = Settings { max_age, fence: access.queries.fence()?, ..Settings::default() };
    let mut plan = Plan::new(&view.graph, &version, &settings).map_err(|error| {
        let hint = graph::version_hint(&view.graph, &version);
        anyhow!("{} cannot be assessed: {error}{hint}", view.name)
    })?;
    plan = plan.with_diagnostics(std::mem::take(&mut view.diagnostics));
    if let Some(revision) = &view.revision {
        plan = plan.with_revision(revision.id().to_string());
    }
    if access.shared_store && id.is_none() {
        bail!("--shared-store needs the cluster id; pass --cluster-id");
    }
    Ok(AssessmentPlan { plan, id, settings, version, view })
}

/// Shows every update. `is_incomplete`: a source of evidence that is needed could not be reached.
fn all(options: &Assess, assessment: &Assessment, is_incomplete: bool) -> Result<Exit> {
    output::print_data(options.output.format, assessment, || {
        let targets = assessment.updates.iter().map(|update| update.version.to_string());
        if options.why { Document::from(render::assessment(assessment)).named(targets) } else { table(assessment) }
    })?;
    let any = |status| assessment.with_status(status).next().is_some();
    Ok(if is_incomplete {
        Exit::Unknown
    } else if any(Status::True) {
        Exit::Yes
    } else if any(Status::Unknown) {
        Exit::Unknown
    } else {
        Exit::No
    })
}

/// One line per update.
pub(crate) fn table(assessment: &Assessment) -> Document {
    if assessment.updates.is_empty() {
        let none = format!("there is no update from {}\n", assessment.cluster.version);
        return Document::from(none).named([]);
    }
    output::table(&HEAD, assessment.updates.iter().map(row)).into()
}

fn row(update: &Update) -> Vec<String> {
    let risks: Vec<&str> = update.risks.iter().map(|risk| risk.name.as_str()).collect();
    let recommended = &update.recommended;
    let age = update.evidence_age().map_or_else(|| "-".to_owned(), humanize);
    let (version, status) = (update.version.to_string(), recommended.status.to_string());
    vec![version, status, recommended.reason.clone(), age, risks.join(", ")]
}

fn status_exit(status: Status) -> Exit {
    match status {
        Status::True => Exit::Yes,
        Status::False => Exit::No,
        Status::Unknown => Exit::Unknown,
    }
}
