//! What is taken out of an object before it is kept: secrets, and what only the API server needs.
//!
//! This errs on the side of taking out: a rule that looks at something that is gone is unknown, a password that is
//! written down is out. The data of a `ConfigMap` is no secret and stays, but for what looks like one in it.

use clearway_advice::evidence::{ObjectKind, REMOVED};
use serde_json::{Map, Value};

/// Fields that hold contents, of whatever object.
const CONTENTS: [&str; 3] = ["data", "stringData", "binaryData"];
/// How names of fields and variables end that hold secrets, in lower case and without `_`, `-` and `.`.
const SECRETS: [&str; 14] = [
    "token",
    "password",
    "passwd",
    "passphrase",
    "secret",
    "secretkey",
    "privatekey",
    "accesskey",
    "apikey",
    "accesskeyid",
    "secretvalue",
    "credential",
    "authorization",
    "kubeconfig",
];
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// Whether objects of a kind are secrets as a whole and never kept, whatever their group.
fn is_secret_kind(kind: &str) -> bool {
    ObjectKind { group: String::new(), kind: kind.to_owned() }.is_secret()
}

/// The object without what is never kept; nothing if nothing of it is.
pub fn strip(object: &Value) -> Option<Value> {
    let kind = object["kind"].as_str().unwrap_or_default();
    if is_secret_kind(kind) || kind.strip_suffix("List").is_some_and(is_secret_kind) {
        return None;
    }
    let mut object = object.clone();
    let mut kept = Vec::new();
    if let Value::Object(fields) = &mut object {
        if kind == "ConfigMap" {
            kept = ["data", "binaryData"].into_iter().filter_map(|name| fields.remove_entry(name)).collect();
        }
        remove_contents(fields);
    }
    clean(&mut object);
    if let Value::Object(fields) = &mut object {
        for (name, mut content) in kept {
            clean_content(&name, &mut content);
            fields.insert(name, content);
        }
    }
    Some(object)
}

/// The data of a `ConfigMap`: files that may be JSON or lines of `key: value`, and bytes that cannot be looked into.
fn clean_content(name: &str, content: &mut Value) {
    let Value::Object(files) = content else { return };
    for (file, content) in files {
        let Value::String(text) = content else { continue };
        if name == "binaryData" || is_secret_name(file) {
            REMOVED.clone_into(text);
            continue;
        }
        match serde_json::from_str::<Value>(text).ok().filter(|value| value.is_object() || value.is_array()) {
            Some(was) => {
                let mut value = was.clone();
                clean(&mut value);
                if value != was {
                    *text = value.to_string();
                }
            }
            None => *text = text.split_inclusive('\n').map(clean_line).collect(),
        }
        clean_text(text);
    }
}

/// A line of a configuration file: the key says what the value is.
fn clean_line(line: &str) -> String {
    let Some(at) = line.find([':', '=']) else { return line.to_owned() };
    let (key, value) = line.split_at(at);
    let (sign, value) = value.split_at(1);
    let secret =
        is_secret_name(key.trim_matches(|letter: char| letter.is_whitespace() || matches!(letter, '"' | '\'' | '-')));
    // A key without a value opens a block; its lines are looked at one by one.
    if !secret || value.trim().is_empty() {
        return line.to_owned();
    }
    let end = if line.ends_with('\n') { "\n" } else { "" };
    format!("{key}{sign} {REMOVED}{end}")
}

/// A text without what looks like a secret.
pub(super) fn strip_text(text: &str) -> String {
    let mut text = text.to_owned();
    clean_text(&mut text);
    text
}

/// Recursion is safe: readers of JSON refuse what is nested more than 128 deep.
fn clean(value: &mut Value) {
    match value {
        Value::Object(fields) => clean_fields(fields),
        Value::Array(items) => clean_items(items),
        Value::String(text) => clean_text(text),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Contents are removed, and marked as removed: a rule that asks for them is not answered as if there were none.
fn remove_contents(fields: &mut Map<String, Value>) {
    for (_, content) in fields.iter_mut().filter(|(name, _)| CONTENTS.contains(&name.as_str())) {
        *content = REMOVED.into();
    }
}

/// The values of a container's environment variables: nobody can tell by their names which of them are secrets.
fn remove_values(variables: &mut [Value]) {
    let values = variables.iter_mut().filter(|variable| variable.get("name").is_some());
    for value in values.filter_map(|variable| variable.get_mut("value")) {
        *value = REMOVED.into();
    }
}

fn clean_fields(fields: &mut Map<String, Value>) {
    fields.retain(|name, _| !matches!(name.as_str(), "managedFields" | LAST_APPLIED));
    // Objects within objects, as in a list or a template.
    if fields.get("kind").and_then(Value::as_str).is_some_and(|kind| is_secret_kind(kind) || kind == "ConfigMap") {
        remove_contents(fields);
    }
    if let Some(Value::Array(variables)) = fields.get_mut("env") {
        remove_values(variables);
    }
    // A variable of a container: the name says what the value is.
    let secret_variable = fields.get("name").and_then(Value::as_str).is_some_and(is_secret_name);
    for (name, value) in fields.iter_mut() {
        let secret = is_secret_name(name) || (secret_variable && name == "value");
        match value {
            Value::String(text) if secret => REMOVED.clone_into(text),
            Value::Array(items) if secret => {
                items.iter_mut().filter(|item| item.is_string()).for_each(|item| *item = REMOVED.into());
                clean_items(items);
            }
            value => clean(value),
        }
    }
}

/// Items of a list, which may be the arguments of a program: `--password=x`, or `--password` and then `x`.
fn clean_items(items: &mut [Value]) {
    let mut secret_next = false;
    for item in items {
        match item {
            Value::String(text) if secret_next && !text.starts_with('-') => REMOVED.clone_into(text),
            _ => clean(item),
        }
        secret_next = item.as_str().is_some_and(|text| text.starts_with('-') && is_secret_name(text));
    }
}

/// Whether a field, variable or flag of this name holds a secret, or several.
fn is_secret_name(name: &str) -> bool {
    let plain: String = name.chars().filter(|letter| !matches!(letter, '_' | '-' | '.')).collect();
    let plain = plain.to_ascii_lowercase();
    SECRETS.iter().any(|secret| plain.trim_end_matches('s').ends_with(secret.trim_end_matches('s')))
}

/// Texts that are secrets by their look, wherever they stand, and passwords in addresses.
fn clean_text(text: &mut String) {
    let is_jwt = |word: &str| word.starts_with("eyJ") && word.matches('.').count() >= 2;
    let words = || text.split(|letter: char| !letter.is_ascii_alphanumeric() && !matches!(letter, '.' | '_' | '-'));
    let secret = text.contains("PRIVATE KEY-----")
        || words().any(is_jwt)
        || text.split_whitespace().any(|word| word.eq_ignore_ascii_case("bearer"));
    if secret {
        REMOVED.clone_into(text);
        return;
    }
    if let Some((flag, _)) = text.split_once('=').filter(|(flag, _)| flag.starts_with('-') && is_secret_name(flag)) {
        *text = format!("{flag}={REMOVED}");
    } else if text.contains("://") && text.contains('@') {
        *text = without_users(text);
    }
}

/// A text whose addresses have no `user:password@` any more.
fn without_users(text: &str) -> String {
    let mut parts = text.split("://");
    let mut cleaned = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part.find(['/', '?', '#', ' ', '"', '\'', ',']).unwrap_or(part.len());
        let (host, rest) = part.split_at(end);
        cleaned.push_str("://");
        cleaned.push_str(host.rsplit_once('@').map_or(host, |(_, host)| host));
        cleaned.push_str(rest);
    }
    cleaned
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn secrets_are_not_kept_wherever_they_stand() {
        let dirty = json!({
            "apiVersion": "v1", "kind": "Thing", "data": {"a": "hunter2"}, "stringData": {"a": "hunter2"},
            "metadata": {
                "name": "a", "managedFields": [{"x": "hunter2"}],
                "annotations": {LAST_APPLIED: "hunter2", "kept": "yes"},
            },
            "spec": {
                "secretName": "kept", "automountServiceAccountToken": true, "apiToken": "hunter2", "admin-password": "hunter2",
                "httpProxy": "http://me:hunter2@proxy:3128/x, https://you:hunter2@b",
                "nested": [{"kind": "Secret", "data": {"a": "hunter2"}}, {"kind": "Other", "data": {"a": "kept"}}],
                "env": [{"name": "DB_PASSWORD", "value": "hunter2"}, {"name": "MODE", "value": "hunter2"}],
                "apiTokens": ["hunter2", {"name": "kept", "password": "hunter2"}],
                "args": ["--db-password=hunter2", "--token", "hunter2", "--mode=kept", "run"],
                "note": "Authorization: Bearer hunter2", "jwt": "x eyJhbGciOi.hunter2.c2ln",
                "pem": "-----BEGIN RSA PRIVATE KEY-----\nhunter2",
            },
        });
        let clean = strip(&dirty).unwrap();
        let text = clean.to_string();
        assert!(!text.contains("hunter2") && !text.contains("managedFields"), "{text}");
        assert_eq!(text.matches("kept").count(), 5, "{text}");
        assert_eq!(clean["spec"]["httpProxy"], "http://proxy:3128/x, https://b");
        assert_eq!(strip(&clean), Some(clean));
        let map = strip(&json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "binaryData": {"a": "hunter2"},
            "data": {
                "mode": "kept", "password": "hunter2", "conf.yaml": "mode: kept\npassword: hunter2\n  - apiToken = hunter2",
                "conf.json": "{\"mode\": \"kept\", \"clientSecret\": \"hunter2\"}", "plain.json": "{ \"mode\":  \"kept\" }",
                "url": "https://me:hunter2@kept/", "ca.crt": "kept",
            },
        }))
        .unwrap();
        let text = map.to_string();
        assert!(!text.contains("hunter2") && text.matches("kept").count() == 6, "{text}");
        assert_eq!(map["data"]["conf.yaml"], "mode: kept\npassword: (removed)\n  - apiToken = (removed)");
        assert_eq!(map["data"]["plain.json"], "{ \"mode\":  \"kept\" }", "what has no secret stays as it is");
        assert_eq!(strip(&map), Some(map));
        for kind in ["Secret", "SecretList", "TokenReview", "OAuthAccessToken"] {
            assert_eq!(strip(&json!({"kind": kind, "data": {}})), None);
        }
    }
}
