//! The kinds a cluster serves, and the many names people have for them.

use std::collections::BTreeSet;
use std::fmt;

use clearway_core::GroupVersionKind;
use kube::core::discovery::v2::{APIGroupDiscovery, APIResourceDiscovery};
use serde_json::Value;

use super::ClusterError;

/// One kind in the version that the cluster prefers.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Resource {
    /// The kind.
    pub kind: GroupVersionKind,
    /// The name in paths, such as `deployments`.
    pub plural: String,
    /// Whether its objects live in namespaces.
    pub namespaced: bool,
    /// Whether its objects can be listed.
    pub listable: bool,
    /// Whether its objects can be watched.
    pub watchable: bool,
    names: Vec<String>,
}

/// All kinds of a cluster.
#[derive(Debug, Clone, Default)]
pub struct Catalog {
    resources: Vec<Resource>,
    /// Groups of which some versions could not be asked for, so that kinds may be missing.
    stale_groups: BTreeSet<String>,
}

impl Resource {
    /// A kind whose names are known, whether it is served or not.
    pub fn new(kind: GroupVersionKind, plural: &str, namespaced: bool) -> Self {
        Resource {
            names: vec![plural.to_owned(), kind.kind.to_lowercase()],
            kind,
            plural: plural.to_owned(),
            namespaced,
            listable: true,
            watchable: true,
        }
    }

    /// The kind that a `CustomResourceDefinition` defines, whether it is served yet or not.
    pub fn defined_by(definition: &Value, version: &str) -> Option<Self> {
        let spec = &definition["spec"];
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let (plural, kind) = (text(&spec["names"]["plural"])?, text(&spec["names"]["kind"])?);
        let kind = GroupVersionKind { group: text(&spec["group"])?, version: version.to_owned(), kind };
        Some(Resource::new(kind, &plural, spec["scope"] == "Namespaced"))
    }

    /// The items of a list come without kind and version, which only the list has.
    pub(super) fn stamp(&self, mut object: Value) -> Value {
        if let Some(fields) = object.as_object_mut() {
            fields.entry("apiVersion").or_insert_with(|| self.kind.api_version().into());
            fields.entry("kind").or_insert_with(|| self.kind.kind.as_str().into());
        }
        object
    }

    /// For use with the client's own types.
    pub(super) fn api_resource(&self) -> kube::core::ApiResource {
        kube::core::ApiResource {
            group: self.kind.group.clone(),
            version: self.kind.version.clone(),
            api_version: self.kind.api_version(),
            kind: self.kind.kind.clone(),
            plural: self.plural.clone(),
        }
    }
}

impl fmt::Display for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.plural)?;
        if self.kind.group.is_empty() { Ok(()) } else { write!(f, ".{}", self.kind.group) }
    }
}

impl Catalog {
    /// Reads the answer of aggregated discovery; the first version of each kind is the preferred one.
    pub(super) fn new(groups: impl Iterator<Item = APIGroupDiscovery>) -> Self {
        let mut resources: Vec<Resource> = Vec::new();
        let mut stale_groups = BTreeSet::new();
        for group in groups {
            let name = group.metadata.and_then(|metadata| metadata.name).unwrap_or_default();
            for version in group.versions {
                if version.freshness.as_deref() == Some("Stale") {
                    stale_groups.insert(name.clone());
                }
                let Some(served) = version.version else { continue };
                for resource in version.resources {
                    let known =
                        |seen: &Resource| seen.kind.group == name && Some(&seen.plural) == resource.resource.as_ref();
                    if !resources.iter().any(known) {
                        resources.extend(read(&name, &served, resource));
                    }
                }
            }
        }
        Catalog { resources, stale_groups }
    }

    /// The kind a person means by a plural, a singular, a short name or a kind, optionally with `.group` behind it.
    pub fn find(&self, name: &str) -> Result<&Resource, ClusterError> {
        let wanted = name.to_lowercase();
        let (word, group) = wanted.split_once('.').map_or((wanted.as_str(), None), |(word, group)| (word, Some(group)));
        self.resources
            .iter()
            .find(|resource| {
                resource.names.iter().any(|known| known == word)
                    && group.is_none_or(|group| resource.kind.group == group)
            })
            .ok_or_else(|| ClusterError::NoSuchKind { name: name.to_owned(), hint: self.hint(word) })
    }

    /// The kind of an object by its group and kind.
    pub fn of(&self, group: &str, kind: &str) -> Option<&Resource> {
        self.resources.iter().find(|resource| resource.kind.group == group && resource.kind.kind == kind)
    }

    /// Groups whose own server did not answer when the kinds were asked for: kinds of theirs may be missing here.
    pub fn stale_groups(&self) -> &BTreeSet<String> {
        &self.stale_groups
    }

    /// Every kind whose objects can be listed, each object once: `events` and `events.events.k8s.io` are the same.
    pub fn listable(&self) -> impl Iterator<Item = &Resource> {
        let twice = |resource: &Resource| resource.kind.kind == "Event" && resource.kind.group.is_empty();
        self.resources.iter().filter(move |resource| resource.listable && !twice(resource))
    }

    fn hint(&self, word: &str) -> String {
        let stem: String = word.chars().take(3).collect();
        let near: Vec<String> = self
            .resources
            .iter()
            .filter(|resource| resource.names.iter().any(|known| !stem.is_empty() && known.starts_with(&stem)))
            .take(5)
            .map(ToString::to_string)
            .collect();
        if near.is_empty() { String::new() } else { format!("; similar: {}", near.join(", ")) }
    }
}

fn read(group: &str, version: &str, resource: APIResourceDiscovery) -> Option<Resource> {
    let plural = resource.resource?;
    let kind = resource.response_kind?.kind?;
    let can = |verb: &str| resource.verbs.iter().any(|known| known == verb);
    let mut names = vec![plural.clone(), kind.to_lowercase()];
    names.extend(resource.singular_resource.iter().chain(&resource.short_names).map(|name| name.to_lowercase()));
    Some(Resource {
        kind: GroupVersionKind { group: group.to_owned(), version: version.to_owned(), kind },
        namespaced: resource.scope.as_deref() == Some("Namespaced"),
        listable: can("list"),
        watchable: can("watch"),
        plural,
        names,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn catalog() -> Catalog {
        let resource = |plural: &str, kind: &str, short: &[&str]| {
            json!({
                "resource": plural, "responseKind": {"kind": kind}, "scope": "Namespaced",
                "singularResource": kind.to_lowercase(), "shortNames": short, "verbs": ["get", "list", "watch"],
            })
        };
        let groups = json!([
            {"metadata": {}, "versions": [{"version": "v1", "resources": [
                resource("pods", "Pod", &["po"]), resource("services", "Service", &["svc"]), resource("events", "Event", &["ev"]),
            ]}]},
            {"metadata": {"name": "apps"}, "versions": [
                {"version": "v1", "resources": [resource("deployments", "Deployment", &["deploy"])]},
                {"version": "v1beta1", "resources": [resource("deployments", "Deployment", &["deploy"])]},
            ]},
            {"metadata": {"name": "events.k8s.io"}, "versions": [{"version": "v1", "resources": [resource("events", "Event", &["ev"])]}]},
            {"metadata": {"name": "serving.knative.dev"}, "versions": [{"version": "v1", "resources": [resource("services", "Service", &["ksvc"])]}]},
        ]);
        Catalog::new(serde_json::from_value::<Vec<APIGroupDiscovery>>(groups).unwrap().into_iter())
    }

    #[test]
    fn a_kind_is_found_by_any_of_its_names() {
        for (name, want) in [
            ("deploy", "deployments.apps"),
            ("Deployment", "deployments.apps"),
            ("deployments.apps", "deployments.apps"),
            ("po", "pods"),
            ("service", "services"),
            ("services.serving.knative.dev", "services.serving.knative.dev"),
        ] {
            assert_eq!(catalog().find(name).unwrap().to_string(), want);
        }
        assert_eq!(catalog().find("deploy").unwrap().kind.version, "v1");
    }

    #[test]
    fn a_definition_tells_of_its_kind_before_it_is_served() {
        let definition = json!({"spec": {
            "group": "db.example.com", "scope": "Namespaced", "names": {"plural": "databases", "kind": "Database"},
        }});
        let resource = Resource::defined_by(&definition, "v1").unwrap();
        assert_eq!((resource.to_string().as_str(), resource.namespaced), ("databases.db.example.com", true));
        assert_eq!(Resource::defined_by(&json!({}), "v1"), None);
    }

    #[test]
    fn an_unknown_name_is_answered_with_near_ones() {
        let error = catalog().find("deployer").unwrap_err().to_string();
        assert_eq!(error, "the cluster serves no kind named `deployer`; similar: deployments.apps");
    }

    #[test]
    fn what_two_groups_serve_is_listed_once() {
        let catalog = catalog();
        assert_eq!(catalog.listable().filter(|resource| resource.kind.kind == "Event").count(), 1);
    }
}
