//! Rules in CEL (`x-kubernetes-validations`): read and type-checked with the schema, as the API server does it.
//!
//! A rule that does not compile here is named as unchecked, with its position. The rest is in `evaluate`.

mod evaluate;

use std::collections::BTreeMap;

use clearway_cel::{CelError, Environment, KubernetesVersion, Limits, Program};
use clearway_schema::{
    AdditionalProperties, Node, UncheckedConstraint, ValidationRule, ValueType, excerpt, field_path,
};

/// The rules of a place in a schema, and of the places below it.
#[derive(Debug, Default)]
pub(super) struct Rules {
    own: Vec<Rule>,
    properties: BTreeMap<String, Rules>,
    /// Those of the values of a map.
    each: Option<Box<Rules>>,
    items: Option<Box<Rules>>,
}

/// A rule that can be evaluated.
#[derive(Debug)]
struct Rule {
    program: Program,
    /// What the API server says if the rule is not met.
    message: String,
    /// An expression for that, which is evaluated first.
    message_program: Option<Program>,
    /// The field that a violation is about, relative to the place of the rule.
    field_path: String,
    /// Whether it compares with the object as it was before.
    is_transition: bool,
    /// Whether it is evaluated without an older object, too.
    optional_old_self: bool,
}

impl Rules {
    /// Reads the rules of a schema; those that do not compile are added to what is unchecked.
    pub(super) fn read(root: &Node, unchecked: &mut Vec<UncheckedConstraint>) -> Self {
        let mut reader = Reader { unchecked };
        reader.rules(root, "", true)
    }

    fn is_empty(&self) -> bool {
        self.own.is_empty() && self.properties.is_empty() && self.each.is_none() && self.items.is_none()
    }
}

struct Reader<'u> {
    unchecked: &'u mut Vec<UncheckedConstraint>,
}

impl Reader<'_> {
    fn rules(&mut self, node: &Node, path: &str, root: bool) -> Rules {
        let mut rules = Rules::default();
        // The API server does not evaluate rules on values that CEL has no type for.
        if !has_type(node) {
            return rules;
        }
        rules.own = self.own(node, path, root);
        for (name, property) in &node.properties {
            let below = self.rules(property, &field_path(path, name), false);
            if !below.is_empty() {
                rules.properties.insert(name.clone(), below);
            }
        }
        if let AdditionalProperties::Each(each) = &node.additional {
            rules.each = self.below(each, &format!("{path}{{}}"));
        }
        if let Some(items) = &node.items {
            rules.items = self.below(items, &format!("{path}[]"));
        }
        rules
    }

    fn below(&mut self, node: &Node, path: &str) -> Option<Box<Rules>> {
        Some(self.rules(node, path, false)).filter(|rules| !rules.is_empty()).map(Box::new)
    }

    fn own(&mut self, node: &Node, path: &str, root: bool) -> Vec<Rule> {
        // An environment holds the declarations of all that is below, so rules share theirs.
        let environment =
            |optional_old_self| Environment::kubernetes_crd(KubernetesVersion::LATEST, node, root, optional_old_self);
        let mut environments = [None, None];
        let mut read = Vec::new();
        for rule in &node.validations {
            let [plain, optional] = &mut environments;
            let known = if rule.optional_old_self { optional } else { plain };
            let environment = known.get_or_insert_with(|| environment(rule.optional_old_self));
            match Rule::read(rule, environment) {
                Ok(rule) => read.push(rule),
                Err(error) => {
                    let place = error.span.position(&rule.rule);
                    let place = place.map(|at| format!(" (line {}, column {})", at.line, at.column));
                    let text = excerpt(&rule.rule);
                    let what = format!("the rule `{text}` is not evaluated{}: {error}", place.unwrap_or_default());
                    self.unchecked.push(UncheckedConstraint { path: path.to_owned(), what });
                }
            }
        }
        read
    }
}

impl Rule {
    fn read(rule: &ValidationRule, environment: &Environment) -> Result<Self, CelError> {
        let limits = Limits::default();
        let program = Program::compile(&rule.rule, environment, &limits)?;
        // No CRD is installed with a message that does not compile; the other message does as well.
        let message_program = rule
            .message_expression
            .as_ref()
            .and_then(|text| Program::compile(text, &environment.clone().for_message(), &limits).ok());
        let message = match rule.message.trim() {
            "" => format!("failed rule: {}", excerpt(rule.rule.trim())),
            message => excerpt(message),
        };
        Ok(Rule {
            is_transition: program.uses("oldSelf"),
            program,
            message,
            message_program,
            field_path: rule.field_path.clone().unwrap_or_default(),
            optional_old_self: rule.optional_old_self,
        })
    }
}

/// Whether values of a schema have a type in CEL: not where the schema describes nothing.
fn has_type(node: &Node) -> bool {
    if node.int_or_string {
        return true;
    }
    match node.value_type {
        None => false,
        Some(ValueType::Array) => node.items.as_deref().is_some_and(has_type),
        Some(ValueType::Object) => match &node.additional {
            AdditionalProperties::Each(each) if !node.embedded => has_type(each),
            _ => true,
        },
        Some(_) => true,
    }
}
