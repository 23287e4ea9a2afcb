//! What runs to completion: Job and `CronJob`.

use crate::health::facts::{Condition, Facts};
use crate::health::verdict::{State, Verdict};
use crate::model::Status;

/// A Job is done when it says `Complete`. kstatus calls a running one Current, so that a migration counted as done the
/// moment it began.
pub(in crate::health) fn job(facts: &Facts<'_>) -> Verdict {
    let want = facts.spec_int(&["completions"]).or_else(|| facts.spec_int(&["parallelism"])).unwrap_or(1);
    let (succeeded, failed) = (facts.count("succeeded"), facts.count("failed"));
    let stated = |name: &str| facts.condition(name).filter(|condition| condition.status() == Status::True);
    if let Some(complete) = stated("Complete") {
        let message = format!("Job Completed. succeeded: {succeeded}/{want}");
        let verdict = facts.current("JobComplete", message).since(complete.since());
        // Whoever removes a completed Job does not undo it.
        return Verdict { gone_is_done: true, ..verdict };
    }
    if let Some(bad) = stated("Failed") {
        let mut message = format!("Job Failed. failed: {failed}/{want}");
        for word in [bad.reason(), bad.message()].into_iter().filter(|word| !word.is_empty()) {
            message.push_str(": ");
            message.push_str(word);
        }
        return facts.failed("JobFailed", message).since(bad.since());
    }
    let suspended = stated("Suspended");
    if suspended.is_some() || facts.spec_true("suspend") {
        let verdict = facts.verdict(State::Suspended, "JobSuspended", "Job is suspended");
        return verdict.since(suspended.and_then(Condition::since));
    }
    let begun = facts.status_text("startTime");
    if begun.is_empty() {
        return facts.in_progress("JobNotStarted", "Job not started").since(facts.object.created());
    }
    let active = facts.count("active");
    let message = format!("Job in progress. success:{succeeded}, active: {active}, failed: {failed}");
    // With a time to live of zero, nobody may ever see it complete.
    let expires = facts.spec_int(&["ttlSecondsAfterFinished"]).is_some();
    Verdict { gone_is_done: expires, ..facts.in_progress("JobInProgress", message).since(begun.parse().ok()) }
}

/// A `CronJob` that is not suspended is what was written: its runs are Jobs of their own.
pub(in crate::health) fn cron_job(facts: &Facts<'_>) -> Verdict {
    let last = facts.status_text("lastScheduleTime");
    let message = if last.is_empty() {
        "CronJob is scheduled; it has not run yet".to_owned()
    } else {
        format!("CronJob is scheduled; it last ran at {last}")
    };
    facts.current("CronJobScheduled", message)
}
