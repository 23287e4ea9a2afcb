//! `clearway cel check`: syntax, types and cost of an expression.

use std::path::Path;

use anyhow::{Context as _, Result};
use clearway_cel::{Limits, Program, ResultType};

use super::scope;
use crate::arguments::{CelCheck, CelEnvironment, FindingFormat};
use crate::exit::Exit;
use crate::findings::Findings;
use crate::output;

/// Runs the command.
pub(super) fn run(options: &CelCheck) -> Result<Exit> {
    let text = match options.expression.as_str() {
        "-" => {
            let bytes = crate::commands::promql::series::input(Path::new("-"))?;
            String::from_utf8(bytes).context("standard input is not UTF-8")?
        }
        text => text.to_owned(),
    };
    let scope = scope::find(&options.scope)?;
    let rule = matches!(scope.kind, CelEnvironment::Crd | CelEnvironment::Resource);
    let environment = if rule { scope.environment } else { scope.environment.with_result(ResultType::Any) };
    let mut findings = Findings::new(options.output.format, "expression");
    findings.begin(&[])?;
    findings.checked = 1;
    match Program::compile(&text, &environment, &Limits::default()) {
        Ok(program) => {
            if scope.kind == CelEnvironment::Crd {
                match program.check_estimate(scope.values) {
                    Ok(cost) if options.output.format == FindingFormat::Table => {
                        output::print_note!("maximum cost for one object: {cost}");
                    }
                    Ok(_) => {}
                    Err(error) => findings.add(&error.diagnostic(&text))?,
                }
            }
            if options.output.format == FindingFormat::Table {
                output::print_note!("gives {}", program.result_type());
            }
        }
        Err(error) => findings.add(&error.diagnostic(&text))?,
    }
    findings.end()
}
