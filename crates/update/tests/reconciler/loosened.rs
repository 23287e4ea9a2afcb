//! Objects as looser validation lets them be: for each required field, enum and bound of a CRD one object that breaks it,
//! and is whole otherwise (V6, seed 002). Nothing is listed by hand: the schema is walked.

use serde_json::{Map, Value, json};

/// An object that the CRD refuses today, and a later version of it may accept.
pub(crate) struct Loosened {
    /// Where it differs from [`whole_object`]: names of fields and places in lists.
    pub(crate) path: Vec<Step>,
    /// The keyword of the schema that it breaks; `unknown field` for one that is not described.
    pub(crate) broken: &'static str,
    pub(crate) object: Value,
}

/// One step from an object into it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Step {
    Field(String),
    Element(usize),
}

impl Loosened {
    /// The path for people, such as `status.history[0].state`.
    pub(crate) fn place(&self) -> String {
        let steps = self.path.iter().map(|step| match step {
            Step::Field(name) => format!(".{name}"),
            Step::Element(at) => format!("[{at}]"),
        });
        steps.collect::<String>().trim_start_matches('.').to_owned()
    }
}

/// The schema of the first version of a CRD.
pub(crate) fn schema_of(crd: &Value) -> &Value {
    crd.pointer("/spec/versions/0/schema/openAPIV3Schema").unwrap()
}

/// An object with every field of the schema, which the schema accepts.
pub(crate) fn whole_object(crd: &Value) -> Value {
    let mut object = json!({
        "apiVersion": format!("{}/{}", crd["spec"]["group"].as_str().unwrap(), crd["spec"]["versions"][0]["name"].as_str().unwrap()),
        "kind": crd["spec"]["names"]["kind"],
        "metadata": {"name": "version", "generation": 1, "resourceVersion": "1"},
    });
    for part in ["spec", "status"] {
        object[part] = whole(&schema_of(crd)["properties"][part], part, 0);
    }
    object
}

/// A value with everything that a schema describes; `name` is that of its field, and `number` its place in a list.
fn whole(schema: &Value, name: &str, number: usize) -> Value {
    match schema["type"].as_str() {
        Some("object") => {
            let properties = schema["properties"].as_object().into_iter().flatten();
            properties.map(|(name, schema)| (name.clone(), whole(schema, name, number))).collect::<Map<_, _>>().into()
        }
        Some("array") => (0..2).map(|number| whole(&schema["items"], name, number)).collect(),
        Some("integer") => 1.into(),
        Some("boolean") => false.into(),
        Some("string") => text(schema, name, number).into(),
        None => json!({}),
        Some(other) => panic!("{name} has the type {other}, which this test does not know"),
    }
}

/// A text that fits: one of the words, or one that the names of fields and the formats ask for.
fn text(schema: &Value, name: &str, number: usize) -> String {
    if let Some(words) = schema["enum"].as_array() {
        // Where nothing is a choice too, it is the one that goes with everything else.
        let word = words.iter().find(|word| *word == "").unwrap_or(&words[number % words.len()]);
        return word.as_str().unwrap().to_owned();
    }
    match (schema["format"].as_str(), name) {
        (Some("date-time"), _) => "2026-01-01T00:00:00Z".to_owned(),
        (Some("uri"), _) | (None, "url" | "upstream") => format!("https://example.com/{number}"),
        (None, "version") => format!("1.0.{number}"),
        (None, "image") => format!("example.com/r@1.0.{number}"),
        (None, "state") => "Completed".to_owned(),
        (None, "channel") => "stable-1".to_owned(),
        (None, "reason") => "AsExpected".to_owned(),
        (None, "clusterID") => "8d3c9d26-95cf-4b4e-8d0d-0a1f4e6b7c11".to_owned(),
        (None, name) => format!("{name}{number}"),
        (Some(other), name) => panic!("{name} has the format {other}, which this test does not know"),
    }
}

/// Every object that breaks exactly one keyword of the schema in one place. Lists are broken in their first element.
pub(crate) fn loosened(crd: &Value) -> Vec<Loosened> {
    let mut walk = Walk { base: whole_object(crd), path: Vec::new(), found: Vec::new() };
    for part in ["spec", "status"] {
        walk.below(Step::Field(part.to_owned()), &schema_of(crd)["properties"][part], part);
    }
    walk.found
}

struct Walk {
    base: Value,
    path: Vec<Step>,
    found: Vec<Loosened>,
}

impl Walk {
    fn below(&mut self, step: Step, schema: &Value, name: &str) {
        self.path.push(step);
        self.visit(schema, name);
        self.path.pop();
    }

    /// Adds the object in which the value at the present path is another one; without one, it is not there.
    fn add(&mut self, broken: &'static str, value: Option<Value>) {
        let mut object = self.base.clone();
        let (last, before) = self.path.split_last().unwrap();
        let parent = before.iter().fold(&mut object, |value, step| match step {
            Step::Field(name) => &mut value[name],
            Step::Element(at) => &mut value[at],
        });
        match (last, value) {
            (Step::Field(name), Some(value)) => parent[name] = value,
            (Step::Field(name), None) => _ = parent.as_object_mut().unwrap().remove(name),
            (Step::Element(at), Some(value)) => parent[at] = value,
            (Step::Element(at), None) => _ = parent.as_array_mut().unwrap().remove(*at),
        }
        self.found.push(Loosened { path: self.path.clone(), broken, object });
    }

    fn value(&self) -> Value {
        let steps = self.path.iter();
        let value = steps.fold(&self.base, |value, step| match step {
            Step::Field(name) => &value[name],
            Step::Element(at) => &value[at],
        });
        value.clone()
    }

    fn visit(&mut self, schema: &Value, name: &str) {
        let bound = |keyword: &str| schema[keyword].as_u64().map(|bound| usize::try_from(bound).unwrap());
        if schema["nullable"] != true && schema["type"].is_string() {
            self.add("nullable", Some(Value::Null));
        }
        if schema["enum"].is_array() {
            self.add("enum", Some("AWordOfNextYear".into()));
        }
        for (keyword, length) in [
            ("maxLength", bound("maxLength").map(|most| most + 1)),
            ("minLength", bound("minLength").and_then(|least| least.checked_sub(1))),
        ] {
            if let Some(length) = length {
                self.add(keyword, Some("x".repeat(length).into()));
            }
        }
        for (keyword, count) in [
            ("maxItems", bound("maxItems").map(|most| most + 1)),
            ("minItems", bound("minItems").and_then(|least| least.checked_sub(1))),
        ] {
            if let Some(count) = count {
                self.add(keyword, Some((0..count).map(|number| whole(&schema["items"], name, number)).collect()));
            }
        }
        for (keyword, by) in [("maximum", 1), ("minimum", -1)] {
            if let Some(bound) = schema[keyword].as_i64() {
                self.add(keyword, Some((bound + by).into()));
            }
        }
        for keyword in ["pattern", "format"] {
            match schema[keyword].as_str() {
                None => {}
                Some("int64") => self.add("type", Some(json!(1e300))),
                Some(_) => self.add(keyword, Some("not\nlike that".into())),
            }
        }
        let unique = match schema["x-kubernetes-list-type"].as_str() {
            Some("set") => Some("x-kubernetes-list-type"),
            Some("map") => Some("x-kubernetes-list-map-keys"),
            _ => None,
        };
        if let Some(keyword) = unique {
            let first = self.value()[0].clone();
            self.add(keyword, Some(json!([first, first])));
        }
        for required in schema["required"].as_array().into_iter().flatten() {
            self.path.push(Step::Field(required.as_str().unwrap().to_owned()));
            self.add("required", None);
            self.path.pop();
        }
        if let Some(properties) = schema["properties"].as_object() {
            if schema["x-kubernetes-preserve-unknown-fields"] != true {
                self.path.push(Step::Field("aFieldOfNextYear".to_owned()));
                self.add("unknown field", Some(json!({"x": [1]})));
                self.path.pop();
            }
            for (name, schema) in properties {
                self.below(Step::Field(name.clone()), schema, name);
            }
        }
        if schema["items"].is_object() {
            self.below(Step::Element(0), &schema["items"], name);
        }
    }
}
