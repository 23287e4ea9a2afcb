//! The status by pod of templates, constraints and settings, as Gatekeeper writes it: each replica has one entry.
//!
//! Only the entry of this pod is written; those of other pods stay, and so does everything else in a status. Entries of
//! pods that are gone are removed. A status that is as it should be is not written.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::evaluation::LoadError;

/// The pod whose entry is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Reporter {
    /// The name of the pod.
    pub(super) id: String,
    /// What it does, in order of the alphabet.
    pub(super) operations: Vec<&'static str>,
}

/// What is reported about an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Finding<'f> {
    /// About a template.
    Template { errors: &'f [LoadError] },
    /// About a constraint, and whether it is enforced.
    Constraint { errors: &'f [LoadError], enforced: bool },
    /// About the Config.
    Config,
    /// About a `SyncSet`.
    SyncSet,
    /// About an expansion template.
    Expansion { error: Option<&'f LoadError> },
}

impl Reporter {
    fn entry(&self, object: &Value, finding: &Finding<'_>) -> Value {
        let metadata = &object["metadata"];
        let mut entry = json!({"id": self.id, "observedGeneration": metadata["generation"].as_i64().unwrap_or(0)});
        if *finding != Finding::SyncSet {
            entry["operations"] = json!(self.operations);
        }
        let errors: Vec<Value> = match finding {
            Finding::Template { errors } => {
                entry["templateUID"] = metadata["uid"].clone();
                errors.iter().map(LoadError::to_status).collect()
            }
            Finding::Constraint { errors, enforced } => {
                entry["constraintUID"] = metadata["uid"].clone();
                entry["enforced"] = json!(enforced);
                errors.iter().map(LoadError::to_status).collect()
            }
            Finding::Config => {
                entry["configUID"] = metadata["uid"].clone();
                Vec::new()
            }
            Finding::SyncSet => Vec::new(),
            Finding::Expansion { error } => {
                entry["templateUID"] = metadata["uid"].clone();
                error.iter().map(|error| json!({"type": error.code, "message": error.message})).collect()
            }
        };
        if !errors.is_empty() {
            entry["errors"] = Value::Array(errors);
        }
        entry
    }

    /// The patch that makes the status of an object say what is found; nothing if it says so already. The API server
    /// refuses it if the object changed since it was read.
    pub(super) fn patch(&self, object: &Value, finding: &Finding<'_>, gone: &BTreeSet<String>) -> Option<Value> {
        let status = &object["status"];
        let entry = self.entry(object, finding);
        let uid = &object["metadata"]["uid"];
        let stays = |other: &&Value| {
            let id = other["id"].as_str().unwrap_or_default();
            let of = ["templateUID", "constraintUID", "configUID"].into_iter().find_map(|field| other.get(field));
            // An entry about an earlier object of the same name says nothing about this one.
            id != self.id && !gone.contains(id) && of.is_none_or(|of| of == uid)
        };
        let entries = status["byPod"].as_array().map(Vec::as_slice).unwrap_or_default();
        let mut by_pod: Vec<Value> = entries.iter().filter(stays).cloned().collect();
        by_pod.push(entry);
        by_pod.sort_by(|one, other| one["id"].as_str().cmp(&other["id"].as_str()));
        let mut fields = Map::new();
        // Once a template was created it stays so, whatever becomes of it.
        let works = |entry: &Value| entry["errors"].as_array().is_none_or(Vec::is_empty);
        if matches!(finding, Finding::Template { .. }) && status["created"] != true {
            let created = by_pod.iter().any(works);
            if status["created"] != created {
                fields.insert("created".to_owned(), json!(created));
            }
        }
        if status["byPod"] != Value::Array(by_pod.clone()) {
            fields.insert("byPod".to_owned(), Value::Array(by_pod));
        }
        let version = &object["metadata"]["resourceVersion"];
        (!fields.is_empty()).then(|| json!({"metadata": {"resourceVersion": version}, "status": fields}))
    }
}

/// The pods that have an entry in the status of an object.
pub(super) fn reporting_pods(object: &Value) -> impl Iterator<Item = &str> {
    let entries = object["status"]["byPod"].as_array().map(Vec::as_slice).unwrap_or_default();
    entries.iter().filter_map(|entry| entry["id"].as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reporter() -> Reporter {
        Reporter { id: "pod-b".to_owned(), operations: vec!["audit", "status", "webhook"] }
    }

    fn object(status: &Value) -> Value {
        json!({"metadata": {"name": "a", "uid": "u1", "generation": 3, "resourceVersion": "7"}, "status": status})
    }

    #[test]
    fn a_template_is_created_once_a_pod_reports_no_error_and_stays_so() {
        let error = [LoadError { code: "ingest_error".to_owned(), message: "no".to_owned(), location: None }];
        let (broken, works) = (Finding::Template { errors: &error }, Finding::Template { errors: &[] });
        let patch = |status: Value, finding| reporter().patch(&object(&status), finding, &BTreeSet::new());
        let first = patch(json!(null), &broken).unwrap();
        assert_eq!(first["metadata"], json!({"resourceVersion": "7"}));
        assert_eq!(
            first["status"],
            json!({"created": false, "byPod": [{
                "id": "pod-b", "templateUID": "u1", "observedGeneration": 3, "operations": ["audit", "status", "webhook"],
                "errors": [{"code": "ingest_error", "message": "Could not ingest Rego: no"}],
            }]})
        );
        assert_eq!(patch(first["status"].clone(), &broken), None, "nothing changed");
        let second = patch(first["status"].clone(), &works).unwrap();
        assert_eq!((&second["status"]["created"], second["status"]["byPod"][0].get("errors")), (&json!(true), None));
        let third = patch(second["status"].clone(), &broken).unwrap();
        assert_eq!(third["status"].get("created"), None, "it stays created");
    }

    #[test]
    fn settings_have_entries_as_gatekeeper_writes_them() {
        let error = LoadError { code: "conflicted_expansion".to_owned(), message: "no".to_owned(), location: None };
        let operations = ["audit", "status", "webhook"];
        for (finding, wanted) in [
            (
                Finding::Config,
                json!({"id": "pod-b", "configUID": "u1", "observedGeneration": 3, "operations": operations}),
            ),
            (Finding::SyncSet, json!({"id": "pod-b", "observedGeneration": 3})),
            (
                Finding::Expansion { error: Some(&error) },
                json!({
                    "id": "pod-b", "templateUID": "u1", "observedGeneration": 3, "operations": operations,
                    "errors": [{"type": "conflicted_expansion", "message": "no"}],
                }),
            ),
        ] {
            let patch = reporter().patch(&object(&json!(null)), &finding, &BTreeSet::new()).unwrap();
            assert_eq!(patch["status"], json!({"byPod": [wanted]}), "{finding:?}");
        }
    }

    #[test]
    fn entries_of_other_pods_stay_in_order_and_those_of_pods_that_are_gone_go() {
        let entry = |id: &str, uid: &str| json!({"id": id, "constraintUID": uid, "enforced": true, "more": 1});
        let status = json!({
            "auditTimestamp": "2026-01-01T00:00:00Z", "totalViolations": 2,
            "byPod": [entry("pod-c", "u1"), entry("pod-a", "u1"), entry("old", "u1"), entry("pod-d", "u0")],
        });
        let found = Finding::Constraint { errors: &[], enforced: false };
        let patch = reporter().patch(&object(&status), &found, &BTreeSet::from(["old".to_owned()])).unwrap();
        let by_pod = patch["status"]["byPod"].as_array().unwrap();
        let ids: Vec<&Value> = by_pod.iter().map(|entry| &entry["id"]).collect();
        assert_eq!(ids, ["pod-a", "pod-b", "pod-c"]);
        assert_eq!(by_pod[0], entry("pod-a", "u1"));
        assert_eq!((&by_pod[1]["enforced"], &by_pod[1]["constraintUID"]), (&json!(false), &json!("u1")));
        assert_eq!(patch["status"].as_object().unwrap().len(), 1, "results of audits are not touched: {patch}");
    }
}
