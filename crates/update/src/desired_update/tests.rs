//! Wishes, and what they come to.

use serde_json::{Value, json};

use super::*;
use crate::api::VersionObject;

const DIGEST: &str = "sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";

/// A cluster at 1.0.0 that may go to 1.0.1, should not go to 1.1.0, and was at 0.9.0.
fn object(desired: &Value, newest: &Value) -> VersionObject {
    let mut history = vec![
        json!({"state": "Completed", "startedTime": "2026-01-02T00:00:00Z", "completionTime": "2026-01-02T01:00:00Z", "version": "1.0.0", "image": "example.com/r@one", "verified": true}),
        json!({"state": "Completed", "startedTime": "2026-01-01T00:00:00Z", "completionTime": "2026-01-01T01:00:00Z", "version": "0.9.0", "image": "example.com/r@nine", "verified": true}),
    ];
    if !newest.is_null() {
        history.insert(0, newest.clone());
    }
    let value = json!({
        "apiVersion": "config.openshift.io/v1", "kind": "ClusterVersion", "metadata": {"name": "version"},
        "spec": {"clusterID": "8d3c9d26-95cf-4b4e-8d0d-0a1f4e6b7c11", "desiredUpdate": desired},
        "status": {
            "desired": {"version": "1.0.0", "image": "example.com/r@one"}, "history": history,
            "observedGeneration": 1, "versionHash": "",
            "availableUpdates": [{"version": "1.0.1", "image": format!("example.com/r@{DIGEST}"), "url": "https://example.com/1.0.1"}],
            "conditionalUpdates": [{
                "release": {"version": "1.1.0", "image": "example.com/r@eleven"},
                "risks": [{"name": "Slow", "url": "https://example.com/slow", "message": "It is slow.", "matchingRules": [{"type": "Always"}]}],
                "conditions": [{"type": "Recommended", "status": "False", "reason": "Slow", "message": "It is slow. https://example.com/slow", "lastTransitionTime": "2026-01-03T00:00:00Z"}],
            }],
        },
    });
    VersionObject::read(&value).unwrap().0
}

fn asked(desired: &Value, newest: &Value) -> DesiredUpdate {
    let object = object(desired, newest);
    desired_update(&object.spec, &object.status.unwrap(), MultiRelease::Pending)
}

fn shown(wish: &DesiredUpdate) -> String {
    match wish {
        DesiredUpdate::Keep => "keep".to_owned(),
        DesiredUpdate::Continue(request) => format!("go on {} {}", request.release.version, request.release.image),
        DesiredUpdate::Begin(request) => format!("begin {} {}", request.release.version, request.release.image),
        DesiredUpdate::Invalid(why) => format!("invalid {why}"),
        DesiredUpdate::Unresolved { request, why } => {
            format!("unresolved {} {}", request.release.version, why.as_deref().unwrap_or("pending"))
        }
    }
}

#[test]
fn a_version_is_looked_up_in_the_lists_and_in_the_history() {
    let mirrored = format!("mirror.example.com/r@{DIGEST}");
    let available = format!("begin 1.0.1 example.com/r@{DIGEST}");
    for (desired, want) in [
        (Value::Null, "keep"),
        (json!({"architecture": "", "version": "", "image": "", "force": false}), "keep"),
        (json!({"version": "1.0.0"}), "keep"),
        (json!({"version": "1.0.1"}), &available),
        (json!({"version": "1.1.0"}), "begin 1.1.0 example.com/r@eleven"),
        (json!({"version": "0.9.0"}), "begin 0.9.0 example.com/r@nine"),
        (json!({"image": mirrored}), &format!("begin 1.0.1 {mirrored}")),
        (json!({"image": "example.com/other@x"}), "begin  example.com/other@x"),
        (json!({"image": "example.com/other@x", "version": "3.0.0"}), "begin 3.0.0 example.com/other@x"),
        (
            json!({"version": "3.0.0"}),
            "invalid spec.desiredUpdate.version: Invalid value: \"3.0.0\": when image is empty the update must be an available update",
        ),
    ] {
        assert_eq!(shown(&asked(&desired, &Value::Null)), want, "{desired}");
    }
}

#[test]
fn an_update_that_was_begun_goes_on_with_what_it_was_resolved_to() {
    let begun = json!({"state": "Partial", "startedTime": "2026-01-03T00:00:00Z", "completionTime": null, "version": "2.0.0", "image": "example.com/r@twenty", "verified": false});
    let on = "go on 2.0.0 example.com/r@twenty";
    for (desired, want) in [
        // The version is in no list any more; that changes nothing.
        (json!({"version": "2.0.0"}), on),
        (json!({"image": "example.com/r@twenty"}), on),
        // Who takes the wish back after the first write does not get a half-applied release.
        (Value::Null, on),
        // Who changes their mind gets what they ask for now, also the way back.
        (json!({"version": "1.1.0"}), "begin 1.1.0 example.com/r@eleven"),
        (json!({"version": "1.0.0"}), "begin 1.0.0 example.com/r@one"),
    ] {
        assert_eq!(shown(&asked(&desired, &begun)), want, "{desired}");
    }
}

#[test]
fn a_version_with_two_payloads_is_not_guessed() {
    let object = object(&json!({"version": "1.1.0"}), &Value::Null);
    let mut status = object.status.unwrap();
    status.available_updates.push(Release {
        version: "1.1.0".into(),
        image: "example.com/r@other".into(),
        ..Release::default()
    });
    let DesiredUpdate::Invalid(why) = desired_update(&object.spec, &status, MultiRelease::Pending) else { panic!() };
    assert!(why.ends_with("there are multiple possible payloads for this version, specify the exact image"), "{why}");
}

#[test]
fn what_is_taken_on_is_recorded_in_the_words_that_clients_know() {
    let object = object(&Value::Null, &Value::Null);
    let status = object.status.unwrap();
    let said = |image: &str, version: &str| {
        let release = Release { version: version.to_owned(), image: image.to_owned(), ..Release::default() };
        accepted_risks(&object.spec, &status, &release).join("\n\n")
    };
    assert_eq!(said(&format!("elsewhere/r@{DIGEST}"), "1.0.1"), "", "a recommended one");
    assert_eq!(
        said("example.com/r@eleven", "1.1.0"),
        "Updating from 1.0.0 to 1.1.0 is supported, but not recommended for this cluster.\n\nReason: Slow\n\nIt is slow. https://example.com/slow"
    );
    let unknown = "is not in the list of updates for this cluster, so its risks are unknown.";
    assert_eq!(said("example.com/r@new", "1.0.2"), format!("Updating from 1.0.0 to 1.0.2 {unknown}"));
    assert_eq!(
        said("example.com/r@nine", "0.9.0"),
        format!(
            "Updating from 1.0.0 to 0.9.0 {unknown}\n\nDowngrade from 1.0.0 to 0.9.0: a rollback to the previous release."
        )
    );
    assert!(
        said("example.com/r@eight", "0.8.0")
            .ends_with("Downgrade from 1.0.0 to 0.8.0, which is not the previous release: the update was forced."),
        "U23"
    );
}

/// U12: `Upgradeable=False` does not hold an update to another minor version up; that it said so is recorded.
#[test]
fn an_overridden_upgradeable_is_recorded_for_another_minor_version() {
    let object = object(&Value::Null, &Value::Null);
    let mut status = object.status.unwrap();
    let condition =
        json!([{"type": "Upgradeable", "status": "False", "reason": "AdminAck", "message": "Acknowledge it."}]);
    status.conditions = clearway_conditions::Conditions::read(&condition).0;
    let said = |version: &str, image: &str| {
        let release = Release { version: version.to_owned(), image: image.to_owned(), ..Release::default() };
        accepted_risks(&object.spec, &status, &release)
    };
    assert_eq!(said("1.0.1", &format!("example.com/r@{DIGEST}")), Vec::<String>::new(), "a patch is no concern of it");
    assert_eq!(
        said("1.1.0", "example.com/r@eleven").last().unwrap(),
        "Updating from 1.0.0 to 1.1.0 overrides Upgradeable=False. Reason: AdminAck: Acknowledge it."
    );
    status.conditions = clearway_conditions::Conditions::default();
    assert!(
        !accepted_risks(&object.spec, &status, &status.conditional_updates[0].release).join("").contains("Upgradeable")
    );
}

/// U23: a downgrade is refused by its version, also if it is in a list; force and a rollback are not.
#[test]
fn a_downgrade_is_refused_unless_it_is_a_rollback_or_forced() {
    let older = Release { version: "0.8.0".into(), image: "example.com/r@eight".into(), ..Release::default() };
    let refused = "invalid spec.desiredUpdate: Invalid value: \"0.8.0\": 0.8.0 is older than the current release 1.0.0; without force, only a rollback to the previous release (0.9.0) is allowed";
    for (desired, want) in [
        (json!({"version": "0.8.0"}), refused),
        (json!({"version": "0.8.0", "image": "example.com/r@eight"}), refused),
        (json!({"image": "mirror.example.com/r@eight"}), refused),
        (json!({"version": "0.8.0", "force": true}), "begin 0.8.0 example.com/r@eight"),
        (json!({"version": "0.9.0"}), "begin 0.9.0 example.com/r@nine"),
        (json!({"version": "0.9.0", "image": "mirror.example.com/r@nine"}), "begin 0.9.0 mirror.example.com/r@nine"),
    ] {
        let object = object(&desired, &Value::Null);
        let mut status = object.status.unwrap();
        status.available_updates.push(older.clone());
        assert_eq!(shown(&desired_update(&object.spec, &status, MultiRelease::Pending)), want, "{desired}");
    }
}

/// The architecture is changed at the present version, by the release that the update service names for it.
#[test]
fn an_architecture_is_honoured_or_refused() {
    let multi = Release {
        architecture: Some(MULTI.into()),
        version: "1.0.0".into(),
        image: "example.com/r@multi".into(),
        ..Release::default()
    };
    let at = |version: &str| json!({"version": version, "architecture": "Multi"});
    for (desired, found, want) in [
        (at("1.0.0"), MultiRelease::Pending, "unresolved 1.0.0 pending"),
        (at("1.0.0"), MultiRelease::Unavailable("no answer"), "unresolved 1.0.0 no answer"),
        (at("1.0.0"), MultiRelease::Found(&multi), "begin 1.0.0 example.com/r@multi"),
        (
            at("1.0.1"),
            MultiRelease::Found(&multi),
            "invalid spec.desiredUpdate.architecture: Invalid value: \"Multi\": the architecture can only be changed at the current version; set Multi with version 1.0.0 first, then update",
        ),
        (
            json!({"architecture": "Multi"}),
            MultiRelease::Pending,
            "invalid spec.desiredUpdate.version: Required value: an architecture needs a version",
        ),
        (
            json!({"architecture": "arm64", "version": "1.0.0"}),
            MultiRelease::Pending,
            "invalid spec.desiredUpdate.architecture: Unsupported value: \"arm64\": the only one is \"Multi\"",
        ),
        (
            json!({"architecture": "Multi", "version": "1.0.0", "image": "example.com/r@one"}),
            MultiRelease::Pending,
            "invalid spec.desiredUpdate.architecture: cannot set both Architecture and Image",
        ),
    ] {
        let object = object(&desired, &Value::Null);
        assert_eq!(shown(&desired_update(&object.spec, &object.status.unwrap(), found)), want, "{desired}");
    }
    // Once it was changed, the same request asks for nothing more; a version of the history may have been for one only.
    for (version, want) in [
        ("1.0.0", "keep"),
        (
            "0.9.0",
            "invalid spec.desiredUpdate.version: Invalid value: \"0.9.0\": when image is empty the update must be an available update",
        ),
    ] {
        let object = object(&at(version), &Value::Null);
        let mut status = object.status.unwrap();
        status.desired = multi.clone();
        assert_eq!(shown(&desired_update(&object.spec, &status, MultiRelease::Pending)), want);
    }
}
