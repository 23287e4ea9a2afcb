//! Why a template or a constraint was not loaded, in the form of `status.byPod`.

use clearway_policy::{ExpansionError, PolicySetError, TemplateError};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// Why something was not loaded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoadError {
    /// Gatekeeper's code: `ingest_error` for the code of a template, `create_error` for the rest of it; empty for other
    /// kinds.
    pub code: String,
    /// What is wrong, with the place if it is one of a text.
    pub message: String,
    /// The place in the code of a template, such as `template:3:1` for line and column.
    pub location: Option<String>,
}

impl LoadError {
    /// An error of the code of a template.
    pub(super) fn of_code(message: impl Into<String>) -> Self {
        LoadError { code: "ingest_error".to_owned(), message: message.into(), location: None }
    }

    /// An error of something that has no codes.
    pub(super) fn other(message: impl Into<String>) -> Self {
        LoadError { code: String::new(), message: message.into(), location: None }
    }

    /// The entry of `errors` in `status.byPod`.
    pub fn to_status(&self) -> Value {
        let message = match self.code.as_str() {
            "ingest_error" => format!("Could not ingest Rego: {}", self.message),
            _ => self.message.clone(),
        };
        let mut error = json!({"message": message});
        if !self.code.is_empty() {
            error["code"] = json!(self.code);
        }
        if let Some(location) = &self.location {
            error["location"] = json!(location);
        }
        error
    }
}

impl From<&PolicySetError> for LoadError {
    fn from(error: &PolicySetError) -> Self {
        let message = error.to_string();
        match error {
            PolicySetError::Template(TemplateError::Rego(rego)) => LoadError {
                location: (rego.line > 0).then(|| format!("{}:{}:{}", rego.module, rego.line, rego.column)),
                ..LoadError::of_code(message)
            },
            PolicySetError::Template(TemplateError::Cel(_)) => LoadError::of_code(message),
            PolicySetError::Template(_) => {
                LoadError { code: "create_error".to_owned(), ..LoadError::other(message) }
            }
            PolicySetError::Constraint(_) | PolicySetError::UnknownAction(_) => LoadError::other(message),
        }
    }
}

impl From<&ExpansionError> for LoadError {
    fn from(error: &ExpansionError) -> Self {
        LoadError::other(error.to_string())
    }
}
