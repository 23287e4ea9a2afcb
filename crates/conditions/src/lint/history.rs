//! SC021 to SC024: what may happen to conditions from one snapshot of an object to the next.
//!
//! Objects are told apart by group, kind, namespace, name and uid, so that one that was deleted and made again starts
//! anew. Of each only the last snapshot is kept, with hashes for texts.

use std::collections::BTreeMap;

use clearway_core::{Diagnostic, ObjectId, Severity};
use clearway_yaml::Node;

use super::out::{Finding, List, Out};
use super::{ABOUT_THE_CHECK, Policy, Profile, read_list, rules, volatile};
use crate::lint::conventions::{pattern, table};
use crate::lint::view::condition::Condition;
use crate::lint::view::walk::{self, Site, Spot};
use crate::{Object, Status};

/// Objects kept; a larger cluster is followed up to here and a finding says so.
const MOST_OBJECTS: usize = 200_000;
/// Conditions kept of one object.
const MOST_CONDITIONS: usize = 1_024;

/// The last snapshot of every object seen.
#[derive(Debug, Default)]
pub struct History {
    objects: BTreeMap<(ObjectId, String), Snapshot>,
    is_full: bool,
}

#[derive(Debug, Default)]
struct Snapshot {
    version: Option<u64>,
    generation: Option<i64>,
    observed: Option<i64>,
    /// By list and type; of several conditions of one type the first counts, as for every reader.
    conditions: BTreeMap<(String, String), Kept>,
    /// The lists that were there, also empty ones.
    lists: Vec<String>,
}

/// What is kept of a condition.
#[derive(Debug, Clone)]
struct Kept {
    status: Option<Status>,
    reason: u64,
    message: u64,
    remains: u64,
    severity: u64,
    time: Option<i64>,
    generation: Option<i64>,
    /// When the status changed, as far back as flapping is counted.
    transitions: Vec<i64>,
}

impl Kept {
    fn of(condition: &Condition<'_>) -> Self {
        Kept {
            status: condition.status,
            reason: volatile::hash(condition.reason),
            message: volatile::hash(condition.message),
            remains: volatile::remains(condition.message),
            severity: volatile::hash(condition.severity_node.map_or("", Node::raw)),
            time: condition.time,
            generation: condition.generation,
            transitions: Vec::new(),
        }
    }

    fn same_content(&self, other: &Kept) -> bool {
        self.reason == other.reason && self.message == other.message && self.severity == other.severity
    }
}

impl History {
    /// A history of nothing.
    pub fn new() -> Self {
        History::default()
    }

    /// Takes the next snapshot of an object and reports what must not have happened since the one before.
    pub fn push(&mut self, object: &Object<'_>, policy: &Policy, findings: &mut Vec<Diagnostic>) {
        let mut out = Out::new(object, policy, findings);
        let key = (object.id(), object.meta("uid").unwrap_or("").to_owned());
        let version = object.meta("resourceVersion").and_then(|version| version.parse().ok());
        let mut before = self.objects.remove(&key);
        if let Some(kept) = before.take_if(|before| version.is_some() && version < before.version) {
            let message = "this snapshot is older than the previous one; it is skipped".to_owned();
            let help = "pass the snapshots in the order they were taken";
            let finding = about_the_check(message, help);
            out.report_at(object.root, "metadata.resourceVersion".to_owned(), finding);
            self.objects.insert(key, kept);
            out.finish();
            return;
        }
        let mut next = Snapshot { version, generation: out.generation, observed: out.observed, ..Snapshot::default() };
        if let Some(status) = out.status {
            walk::spots(status, &mut |spot| {
                if let Some(list) = read_list(&spot, None) {
                    let name = list_name(&spot);
                    compare(&list, &name, before.as_ref(), &mut next, &mut out);
                    next.lists.push(name);
                }
            });
        }
        if let Some(before) = &before {
            whole(before, &next, &mut out);
        }
        if before.is_some() || self.objects.len() < MOST_OBJECTS {
            self.objects.insert(key, next);
        } else if !self.is_full {
            self.is_full = true;
            let message = format!("more than {MOST_OBJECTS} objects; the history of the others is not checked");
            let finding = about_the_check(message, "check one part of the cluster at a time");
            out.report_at(object.root, "metadata".to_owned(), finding);
        }
        out.finish();
    }
}

fn about_the_check(message: String, help: &'static str) -> Finding<'static> {
    let (code, severity, field, node, refs) = (ABOUT_THE_CHECK, Severity::Warning, "", None, "history");
    Finding { code, severity, field, node, message, help: help.into(), refs }
}

/// What a list is called from snapshot to snapshot. Parents and listeners change places, so they go by what they are.
fn list_name(spot: &Spot<'_, '_>) -> String {
    let owner = spot.owner;
    let reference = owner.get("parentRef").or_else(|| owner.get("ancestorRef"));
    match (spot.site, reference) {
        (Site::Parent | Site::Ancestor, Some(reference)) => {
            let by = owner.get("controllerName").map_or("", Node::raw);
            format!("{:?} {} {by}", spot.site, reference.to_json())
        }
        _ => spot.path.render(),
    }
}

fn compare(list: &List<'_, '_>, name: &str, before: Option<&Snapshot>, next: &mut Snapshot, out: &mut Out<'_, '_>) {
    for condition in &list.conditions {
        let key = (name.to_owned(), condition.name.to_owned());
        if condition.name.is_empty() || next.conditions.len() >= MOST_CONDITIONS || next.conditions.contains_key(&key) {
            continue;
        }
        let mut kept = Kept::of(condition);
        if let Some((before, old)) = before.and_then(|before| Some((before, before.conditions.get(&key)?))) {
            kept.transitions.clone_from(&old.transitions);
            time_moves(list, condition, old, &kept, out);
            churn(list, condition, (before, old), &mut kept, next, out);
            generation_falls(list, condition, old, out);
        }
        next.conditions.insert(key, kept);
    }
    if let Some(before) = before {
        summary_lags(list, before, out);
        vanished(list, name, before, next, out);
    }
}

/// SC021: `lastTransitionTime` moves with the status, and forwards.
fn time_moves(list: &List<'_, '_>, condition: &Condition<'_>, old: &Kept, new: &Kept, out: &mut Out<'_, '_>) {
    let (Some(was), Some(is)) = (old.time, new.time) else { return };
    let (Some(old_status), Some(new_status)) = (old.status, new.status) else { return };
    let title = condition.title();
    let changed = old_status != new_status;
    let mut severity = Severity::Error;
    let (message, help) = if is < was {
        let message = format!("the lastTransitionTime of condition {title} went back");
        (message, "take the time from one clock, and keep the stored one while the status is the same")
    } else if changed && is == was {
        let message = format!("{title} went from {old_status} to {new_status}, but lastTransitionTime did not move");
        (message, "set lastTransitionTime whenever the status changes")
    } else if !changed && is > was && new.same_content(old) {
        let message = format!("the lastTransitionTime of condition {title} moved, and nothing else");
        (message, "keep the stored time while the status is the same: each such write triggers the controller again")
    } else if !changed && is > was && !out.profile.content_moves_time() {
        if !out.declared {
            severity = Severity::Warning;
        }
        let message = format!("the lastTransitionTime of condition {title} moved, but its status stayed {new_status}");
        (message, "move it with the status only; a new reason or message is not a transition")
    } else {
        return;
    };
    let (code, field, node, refs) = ("SC021", "lastTransitionTime", condition.time_node, "A13, K4");
    out.report(list, Some(condition), Finding { code, severity, field, node, message, help: help.into(), refs });
}

/// SC022: a write says something new, and a status holds for a while.
fn churn(
    list: &List<'_, '_>,
    condition: &Condition<'_>,
    (before, old): (&Snapshot, &Kept),
    kept: &mut Kept,
    next: &Snapshot,
    out: &mut Out<'_, '_>,
) {
    let same = kept.status == old.status && kept.reason == old.reason;
    if same
        && kept.message != old.message
        && kept.remains == old.remains
        // A new spec may well mean new names in the same sentence.
        && before.generation == next.generation
        && out.profile != Profile::Native
    {
        let message =
            format!("the message of condition {} changed only in times, identifiers or order", condition.title());
        let help =
            "leave out values that differ from run to run, and sort lists: each such write notifies every watcher";
        let (node, field) = (condition.message_node, "message");
        out.report(list, Some(condition), churned(field, node, message, help));
    }
    if kept.status != old.status {
        let at = kept.time.unwrap_or_else(|| out.policy.now.as_seconds());
        let window = i64::try_from(out.policy.flapping.window.as_secs()).unwrap_or(i64::MAX);
        kept.transitions.push(at);
        kept.transitions.retain(|time| at.saturating_sub(*time) <= window);
        if kept.transitions.len() > out.policy.flapping.transitions {
            let (count, title) = (kept.transitions.len(), condition.title());
            let span = clearway_core::humanize(out.policy.flapping.window);
            let message = format!("{title} changed its status {count} times within {span}");
            let help = "delay reports of problems that may pass, or report them with the severity Info";
            out.report(list, Some(condition), churned("status", condition.status_node, message, help));
            // Told once for each burst.
            kept.transitions.clear();
        }
    }
}

fn churned<'a>(field: &'static str, node: Option<Node<'a>>, message: String, help: &'static str) -> Finding<'a> {
    let (code, severity, refs) = ("SC022", Severity::Warning, "A22, KN22");
    Finding { code, severity, field, node, message, help: help.into(), refs }
}

/// SC023: what is always there does not go away.
fn vanished(list: &List<'_, '_>, name: &str, before: &Snapshot, next: &Snapshot, out: &mut Out<'_, '_>) {
    if next.conditions.len() >= MOST_CONDITIONS {
        return;
    }
    let first = (name.to_owned(), String::new());
    let gone = before.conditions.range(first..).take_while(|((list, _), _)| list == name);
    for ((_, type_), _) in gone.filter(|(key, _)| !next.conditions.contains_key(*key)) {
        if let Some(why) = must_stay(type_, list.site, out) {
            out.report(list, None, gone_finding(type_, why));
        }
    }
}

fn gone_finding(type_: &str, why: &str) -> Finding<'static> {
    Finding {
        code: "SC023",
        severity: Severity::Warning,
        field: "",
        node: None,
        message: format!("condition `{type_}` disappeared, {why}"),
        help: "change conditions in place and leave those of others alone: apply your own with a field manager".into(),
        refs: "A9, GW7, G1",
    }
}

/// Why a condition must not disappear, if it must not.
fn must_stay(type_: &str, site: Site, out: &Out<'_, '_>) -> Option<&'static str> {
    let (group, kind) = (out.object.group(), out.object.kind());
    if out.profile == Profile::Native {
        return None;
    }
    if table::is_always(out.profile, group, kind, site, type_) {
        return Some("which is always present");
    }
    if out.profile == Profile::Gateway {
        // A custom condition is assumed to be negative, and those come and go.
        return None;
    }
    if matches!(type_, "Ready" | "Succeeded") {
        return Some("which is the summary");
    }
    if table::only_while_true(out.profile, kind, site, type_) || type_ == "Reconciling" {
        return None;
    }
    if type_.contains('/') {
        return Some("which another controller wrote");
    }
    pattern::name_part(type_).ends_with("ing").then_some("which must be True, False or Unknown, never absent")
}

/// SC024: a generation that was seen stays seen.
fn generation_falls(list: &List<'_, '_>, condition: &Condition<'_>, old: &Kept, out: &mut Out<'_, '_>) {
    if let (Some(was), Some(is)) = (old.generation, condition.generation)
        && is < was
    {
        let message = format!("the observedGeneration of condition {} fell from {was} to {is}", condition.title());
        let help = "never write over a newer observation: read the object again before you write";
        out.report(list, Some(condition), fallen("observedGeneration", condition.generation_node, message, help));
    }
}

/// SC024: with a new generation of the status comes a new word of the summary (KN23).
fn summary_lags(list: &List<'_, '_>, before: &Snapshot, out: &mut Out<'_, '_>) {
    let (Some(was), Some(is)) = (before.observed, out.observed) else { return };
    if list.site != Site::Top || is <= was {
        return;
    }
    let Some(summary) = rules::summary::of(out.profile, list) else { return };
    let lags = summary.generation.is_some_and(|seen| seen > 0 && seen < is);
    if lags || summary.reason == "NewObservedGenFailure" {
        let message = format!("status.observedGeneration advanced to {is}, but {} was not set for it", summary.title());
        let help = "write the generation and the conditions that belong to it in one write";
        out.report(list, Some(summary), fallen("", summary.generation_node, message, help));
    }
}

fn whole(before: &Snapshot, next: &Snapshot, out: &mut Out<'_, '_>) {
    let status = out.status.unwrap_or(out.object.root);
    if let (Some(was), Some(is)) = (before.observed, next.observed)
        && is < was
    {
        let message = format!("status.observedGeneration fell from {was} to {is}");
        let help = "never write over a newer observation: read the object again before you write";
        let node = status.get("observedGeneration").unwrap_or(status);
        out.report_at(node, "status.observedGeneration".to_owned(), fallen("", None, message, help));
    }
    // A list of a part goes with the part; the list of the object itself stays.
    let top = "status.conditions";
    let had = |lists: &[String]| lists.iter().any(|list| list == top);
    if had(&before.lists) && !had(&next.lists) {
        for (_, type_) in before.conditions.keys().filter(|(list, _)| list == top) {
            if let Some(why) = must_stay(type_, Site::Top, out) {
                out.report_at(status, top.to_owned(), gone_finding(type_, why));
            }
        }
    }
}

fn fallen<'a>(field: &'static str, node: Option<Node<'a>>, message: String, help: &'static str) -> Finding<'a> {
    let (code, severity, refs) = ("SC024", Severity::Error, "KN23, A15");
    Finding { code, severity, field, node, message, help: help.into(), refs }
}
