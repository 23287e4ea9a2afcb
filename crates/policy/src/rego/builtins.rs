//! The functions of Rego: which exist, and those that the engine lacks, gets wrong, or does not bound.
//!
//! A function of ours that fails gives no value, as OPA's functions do unless errors are strict. What would make a value
//! larger than [`MAX_TEXT`] or [`MAX_ELEMENTS`] ends the evaluation with an error.

mod clock;
mod collections;
mod crypto;
mod encoding;
mod format;
mod network;
mod numbers;
mod patterns;
mod text;
mod tokens;

use std::cell::Cell;
use std::fmt::Write as _;

use regorus::{Engine, Value};

use super::error::EvaluationError;

pub(super) use clock::set_now;
pub(super) use format::written;

/// The longest text a function may make, in bytes.
pub const MAX_TEXT: usize = 8 << 20;

/// The most elements a function may put into a collection.
pub const MAX_ELEMENTS: usize = 1_000_000;

/// What is known of a function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Support {
    /// It exists and takes so many arguments.
    Arity(usize),
    /// It takes any number of arguments.
    Variadic,
    /// Gatekeeper has it, and it is refused here.
    Unsupported(&'static str),
}

/// A function of ours: nothing where OPA's function fails.
type Function = fn(&[Value]) -> Option<Value>;

/// The functions of the engine that are used as they are, with the number of their arguments.
const OF_ENGINE: &[(&str, usize)] = &[
    ("abs", 1),
    ("array.reverse", 1),
    ("array.slice", 3),
    ("base64.decode", 1),
    ("base64.encode", 1),
    ("base64.is_valid", 1),
    ("base64url.decode", 1),
    ("base64url.encode", 1),
    ("base64url.encode_no_pad", 1),
    ("bits.and", 2),
    ("bits.negate", 1),
    ("bits.or", 2),
    ("bits.rsh", 2),
    ("bits.xor", 2),
    ("ceil", 1),
    ("contains", 2),
    ("count", 1),
    ("endswith", 2),
    ("floor", 1),
    ("glob.match", 3),
    ("glob.quote_meta", 1),
    ("graph.reachable", 2),
    ("graph.reachable_paths", 2),
    ("hex.decode", 1),
    ("hex.encode", 1),
    ("intersection", 1),
    ("is_array", 1),
    ("is_boolean", 1),
    ("is_null", 1),
    ("is_number", 1),
    ("is_object", 1),
    ("is_set", 1),
    ("is_string", 1),
    ("json.filter", 2),
    ("json.is_valid", 1),
    ("json.patch", 2),
    ("json.remove", 2),
    ("json.unmarshal", 1),
    ("max", 1),
    ("min", 1),
    ("object.filter", 2),
    ("object.get", 3),
    ("object.keys", 1),
    ("object.remove", 2),
    ("object.subset", 2),
    ("object.union", 2),
    ("object.union_n", 1),
    ("round", 1),
    ("sort", 1),
    ("split", 2),
    ("startswith", 2),
    ("strings.any_prefix_match", 2),
    ("strings.any_suffix_match", 2),
    ("strings.count", 2),
    ("strings.reverse", 1),
    ("substring", 3),
    ("sum", 1),
    ("trim", 2),
    ("trim_left", 2),
    ("trim_prefix", 2),
    ("trim_right", 2),
    ("trim_space", 1),
    ("trim_suffix", 2),
    ("type_name", 1),
    ("union", 1),
    ("units.parse", 1),
    ("units.parse_bytes", 1),
    ("walk", 1),
];

/// Functions that are refused when a template is loaded, with the reason.
const REFUSED: &[(&str, &str)] = &[
    ("external_data", "providers of external data are not called"),
    ("http.send", "policies have no access to the network; Gatekeeper disables it as well"),
    ("net.lookup_ip_addr", "policies have no access to the network"),
    ("crypto.parse_private_keys", "certificates and keys are not parsed"),
    ("crypto.x509.parse_and_verify_certificates", "certificates and keys are not parsed"),
    ("crypto.x509.parse_and_verify_certificates_with_options", "certificates and keys are not parsed"),
    ("crypto.x509.parse_certificate_request", "certificates and keys are not parsed"),
    ("crypto.x509.parse_certificates", "certificates and keys are not parsed"),
    ("crypto.x509.parse_keypair", "certificates and keys are not parsed"),
    ("crypto.x509.parse_rsa_private_key", "certificates and keys are not parsed"),
    ("graphql.is_valid", "GraphQL is not parsed"),
    ("graphql.parse", "GraphQL is not parsed"),
    ("graphql.parse_and_verify", "GraphQL is not parsed"),
    ("graphql.parse_query", "GraphQL is not parsed"),
    ("graphql.parse_schema", "GraphQL is not parsed"),
    ("graphql.schema_is_valid", "GraphQL is not parsed"),
    ("io.jwt.decode_verify", "signatures of tokens are not verified; use io.jwt.decode to read one"),
    ("io.jwt.encode_sign", "tokens are not signed"),
    ("io.jwt.encode_sign_raw", "tokens are not signed"),
    ("io.jwt.verify_eddsa", "signatures of tokens are not verified"),
    ("io.jwt.verify_es256", "signatures of tokens are not verified"),
    ("io.jwt.verify_es384", "signatures of tokens are not verified"),
    ("io.jwt.verify_es512", "signatures of tokens are not verified"),
    ("io.jwt.verify_hs256", "signatures of tokens are not verified"),
    ("io.jwt.verify_hs384", "signatures of tokens are not verified"),
    ("io.jwt.verify_hs512", "signatures of tokens are not verified"),
    ("io.jwt.verify_ps256", "signatures of tokens are not verified"),
    ("io.jwt.verify_ps384", "signatures of tokens are not verified"),
    ("io.jwt.verify_ps512", "signatures of tokens are not verified"),
    ("io.jwt.verify_rs256", "signatures of tokens are not verified"),
    ("io.jwt.verify_rs384", "signatures of tokens are not verified"),
    ("io.jwt.verify_rs512", "signatures of tokens are not verified"),
    ("json.match_schema", "JSON schemas are not evaluated; use the schema of the constraint"),
    ("json.verify_schema", "JSON schemas are not evaluated; use the schema of the constraint"),
    ("providers.aws.sign_req", "policies have no access to the network"),
    ("rego.metadata.chain", "annotations are not read"),
    ("rego.metadata.rule", "annotations are not read"),
    ("rego.parse_module", "policies do not read policies"),
    ("regex.globs_match", "patterns are not compared"),
    ("strings.render_template", "Go templates are not rendered; use sprintf"),
];

/// The functions that are supplied here.
fn supplied() -> impl Iterator<Item = &'static (&'static str, usize, Function)> {
    let groups: [&'static [(&'static str, usize, Function)]; 10] = [
        clock::FUNCTIONS,
        collections::FUNCTIONS,
        crypto::FUNCTIONS,
        encoding::FUNCTIONS,
        format::FUNCTIONS,
        network::FUNCTIONS,
        numbers::FUNCTIONS,
        patterns::FUNCTIONS,
        text::FUNCTIONS,
        tokens::FUNCTIONS,
    ];
    groups.into_iter().flatten()
}

/// The number of arguments of a function that is supplied here.
pub(crate) fn supplied_arity(name: &str) -> Option<usize> {
    supplied().find(|(known, ..)| *known == name).map(|(_, arity, _)| *arity)
}

/// What is known of a function; nothing if there is none of that name.
pub(crate) fn support(name: &str) -> Option<Support> {
    if name == "print" {
        return Some(Support::Variadic);
    }
    let of_engine = OF_ENGINE.iter().find(|(known, _)| *known == name).map(|(_, arity)| *arity);
    let refused = || REFUSED.iter().find(|(known, _)| *known == name).map(|(_, reason)| Support::Unsupported(reason));
    supplied_arity(name).or(of_engine).map(Support::Arity).or_else(refused)
}

thread_local! {
    static OVER_LIMIT: Cell<Option<(&'static str, usize)>> = const { Cell::new(None) };
}

/// Registers the functions that are supplied here.
pub(crate) fn register(engine: &mut Engine) -> Result<(), String> {
    for (name, arity, function) in supplied() {
        let function = *function;
        let extension = move |arguments: Vec<Value>| {
            let value = function(&arguments).unwrap_or(Value::Undefined);
            match OVER_LIMIT.get() {
                Some((what, limit)) => Err(regorus_error(&EvaluationError::Size { what, limit })),
                None => Ok(value),
            }
        };
        let arity = u8::try_from(*arity).unwrap_or(u8::MAX);
        engine.add_extension((*name).to_owned(), arity, Box::new(extension)).map_err(|error| error.to_string())?;
    }
    Ok(())
}

/// The engine's own type of errors, which it does not name.
fn regorus_error(error: &EvaluationError) -> anyhow::Error {
    anyhow::anyhow!(error.to_string())
}

/// Forgets what an evaluation before did.
pub(crate) fn reset() {
    OVER_LIMIT.set(None);
    patterns::trim_cache();
}

/// The limit that the last evaluation exceeded.
pub(crate) fn exceeded() -> Option<EvaluationError> {
    OVER_LIMIT.get().map(|(what, limit)| EvaluationError::Size { what, limit })
}

/// Whether a text of that length may be made; if not, the evaluation ends.
fn text_fits(bytes: usize) -> Option<()> {
    fits("a text", bytes, MAX_TEXT)
}

/// Whether a collection of that many elements may be made; if not, the evaluation ends.
fn elements_fit(elements: usize) -> Option<()> {
    fits("a collection", elements, MAX_ELEMENTS)
}

fn fits(what: &'static str, size: usize, limit: usize) -> Option<()> {
    if size <= limit {
        return Some(());
    }
    OVER_LIMIT.set(Some((what, limit)));
    None
}

/// A text that is an argument.
fn text_of(value: &Value) -> Option<&str> {
    match value {
        Value::String(text) => Some(text),
        _ => None,
    }
}

/// Arguments of a function that takes texts only.
fn texts<const N: usize>(arguments: &[Value]) -> Option<[&str; N]> {
    let texts: Vec<&str> = arguments.iter().map(text_of).collect::<Option<_>>()?;
    texts.try_into().ok()
}

/// The elements of an array or a set.
fn elements(value: &Value) -> Option<Vec<&Value>> {
    match value {
        Value::Array(array) => Some(array.iter().collect()),
        Value::Set(set) => Some(set.iter_sorted().collect()),
        _ => None,
    }
}

fn array(values: impl IntoIterator<Item = Value>) -> Value {
    Value::from(values.into_iter().collect::<Vec<Value>>())
}

fn set(values: impl IntoIterator<Item = Value>) -> Value {
    Value::from(values.into_iter().collect::<std::collections::BTreeSet<Value>>())
}

fn object<'k>(fields: impl IntoIterator<Item = (&'k str, Value)>) -> Value {
    let fields = fields.into_iter().map(|(key, value)| (Value::from(key), value));
    Value::from(fields.collect::<std::collections::BTreeMap<Value, Value>>())
}

/// Bytes in hexadecimal.
fn hex_text(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing into a text cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}
