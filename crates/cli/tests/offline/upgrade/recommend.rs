//! `clearway upgrade recommend` on a state directory: checks, updates, what is accepted, and the exit codes.

use serde_json::{Value, json};
use snapbox::{assert_data_eq, file};

use super::{STORY, State, condition, set, text};

/// A state with the story's object and these metrics.
fn with_metrics(metrics: &str) -> State {
    let state = State::cluster(STORY);
    state.place.write("state/metrics/cluster.prom", metrics);
    state
}

#[test]
fn the_newest_update_without_a_reason_against_it_is_recommended() {
    let state = State::cluster(STORY);
    let before = state.text();
    let list = state.run(&["recommend"]);
    assert_data_eq!(&list.out, file!["../golden/upgrade-recommend.txt"].raw());
    assert_eq!((list.code, list.err.as_str()), (0, ""));
    assert_eq!(state.text(), before, "asking changes nothing");
    let all = state.run(&["recommend", "--show-outdated-releases"]);
    assert!(all.out.contains("4.6.30") && !all.out.contains("older 4.6 update"), "{}", all.out);
    let data = state.run(&["recommend", "-o", "json"]).json();
    assert_eq!(data["recommended"], "4.6.43");
    let updates: Vec<(&str, &str)> =
        data["updates"].as_array().unwrap().iter().map(|one| (text(&one["version"]), text(&one["status"]))).collect();
    let want = [
        ("4.7.4", "False"),
        ("4.6.99-example", "Unknown"),
        ("4.6.43", "True"),
        ("4.6.42", "True"),
        ("4.6.30", "False"),
    ];
    assert_eq!(updates, want);
}

#[test]
fn one_update_is_shown_with_its_proof() {
    let state = State::cluster(STORY);
    let answer = state.run(&["recommend", "--version", "4.7.4"]);
    assert_data_eq!(&answer.out, file!["../golden/upgrade-recommend-version.txt"].raw());
    assert_eq!((answer.code, answer.err.as_str()), (1, ""));
    let good = state.run(&["recommend", "--version", "4.6.43"]);
    assert!(good.code == 0 && good.out.contains("Update to 4.6.43: recommended\n"), "{good:?}");
    let unknown = state.run(&["recommend", "--version", "4.6.99-example", "--accept", "ExampleReason"]);
    assert_eq!(unknown.code, 2, "what could not be evaluated cannot be accepted: {unknown:?}");
    let other = state.run(&["recommend", "--version", "4.9.0"]);
    assert!(other.code == 1 && other.err.contains("no update to 4.9.0 is available"), "{other:?}");
    assert!(other.err.contains("plan --to 4.9.0"), "{other:?}");
}

#[test]
fn risks_are_accepted_by_name() {
    let state = State::cluster(STORY);
    let accept = |names: &str| state.run(&["recommend", "--version", "4.7.4", "--accept", names]);
    let some = accept("VSphereNodeNameChanges");
    assert!(
        some.code == 1 && some.out.contains("VSphereNodeNameChanges: applies to this cluster; accepted"),
        "{some:?}"
    );
    let names = "AuthOAuthProxyLeakedConnections,VSphereNodeNameChanges,VSphereHW14CrossNodeNetworkingError";
    let all = accept(names);
    assert!(all.code == 0 && all.out.contains("--to 4.7.4 --allow-not-recommended"), "{all:?}");
    assert_eq!(accept("ConditionalUpdateRisk").code, 0, "the name that `oc` has for all of them");
    let unused = accept("Typo");
    assert!(unused.code == 1 && unused.err.contains("--accept Typo: no such issue applies"), "{unused:?}");
}

#[test]
fn conditions_of_the_cluster_are_checked() {
    for (type_, status, name, code) in [
        ("Failing", "True", "Failing", 1),
        ("Failing", "Unknown", "Failing", 2),
        ("Progressing", "True", "Progressing", 1),
        ("RetrievedUpdates", "False", "CannotRetrieveUpdates", 2),
        ("Invalid", "True", "Invalid", 1),
        ("ReleaseAccepted", "False", "ReleaseAccepted", 1),
    ] {
        let state = State::changed(|object| set(object, condition(type_, status, "Because", "of that")));
        let answer = state.run(&["recommend"]);
        assert_eq!(answer.code, code, "{type_}={status}: {answer:?}");
        assert!(answer.out.contains(name) && answer.out.contains("Because: of that"), "{answer:?}");
        let accepted = state.run(&["recommend", "--accept", name]);
        assert!(accepted.code == 0 && accepted.out.contains("accepted"), "{type_}={status}: {accepted:?}");
    }
    // What was never reported is not taken for a yes.
    let state = State::changed(|object| object["status"]["conditions"] = json!([]));
    assert_eq!(state.run(&["recommend"]).code, 2);
}

#[test]
fn a_cluster_that_is_not_upgradeable_is_only_kept_in_its_minor_version() {
    let state =
        State::changed(|object| set(object, condition("Upgradeable", "False", "AdminAckRequired", "APIs are removed")));
    let data = state.run(&["recommend", "-o", "json"]).json();
    let issues = |version: &str| -> Vec<String> {
        let updates = data["updates"].as_array().unwrap();
        let update = updates.iter().find(|update| update["version"] == version).unwrap();
        update["issues"].as_array().unwrap().iter().map(|issue: &Value| text(&issue["name"]).to_owned()).collect()
    };
    assert!(issues("4.7.4").contains(&"UpgradeableFalse".to_owned()));
    assert!(issues("4.6.43").is_empty());
    assert_eq!(state.run(&["recommend"]).code, 0);
    let names = "ConditionalUpdateRisk,UpgradeableFalse";
    assert_eq!(state.run(&["recommend", "--version", "4.7.4", "--accept", names]).code, 0);
}

#[test]
fn alerts_that_fire_are_a_concern() {
    let state = with_metrics(
        "ALERTS{alertname=\"etcdMembersDown\",alertstate=\"firing\",severity=\"critical\"} 1\n\
         ALERTS{alertname=\"Watchdog\",alertstate=\"firing\",severity=\"none\"} 1\n\
         ALERTS{alertname=\"Pending\",alertstate=\"pending\",severity=\"critical\"} 1\n",
    );
    let answer = state.run(&["recommend"]);
    assert!(answer.code == 1 && answer.out.contains("etcdMembersDown"), "{answer:?}");
    assert!(!answer.out.contains("Watchdog") && !answer.out.contains("Pending "), "{answer:?}");
    assert_eq!(state.run(&["recommend", "--accept", "etcdMembersDown"]).code, 0);
    let quiet = with_metrics("ALERTS{alertname=\"Watchdog\",alertstate=\"firing\"} 1\n").run(&["recommend"]);
    assert!(quiet.code == 0 && quiet.out.contains("No alert that is a reason not to update"), "{quiet:?}");
    let dead = State::cluster(STORY).run(&["recommend", "--prometheus", "http://127.0.0.1:1"]);
    assert!(dead.code == 2 && dead.out.contains("FailedToCompletePrecheck"), "{dead:?}");
}

#[test]
fn a_cluster_without_updates_has_nothing_to_do() {
    let state = State::changed(|object| {
        object["status"]["availableUpdates"] = json!([]);
        object["status"]["conditionalUpdates"] = json!([]);
    });
    let answer = state.run(&["recommend"]);
    assert!(answer.code == 0 && answer.out.contains("No updates are available: 4.6.23"), "{answer:?}");
    let wrong = State::cluster(STORY).run(&["recommend", "--version", "4.7.4", "--show-outdated-releases"]);
    assert_eq!(wrong.code, 3, "{wrong:?}");
}
