//! Writing one condition over what is stored of it.
//!
//! This is the only place that decides about `lastTransitionTime`: it moves when the status does, and never otherwise
//! (K4). An entry that would say the same stays the stored value itself, so that a pass that found nothing new changes
//! nothing, and nothing is written. Start at `Writer::entry`.

use clearway_core::Timestamp;
use serde_json::{Map, Value};

use super::verdict::Finding;
use crate::model::{Condition, ConditionSeverity, ConditionType, StoredFields};

/// A condition of the set, and what is to become of it.
pub(super) struct OwnCondition {
    pub(super) type_: ConditionType,
    pub(super) severity: ConditionSeverity,
    /// What it is to say; nothing if it is to be absent.
    pub(super) finding: Option<Finding>,
    /// The generation that is about; nothing only where it was stored without one and nobody looked again.
    pub(super) seen: Option<i64>,
}

/// What all entries written by one pass have in common.
pub(super) struct Writer<'a> {
    pub(super) now: Timestamp,
    pub(super) kept: &'a StoredFields,
}

impl Writer<'_> {
    /// The entry for a condition, given the stored one of the same type; nothing if it is to be absent.
    ///
    /// Only fields the CRD keeps are written. Fields of the stored entry that are not ours are kept while the entry says
    /// the same, and dropped with it when it does not: they described what it said before.
    pub(super) fn entry(&self, own: &OwnCondition, stored: Option<&Value>) -> Option<Value> {
        let finding = own.finding.as_ref()?;
        let before = stored.and_then(Condition::of).filter(|condition| condition.status == finding.status);
        let since = before.and_then(|condition| condition.last_transition_time);
        let mut fields = Map::new();
        fields.insert("type".to_owned(), own.type_.as_str().into());
        fields.insert("status".to_owned(), finding.status.as_str().into());
        fields.insert("reason".to_owned(), finding.reason.as_str().into());
        fields.insert("message".to_owned(), finding.message.as_str().into());
        fields.insert("lastTransitionTime".to_owned(), since.unwrap_or(self.now).to_string().into());
        if let Some(seen) = own.seen {
            fields.insert("observedGeneration".to_owned(), seen.into());
        }
        if own.severity != ConditionSeverity::Error {
            fields.insert("severity".to_owned(), own.severity.as_str().into());
        }
        fields.retain(|field, _| self.kept.stores(field));
        Some(match stored {
            Some(Value::Object(old)) if self.says_the_same(&fields, old, since) => Value::Object(old.clone()),
            _ => Value::Object(fields),
        })
    }

    fn says_the_same(&self, new: &Map<String, Value>, old: &Map<String, Value>, since: Option<Timestamp>) -> bool {
        let time_stands = since.is_some() || !self.kept.stores("lastTransitionTime");
        let severity_stands = new.contains_key("severity")
            || !self.kept.stores("severity")
            || old.get("severity").is_none_or(|word| word == "");
        // The time is compared as a time: another spelling of the same second is no change.
        let rest = new.iter().filter(|(field, _)| *field != "lastTransitionTime");
        time_stands && severity_stands && rest.into_iter().all(|(field, value)| old.get(field) == Some(value))
    }
}
