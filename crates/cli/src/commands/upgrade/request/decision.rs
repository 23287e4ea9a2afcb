//! What becomes of a request for an update: a function of the object and of what was allowed. Nothing is sent here.

use clearway_core::Timestamp;
use clearway_update::api::{MULTI, Update, same_image};
use clearway_update::desired_update::architecture::is_multi;
use clearway_update::reconciler::RE_EVALUATE;
use serde_json::{Value, json};

use super::objections::objections;
use super::target::{AllowFlags, Choice, Refusal, RequestedTarget, Target, choose};
use crate::commands::upgrade::object::FetchedObject;
use crate::commands::upgrade::status_summary::update_name;
use crate::exit::Exit;
use crate::output::printable;

/// What becomes of a request.
#[derive(Debug)]
pub(crate) enum Decision {
    /// Nothing is to be done.
    AlreadyThere {
        /// What is there.
        sentence: String,
        /// Another update that is requested, if there is one.
        other: Option<String>,
    },
    /// Nothing is requested.
    Refused {
        /// Why.
        refusal: Refusal,
        /// What the user should know besides.
        warnings: Vec<String>,
    },
    /// The patch is to be sent.
    Send(Box<UpdatePatch>),
}

/// A request that is ready to be sent.
#[derive(Debug)]
pub(crate) struct UpdatePatch {
    pub(crate) target: Target,
    /// What the conditions say that were bypassed, as a warning.
    pub(crate) bypassed: Option<String>,
    /// The merge patch of the object.
    pub(crate) patch: Value,
    /// Whether the spec says so already.
    pub(crate) again: bool,
}

impl UpdatePatch {
    /// What is requested, in words.
    pub(crate) fn sentence(&self) -> String {
        let shown = match self.target.version.as_str() {
            _ if self.target.multi => "multi cluster architecture".to_owned(),
            "" => format!("release image {}", printable(&self.target.image)),
            version => printable(version),
        };
        format!("Requested update to {shown}{}", if self.again { " again" } else { "" })
    }
}

/// Decides about a request; `noun` is what the object is called in sentences.
pub(crate) fn decide(
    found: &FetchedObject,
    wanted: RequestedTarget<'_>,
    allowed: AllowFlags,
    noun: &str,
    now: Timestamp,
) -> Decision {
    let target = match choose(&found.status, wanted, allowed, noun) {
        Ok(Choice::Update(target)) => target,
        Ok(Choice::AlreadyThere(sentence)) => {
            let other = found.object.spec.desired_update.as_ref().filter(|update| !is_there(found, update));
            return Decision::AlreadyThere {
                sentence,
                other: other.map(|other| update_name(other).unwrap_or_default()),
            };
        }
        Err(refusal) => return Decision::Refused { refusal, warnings: Vec::new() },
    };
    let mut bypassed = None;
    // What is under way already is not disturbed by being asked for again.
    if let Some(objections) = objections(&found.status).filter(|_| !target.again) {
        if !allowed.with_warnings {
            let next = allowed.client.allow_with_warnings();
            let text = format!("{objections}\n\nIf you want to upgrade anyway, {next}.");
            return Decision::Refused { refusal: Refusal { exit: Exit::No, text }, warnings: target.warnings };
        }
        bypassed = Some(format!("{}: {objections}", allowed.client.bypassing()));
    }
    let (patch, again) = build_patch(found, &target, allowed.force, now);
    Decision::Send(Box::new(UpdatePatch { target, bypassed, patch, again }))
}

/// The whole of `desiredUpdate` as OpenShift's clients write it, and whether the spec says so already. What it says already
/// changes nothing by being written again, so the operator is asked to look again.
fn build_patch(found: &FetchedObject, target: &Target, force: bool, now: Timestamp) -> (Value, bool) {
    let before = &found.raw["spec"]["desiredUpdate"];
    let mut update =
        json!({"architecture": architecture(target), "version": target.version, "image": target.image, "force": force});
    let says = |field: &str| match &before[field] {
        Value::Null => update[field] == "" || update[field] == false,
        value => *value == update[field],
    };
    let again = before.is_object() && ["architecture", "version", "image", "force"].into_iter().all(says);
    if !before["mode"].is_null() {
        // Left where it is, it would make a rehearsal of the update.
        update["mode"] = Value::Null;
    }
    let mut patch = json!({"spec": {"desiredUpdate": update}});
    if again {
        patch["metadata"] = json!({"annotations": {RE_EVALUATE: now.to_string()}});
    }
    (patch, again)
}

/// As the spec names it.
pub(crate) fn architecture(target: &Target) -> &'static str {
    if target.multi { MULTI } else { "" }
}

/// Whether a request is for what is being kept or brought about already.
pub(crate) fn is_there(found: &FetchedObject, update: &Update) -> bool {
    let desired = &found.status.desired;
    update.architecture.as_ref().is_none_or(|_| is_multi(&found.status))
        && update.version.as_ref().is_none_or(|version| *version == desired.version)
        && update.image.as_ref().is_none_or(|image| same_image(image, &desired.image))
}
