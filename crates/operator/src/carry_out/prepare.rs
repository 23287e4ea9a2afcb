//! Gets everything ready for an update without writing anything: the release, and what speaks against it here.

use clearway_core::{Event, EventType};
use clearway_release::Payload;
use clearway_sources::store::Store;
use tokio::sync::watch;

use super::retrieve::{Refusal, Retrieved, retrieve};
use super::{Settings, collect_view};
use clearway_update::preflight::{self, Finding};
use clearway_update::rollout::{Prepared, Rollout, Step};
use clearway_update::task::{Task, Veto};

/// Findings that are recorded with an update; a hundred broken workloads need no hundred sentences.
const RECORDED: usize = 20;

/// Gets everything ready, and goes on until that is done: what is not acceptable or cannot be had is said, and tried again.
/// That it is accepted is for the caller to say, who holds the release then.
pub async fn prepare<S: Store>(
    store: &S,
    settings: &Settings,
    task: &Task,
    report: &watch::Sender<Rollout>,
) -> (Prepared, Payload) {
    let request = || task.request.clone();
    let mut refused: Option<(bool, u32)> = None;
    loop {
        let first = refused.is_none();
        let at = |step| {
            // Once it was refused, that stands until something else comes of it.
            if first {
                report.send_replace(Rollout::Preparing { request: request(), step });
            }
        };
        match attempt(store, settings, task, at).await {
            Ok(ready) => return ready,
            Err(Refusal { step, why, passing }) => {
                tracing::warn!(step = step.reason(), why, "the release is not accepted");
                report.send_replace(Rollout::NotAccepted { request: request(), step, why });
                let times = refused.filter(|(before, _)| *before == passing).map_or(0, |(_, times)| times);
                let times = times.saturating_add(1);
                refused = Some((passing, times));
                tokio::time::sleep(settings.pace.retry(times, passing, settings.jitter)).await;
            }
        }
    }
}

async fn attempt<S: Store>(
    store: &S,
    settings: &Settings,
    task: &Task,
    mut at: impl FnMut(Step),
) -> Result<(Prepared, Payload), Refusal> {
    let Retrieved { payload, hash, verified, mut overridden } = retrieve(settings, task, &mut at).await?;
    if !task.begun {
        at(Step::Preconditions);
        let downgrade = task.current.downgrade_to(&payload.version().to_string(), &task.request.release.image);
        if let Some(why) = downgrade.and_then(|downgrade| downgrade.refusal()).filter(|_| !task.request.force) {
            return Err(Refusal::new(Step::Preconditions, why));
        }
        let view = collect_view(store, settings, task, &payload).await.map_err(|error| Refusal {
            step: Step::Preconditions,
            why: format!("cannot read the objects of the cluster: {error}"),
            passing: true,
        })?;
        let findings = preflight::findings(&view);
        if let Some(why) = veto(settings, task, &findings) {
            return Err(Refusal::new(Step::Preconditions, why));
        }
        tell(store, task, &payload.version().to_string(), &findings).await;
        overridden.extend(record(&findings));
    }
    let managed = payload.manifests.iter().filter(|manifest| !task.unmanaged.contains(&manifest.id));
    let (version, objects) = (payload.version().to_string(), managed.count());
    Ok((Prepared { version, hash, verified, overridden, objects }, payload))
}

/// Why the update does not begin, if an administrator wants findings to hold it up.
fn veto(settings: &Settings, task: &Task, findings: &[Finding]) -> Option<String> {
    let asked = settings.veto == Veto::WhenBlocking || task.veto == Veto::WhenBlocking;
    if !asked || task.request.force {
        return None;
    }
    let blocking: Vec<String> =
        findings.iter().filter(|finding| finding.is_blocking()).map(ToString::to_string).collect();
    match blocking.as_slice() {
        [] => None,
        [one] => Some(one.clone()),
        many => Some(format!("Multiple precondition checks failed:\n* {}", many.join("\n* "))),
    }
}

/// What is recorded of the findings: those that block first, because there is not room for all.
fn record(findings: &[Finding]) -> Vec<String> {
    let (blocking, others): (Vec<&Finding>, Vec<&Finding>) = findings.iter().partition(|finding| finding.is_blocking());
    let mut said: Vec<String> = blocking.into_iter().chain(others).take(RECORDED).map(ToString::to_string).collect();
    if findings.len() > RECORDED {
        said.push(format!("Preflight: and {} more findings.", findings.len() - RECORDED));
    }
    said
}

async fn tell<S: Store>(store: &S, task: &Task, version: &str, findings: &[Finding]) {
    let said = record(findings);
    let (type_, reason, message) = if said.is_empty() {
        let message = format!("Preflight checks passed for the update to {version}.");
        (EventType::Normal, "PreconditionsPassed", message)
    } else {
        (EventType::Warning, "PreconditionWarn", format!("Update to {version}:\n{}", said.join("\n")))
    };
    let event = Event::new(type_, reason, message).about(version);
    if let Err(error) = store.tell(&task.about, &event).await {
        tracing::debug!(%error, "failed to record an event");
    }
}
