//! `clearway policy test`: evaluates objects against the templates and constraints beside them, as `gator test` does.

use std::fmt::Write as _;

use anyhow::{Result, anyhow};
use clearway_policy::{EnforcementPoint, Evaluator, Inventory, Review, ReviewResult, Reviewer, Source};
use serde_json::{Value, json};

use super::{files, worker};
use crate::arguments::PolicyTest;
use crate::exit::Exit;
use crate::output;

/// Runs the command. Everything that goes wrong is exit code 1, as in gator.
pub(super) fn run(options: &PolicyTest) -> Exit {
    evaluate(options).unwrap_or_else(|error| {
        output::print_problem!("auditing objects: {error:#}");
        Exit::No
    })
}

struct Violation<'o> {
    object: &'o Value,
    result: ReviewResult,
    constraint: Value,
}

fn evaluate(options: &PolicyTest) -> Result<Exit> {
    let objects = files::read_objects(&options.files)?;
    let policies = files::load(&objects, options.reject_unknown_actions)?;
    let expander = files::expander(&objects)?;
    let inventory =
        Inventory::of(objects.iter().map(|(_, object)| object)).map_err(|error| anyhow!("adding data: {error}"))?;
    let budget = worker::budget(&options.limits);
    let reviewer = Reviewer { point: EnforcementPoint::Gator, inventory: &inventory, budget: &budget };
    let mut evaluator = Evaluator::new();
    let mut found = Vec::new();
    for (_, object) in &objects {
        let namespace = namespace(object, &inventory);
        let mut review = |object: &Value, source| {
            let review = Review::of_object(object, source).with_namespace(namespace.clone());
            worker::watched(&name(object), || policies.review(&review, &reviewer, &mut evaluator))
                .map_err(|error| anyhow!("reviewing {}: {error}", name(object)))
        };
        let mut results = review(object, Source::Original)?;
        for expanded in expander.expand(object, namespace.as_ref())? {
            let implied = review(&expanded.object, Source::Generated)?;
            results.extend(implied.into_iter().map(|result| expanded.imply(result)));
        }
        for result in results {
            let constraint = policies.constraints().find(|one| one.kind == result.kind && one.name == result.name);
            let constraint = constraint.map(|constraint| constraint.object().clone()).unwrap_or_default();
            found.push(Violation { object, result, constraint });
        }
    }
    found.sort_by(|first, second| first.result.report_order().cmp(&second.result.report_order()));
    let shown: Vec<&Violation<'_>> =
        found.iter().filter(|violation| !options.deny_only || violation.result.denies()).collect();
    let reported: Vec<Value> = shown.iter().map(|violation| data(violation)).collect();
    output::print_data(options.output.format, &reported, || lines(&shown))?;
    for line in evaluator.take_prints() {
        output::print_note!("{line}");
    }
    Ok(if found.iter().any(|violation| violation.result.denies()) { Exit::No } else { Exit::Yes })
}

/// The namespace of an object, if it is among the objects. The namespace `default` always exists.
fn namespace(object: &Value, inventory: &Inventory) -> Option<Value> {
    let name = object.pointer("/metadata/namespace").and_then(Value::as_str).filter(|name| !name.is_empty())?;
    let bare =
        || (name == "default").then(|| json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}));
    inventory.namespace(name).cloned().or_else(bare)
}

/// An object as gator names it.
pub(super) fn name(object: &Value) -> String {
    let text = |path: &str| object.pointer(path).and_then(Value::as_str).unwrap_or_default();
    let front = format!("{}/{}", text("/apiVersion"), text("/kind"));
    match text("/metadata/namespace") {
        "" => format!("{front} {}", text("/metadata/name")),
        namespace => format!("{front} {namespace}/{}", text("/metadata/name")),
    }
}

fn lines(violations: &[&Violation<'_>]) -> String {
    let mut text = String::new();
    for Violation { object, result, .. } in violations {
        // Writing into a text cannot fail.
        let _ = writeln!(text, "{}: [{:?}] Message: {:?}", name(object), result.name, result.message);
    }
    text
}

fn data(violation: &Violation<'_>) -> Value {
    let mut data = json!({
        "target": "admission.k8s.gatekeeper.sh",
        "msg": violation.result.message,
        "metadata": {"details": violation.result.details},
        "constraint": violation.constraint,
        "enforcementAction": violation.result.action.as_str(),
        "violatingObject": violation.object,
    });
    if let (false, Some(fields)) = (violation.result.scoped_actions.is_empty(), data.as_object_mut()) {
        fields.insert("scopedActions".to_owned(), json!(violation.result.scoped_actions));
    }
    data
}
