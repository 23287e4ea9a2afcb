//! What is taken out of an object before it is kept: secrets, and what only the API server needs.
//!
//! This errs on the side of taking out: a rule that looks at something that is gone is unknown, a password that is
//! written down is out. The data of a `ConfigMap` is no secret and stays, but for what looks like one in it.

use clearway_advice::evidence::{REMOVED, UNREADABLE_FIELDS};
use clearway_core::{GroupKind, JsonSize, is_secret_kind};
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
/// Bytes of memory that JSON inside a text may take while it is looked into. Larger ones are removed as a whole.
const JSON_IN_TEXT: usize = 8 << 20;

/// Where in an object a value stands.
#[derive(Debug, Clone, Copy)]
struct Place {
    /// How often JSON inside a text is still looked into. Deeper ones are removed.
    texts: u8,
    schema: SchemaPlace,
    /// In a custom resource definition, where what a schema accepts is kept as it is: that is no secret.
    in_definition: bool,
}

/// Where in the schema of a definition a value stands. There `env` is the name of a field and not a list of variables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SchemaPlace {
    Outside,
    /// Among the keywords of a schema.
    Keywords,
    /// Among the schemas of fields, by the names of the fields.
    Fields,
    /// In a value of an object.
    Value,
}

impl SchemaPlace {
    /// The place of what is below a key.
    fn below(self, key: &str) -> Self {
        match (self, key) {
            (SchemaPlace::Outside, "openAPIV3Schema") | (SchemaPlace::Fields, _) => SchemaPlace::Keywords,
            (SchemaPlace::Keywords, "properties") => SchemaPlace::Fields,
            (SchemaPlace::Keywords, "default" | "enum" | "example") => SchemaPlace::Value,
            _ => self,
        }
    }
}

const TOP: Place = Place { texts: 3, schema: SchemaPlace::Outside, in_definition: false };
/// The labels of an object, as a JSON pointer.
const LABELS: &str = "/metadata/labels";
/// Texts of a schema that decide what it accepts.
const SCHEMA_TEXTS: [&str; 3] = ["pattern", "rule", "messageExpression"];

/// The object without what is never kept; nothing if nothing of it is.
pub fn strip(mut object: Value) -> Option<Value> {
    let kind = object["kind"].as_str().unwrap_or_default();
    if is_secret_kind(kind) {
        return None;
    }
    let config_map = kind == "ConfigMap";
    // Selectors compare them, and the API server takes none that is longer than 63 letters: they are no secrets.
    let labels = object.pointer_mut(LABELS).map(Value::take);
    let mut kept = Vec::new();
    if let Value::Object(fields) = &mut object {
        if config_map {
            kept = ["data", "binaryData"].into_iter().filter_map(|name| fields.remove_entry(name)).collect();
        }
        remove_contents(fields);
    }
    let in_definition = GroupKind::of(&object)
        .is_some_and(|kind| kind.group == "apiextensions.k8s.io" && kind.kind == "CustomResourceDefinition");
    clean(&mut object, Place { in_definition, ..TOP });
    if let (Some(place), Some(labels)) = (object.pointer_mut(LABELS), labels) {
        *place = labels;
    }
    if let Value::Object(fields) = &mut object {
        for (name, mut content) in kept {
            clean_content(&name, &mut content);
            fields.insert(name, content);
        }
    }
    Some(object)
}

/// The data of a `ConfigMap`: files, and bytes that cannot be looked into.
fn clean_content(name: &str, content: &mut Value) {
    let Value::Object(files) = content else { return };
    for (file, content) in files {
        let Value::String(text) = content else { continue };
        if name == "binaryData" || is_secret_name(file) {
            REMOVED.clone_into(text);
        } else {
            clean_file(text, TOP);
        }
    }
}

/// A text that may be JSON, or lines of `key: value`.
fn clean_file(text: &mut String, place: Place) {
    if text.trim_start().starts_with(['{', '[']) {
        let small = JsonSize::of_text(text.as_bytes()).memory <= JSON_IN_TEXT;
        let Some(texts) = place.texts.checked_sub(1).filter(|_| small) else {
            return REMOVED.clone_into(text);
        };
        if let Ok(was) = serde_json::from_str::<Value>(text) {
            let mut value = was.clone();
            clean(&mut value, Place { texts, ..place });
            if value != was {
                *text = value.to_string();
            }
            return clean_text(text);
        }
    }
    *text = text.split_inclusive('\n').map(clean_line).collect();
    clean_text(text);
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

/// Recursion is safe: readers of JSON refuse what is nested more than 128 deep, and JSON in texts is looked into a few times.
fn clean(value: &mut Value, place: Place) {
    match value {
        Value::Object(fields) => clean_fields(fields, place),
        Value::Array(items) => clean_items(items, place),
        // A configuration file, or an object, as a text.
        Value::String(text) if text.contains('\n') || text.trim_start().starts_with(['{', '[']) => {
            clean_file(text, place);
        }
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

/// The values of environment variables and arguments of builds: nobody can tell by their names which of them are secrets.
/// They are lists of `{name, value}` or of `NAME=value`, or maps.
fn remove_values(field: &str, variables: &mut Value) {
    const MAPS: [&str; 6] = ["env", "envs", "envvars", "environment", "environmentvariables", "buildargs"];
    let field = field.to_ascii_lowercase();
    match variables {
        Value::Array(items) if field.contains("env") || field.contains("buildargs") => {
            for item in items {
                match item {
                    Value::String(text) => *text = without_value(text),
                    Value::Object(item) if item.contains_key("name") || item.contains_key("key") => {
                        item.get_mut("value").into_iter().for_each(|value| *value = REMOVED.into());
                    }
                    _ => {}
                }
            }
        }
        Value::Object(values) if MAPS.iter().any(|name| field.ends_with(name)) => {
            for value in values.values_mut().filter(|value| !value.is_object() && !value.is_array()) {
                *value = REMOVED.into();
            }
        }
        _ => {}
    }
}

/// `NAME=value` without the value.
fn without_value(text: &str) -> String {
    text.split_once('=').map_or_else(|| text.to_owned(), |(name, _)| format!("{name}={REMOVED}"))
}

fn clean_fields(fields: &mut Map<String, Value>, place: Place) {
    // What the API server and clients keep for themselves: no rule can ask for it (`clearway_advice::evidence::UNREADABLE_FIELDS`).
    fields.retain(|name, _| !UNREADABLE_FIELDS.contains(&name.as_str()));
    let is_schema = place.in_definition && place.schema == SchemaPlace::Keywords;
    if is_schema {
        // More than half of a definition, and nothing that a rule asks about.
        fields.remove("description");
    }
    // Objects within objects, as in a list or a template.
    if fields.get("kind").and_then(Value::as_str).is_some_and(|kind| is_secret_kind(kind) || kind == "ConfigMap") {
        remove_contents(fields);
    }
    // A variable of a container: the name says what the value is.
    let secret_variable = fields.get("name").and_then(Value::as_str).is_some_and(is_secret_name);
    for (name, value) in fields.iter_mut() {
        let place = Place { schema: place.schema.below(name), ..place };
        let outside = place.schema == SchemaPlace::Outside;
        if outside {
            remove_values(name, value);
        } else if is_schema && value.is_string() && SCHEMA_TEXTS.contains(&name.as_str()) {
            continue;
        }
        let secret = is_secret_name(name) || (secret_variable && name == "value");
        match value {
            Value::String(_) | Value::Number(_) if secret => *value = REMOVED.into(),
            Value::Array(items) if secret => {
                let is_value = |item: &&mut Value| item.is_string() || item.is_number();
                items.iter_mut().filter(is_value).for_each(|item| *item = REMOVED.into());
                clean_items(items, place);
            }
            Value::Object(inner) if secret => {
                // `password: {value: x}`; a reference to a secret has a name and a key.
                inner.get_mut("value").into_iter().for_each(|value| *value = REMOVED.into());
                clean_fields(inner, place);
            }
            Value::Object(notes) if name == "annotations" && outside => clean_annotations(notes, place),
            value => clean(value, place),
        }
    }
}

/// Annotations often hold a whole object, or a configuration, as a text.
fn clean_annotations(notes: &mut Map<String, Value>, place: Place) {
    notes.retain(|name, _| !UNREADABLE_FIELDS.contains(&name.as_str()));
    for (name, value) in notes {
        match value {
            Value::String(text) if is_secret_name(name) => REMOVED.clone_into(text),
            Value::String(text) => clean_file(text, place),
            value => clean(value, place),
        }
    }
}

/// Items of a list, which may be the arguments of a program: `--password=x`, or `--password` and then `x`.
fn clean_items(items: &mut [Value], place: Place) {
    let mut secret_next = false;
    for item in items {
        match item {
            Value::String(text) if secret_next && !text.starts_with('-') => REMOVED.clone_into(text),
            _ => clean(item, place),
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
    // A whole file, such as those of a MachineConfig.
    if text.starts_with("data:") && text.contains(',') {
        *text = format!("data:{REMOVED}");
        return;
    }
    if let Some((flag, _)) = text.split_once('=').filter(|(flag, _)| flag.starts_with('-') && is_secret_name(flag)) {
        *text = format!("{flag}={REMOVED}");
    } else if text.contains("://") && text.contains('@') {
        *text = without_users(text);
    }
}

/// A text whose addresses have no `user:password@` any more, but a mark in its place: what depends on it is not known.
fn without_users(text: &str) -> String {
    let mut parts = text.split("://");
    let mut cleaned = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part.find(['/', '?', '#', ' ', '"', '\'', ',']).unwrap_or(part.len());
        let (host, rest) = part.split_at(end);
        cleaned.push_str("://");
        match host.rsplit_once('@') {
            None => cleaned.push_str(host),
            Some((_, host)) => cleaned.extend([REMOVED, "@", host]),
        }
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
                "annotations": {"kubectl.kubernetes.io/last-applied-configuration": "hunter2", "kept": "yes"},
            },
            "spec": {
                "secretName": "kept", "automountServiceAccountToken": true, "apiToken": "hunter2", "admin-password": "hunter2",
                "httpProxy": "http://me:hunter2@proxy:3128/x, https://you:hunter2@b",
                "nested": [{"kind": "Secret", "data": {"a": "hunter2"}}, {"kind": "Other", "data": {"a": "kept"}}],
                "env": [{"name": "DB_PASSWORD", "value": "hunter2"}, {"name": "MODE", "value": "hunter2"}],
                "apiTokens": ["hunter2", {"name": "kept", "password": "hunter2"}],
                "args": ["--db-password=hunter2", "--token", "hunter2", "--mode=kept", "run"],
                "note": "Authorization: Bearer hunter2", "jwt": "x eyJhbGciOi.hunter2.c2ln",
                "pem": "-----BEGIN RSA PRIVATE KEY-----\nhunter2", "rootPassword": 1_234_567,
                "adminPassword": {"value": "hunter2", "secretName": "kept"}, "source": "data:,%7Bhunter2",
                "valuesContent": "mode: kept\ndbPassword: hunter2\n",
            },
        });
        let clean = strip(dirty).unwrap();
        let text = clean.to_string();
        assert!(!text.contains("hunter2") && !text.contains("1234567") && !text.contains("managedFields"), "{text}");
        assert_eq!(text.matches("kept").count(), 7, "{text}");
        assert_eq!(clean["spec"]["httpProxy"], "http://(removed)@proxy:3128/x, https://(removed)@b");
        assert_eq!(strip(clean.clone()), Some(clean));
        let map = strip(json!({
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
        assert_eq!(strip(map.clone()), Some(map));
        for kind in ["Secret", "SecretList", "TokenReview", "OAuthAccessToken"] {
            assert_eq!(strip(json!({"kind": kind, "data": {}})), None);
        }
    }

    #[test]
    fn variables_and_json_in_annotations_are_looked_into() {
        let inner = json!({"spec": {"password": "hunter2", "mode": "kept"}, "metadata": {"annotations": {
            "again": "{\"apiToken\": \"hunter2\", \"mode\": \"kept\"}",
        }}});
        let clean = strip(json!({
            "kind": "Thing",
            "metadata": {"annotations": {
                "object": inner.to_string(), "lines": "mode: kept\npassword: hunter2", "plain": "kept",
                "broken": "{password: hunter2",
            }},
            "spec": {
                "env": {"MODE": "hunter2", "NUMBER": 5}, "extraEnvVars": [{"name": "A", "value": "hunter2"}],
                "buildArgs": [{"name": "A", "value": "hunter2"}], "dockerBuildArgs": [{"name": "B", "value": "hunter2"}],
                "envFrom": [{"configMapRef": {"name": "kept"}}], "environment": "kept", "Env": ["MODE=hunter2", "kept"],
                "envVars": {"A": "hunter2"}, "extraEnv": [{"key": "A", "value": "hunter2"}],
            },
        }))
        .unwrap();
        let text = clean.to_string();
        assert!(!text.contains("hunter2") && !text.contains("NUMBER\":5"), "{text}");
        assert_eq!(text.matches("kept").count(), 7, "{text}");
        assert_eq!(strip(clean.clone()), Some(clean));

        let schema = json!({
            "env": {"type": "array", "default": [{"name": "A", "value": "kept", "description": "kept"}]},
            "description": {"type": "string"},
        });
        let definition = json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "spec": {"openAPIV3Schema": {"properties": schema}}});
        assert_eq!(strip(definition.clone()), Some(definition), "a schema has fields of these names");
        let schema = json!({
            "description": "A text.",
            "pattern": "^https://[^@]+@.*$", "x-kubernetes-validations": [{"rule": "self != 'bearer x'"}],
            "default": "-----BEGIN PRIVATE KEY-----hunter2",
        });
        let definition = json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "spec": {"openAPIV3Schema": schema},
        });
        let clean = strip(definition.clone()).unwrap();
        for place in ["/spec/openAPIV3Schema/pattern", "/spec/openAPIV3Schema/x-kubernetes-validations"] {
            assert_eq!(clean.pointer(place), definition.pointer(place), "what accepts objects is kept as it is");
        }
        assert!(!clean.to_string().contains("hunter2") && !clean.to_string().contains("A text."), "{clean}");
    }

    #[test]
    fn labels_stay_as_selectors_compare_them() {
        let labels = json!({"example.com/uses-secret": "true", "token": "bearer", "app": "web"});
        let object = json!({"kind": "Thing", "metadata": {"labels": labels}});
        assert_eq!(strip(object.clone()), Some(object));
        // Only its own: what else is named so may be longer, and hold anything.
        let other = strip(json!({"kind": "Thing", "spec": {"labels": {"token": "hunter2"}}})).unwrap();
        assert_eq!(other["spec"]["labels"]["token"], REMOVED);
    }

    #[test]
    fn json_in_texts_takes_a_bounded_amount_of_memory() {
        let many = format!("[{}0]", "{\"a\":0},".repeat(100_000));
        let map = strip(json!({"kind": "ConfigMap", "data": {"many": many}})).unwrap();
        assert_eq!(map["data"]["many"], REMOVED);
        let mut nested = json!({"password": "hunter2"});
        for _ in 0..6 {
            nested = json!({"annotations": {"a": nested.to_string()}});
        }
        let text = strip(json!({"metadata": nested})).unwrap().to_string();
        assert!(text.contains(REMOVED) && !text.contains("hunter2"), "{text}");
    }
}
