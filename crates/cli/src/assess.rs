//! `clearway assess`: which updates are safe for a cluster, and why.

pub(crate) mod cluster;
pub(crate) mod kept;
pub(crate) mod live;
mod objects;

use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use clearway_advice::evidence::{Recorded, Snapshot};
use clearway_advice::{Assessment, Plan, Settings, Status, Update, render};
use clearway_core::{Timestamp, Version};
use clearway_promql::{Millis, Series};
use clearway_sources::clock;

use crate::arguments::{Assess, ClusterAccess, GraphSource};
use crate::exit::Exit;
use crate::graph::source;
use crate::output;
use crate::promql::series;
use cluster::{About, Connected};

/// The columns of the list.
pub(crate) const HEAD: [&str; 4] = ["VERSION", "RECOMMENDED", "REASON", "RISKS"];

/// Runs the command.
pub(crate) fn run(options: &Assess) -> Result<Exit> {
    let access = &options.cluster;
    let kept = options.snapshot.as_deref().map(|path| kept::read(path, access.shared_store)).transpose()?;
    let connected = Connected::open(access)?;
    let about = match (&kept, &connected) {
        (Some(kept), _) => kept.about(),
        (None, Some(connected)) => connected.about()?,
        (None, None) => About::default(),
    };
    let (plan, id) = planned(&options.source, access, about, options.max_age)?;
    let assessment = match &kept {
        Some(kept) => kept.assess(&plan, options.now),
        None => assessed(options, &plan, connected.as_ref(), id.as_deref())?,
    };
    match &options.to {
        Some(to) => one(options, &assessment, &to.without_build()),
        None => all(options, &assessment),
    }
}

/// What there is to find out about a cluster, and its id: by what was named, and else by what the cluster says.
pub(crate) fn planned(
    graph: &GraphSource,
    access: &ClusterAccess,
    about: About,
    max_age: Duration,
) -> Result<(Plan, Option<String>)> {
    let version = access.version.clone().or(about.version);
    let version = version.context("which version does the cluster run? name it with --version")?.without_build();
    let channel = access.channel.clone().or(about.channel);
    let arch = access.arch.arch.clone().or(about.arch);
    let view = source::view(graph, channel.as_deref(), arch.as_ref())?;
    let settings = Settings { max_age, ..Settings::default() };
    let mut plan =
        Plan::new(&view.graph, &version, &settings).with_context(|| format!("{} cannot be assessed", view.name))?;
    if let Some(revision) = &view.revision {
        plan = plan.with_revision(revision.id().to_string());
    }
    let id = access.cluster_id.clone().or(about.id);
    if access.shared_store && id.is_none() {
        bail!("--shared-store needs to know whose metrics are meant: name the cluster with --cluster-id");
    }
    Ok((plan, id))
}

/// The plan with the evidence that was named.
fn assessed(options: &Assess, plan: &Plan, connected: Option<&Connected>, id: Option<&str>) -> Result<Assessment> {
    let objects = connected.map(|connected| objects::look(plan, connected)).transpose()?.flatten();
    if let Some(url) = &options.cluster.prometheus {
        let evidence = Recorded { objects, ..live::ask(plan, url, options, id)? };
        return Ok(plan.assess(&evidence, options.now.unwrap_or_else(clock::now)));
    }
    let metrics = Metrics::read(options)?;
    // What is kept is assessed as of then, unless a cluster that lives now has a say.
    let present = if objects.is_some() { clock::now() } else { metrics.taken_at };
    let evidence = Snapshot {
        series: metrics.series.as_ref(),
        objects: objects.as_ref(),
        cluster_id: id,
        store_id: id.filter(|_| options.cluster.shared_store),
        ..Snapshot::empty(metrics.taken_at, &metrics.name)
    };
    Ok(plan.assess(&evidence, options.now.unwrap_or(present)))
}

/// One update, with its proof.
fn one(options: &Assess, assessment: &Assessment, to: &Version) -> Result<Exit> {
    let Some(update) = assessment.update(to) else {
        let from = &assessment.cluster.version;
        bail!("there is no update from {from} to {to}; `clearway graph explain` tells why");
    };
    output::print_data(options.output.format, update, || render::update(update))?;
    Ok(exit(update.recommended.status))
}

fn all(options: &Assess, assessment: &Assessment) -> Result<Exit> {
    output::print_data(options.output.format, assessment, || {
        if options.why { render::assessment(assessment) } else { table(assessment) }
    })?;
    let any = |status| assessment.with_status(status).next().is_some();
    Ok(if any(Status::True) {
        Exit::Yes
    } else if any(Status::Unknown) {
        Exit::Unknown
    } else {
        Exit::No
    })
}

/// One line per update.
pub(crate) fn table(assessment: &Assessment) -> String {
    if assessment.updates.is_empty() {
        return format!("there is no update from {}\n", assessment.cluster.version);
    }
    output::table(&HEAD, assessment.updates.iter().map(row))
}

fn row(update: &Update) -> Vec<String> {
    let risks: Vec<&str> = update.risks.iter().map(|risk| risk.name.as_str()).collect();
    let recommended = &update.recommended;
    vec![update.version.to_string(), format!("{:?}", recommended.status), recommended.reason.clone(), risks.join(", ")]
}

fn exit(status: Status) -> Exit {
    match status {
        Status::True => Exit::Yes,
        Status::False => Exit::No,
        Status::Unknown => Exit::Unknown,
    }
}

/// The metrics that were given, if any were.
struct Metrics {
    series: Option<Series>,
    /// When the newest of them was seen; the present without any.
    taken_at: Timestamp,
    name: String,
}

impl Metrics {
    fn read(options: &Assess) -> Result<Self> {
        let now = options.now.unwrap_or_else(clock::now);
        let Some(path) = &options.series else {
            return Ok(Metrics { series: None, taken_at: now, name: String::new() });
        };
        let name = path.display().to_string();
        let bytes = series::input(path)?;
        let at = Millis(now.as_seconds().saturating_mul(1_000));
        let series =
            series::read(&bytes, options.series_format, at).map_err(|error| anyhow::anyhow!("{name}: {error}"))?;
        let newest = series.iter().filter_map(|(_, samples)| samples.times.last().copied()).max();
        let taken_at = newest.and_then(|millis| Timestamp::from_seconds(millis.div_euclid(1_000)).ok()).unwrap_or(now);
        Ok(Metrics { series: Some(series), taken_at, name })
    }
}
