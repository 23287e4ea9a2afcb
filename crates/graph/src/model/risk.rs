//! A risk of an update: its name, its texts, and the rules that say whether a cluster is exposed to it.
//!
//! Each risk carries its JSON, rendered once, so that a thousand answers with the same risk copy bytes. Start at
//! [`Risk::new`].

use std::cmp::Ordering;

use clearway_core::{CapExceeded, GraphLimits};
use serde_json::{Map, Value};

/// One entry of `matchingRules`: a type, and parameters that only that type understands.
#[derive(Debug, Clone, PartialEq)]
pub struct Rule {
    /// The type, such as `Always` or `PromQL`; empty if the entry names none.
    pub kind: String,
    /// Everything else of the entry, unchanged.
    pub parameters: Map<String, Value>,
}

/// Something that is known to go wrong on an update, for the clusters that its rules match.
#[derive(Debug, Clone, PartialEq)]
pub struct Risk {
    name: String,
    url: String,
    message: String,
    rules: Vec<Rule>,
    json: String,
}

impl Rule {
    /// The type that matches every cluster.
    pub const ALWAYS: &'static str = "Always";
    /// The type that asks a metrics store.
    pub const PROMQL: &'static str = "PromQL";
    /// The type that evaluates an expression over objects.
    pub const RESOURCE: &'static str = "Resource";
    /// The type that asks for a condition of objects.
    pub const CONDITION: &'static str = "Condition";
    /// The type that asks which bundle of CRDs is installed.
    pub const BUNDLE: &'static str = "Bundle";
    /// The type that asks for violations of a constraint.
    pub const POLICY: &'static str = "Policy";
    /// The keys that lead to the query of a `PromQL` rule.
    pub(crate) const QUERY_KEYS: [&'static str; 2] = ["promql", "promql"];
    /// The keys that lead to the expression of a `Resource` rule.
    pub(crate) const EXPRESSION_KEYS: [&'static str; 2] = ["resource", "expression"];
    /// Stands for rules that could not be read: no cluster knows this type, so none is recommended the update.
    pub const UNREADABLE: &'static str = "Unreadable";
    /// The types that Clearway evaluates.
    pub const KNOWN: &'static [&'static str] =
        &[Self::ALWAYS, Self::PROMQL, Self::RESOURCE, Self::CONDITION, Self::BUNDLE, Self::POLICY, "Rollout"];

    /// A rule without parameters.
    pub fn of_kind(kind: &str) -> Self {
        Rule { kind: kind.to_owned(), parameters: Map::new() }
    }

    /// The rule a JSON object is; nothing for any other value. A missing type is the empty one, as Cincinnati has it.
    pub fn from_json(value: &Value) -> Option<Self> {
        let mut parameters = value.as_object()?.clone();
        let kind = match parameters.remove("type") {
            None => String::new(),
            Some(Value::String(kind)) => kind,
            Some(_) => return None,
        };
        Some(Rule { kind, parameters })
    }

    /// The query of a `PromQL` rule, under `promql.promql` in any spelling of the keys.
    pub fn promql(&self) -> Option<&str> {
        self.text(Rule::QUERY_KEYS)
    }

    /// The expression of a `Resource` rule, under `resource.expression` in any spelling of the keys.
    pub fn expression(&self) -> Option<&str> {
        self.text(Rule::EXPRESSION_KEYS)
    }

    /// A text of its parameters, under two keys in any spelling. Nothing if one of them is there in two spellings: other
    /// clients would take the one, and others again the other.
    pub(crate) fn text(&self, [outer, inner]: [&str; 2]) -> Option<&str> {
        fn find<'m>(map: &'m Map<String, Value>, wanted: &str) -> Option<&'m Value> {
            let mut found = map.iter().filter(|(key, _)| key.eq_ignore_ascii_case(wanted)).map(|(_, value)| value);
            found.next().filter(|_| found.next().is_none())
        }
        find(find(&self.parameters, outer)?.as_object()?, inner)?.as_str()
    }

    /// What tells rules about objects of a cluster apart; nothing for other rules.
    pub(crate) fn object_question(&self) -> Option<String> {
        let mut text = String::new();
        matches!(self.kind.as_str(), Self::RESOURCE | Self::CONDITION | Self::BUNDLE | Self::POLICY)
            .then(|| self.render(&mut text))?;
        Some(text)
    }

    fn render(&self, out: &mut String) {
        out.push_str("{\"type\":");
        push_text(out, &self.kind);
        let mut keys: Vec<_> = self.parameters.iter().collect();
        keys.sort_by_key(|(key, _)| key.as_str());
        for (key, value) in keys {
            out.push(',');
            push_text(out, key);
            out.push(':');
            push_value(out, value);
        }
        out.push('}');
    }
}

impl Risk {
    /// A risk; its JSON is rendered here, once.
    pub fn new(name: impl Into<String>, url: impl Into<String>, message: impl Into<String>, rules: Vec<Rule>) -> Self {
        let (name, url, message) = (name.into(), url.into(), message.into());
        let mut json = String::with_capacity(128 + url.len() + name.len() + message.len());
        json.push_str("{\"url\":");
        push_text(&mut json, &url);
        json.push_str(",\"name\":");
        push_text(&mut json, &name);
        json.push_str(",\"message\":");
        push_text(&mut json, &message);
        json.push_str(",\"matchingRules\":[");
        for (at, rule) in rules.iter().enumerate() {
            if at > 0 {
                json.push(',');
            }
            rule.render(&mut json);
        }
        json.push_str("]}");
        Risk { name, url, message, rules, json }
    }

    /// The name, a word in camel case.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Where more is said about it.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// What goes wrong, for people.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The rules in order of precedence (U2).
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// The risk as it stands on the wire.
    pub fn json(&self) -> &str {
        &self.json
    }

    /// The cap on one risk that it is above.
    pub(crate) fn above(&self, caps: &GraphLimits) -> Option<CapExceeded> {
        let query = self.rules.iter().filter_map(Rule::promql).map(str::len).max().unwrap_or(0);
        CapExceeded::first([
            ("name_bytes", self.name.len(), caps.name_bytes, "bytes in the name of a risk"),
            ("url_bytes", self.url.len(), caps.url_bytes, "bytes in the url of a risk"),
            ("message_bytes", self.message.len(), caps.message_bytes, "bytes in the message of a risk"),
            ("rules", self.rules.len(), caps.rules, "matching rules in one risk"),
            ("query_bytes", query, caps.query_bytes, "bytes in a query"),
            ("risk_bytes", self.json.len(), caps.risk_bytes, "bytes in one risk"),
        ])
    }

    /// The order of risks everywhere: by name, and by everything else where two share one.
    pub fn order(&self, other: &Risk) -> Ordering {
        self.name.cmp(&other.name).then_with(|| self.json.cmp(&other.json))
    }
}

/// Appends a JSON string.
pub(crate) fn push_text(out: &mut String, text: &str) {
    let plain = |byte: &u8| !matches!(byte, b'"' | b'\\' | 0..=0x1f);
    if text.as_bytes().iter().all(plain) {
        out.push('"');
        out.push_str(text);
        out.push('"');
    } else {
        // Writing a text into a text cannot fail.
        out.push_str(&serde_json::to_string(text).unwrap_or_default());
    }
}

/// Appends a JSON value with the keys of every object in order.
fn push_value(out: &mut String, value: &Value) {
    match value {
        Value::Array(items) => {
            out.push('[');
            for (at, item) in items.iter().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                push_value(out, item);
            }
            out.push(']');
        }
        Value::Object(fields) => {
            let mut fields: Vec<_> = fields.iter().collect();
            fields.sort_by_key(|(key, _)| key.as_str());
            out.push('{');
            for (at, (key, value)) in fields.into_iter().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                push_text(out, key);
                out.push(':');
                push_value(out, value);
            }
            out.push('}');
        }
        Value::String(text) => push_text(out, text),
        scalar => out.push_str(&scalar.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_risk_is_rendered_as_cincinnati_has_it() {
        let rules = vec![
            Rule::from_json(&json!({"type": "PromQL", "promql": {"promql": "max(a{b=\"c\"})\n"}})).unwrap(),
            Rule::of_kind(Rule::ALWAYS),
        ];
        let risk = Risk::new("Broken", "https://example.com/1", "It breaks.", rules);
        assert_eq!(
            risk.json(),
            r#"{"url":"https://example.com/1","name":"Broken","message":"It breaks.","matchingRules":[{"type":"PromQL","promql":{"promql":"max(a{b=\"c\"})\n"}},{"type":"Always"}]}"#
        );
        assert_eq!(risk.rules()[0].promql(), Some("max(a{b=\"c\"})\n"));
    }

    #[test]
    fn an_unknown_type_keeps_its_parameters_and_a_missing_one_is_empty() {
        let value = json!({"type": "Phase", "moon": {"full": [true, null, 1.5]}, "b": 2, "a": "é\u{1}"});
        let rule = Rule::from_json(&value).unwrap();
        let mut out = String::new();
        rule.render(&mut out);
        assert_eq!(serde_json::from_str::<Value>(&out).unwrap(), value);
        assert_eq!(Rule::from_json(&json!({"promql": {"promql": "1"}})).unwrap().kind, "");
        assert_eq!(Rule::from_json(&json!({"type": 1})), None);
        assert_eq!(Rule::from_json(&json!("Always")), None);
    }

    #[test]
    fn a_query_is_found_in_any_spelling() {
        let rule = Rule::from_json(&json!({"type": "PromQL", "PromQL": {"promQL": "up"}})).unwrap();
        assert_eq!(rule.promql(), Some("up"));
        for twice in [
            json!({"type": "PromQL", "promql": {"promql": "up"}, "promQL": {"promql": "down"}}),
            json!({"type": "PromQL", "promql": {"promql": "up", "PROMQL": "down"}}),
        ] {
            assert_eq!(Rule::from_json(&twice).unwrap().promql(), None, "{twice}");
        }
    }
}
