//! Writes what an audit found into the status of a constraint, as Gatekeeper does (P6).

use clearway_core::ObjectReference;
use clearway_policy::audit::ConstraintAudit;
use clearway_sources::store::{Store, StoreError};
use serde_json::Value;

/// How often a status is written again after someone else changed the constraint.
const ATTEMPTS: u32 = 5;

/// Writes the status, and keeps what others write there. False if the constraint does not exist any more, or another one
/// has its name.
pub async fn write<S: Store>(store: &S, audited: &ConstraintAudit) -> Result<bool, StoreError> {
    let known = audited.constraint().object();
    let key = ObjectReference::of(known)?;
    let uid = |object: &Value| object["metadata"]["uid"].clone();
    let mut attempt = 0;
    loop {
        let Some(mut object) = store.get(&key).await? else { return Ok(false) };
        if uid(&object) != uid(known) {
            return Ok(false);
        }
        object["status"] = audited.status(object.get("status"));
        attempt += 1;
        match store.replace_status(&object).await {
            Ok(_) => return Ok(true),
            Err(StoreError::Missing { .. }) => return Ok(false),
            Err(StoreError::Conflict { .. }) if attempt < ATTEMPTS => {}
            Err(error) => return Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use clearway_policy::PolicySet;
    use clearway_policy::audit::Audit;
    use clearway_sources::store::StateDirectory;
    use serde_json::json;

    use super::*;

    fn constraint() -> Value {
        json!({
            "apiVersion": "constraints.gatekeeper.sh/v1beta1", "kind": "Always", "metadata": {"name": "one"}, "spec": {},
        })
    }

    fn audit(constraint: &Value) -> Audit {
        let mut policies = PolicySet::new();
        policies
            .add_template(&json!({
                "apiVersion": "templates.gatekeeper.sh/v1", "kind": "ConstraintTemplate",
                "metadata": {"name": "always"},
                "spec": {
                    "crd": {"spec": {"names": {"kind": "Always"}}},
                    "targets": [{
                        "target": "admission.k8s.gatekeeper.sh",
                        "rego": "package always\nviolation[{\"msg\": \"no\"}] { true }",
                    }],
                },
            }))
            .unwrap();
        policies.add_constraint(constraint).unwrap();
        Audit::new(&policies, "2026-01-01T00:00:00Z".parse().unwrap(), 20)
    }

    #[tokio::test]
    async fn a_status_keeps_what_others_wrote() {
        let directory = tempfile::tempdir().unwrap();
        let store = StateDirectory::open(directory.path()).unwrap();
        let created = store.create(&constraint()).await.unwrap();
        let mut reported = created.clone();
        reported["status"] = json!({"byPod": [{"id": "pod"}], "violations": [{"name": "old"}]});
        store.replace_status(&reported).await.unwrap();
        let audit = audit(&created);
        let audited = audit.constraint("Always", "one").unwrap();
        assert!(write(&store, audited).await.unwrap());
        let key = ObjectReference::of(&created).unwrap();
        let stored = store.get(&key).await.unwrap().unwrap();
        assert_eq!(
            stored["status"],
            json!({"byPod": [{"id": "pod"}], "auditTimestamp": "2026-01-01T00:00:00Z", "totalViolations": 0})
        );
        // Another constraint of the same name has another audit.
        store.delete(&key, created["metadata"]["uid"].as_str().unwrap()).await.unwrap();
        assert!(!write(&store, audited).await.unwrap());
        store.create(&constraint()).await.unwrap();
        assert!(!write(&store, audited).await.unwrap());
    }
}
