//! What a child has loaded.

use std::collections::BTreeMap;

use clearway_policy::{
    Constraint, ConstraintDefinition, ConstraintError, Expander, Inventory, ObjectKind, PolicySet, PolicySetError,
};
use serde_json::Value;

use super::super::LoadError;
use super::super::protocol::{ChangeMessage, LoadedMessage};

/// Policies, expansions and the inventory.
pub(super) struct Policies {
    pub(super) set: PolicySet,
    pub(super) expander: Expander,
    pub(super) inventory: Inventory,
    expansions: BTreeMap<String, Value>,
}

fn refused(error: &PolicySetError) -> LoadedMessage {
    let missing_template = matches!(error, PolicySetError::Constraint(ConstraintError::NoTemplate(_)));
    LoadedMessage { error: Some(error.into()), missing_template, ..LoadedMessage::default() }
}

fn name(object: &Value) -> String {
    object.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default().to_owned()
}

impl Policies {
    pub(super) fn new(reject_unknown_actions: bool) -> Self {
        Policies {
            set: PolicySet::new().refusing_unknown_actions(reject_unknown_actions),
            expander: Expander::default(),
            inventory: Inventory::default(),
            expansions: BTreeMap::new(),
        }
    }

    /// Loads a change.
    pub(super) fn apply(&mut self, change: &ChangeMessage) -> LoadedMessage {
        match change {
            ChangeMessage::RemoveTemplate { name } => self.set.remove_template(name),
            ChangeMessage::FailTemplate { name, message } => self.set.fail_template(name, message.clone()),
            ChangeMessage::RemoveConstraint { kind, name } => self.set.remove_constraint(kind, name),
            ChangeMessage::PutExpansion(object) => {
                let mut expansions = self.expansions.clone();
                expansions.insert(name(object), object.clone());
                return self.put_expansions(expansions);
            }
            ChangeMessage::RemoveExpansion { name } => {
                let mut expansions = self.expansions.clone();
                expansions.remove(name);
                return self.put_expansions(expansions);
            }
            ChangeMessage::PutInventory(object) => {
                if let Err(error) = self.inventory.insert(object) {
                    return LoadedMessage {
                        error: Some(LoadError::other(error.to_string())),
                        ..LoadedMessage::default()
                    };
                }
            }
            ChangeMessage::RemoveInventory { group, version, kind, namespace, name } => {
                let kind = ObjectKind { group: group.clone(), version: version.clone(), kind: kind.clone() };
                self.inventory.remove(&kind, namespace, name);
            }
            ChangeMessage::PutTemplate(_) | ChangeMessage::PutConstraint { .. } => {
                return put_policy(&mut self.set, change);
            }
        }
        LoadedMessage::default()
    }

    /// What would become of a change.
    pub(super) fn check(&self, change: &ChangeMessage) -> LoadedMessage {
        match change {
            ChangeMessage::PutExpansion(object) => {
                let error = Expander::read([object]).err();
                LoadedMessage { error: error.as_ref().map(LoadError::from), ..LoadedMessage::default() }
            }
            ChangeMessage::PutConstraint { constraint, template: Some(template) } => {
                match ConstraintDefinition::read(template) {
                    Ok(template) => match Constraint::read(constraint, &template) {
                        Ok(constraint) => {
                            LoadedMessage { warning: constraint.unknown_action(), ..LoadedMessage::default() }
                        }
                        Err(error) => refused(&error.into()),
                    },
                    Err(error) => refused(&error.into()),
                }
            }
            // The set shares what it holds with the copy. Whether an unknown action is refused is decided by who asks.
            _ => put_policy(&mut self.set.clone().refusing_unknown_actions(false), change),
        }
    }

    /// The policies with some templates failing.
    pub(super) fn failing(&self, failed: &BTreeMap<String, String>) -> PolicySet {
        let mut set = self.set.clone();
        for (template, message) in failed {
            set.fail_template(template, message.clone());
        }
        set
    }

    fn put_expansions(&mut self, expansions: BTreeMap<String, Value>) -> LoadedMessage {
        match Expander::read(expansions.values()) {
            Ok(expander) => {
                (self.expander, self.expansions) = (expander, expansions);
                LoadedMessage::default()
            }
            Err(error) => LoadedMessage { error: Some((&error).into()), ..LoadedMessage::default() },
        }
    }
}

fn put_policy(set: &mut PolicySet, change: &ChangeMessage) -> LoadedMessage {
    match change {
        ChangeMessage::PutTemplate(object) => match set.add_template(object) {
            Ok(refused) => LoadedMessage {
                refused_constraints: refused.iter().map(|(name, error)| (name.clone(), error.into())).collect(),
                ..LoadedMessage::default()
            },
            Err(error) => refused(&error),
        },
        ChangeMessage::PutConstraint { constraint, .. } => match set.add_constraint(constraint) {
            Ok(warning) => LoadedMessage { warning, ..LoadedMessage::default() },
            Err(error) => refused(&error),
        },
        _ => LoadedMessage::default(),
    }
}
