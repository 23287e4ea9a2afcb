//! The environment of an expression, and objects in files.

use std::path::Path;

use anyhow::{Context as _, Result, bail};
use clearway_cel::{DeclaredType, Environment, KubernetesVersion};
use clearway_core::Limits;
use clearway_schema::{AdditionalProperties, Node, Schema};
use clearway_yaml::ReadEvent;
use serde_json::Value;

use crate::arguments::{CelEnvironment, CelScope};

/// An environment, and how often an expression at its place runs on one object.
pub(super) struct Scope {
    pub(super) environment: Environment,
    pub(super) kind: CelEnvironment,
    /// How many values the place has at most; nothing if there is no limit.
    pub(super) values: Option<u64>,
}

/// Finds the environment that the options mean.
pub(super) fn find(options: &CelScope) -> Result<Scope> {
    let kind = match (options.environment, &options.schema) {
        (Some(kind), _) => kind,
        (None, Some(_)) => CelEnvironment::Crd,
        (None, None) => CelEnvironment::Resource,
    };
    let version = KubernetesVersion::new(options.kubernetes);
    let mut values = Some(1);
    let environment = match (kind, &options.schema) {
        (CelEnvironment::Crd, Some(file)) => {
            let crd = read_object(file)?;
            let schema = schema_of(&crd, options.crd_version.as_deref())
                .with_context(|| format!("`--schema {}` needs a CRD", file.display()))?;
            let (node, found) = place(schema.root(), &options.at)?;
            values = found;
            Environment::kubernetes_crd(version, node, options.at.is_empty(), false)
        }
        (CelEnvironment::Crd, None) => bail!("--environment crd needs --schema FILE"),
        (kind, _) => without_schema(kind, version),
    };
    Ok(Scope { environment, kind, values })
}

/// An environment that needs no schema.
pub(super) fn without_schema(kind: CelEnvironment, version: KubernetesVersion) -> Environment {
    match kind {
        CelEnvironment::Standard => Environment::standard().declare("object", &DeclaredType::Dyn),
        CelEnvironment::Admission => Environment::kubernetes_admission(version, true),
        CelEnvironment::Resource | CelEnvironment::Crd => Environment::resource_rule(),
    }
}

fn schema_of(crd: &Value, version: Option<&str>) -> Result<Schema> {
    let stored = || {
        let versions = crd.pointer("/spec/versions").and_then(Value::as_array);
        let versions: Vec<&Value> = versions.into_iter().flatten().collect();
        let stored = versions.iter().find(|version| version["storage"] == true).or(versions.first());
        stored.and_then(|version| version["name"].as_str())
    };
    let version = version.or_else(stored).context("not a CustomResourceDefinition: spec.versions is missing")?;
    Ok(Schema::of_crd(crd, version)?)
}

/// The schema at a place below the root, and how many values an object has there at most.
fn place<'s>(root: &'s Node, path: &str) -> Result<(&'s Node, Option<u64>)> {
    let mut node = root;
    let mut values = Some(1_u64);
    for step in path.split('.').filter(|step| !step.is_empty()) {
        let name = step.trim_end_matches(['[', ']', '{', '}']);
        let mut behind = step.get(name.len()..).unwrap_or_default();
        if !name.is_empty() {
            node = node
                .properties
                .get(name)
                .with_context(|| format!("field `{name}` of `{path}` not found in the schema"))?;
        }
        while !behind.is_empty() {
            let (rest, inner, most) = if let Some(rest) = behind.strip_prefix("[]") {
                (rest, node.items.as_deref(), node.max_items)
            } else if let Some(rest) = behind.strip_prefix("{}") {
                let each = match &node.additional {
                    AdditionalProperties::Each(each) => Some(&**each),
                    _ => None,
                };
                (rest, each, node.max_properties)
            } else {
                bail!(
                    "`{step}` is not a path element: write spec.items[] for list elements and spec.labels{{}} for map values"
                );
            };
            node = inner.with_context(|| format!("`{step}` of `{path}` not found in the schema"))?;
            values = values.zip(most).map(|(values, most)| values.saturating_mul(most));
            behind = rest;
        }
    }
    Ok((node, values))
}

/// The one object of a file in YAML or JSON.
pub(super) fn read_object(file: &Path) -> Result<Value> {
    let shown = file.display().to_string();
    let bytes = crate::commands::promql::series::input(file)?;
    let (mut objects, mut wrong) = (Vec::new(), None);
    clearway_yaml::read(bytes.as_slice(), &shown, &Limits::default(), |found| match found {
        ReadEvent::Object { root, .. } => objects.push(root.to_json()),
        ReadEvent::Problem(problem) => wrong = wrong.take().or(Some(problem)),
    });
    if let Some(problem) = wrong {
        let line = problem.place.position.map(|at| format!(":{}", at.line)).unwrap_or_default();
        bail!("{shown}{line}: {}", problem.message);
    }
    let mut objects = objects.into_iter();
    match (objects.next(), objects.next()) {
        (Some(object), None) => Ok(object),
        (None, _) => bail!("{shown} has no object"),
        (Some(_), Some(_)) => bail!("{shown} has more than one object"),
    }
}
