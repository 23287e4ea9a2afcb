//! The status of an object from everything that is known: a function of values.

pub mod conditions;
pub mod history;
pub mod reason_pages;
pub mod recommendations;
pub mod shape;

use clearway_advice::Assessment;
use clearway_advice::evidence::RecordedEvidence;
use clearway_advice::rounds::Rounds;
use clearway_core::{Generation, Timestamp};
use serde_json::Value;

use self::conditions::{ConditionInput, Retrieval};
use crate::api::{Release, Spec, Status, VersionObject};
use crate::desired_update::accepted_risks;
use crate::desired_update::architecture::changes_architecture;
use crate::reconciler::{ObjectRecords, Settings};
use crate::rollout::Rollout;
use crate::status::recommendations::{Recommendations, recommendations};
use crate::status::shape::Shape;
use crate::upstream::Knowledge;

/// What is known.
pub(crate) struct StatusInput<'a> {
    /// What the update service says.
    pub(crate) knowledge: Option<&'a Knowledge>,
    /// What the cluster says.
    pub(crate) evidence: RecordedEvidence,
    /// Whether the former is current.
    pub(crate) retrieval: Retrieval<'a>,
    /// How far an update is.
    pub(crate) rollout: &'a Rollout,
    /// What is wrong with the spec.
    pub(crate) invalid: &'a [String],
}

/// A status, and what could not be put into it.
pub(crate) struct ComposedStatus {
    pub(crate) status: Value,
    /// Whether no store takes it, although no updates are in it.
    pub(crate) is_too_large: bool,
    pub(crate) left_out: Vec<String>,
    /// What the advice in it follows from.
    pub(crate) assessment: Option<Assessment>,
}

/// What was found out about the cluster, as evidence.
pub(crate) fn evidence(
    rounds: &Rounds,
    objects: Option<&ObjectRecords>,
    spec: &Spec,
    settings: &Settings,
) -> RecordedEvidence {
    let id = Some(spec.cluster_id.clone()).filter(|id| !id.is_empty());
    RecordedEvidence {
        configured: settings.has_metrics,
        objects: Some(objects.map(|objects| objects.records.clone()).unwrap_or_default()),
        store_id: id.clone().filter(|_| settings.shared_store),
        cluster_id: id,
        ..rounds.recorded()
    }
}

/// Makes the status.
pub(crate) fn compose(
    object: &VersionObject,
    known: &StatusInput<'_>,
    shape: &Shape,
    now: Timestamp,
) -> ComposedStatus {
    let before = object.status.clone().unwrap_or_default();
    let generation = Generation::new(object.metadata.generation.unwrap_or(1)).unwrap_or(Generation::FIRST);
    let mut status = Status { observed_generation: object.metadata.generation.unwrap_or(0), ..before.clone() };
    move_on(&mut status, object, known.rollout, now);
    let assessment = known.knowledge.map(|knowledge| knowledge.plan.assess(&known.evidence, now));
    let lists = match known.knowledge.zip(assessment.as_ref()) {
        // Until the architecture was changed, that is the only update.
        Some((knowledge, _)) if changes_architecture(&object.spec, &status) => Recommendations {
            available: knowledge.multi_release().into_iter().cloned().collect(),
            conditional: Vec::new(),
        },
        Some((knowledge, assessment)) => {
            recommendations(knowledge, assessment, &object.spec, &before.conditional_updates, generation, now)
        }
        // What is stored is of another process; it stands for the moment until the service has been asked.
        None if matches!(known.retrieval, Retrieval::NotYet) => Recommendations {
            available: before.available_updates.clone(),
            conditional: before.conditional_updates.clone(),
        },
        None => Recommendations::default(),
    };
    let described = known.knowledge.filter(|known| known.current.version == status.desired.version);
    // While the architecture is to be changed, the service speaks of the other release of this version.
    if let Some(knowledge) = described.filter(|_| !changes_architecture(&object.spec, &status)) {
        describe(&mut status.desired, &knowledge.current);
    }
    (status.available_updates, status.conditional_updates) = (lists.available, lists.conditional);
    let mut left_out = shape.remove_unstorable(&mut status);
    let conditions_of = |status: &Status, left_out: &[String]| {
        let sayings = ConditionInput {
            kind: object.kind,
            status,
            invalid: known.invalid,
            retrieval: known.retrieval,
            rollout: known.rollout,
            left_out,
        };
        conditions::conditions(&sayings, &before.conditions, shape.stored_fields(), generation, now)
    };
    status.conditions = conditions_of(&status, &left_out);
    // The lists were made to fit beside the conditions that there were; the new ones may be larger.
    if Shape::is_too_large(&status) {
        left_out.extend(Shape::remove_updates(&mut status));
        status.conditions = conditions_of(&status, &left_out);
    }
    let is_too_large = Shape::is_too_large(&status);
    ComposedStatus { status: serde_json::to_value(&status).unwrap_or_default(), is_too_large, left_out, assessment }
}

/// Writes into the history what an update came to.
fn move_on(status: &mut Status, object: &VersionObject, rollout: &Rollout, now: Timestamp) {
    match rollout {
        Rollout::Accepted { request, prepared } => {
            let release = Release { version: prepared.version.clone(), ..request.release.clone() };
            if status.open_entry_for(&release.image).is_some() {
                if let Some(entry) = status.history.first_mut() {
                    entry.verified |= prepared.verified;
                    entry.version.clone_from(&release.version);
                }
            } else {
                let mut said = accepted_risks(&object.spec, status, &release);
                said.extend(prepared.overridden.iter().cloned());
                let said = if said.is_empty() { String::new() } else { shortened(said.join("\n\n")) + "\n" };
                history::begin(&mut status.history, &release, prepared.verified, said, now);
            }
            status.version_hash.clone_from(&prepared.hash);
            status.desired = release;
        }
        Rollout::Done { request, at, prepared } if status.open_entry_for(&request.release.image).is_some() => {
            history::complete(&mut status.history, *at);
            status.version_hash.clone_from(&prepared.hash);
        }
        _ => {}
    }
}

/// A text for the history. There may be a hundred entries, and their texts come from a publisher.
fn shortened(mut text: String) -> String {
    const BYTES: usize = 8 << 10;
    if text.len() > BYTES {
        let end = (0..=BYTES).rev().find(|end| text.is_char_boundary(*end)).unwrap_or_default();
        text.truncate(end);
        text.push_str(" … (shortened)");
    }
    text
}

/// Adds what only the update service knows of a release.
fn describe(release: &mut Release, told: &Release) {
    release.url = told.url.clone().or(release.url.take());
    if !told.channels.is_empty() {
        release.channels.clone_from(&told.channels);
    }
    release.architecture = told.architecture.clone().or(release.architecture.take());
}
