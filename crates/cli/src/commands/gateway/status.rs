//! `clearway gateway status`: the status that each object will have, with the causes of what is wrong.

use std::fmt::Write as _;

use anyhow::Result;
use clearway_conditions::Status;
use clearway_gateway::model::Body;
use clearway_gateway::publish::Publisher;
use clearway_gateway::status::{Condition, ObjectStatus, parent_words};
use clearway_gateway::words::ConditionType;
use clearway_gateway::{Engine, Object, ObjectKey, ObjectKind, RouteTraffic, Settings};
use clearway_sources::clock;
use serde_json::{Value, json};

use super::input::{GatewayObjects, read_objects};
use super::settings::{ASSUMED_CONTROLLER, evaluate, evaluate_with};
use crate::arguments::GatewayStatus;
use crate::exit::Exit;
use crate::output::{self, Document, Table};

/// Runs the command.
pub(super) async fn run(options: &GatewayStatus) -> Result<Exit> {
    let gathered = read_objects(&options.input).await?;
    let engine = evaluate(&options.implementation, &gathered)?;
    let report = Report::new(&engine, &gathered);
    let now = options.time.now.unwrap_or_else(clock::now);
    let is_ours = |_: &str| true;
    let publisher = Publisher { now, is_ours: &is_ours };
    let list = json!({
        "apiVersion": "v1",
        "kind": "List",
        "items": report.objects.iter().filter_map(|key| item(&engine, &publisher, key)).collect::<Vec<Value>>(),
    });
    output::print_data(options.output.format, &list, || {
        let names = report.objects.iter().map(ToString::to_string);
        if options.tree { Document::from(report.tree()).named(names) } else { report.table().into() }
    })?;
    gathered.print_problems();
    if options.output.format.is_text() {
        report.notes(&gathered);
    }
    Ok(match (gathered.is_incomplete(), report.rejected) {
        (true, _) => Exit::CouldNotRun,
        (false, 0) => Exit::Yes,
        (false, _) => Exit::No,
    })
}

/// The status of objects in files, each condition with its causes.
pub(in crate::commands) fn tree(gathered: &GatewayObjects) -> String {
    let settings = Settings { assumed_controller: Some(ASSUMED_CONTROLLER.into()), ..Settings::default() };
    Report::new(&evaluate_with(settings, gathered), gathered).tree()
}

/// An object with its full status; a ReferenceGrant, which has none in the API, with its verdict, and a route with what
/// becomes of its traffic.
fn item(engine: &Engine, publisher: &Publisher<'_>, key: &ObjectKey) -> Option<Value> {
    let object: &Object = engine.object(key)?;
    let mut metadata = json!({"name": &*key.name});
    if !key.namespace.is_empty() {
        metadata["namespace"] = json!(&*key.namespace);
    }
    if let Some(generation) = object.metadata.generation {
        metadata["generation"] = json!(generation);
    }
    let mut item = json!({"apiVersion": &*object.api_version, "kind": key.kind.as_str(), "metadata": metadata});
    if let Some(verdict) = engine.grant_verdict(key) {
        item["verdict"] = json!(verdict);
        return Some(item);
    }
    let status = engine.status(key);
    item["status"] = publisher.merge(object, status.as_ref(), &Value::Null);
    if let Some(traffic) = engine.traffic(key) {
        item["traffic"] = json!(traffic);
    }
    let causes = chains(key, status.as_ref());
    if !causes.is_empty() {
        item["causes"] = json!(causes);
    }
    let unserved: Vec<String> = engine
        .unserved_parents(key)
        .into_iter()
        .map(|(parent, why)| format!("{}: {why}", parent_words(parent)))
        .collect();
    if !unserved.is_empty() {
        item["withoutStatus"] = json!(unserved);
    }
    Some(item)
}

/// The chains of causes, from the object to what is at fault.
fn chains(key: &ObjectKey, status: Option<&ObjectStatus>) -> Vec<String> {
    let lists = status.map(ObjectStatus::condition_lists).unwrap_or_default();
    let mut chains = Vec::new();
    for cause in lists.iter().flat_map(|(_, list)| list.iter()).flat_map(|condition| &condition.causes) {
        let chain = format!("{key} → {cause}");
        if !chains.contains(&chain) {
            chains.push(chain);
        }
    }
    chains
}

/// What is shown of an engine.
struct Report<'a> {
    engine: &'a Engine,
    objects: Vec<ObjectKey>,
    /// Objects that are not accepted.
    rejected: usize,
}

impl<'a> Report<'a> {
    fn new(engine: &'a Engine, gathered: &GatewayObjects) -> Self {
        let shown = |key: &&ObjectKey| {
            engine.status(key).is_some()
                || matches!(key.kind, ObjectKind::ReferenceGrant | ObjectKind::Route(_))
                || matches!(key.kind, ObjectKind::Gateway | ObjectKind::ListenerSet)
        };
        let objects: Vec<ObjectKey> = gathered.objects.keys().filter(shown).cloned().collect();
        let rejected = objects.iter().filter(|key| is_rejected(engine, key)).count();
        Report { engine, objects, rejected }
    }

    fn table(&self) -> Table {
        let rows = self.objects.iter().map(|key| {
            let status = self.engine.status(key);
            let (accepted, resolved, programmed) = match (&status, self.engine.grant_verdict(key)) {
                (_, Some(verdict)) => (if verdict.accepted { "True" } else { "False" }.to_owned(), dash(), dash()),
                (None, None) => ("no status".to_owned(), dash(), dash()),
                (Some(status), None) => (
                    summary(status, ConditionType::Accepted),
                    summary(status, ConditionType::ResolvedRefs),
                    summary(status, ConditionType::Programmed),
                ),
            };
            vec![key.to_string(), accepted, resolved, programmed, self.trouble(key, status.as_ref())]
        });
        output::table(&["OBJECT", "ACCEPTED", "RESOLVEDREFS", "PROGRAMMED", "MESSAGE"], rows)
    }

    /// What is wrong with an object, or with its traffic, in a line.
    fn trouble(&self, key: &ObjectKey, status: Option<&ObjectStatus>) -> String {
        if let Some(verdict) = self.engine.grant_verdict(key) {
            return verdict.message;
        }
        let lists = status.map(ObjectStatus::condition_lists).unwrap_or_default();
        let bad = lists.iter().flat_map(|(_, list)| list.iter()).find(|condition| !condition.is_healthy());
        if let Some(condition) = bad {
            return format!("{}: {}", condition.reason, condition.message);
        }
        if let Some((parent, why)) = self.engine.unserved_parents(key).first() {
            return format!("{}: {why}", parent_words(parent));
        }
        match status {
            None => "no controller serves it".to_owned(),
            Some(_) => failing(self.engine.traffic(key).as_ref()).into_iter().next().unwrap_or_default(),
        }
    }

    fn tree(&self) -> String {
        let mut out = String::new();
        for key in &self.objects {
            let status = self.engine.status(key);
            _ = writeln!(out, "{key}");
            for (about, conditions) in status.as_ref().map(ObjectStatus::condition_lists).unwrap_or_default() {
                let indent = if about.is_empty() { "  " } else { "    " };
                if !about.is_empty() {
                    _ = writeln!(out, "  {about}");
                }
                for condition in conditions {
                    _ = writeln!(out, "{indent}{}", words(condition));
                    for cause in &condition.causes {
                        _ = writeln!(out, "{indent}  {key} → {cause}");
                    }
                }
            }
            for (parent, why) in self.engine.unserved_parents(key) {
                _ = writeln!(out, "  {}: no status: {why}", parent_words(parent));
            }
            if let Some(verdict) = self.engine.grant_verdict(key) {
                _ = writeln!(out, "  {}", verdict.message);
                for reference in &verdict.allows {
                    _ = writeln!(out, "    {reference}");
                }
            } else if status.is_none() && self.engine.unserved_parents(key).is_empty() {
                out.push_str("  no status: no controller serves it\n");
            }
            for line in failing(self.engine.traffic(key).as_ref()) {
                _ = writeln!(out, "  traffic: {line}");
            }
        }
        out
    }

    fn notes(&self, gathered: &GatewayObjects) {
        let assumed: std::collections::BTreeSet<&str> = gathered
            .objects
            .values()
            .filter_map(|object| match &object.body {
                Body::Gateway(gateway) => Some(&*gateway.class),
                _ => None,
            })
            .filter(|class| {
                let key = ObjectKey::new(ObjectKind::GatewayClass, &"".into(), &(*class).into());
                !gathered.is_cluster && !gathered.objects.contains_key(&key)
            })
            .collect();
        for class in assumed {
            output::print_note!(
                "note: GatewayClass {class} is not among the objects; it is taken for one of {ASSUMED_CONTROLLER}"
            );
        }
        if gathered.without_secrets {
            output::print_note!("note: Secrets were not read, so nothing is known of certificates");
        }
        let count = self.objects.len();
        output::print_note!(
            "{count} object{}, {} not accepted; judged by bundle version {}",
            if count == 1 { "" } else { "s" },
            self.rejected,
            self.engine.bundle_version()
        );
    }
}

/// Whether an object is not accepted somewhere, or has no status although it should have one.
pub(super) fn is_rejected(engine: &Engine, key: &ObjectKey) -> bool {
    if let Some(verdict) = engine.grant_verdict(key) {
        return !verdict.accepted;
    }
    match engine.status(key) {
        Some(status) => status.is_rejected() || !engine.unserved_parents(key).is_empty(),
        None => matches!(key.kind, ObjectKind::Gateway | ObjectKind::ListenerSet | ObjectKind::Route(_)),
    }
}

/// Requests that do not get what the author of a route wanted.
fn failing(traffic: Option<&RouteTraffic>) -> Vec<String> {
    let rules = traffic.into_iter().flat_map(|traffic| &traffic.rules);
    rules
        .flat_map(|rule| {
            rule.shares.iter().filter(|share| !share.answer.is_success()).map(move |share| {
                let answer = share.answer.as_str();
                format!("{} ({}): {} {answer}, {}", rule.rule, rule.requests, share.percent(), share.why)
            })
        })
        .collect()
}

fn words(condition: &Condition) -> String {
    format!("{}={}/{}", condition.kind, condition.status.as_str(), condition.reason)
}

/// A condition of an object in a word: that of the object itself, or of all its parents together.
fn summary(status: &ObjectStatus, kind: ConditionType) -> String {
    let lists = status.condition_lists();
    let whole = !matches!(status, ObjectStatus::Route { .. } | ObjectStatus::Policy { .. });
    let lists = if whole { lists.get(..1).unwrap_or(&[]) } else { &lists };
    let found: Vec<Status> = lists
        .iter()
        .flat_map(|(_, list)| list.iter())
        .filter(|condition| condition.kind == kind)
        .map(|condition| condition.status)
        .collect();
    match found.as_slice() {
        [] => dash(),
        [first, rest @ ..] if rest.iter().all(|status| status == first) => first.as_str().to_owned(),
        some => {
            let good = some.iter().filter(|status| **status == Status::True).count();
            format!("{good} of {}", some.len())
        }
    }
}

fn dash() -> String {
    "-".to_owned()
}
