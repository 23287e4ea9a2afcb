//! What is reviewed: an object, or a request to change one. Rego sees it as `input.review` (P1).

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::matching::Source;
use crate::rego::values;

/// The group, version and kind of an object.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct ObjectKind {
    /// The group, empty for the core.
    pub group: String,
    /// The version.
    pub version: String,
    /// The kind.
    pub kind: String,
}

impl ObjectKind {
    /// What an object says of itself.
    pub fn of(object: &Value) -> ObjectKind {
        let api_version = object.get("apiVersion").and_then(Value::as_str).unwrap_or_default();
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        let kind = object.get("kind").and_then(Value::as_str).unwrap_or_default();
        ObjectKind { group: group.to_owned(), version: version.to_owned(), kind: kind.to_owned() }
    }

    /// Whether it is a namespace.
    pub fn is_namespace(&self) -> bool {
        self.group.is_empty() && self.kind == "Namespace"
    }

    fn to_json(&self) -> Value {
        json!({"group": self.group, "version": self.version, "kind": self.kind})
    }
}

/// A text of an object's metadata; empty if it has none.
pub(crate) fn metadata<'o>(object: &'o Value, field: &str) -> &'o str {
    object.get("metadata").and_then(|metadata| metadata.get(field)).and_then(Value::as_str).unwrap_or_default()
}

/// The labels of an object.
pub(crate) fn labels(object: &Value) -> BTreeMap<&str, &str> {
    let labels = object.get("metadata").and_then(|metadata| metadata.get("labels")).and_then(Value::as_object);
    labels.into_iter().flatten().filter_map(|(key, value)| Some((key.as_str(), value.as_str()?))).collect()
}

/// A review.
#[derive(Debug, Clone)]
pub struct Review {
    /// The fields of `input.review`, without `namespaceObject`.
    fields: Value,
    /// The namespace the object is in, if it is known.
    namespace: Option<Value>,
    /// Where the object comes from, for `match.source`.
    source: Option<Source>,
}

/// Why something cannot be reviewed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReviewError {
    /// The document is not a valid `AdmissionReview`.
    #[error("not a valid AdmissionReview object: unable to convert to an AdmissionReview object, error: {0}")]
    Form(String),
    /// It has no request.
    #[error("missing an AdmissionRequest object: request did not actually pass in an AdmissionRequest")]
    NoRequest,
    /// The request has neither object.
    #[error(
        "no object or oldObject found to review: AdmissionRequest does not contain an \"object\" or \"oldObject\" to review"
    )]
    NoObject,
    /// An object has no kind.
    #[error("object or oldObject cannot be unmarshalled: Object 'Kind' is missing in '{0}'")]
    NoKind(String),
    /// Nothing is known of what is deleted.
    #[error("oldObject cannot be nil for DELETE operations")]
    NoOldObject,
}

/// The fields of a request, in the order of the API.
const REQUEST_FIELDS: &[&str] = &[
    "uid",
    "kind",
    "resource",
    "subResource",
    "requestKind",
    "requestResource",
    "requestSubResource",
    "name",
    "namespace",
    "operation",
    "userInfo",
    "object",
    "oldObject",
    "dryRun",
    "options",
];

impl Review {
    /// The review of an object that exists or is to be created, as audits and tests have it.
    pub fn of_object(object: &Value, source: Source) -> Review {
        let kind = ObjectKind::of(object);
        let mut fields = Map::new();
        let mut set = |name: &str, value: Value| fields.insert(name.to_owned(), value);
        set("uid", json!(""));
        set("kind", kind.to_json());
        set("resource", json!({"group": "", "version": "", "resource": ""}));
        for name in ["name", "namespace"] {
            let text = metadata(object, name);
            if !text.is_empty() {
                set(name, json!(text));
            }
        }
        set("operation", json!(""));
        set("userInfo", json!({}));
        set("object", object.clone());
        set("oldObject", Value::Null);
        set("options", Value::Null);
        Review { fields: Value::Object(fields), namespace: None, source: Some(source) }
    }

    /// The review of an object that someone is about to create: as [`Review::of_object`], with the operation.
    pub fn of_new_object(object: &Value, source: Source) -> Review {
        let mut review = Review::of_object(object, source);
        if let Some(fields) = review.fields.as_object_mut() {
            fields.insert("operation".to_owned(), json!("CREATE"));
        }
        review
    }

    /// Whether an object is an `AdmissionReview`.
    pub fn is_admission_review(object: &Value) -> bool {
        let kind = ObjectKind::of(object);
        kind.group == "admission.k8s.io" && kind.kind == "AdmissionReview"
    }

    /// The review of an `AdmissionReview`.
    pub fn of_admission_review(review: &Value) -> Result<Review, ReviewError> {
        let fields = review.as_object().ok_or_else(|| ReviewError::Form("it is not an object".to_owned()))?;
        if let Some(unknown) =
            fields.keys().find(|key| !["apiVersion", "kind", "request", "response"].contains(&key.as_str()))
        {
            return Err(ReviewError::Form(format!("strict decoding error: unknown field \"{unknown}\"")));
        }
        let request = fields.get("request").filter(|request| !request.is_null()).ok_or(ReviewError::NoRequest)?;
        let fields = request.as_object().ok_or_else(|| ReviewError::Form("request is not an object".to_owned()))?;
        if let Some(unknown) = fields.keys().find(|key| !REQUEST_FIELDS.contains(&key.as_str())) {
            return Err(ReviewError::Form(format!("strict decoding error: unknown field \"request.{unknown}\"")));
        }
        let present = |name: &str| fields.get(name).filter(|value| !value.is_null());
        if present("object").is_none() && present("oldObject").is_none() {
            return Err(ReviewError::NoObject);
        }
        for object in ["object", "oldObject"].into_iter().filter_map(present) {
            if ObjectKind::of(object).kind.is_empty() {
                return Err(ReviewError::NoKind(object.to_string()));
            }
        }
        Review::of_request(request)
    }

    /// The review of a request.
    pub fn of_request(request: &Value) -> Result<Review, ReviewError> {
        let given = |name: &str| request.get(name).filter(|value| !value.is_null()).cloned();
        let mut fields = Map::new();
        for name in REQUEST_FIELDS {
            let value = match *name {
                "uid" | "operation" => Some(given(name).unwrap_or_else(|| json!(""))),
                "kind" => Some(with_defaults(given(name), &["group", "version", "kind"])),
                "resource" => Some(with_defaults(given(name), &["group", "version", "resource"])),
                "userInfo" => Some(given(name).unwrap_or_else(|| json!({}))),
                "object" | "oldObject" | "options" => Some(given(name).unwrap_or(Value::Null)),
                "requestKind" => given(name).map(|value| with_defaults(Some(value), &["group", "version", "kind"])),
                "requestResource" => {
                    given(name).map(|value| with_defaults(Some(value), &["group", "version", "resource"]))
                }
                "dryRun" => given(name),
                _ => given(name).filter(|value| value.as_str() != Some("")),
            };
            if let Some(value) = value {
                fields.insert((*name).to_owned(), value);
            }
        }
        if fields.get("operation").and_then(Value::as_str) == Some("DELETE") {
            match fields.get("oldObject") {
                None | Some(Value::Null) => return Err(ReviewError::NoOldObject),
                Some(old) => {
                    let old = old.clone();
                    fields.insert("object".to_owned(), old);
                }
            }
        }
        Ok(Review { fields: Value::Object(fields), namespace: None, source: None })
    }

    /// The same with the namespace the object is in.
    #[must_use]
    pub fn with_namespace(mut self, namespace: Option<Value>) -> Self {
        self.namespace = namespace;
        self
    }

    /// The same with where the object comes from.
    #[must_use]
    pub fn with_source(mut self, source: Source) -> Self {
        self.source = Some(source);
        self
    }

    /// The same with the operation of a request that implies the object. What is deleted is the old object as well.
    #[must_use]
    pub fn with_operation(mut self, operation: &str) -> Self {
        if let Some(fields) = self.fields.as_object_mut() {
            fields.insert("operation".to_owned(), json!(operation));
            if operation == "DELETE" {
                let object = fields.get("object").cloned().unwrap_or_default();
                fields.insert("oldObject".to_owned(), object);
            }
        }
        self
    }

    /// What Rego sees as `input.review`.
    pub fn to_json(&self) -> Value {
        let mut fields = self.fields.clone();
        if let Some(fields) = fields.as_object_mut() {
            fields.insert("namespaceObject".to_owned(), self.namespace.clone().unwrap_or_else(|| json!({})));
        }
        fields
    }

    /// The same as a value of Rego.
    pub(crate) fn to_rego(&self) -> regorus::Value {
        let nothing = json!({});
        let namespace = ("namespaceObject", self.namespace.as_ref().unwrap_or(&nothing));
        let fields = self.fields.as_object().into_iter().flatten().map(|(key, value)| (key.as_str(), value));
        values::from_review_fields(fields.chain([namespace]))
    }

    /// The object, and the one before.
    pub(crate) fn objects(&self) -> impl Iterator<Item = &Value> {
        ["object", "oldObject"].into_iter().filter_map(|name| self.field(name))
    }

    /// A field that is not null.
    pub(crate) fn field(&self, name: &str) -> Option<&Value> {
        self.fields.get(name).filter(|value| !value.is_null())
    }

    /// The name of the namespace in the request.
    pub fn namespace_name(&self) -> &str {
        self.fields.get("namespace").and_then(Value::as_str).unwrap_or_default()
    }

    /// The operation; empty for an object that exists.
    pub fn operation(&self) -> &str {
        self.fields.get("operation").and_then(Value::as_str).unwrap_or_default()
    }

    /// The namespace, if it is known.
    pub(crate) fn namespace(&self) -> Option<&Value> {
        self.namespace.as_ref()
    }

    pub(crate) fn source(&self) -> Option<Source> {
        self.source
    }
}

fn with_defaults(value: Option<Value>, names: &[&str]) -> Value {
    let mut fields = match value {
        Some(Value::Object(fields)) => fields,
        _ => Map::new(),
    };
    for name in names {
        fields.entry(*name).or_insert_with(|| json!(""));
    }
    Value::Object(fields)
}
