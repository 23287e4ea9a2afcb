//! The state of an update in a few words, with advice: a function of the object alone.

use clearway_conditions::{Condition, Status as Word};
use clearway_update::api::{Update, UpdateHistory, UpdateState, same_image};
use clearway_update::desired_update::architecture::changes_architecture;
use serde::Serialize;

use super::condition_text::clean;
use super::object::{FetchedObject, Subject};
use crate::exit::Exit;
use crate::output::printable;

/// How it is going, in one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum State {
    /// What was asked for is there.
    Current,
    /// It is on its way.
    Updating,
    /// It is on its way or there, but something is wrong; that may heal by itself.
    Failing,
    /// It does not begin; that may heal by itself.
    Stopped,
    /// Nobody has said.
    Unknown,
}

impl State {
    /// The answer of a command that asks whether all is well.
    pub(super) fn exit(self) -> Exit {
        match self {
            State::Current => Exit::Yes,
            State::Failing | State::Stopped => Exit::No,
            State::Updating | State::Unknown => Exit::Unknown,
        }
    }

    /// Whether an administrator should act.
    pub(super) fn is_bad(self) -> bool {
        matches!(self, State::Failing | State::Stopped)
    }
}

/// Where an object stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct StatusSummary {
    pub(super) state: State,
    /// One sentence, without its full stop.
    pub(super) headline: String,
    /// What the operator says about it.
    pub(super) message: String,
    /// What to do.
    pub(super) advice: Vec<String>,
    /// Whether waiting cannot help: the spec has to change.
    pub(super) is_final: bool,
}

/// Judges an object.
pub(super) fn summarize(found: &FetchedObject, subject: &Subject) -> StatusSummary {
    let (status, noun) = (&found.status, subject.noun());
    let standing = |state, headline: String, message: &str, advice: Vec<String>| StatusSummary {
        state,
        headline,
        message: clean(message),
        advice,
        is_final: false,
    };
    if found.object.status.is_none() {
        let advice = "Check that the operator is running; it has not written a status yet.".to_owned();
        return standing(State::Unknown, format!("{noun}: no status"), "", vec![advice]);
    }
    let condition = |type_| status.conditions.get(type_);
    let wanted = found.object.spec.desired_update.as_ref().filter(|update| update_name(update).is_some());
    if let Some(generation) = found.object.metadata.generation
        && status.observed_generation < generation
    {
        // OpenShift's operator does not say that it has seen the spec while it refuses what that asks for.
        if let Some(update) = wanted
            && condition("ReleaseAccepted").is_some_and(|accepted| refuses(&accepted, update))
        {
            return summarize_request(found, subject, &update_name(update).unwrap_or_default());
        }
        let asked = wanted.and_then(update_name).map(|name| format!("; {name} is requested")).unwrap_or_default();
        let advice = "If this does not change, check that the operator is running.".to_owned();
        let headline = format!("{noun}: the operator has not observed the latest spec yet{asked}");
        return standing(State::Updating, headline, "", vec![advice]);
    }
    if let Some(invalid) = condition("Invalid").filter(is_true) {
        let advice = format!("Correct the spec, or cancel the request with `{} --clear`.", subject.command());
        let headline = format!("{noun}: the spec is invalid ({})", printable(invalid.reason));
        let judged = standing(State::Stopped, headline, invalid.message, vec![advice]);
        return StatusSummary { is_final: true, ..judged };
    }
    let newest = status.history.first();
    if let Some(update) = wanted
        && (!newest.is_some_and(|entry| is_of(entry, update)) || changes_architecture(&found.object.spec, status))
    {
        return summarize_request(found, subject, &update_name(update).unwrap_or_default());
    }
    let failing = condition("Failing").filter(is_true);
    let progressing = condition("Progressing");
    let message = progressing.map(|condition| condition.message).unwrap_or_default();
    match (newest, failing) {
        (None, _) => {
            let advice = format!(
                "Adopt the current release (`clearway install --adopt VERSION`), or request one with `{} --to-image`.",
                subject.command()
            );
            standing(State::Unknown, format!("{noun}: no release has been applied yet"), message, vec![advice])
        }
        (Some(entry), Some(failing)) => {
            let what = if entry.state == UpdateState::Completed { "is at" } else { "is updating to" };
            let headline =
                format!("{noun} {what} {}, with an error ({})", entry_name(entry), printable(failing.reason));
            let mut advice = vec!["Fix the cause in the message; the operator retries automatically.".to_owned()];
            if entry.state == UpdateState::Partial {
                advice.push(format!(
                    "To change the target, request another version with `{} --to VERSION --allow-upgrade-with-warnings`.",
                    subject.command()
                ));
            }
            standing(State::Failing, headline, failing.message, advice)
        }
        (Some(entry), None)
            if entry.state == UpdateState::Completed && !progressing.is_some_and(|one| is_true(&one)) =>
        {
            let advice = format!("List the recommended updates with `{}`.", subject.command());
            standing(State::Current, format!("{noun} is at {}", entry_name(entry)), message, vec![advice])
        }
        (Some(entry), None) => {
            let from = status.history.iter().skip(1).find(|entry| entry.state == UpdateState::Completed);
            let from = from.map(|entry| format!(" from {}", entry_name(entry))).unwrap_or_default();
            let advice = format!("Watch it with `{} status --watch`.", subject.command());
            standing(
                State::Updating,
                format!("{noun} is updating to {}{from}", entry_name(entry)),
                message,
                vec![advice],
            )
        }
    }
}

/// An update that was asked for and has not begun.
fn summarize_request(found: &FetchedObject, subject: &Subject, name: &str) -> StatusSummary {
    let accepted = found.status.conditions.get("ReleaseAccepted");
    let message = accepted.map(|condition| clean(condition.message)).unwrap_or_default();
    let noun = subject.noun();
    if let Some(refused) = accepted.filter(|condition| condition.status == Word::False) {
        let command = subject.command();
        let advice = vec![
            "Fix the cause in the message; the operator retries automatically.".to_owned(),
            format!("To retry now, request it again; to cancel it, use `{command} --clear`."),
        ];
        let headline = format!("{noun}: {name} is requested, but not accepted ({})", printable(refused.reason));
        return StatusSummary { state: State::Stopped, headline, message, advice, is_final: false };
    }
    let advice = vec![format!("Watch it with `{} status --watch`.", subject.command())];
    let headline = format!("{noun}: {name} is requested, and being checked");
    StatusSummary { state: State::Updating, headline, message, advice, is_final: false }
}

fn is_true(condition: &Condition<'_>) -> bool {
    condition.status == Word::True
}

/// Whether `ReleaseAccepted` refuses exactly this update: its message names the version or the image, in quotes.
fn refuses(accepted: &Condition<'_>, update: &Update) -> bool {
    let names = |field: &str, value: &Option<String>| {
        value.as_ref().is_none_or(|value| accepted.message.contains(&format!("{field}={value:?}")))
    };
    accepted.status == Word::False && names("version", &update.version) && names("image", &update.image)
}

/// What an update is called; nothing if it names nothing.
pub(super) fn update_name(update: &Update) -> Option<String> {
    let multi = if update.architecture.is_some() { " (multi-architecture)" } else { "" };
    update.version.as_deref().or(update.image.as_deref()).map(|name| format!("{}{multi}", printable(name)))
}

/// What an entry of the history is called.
pub(super) fn entry_name(entry: &UpdateHistory) -> String {
    printable(if entry.version.is_empty() { &entry.image } else { &entry.version })
}

/// Whether an entry of the history is what is asked for.
fn is_of(entry: &UpdateHistory, update: &Update) -> bool {
    let version = update.version.as_deref().is_none_or(|version| entry.version.is_empty() || entry.version == version);
    let image = update.image.as_deref().is_none_or(|image| same_image(&entry.image, image));
    version && image
}

#[cfg(test)]
mod tests;
