//! `clearway cel eval`: the value of an expression over an object in a file.

use std::fmt::Write as _;

use anyhow::Result;
use clearway_cel::{Bindings, Budget, Evaluation, ExplainedPart, Limits, Outcome, Program, ResultType, Session};
use serde_json::{Value, json};

use super::scope;
use crate::arguments::CelEval;
use crate::exit::Exit;
use crate::output;

/// Values are shown this long; `-o json` has all of them.
const SHOWN: usize = 2_000;

/// Runs the command.
pub(super) fn run(options: &CelEval) -> Result<Exit> {
    let scope = scope::find(&options.scope)?;
    let environment = scope.environment.with_result(ResultType::Any);
    let object = scope::read_object(&options.object)?;
    let old = options.old.as_deref().map(scope::read_object).transpose()?;
    let params = options.params.as_deref().map(scope::read_object).transpose()?;
    let program = match Program::compile(&options.expression, &environment, &Limits::default()) {
        Ok(program) => program,
        Err(error) => {
            output::print_diagnostic(&error.diagnostic(&options.expression));
            return Ok(Exit::CouldNotRun);
        }
    };
    let nothing = Value::Null;
    let mut bindings = Bindings::new().with("object", &object).with("self", &object);
    if let Some(old) = &old {
        bindings = bindings.with("oldSelf", old);
    }
    bindings = bindings.with("oldObject", old.as_ref().unwrap_or(&nothing));
    bindings = bindings.with("params", params.as_ref().unwrap_or(&nothing));
    let session = Session::new(bindings);
    let (evaluation, parts) = if options.explain {
        let explanation = program.explain(&session, &Budget::default())?;
        (explanation.evaluation, explanation.parts)
    } else {
        (session.evaluate(&program, &Budget::default()), Vec::new())
    };
    let data = data(&evaluation, &parts, program.source());
    match &evaluation.outcome {
        Outcome::Value(value) => {
            output::print_data(options.output.format, &data, || {
                format!("{}{}\n", explained(&parts, program.source()), value.show(SHOWN))
            })?;
            Ok(Exit::Yes)
        }
        Outcome::Unknown => Ok(Exit::Unknown),
        Outcome::Error(error) => {
            if options.explain {
                output::print_data(options.output.format, &data, || explained(&parts, program.source()))?;
            }
            output::print_diagnostic(&error.diagnostic(program.source()));
            Ok(Exit::No)
        }
    }
}

/// Each part with its value below it.
fn explained(parts: &[ExplainedPart], source: &str) -> String {
    let mut text = String::new();
    for part in parts {
        let indent = "  ".repeat(part.depth);
        let written: Vec<&str> = part.span.of(source).split_whitespace().collect();
        let times = if part.times > 1 { format!(" (the last of {} times)", part.times) } else { String::new() };
        let _ = writeln!(text, "{indent}{}{times}", written.join(" "));
        let _ = writeln!(text, "{indent}  = {}  [cost {}]", part.value, part.cost);
    }
    if !parts.is_empty() {
        text.push('\n');
    }
    text
}

fn data(evaluation: &Evaluation<'_>, parts: &[ExplainedPart], source: &str) -> Value {
    let mut data = json!({"cost": evaluation.cost});
    match &evaluation.outcome {
        Outcome::Value(value) => {
            data["type"] = json!(value.type_name());
            data["value"] = value.to_json();
        }
        Outcome::Unknown => data["unknown"] = json!(true),
        Outcome::Error(error) => {
            data["error"] = json!({"class": error.class.name(), "from": error.span.start, "to": error.span.end});
        }
    }
    if !parts.is_empty() {
        let part = |part: &ExplainedPart| {
            json!({
                "expression": part.span.of(source),
                "from": part.span.start,
                "to": part.span.end,
                "level": part.depth,
                "value": part.value,
                "cost": part.cost,
                "times": part.times,
            })
        };
        data["explained"] = parts.iter().map(part).collect();
    }
    data
}
