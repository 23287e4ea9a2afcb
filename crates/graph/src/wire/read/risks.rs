//! The risks of an answer: each different text is read once, and what cannot be read becomes impossible to recommend.

use std::collections::HashMap;
use std::sync::Arc;

use clearway_core::{CapExceeded, GraphLimits};
use serde_json::Value;

use super::unique_keys::UniqueKeys;
use super::{Reader, short};
use crate::codes::{self, Code};
use crate::model::risk::{Risk, Rule};
use crate::model::risk_table::RiskTable;

/// The name of a risk that stands for one that could not be read and has none.
const UNNAMED: &str = "UnreadableRisk";
/// How much longer than its canonical form the text of a risk may be: blanks and escapes.
const LOOSE: usize = 4;

/// What is wrong with a risk, if something else stands for it.
type Wrong = Option<(&'static Code, String)>;

/// The risks that were read.
#[derive(Default)]
pub(super) struct RiskReader<'t> {
    /// By their text: the number, and what is wrong with it.
    known: HashMap<&'t str, (u32, Wrong)>,
    table: RiskTable,
    /// How many stand in the groups, each counted once for each group.
    named: usize,
}

impl<'t> Reader<'t> {
    /// The number of a risk by its text; an error above a cap.
    pub(super) fn risk(&mut self, group: usize, at: usize, text: &'t str) -> Result<u32, ()> {
        self.risks.named += 1;
        let (named, most) = (self.risks.named, self.caps.answer_risks);
        if !self.counts("answer_risks", named, most, "risks in the groups of one answer") {
            return Err(());
        }
        if !self.risks.known.contains_key(text) {
            let (risk, wrong) = read(text, self.caps);
            let number = self.number(risk)?;
            self.risks.known.insert(text, (number, wrong));
        }
        let (number, wrong) = self.risks.known.get(text).cloned().ok_or(())?;
        if let Some((code, why)) = wrong {
            self.report(code, || format!("conditionalEdges[{group}].risks[{at}]"), || why);
        }
        Ok(number)
    }

    /// The number of the set of a group's risks: never of none, because edges without a risk would be recommended.
    pub(super) fn risk_set(&mut self, group: usize, mut numbers: Vec<u32>) -> u32 {
        if numbers.is_empty() {
            let path = || format!("conditionalEdges[{group}].risks");
            self.report(&codes::WIRE_RISK, path, || "the group has no list of risks".to_owned());
            // The same one each time, so that it never is one risk too many.
            let risk = Arc::new(stand_in(&Value::Null, "it has no risk", self.caps));
            numbers.push(self.sets.risk(&risk));
        }
        self.sets.of_numbers(numbers)
    }

    fn number(&mut self, risk: Risk) -> Result<u32, ()> {
        match self.risks.table.share(Arc::new(risk), "", self.caps) {
            Ok(shared) => Ok(self.sets.risk(&shared)),
            Err(above) => {
                self.exceeded = Some(above);
                Err(())
            }
        }
    }
}

/// The risk of a text, and what is wrong with it if something else stands for it.
fn read(text: &str, caps: &GraphLimits) -> (Risk, Wrong) {
    if text.len() > caps.risk_bytes.saturating_mul(LOOSE) {
        let above =
            CapExceeded { cap: "risk_bytes", limit: caps.risk_bytes as u64, what: "bytes in one risk" }.to_string();
        return (stand_in(&Value::Null, &above, caps), Some((&codes::WIRE_TOO_LARGE, above)));
    }
    // It was gone through as JSON already, so this can only fail where it nests too deep, or has a key twice: of two queries
    // one may match where the other does not.
    let unique = serde_json::from_str::<UniqueKeys>(text);
    let element: Value = match unique.and_then(|UniqueKeys| serde_json::from_str(text)) {
        Ok(element) => element,
        Err(error) => {
            let why = error.to_string();
            return (stand_in(&Value::Null, &why, caps), Some((&codes::WIRE_RISK, why)));
        }
    };
    match risk(&element) {
        Err(why) => (stand_in(&element, why, caps), Some((&codes::WIRE_RISK, why.to_owned()))),
        Ok(risk) => match risk.above(caps) {
            None => (risk, None),
            Some(above) => {
                let above = above.to_string();
                (stand_in(&element, &above, caps), Some((&codes::WIRE_TOO_LARGE, above)))
            }
        },
    }
}

/// A risk, or why it cannot be read.
fn risk(element: &Value) -> Result<Risk, &'static str> {
    let text = |key: &str| element.get(key).and_then(Value::as_str);
    let name = text("name").filter(|name| !name.is_empty()).ok_or("the risk has no name")?;
    let url = text("url").ok_or("the risk has no url")?;
    let message = text("message").ok_or("the risk has no message")?;
    let rules = element.get("matchingRules").and_then(Value::as_array);
    let rules = rules.ok_or("the risk has no list of matchingRules")?;
    let rules: Option<Vec<Rule>> = rules.iter().map(Rule::from_json).collect();
    let rules = rules.ok_or("an entry of matchingRules is not an object with a type")?;
    Ok(Risk::new(name, url, message, rules))
}

/// What stands for a risk that cannot be read: what is left of its texts, and a rule that no cluster can evaluate.
fn stand_in(element: &Value, why: &str, caps: &GraphLimits) -> Risk {
    let text = |key: &str, most: usize| {
        element.get(key).and_then(Value::as_str).filter(|text| !text.is_empty() && text.len() <= most)
    };
    let message = text("message", caps.message_bytes)
        .map_or_else(|| format!("The update service sent a risk that cannot be read: {}.", short(why)), str::to_owned);
    Risk::new(
        text("name", caps.name_bytes).unwrap_or(UNNAMED),
        text("url", caps.url_bytes).unwrap_or(""),
        message,
        vec![Rule::of_kind(Rule::UNREADABLE)],
    )
}
