//! Risks in structured output: the fields they have on the wire, so that a script knows them already.

use serde::ser::{Serialize, SerializeMap, SerializeStruct, Serializer};

use crate::model::risk::{Risk, Rule};

impl Serialize for Rule {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(1 + self.parameters.len()))?;
        map.serialize_entry("type", &self.kind)?;
        for (key, value) in &self.parameters {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}

impl Serialize for Risk {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut risk = serializer.serialize_struct("Risk", 4)?;
        risk.serialize_field("url", self.url())?;
        risk.serialize_field("name", self.name())?;
        risk.serialize_field("message", self.message())?;
        risk.serialize_field("matchingRules", self.rules())?;
        risk.end()
    }
}

/// Shared risks as a list, without asking `serde` for its support of shared values.
pub(crate) fn risks<S: Serializer>(risks: &[std::sync::Arc<Risk>], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(risks.iter().map(AsRef::as_ref))
}

/// A shared risk.
pub(crate) fn risk<S: Serializer>(risk: &std::sync::Arc<Risk>, serializer: S) -> Result<S::Ok, S::Error> {
    risk.as_ref().serialize(serializer)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    #[test]
    fn a_risk_is_written_as_it_stands_on_the_wire() {
        let rule = json!({"type": "PromQL", "promql": {"promql": "up"}, "also": 1});
        let risk = Risk::new("Broken", "https://example.com", "It \"breaks\".", vec![Rule::from_json(&rule).unwrap()]);
        assert_eq!(serde_json::to_value(&risk).unwrap(), serde_json::from_str::<Value>(risk.json()).unwrap());
    }
}
