//! What the CRD that is installed keeps of a status, and what it would refuse (U15, G2).

use clearway_conditions::model::KeptFields;
use serde_json::Value;

use crate::api::Status;

/// The shape of a status.
#[derive(Debug, Clone, Default)]
pub struct Shape {}

impl Shape {
    /// Leaves out what cannot be stored, and says what.
    pub(crate) fn censor(&self, _status: &mut Status) -> Vec<String> {
        Vec::new()
    }

    /// Whether two statuses are the same once they are stored.
    pub(crate) fn same(&self, desired: &Value, stored: &Value) -> bool {
        desired == stored
    }

    /// The fields of conditions that are kept.
    pub(crate) fn kept_fields(&self) -> KeptFields {
        KeptFields::ALL
    }
}
