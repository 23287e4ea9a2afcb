//! The update that is applied: from what the spec asks for to the next state of the [`Rollout`].

use super::{Effect, Reconciler, UpdateMode};
use crate::api::{Status, VersionObject};
use crate::desired_update::{DesiredUpdate, desired_update};
use crate::rollout::transitions::{Trigger, is_allowed};
use crate::rollout::{Progress, Rollout, Step, UpdateRequest, WaitingCause, reported_failures};
use crate::upstream::request::check_id;

/// What the spec comes to.
enum Wanted {
    /// Nothing more than there is.
    Nothing,
    /// This update.
    Update(UpdateRequest),
    /// This update, which cannot be begun yet.
    Waiting(UpdateRequest, WaitingCause),
}

impl Reconciler {
    /// Begins, continues or stops what the spec asks for; returns what is wrong with the spec.
    pub(super) fn advance_update(&mut self, object: &VersionObject, effects: &mut Vec<Effect>) -> Vec<String> {
        let status = object.status.clone().unwrap_or_default();
        let mut invalid = self.subject.as_ref().map(|subject| subject.remarks.clone()).unwrap_or_default();
        if let Err(why) = check_id(&object.spec.cluster_id) {
            invalid.push(format!("spec.clusterID: Invalid value: {:?}: {why}", object.spec.cluster_id));
        }
        let desired = desired_update(&object.spec, &status, self.upstream.multi_release());
        let wanted = match desired {
            DesiredUpdate::Keep => Wanted::Nothing,
            DesiredUpdate::Continue(request) | DesiredUpdate::Begin(request) => Wanted::Update(request),
            DesiredUpdate::Invalid(why) => {
                invalid.push(why);
                self.unfinished(&status).map_or(Wanted::Nothing, Wanted::Update)
            }
            DesiredUpdate::Unresolved { request, why } => match self.unfinished(&status) {
                Some(unfinished) => Wanted::Update(unfinished),
                None => Wanted::Waiting(request, why.map_or(WaitingCause::UpdateService, WaitingCause::NotResolved)),
            },
        };
        let wanted = match (self.settings.update_mode, wanted) {
            // Reported where whoever asked for the update looks: doing nothing in silence would look like a hang.
            (UpdateMode::Never, Wanted::Update(request) | Wanted::Waiting(request, _)) => {
                Wanted::Waiting(request, WaitingCause::AdviceOnly)
            }
            (_, wanted) => wanted,
        };
        self.pursue(wanted, effects);
        self.apply_when_stored(&status, effects);
        invalid
    }

    /// What was begun continues until it is done and stored, whatever is wrong with a later request.
    fn unfinished(&self, status: &Status) -> Option<UpdateRequest> {
        let done = matches!(self.rollout, Rollout::Done { .. }) && status.open_entry().is_none();
        self.rollout.active_request().filter(|_| !done).cloned()
    }

    fn pursue(&mut self, wanted: Wanted, effects: &mut Vec<Effect>) {
        let engaged = self.rollout.active_request();
        let (trigger, next) = match wanted {
            Wanted::Update(request) if engaged.is_some_and(|engaged| engaged.is_same(&request)) => return,
            Wanted::Update(request) => (Trigger::Requested, Rollout::Preparing { request, step: Step::Retrieve }),
            Wanted::Waiting(request, cause) => (Trigger::Unready, Rollout::Waiting { request, cause }),
            Wanted::Nothing => (Trigger::Ended, Rollout::Idle),
        };
        if engaged.is_some() {
            effects.push(Effect::Stop);
        }
        if let (Trigger::Requested, Some(request)) = (trigger, next.request()) {
            effects.push(Effect::Prepare(request.clone()));
        }
        self.change_rollout(trigger, next, effects);
    }

    /// Applies an accepted release, once the stored status says that its update has begun.
    fn apply_when_stored(&mut self, status: &Status, effects: &mut Vec<Effect>) {
        let Rollout::Accepted { request, prepared } = &self.rollout else { return };
        if status.open_entry_for(&request.release.image).is_none() {
            return;
        }
        let (request, prepared) = (request.clone(), prepared.clone());
        let reported = reported_failures(status, &status.conditions);
        let progress = Progress { total: prepared.objects, ..Progress::default() }.with_failures(reported);
        effects.push(Effect::Apply(request.clone(), prepared.clone()));
        self.change_rollout(Trigger::Stored, Rollout::Applying { request, prepared, progress }, effects);
    }

    /// The one place where the state changes. A change that the table does not have does not happen: only a worker's
    /// report can be one, and it is then about something that is over.
    pub(super) fn change_rollout(&mut self, trigger: Trigger, next: Rollout, effects: &mut Vec<Effect>) {
        let allowed = is_allowed(self.rollout.phase(), trigger, next.phase());
        debug_assert!(
            allowed || trigger == Trigger::Reported,
            "{} → {}: {trigger:?}",
            self.rollout.phase(),
            next.phase()
        );
        if allowed {
            self.record_rollout(&next, effects);
            self.rollout = next;
        }
    }
}
