//! `clearway cel explain`: the functions and macros of an environment.

use std::fmt::Write as _;

use anyhow::Result;
use clearway_cel::{FunctionHelp, KubernetesVersion};
use clearway_core::suggestion::did_you_mean;
use serde_json::{Value, json};

use super::scope;
use crate::arguments::CelExplain;
use crate::exit::Exit;
use crate::output;

/// Runs the command.
pub(super) fn run(options: &CelExplain) -> Result<Exit> {
    let environment = scope::without_schema(options.environment, KubernetesVersion::LATEST);
    let Some(name) = &options.function else {
        let all = environment.function_names();
        let help: Vec<FunctionHelp> = all.iter().filter_map(|name| environment.explain_function(name)).collect();
        let data: Vec<Value> = help.iter().map(data).collect();
        output::print_data(options.output.format, &data, || {
            let row = |help: &FunctionHelp| vec![help.name.clone(), help.description.to_owned()];
            output::table(&["FUNCTION", "DESCRIPTION"], help.iter().map(row))
        })?;
        return Ok(Exit::Yes);
    };
    let Some(help) = environment.explain_function(name) else {
        let all = environment.function_names();
        let near: Vec<&str> = all.iter().copied().filter(|known| is_near(known, name)).collect();
        let hint = match near.as_slice() {
            [] => did_you_mean(name, all.iter().copied()),
            near => format!("; similar: {}", near.join(", ")),
        };
        output::print_problem!(
            "function `{}` not found in this environment; `clearway cel explain` lists all{hint}",
            output::printable(name)
        );
        return Ok(Exit::No);
    };
    output::print_data(options.output.format, &data(&help), || {
        let mut text = format!("{}\n\n", help.description);
        for signature in &help.signatures {
            let _ = writeln!(text, "  {signature}");
        }
        text
    })?;
    Ok(Exit::Yes)
}

/// Whether one name may be a misspelling of the other.
fn is_near(known: &str, written: &str) -> bool {
    let (known, written) = (known.to_ascii_lowercase(), written.to_ascii_lowercase());
    let last = |name: &str| name.rsplit('.').next().unwrap_or_default().to_owned();
    last(&known) == last(&written) || (written.len() > 2 && (known.contains(&written) || written.contains(&known)))
}

fn data(help: &FunctionHelp) -> Value {
    json!({"name": help.name, "description": help.description, "signatures": help.signatures})
}
