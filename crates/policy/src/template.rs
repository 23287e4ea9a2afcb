//! `ConstraintTemplate`s of all versions: what kind of constraints they define, with which schema, and their code.

use serde_json::{Value, json};

use crate::cel_code::{CelCode, CelCodeError};
use crate::constraint_definition::{ConstraintDefinition, texts};
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

    pub(crate) fn of(version: &str) -> Option<Self> {
        [TemplateVersion::V1, TemplateVersion::V1beta1, TemplateVersion::V1alpha1]
            .into_iter()
            .find(|known| known.name() == version)
    }

    pub(crate) fn legacy_schema(self) -> bool {
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
    /// What it says about its constraints.
    pub definition: ConstraintDefinition,
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

pub(crate) fn invalid<T>(message: impl Into<String>) -> Result<T, TemplateError> {
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
        let definition = ConstraintDefinition::read(object)?;
        let target = object.pointer("/spec/targets/0").unwrap_or(&Value::Null);
        Ok(Template {
            name: definition.name.clone(),
            kind: definition.kind.clone(),
            version: definition.version,
            operations: operations(target)?,
            code: compile(target)?,
            definition,
            object: object.clone(),
        })
    }

    /// The CRD of its constraints.
    pub fn constraint_crd(&self) -> Value {
        self.definition.crd()
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
