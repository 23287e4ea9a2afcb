//! Changes on a state directory, which has no rights to refuse: what is decided, written and said.

use std::fs;
use std::path::PathBuf;

use clearway_sources::store::StateDirectory;
use serde_json::json;

use super::*;

const STORY: &str = include_str!("../../../../tests/offline/upgrade/story.yaml");

/// A state directory with the ClusterVersion of the user story.
struct Directory {
    dir: tempfile::TempDir,
    store: StateDirectory,
}

impl Directory {
    fn with(change: impl FnOnce(&mut Value)) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let mut object: Value = serde_saphyr::from_str(STORY).unwrap();
        change(&mut object);
        let file = Self::file(&dir);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, object.to_string()).unwrap();
        let store = StateDirectory::open(dir.path()).unwrap();
        Directory { dir, store }
    }

    fn file(dir: &tempfile::TempDir) -> PathBuf {
        dir.path().join("objects/config.openshift.io/ClusterVersion/_/version.yaml")
    }

    fn stored(&self) -> Value {
        serde_saphyr::from_str(&fs::read_to_string(Self::file(&self.dir)).unwrap()).unwrap()
    }

    async fn make(&self, version: &str, action: ChangeAction) -> ChangeOutcome {
        make_change(&self.store, &change(version, action), now()).await
    }
}

fn now() -> Timestamp {
    "2026-05-04T08:00:00Z".parse().unwrap()
}

fn change(version: &str, action: ChangeAction) -> Change {
    let (kind, name) = ("ClusterVersion".to_owned(), "version".to_owned());
    Change { kind, name, version: version.parse().unwrap(), action }
}

fn start(allow_not_recommended: bool, allow_with_warnings: bool) -> ChangeAction {
    ChangeAction::StartUpdate { allow_not_recommended, allow_with_warnings }
}

fn accept(risk: &str, reason: &str, until: &str) -> ChangeAction {
    ChangeAction::AcceptRisk { risk: risk.to_owned(), reason: reason.to_owned(), until: until.to_owned() }
}

#[tokio::test]
async fn an_update_is_requested_as_the_command_does_it() {
    let is_failing = |object: &mut Value| {
        let condition = json!({"type": "Failing", "status": "True", "reason": "R", "message": "It fails."});
        object["status"]["conditions"].as_array_mut().unwrap().insert(0, condition);
    };
    for (fails, version, action, result, words) in [
        (false, "4.6.43", start(false, false), ChangeResult::Done, "Requested update to 4.6.43."),
        (false, "4.6.23", start(false, false), ChangeResult::Done, "Cluster is already at version 4.6.23."),
        (false, "4.7.4", start(false, false), ChangeResult::Refused, "tick “Start it although it is not recommended”."),
        (false, "4.7.4", start(true, false), ChangeResult::Done, "Requested update to 4.7.4."),
        (false, "4.6.99-example", start(false, true), ChangeResult::Refused, "Recommended=Unknown risk"),
        (false, "4.9.9", start(true, true), ChangeResult::Refused, "the console cannot request it"),
        (
            true,
            "4.6.43",
            start(false, false),
            ChangeResult::Refused,
            "It fails.\n\nIf you want to upgrade anyway, tick “",
        ),
        (true, "4.6.43", start(false, true), ChangeResult::Done, "Requested update to 4.6.43."),
    ] {
        let state = Directory::with(|object| {
            if fails {
                is_failing(object);
            }
        });
        let before = state.stored();
        let made = state.make(version, action.clone()).await;
        assert_eq!(made.result, result, "{version} {action:?}: {made:?}");
        assert!(made.sentence.contains(words), "{version} {action:?}: {made:?}");
        assert!(made.sentence.starts_with(char::is_uppercase), "{made:?}");
        let stored = state.stored();
        if words.starts_with("Requested") {
            assert_eq!(stored["spec"]["desiredUpdate"]["version"], version);
            assert_eq!(stored["spec"]["desiredUpdate"]["force"], false);
        } else {
            assert_eq!(stored, before, "{version} {action:?}");
        }
        assert_eq!(
            made.warnings.iter().any(|text| text.starts_with("You have bypassed: ")),
            fails && words.starts_with("Requested")
        );
    }
}

#[tokio::test]
async fn a_risk_is_accepted_as_the_command_does_it() {
    let state = Directory::with(|object| object["spec"]["acceptedRisks"] = json!([{"name": "Old", "reason": "r"}]));
    let before = state.stored();
    for (reason, until, words) in [
        (" ", "", "Fill in the reason (1 to 4096 characters); it is recorded in the history."),
        ("r", "later", "`later` is neither a time such as 2027-01-01T00:00:00Z nor a duration such as 30d."),
        ("r", "2001-01-01T00:00:00Z", "The end 2001-01-01T00:00:00Z is in the past."),
    ] {
        let made = state.make("4.7.4", accept("VSphereNodeNameChanges", reason, until)).await;
        assert_eq!((made.result, made.sentence.as_str()), (ChangeResult::Invalid, words));
    }
    assert_eq!(state.stored(), before);
    let made = state.make("4.7.4", accept("VSphereNodeNameChanges", " known <b> ", "1d")).await;
    assert_eq!(made, outcome(ChangeResult::Done, "The risk VSphereNodeNameChanges is accepted.", Vec::new()));
    let entry = json!({"name": "VSphereNodeNameChanges", "reason": "known <b>", "until": "2026-05-05T08:00:00Z"});
    assert_eq!(state.stored()["spec"]["acceptedRisks"], json!([{"name": "Old", "reason": "r"}, entry]));
    // A minus after a name is a part of the name: no form takes an acceptance back.
    let made = state.make("4.7.4", accept("Old-", "r", "")).await;
    assert_eq!(made.warnings, ["No known update has a risk named Old-."]);
    let stored = state.stored();
    let names: Vec<&Value> =
        stored["spec"]["acceptedRisks"].as_array().unwrap().iter().map(|risk| &risk["name"]).collect();
    assert_eq!(names, ["Old", "VSphereNodeNameChanges", "Old-"]);
    let shown = request_state(&stored, now());
    assert_eq!(shown.accepted_risks["VSphereNodeNameChanges"], "Accepted until 2026-05-05T08:00:00Z: known <b>");
    assert!(shown.recommended.contains("4.6.43") && !shown.recommended.contains("4.7.4"), "{shown:?}");
    let later = "2026-05-06T00:00:00Z".parse().unwrap();
    assert!(!request_state(&stored, later).accepted_risks.contains_key("VSphereNodeNameChanges"));
}

/// Where the CRD does not have the field, nothing is written, and the console says what to tick instead.
#[tokio::test]
async fn a_risk_is_not_accepted_where_the_definition_would_drop_it() {
    let state = Directory::with(|_| {});
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": Kind::ClusterVersion.crd(), "annotations": {"clearway.dev/channel": "standard"}},
    });
    state.store.create(&definition).await.unwrap();
    let before = state.stored();
    let made = state.make("4.7.4", accept("VSphereNodeNameChanges", "known", "")).await;
    assert_eq!(made.result, ChangeResult::Refused, "{made:?}");
    let words =
        "is of the standard channel; to start one update anyway, tick “Start it although it is not recommended”";
    assert!(made.sentence.contains(words), "{made:?}");
    assert_eq!(state.stored(), before);
}

/// The name becomes a part of the path of a request.
#[test]
fn only_names_of_objects_are_looked_for() {
    let with = |kind: &str, name: &str| {
        let (kind, name) = (kind.to_owned(), name.to_owned());
        subject(&Change { kind, name, ..change("4.7.4", start(false, false)) }).is_some()
    };
    assert!(with("ClusterVersion", "version") && with("ComponentVersion", "mesh-1.x"));
    for (kind, name) in [
        ("Secret", "version"),
        ("ClusterVersion", ""),
        ("ClusterVersion", ".."),
        ("ClusterVersion", "version/status"),
        ("ClusterVersion", "version?dryRun=All"),
        ("ClusterVersion", "../../../../api/v1/namespaces/a/secrets/b"),
        ("ClusterVersion", &"a".repeat(254)),
    ] {
        assert!(!with(kind, name), "{kind} {name}");
    }
}
