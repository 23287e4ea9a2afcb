//! Updates that are started and risks that are accepted in the console of the operator: with the token of whoever sent the
//! form, never with the operator's own identity, by the same steps as `clearway upgrade` and `clearway upgrade accept`.

use std::collections::BTreeSet;

use anyhow::{Result, bail};
use clearway_console::pages::change::RequestState;
use clearway_console::{Change, ChangeAction, ChangeOutcome, ChangeResult};
use clearway_core::{BearerToken, Timestamp};
use clearway_server::console::ClusterChanges;
use clearway_sources::clock;
use clearway_sources::kubernetes::{CallerIdentity, Cluster, Connection};
use clearway_sources::store::{ClusterStore, Store, StoreError};
use clearway_update::api::{AcceptedRisk, Kind, VersionObject};
use futures::future::BoxFuture;
use serde_json::Value;

use crate::arguments::{Operator, parse_end};
use crate::commands::upgrade::object::Subject;
use crate::commands::upgrade::request::accept::{self, AcceptChange, AcceptResult};
use crate::commands::upgrade::request::client::Client;
use crate::commands::upgrade::request::decision::{Decision, decide};
use crate::commands::upgrade::request::objections::objections;
use crate::commands::upgrade::request::send;
use crate::commands::upgrade::request::target::{AllowFlags, RequestedTarget};
use crate::commands::upgrade::updates::{KnownUpdate, known_updates};

/// The name in events; none are recorded.
const NAME: &str = "clearway-console";
/// What becomes of a request for an operator that applies none.
const ADVICE_ONLY: &str =
    "The operator of this console runs without --apply-updates: it keeps the request, and does not apply the release.";
/// The longest name of an object.
const LONGEST_NAME: usize = 253;

/// Makes the changes of callers.
pub(super) struct CallerChanges {
    /// How the operator reaches the API server; its identity is not used.
    connection: Connection,
    /// Whether the operator applies what is requested, or reports recommendations alone.
    applies_updates: bool,
}

impl CallerChanges {
    /// Makes changes if the options want it; refuses where callers have no identity, or would send it for all to read.
    pub(super) fn of(options: &Operator) -> Result<Option<Self>> {
        if !options.console_changes {
            return Ok(None);
        }
        if let Some(state) = &options.state {
            bail!(
                "--console-changes needs a Kubernetes cluster, because a change is made with the Kubernetes identity of the person who requests it; on a state directory, use `clearway upgrade --state {}`",
                state.display()
            );
        }
        if let Some(address) = options.console_listen.filter(|address| !address.ip().is_loopback()) {
            bail!(
                "--console-changes needs a loopback address, because tokens would be sent to {address} in plain text; use --console-listen 127.0.0.1:{} with `kubectl port-forward`, or with an authenticating proxy in the same pod",
                address.port()
            );
        }
        let applies_updates = options.apply_updates || options.render.is_some();
        Ok(Some(CallerChanges { connection: options.connection.connection(), applies_updates }))
    }

    async fn make_as_caller(&self, change: &Change, caller: &BearerToken) -> ChangeOutcome {
        let cluster = match Cluster::connect_as_caller(&self.connection, caller).await {
            Ok(cluster) => cluster,
            Err(error) => return outcome(ChangeResult::Unreachable, &error.to_string(), Vec::new()),
        };
        let user = match cluster.caller_identity().await {
            Ok(CallerIdentity::User(name)) => name,
            Ok(CallerIdentity::NotTold) => "not known".to_owned(),
            Ok(CallerIdentity::Refused) => {
                let why =
                    "the API server does not accept your token; it may have expired, or belong to another cluster";
                return outcome(ChangeResult::Unauthenticated, why, Vec::new());
            }
            Err(error) => return outcome(ChangeResult::Unreachable, &error.to_string(), Vec::new()),
        };
        let mut made = make_change(&ClusterStore::new(cluster, NAME), change, clock::now()).await;
        let object = format!("{} {}", change.kind, change.name);
        let (result, version) = (made.result, &change.version);
        match &change.action {
            ChangeAction::StartUpdate { .. } => {
                tracing::info!(%user, %object, %version, ?result, "update requested in the console");
                if result == ChangeResult::Done && !self.applies_updates {
                    made.warnings.push(ADVICE_ONLY.to_owned());
                }
            }
            ChangeAction::AcceptRisk { risk, .. } => {
                tracing::info!(%user, %object, %risk, ?result, "risk accepted in the console");
            }
        }
        made
    }
}

impl ClusterChanges for CallerChanges {
    fn make<'a>(&'a self, change: &'a Change, caller: &'a BearerToken) -> BoxFuture<'a, ChangeOutcome> {
        Box::pin(self.make_as_caller(change, caller))
    }
}

/// What an object says about requests, as the console shows it.
pub(super) fn request_state(object: &Value, now: Timestamp) -> RequestState {
    let Ok((object, _)) = VersionObject::read(object) else { return RequestState::default() };
    let status = object.status.unwrap_or_default();
    let accepted = accept::accepted(&object.spec).into_iter().filter(|risk| !accept::is_expired(risk, now));
    let text = |AcceptedRisk { name, reason, until }: AcceptedRisk| {
        let until = until.map_or(String::new(), |until| format!(" until {until}"));
        (name, format!("Accepted{until}: {reason}"))
    };
    let recommended = known_updates(&status).into_iter().filter(KnownUpdate::is_recommended);
    RequestState {
        accepted_risks: accepted.map(text).collect(),
        recommended: recommended.map(|known| known.release.version.clone()).collect(),
        objections: objections(&status).unwrap_or_default(),
    }
}

/// Makes a change with the rights that the store has.
async fn make_change<S: Store>(store: &S, change: &Change, now: Timestamp) -> ChangeOutcome {
    let Some(subject) = subject(change) else {
        return outcome(ChangeResult::NotFound, "there is no such ClusterVersion or ComponentVersion", Vec::new());
    };
    let made = match &change.action {
        ChangeAction::StartUpdate { allow_not_recommended, allow_with_warnings } => {
            let allowed = AllowFlags {
                not_recommended: *allow_not_recommended,
                with_warnings: *allow_with_warnings,
                client: Client::Console,
                ..AllowFlags::default()
            };
            start_update(store, &subject, change, allowed, now).await
        }
        ChangeAction::AcceptRisk { risk, reason, until } => {
            accept_risk(store, &subject, risk, (reason, until), now).await
        }
    };
    made.unwrap_or_else(|error| outcome(kind_of(&error), &format!("{error:#}"), Vec::new()))
}

/// The object that a form names; none if there cannot be one of that kind or name.
fn subject(change: &Change) -> Option<Subject> {
    let kind = Kind::ALL.into_iter().find(|kind| kind.as_str() == change.kind)?;
    // The name becomes a part of a path.
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-' || byte == b'.';
    let starts_well = change.name.bytes().next().is_some_and(|byte| byte.is_ascii_alphanumeric());
    let is_name = change.name.bytes().all(is_plain) && starts_well && change.name.len() <= LONGEST_NAME;
    is_name.then(|| Subject::named(kind, &change.name))
}

async fn start_update<S: Store>(
    store: &S,
    subject: &Subject,
    change: &Change,
    allowed: AllowFlags,
    now: Timestamp,
) -> Result<ChangeOutcome> {
    let (found, mut warnings) = subject.read(store).await?;
    let wanted = RequestedTarget::Version(&change.version);
    Ok(match decide(&found, wanted, allowed, &subject.noun(), now) {
        Decision::AlreadyThere { sentence, other } => {
            warnings.extend(
                other.map(|other| format!("{other} is still requested; `clearway upgrade --clear` cancels it")),
            );
            outcome(ChangeResult::Done, &sentence, warnings)
        }
        Decision::Refused { refusal, warnings: more } => {
            warnings.extend(more);
            outcome(ChangeResult::Refused, &refusal.text, warnings)
        }
        Decision::Send(asked) => {
            send(store, subject, &asked.patch).await?;
            let sentence = asked.sentence();
            warnings.extend(asked.target.warnings);
            warnings.extend(asked.bypassed);
            outcome(ChangeResult::Done, &sentence, warnings)
        }
    })
}

async fn accept_risk<S: Store>(
    store: &S,
    subject: &Subject,
    risk: &str,
    (reason, until): (&str, &str),
    now: Timestamp,
) -> Result<ChangeOutcome> {
    let invalid = |why: &str| Ok(outcome(ChangeResult::Invalid, why, Vec::new()));
    let until = match (!until.is_empty()).then(|| parse_end(until)).transpose() {
        Ok(until) => until,
        Err(why) => return invalid(&why),
    };
    let change = AcceptChange::new(vec![risk.to_owned()], BTreeSet::new(), reason, until, Client::Console, now);
    let change = match change {
        Ok(change) => change,
        Err(error) => return invalid(&error.to_string()),
    };
    let AcceptResult { unchanged, warnings, .. } = change.make(store, subject).await?;
    let sentence = if unchanged { "was already accepted with this reason and end" } else { "is accepted" };
    Ok(outcome(ChangeResult::Done, &format!("The risk {risk} {sentence}"), warnings))
}

/// Whose matter an error is.
fn kind_of(error: &anyhow::Error) -> ChangeResult {
    match error.downcast_ref::<StoreError>() {
        Some(StoreError::Forbidden { .. }) => ChangeResult::Forbidden,
        Some(StoreError::NoSuchKind { .. } | StoreError::Missing { .. }) => ChangeResult::NotFound,
        Some(StoreError::Away { .. } | StoreError::AnswerTooLarge { .. } | StoreError::Expired { .. }) => {
            ChangeResult::Unreachable
        }
        Some(StoreError::Conflict { .. } | StoreError::Refused { .. } | StoreError::TooLarge { .. }) | None => {
            ChangeResult::Refused
        }
    }
}

/// An outcome with its text as a sentence: texts of commands begin with a small letter, and have no full stop.
fn outcome(result: ChangeResult, text: &str, warnings: Vec<String>) -> ChangeOutcome {
    ChangeOutcome {
        result,
        sentence: sentence(text),
        warnings: warnings.into_iter().map(|text| sentence(&text)).collect(),
    }
}

fn sentence(text: &str) -> String {
    let mut letters = text.trim().chars();
    let first = letters.next().map_or(String::new(), |letter| letter.to_uppercase().collect());
    let text = first + letters.as_str();
    if text.ends_with(['.', '!', '?']) { text } else { text + "." }
}

#[cfg(test)]
mod tests;
