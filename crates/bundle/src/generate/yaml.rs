//! Writes a value as a YAML document: keys in order, so that the same value is the same bytes.

use serde_json::Value;

/// The YAML of a value, with the line that begins a document.
pub fn to_yaml(value: &Value) -> Result<String, serde_saphyr::ser::Error> {
    Ok(format!("---\n{}", serde_saphyr::to_string(value)?))
}
