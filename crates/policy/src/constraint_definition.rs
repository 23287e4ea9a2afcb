//! What a template says about its constraints: their kind, names and schema. Nothing is compiled to read it, so that it is
//! safe in a process that must not run a stranger's code.

use serde_json::{Map, Value, json};

use crate::template::{TARGET, Template, TemplateError, TemplateVersion, invalid};

/// The kind of constraints that a template defines. Its CRD is [`ConstraintDefinition::crd`].
#[derive(Debug, Clone, PartialEq)]
pub struct ConstraintDefinition {
    /// The name of the template, which is that of the kind in lower case.
    pub name: String,
    /// The kind of constraints.
    pub kind: String,
    /// The version that the template is written in.
    pub version: TemplateVersion,
    /// Further names of the CRD.
    pub short_names: Vec<String>,
    /// The labels of the template, which the CRD has as well.
    pub labels: Map<String, Value>,
    /// The schema of parameters, with what older versions add to it.
    pub schema: Option<Value>,
}

impl ConstraintDefinition {
    /// Reads what a template says, and leaves its code alone.
    pub fn read(object: &Value) -> Result<ConstraintDefinition, TemplateError> {
        if !Template::is_template(object) {
            return Err(TemplateError::NotATemplate);
        }
        let api_version = object.get("apiVersion").and_then(Value::as_str).unwrap_or_default();
        let (_, version) = api_version.split_once('/').unwrap_or_default();
        let version = TemplateVersion::of(version).ok_or_else(|| TemplateError::UnknownVersion(version.to_owned()))?;
        let name = text(object, "/metadata/name")?.unwrap_or_default();
        let crd = "/spec/crd/spec";
        let kind = text(object, &format!("{crd}/names/kind"))?.unwrap_or_default();
        if name.is_empty() {
            return invalid("the template has no name");
        }
        if kind.is_empty() {
            return invalid(format!("template {name:?} has no kind at spec.crd.spec.names.kind"));
        }
        if name != kind.to_lowercase() {
            let lower = kind.to_lowercase();
            return invalid(format!(
                "the ConstraintTemplate's name {name:?} is not equal to the lowercase of CRD's Kind: {lower:?}"
            ));
        }
        let targets = object.pointer("/spec/targets").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let [target] = targets else { return invalid("must declare exactly one target") };
        let target_name = target.get("target").and_then(Value::as_str).unwrap_or_default();
        if target_name != TARGET {
            return Err(TemplateError::UnknownTarget(target_name.to_owned()));
        }
        let schema = schema(object, version)?;
        Ok(ConstraintDefinition {
            name: name.to_owned(),
            kind: kind.to_owned(),
            version,
            short_names: texts(object.pointer(&format!("{crd}/names/shortNames")))?,
            labels: object.pointer("/metadata/labels").and_then(Value::as_object).cloned().unwrap_or_default(),
            schema,
        })
    }
}

fn text<'o>(object: &'o Value, path: &str) -> Result<Option<&'o str>, TemplateError> {
    match object.pointer(path) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => invalid(format!("{} must be a string", path.trim_start_matches('/').replace('/', "."))),
    }
}

pub(crate) fn texts(value: Option<&Value>) -> Result<Vec<String>, TemplateError> {
    match value {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::Array(values)) => values
            .iter()
            .map(|value| value.as_str().map(str::to_owned))
            .collect::<Option<_>>()
            .map_or_else(|| invalid("a list of strings has something else in it"), Ok),
        Some(_) => invalid("a list of strings is something else"),
    }
}

/// The schema of parameters; a legacy schema keeps unknown fields everywhere.
fn schema(object: &Value, version: TemplateVersion) -> Result<Option<Value>, TemplateError> {
    let validation = object.pointer("/spec/crd/spec/validation").filter(|validation| !validation.is_null());
    let legacy = validation
        .and_then(|validation| validation.get("legacySchema"))
        .and_then(Value::as_bool)
        .unwrap_or(version.legacy_schema());
    let schema = validation.and_then(|validation| validation.get("openAPIV3Schema")).filter(|schema| !schema.is_null());
    match (schema, legacy) {
        (None, false) => Ok(None),
        (Some(schema), false) => Ok(Some(schema.clone())),
        (schema, true) => {
            let mut schema = schema.cloned().unwrap_or_else(|| json!({}));
            preserve_unknown_fields(&mut schema, 0)?;
            Ok(Some(schema))
        }
    }
}

fn preserve_unknown_fields(schema: &mut Value, depth: usize) -> Result<(), TemplateError> {
    const KEEP: &str = "x-kubernetes-preserve-unknown-fields";
    if depth > 64 {
        return invalid("the schema is nested too deep");
    }
    let Some(fields) = schema.as_object_mut() else { return Ok(()) };
    let below = depth.saturating_add(1);
    match fields.get("type").and_then(Value::as_str).unwrap_or_default() {
        "" | "object" => {
            fields.insert(KEEP.to_owned(), json!(true));
        }
        "array" => match fields.get("items") {
            None | Some(Value::Null) => {
                fields.insert("items".to_owned(), json!({KEEP: true}));
            }
            Some(Value::Array(_)) => {
                return invalid("legacy schemas with a list of schemas as items are not supported");
            }
            Some(_) => {}
        },
        _ => {}
    }
    if let Some(Value::Object(properties)) = fields.get_mut("properties") {
        for property in properties.values_mut() {
            preserve_unknown_fields(property, below)?;
        }
    }
    for name in ["items", "additionalProperties"] {
        if let Some(inner @ Value::Object(_)) = fields.get_mut(name) {
            preserve_unknown_fields(inner, below)?;
        }
    }
    Ok(())
}
