//! Changing objects of a cluster: each function is one request, and each refusal has a name.

use kube::api::{DeleteParams, Patch, PatchParams, PostParams, Preconditions};
use serde_json::Value;

use super::path::shown;
use super::{ANSWER, Cluster, ClusterError, Resource};

/// How an object is applied.
#[derive(Debug, Clone, Copy)]
pub struct Apply<'a> {
    /// In whose name: the fields it sets are its own from then on.
    pub manager: &'a str,
    /// Whether fields that others own are taken over.
    pub force: bool,
    /// Whether the server only says what would become of it.
    pub dry_run: bool,
}

/// Which half of an object a patch is for: the API server keeps them apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// Everything but the status.
    Main,
    /// The status.
    Status,
}

impl Cluster {
    /// Creates an object that must not be there yet.
    pub async fn create(&self, resource: &Resource, object: &Value) -> Result<Value, ClusterError> {
        let (namespace, name) = place(object);
        let request = Self::collection(resource, Some(namespace))?.create(&PostParams::default(), bytes(object));
        self.change("create", resource, (namespace, name), request).await
    }

    /// Applies an object on the server's side: what it says holds, what others say besides stays.
    pub async fn apply(&self, resource: &Resource, object: &Value, how: &Apply<'_>) -> Result<Value, ClusterError> {
        let (namespace, name) = place(object);
        let mut parameters = PatchParams::apply(how.manager);
        (parameters.force, parameters.dry_run) = (how.force, how.dry_run);
        let (collection, segment) = Self::address(resource, (namespace, name))?;
        let request = collection.patch(&segment, &parameters, &Patch::Apply(object));
        self.change("apply", resource, (namespace, name), request).await
    }

    /// Merges a patch into one half of an object.
    pub async fn patch(
        &self,
        resource: &Resource,
        (namespace, name): (&str, &str),
        part: Part,
        patch: &Value,
    ) -> Result<Value, ClusterError> {
        let (collection, segment) = Self::address(resource, (namespace, name))?;
        let (parameters, merged) = (PatchParams::default(), Patch::Merge(patch));
        let request = match part {
            Part::Main => collection.patch(&segment, &parameters, &merged),
            Part::Status => collection.patch_subresource("status", &segment, &parameters, &merged),
        };
        self.change("patch", resource, (namespace, name), request).await
    }

    /// Replaces one half of an object, if nobody changed it since it was read.
    pub async fn replace(&self, resource: &Resource, part: Part, object: &Value) -> Result<Value, ClusterError> {
        let (namespace, name) = place(object);
        let (collection, segment) = Self::address(resource, (namespace, name))?;
        let parameters = PostParams::default();
        let request = match part {
            Part::Main => collection.replace(&segment, &parameters, bytes(object)),
            Part::Status => collection.replace_subresource("status", &segment, &parameters, bytes(object)),
        };
        self.change("update", resource, (namespace, name), request).await
    }

    /// Deletes an object, if it is still the one with this uid; its dependents go in the background.
    pub async fn delete(&self, resource: &Resource, place: (&str, &str), uid: &str) -> Result<(), ClusterError> {
        let only = (!uid.is_empty()).then(|| Preconditions { uid: Some(uid.to_owned()), resource_version: None });
        let parameters = DeleteParams { preconditions: only, ..DeleteParams::background() };
        let (collection, segment) = Self::address(resource, place)?;
        let request = collection.delete(&segment, &parameters);
        self.change("delete", resource, place, request).await.map(drop)
    }

    async fn change(
        &self,
        verb: &'static str,
        resource: &Resource,
        (namespace, name): (&str, &str),
        request: Result<http::Request<Vec<u8>>, kube::core::request::Error>,
    ) -> Result<Value, ClusterError> {
        let shown = shown(namespace, name);
        let failed = |error| self.error(verb, &resource.to_string(), &shown, error);
        let request = request.map_err(|error| failed(kube::Error::BuildRequest(error)))?;
        self.within(ANSWER, self.client.request::<Value>(request), failed).await
    }
}

fn place(object: &Value) -> (&str, &str) {
    let word = |field: &str| object["metadata"][field].as_str().unwrap_or_default();
    (word("namespace"), word("name"))
}

fn bytes(object: &Value) -> Vec<u8> {
    object.to_string().into_bytes()
}
