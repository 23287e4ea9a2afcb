//! The variables of admission policies, with the types that the API server gives them.

use std::sync::Arc;

use clearway_schema::Schema;
use serde_json::{Value, json};

use super::base;
use super::{Environment, KubernetesVersion, VariableSource};
use crate::decl::Decl;
use crate::types::{Type, TypeTable};

/// The environment of a policy.
pub(super) fn environment(version: KubernetesVersion, params: bool) -> Environment {
    let mut environment = Environment::with_base(base::kubernetes(version));
    let mut types = TypeTable::extending(&environment.base.types);
    let decl = declarations();
    let mut named = |name: &str| decl.property(name).map_or(Type::DYN, |decl| decl.type_of(&mut types));
    let (request, namespace) = (named("request"), named("namespaceObject"));
    environment.types = Arc::new(types);
    for name in ["object", "oldObject"] {
        environment.add(name, Type::DYN, VariableSource::Plain);
    }
    if params {
        environment.add("params", Type::DYN, VariableSource::Plain);
    }
    environment.add("request", request, VariableSource::Plain);
    environment.add("namespaceObject", namespace, VariableSource::Plain);
    environment.add("variables", Type::VARIABLES, VariableSource::Policy);
    for name in ["authorizer", "authorizer.requestResource"] {
        environment.add(name, Type::DYN, VariableSource::Unsupported);
    }
    environment.decl = Some(Arc::new(decl));
    environment
}

/// The declarations of the request and the namespace below one root, so that their numbers differ.
fn declarations() -> Decl {
    let schema = json!({"type": "object", "properties": {"request": request(), "namespaceObject": namespace()}});
    let mut root = match Schema::read(&schema) {
        Ok(schema) => Decl::of_schema(schema.root(), false),
        Err(_) => Decl::of_schema(&clearway_schema::Node::default(), false),
    };
    if let Some(request) = root.property_mut("request") {
        // Both kinds, and both resources, have one type: they can be compared.
        request.share_type("kind", "requestKind");
        request.share_type("resource", "requestResource");
    }
    root
}

fn string() -> Value {
    json!({"type": "string"})
}

fn strings() -> Value {
    json!({"type": "array", "items": {"type": "string"}})
}

fn request() -> Value {
    let kind = json!({"type": "object", "properties": {"group": string(), "version": string(), "kind": string()}});
    let resource =
        json!({"type": "object", "properties": {"group": string(), "version": string(), "resource": string()}});
    json!({"type": "object", "properties": {
        "kind": kind,
        "resource": resource,
        "subResource": string(),
        "requestKind": kind,
        "requestResource": resource,
        "requestSubResource": string(),
        "name": string(),
        "namespace": string(),
        "operation": string(),
        "userInfo": {"type": "object", "properties": {
            "username": string(),
            "uid": string(),
            "groups": strings(),
            "extra": {"type": "object", "additionalProperties": strings()},
        }},
        "dryRun": {"type": "boolean"},
        // A dynamic type is written as the one dynamic type that schemas have.
        "options": {"x-kubernetes-int-or-string": true},
    }})
}

fn namespace() -> Value {
    let time = json!({"type": "string", "format": "date-time"});
    let texts = json!({"type": "object", "additionalProperties": {"type": "string"}});
    json!({"type": "object", "properties": {
        "metadata": {"type": "object", "properties": {
            "name": string(),
            "generateName": string(),
            "namespace": string(),
            "labels": texts,
            "annotations": texts,
            "UID": string(),
            "creationTimestamp": time,
            "deletionGracePeriodSeconds": {"type": "integer"},
            "deletionTimestamp": time,
            "generation": {"type": "integer"},
            "resourceVersion": string(),
            "finalizers": strings(),
        }},
        "spec": {"type": "object", "properties": {"finalizers": strings()}},
        "status": {"type": "object", "properties": {
            "phase": string(),
            "conditions": {"type": "array", "items": {"type": "object", "properties": {
                "status": string(),
                "type": string(),
                "lastTransitionTime": time,
                "message": string(),
                "reason": string(),
            }}},
        }},
    }})
}
