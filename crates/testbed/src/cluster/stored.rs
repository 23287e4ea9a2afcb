//! What etcd holds below a key, by its gateway for JSON.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::error::{Error, Result};
use crate::http;

/// The values of all keys with a prefix, in the order of the keys.
pub(super) async fn objects(port: u16, prefix: &str) -> Result<Vec<Value>> {
    // `0` is the next character after the slash that prefixes end with.
    let end = format!("{}0", prefix.trim_end_matches('/'));
    let question = json!({"key": STANDARD.encode(prefix), "range_end": STANDARD.encode(end)});
    let request = format!("what etcd has below {prefix}");
    let answer = http::post(port, "/v3/kv/range", &question.to_string()).await.map_err(Error::io(&request))?;
    let unreadable = |why: String| Error::Answer { request: request.clone(), answer: why };
    if answer.status != 200 {
        return Err(unreadable(format!("{}: {}", answer.status, answer.body)));
    }
    let found: Value = serde_json::from_str(&answer.body).map_err(|error| unreadable(error.to_string()))?;
    let values = found["kvs"].as_array().into_iter().flatten();
    let object = |entry: &Value| -> Result<Value> {
        let bytes = STANDARD.decode(entry["value"].as_str().unwrap_or_default());
        let bytes = bytes.map_err(|error| unreadable(error.to_string()))?;
        serde_json::from_slice(&bytes).map_err(|error| unreadable(error.to_string()))
    };
    values.map(object).collect()
}
