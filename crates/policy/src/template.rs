//! `ConstraintTemplate`s of all versions: what kind of constraints they define, with which schema, and their code.

use serde_json::{Map, Value, json};

use crate::cel_code::{CelCode, CelCodeError};
use crate::rego::{Program, RegoCode, RegoError, RegoVersion};

/// The only target that templates may have.
pub(crate) const TARGET: &str = "admission.k8s.gatekeeper.sh";

const GROUP: &str = "templates.gatekeeper.sh";

/// The version a template is written in. All have the same fields; what differs is a default.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TemplateVersion {
    /// Schemas are structural unless the template says otherwise.
    V1,
    /// Schemas keep unknown fields unless the template says otherwise.
    V1beta1,
    /// The same as `v1beta1`.
    V1alpha1,
}

impl TemplateVersion {
    /// As it is written in `apiVersion`.
    pub fn name(self) -> &'static str {
        match self {
            TemplateVersion::V1 => "v1",
            TemplateVersion::V1beta1 => "v1beta1",
            TemplateVersion::V1alpha1 => "v1alpha1",
        }
    }

    fn of(version: &str) -> Option<Self> {
        [TemplateVersion::V1, TemplateVersion::V1beta1, TemplateVersion::V1alpha1]
            .into_iter()
            .find(|known| known.name() == version)
    }

    fn legacy_schema(self) -> bool {
        self != TemplateVersion::V1
    }
}

/// The code of a template, compiled.
#[derive(Debug)]
pub enum Code {
    /// In Rego.
    Rego(Box<Program>),
    /// In CEL.
    Cel(Box<CelCode>),
}

impl Code {
    /// The name of the engine in templates.
    pub fn engine(&self) -> &'static str {
        match self {
            Code::Rego(_) => "Rego",
            Code::Cel(_) => "K8sNativeValidation",
        }
    }
}

/// A template, read and compiled.
#[derive(Debug)]
pub struct Template {
    /// The name, which is that of its kind in lower case.
    pub name: String,
    /// The kind of its constraints.
    pub kind: String,
    /// The version it is written in.
    pub version: TemplateVersion,
    /// Further names of the CRD of its constraints.
    pub short_names: Vec<String>,
    /// The labels, which the CRD of its constraints has as well.
    pub labels: Map<String, Value>,
    /// The schema of parameters, with what older versions add to it.
    pub schema: Option<Value>,
    /// The operations of admission requests it is evaluated for; all if there are none.
    pub operations: Vec<String>,
    /// The code.
    pub code: Code,
    object: Value,
}

/// Why a template is refused.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum TemplateError {
    /// The object is not a template.
    #[error("not a ConstraintTemplate")]
    NotATemplate,
    /// The version is not known.
    #[error("no kind \"ConstraintTemplate\" is registered for version \"{GROUP}/{0}\"")]
    UnknownVersion(String),
    /// A field has the wrong form.
    #[error("invalid ConstraintTemplate: {0}")]
    Invalid(String),
    /// A target that does not exist.
    #[error("invalid ConstraintTemplate: target {0:?} not recognized, known targets [{TARGET}]")]
    UnknownTarget(String),
    /// No engine can evaluate the code.
    #[error("no driver is installed for the constraint template: available drivers: [K8sNativeValidation Rego]")]
    NoCode,
    /// The Rego is refused.
    #[error("invalid ConstraintTemplate: {0}")]
    Rego(#[from] RegoError),
    /// The CEL is refused.
    #[error("invalid ConstraintTemplate: {0}")]
    Cel(#[from] CelCodeError),
}

fn invalid<T>(message: impl Into<String>) -> Result<T, TemplateError> {
    Err(TemplateError::Invalid(message.into()))
}

impl Template {
    /// Whether its code looks at `data.inventory`.
    pub fn uses_inventory(&self) -> bool {
        matches!(&self.code, Code::Rego(program) if program.uses_inventory())
    }

    /// Whether an object says that it is a template.
    pub fn is_template(object: &Value) -> bool {
        let api_version = object.get("apiVersion").and_then(Value::as_str).unwrap_or_default();
        let group = api_version.split_once('/').map_or("", |(group, _)| group);
        group == GROUP && object.get("kind").and_then(Value::as_str) == Some("ConstraintTemplate")
    }

    /// Reads and compiles a template.
    pub fn read(object: &Value) -> Result<Template, TemplateError> {
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
        let code = compile(target)?;
        Ok(Template {
            name: name.to_owned(),
            kind: kind.to_owned(),
            version,
            short_names: texts(object.pointer(&format!("{crd}/names/shortNames")))?,
            labels: object.pointer("/metadata/labels").and_then(Value::as_object).cloned().unwrap_or_default(),
            schema,
            operations: operations(target)?,
            code,
            object: object.clone(),
        })
    }

    /// The object it was read from.
    pub fn object(&self) -> &Value {
        &self.object
    }

    /// The same template in another version. Nothing is lost: what the version would default otherwise is written out.
    #[must_use]
    pub fn convert(&self, version: TemplateVersion) -> Value {
        let mut object = self.object.clone();
        if let Some(fields) = object.as_object_mut() {
            fields.insert("apiVersion".to_owned(), json!(format!("{GROUP}/{}", version.name())));
        }
        let validation = object.pointer("/spec/crd/spec/validation");
        let stated = validation.and_then(|validation| validation.get("legacySchema")).is_some();
        if !stated
            && version.legacy_schema() != self.version.legacy_schema()
            && let Some(Value::Object(spec)) = object.pointer_mut("/spec/crd/spec")
        {
            let validation = spec.entry("validation").or_insert_with(|| json!({}));
            if let Some(validation) = validation.as_object_mut() {
                validation.insert("legacySchema".to_owned(), json!(self.version.legacy_schema()));
            }
        }
        object
    }
}

fn text<'o>(object: &'o Value, path: &str) -> Result<Option<&'o str>, TemplateError> {
    match object.pointer(path) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => invalid(format!("{} must be a string", path.trim_start_matches('/').replace('/', "."))),
    }
}

fn texts(value: Option<&Value>) -> Result<Vec<String>, TemplateError> {
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

fn operations(target: &Value) -> Result<Vec<String>, TemplateError> {
    let operations = texts(target.get("operations"))?;
    for operation in &operations {
        if !matches!(operation.as_str(), "*" | "CREATE" | "UPDATE" | "DELETE" | "CONNECT") {
            return invalid(format!("operation {operation:?} is not known; use *, CREATE, UPDATE, DELETE or CONNECT"));
        }
    }
    if operations.len() > 1 && operations.iter().any(|operation| operation == "*") {
        return invalid("the operation \"*\" cannot be combined with others");
    }
    Ok(operations)
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

/// CEL before Rego; the fields `rego` and `libs` before an entry of `code` in Rego.
fn compile(target: &Value) -> Result<Code, TemplateError> {
    let entries = target.get("code").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let source = |engine: &str| {
        let entry = entries.iter().find(|entry| entry.get("engine").and_then(Value::as_str) == Some(engine));
        entry.map(|entry| entry.get("source").cloned().unwrap_or_default())
    };
    if let Some(source) = source("K8sNativeValidation") {
        return Ok(Code::Cel(Box::new(CelCode::read(&source)?)));
    }
    let rego = target.get("rego").and_then(Value::as_str).unwrap_or_default();
    let code = if rego.is_empty() {
        let Some(source) = source("Rego") else { return Err(TemplateError::NoCode) };
        let Some(rego) = source.get("rego").and_then(Value::as_str) else {
            return invalid("the source of engine Rego has no field `rego`");
        };
        let version = match source.get("version").and_then(Value::as_str) {
            Some("v1") => RegoVersion::V1,
            _ => RegoVersion::V0,
        };
        RegoCode { rego: rego.to_owned(), libs: texts(source.get("libs"))?, version }
    } else {
        RegoCode { rego: rego.to_owned(), libs: texts(target.get("libs"))?, version: RegoVersion::V0 }
    };
    Ok(Code::Rego(Box::new(Program::compile(&code)?)))
}
