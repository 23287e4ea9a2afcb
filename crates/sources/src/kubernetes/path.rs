//! Paths at the API server. Names come from rules, releases and references that strangers write: each is one segment of a
//! path, whatever it holds, or there is no request.

use std::borrow::Cow;

use clearway_core::form;
use kube::core::Request;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use super::{Cluster, ClusterError, Resource};

/// What is written in another way in a path: all but what every API server and proxy reads as it stands.
const ENCODED: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~').remove(b':').remove(b'@');

/// A name as one segment of a path; nothing if it cannot be one.
fn segment(name: &str) -> Option<Cow<'_, str>> {
    form::is_object_name(name).then(|| utf8_percent_encode(name, ENCODED).into())
}

impl Resource {
    /// The path of its collection; `namespace` of none or empty means all. Nothing if a part cannot be in a path.
    fn path(&self, namespace: Option<&str>) -> Option<String> {
        let kind = &self.kind;
        let mut path =
            if kind.group.is_empty() { "/api".to_owned() } else { format!("/apis/{}", segment(&kind.group)?) };
        path.push('/');
        path.push_str(&segment(&kind.version)?);
        if let Some(namespace) = namespace.filter(|namespace| self.namespaced && !namespace.is_empty()) {
            path.push_str("/namespaces/");
            path.push_str(&segment(namespace)?);
        }
        path.push('/');
        path.push_str(&segment(&self.plural)?);
        Some(path)
    }
}

impl Cluster {
    /// Where the objects of a kind are; `namespace` of none or empty means all.
    pub(super) fn collection(resource: &Resource, namespace: Option<&str>) -> Result<Request, ClusterError> {
        resource.path(namespace).map(Request::new).ok_or_else(|| refused(resource, namespace.unwrap_or_default()))
    }

    /// Where an object is: its collection, and its name there.
    pub(super) fn address<'n>(
        resource: &Resource,
        (namespace, name): (&str, &'n str),
    ) -> Result<(Request, Cow<'n, str>), ClusterError> {
        let collection = Self::collection(resource, Some(namespace))?;
        let name = segment(name).ok_or_else(|| refused(resource, &shown(namespace, name)))?;
        Ok((collection, name))
    }
}

fn refused(resource: &Resource, name: &str) -> ClusterError {
    let why = "it is not a name that an API server accepts".to_owned();
    ClusterError::Refused { resource: resource.to_string(), name: name.to_owned(), why }
}

/// An object as errors name it.
pub(super) fn shown(namespace: &str, name: &str) -> String {
    if namespace.is_empty() { name.to_owned() } else { format!("{namespace}/{name}") }
}

#[cfg(test)]
mod tests {
    use clearway_core::GroupVersionKind;

    use super::*;

    fn path(resource: &Resource, namespace: &str, name: &str) -> Option<String> {
        let (collection, name) = Cluster::address(resource, (namespace, name)).ok()?;
        let request = collection.get(&name, &kube::api::GetParams::default()).unwrap();
        Some(request.uri().to_string())
    }

    #[test]
    fn a_path_stays_below_its_collection() {
        let maps = Resource::new(GroupVersionKind::new("v1", "ConfigMap"), "configmaps", true);
        let roles =
            Resource::new(GroupVersionKind::new("rbac.authorization.k8s.io/v1", "ClusterRole"), "clusterroles", false);
        for (resource, namespace, name, want) in [
            (&maps, "shop", "web", Some("/api/v1/namespaces/shop/configmaps/web")),
            (&roles, "", "system:node", Some("/apis/rbac.authorization.k8s.io/v1/clusterroles/system:node")),
            (&roles, "", "a b?c#d", Some("/apis/rbac.authorization.k8s.io/v1/clusterroles/a%20b%3Fc%23d")),
            (&maps, "shop?watch=1", "web", Some("/api/v1/namespaces/shop%3Fwatch%3D1/configmaps/web")),
            (&maps, " ", "web", Some("/api/v1/namespaces/%20/configmaps/web")),
            (&maps, "a/secrets?watch=1&y=", "web", None),
            (&maps, "shop", "../secrets/web", None),
            (&maps, "shop", "..", None),
            (&maps, "shop", "a%2fb", None),
            (&maps, "shop", "", None),
        ] {
            assert_eq!(path(resource, namespace, name).as_deref(), want, "{namespace} {name}");
        }
        let odd = Resource::new(GroupVersionKind::new("a/b/c", "Thing"), "things", true);
        assert_eq!(path(&odd, "shop", "web"), None);
        let refused = Cluster::address(&maps, ("shop", "a/b")).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "the API server refuses configmaps shop/a/b: it is not a name that an API server accepts"
        );
    }
}
