//! Objects that others imply, such as the pods of a deployment (`ExpansionTemplate`). Mutations are not applied.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use crate::enforcement::EnforcementAction;
use crate::policy_set::ReviewResult;
use crate::review::{ObjectKind, metadata};

/// How often an implied object may imply others.
const MAX_DEPTH: usize = 30;

/// The most objects that one object may imply.
const MAX_OBJECTS: usize = 10_000;

/// Expansion templates.
#[derive(Debug, Default)]
pub struct Expander {
    templates: Vec<ExpansionTemplate>,
}

#[derive(Debug)]
struct ExpansionTemplate {
    name: String,
    apply_to: Vec<ApplyTo>,
    source: Vec<String>,
    generated: ObjectKind,
    action: String,
}

#[derive(Debug)]
struct ApplyTo {
    groups: Vec<String>,
    versions: Vec<String>,
    kinds: Vec<String>,
}

impl ApplyTo {
    fn matches(&self, kind: &ObjectKind) -> bool {
        let has = |list: &[String], name: &str| list.iter().any(|one| one == name);
        has(&self.groups, &kind.group) && has(&self.versions, &kind.version) && has(&self.kinds, &kind.kind)
    }
}

/// An object that another implies.
#[derive(Debug, Clone, PartialEq)]
pub struct ExpandedObject {
    /// The object.
    pub object: Value,
    /// The template that says so.
    pub template: String,
    /// What happens to its violations, if that is not what the constraint says.
    pub action: Option<String>,
}

/// Why objects cannot be expanded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ExpansionError {
    /// A template is not valid.
    #[error("{0}")]
    Template(String),
    /// An object has not what a template needs.
    #[error("expanding resource {resource}: {reason}")]
    Resource {
        /// The name of the object.
        resource: String,
        /// Why.
        reason: String,
    },
}

impl ExpandedObject {
    /// A violation of this object as one of the object that implies it.
    #[must_use]
    pub fn imply(&self, mut result: ReviewResult) -> ReviewResult {
        result.message = format!("[Implied by {}] {}", self.template, result.message);
        if let Some(action) = &self.action {
            result.action = EnforcementAction::of(action);
        }
        result
    }
}

impl Expander {
    /// Whether an object is an `ExpansionTemplate`.
    pub fn is_template(object: &Value) -> bool {
        let kind = ObjectKind::of(object);
        kind.group == "expansion.gatekeeper.sh" && kind.kind == "ExpansionTemplate"
    }

    /// Reads templates. A later one replaces an earlier one of the same name.
    pub fn read<'o>(objects: impl IntoIterator<Item = &'o Value>) -> Result<Expander, ExpansionError> {
        let mut expander = Expander::default();
        for object in objects {
            let template = read_template(object)?;
            expander.templates.retain(|known| known.name != template.name);
            expander.templates.push(template);
        }
        expander.templates.sort_by(|first, second| first.name.cmp(&second.name));
        Ok(expander)
    }

    /// Whether there are no templates.
    pub fn is_empty(&self) -> bool {
        self.templates.is_empty()
    }

    /// The kinds of the objects that objects of a kind may imply, directly or through others. The version of `kind`
    /// does not count, because objects can be listed in each.
    pub fn generates(&self, kind: &ObjectKind) -> BTreeSet<ObjectKind> {
        let mut found = BTreeSet::new();
        let mut open = vec![kind.clone()];
        while let Some(kind) = open.pop() {
            for template in self.templates.iter().filter(|template| template.may_apply_to(&kind)) {
                if found.insert(template.generated.clone()) {
                    open.push(template.generated.clone());
                }
            }
        }
        found
    }

    /// The objects that an object implies, in a namespace that may be known.
    pub fn expand(&self, object: &Value, namespace: Option<&Value>) -> Result<Vec<ExpandedObject>, ExpansionError> {
        let mut expanded = Vec::new();
        self.expand_below(object, namespace, 0, &mut expanded)?;
        Ok(expanded)
    }

    fn expand_below(
        &self,
        object: &Value,
        namespace: Option<&Value>,
        depth: usize,
        out: &mut Vec<ExpandedObject>,
    ) -> Result<(), ExpansionError> {
        let name = metadata(object, "name");
        let failed = |reason: String| ExpansionError::Resource { resource: name.to_owned(), reason };
        if depth >= MAX_DEPTH {
            return Err(failed(format!("maximum recursion depth of {MAX_DEPTH} reached")));
        }
        let kind = ObjectKind::of(object);
        let mut own = Vec::new();
        for template in self.templates.iter().filter(|template| template.apply_to.iter().any(|to| to.matches(&kind))) {
            own.push(template.expand(object, namespace).map_err(failed)?);
        }
        for one in &own {
            self.expand_below(&one.object, namespace, depth.saturating_add(1), out)?;
        }
        out.extend(own);
        if out.len() > MAX_OBJECTS {
            return Err(failed(format!("it implies more than {MAX_OBJECTS} objects")));
        }
        Ok(())
    }
}

impl ExpansionTemplate {
    fn may_apply_to(&self, kind: &ObjectKind) -> bool {
        let applies =
            |to: &ApplyTo, version: &String| to.matches(&ObjectKind { version: version.clone(), ..kind.clone() });
        self.apply_to.iter().any(|to| to.versions.iter().any(|version| applies(to, version)))
    }

    fn expand(&self, object: &Value, namespace: Option<&Value>) -> Result<ExpandedObject, String> {
        let mut source = object;
        for name in &self.source {
            source = source.get(name).ok_or_else(|| {
                format!(
                    "could not find source field {:?} in resource {}",
                    self.source.join("."),
                    metadata(object, "name")
                )
            })?;
        }
        let Value::Object(fields) = source else {
            return Err(format!(
                "could not extract source field from unstructured: {} is not an object",
                self.source.join(".")
            ));
        };
        let mut fields = fields.clone();
        let version = match self.generated.group.as_str() {
            "" => self.generated.version.clone(),
            group => format!("{group}/{}", self.generated.version),
        };
        fields.insert("apiVersion".to_owned(), json!(version));
        fields.insert("kind".to_owned(), json!(self.generated.kind));
        let own = fields.entry("metadata").or_insert_with(|| Value::Object(Map::new()));
        if !own.is_object() {
            *own = Value::Object(Map::new());
        }
        let parent = metadata(object, "name");
        if let Some(own) = own.as_object_mut() {
            let in_namespace =
                namespace.map_or_else(|| metadata(object, "namespace"), |namespace| metadata(namespace, "name"));
            if in_namespace.is_empty() {
                own.remove("namespace");
            } else {
                own.insert("namespace".to_owned(), json!(in_namespace));
            }
            own.insert("name".to_owned(), json!(format!("{parent}-{}", self.generated.kind).to_lowercase()));
            let text = |name: &str| object.get(name).and_then(Value::as_str).unwrap_or_default();
            let (api_version, kind) = (text("apiVersion"), text("kind"));
            if !api_version.is_empty() && !kind.is_empty() && !parent.is_empty() {
                let owners = own.entry("ownerReferences").or_insert_with(|| json!([]));
                if let Some(owners) = owners.as_array_mut() {
                    let same = |owner: &Value, field: &str, wanted: &str| {
                        owner.get(field).and_then(Value::as_str) == Some(wanted)
                    };
                    let known = owners.iter().any(|owner| {
                        same(owner, "apiVersion", api_version)
                            && same(owner, "kind", kind)
                            && same(owner, "name", parent)
                    });
                    if !known {
                        owners.push(json!({"apiVersion": api_version, "kind": kind, "name": parent, "uid": ""}));
                    }
                }
            }
        }
        Ok(ExpandedObject {
            object: Value::Object(fields),
            template: self.name.clone(),
            action: (!self.action.is_empty()).then(|| self.action.clone()),
        })
    }
}

fn read_template(object: &Value) -> Result<ExpansionTemplate, ExpansionError> {
    let wrong = |message: String| Err(ExpansionError::Template(message));
    let name = metadata(object, "name").to_owned();
    if name.is_empty() {
        return wrong("ExpansionTemplate has empty name field".to_owned());
    }
    if name.len() >= 64 {
        return wrong("ExpansionTemplate name must be less than 64 characters".to_owned());
    }
    let text = |path: &str| object.pointer(path).and_then(Value::as_str).unwrap_or_default().to_owned();
    let source = text("/spec/templateSource");
    if source.is_empty() {
        return wrong(format!("ExpansionTemplate {name} has empty source field"));
    }
    let generated = ObjectKind {
        group: text("/spec/generatedGVK/group"),
        version: text("/spec/generatedGVK/version"),
        kind: text("/spec/generatedGVK/kind"),
    };
    if generated == ObjectKind::default() {
        return wrong(format!("ExpansionTemplate {name} has empty generatedGVK field"));
    }
    let list = |value: &Value, field: &str| -> Vec<String> {
        let values = value.get(field).and_then(Value::as_array).into_iter().flatten();
        values.filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let entries = object.pointer("/spec/applyTo").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let apply_to: Vec<ApplyTo> = entries
        .iter()
        .map(|entry| ApplyTo {
            groups: list(entry, "groups"),
            versions: list(entry, "versions"),
            kinds: list(entry, "kinds"),
        })
        .collect();
    if apply_to.is_empty() {
        return wrong(format!("ExpansionTemplate {name} must specify ApplyTo"));
    }
    if apply_to.iter().any(|to| to.matches(&generated)) {
        let ObjectKind { group, version, kind } = &generated;
        return wrong(format!(
            "ExpansionTemplate {name} generates GVK {group}/{version}, Kind={kind}, but also applies to that same GVK"
        ));
    }
    Ok(ExpansionTemplate {
        name,
        apply_to,
        source: source.split('.').map(str::to_owned).collect(),
        generated,
        action: text("/spec/enforcementAction"),
    })
}
