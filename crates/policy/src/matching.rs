//! Which objects a constraint is about: `spec.match` (P2).
//!
//! All criteria that are present must hold, in the order of the fields of [`Match`]. What cannot be decided is an error,
//! and an error counts as a violation of the constraint.

use std::fmt;

use serde_json::Value;

use crate::review::{ObjectKind, Review, labels, metadata};
use crate::selector::{LabelSelector, SelectorError};

/// Where an object comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// It exists, or somebody asks for it.
    Original,
    /// An `ExpansionTemplate` implies it.
    Generated,
}

impl Source {
    fn name(self) -> &'static str {
        match self {
            Source::Original => "Original",
            Source::Generated => "Generated",
        }
    }
}

/// A name with an asterisk in front, behind, or on both sides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Glob(String);

impl Glob {
    /// A glob; every text is one.
    pub fn new(text: &str) -> Self {
        Glob(text.to_owned())
    }

    /// Whether it matches a name.
    pub fn matches(&self, name: &str) -> bool {
        let (front, rest) = self.0.strip_prefix('*').map_or((false, self.0.as_str()), |rest| (true, rest));
        let (back, middle) = rest.strip_suffix('*').map_or((false, rest), |middle| (true, middle));
        match (front, back) {
            (true, true) => name.contains(middle),
            (true, false) => name.ends_with(middle),
            (false, true) => name.starts_with(middle),
            (false, false) => name == middle,
        }
    }

    /// Whether it matches every name that is made of such a beginning.
    pub fn matches_generate_name(&self, beginning: &str) -> bool {
        if beginning.is_empty() {
            return false;
        }
        let (front, rest) = self.0.strip_prefix('*').map_or((false, self.0.as_str()), |rest| (true, rest));
        match (front, rest.strip_suffix('*')) {
            (true, Some(middle)) => beginning.contains(middle),
            (false, Some(middle)) => beginning.starts_with(middle),
            _ => false,
        }
    }
}

impl fmt::Display for Glob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Groups and kinds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Kinds {
    pub(crate) groups: Vec<String>,
    pub(crate) kinds: Vec<String>,
}

impl Kinds {
    fn matches(&self, kind: &ObjectKind) -> bool {
        is_listed(&self.kinds, &kind.kind) && is_listed(&self.groups, &kind.group)
    }
}

/// Whether a list has a name, or stands for all names.
fn is_listed(list: &[String], name: &str) -> bool {
    list.is_empty() || list.iter().any(|one| one == "*" || one == name)
}

/// The criteria of a constraint.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Match {
    pub(crate) kinds: Vec<Kinds>,
    scope: String,
    namespaces: Vec<Glob>,
    excluded_namespaces: Vec<Glob>,
    label_selector: Option<LabelSelector>,
    namespace_selector: Option<LabelSelector>,
    name: Option<Glob>,
    source: String,
}

/// Why it cannot be decided whether an object matches.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MatchError {
    /// The namespace is needed and not known.
    #[error("namespace selector for namespace-scoped object but missing Namespace")]
    NoNamespace,
    /// `source` has a value that does not exist.
    #[error("invalid source field {0:?}")]
    InvalidSource(String),
    /// Where the object comes from is needed and not known.
    #[error("source field not specified for resource {0}")]
    NoSource(String),
    /// There is no object.
    #[error("neither object nor old object are defined")]
    NoObject,
    /// The criteria have the wrong form.
    #[error("could not convert JSON to Match: {0}")]
    Form(String),
    /// A selector is not valid.
    #[error("{0}")]
    Selector(#[from] SelectorError),
}

/// Whether a criterion holds for an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Criterion {
    /// The field.
    pub(crate) field: &'static str,
    /// Whether it holds.
    pub(crate) holds: Result<bool, MatchError>,
}

fn list(value: &Value, field: &str) -> Result<Vec<String>, MatchError> {
    let wrong = || MatchError::Form(format!("{field} must be a list of strings"));
    match value.get(field) {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::Array(values)) => {
            values.iter().map(|value| value.as_str().map(str::to_owned).ok_or_else(wrong)).collect()
        }
        Some(_) => Err(wrong()),
    }
}

impl Match {
    /// Reads `spec.match`.
    pub fn read(value: &Value) -> Result<Match, MatchError> {
        let text = |field: &str| match value.get(field) {
            None | Some(Value::Null) => Ok(String::new()),
            Some(Value::String(text)) => Ok(text.clone()),
            Some(_) => Err(MatchError::Form(format!("{field} must be a string"))),
        };
        let selector = |field: &str| match value.get(field) {
            None | Some(Value::Null) => Ok(None),
            Some(selector) => LabelSelector::read(selector).map(Some),
        };
        let globs = |field| -> Result<Vec<Glob>, MatchError> {
            Ok(list(value, field)?.iter().map(|text| Glob::new(text)).collect())
        };
        let kinds = match value.get("kinds") {
            None | Some(Value::Null) => Vec::new(),
            Some(Value::Array(entries)) => entries
                .iter()
                .map(|entry| Ok(Kinds { groups: list(entry, "apiGroups")?, kinds: list(entry, "kinds")? }))
                .collect::<Result<_, MatchError>>()?,
            Some(_) => return Err(MatchError::Form("kinds must be a list".to_owned())),
        };
        let name = text("name")?;
        Ok(Match {
            kinds,
            scope: text("scope")?,
            namespaces: globs("namespaces")?,
            excluded_namespaces: globs("excludedNamespaces")?,
            label_selector: selector("labelSelector")?,
            namespace_selector: selector("namespaceSelector")?,
            name: (!name.is_empty()).then(|| Glob::new(&name)),
            source: text("source")?,
        })
    }

    /// Whether a review matches: its object, or the one before. `namespace` is that of the object, if it is known.
    pub fn matches(&self, review: &Review, namespace: Option<&Value>) -> Result<bool, MatchFailure> {
        let mut objects = review.objects().peekable();
        if objects.peek().is_none() {
            return Err(MatchFailure { object: None, error: MatchError::NoObject });
        }
        for object in objects {
            let failed = |error| MatchFailure { object: Some(metadata(object, "name").to_owned()), error };
            if self.matches_object(object, namespace, review.source()).map_err(failed)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn matches_object(
        &self,
        object: &Value,
        namespace: Option<&Value>,
        source: Option<Source>,
    ) -> Result<bool, MatchError> {
        for criterion in self.criteria(object, namespace, source) {
            if !criterion.holds? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Each criterion in its order, evaluated when it is asked for.
    pub(crate) fn criteria<'c>(
        &'c self,
        object: &'c Value,
        namespace: Option<&'c Value>,
        source: Option<Source>,
    ) -> impl Iterator<Item = Criterion> + 'c {
        let kind = ObjectKind::of(object);
        let fields = [
            "kinds",
            "scope",
            "namespaces",
            "excludedNamespaces",
            "labelSelector",
            "namespaceSelector",
            "name",
            "source",
        ];
        fields.into_iter().map(move |field| {
            let holds = match field {
                "kinds" => Ok(self.may_match_kind(&kind)),
                "scope" => Ok(self.scope_matches(object, &kind, namespace)),
                "namespaces" => Ok(self.namespaces.is_empty()
                    || namespace_name(object, &kind, namespace)
                        .is_none_or(|name| self.namespaces.iter().any(|glob| glob.matches(name)))),
                "excludedNamespaces" => Ok(namespace_name(object, &kind, namespace)
                    .is_none_or(|name| !self.excluded_namespaces.iter().any(|glob| glob.matches(name)))),
                "labelSelector" => {
                    Ok(self.label_selector.as_ref().is_none_or(|selector| selector.matches(&labels(object))))
                }
                "namespaceSelector" => self.namespace_selector_matches(object, &kind, namespace),
                "name" => Ok(self.name.as_ref().is_none_or(|glob| {
                    glob.matches(metadata(object, "name"))
                        || glob.matches_generate_name(metadata(object, "generateName"))
                })),
                _ => self.source_matches(object, source),
            };
            Criterion { field, holds }
        })
    }

    /// Whether objects of a kind may match; the version does not count.
    pub(crate) fn may_match_kind(&self, kind: &ObjectKind) -> bool {
        self.kinds.is_empty() || self.kinds.iter().any(|kinds| kinds.matches(kind))
    }

    /// Whether objects of some kind of a group may match.
    pub(crate) fn may_match_group(&self, group: &str) -> bool {
        self.kinds.is_empty() || self.kinds.iter().any(|kinds| is_listed(&kinds.groups, group))
    }

    fn scope_matches(&self, object: &Value, kind: &ObjectKind, namespace: Option<&Value>) -> bool {
        let has_namespace = !metadata(object, "namespace").is_empty() || namespace.is_some();
        match self.scope.as_str() {
            "Cluster" => kind.is_namespace() || !has_namespace,
            "Namespaced" => !kind.is_namespace() && has_namespace,
            // Also what is misspelt.
            _ => true,
        }
    }

    fn namespace_selector_matches(
        &self,
        object: &Value,
        kind: &ObjectKind,
        namespace: Option<&Value>,
    ) -> Result<bool, MatchError> {
        let Some(selector) = &self.namespace_selector else { return Ok(true) };
        if kind.is_namespace() {
            return Ok(selector.matches(&labels(object)));
        }
        match namespace {
            Some(namespace) => Ok(selector.matches(&labels(namespace))),
            None if metadata(object, "namespace").is_empty() => Ok(true),
            None => Err(MatchError::NoNamespace),
        }
    }

    fn source_matches(&self, object: &Value, source: Option<Source>) -> Result<bool, MatchError> {
        match (self.source.as_str(), source) {
            ("" | "All", _) => Ok(true),
            (wanted @ ("Generated" | "Original"), Some(source)) => Ok(wanted == source.name()),
            ("Generated" | "Original", None) => Err(MatchError::NoSource(metadata(object, "name").to_owned())),
            (other, _) => Err(MatchError::InvalidSource(other.to_owned())),
        }
    }
}

/// The namespace that counts for an object; nothing for objects of the cluster.
fn namespace_name<'o>(object: &'o Value, kind: &ObjectKind, namespace: Option<&'o Value>) -> Option<&'o str> {
    if kind.is_namespace() {
        return Some(metadata(object, "name"));
    }
    let own = metadata(object, "namespace");
    namespace.map(|namespace| metadata(namespace, "name")).or((!own.is_empty()).then_some(own))
}

/// An object for which it cannot be decided whether it matches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MatchFailure {
    /// The name of the object; nothing if there is none.
    pub object: Option<String>,
    /// Why.
    pub error: MatchError,
}

impl fmt::Display for MatchFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("unable to match constraints: ")?;
        match &self.object {
            Some(name) => {
                write!(f, "error matching the requested object: {name} :failed to run Match criteria: {}", self.error)
            }
            None => write!(f, "invalid request object: {}", self.error),
        }
    }
}
