//! The schema of an API version, read from the document with places and within limits.

use clearway_core::Position;
use clearway_schema::excerpt;
use clearway_yaml::{Node, Value as Scalar};
use serde_json::{Number, Value};

use super::BundleLimits;
use crate::model::{AdditionalFields, CelRule, FieldSchema, Keywords, Segment, render_path};

/// Why a schema is not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum SchemaProblem {
    /// It is not an object.
    #[error("the schema is not an object")]
    NotAnObject,
    /// It has a reference.
    #[error("a schema of a CRD must not contain `$ref`; write the schema in its place")]
    Reference,
    /// It is nested too deep.
    #[error("the schema is nested more than {0} levels deep")]
    TooDeep(usize),
    /// It has too many parts.
    #[error("the schema describes more than {0} fields")]
    TooLarge(usize),
    /// A keyword has a value of another type.
    #[error("the keyword `{0}` has a value of the wrong type")]
    Keyword(&'static str),
}

/// A problem with the node it is at and the path of its field.
pub(super) type Failure<'d> = (SchemaProblem, Node<'d>, String);

/// Reads a whole schema.
pub(super) fn read<'d>(root: Node<'d>, limits: &BundleLimits) -> Result<FieldSchema, Failure<'d>> {
    let mut reader = SchemaReader { limits, fields: 0, path: Vec::new() };
    reader.read(root).map_err(|(problem, node)| (problem, node, render_path(&reader.path)))
}

struct SchemaReader<'l, 'd> {
    limits: &'l BundleLimits,
    fields: usize,
    path: Vec<Segment<'d>>,
}

impl<'d> SchemaReader<'_, 'd> {
    fn read(&mut self, node: Node<'d>) -> Result<FieldSchema, (SchemaProblem, Node<'d>)> {
        if !node.is_mapping() {
            return Err((SchemaProblem::NotAnObject, node));
        }
        self.fields = self.fields.saturating_add(1);
        if self.path.len() > self.limits.schema_depth {
            return Err((SchemaProblem::TooDeep(self.limits.schema_depth), node));
        }
        if self.fields > self.limits.schema_fields {
            return Err((SchemaProblem::TooLarge(self.limits.schema_fields), node));
        }
        let mut schema = FieldSchema { position: position(node), ..FieldSchema::default() };
        for (key, value) in node.fields() {
            if value.is_null() {
                continue;
            }
            self.keyword(&mut schema, key.raw(), value)?;
        }
        // A lower limit of 0 says nothing of lengths and counts.
        let keywords = &mut schema.keywords;
        keywords
            .limits
            .retain(|name, limit| !(*name != "minimum" && name.starts_with("min") && limit.as_u64() == Some(0)));
        Ok(schema)
    }

    fn keyword(
        &mut self,
        schema: &mut FieldSchema,
        key: &str,
        value: Node<'d>,
    ) -> Result<(), (SchemaProblem, Node<'d>)> {
        let wrong = |keyword: &'static str| (SchemaProblem::Keyword(keyword), value);
        let text = |keyword| value.as_text().map(str::to_owned).map(Some).ok_or_else(|| wrong(keyword));
        let flag = |keyword| value.as_bool().ok_or_else(|| wrong(keyword));
        let number = |keyword| number(value).ok_or_else(|| wrong(keyword));
        let texts = || value.items().filter_map(Node::as_text).map(str::to_owned).collect();
        let keywords = &mut schema.keywords;
        match key {
            "$ref" => return Err((SchemaProblem::Reference, value)),
            "description" => schema.description = value.as_text().map(str::to_owned),
            "type" => keywords.value_type = text("type")?,
            "format" => keywords.format = text("format")?,
            "nullable" => keywords.nullable = flag("nullable")?,
            "default" => keywords.default = Some(value.to_json()),
            "required" => keywords.required = texts(),
            "enum" => keywords.enumeration = Some(value.items().map(Node::to_json).collect()),
            "pattern" => keywords.pattern = text("pattern")?.filter(|pattern| !pattern.is_empty()),
            "exclusiveMinimum" => keywords.exclusive_minimum = flag("exclusiveMinimum")?,
            "exclusiveMaximum" => keywords.exclusive_maximum = flag("exclusiveMaximum")?,
            "multipleOf" => keywords.multiple_of = Some(number("multipleOf")?),
            "uniqueItems" => keywords.unique_items = flag("uniqueItems")?,
            "x-kubernetes-list-type" => keywords.list_type = text("x-kubernetes-list-type")?,
            "x-kubernetes-list-map-keys" => keywords.list_map_keys = texts(),
            "x-kubernetes-map-type" => keywords.map_type = text("x-kubernetes-map-type")?,
            "x-kubernetes-preserve-unknown-fields" => {
                keywords.preserve_unknown_fields = flag("x-kubernetes-preserve-unknown-fields")?;
            }
            "x-kubernetes-embedded-resource" => {
                keywords.embedded_resource = flag("x-kubernetes-embedded-resource")?;
            }
            "x-kubernetes-int-or-string" => keywords.int_or_string = flag("x-kubernetes-int-or-string")?,
            "x-kubernetes-validations" => schema.validations = value.items().map(read_rule).collect(),
            "properties" => {
                for (name, property) in value.fields() {
                    let property = self.below(Segment::Field(name.raw()), property)?;
                    schema.properties.insert(name.raw().to_owned(), property);
                }
            }
            "items" => schema.items = Some(Box::new(self.below(Segment::Items, value)?)),
            "additionalProperties" => {
                schema.additional = match value.as_bool() {
                    Some(true) => AdditionalFields::Any,
                    Some(false) => AdditionalFields::None,
                    None => AdditionalFields::Each(Box::new(self.below(Segment::Values, value)?)),
                };
            }
            "not" => _ = keywords.combinations.insert("not", vec![without_descriptions(value.to_json())]),
            other => {
                let limits = Keywords::UPPER_LIMITS.iter().chain(&Keywords::LOWER_LIMITS);
                if let Some(name) = limits.into_iter().find(|name| **name == other) {
                    keywords.limits.insert(name, number(name)?);
                } else if let Some(name) = Keywords::COMBINATIONS.iter().find(|name| **name == other) {
                    let schemas = value.items().map(|schema| without_descriptions(schema.to_json())).collect();
                    keywords.combinations.insert(name, schemas);
                }
            }
        }
        Ok(())
    }

    /// The path stays as it is when something fails, so that it names the field.
    fn below(&mut self, segment: Segment<'d>, node: Node<'d>) -> Result<FieldSchema, (SchemaProblem, Node<'d>)> {
        self.path.push(segment);
        let schema = self.read(node)?;
        self.path.pop();
        Ok(schema)
    }
}

/// Reads one entry of `x-kubernetes-validations`, or of the `validations` of a policy under the key `expression`.
pub(super) fn read_rule(node: Node<'_>) -> CelRule {
    let text = |key: &str| node.get(key).and_then(Node::as_text).map(str::to_owned);
    CelRule {
        position: position(node),
        rule: text("rule").or_else(|| text("expression")).unwrap_or_default(),
        message: text("message").unwrap_or_default(),
        details: [text("messageExpression"), text("reason"), text("fieldPath")],
        optional_old_self: node.get("optionalOldSelf").and_then(Node::as_bool) == Some(true),
    }
}

fn position(node: Node<'_>) -> Option<Position> {
    node.span().map(|span| Position { line: span.line, column: span.column })
}

fn number(node: Node<'_>) -> Option<Number> {
    match node.value() {
        Scalar::Int(_) | Scalar::Float(_) => match node.to_json() {
            Value::Number(number) => Some(number),
            _ => None,
        },
        _ => None,
    }
}

fn without_descriptions(mut schema: Value) -> Value {
    match &mut schema {
        Value::Object(fields) => {
            // A field of that name has a schema, which is not a string.
            fields.retain(|key, value| !(key == "description" && value.is_string()));
            for value in fields.values_mut() {
                *value = without_descriptions(value.take());
            }
        }
        Value::Array(items) => {
            for item in items {
                *item = without_descriptions(item.take());
            }
        }
        _ => {}
    }
    schema
}

impl SchemaProblem {
    /// The message for a field.
    pub(super) fn message(self, crd: &str, version: &str) -> String {
        format!("{} {version}: {self}", excerpt(crd))
    }
}
