//! `clearway policy explain`: which constraints match an object and why, and what they evaluate to.

use std::fmt::Write as _;

use anyhow::{Result, anyhow};
use clearway_policy::{
    ConstraintExplanation, EnforcementPoint, Evaluator, Inventory, MatchCheck, Outcome, Review, Reviewer, Source,
};
use serde_json::{Value, json};

use super::{files, worker};
use crate::arguments::PolicyExplain;
use crate::exit::Exit;
use crate::output;

/// Runs the command.
pub(super) fn run(options: &PolicyExplain) -> Result<Exit> {
    let policies = files::load(&files::read_objects(&options.files)?, false)?;
    let inventory = files::read_objects(&options.inventory)?;
    let inventory = Inventory::of(inventory.iter().map(|(_, object)| object))?;
    let objects = files::read_objects(std::slice::from_ref(&options.object))?;
    let [(_, object)] = objects.as_slice() else {
        return Err(anyhow!("{} has {} objects; name a file with one", options.object.display(), objects.len()));
    };
    let review = if Review::is_admission_review(object) {
        Review::of_admission_review(object)?
    } else {
        Review::of_object(object, Source::Original)
    };
    let budget = worker::budget(&options.limits);
    let reviewer = Reviewer { point: EnforcementPoint::Gator, inventory: &inventory, budget: &budget };
    let mut evaluator = Evaluator::new();
    let explained =
        worker::watched(&super::test::name(object), || policies.explain(&review, &reviewer, &mut evaluator));
    let data: Vec<Value> = explained.iter().map(data).collect();
    output::print_data(options.output.format, &data, || table(&explained))?;
    for line in evaluator.take_prints() {
        output::print_note!("{line}");
    }
    let violated = explained.iter().any(|one| match &one.outcome {
        Outcome::Evaluated(results) => !results.is_empty(),
        Outcome::Failed(_) => true,
        _ => false,
    });
    Ok(if violated { Exit::No } else { Exit::Yes })
}

pub(in crate::commands) fn table(explained: &[ConstraintExplanation]) -> String {
    let mut text = String::new();
    // Writing into a text cannot fail.
    for one in explained {
        let _ = writeln!(text, "{} {} ({})", one.kind, one.name, one.engine);
        for check in one.checks.iter().filter(|check| check.wanted.is_some() || check.holds != Ok(true)) {
            let _ = writeln!(text, "  {}", check_line(check));
        }
        if one.checks.is_empty() {
            let _ = writeln!(text, "  no match: every object matches");
        }
        let _ = match &one.outcome {
            Outcome::NotMatched => writeln!(text, "  not evaluated: the object does not match"),
            Outcome::NotEnforced => writeln!(text, "  not evaluated: no action for this enforcement point"),
            Outcome::Failed(error) => writeln!(text, "  failed: {error}"),
            Outcome::Evaluated(results) => {
                let _ = writeln!(text, "  parameters: {}", one.parameters);
                if results.is_empty() {
                    let _ = writeln!(text, "  no violation");
                }
                for result in results {
                    let _ = writeln!(text, "  {}: {}", result.action.as_str(), result.message);
                    if let Some(details) = result.details.as_ref().filter(|details| **details != json!({})) {
                        let _ = writeln!(text, "    details: {details}");
                    }
                }
                Ok(())
            }
        };
    }
    text
}

fn check_line(check: &MatchCheck) -> String {
    let wanted = check.wanted.as_deref().unwrap_or("not set");
    match &check.holds {
        Ok(true) => format!("{}: matches {wanted}", check.field),
        Ok(false) => format!("{}: does not match {wanted}", check.field),
        Err(error) => format!("{}: cannot be decided: {error}", check.field),
    }
}

fn data(one: &ConstraintExplanation) -> Value {
    let checks: Vec<Value> = one
        .checks
        .iter()
        .map(|check| match &check.holds {
            Ok(holds) => json!({"field": check.field, "wanted": check.wanted, "matches": holds}),
            Err(error) => json!({"field": check.field, "wanted": check.wanted, "error": error}),
        })
        .collect();
    let (outcome, violations) = match &one.outcome {
        Outcome::NotMatched => ("NotMatched", Vec::new()),
        Outcome::NotEnforced => ("NotEnforced", Vec::new()),
        Outcome::Failed(error) => ("Failed", vec![json!({"error": error.to_string()})]),
        Outcome::Evaluated(results) => (
            "Evaluated",
            results
                .iter()
                .map(|result| json!({"message": result.message, "details": result.details, "action": result.action.as_str()}))
                .collect(),
        ),
    };
    json!({
        "kind": one.kind,
        "name": one.name,
        "engine": one.engine,
        "match": checks,
        "parameters": one.parameters,
        "outcome": outcome,
        "violations": violations,
    })
}
