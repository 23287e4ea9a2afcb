//! `clearway bundle explain`: what a rule is about, with examples.

use std::fmt::Write as _;

use anyhow::Result;
use clearway_bundle::{ExamplePair, RULES, Rule};
use clearway_core::suggestion::did_you_mean;
use serde_json::{Value, json};

use crate::arguments::BundleExplain;
use crate::exit::Exit;
use crate::output;

pub(super) fn run(options: &BundleExplain) -> Result<Exit> {
    let Some(name) = &options.rule else {
        let data: Vec<Value> = RULES.iter().map(data).collect();
        output::print_data(options.output.format, &data, || {
            let levels = |rule: &Rule| [rule.standard.to_string(), rule.experimental.to_string()];
            let rows = RULES.iter().map(|rule| {
                let [standard, experimental] = levels(rule);
                vec![rule.id.to_string(), standard, experimental, rule.title.to_owned()]
            });
            output::table(&["RULE", "STANDARD", "EXPERIMENTAL", "CHANGE"], rows)
        })?;
        return Ok(Exit::Yes);
    };
    let Some(rule) = Rule::find(name) else {
        let hint = did_you_mean(name, RULES.iter().map(|rule| rule.id.as_str()));
        let name = output::printable(name);
        output::print_problem!("there is no rule `{name}`; `clearway bundle explain` lists all rules{hint}");
        return Ok(Exit::No);
    };
    output::print_data(options.output.format, &data(rule), || text(rule))?;
    Ok(Exit::Yes)
}

fn data(rule: &Rule) -> Value {
    let example = |pair: Option<ExamplePair>| pair.map(|pair| json!({"old": pair.old, "new": pair.new}));
    json!({
        "rule": rule.id, "title": rule.title, "standard": rule.standard, "experimental": rule.experimental,
        "why": rule.why, "storedObjects": rule.stored_objects,
        "broken": example(rule.broken), "allowed": example(rule.allowed),
    })
}

fn text(rule: &Rule) -> String {
    let mut text = format!(
        "{}: {}\n\nNeeds: {} in the standard channel, {} in the experimental channel.\n{}\nStored objects: {}\n",
        rule.id, rule.title, rule.standard, rule.experimental, rule.why, rule.stored_objects
    );
    for (heading, pair) in [("Breaks the rule", rule.broken), ("Does not break the rule", rule.allowed)] {
        if let Some(ExamplePair { old, new }) = pair {
            // Writing into a text cannot fail.
            let _ = write!(text, "\n{heading}, from:\n{}\nto:\n{}", indented(old), indented(new));
        }
    }
    text
}

fn indented(yaml: &str) -> String {
    yaml.lines().flat_map(|line| ["    ", line, "\n"]).collect()
}
