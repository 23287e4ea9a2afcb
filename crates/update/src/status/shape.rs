//! What the CRD that is installed keeps of a status, and what it would refuse (U7, U15, G2).
//!
//! A status that the API server refuses would take all advice with it. So every status is held against the schema first,
//! and what cannot be stored is left out whole: a rule while its risk has another one that can be stored, and otherwise
//! the update, from both lists. What was left out is named, in a condition and in an event.

use std::sync::Arc;

use clearway_bundle::CrdSchema;
use clearway_conditions::model::StoredFields;
use clearway_schema::SchemaError;
use serde_json::{Value, json};

use crate::api::{Kind, Status, same_image};

/// Conditional updates that are stored at most, as the API has it.
const MOST: usize = 500;
/// Bytes of a status at most before its conditions are added: etcd takes 1.5 MiB of each object.
const BYTES: usize = 1 << 20;
/// Bytes of a whole status at most.
const LARGEST: usize = BYTES + (256 << 10);
/// Updates that are named when they are left out; of more only how many.
const NAMED: usize = 20;
/// How often leaving out is tried; each time takes everything that was found wrong.
const TRIES: usize = 32;

/// The caps on the status of a ClusterVersion: what is counted, and the most of it. `docs/limits.md` lists them.
pub const STATUS_CAPS: [(&str, u64); 3] = [
    ("Conditional updates in a status", MOST as u64),
    ("Bytes of a status without its conditions", BYTES as u64),
    ("Bytes of a status", LARGEST as u64),
];

/// The shape of a status.
#[derive(Debug, Clone)]
pub struct Shape {
    /// Nothing where nobody validates: in a directory.
    schema: Option<Arc<CrdSchema>>,
    kept: StoredFields,
}

impl Default for Shape {
    fn default() -> Self {
        Shape { schema: None, kept: StoredFields::ALL }
    }
}

/// What is wrong with one place of a status.
#[derive(Debug, PartialEq, Eq)]
enum Place {
    /// A rule of a risk of a conditional update.
    Rule(usize, usize, usize),
    /// Something else in a conditional update.
    Conditional(usize),
    /// Something in an available update.
    Available(usize),
    /// The list of conditional updates as such.
    TooMany,
    /// Anything else.
    Elsewhere,
}

impl Shape {
    /// The shape that an installed CRD gives the objects of a kind.
    pub fn of_crd(crd: &Value, kind: Kind) -> Result<Self, SchemaError> {
        let schema = CrdSchema::of_crd(crd, kind.version())?;
        let versions = crd.pointer("/spec/versions").and_then(Value::as_array);
        let version = versions.into_iter().flatten().find(|version| version["name"] == kind.version());
        let conditions = "/schema/openAPIV3Schema/properties/status/properties/conditions";
        let kept =
            version.and_then(|version| version.pointer(conditions)).map_or(StoredFields::ALL, StoredFields::of_schema);
        Ok(Shape { schema: Some(Arc::new(schema)), kept })
    }

    /// Leaves out what cannot be stored, and says what.
    pub(crate) fn remove_unstorable(&self, status: &mut Status) -> Vec<String> {
        let mut left_out = Vec::new();
        fit(status, &mut left_out);
        let Some(schema) = &self.schema else { return sorted(left_out) };
        for _ in 0..TRIES {
            let whole = json!({"status": &*status});
            let report = schema.validate(&schema.pruned(&whole));
            let wrong: Vec<(Place, String)> = report
                .violations
                .into_iter()
                .filter(|violation| violation.path.starts_with("status"))
                .map(|violation| (place(&violation.path), violation.to_string()))
                .collect();
            if !leave_out(status, &wrong, &mut left_out) {
                break;
            }
        }
        sorted(left_out)
    }

    /// Whether a status has so many bytes that no store takes it, whatever was left out.
    pub(crate) fn is_too_large(status: &Status) -> bool {
        size_of(status) > LARGEST
    }

    /// Leaves out all updates that are still in a status that is too large, and says so.
    pub(crate) fn remove_updates(status: &mut Status) -> Option<String> {
        let is_empty = status.available_updates.is_empty() && status.conditional_updates.is_empty();
        status.available_updates.clear();
        status.conditional_updates.clear();
        (!is_empty).then(|| format!("all other updates: the status would have more than {LARGEST} bytes"))
    }

    /// Why a status is not stored, as [`Shape::is_too_large`] finds.
    pub(crate) fn too_large() -> String {
        format!("The status could not be stored: without updates it would have more than {LARGEST} bytes")
    }

    /// Whether two statuses are the same once they are stored.
    pub(crate) fn same(&self, desired: &Value, stored: &Value) -> bool {
        match &self.schema {
            None => is_same(desired, stored),
            Some(schema) => {
                let kept = |status: &Value| schema.pruned(&json!({"status": status}));
                is_same(&kept(desired), &kept(stored))
            }
        }
    }

    /// The fields of conditions that are kept.
    pub(crate) fn stored_fields(&self) -> StoredFields {
        self.kept.clone()
    }
}

/// Whether two values are the same to an API server, which stores `25.0` as `25`, and a whole number that is too large for
/// it as a float.
fn is_same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => one == other || one.as_f64() == other.as_f64(),
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| is_same(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            let is_in_other =
                |(key, value): (&String, &Value)| other.get(key).is_some_and(|found| is_same(value, found));
            one.len() == other.len() && one.iter().all(is_in_other)
        }
        _ => one == other,
    }
}

/// What was left out, in order; of very many the first ones and how many more.
fn sorted(mut left_out: Vec<String>) -> Vec<String> {
    left_out.sort();
    let more = left_out.len().saturating_sub(NAMED);
    left_out.truncate(NAMED);
    left_out.extend((more > 0).then(|| format!("{more} more updates")));
    left_out
}

/// Leaves out what is wrong, from the end so that places stay what they are; whether there was anything.
fn leave_out(status: &mut Status, wrong: &[(Place, String)], left_out: &mut Vec<String>) -> bool {
    let mut targets: Vec<(usize, &str)> = Vec::new();
    let mut rules: Vec<(usize, usize, usize)> = Vec::new();
    let mut available: Vec<(usize, &str)> = Vec::new();
    for (place, why) in wrong {
        match place {
            Place::Rule(target, risk, rule) => rules.push((*target, *risk, *rule)),
            Place::Conditional(target) => targets.push((*target, why)),
            Place::Available(at) => available.push((*at, why)),
            Place::TooMany => {
                let keep = status.conditional_updates.len() * 3 / 4;
                targets.extend((keep..status.conditional_updates.len()).map(|at| (at, why.as_str())));
            }
            // Nothing else comes from outside; if the server refuses it, that is said when it does.
            Place::Elsewhere => {}
        }
    }
    rules.sort_unstable();
    rules.dedup();
    for of_risk in rules.chunk_by(|one, other| (one.0, one.1) == (other.0, other.1)) {
        let Some((target, risk, _)) = of_risk.first() else { continue };
        let found = status.conditional_updates.get_mut(*target).and_then(|update| update.risks.get_mut(*risk));
        let Some(found) = found else { continue };
        if found.matching_rules.len() <= of_risk.len() {
            targets.push((*target, "a risk has no rule that can be stored"));
            continue;
        }
        for (_, _, rule) in of_risk.iter().rev() {
            if *rule < found.matching_rules.len() {
                found.matching_rules.remove(*rule);
            }
        }
    }
    let found = !targets.is_empty() || !rules.is_empty() || !available.is_empty();
    available.sort_unstable();
    for (at, why) in available.into_iter().rev() {
        if at < status.available_updates.len() {
            let release = status.available_updates.remove(at);
            left_out.push(format!("the update to {}: {why}", release.version));
        }
    }
    targets.sort_unstable();
    targets.dedup_by_key(|(at, _)| *at);
    for (at, why) in targets.into_iter().rev() {
        drop_target(status, at, why, left_out);
    }
    found
}

/// Takes an update out of both lists.
fn drop_target(status: &mut Status, at: usize, why: &str, left_out: &mut Vec<String>) {
    if at >= status.conditional_updates.len() {
        return;
    }
    let release = status.conditional_updates.remove(at).release;
    status.available_updates.retain(|available| !same_image(&available.image, &release.image));
    left_out.push(format!("the update to {}: {why}", release.version));
}

/// Leaves out updates from the end of both lists until the status is small enough to be stored. The oldest go first.
fn fit(status: &mut Status, left_out: &mut Vec<String>) {
    let too_many = format!("there are more than {MOST}");
    while status.conditional_updates.len() > MOST {
        drop_target(status, status.conditional_updates.len() - 1, &too_many, left_out);
    }
    let too_large = format!("the status would have more than {BYTES} bytes");
    let mut size = size_of(status);
    while size > BYTES && !status.conditional_updates.is_empty() {
        let at = status.conditional_updates.len() - 1;
        size = size.saturating_sub(status.conditional_updates.get(at).map_or(0, size_of));
        let available = status.available_updates.len();
        drop_target(status, at, &too_large, left_out);
        // What was recommended stood in both lists.
        if status.available_updates.len() < available {
            size = size_of(status);
        }
    }
    while size > BYTES {
        let Some(release) = status.available_updates.pop() else { break };
        size = size.saturating_sub(size_of(&release));
        left_out.push(format!("the update to {}: {too_large}", release.version));
    }
}

/// Bytes as JSON.
fn size_of(value: &impl serde::Serialize) -> usize {
    serde_json::to_vec(value).map_or(0, |bytes| bytes.len())
}

/// Which part of a status a path such as `status.conditionalUpdates[2].risks[0].url` is about.
fn place(path: &str) -> Place {
    let index = |path: &str, list: &str| -> Option<(usize, String)> {
        let rest = path.strip_prefix(list)?.strip_prefix('[')?;
        let (number, rest) = rest.split_once(']')?;
        Some((number.parse().ok()?, rest.trim_start_matches('.').to_owned()))
    };
    if let Some((target, rest)) = index(path, "status.conditionalUpdates") {
        let rule = index(&rest, "risks").and_then(|(risk, rest)| Some((risk, index(&rest, "matchingRules")?.0)));
        return rule.map_or(Place::Conditional(target), |(risk, rule)| Place::Rule(target, risk, rule));
    }
    match index(path, "status.availableUpdates") {
        Some((at, _)) => Place::Available(at),
        None if path == "status.conditionalUpdates" => Place::TooMany,
        None => Place::Elsewhere,
    }
}

#[cfg(test)]
mod tests;
