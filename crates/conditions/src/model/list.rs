//! A list of conditions as it is stored, whoever wrote it, and the lenient view of each entry.
//!
//! The entries stay the JSON values they came as. What another controller wrote is therefore handed back whole: with
//! the fields this crate does not know, and in the same place. (Keys come in the order `serde_json` gives them, which
//! is sorted, as the API server itself writes custom resources. The feature `preserve_order` is not switched on: it
//! would change the output of every other crate of a build. Where a build has it, the order is kept here too. Numbers
//! come as `serde_json` writes them: `1.50` is `1.5`.)
//! Reading never fails and never panics: missing fields have their defaults (K2), an odd status is Unknown (G2), and
//! what was odd can be asked for ([`Conditions::read`]). Start at [`Conditions`].

use std::borrow::Cow;
use std::fmt;

use clearway_core::Timestamp;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use super::schema::{MAX_CONDITIONS, conditions_schema};
use super::{ConditionSeverity, Status};

/// A list of conditions, as stored.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Conditions {
    entries: Vec<Value>,
}

/// One condition as a reader sees it: every field has a value or its default.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Condition<'a> {
    /// The key of the list; never empty.
    pub type_: &'a str,
    /// Absent, empty and unknown words are Unknown.
    pub status: Status,
    /// Absent is empty.
    pub reason: &'a str,
    /// Absent is empty.
    pub message: &'a str,
    /// Absent and empty are Error (K2); so is an unknown word.
    pub severity: ConditionSeverity,
    /// When the status last changed, if that can be read.
    pub last_transition_time: Option<Timestamp>,
    /// Which generation of the object it is about, if it says so. A number in quotes is read; zero, which Go writes for
    /// "not set", is not.
    pub observed_generation: Option<i64>,
}

/// Something odd that a lenient reader passed over.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Remark {
    /// The position in the list; none if the list itself is odd.
    pub index: Option<usize>,
    /// What is odd.
    pub oddity: Oddity,
}

/// What is odd about a list of conditions or an entry of it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Oddity {
    /// The conditions are not a list; read as none.
    NotAList,
    /// The entry is not an object; passed over.
    NotAnObject,
    /// The entry has no type, or an empty one; passed over.
    NoType,
    /// An earlier entry has the same type; readers by type see the earlier one.
    Duplicate(String),
    /// The status is missing or none of the three words; read as Unknown.
    Status(String),
    /// The severity is not a word of the API; read as Error.
    Severity(String),
    /// A time is there, but it is not RFC 3339; read as absent.
    Time(String),
    /// An observed generation is there, but it is not a whole number; read as absent.
    Generation(String),
}

impl Conditions {
    /// Reads a list leniently, and says what was odd about it. `null` is an empty list.
    pub fn read(list: &Value) -> (Self, Vec<Remark>) {
        match list {
            Value::Array(entries) => {
                let conditions = Conditions { entries: entries.clone() };
                let remarks = conditions.remarks();
                (conditions, remarks)
            }
            Value::Null => (Conditions::default(), Vec::new()),
            _ => (Conditions::default(), vec![Remark { index: None, oddity: Oddity::NotAList }]),
        }
    }

    pub(super) fn from_entries(entries: Vec<Value>) -> Self {
        Conditions { entries }
    }

    /// The entries as they are stored.
    pub fn entries(&self) -> &[Value] {
        &self.entries
    }

    /// The conditions in the order of the list. Entries without a type are no conditions and left out.
    pub fn iter(&self) -> impl Iterator<Item = Condition<'_>> {
        self.entries.iter().filter_map(Condition::of)
    }

    /// The condition of this type; the first if there are several.
    pub fn get(&self, type_: &str) -> Option<Condition<'_>> {
        self.iter().find(|condition| condition.type_ == type_)
    }

    fn remarks(&self) -> Vec<Remark> {
        let mut remarks = Vec::new();
        let mut seen: Vec<&str> = Vec::new();
        for (index, entry) in self.entries.iter().enumerate() {
            let mut remark = |oddity| remarks.push(Remark { index: Some(index), oddity });
            if !entry.is_object() {
                remark(Oddity::NotAnObject);
                continue;
            }
            let Some(condition) = Condition::of(entry) else {
                remark(Oddity::NoType);
                continue;
            };
            if seen.contains(&condition.type_) {
                remark(Oddity::Duplicate(condition.type_.to_owned()));
            }
            seen.push(condition.type_);
            let status = shown(entry.get("status"));
            if condition.status.as_str() != status {
                remark(Oddity::Status(status.into_owned()));
            }
            let severity = shown(entry.get("severity"));
            if condition.severity.as_str() != severity {
                remark(Oddity::Severity(severity.into_owned()));
            }
            let stated = |key| entry.get(key).filter(|value| !value.is_null());
            if let (None, Some(time)) = (condition.last_transition_time, stated("lastTransitionTime")) {
                remark(Oddity::Time(shown(Some(time)).into_owned()));
            }
            if let Some(generation) = stated("observedGeneration")
                && whole_number(generation).is_none()
            {
                remark(Oddity::Generation(shown(Some(generation)).into_owned()));
            }
        }
        remarks
    }
}

impl<'a> Condition<'a> {
    /// Reads one entry of a list leniently; nothing if it is not an object with a type.
    pub fn of(entry: &'a Value) -> Option<Self> {
        let text = |key| entry.get(key).and_then(Value::as_str).unwrap_or_default();
        let type_ = text("type");
        if type_.is_empty() {
            return None;
        }
        let severity = match entry.get("severity") {
            None | Some(Value::Null) => ConditionSeverity::Error,
            Some(word) => word.as_str().map_or(ConditionSeverity::Error, ConditionSeverity::lenient),
        };
        Some(Condition {
            type_,
            status: Status::lenient(text("status")),
            reason: text("reason"),
            message: text("message"),
            severity,
            last_transition_time: text("lastTransitionTime").parse().ok(),
            observed_generation: entry.get("observedGeneration").and_then(whole_number).filter(|seen| *seen != 0),
        })
    }
}

/// A whole number, also one in quotes, as some controllers write their generations.
pub(super) fn whole_number(value: &Value) -> Option<i64> {
    match value {
        Value::String(text) => text.parse().ok(),
        other => other.as_i64(),
    }
}

/// A value as it is quoted in a remark: its text, bounded; absent and null are empty.
fn shown(value: Option<&Value>) -> Cow<'_, str> {
    match value {
        None | Some(Value::Null) => Cow::Borrowed(""),
        Some(Value::String(text)) if text.len() <= 64 => Cow::Borrowed(text),
        Some(Value::String(text)) => Cow::Owned(text.chars().take(64).collect()),
        Some(Value::Bool(flag)) => Cow::Owned(flag.to_string()),
        Some(Value::Number(number)) => Cow::Owned(number.to_string()),
        Some(Value::Array(_)) => Cow::Borrowed("a list"),
        Some(Value::Object(_)) => Cow::Borrowed("an object"),
    }
}

impl fmt::Display for Remark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.index {
            Some(index) => write!(f, "conditions[{index}]: {}", self.oddity),
            None => write!(f, "conditions: {}", self.oddity),
        }
    }
}

impl fmt::Display for Oddity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Oddity::NotAList => f.write_str("not a list; read as no conditions"),
            Oddity::NotAnObject => f.write_str("not an object; skipped"),
            Oddity::NoType => f.write_str("no type; skipped"),
            Oddity::Duplicate(type_) => write!(f, "type `{type_}` occurs before; the earlier entry is read"),
            Oddity::Status(word) => write!(f, "status `{word}` is not True, False or Unknown; read as Unknown"),
            Oddity::Severity(word) => write!(f, "severity `{word}` is not \"\", Warning or Info; read as an error"),
            Oddity::Time(text) => write!(f, "lastTransitionTime `{text}` is not RFC 3339; read as absent"),
            Oddity::Generation(text) => {
                write!(f, "observedGeneration `{text}` is not a whole number; read as absent")
            }
        }
    }
}

impl Serialize for Conditions {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.entries.serialize(serializer)
    }
}

/// Lenient: any JSON value is a list of conditions, if only an empty one. An odd status must not make the whole object
/// unreadable.
impl<'de> Deserialize<'de> for Conditions {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(match Value::deserialize(deserializer)? {
            Value::Array(entries) => Conditions { entries },
            _ => Conditions::default(),
        })
    }
}

impl JsonSchema for Conditions {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        Cow::Borrowed("Conditions")
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        conditions_schema::<MAX_CONDITIONS>(generator)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn k2_missing_fields_have_their_defaults() {
        let (conditions, remarks) = Conditions::read(&json!([{ "type": "Ready" }]));
        assert_eq!(
            conditions.get("Ready"),
            Some(Condition {
                type_: "Ready",
                status: Status::Unknown,
                reason: "",
                message: "",
                severity: ConditionSeverity::Error,
                last_transition_time: None,
                observed_generation: None,
            })
        );
        assert_eq!(remarks, [Remark { index: Some(0), oddity: Oddity::Status(String::new()) }]);
    }

    #[test]
    fn g2_an_odd_status_is_unknown_and_remarked_on() {
        for odd in [json!(""), json!("true"), json!("Yes"), json!(true), json!(null), json!([]), json!({}), json!(1.5)]
        {
            let (conditions, remarks) = Conditions::read(&json!([{ "type": "Ready", "status": odd }]));
            assert_eq!(conditions.get("Ready").map(|c| c.status), Some(Status::Unknown), "{odd}");
            assert!(matches!(remarks.as_slice(), [Remark { oddity: Oddity::Status(_), .. }]), "{odd}: {remarks:?}");
        }
    }

    #[test]
    fn what_is_not_a_list_is_no_conditions_and_a_remark() {
        for odd in [json!({}), json!("x"), json!(3), json!(true)] {
            let (conditions, remarks) = Conditions::read(&odd);
            assert_eq!(conditions.entries(), [] as [Value; 0]);
            assert_eq!(remarks, [Remark { index: None, oddity: Oddity::NotAList }]);
        }
        assert_eq!(Conditions::read(&Value::Null), (Conditions::default(), Vec::new()));
    }

    #[test]
    fn every_oddity_is_told_with_its_place() {
        let (conditions, remarks) = Conditions::read(&json!([
            { "type": "Ready", "status": "True", "lastTransitionTime": "yesterday", "observedGeneration": "3" },
            7,
            { "status": "True" },
            { "type": "Ready", "status": "False", "severity": "Error", "observedGeneration": 1.5 },
        ]));
        assert_eq!(
            remarks.iter().map(ToString::to_string).collect::<Vec<_>>(),
            [
                "conditions[0]: lastTransitionTime `yesterday` is not RFC 3339; read as absent",
                "conditions[1]: not an object; skipped",
                "conditions[2]: no type; skipped",
                "conditions[3]: type `Ready` occurs before; the earlier entry is read",
                "conditions[3]: severity `Error` is not \"\", Warning or Info; read as an error",
                "conditions[3]: observedGeneration `1.5` is not a whole number; read as absent",
            ]
        );
        assert_eq!(conditions.get("Ready").map(|c| (c.status, c.observed_generation)), Some((Status::True, Some(3))));
        assert_eq!(conditions.iter().count(), 2);
    }

    #[test]
    fn a_stored_list_is_written_back_byte_for_byte() {
        let stored =
            r#"[{"lastHeartbeatTime":null,"status":"","type":"X","zone":{"b":1,"c":[1.50]}},"odd",{"type":""}]"#;
        let conditions: Conditions = serde_json::from_str(stored).unwrap();
        assert_eq!(serde_json::to_string(&conditions).unwrap(), stored.replace("1.50", "1.5"));
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            prop_oneof!["Ready", "True", "", "\\PC{0,8}"].prop_map(Value::from),
        ];
        leaf.prop_recursive(3, 24, 6, |inner| {
            let key = prop_oneof![
                "type",
                "status",
                "reason",
                "severity",
                "lastTransitionTime",
                "observedGeneration",
                "[a-z]{0,3}"
            ];
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
                prop::collection::vec((key, inner), 0..6).prop_map(|fields| fields.into_iter().collect()),
            ]
        })
    }

    proptest! {
        #[test]
        fn no_json_makes_reading_panic(value in any_json()) {
            let (conditions, remarks) = Conditions::read(&value);
            prop_assert!(conditions.iter().count() <= conditions.entries().len());
            for remark in remarks {
                prop_assert!(!remark.to_string().is_empty());
            }
        }
    }
}
