//! JSON Web Tokens are read; their signatures are not verified.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use regorus::Value;

use super::{Function, array, text_of};
use crate::rego::values;

pub(super) const FUNCTIONS: &[(&str, usize, Function)] = &[("io.jwt.decode", 1, decode)];

/// The header, the claims, and the signature in hexadecimal.
fn decode(arguments: &[Value]) -> Option<Value> {
    let token = text_of(arguments.first()?)?;
    let parts: Vec<&str> = token.split('.').collect();
    let [header, claims, signature] = parts.as_slice() else { return None };
    let bytes = |part: &str| URL_SAFE_NO_PAD.decode(part.trim_end_matches('=')).ok();
    let json = |part: &str| -> Option<Value> {
        let value: serde_json::Value = serde_json::from_slice(&bytes(part)?).ok()?;
        value.is_object().then(|| values::from_json(&value))
    };
    let signature = super::hex_text(&bytes(signature)?);
    Some(array([json(header)?, json(claims)?, Value::from(signature)]))
}
