//! Which objects a rule is about: by kind, and optionally by namespace, name and labels.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{Failure, ObjectRequest};

/// Steps for the namespace and the name of an object.
const LOOK: u64 = 50;
/// Steps for one requirement on its labels.
const REQUIREMENT: u64 = 25;

/// Objects of one kind.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Selector {
    pub(crate) request: ObjectRequest,
    labels: Vec<Requirement>,
}

/// What a label must be.
#[derive(Debug, Clone, PartialEq)]
enum Requirement {
    In { key: String, values: BTreeSet<String> },
    NotIn { key: String, values: BTreeSet<String> },
    Exists { key: String },
    DoesNotExist { key: String },
}

impl Selector {
    /// A selector of all objects that rules may ask for with a request.
    pub(crate) fn new(request: ObjectRequest) -> Result<Self, Failure> {
        request.check()?;
        Ok(Selector { request, labels: Vec::new() })
    }

    /// The same for objects with some labels, by a label selector in the form of Kubernetes; the error says what is wrong
    /// with it.
    pub(crate) fn with_labels(self, labels: &Value) -> Result<Self, String> {
        Ok(Selector { labels: requirements(labels)?, ..self })
    }

    /// Whether it does not select all objects of its kind.
    pub(crate) fn is_narrow(&self) -> bool {
        self.request.namespace.is_some() || self.request.name.is_some() || !self.labels.is_empty()
    }

    /// The steps that one look at an object takes.
    pub(crate) fn steps(&self) -> u64 {
        LOOK.saturating_add(REQUIREMENT.saturating_mul(self.labels.len() as u64))
    }

    /// Whether it selects an object of its kind.
    pub(crate) fn selects(&self, object: &Value) -> bool {
        let metadata = object.get("metadata");
        let meta = |key: &str| metadata.and_then(|meta| meta.get(key)).and_then(Value::as_str).unwrap_or_default();
        let labels = metadata.and_then(|meta| meta.get("labels"));
        let ObjectRequest { namespace, name, .. } = &self.request;
        namespace.as_deref().is_none_or(|namespace| namespace == meta("namespace"))
            && name.as_deref().is_none_or(|name| name == meta("name"))
            && self.labels.iter().all(|requirement| requirement.holds(labels))
    }
}

impl Requirement {
    /// As the API server has it: what has no such label is "not in" any set.
    fn holds(&self, labels: Option<&Value>) -> bool {
        let value = |key: &str| labels.and_then(|labels| labels.get(key)).and_then(Value::as_str);
        let among = |key: &str, values: &BTreeSet<String>| value(key).is_some_and(|found| values.contains(found));
        match self {
            Requirement::In { key, values } => among(key, values),
            Requirement::NotIn { key, values } => !among(key, values),
            Requirement::Exists { key } => value(key).is_some(),
            Requirement::DoesNotExist { key } => value(key).is_none(),
        }
    }
}

/// Reads a selector in the form of Kubernetes: `matchLabels` and `matchExpressions`.
fn requirements(selector: &Value) -> Result<Vec<Requirement>, String> {
    let fields = selector.as_object().ok_or("is not an object")?;
    let mut requirements = Vec::new();
    for (key, value) in fields {
        match (key.as_str(), value) {
            (_, Value::Null) => {}
            ("matchLabels", Value::Object(labels)) => {
                for (key, value) in labels {
                    let value = value.as_str().ok_or("has a label whose value is not a string")?;
                    requirements.push(Requirement::In { key: key.clone(), values: [value.to_owned()].into() });
                }
            }
            ("matchExpressions", Value::Array(expressions)) => {
                for expression in expressions {
                    requirements.push(requirement(expression).ok_or("has an invalid entry in matchExpressions")?);
                }
            }
            // A key that is passed over would select more than was meant.
            _ => return Err("has fields other than matchLabels and matchExpressions".to_owned()),
        }
    }
    Ok(requirements)
}

fn requirement(expression: &Value) -> Option<Requirement> {
    let key = expression.get("key")?.as_str()?.to_owned();
    let values = || -> Option<BTreeSet<String>> {
        let values = expression.get("values")?.as_array()?;
        let values: Option<BTreeSet<String>> = values.iter().map(|value| value.as_str().map(str::to_owned)).collect();
        values.filter(|values| !values.is_empty())
    };
    Some(match expression.get("operator")?.as_str()? {
        "In" => Requirement::In { key, values: values()? },
        "NotIn" => Requirement::NotIn { key, values: values()? },
        "Exists" => Requirement::Exists { key },
        "DoesNotExist" => Requirement::DoesNotExist { key },
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn labels_are_selected_as_the_api_server_does_it() {
        let object = json!({"metadata": {"labels": {"app": "web", "tier": "front"}}});
        for (selector, want) in [
            (json!({}), true),
            (json!({"matchLabels": {"app": "web"}}), true),
            (json!({"matchLabels": {"app": "web", "tier": "back"}}), false),
            (json!({"matchExpressions": [{"key": "app", "operator": "In", "values": ["api", "web"]}]}), true),
            (json!({"matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["web"]}]}), false),
            (json!({"matchExpressions": [{"key": "zone", "operator": "NotIn", "values": ["a"]}]}), true),
            (json!({"matchExpressions": [{"key": "zone", "operator": "Exists"}]}), false),
            (json!({"matchExpressions": [{"key": "zone", "operator": "DoesNotExist"}]}), true),
        ] {
            let requirements = requirements(&selector).unwrap();
            let labels = object.pointer("/metadata/labels");
            assert_eq!(requirements.iter().all(|requirement| requirement.holds(labels)), want, "{selector}");
        }
    }

    #[test]
    fn what_is_no_selector_is_refused() {
        for selector in [
            json!([]),
            json!({"matchLabel": {"a": "b"}}),
            json!({"matchLabels": {"a": 1}}),
            json!({"matchExpressions": [{"key": "a", "operator": "Like", "values": ["b"]}]}),
            json!({"matchExpressions": [{"key": "a", "operator": "In", "values": []}]}),
            json!({"matchExpressions": [{"operator": "Exists"}]}),
        ] {
            assert!(requirements(&selector).is_err(), "{selector}");
        }
    }
}
