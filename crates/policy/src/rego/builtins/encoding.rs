//! JSON, YAML and queries of URLs.

use clearway_core::Limits;
use clearway_yaml::ReadEvent;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use regorus::Value;
use sha2::{Digest as _, Sha256};

use super::{Function, array, elements, object, text_fits, text_of, texts};
use crate::rego::values;

pub(super) const FUNCTIONS: &[(&str, usize, Function)] = &[
    ("json.marshal", 1, json_marshal),
    ("json.marshal_with_options", 2, json_marshal_with),
    ("opa.runtime", 0, |_| Some(object([]))),
    ("urlquery.decode", 1, |arguments| query_decode(text_of(arguments.first()?)?).map(Value::from)),
    ("urlquery.encode", 1, |arguments| Some(Value::from(query_encode(text_of(arguments.first()?)?)))),
    ("urlquery.decode_object", 1, query_decode_object),
    ("urlquery.encode_object", 1, query_encode_object),
    ("uuid.parse", 1, uuid_parse),
    ("uuid.rfc4122", 1, uuid),
    ("yaml.is_valid", 1, |arguments| Some(Value::from(text_of(arguments.first()?).and_then(read_yaml).is_some()))),
    ("yaml.marshal", 1, yaml_marshal),
    ("yaml.unmarshal", 1, |arguments| read_yaml(text_of(arguments.first()?)?)),
];

/// JSON with the characters escaped that Go escapes, because they mean something in HTML and JavaScript. They can only be
/// within texts.
fn escaped(json: &str) -> String {
    json.replace('<', "\\u003c")
        .replace('>', "\\u003e")
        .replace('&', "\\u0026")
        .replace('\u{2028}', "\\u2028")
        .replace('\u{2029}', "\\u2029")
}

fn json_marshal(arguments: &[Value]) -> Option<Value> {
    let text = escaped(&values::to_json(arguments.first()?)?.to_string());
    text_fits(text.len())?;
    Some(Value::from(text))
}

fn json_marshal_with(arguments: &[Value]) -> Option<Value> {
    let [value, options] = arguments else { return None };
    let Value::Object(options) = options else { return None };
    let option = |name: &str| options.get(&Value::from(name));
    let indent = option("indent").and_then(text_of);
    let prefix = option("prefix").and_then(text_of);
    let pretty = match option("pretty") {
        Some(Value::Bool(pretty)) => *pretty,
        _ => indent.is_some() || prefix.is_some(),
    };
    let json = values::to_json(value)?;
    let text = if pretty {
        let mut bytes = Vec::new();
        let indent = indent.unwrap_or("\t");
        let formatter = serde_json::ser::PrettyFormatter::with_indent(indent.as_bytes());
        let mut serializer = serde_json::Serializer::with_formatter(&mut bytes, formatter);
        serde::Serialize::serialize(&json, &mut serializer).ok()?;
        let text = String::from_utf8(bytes).ok()?;
        let prefix = prefix.unwrap_or_default();
        text.lines().map(|line| format!("{prefix}{line}")).collect::<Vec<_>>().join("\n")
    } else {
        json.to_string()
    };
    let text = escaped(&text);
    text_fits(text.len())?;
    Some(Value::from(text))
}

fn read_yaml(text: &str) -> Option<Value> {
    let mut found = None;
    let summary = clearway_yaml::read(text.as_bytes(), "", &Limits::default(), |event| {
        if let ReadEvent::Object { root, .. } = event {
            found = Some(root.to_json());
        }
    });
    (summary.problems == 0).then(|| values::from_json(&found.unwrap_or_default()))
}

fn yaml_marshal(arguments: &[Value]) -> Option<Value> {
    let json = values::to_json(arguments.first()?)?;
    let text = serde_saphyr::to_string(&json).ok()?;
    text_fits(text.len())?;
    Some(Value::from(text))
}

fn query_encode(text: &str) -> String {
    // Go leaves these as they are, and writes spaces as plus signs.
    const WRITTEN: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');
    utf8_percent_encode(text, WRITTEN).to_string().replace("%20", "+")
}

fn query_decode(text: &str) -> Option<String> {
    let is_hex = |at: usize| text.as_bytes().get(at).is_some_and(u8::is_ascii_hexdigit);
    if !text.match_indices('%').all(|(at, _)| is_hex(at.saturating_add(1)) && is_hex(at.saturating_add(2))) {
        return None;
    }
    let spaced = text.replace('+', " ");
    Some(percent_decode_str(&spaced).decode_utf8_lossy().into_owned())
}

fn query_decode_object(arguments: &[Value]) -> Option<Value> {
    let mut fields: std::collections::BTreeMap<String, Vec<Value>> = std::collections::BTreeMap::new();
    for pair in text_of(arguments.first()?)?.split('&').filter(|pair| !pair.is_empty()) {
        if pair.contains(';') {
            return None;
        }
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        fields.entry(query_decode(key)?).or_default().push(Value::from(query_decode(value)?));
    }
    Some(object(fields.iter().map(|(key, values)| (key.as_str(), array(values.clone())))))
}

fn query_encode_object(arguments: &[Value]) -> Option<Value> {
    let [Value::Object(fields)] = arguments else { return None };
    let mut pairs = Vec::new();
    for (key, value) in fields.iter_sorted() {
        let key = query_encode(text_of(key)?);
        let values = match value {
            Value::String(_) => vec![value],
            other => elements(other)?,
        };
        for value in values {
            pairs.push(format!("{key}={}", query_encode(text_of(value)?)));
        }
    }
    Some(Value::from(pairs.join("&")))
}

/// The same identifier for the same text: policies have no randomness.
fn uuid(arguments: &[Value]) -> Option<Value> {
    let [text] = texts(arguments)?;
    let mut bytes: Vec<u8> = Sha256::digest(text.as_bytes()).iter().take(16).copied().collect();
    for (at, (clear, set)) in [(6, (0x0f, 0x40)), (8, (0x3f, 0x80))] {
        if let Some(byte) = bytes.get_mut(at) {
            *byte = (*byte & clear) | set;
        }
    }
    let hex = super::hex_text(&bytes);
    let part = |from: usize, to: usize| hex.get(from..to).unwrap_or_default();
    Some(Value::from([part(0, 8), part(8, 12), part(12, 16), part(16, 20), part(20, 32)].join("-")))
}

fn uuid_parse(arguments: &[Value]) -> Option<Value> {
    let [text] = texts(arguments)?;
    let digits: String = text.trim_start_matches("urn:uuid:").chars().filter(|char| *char != '-').collect();
    if digits.len() != 32 || !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    let version = u64::from_str_radix(digits.get(12..13)?, 16).ok()?;
    let variant = match u64::from_str_radix(digits.get(16..17)?, 16).ok()? {
        0..=7 => "Reserved",
        8..=11 => "RFC4122",
        12 | 13 => "Microsoft",
        _ => "Future",
    };
    Some(object([("version", Value::from(version)), ("variant", Value::from(variant))]))
}
