//! Label selectors.

use std::collections::BTreeMap;

use serde_json::Value;

/// A selector of labels; all requirements must be met.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LabelSelector {
    requirements: Vec<Requirement>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Requirement {
    key: String,
    operator: Operator,
    values: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operator {
    In,
    NotIn,
    Exists,
    DoesNotExist,
}

/// Why a selector is not valid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SelectorError {
    /// The operator does not exist.
    #[error("{0:?} is not a valid label selector operator")]
    Operator(String),
    /// `In` and `NotIn` need values.
    #[error("values: Required value: must be specified when `operator` is 'In' or 'NotIn' (key {0:?})")]
    NoValues(String),
    /// `Exists` and `DoesNotExist` have none.
    #[error("values: Forbidden: may not be specified when `operator` is 'Exists' or 'DoesNotExist' (key {0:?})")]
    Values(String),
    /// A key or value is not one of a label.
    #[error("{0:?} is not a valid {1} of a label")]
    Label(String, &'static str),
    /// A field has the wrong form.
    #[error("could not convert JSON to LabelSelector: {0}")]
    Form(&'static str),
}

impl LabelSelector {
    /// Reads a selector.
    pub fn read(value: &Value) -> Result<LabelSelector, SelectorError> {
        let fields = value.as_object().ok_or(SelectorError::Form("it is not an object"))?;
        let mut requirements = Vec::new();
        match fields.get("matchLabels") {
            None | Some(Value::Null) => {}
            Some(Value::Object(labels)) => {
                for (key, value) in labels {
                    let value = value.as_str().ok_or(SelectorError::Form("a value of matchLabels is not a string"))?;
                    requirements.push(Requirement {
                        key: key.clone(),
                        operator: Operator::In,
                        values: vec![value.to_owned()],
                    });
                }
            }
            Some(_) => return Err(SelectorError::Form("matchLabels is not an object")),
        }
        let expressions = match fields.get("matchExpressions") {
            None | Some(Value::Null) => &[],
            Some(Value::Array(expressions)) => expressions.as_slice(),
            Some(_) => return Err(SelectorError::Form("matchExpressions is not a list")),
        };
        for expression in expressions {
            let text = |name: &str| expression.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
            let key = text("key");
            let values: Vec<String> = match expression.get("values") {
                None | Some(Value::Null) => Vec::new(),
                Some(Value::Array(values)) => values
                    .iter()
                    .map(|value| value.as_str().map(str::to_owned))
                    .collect::<Option<_>>()
                    .ok_or(SelectorError::Form("a value is not a string"))?,
                Some(_) => return Err(SelectorError::Form("values is not a list")),
            };
            let operator = match text("operator").as_str() {
                "In" => Operator::In,
                "NotIn" => Operator::NotIn,
                "Exists" => Operator::Exists,
                "DoesNotExist" => Operator::DoesNotExist,
                other => return Err(SelectorError::Operator(other.to_owned())),
            };
            match (operator, values.is_empty()) {
                (Operator::In | Operator::NotIn, true) => return Err(SelectorError::NoValues(key)),
                (Operator::Exists | Operator::DoesNotExist, false) => return Err(SelectorError::Values(key)),
                _ => requirements.push(Requirement { key, operator, values }),
            }
        }
        for requirement in &requirements {
            requirement.check()?;
        }
        Ok(LabelSelector { requirements })
    }

    /// Whether labels meet all requirements.
    pub fn matches(&self, labels: &BTreeMap<&str, &str>) -> bool {
        self.requirements.iter().all(|requirement| {
            let value = labels.get(requirement.key.as_str());
            let listed = value.is_some_and(|value| requirement.values.iter().any(|wanted| wanted == value));
            match requirement.operator {
                Operator::In => listed,
                Operator::NotIn => !listed,
                Operator::Exists => value.is_some(),
                Operator::DoesNotExist => value.is_none(),
            }
        })
    }
}

impl Requirement {
    fn check(&self) -> Result<(), SelectorError> {
        let name = self.key.rsplit_once('/').map_or(self.key.as_str(), |(_, name)| name);
        if name.is_empty() || !is_label(name) || self.key.matches('/').count() > 1 {
            return Err(SelectorError::Label(self.key.clone(), "key"));
        }
        match self.values.iter().find(|value| !is_label(value)) {
            Some(value) => Err(SelectorError::Label(value.clone(), "value")),
            None => Ok(()),
        }
    }
}

/// At most 63 letters, digits, `-`, `_` and `.`, with a letter or digit at both ends.
fn is_label(text: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    let ends = text.bytes().next().into_iter().chain(text.bytes().last()).all(|byte| byte.is_ascii_alphanumeric());
    text.len() <= 63 && ends && text.bytes().all(inner)
}
