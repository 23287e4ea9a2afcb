//! The schema of one field of a CRD, with every keyword that the API server enforces and the place it stands at.

use std::collections::{BTreeMap, BTreeSet};

use clearway_core::Position;
use serde_json::{Map, Number, Value, json};

use super::Segment;

/// The schema of one value, with the schemas of what is below it.
#[derive(Debug, Clone, Default)]
pub struct FieldSchema {
    /// Where it stands in its file; none of objects from a cluster.
    pub position: Option<Position>,
    /// `description`.
    pub description: Option<String>,
    /// The keywords about the value itself.
    pub keywords: Keywords,
    /// `properties` by name.
    pub properties: BTreeMap<String, FieldSchema>,
    /// `additionalProperties`.
    pub additional: AdditionalFields,
    /// `items`.
    pub items: Option<Box<FieldSchema>>,
    /// `x-kubernetes-validations`, in order.
    pub validations: Vec<CelRule>,
}

/// The keywords of a schema that hold no schemas of fields.
#[derive(Debug, Clone, Default, PartialEq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a keyword of the schema")]
pub struct Keywords {
    /// `type`.
    pub value_type: Option<String>,
    /// `format`.
    pub format: Option<String>,
    /// `nullable`.
    pub nullable: bool,
    /// `default`.
    pub default: Option<Value>,
    /// `required`.
    pub required: BTreeSet<String>,
    /// `enum`.
    pub enumeration: Option<Vec<Value>>,
    /// `pattern`, unless it is empty.
    pub pattern: Option<String>,
    /// The limits of numbers, lengths and counts by keyword, such as `maxItems`. Lower limits of 0 are left out where
    /// they say nothing.
    pub limits: BTreeMap<&'static str, Number>,
    /// `exclusiveMinimum`.
    pub exclusive_minimum: bool,
    /// `exclusiveMaximum`.
    pub exclusive_maximum: bool,
    /// `multipleOf`.
    pub multiple_of: Option<Number>,
    /// `uniqueItems`.
    pub unique_items: bool,
    /// `x-kubernetes-list-type`.
    pub list_type: Option<String>,
    /// `x-kubernetes-list-map-keys`.
    pub list_map_keys: BTreeSet<String>,
    /// `x-kubernetes-map-type`.
    pub map_type: Option<String>,
    /// `x-kubernetes-preserve-unknown-fields`.
    pub preserve_unknown_fields: bool,
    /// `x-kubernetes-embedded-resource`.
    pub embedded_resource: bool,
    /// `x-kubernetes-int-or-string`.
    pub int_or_string: bool,
    /// `allOf`, `anyOf`, `oneOf` and `not` as they are written, without descriptions; `not` is a list of one.
    pub combinations: BTreeMap<&'static str, Vec<Value>>,
}

/// What `additionalProperties` says.
#[derive(Debug, Clone, Default)]
pub enum AdditionalFields {
    /// Nothing, or `false`: other fields are pruned.
    #[default]
    None,
    /// `true`: other fields may have any value.
    Any,
    /// A schema for the values of all other fields.
    Each(Box<FieldSchema>),
}

/// A validation rule in CEL, as it is written.
#[derive(Debug, Clone, Default)]
pub struct CelRule {
    /// Where it stands in its file.
    pub position: Option<Position>,
    /// The expression.
    pub rule: String,
    /// `message`; empty if there is none.
    pub message: String,
    /// `messageExpression`, `reason` and `fieldPath`: what else is text for people and clients.
    pub details: [Option<String>; 3],
    /// `optionalOldSelf`.
    pub optional_old_self: bool,
}

impl Keywords {
    /// The keywords with an upper limit.
    pub const UPPER_LIMITS: [&str; 4] = ["maxItems", "maxLength", "maxProperties", "maximum"];
    /// The keywords with a lower limit.
    pub const LOWER_LIMITS: [&str; 4] = ["minItems", "minLength", "minProperties", "minimum"];
    /// The keywords that combine schemas.
    pub const COMBINATIONS: [&str; 4] = ["allOf", "anyOf", "oneOf", "not"];
}

impl FieldSchema {
    /// The schema at a path below this one.
    pub(crate) fn at(&self, path: &[Segment<'_>]) -> Option<&FieldSchema> {
        path.iter().try_fold(self, |schema, segment| match segment {
            Segment::Field(name) => schema.properties.get(*name),
            Segment::Items => schema.items.as_deref(),
            Segment::Values => schema.values(),
        })
    }

    /// The schema of the values of a map.
    pub fn values(&self) -> Option<&FieldSchema> {
        match &self.additional {
            AdditionalFields::Each(each) => Some(each),
            AdditionalFields::None | AdditionalFields::Any => None,
        }
    }

    /// The schemas one step below, in order of their names.
    pub(crate) fn children(&self) -> impl Iterator<Item = (Segment<'_>, &FieldSchema)> {
        let fields = self.properties.iter().map(|(name, schema)| (Segment::Field(name), schema));
        let items = self.items.as_deref().map(|schema| (Segment::Items, schema));
        let values = self.values().map(|schema| (Segment::Values, schema));
        fields.chain(items).chain(values)
    }

    /// Whether two schemas accept and store the same values, whatever their descriptions say.
    pub fn same_shape(&self, other: &FieldSchema) -> bool {
        let same_rule =
            |(one, two): (&CelRule, &CelRule)| one.rule == two.rule && one.optional_old_self == two.optional_old_self;
        self.keywords == other.keywords
            && matches!(self.additional, AdditionalFields::Any) == matches!(other.additional, AdditionalFields::Any)
            && self.validations.len() == other.validations.len()
            && self.validations.iter().zip(&other.validations).all(same_rule)
            && self.children().count() == other.children().count()
            && self
                .children()
                .zip(other.children())
                .all(|((name, one), (other_name, two))| name == other_name && one.same_shape(two))
    }

    /// The schema as JSON, as far as it decides what is pruned, defaulted and accepted; descriptions are left out.
    pub fn to_json(&self) -> Value {
        let keywords = &self.keywords;
        let mut out = Map::new();
        let mut put = |key: &str, value: Value| {
            if !(value.is_null() || value == json!(false) || value == json!([])) {
                out.insert(key.to_owned(), value);
            }
        };
        put("type", json!(keywords.value_type));
        put("format", json!(keywords.format));
        put("nullable", json!(keywords.nullable));
        put("required", json!(keywords.required));
        put("enum", json!(keywords.enumeration));
        put("pattern", json!(keywords.pattern));
        for (key, limit) in &keywords.limits {
            put(key, Value::Number(limit.clone()));
        }
        put("exclusiveMinimum", json!(keywords.exclusive_minimum));
        put("exclusiveMaximum", json!(keywords.exclusive_maximum));
        put("multipleOf", json!(keywords.multiple_of));
        put("x-kubernetes-list-type", json!(keywords.list_type));
        put("x-kubernetes-list-map-keys", json!(keywords.list_map_keys));
        put("x-kubernetes-map-type", json!(keywords.map_type));
        put("x-kubernetes-preserve-unknown-fields", json!(keywords.preserve_unknown_fields));
        put("x-kubernetes-embedded-resource", json!(keywords.embedded_resource));
        put("x-kubernetes-int-or-string", json!(keywords.int_or_string));
        for (key, schemas) in &keywords.combinations {
            let not = schemas.first().filter(|_| *key == "not").cloned();
            put(key, not.unwrap_or_else(|| json!(schemas)));
        }
        put("items", self.items.as_ref().map_or(Value::Null, |items| items.to_json()));
        match &self.additional {
            AdditionalFields::None => {}
            AdditionalFields::Any => put("additionalProperties", json!(true)),
            AdditionalFields::Each(each) => put("additionalProperties", each.to_json()),
        }
        if !self.properties.is_empty() {
            let fields = self.properties.iter().map(|(name, schema)| (name.clone(), schema.to_json()));
            put("properties", Value::Object(fields.collect()));
        }
        if let Some(default) = &keywords.default {
            out.insert("default".to_owned(), default.clone());
        }
        Value::Object(out)
    }
}
