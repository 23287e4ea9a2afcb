//! Whether the status that an implementation has published is the one that it should be (G9).
//!
//! What another implementation does with its data plane is not known, so `Programmed` and `Ready` are not judged, and
//! nothing is where the computed status itself is not known. Findings have the codes of [`RULES`].

use clearway_conditions::Status;
use clearway_core::{Diagnostic, Place, Severity};
use serde_json::Value;

use crate::model::Object;
use crate::publish::Publisher;
use crate::status::ObjectStatus;

/// What an audit can find: code, severity, and what it says.
pub const RULES: &[(&str, Severity, &str)] = &[
    (MISSING, Severity::Error, "a condition or an entry that must be published is missing"),
    (STATUS, Severity::Error, "a condition has another status than the specification gives it"),
    (REASON, Severity::Warning, "a condition has another reason than the specification gives it"),
    (STALE, Severity::Warning, "a condition is about an older generation of its object"),
    (COUNT, Severity::Warning, "the number of attached routes or ListenerSets is another one"),
    (KINDS, Severity::Warning, "the supported kinds of a listener are others"),
    (LEFTOVER, Severity::Warning, "a condition or an entry is published that should not be there"),
];

const MISSING: &str = "GS001";
const STATUS: &str = "GS002";
const REASON: &str = "GS003";
const STALE: &str = "GS004";
const COUNT: &str = "GS005";
const KINDS: &str = "GS006";
const LEFTOVER: &str = "GS007";

/// Conditions of a data plane that is not known here.
const NOT_JUDGED: [&str; 2] = ["Programmed", "Ready"];
/// Conditions that an implementation need not have.
const OPTIONAL: [&str; 2] = ["SupportedVersion", "OverlappingTLSConfig"];

/// Compares a published status with the computed one. Entries of controllers for which `is_ours` is false are not judged.
pub fn audit(
    object: &Object,
    computed: Option<&ObjectStatus>,
    published: &Value,
    is_ours: &dyn Fn(&str) -> bool,
) -> Vec<Diagnostic> {
    let Some(computed) = computed else { return Vec::new() };
    let mut auditor = Auditor { object, findings: Vec::new() };
    // The computed status as it would be published, without anything that is published already.
    let now = clearway_core::Timestamp::EPOCH;
    let wanted = Publisher { now, is_ours }.merge(object, Some(computed), &Value::Null);
    match computed {
        ObjectStatus::GatewayClass { .. } => auditor.conditions("status", &wanted, published),
        ObjectStatus::Gateway { .. } | ObjectStatus::ListenerSet { .. } => {
            // `ResolvedRefs` of a Gateway is recommended, not required.
            auditor.conditions("status", &wanted, published);
            auditor.listeners(&wanted, published);
            let sets = |status: &Value| status.get("attachedListenerSets").and_then(Value::as_i64).unwrap_or(0);
            if sets(&wanted) != sets(published) {
                let message = format!("{} attached ListenerSets are reported, not {}", sets(published), sets(&wanted));
                auditor.report(COUNT, "status.attachedListenerSets", message);
            }
        }
        ObjectStatus::Route { .. } => auditor.entries("parents", "parentRef", &wanted, published, is_ours),
        ObjectStatus::Policy { .. } => auditor.entries("ancestors", "ancestorRef", &wanted, published, is_ours),
    }
    auditor.findings
}

struct Auditor<'a> {
    object: &'a Object,
    findings: Vec<Diagnostic>,
}

fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value.get(key).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

impl Auditor<'_> {
    fn report(&mut self, code: &'static str, path: &str, message: String) {
        let severity = RULES.iter().find(|(rule, _, _)| *rule == code).map_or(Severity::Error, |(_, level, _)| *level);
        let place =
            Place { object: Some(self.object.key.id().to_string()), path: Some(path.to_owned()), ..Place::default() };
        self.findings.push(Diagnostic::new(code, severity, message).at(place));
    }

    fn conditions(&mut self, path: &str, wanted: &Value, published: &Value) {
        let published = list(published, "conditions");
        for condition in list(wanted, "conditions") {
            let kind = text(condition, "type");
            let path = format!("{path}.conditions[type={kind}]");
            let found = published.iter().find(|one| text(one, "type") == kind);
            // The CRDs put conditions into new objects before any controller has seen them.
            let found = found.filter(|one| text(one, "lastTransitionTime") != "1970-01-01T00:00:00Z");
            let Some(found) = found else {
                let optional = OPTIONAL.contains(&kind)
                    || (kind == "ResolvedRefs"
                        && self.object.key.kind == crate::ObjectKind::Gateway
                        && !path.contains("listeners"));
                if !optional {
                    self.report(MISSING, &path, format!("{kind} is missing; it should be {}", words(condition)));
                }
                continue;
            };
            self.generation(&path, kind, found);
            if NOT_JUDGED.contains(&kind) || text(condition, "status") == Status::Unknown.as_str() {
                continue;
            }
            let why = text(condition, "message");
            if Status::lenient(text(found, "status")) != Status::lenient(text(condition, "status")) {
                let message = format!("{kind} is {}, not {}: {why}", words(found), words(condition));
                self.report(STATUS, &path, message);
            } else if text(found, "reason") != text(condition, "reason") {
                let message = format!(
                    "the reason of {kind} is {}, not {}: {why}",
                    text(found, "reason"),
                    text(condition, "reason")
                );
                self.report(REASON, &path, message);
            }
        }
        let known = |kind: &str| matches!(kind, "Conflicted" | "OverlappingTLSConfig" | "PartiallyInvalid");
        for found in published.iter().filter(|one| known(text(one, "type"))) {
            let kind = text(found, "type");
            let expected = list(wanted, "conditions").iter().any(|one| text(one, "type") == kind);
            if !expected && text(found, "status") == Status::True.as_str() && kind != "OverlappingTLSConfig" {
                let path = format!("{path}.conditions[type={kind}]");
                self.report(LEFTOVER, &path, format!("{kind} is True, and there is no reason for it"));
            }
        }
    }

    fn generation(&mut self, path: &str, kind: &str, found: &Value) {
        let Some(generation) = self.object.metadata.generation else { return };
        let seen = found.get("observedGeneration").and_then(Value::as_i64);
        if seen != Some(generation) {
            let seen = seen.map_or_else(|| "no generation".to_owned(), |seen| format!("generation {seen}"));
            self.report(STALE, path, format!("{kind} is about {seen}; the object is at generation {generation}"));
        }
    }

    fn listeners(&mut self, wanted: &Value, published: &Value) {
        for listener in list(wanted, "listeners") {
            let name = text(listener, "name");
            let path = format!("status.listeners[name={name}]");
            let Some(found) = list(published, "listeners").iter().find(|one| text(one, "name") == name) else {
                self.report(MISSING, &path, format!("listener {name} has no status"));
                continue;
            };
            self.conditions(&path, listener, found);
            let count = |value: &Value| value.get("attachedRoutes").and_then(Value::as_i64).unwrap_or(0);
            if count(listener) != count(found) {
                let message = format!("{} attached routes are reported, not {}", count(found), count(listener));
                self.report(COUNT, &format!("{path}.attachedRoutes"), message);
            }
            let kinds = |value: &Value| -> Vec<String> {
                let mut kinds: Vec<String> =
                    list(value, "supportedKinds").iter().map(|one| text(one, "kind").to_owned()).collect();
                kinds.sort();
                kinds
            };
            let (want, have) = (kinds(listener), kinds(found));
            // An implementation may support fewer kinds, unless it supports kinds that it must not.
            if have.iter().any(|kind| !want.contains(kind)) {
                let message = format!("it supports {}, but may only support {}", have.join(", "), or_none(&want));
                self.report(KINDS, &format!("{path}.supportedKinds"), message);
            }
        }
    }

    fn entries(&mut self, name: &str, key: &str, wanted: &Value, published: &Value, is_ours: &dyn Fn(&str) -> bool) {
        let same = |one: &Value, two: &Value| {
            text(one, "controllerName") == text(two, "controllerName")
                && one.get(key).zip(two.get(key)).is_some_and(|(one, two)| self.same_reference(one, two))
        };
        let mut missing = Vec::new();
        let mut pairs = Vec::new();
        for entry in list(wanted, name) {
            match list(published, name).iter().find(|one| same(one, entry)) {
                Some(found) => pairs.push((entry, found)),
                None => missing.push(entry),
            }
        }
        let leftover: Vec<&Value> = list(published, name)
            .iter()
            .filter(|one| {
                is_ours(text(one, "controllerName")) && !list(wanted, name).iter().any(|entry| same(entry, one))
            })
            .collect();
        let words = |entry: &Value| {
            let reference = entry.get(key).unwrap_or(&Value::Null);
            let section = text(reference, "sectionName");
            let section = if section.is_empty() { String::new() } else { format!("/{section}") };
            format!("{}{section}", text(reference, "name"))
        };
        for entry in missing {
            let message = format!("{} has reported nothing about {}", text(entry, "controllerName"), words(entry));
            self.report(MISSING, &format!("status.{name}"), message);
        }
        for entry in leftover {
            let message =
                format!("{} reports about {}, which it should not", text(entry, "controllerName"), words(entry));
            self.report(LEFTOVER, &format!("status.{name}"), message);
        }
        for (entry, found) in pairs {
            self.conditions(&format!("status.{name}[{}]", words(entry)), entry, found);
        }
    }

    /// Whether two references are about the same; the namespace of the object itself may be left out.
    fn same_reference(&self, one: &Value, two: &Value) -> bool {
        let namespace = |value: &Value| match text(value, "namespace") {
            "" => self.object.key.namespace.to_string(),
            namespace => namespace.to_owned(),
        };
        let or = |value: &Value, key: &str, default: &str| match text(value, key) {
            "" => default.to_owned(),
            text => text.to_owned(),
        };
        namespace(one) == namespace(two)
            && text(one, "name") == text(two, "name")
            && or(one, "kind", "Gateway") == or(two, "kind", "Gateway")
            && text(one, "sectionName") == text(two, "sectionName")
            && one.get("port") == two.get("port")
    }
}

fn words(condition: &Value) -> String {
    format!("{}/{}", text(condition, "status"), text(condition, "reason"))
}

fn or_none(kinds: &[String]) -> String {
    if kinds.is_empty() { "none".to_owned() } else { kinds.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Change, Engine, Settings};
    use serde_json::json;

    const OURS: &str = "example.com/c";

    fn objects() -> [Value; 3] {
        let gateway_api = "gateway.networking.k8s.io/v1";
        [
            json!({"apiVersion": gateway_api, "kind": "GatewayClass", "metadata": {"name": "c"}, "spec": {"controllerName": OURS}}),
            json!({"apiVersion": gateway_api, "kind": "Gateway", "metadata": {"namespace": "a", "name": "gw", "generation": 2},
                "spec": {"gatewayClassName": "c", "listeners": [{"name": "http", "port": 80, "protocol": "HTTP"}]}}),
            json!({"apiVersion": gateway_api, "kind": "HTTPRoute", "metadata": {"namespace": "a", "name": "r", "generation": 2},
                "spec": {"parentRefs": [{"name": "gw"}], "rules": [{"backendRefs": [{"name": "gone", "port": 80}]}]}}),
        ]
    }

    fn found(kind: &str, published: &Value) -> Vec<String> {
        let mut engine = Engine::new(Settings::default());
        let objects = objects().map(|object| Object::from_json(&object).unwrap());
        for object in &objects {
            engine.apply(Change::Put(Box::new(object.clone())));
        }
        engine.evaluate();
        let object = objects.iter().find(|object| object.key.kind.as_str() == kind).unwrap();
        let computed = engine.status(&object.key);
        let findings = audit(object, computed.as_ref(), published, &|name| name == OURS);
        findings.iter().map(|one| format!("{} {}", one.code, one.message)).collect()
    }

    fn condition(kind: &str, status: &str, reason: &str, generation: i64) -> Value {
        json!({"type": kind, "status": status, "reason": reason, "observedGeneration": generation,
            "lastTransitionTime": "2026-01-01T00:00:00Z"})
    }

    #[test]
    fn what_is_right_is_not_reported() {
        let published = json!({"parents": [
            {"parentRef": {"name": "gw", "namespace": "a"}, "controllerName": OURS, "conditions": [
                condition("Accepted", "True", "Accepted", 2), condition("ResolvedRefs", "False", "BackendNotFound", 2)]},
            {"parentRef": {"name": "other"}, "controllerName": "example.com/theirs", "conditions": []},
        ]});
        assert_eq!(found("HTTPRoute", &published), [""; 0]);
    }

    #[test]
    fn every_rule_finds_what_it_is_for() {
        let published = json!({"parents": [
            {"parentRef": {"name": "gw"}, "controllerName": OURS, "conditions": [
                condition("Accepted", "False", "NoMatchingParent", 1), condition("PartiallyInvalid", "True", "UnsupportedValue", 2)]},
            {"parentRef": {"name": "gone"}, "controllerName": OURS, "conditions": []},
        ]});
        assert_eq!(
            found("HTTPRoute", &published),
            [
                "GS007 example.com/c reports about gone, which it should not",
                "GS004 Accepted is about generation 1; the object is at generation 2",
                "GS002 Accepted is False/NoMatchingParent, not True/Accepted: The configuration is valid",
                "GS001 ResolvedRefs is missing; it should be False/BackendNotFound",
                "GS007 PartiallyInvalid is True, and there is no reason for it",
            ]
        );
        assert_eq!(found("HTTPRoute", &Value::Null), ["GS001 example.com/c has reported nothing about gw"]);
        let gateway = json!({"conditions": [condition("Accepted", "True", "ListenersNotValid", 2), condition("Programmed", "False", "Invalid", 2)],
            "attachedListenerSets": 3,
            "listeners": [{"name": "http", "attachedRoutes": 7, "supportedKinds": [{"kind": "TCPRoute"}], "conditions": [
                condition("Accepted", "True", "Accepted", 2), condition("ResolvedRefs", "True", "ResolvedRefs", 2), condition("Programmed", "False", "Invalid", 2)]}]});
        assert_eq!(
            found("Gateway", &gateway),
            [
                "GS003 the reason of Accepted is ListenersNotValid, not Accepted: The configuration is valid",
                "GS005 7 attached routes are reported, not 1",
                "GS006 it supports TCPRoute, but may only support GRPCRoute, HTTPRoute",
                "GS005 3 attached ListenerSets are reported, not 0",
            ]
        );
    }
}
