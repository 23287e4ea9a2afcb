//! V6: `upgrade` and snapshots with objects as looser validation lets them be: no command fails because one field is odd,
//! and the rest of the object is shown.

use clearway_bundle::Channel;
use clearway_core::Limits;
use clearway_sources::snapshot::{Files, assemble};
use clearway_update::api;
use serde_json::{Value, json};

use super::State;

#[path = "../../../../update/tests/reconciler/loosened.rs"]
mod loosened;

/// The CRDs of the experimental channel, which have all fields of the standard one.
fn all_crds() -> Vec<Value> {
    api::crds(Channel::Experimental).unwrap()
}

#[test]
fn no_command_fails_because_one_field_is_odd() {
    for crd in all_crds() {
        let kind = crd["spec"]["names"]["kind"].as_str().unwrap();
        let (group, is_component) = (crd["spec"]["group"].as_str().unwrap(), kind == "ComponentVersion");
        let state =
            State::with(&format!("objects/{group}/{kind}/_/version.yaml"), &loosened::whole_object(&crd).to_string());
        let subject: &[&str] = if is_component { &["--component", "version"] } else { &[] };
        let run = |command: &[&str]| state.run(&[subject, command, &["-o", "json"]].concat());
        let history = |data: &Value| data.as_array().map_or(0, Vec::len);
        assert_eq!(history(&run(&["history"]).json()), 2);
        for one in loosened::loosened(&crd) {
            std::fs::write(&state.object, one.object.to_string()).unwrap();
            let name = format!("{kind}: {} {}", one.place(), one.broken);
            let status = run(&["status"]);
            assert!(matches!(status.code, 0..=2), "{name}: {status:?}");
            assert!(status.json()["state"].is_string(), "{name}: {status:?}");
            // The other kind has the same fields.
            if is_component {
                continue;
            }
            let list = run(&["--include-not-recommended"]);
            assert!(matches!(list.code, 0..=2) && list.json().is_object(), "{name}: {list:?}");
            let past = run(&["history"]);
            let least = usize::from(!["status", "status.history"].contains(&one.place().as_str()));
            assert!(past.code == 0 && history(&past.json()) >= least, "{name}: {past:?}");
        }
    }
}

#[test]
fn a_snapshot_holds_objects_whatever_is_odd() {
    for crd in all_crds() {
        let (group, kind) = (crd["spec"]["group"].as_str().unwrap(), crd["spec"]["names"]["kind"].as_str().unwrap());
        let manifest = json!({
            "schema": "1.0", "takenAt": "2026-01-01T00:00:00Z", "objects": [{"group": group, "kind": kind}],
        });
        for one in loosened::loosened(&crd) {
            let items = json!({"items": [loosened::whole_object(&crd), one.object]});
            let files = Files::from([
                ("snapshot.json".to_owned(), manifest.to_string().into_bytes()),
                (format!("objects/{kind}.{group}.json"), items.to_string().into_bytes()),
            ]);
            let loaded = assemble(files, &Limits::default()).unwrap();
            assert!(loaded.diagnostics.is_empty(), "{:?}", loaded.diagnostics);
            let objects = loaded.snapshot.objects_of(group, kind).unwrap();
            assert!(objects.items.contains(&one.object), "{} {}", one.place(), one.broken);
        }
    }
}
