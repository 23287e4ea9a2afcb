//! Label selectors over the labels of namespaces.

use std::collections::BTreeMap;

use clearway_yaml::Node;

use crate::model::{Name, text};

/// A label selector. An operator that is not known matches nothing, so that nothing is allowed by a mistake.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LabelSelector {
    terms: Vec<Term>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Term {
    key: Name,
    operator: Operator,
    values: Vec<Name>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operator {
    In,
    NotIn,
    Exists,
    DoesNotExist,
    Unknown,
}

/// The labels of a namespace.
pub type Labels = BTreeMap<Name, Name>;

/// The label every namespace has.
pub const NAMESPACE_NAME_LABEL: &str = "kubernetes.io/metadata.name";

impl LabelSelector {
    /// Reads a selector; `matchLabels` and `matchExpressions` must all hold.
    pub(crate) fn read(node: Node<'_>) -> Self {
        let mut terms = Vec::new();
        for (key, value) in node.get("matchLabels").into_iter().flat_map(Node::fields) {
            terms.push(Term { key: key.raw().into(), operator: Operator::In, values: vec![value.raw().into()] });
        }
        for expression in node.get("matchExpressions").into_iter().flat_map(Node::items) {
            let operator = match text(expression, "operator") {
                Some("In") => Operator::In,
                Some("NotIn") => Operator::NotIn,
                Some("Exists") => Operator::Exists,
                Some("DoesNotExist") => Operator::DoesNotExist,
                _ => Operator::Unknown,
            };
            let values = expression.get("values").into_iter().flat_map(Node::items).map(|value| value.raw().into());
            terms.push(Term {
                key: text(expression, "key").unwrap_or_default().into(),
                operator,
                values: values.collect(),
            });
        }
        LabelSelector { terms }
    }

    /// Whether labels are selected; a selector without terms selects everything.
    pub fn matches(&self, labels: &Labels) -> bool {
        self.terms.iter().all(|term| {
            let value = labels.get(&term.key);
            match term.operator {
                Operator::In => value.is_some_and(|value| term.values.contains(value)),
                Operator::NotIn => value.is_none_or(|value| !term.values.contains(value)),
                Operator::Exists => value.is_some(),
                Operator::DoesNotExist => value.is_none(),
                Operator::Unknown => false,
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clearway_yaml::Tape;
    use serde_json::json;

    #[test]
    fn labels_are_selected_as_kubernetes_does() {
        let labels: Labels = [("team".into(), "web".into())].into();
        for (selector, want) in [
            (json!({}), true),
            (json!({"matchLabels": {"team": "web"}}), true),
            (json!({"matchLabels": {"team": "db"}}), false),
            (json!({"matchExpressions": [{"key": "team", "operator": "In", "values": ["db", "web"]}]}), true),
            (json!({"matchExpressions": [{"key": "team", "operator": "NotIn", "values": ["db"]}]}), true),
            (json!({"matchExpressions": [{"key": "tier", "operator": "NotIn", "values": ["a"]}]}), true),
            (json!({"matchExpressions": [{"key": "tier", "operator": "Exists"}]}), false),
            (json!({"matchExpressions": [{"key": "tier", "operator": "DoesNotExist"}]}), true),
            (json!({"matchExpressions": [{"key": "team", "operator": "Near"}]}), false),
            (json!({"matchLabels": {"team": "web"}, "matchExpressions": [{"key": "a", "operator": "Exists"}]}), false),
        ] {
            let tape = Tape::from_json(&selector);
            assert_eq!(LabelSelector::read(tape.root().unwrap()).matches(&labels), want, "{selector}");
        }
    }
}
