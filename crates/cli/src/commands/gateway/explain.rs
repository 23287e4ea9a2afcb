//! `clearway gateway explain`: what conditions and reasons mean, and the choices where the specification is silent.

use std::fmt::Write as _;

use anyhow::{Result, bail};
use clearway_core::suggestion::did_you_mean;
use clearway_gateway::explain::{EXPLANATIONS, Explanation, explain};
use clearway_gateway::settings::CHOICES;
use serde_json::{Value, json};

use crate::arguments::GatewayExplain;
use crate::exit::Exit;
use crate::output;

/// Runs the command.
pub(super) fn run(options: &GatewayExplain) -> Result<Exit> {
    match options.what.as_deref() {
        Some("choices") => {
            let data: Vec<Value> = CHOICES
                .iter()
                .map(|choice| json!({"name": choice.name, "about": choice.about, "values": choice.values}))
                .collect();
            output::print_data(options.output.format, &data, || {
                let row = |choice: &clearway_gateway::settings::ChoiceDoc| {
                    vec![choice.name.to_owned(), choice.values.join(", "), choice.about.to_owned()]
                };
                output::table(&["CHOICE", "VALUES (DEFAULT FIRST)", "ABOUT"], CHOICES.iter().map(row))
            })?;
        }
        Some(what) => {
            let (condition, reason) = match what.split_once('/') {
                Some((condition, reason)) => (condition, Some(reason)),
                None => (what, None),
            };
            let found = explain(condition, reason);
            if found.is_empty() {
                let hint = did_you_mean(condition, EXPLANATIONS.iter().map(|row| row.condition.as_str()));
                bail!(
                    "`{what}` is not a condition of Gateway API, or not one of its reasons; `clearway gateway explain` lists all{hint}"
                );
            }
            let data: Vec<Value> = found.iter().map(|row| json_of(row)).collect();
            output::print_data(options.output.format, &data, || {
                found.iter().map(|row| page(row)).collect::<Vec<_>>().join("\n")
            })?;
        }
        None => {
            let data: Vec<Value> = EXPLANATIONS.iter().map(json_of).collect();
            output::print_data(options.output.format, &data, || {
                let row = |one: &Explanation| {
                    let name = format!("{}/{}", one.condition, one.reason);
                    vec![name, one.status.to_owned(), one.kinds.to_owned(), one.meaning.to_owned()]
                };
                output::table(&["CONDITION/REASON", "STATUS", "OBJECTS", "MEANING"], EXPLANATIONS.iter().map(row))
            })?;
        }
    }
    Ok(Exit::Yes)
}

fn page(row: &Explanation) -> String {
    let mut page = format!("{}/{} ({}; {})\n  {}\n", row.condition, row.reason, row.status, row.kinds, row.meaning);
    if !row.action.is_empty() {
        _ = writeln!(page, "  What to do: {}", row.action);
    }
    page
}

fn json_of(row: &Explanation) -> Value {
    json!({
        "condition": row.condition.as_str(),
        "reason": row.reason.as_str(),
        "status": row.status,
        "objects": row.kinds,
        "meaning": row.meaning,
        "action": row.action,
    })
}
