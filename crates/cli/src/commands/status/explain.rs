//! `clearway status explain`: the documentation of a lint rule, or the list of rules.

use anyhow::{Result, bail};
use clearway_conditions::lint::{self, RuleDoc};
use clearway_core::suggestion::did_you_mean;
use serde_json::{Value, json};

use crate::arguments::DataFormat;
use crate::exit::Exit;
use crate::output;

/// Prints the page of a rule, or the list.
pub(super) fn run(code: Option<&str>, format: DataFormat) -> Result<Exit> {
    if let Some(code) = code {
        let Some(rule) = lint::rule(&code.to_ascii_uppercase()) else {
            let hint = did_you_mean(code, lint::RULES.iter().map(|rule| rule.code));
            bail!("rule `{code}` not found; `clearway status explain` lists all rules{hint}");
        };
        output::print_data(format, &data(rule), || rule.page.to_owned())?;
        return Ok(Exit::Yes);
    }
    let rules: Vec<Value> = lint::RULES.iter().map(data).collect();
    output::print_data(format, &rules, || {
        let row = |rule: &RuleDoc| {
            let words = [rule.code, rule.severity.as_str(), &rule.scope.to_string(), rule.title];
            words.map(str::to_owned).to_vec()
        };
        output::table(&["RULE", "SEVERITY", "LOOKS AT", "DESCRIPTION"], lint::RULES.iter().map(row))
    })?;
    Ok(Exit::Yes)
}

fn data(rule: &RuleDoc) -> Value {
    json!({
        "code": rule.code,
        "severity": rule.severity,
        "scope": rule.scope.to_string(),
        "title": rule.title,
        "page": rule.page,
    })
}
