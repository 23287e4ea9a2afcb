//! What is asked for: written exactly, or not at all.

use std::thread;

use serde_json::{Value, json};

use super::{STORY, State, condition, set};

/// U12, U13: an update that is not recommended is asked for only with the option, and nothing but the request changes.
#[test]
fn a_request_changes_nothing_else() {
    let state = State::changed(|object| {
        object["spec"]["ofNextYear"] = json!({"x": 1});
        object["status"]["ofNextYear"] = json!(true);
    });
    let before = state.stored();
    let refused = state.run(&["--to", "4.7.4"]);
    assert_eq!((refused.code, refused.out.as_str(), state.stored()), (1, "", before.clone()));
    let taken = state.run(&["--to", "4.7.4", "--allow-not-recommended"]);
    assert_eq!((taken.code, taken.out.as_str()), (0, "Requested update to 4.7.4\n"), "{taken:?}");
    assert!(taken.err.starts_with("warning: with --allow-not-recommended you have accepted the risks with 4.7.4 and bypassed Recommended=False MultipleReasons: "), "{taken:?}");
    assert!(taken.err.ends_with("watch it with `clearway upgrade --state state status --watch`\n"), "{taken:?}");
    let mut want = before;
    want["spec"]["desiredUpdate"] = json!({
        "architecture": "", "version": "4.7.4", "force": false,
        "image": "quay.io/openshift-release-dev/ocp-release@sha256:999a6a4bd731075e389ae601b373194c6cb2c7b4dadd1ad06ef607e86476b129",
    });
    let mut stored = state.stored();
    stored["metadata"] = want["metadata"].clone();
    assert_eq!(stored, want);
}

#[test]
fn the_exit_code_is_the_answer_and_a_no_writes_nothing() {
    let mirror = "mirror.example.com/x@sha256:2b8efb25c1c9d7a713ae74b8918457280f9cc0c66d475e78d3676810d568b534";
    for (arguments, code, said) in [
        (&["--to", "4.6.43"][..], 0, "Requested update to 4.6.43"),
        (&["--to-latest"], 0, "Requested update to 4.6.43"),
        (&["--to-image", mirror], 0, "Requested update to 4.6.43"),
        (&["--to", "4.6.43", "--force"], 0, "warning: --force overrides cluster verification"),
        (&["--to-latest", "--allow-not-recommended"], 0, "Requested update to 4.7.4"),
        (&["--to", "4.6.23"], 0, "info: Cluster is already at version 4.6.23"),
        (&["--to", "4.6.30"], 1, "use --allow-not-recommended"),
        (&["--to", "4.6.99-example"], 2, "To accept the Recommended=Unknown risk"),
        (&["--to", "4.9.9"], 1, "specify --to-image to continue"),
        (&["--to", "4.6.20"], 1, "specify --allow-explicit-upgrade to continue"),
        (&["--to", "4.6.20", "--allow-explicit-upgrade"], 0, "Requested update to 4.6.20"),
        (&["--to-multi-arch"], 0, "Requested update to multi cluster architecture"),
        (&["--to-multi-arch", "--to", "4.6.43"], 3, "cannot be used with"),
        (&["--to", "four"], 3, "`four` is not a version"),
        (&["--to", "4.6.43", "--to-latest"], 3, "cannot be used with"),
        (&["--to", "4.6.43", "--clear"], 3, "cannot be used with"),
        (&["--to-image", "quay.io/x:1"], 3, "must be a by-digest pull spec"),
        (&["--force"], 3, "--to"),
        (&["--watch"], 3, "nothing to watch"),
        (&["--to", "4.6.43", "--timeout", "5s"], 3, "--watch"),
        (&["--to", "4.6.43", "history"], 3, "cannot be used with a subcommand"),
        (&["sideways"], 3, "sideways"),
    ] {
        let state = State::cluster(STORY);
        let before = state.text();
        let answer = state.run(arguments);
        assert_eq!(answer.code, code, "{arguments:?}: {answer:?}");
        assert!(answer.out.contains(said) || answer.err.contains(said), "{arguments:?}: {answer:?}");
        let wrote = answer.out.starts_with("Requested");
        assert_eq!(state.text() != before, wrote, "{arguments:?}");
    }
}

#[test]
fn the_change_of_architecture_is_one_request_with_the_present_version() {
    let state = State::cluster(STORY);
    let asked = state.run(&["--to-multi-arch", "-o", "json"]).json();
    assert_eq!(asked["update"]["architecture"], "Multi");
    let want = json!({"architecture": "Multi", "version": "4.6.23", "image": "", "force": false});
    assert_eq!(state.stored()["spec"]["desiredUpdate"], want);
    let status = state.run(&["status"]);
    assert!(status.code == 2 && status.out.contains("4.6.23 (multi-architecture) is requested"), "{status:?}");
    let cleared = state.run(&["--clear"]);
    assert_eq!(cleared.out, "Cancelled requested upgrade to 4.6.23\n", "{cleared:?}");
}

#[test]
fn risks_that_openshifts_clients_accepted_are_shown_with_the_others() {
    let state =
        State::changed(|object| object["spec"]["desiredUpdate"] = json!({"acceptRisks": [{"name": "SlowEtcd"}]}));
    let list = state.run(&["accept"]);
    assert!(list.out.contains("SlowEtcd") && list.out.contains("spec.desiredUpdate.acceptRisks"), "{list:?}");
    assert_eq!(state.run(&["status", "-o", "json"]).json()["acceptedRisks"][0]["name"], "SlowEtcd");
    let taken = state.run(&["--to", "4.6.43"]);
    assert_eq!(taken.code, 0, "{taken:?}");
    assert_eq!(state.stored()["spec"]["desiredUpdate"]["acceptRisks"], json!([{"name": "SlowEtcd"}]), "and kept");
}

#[test]
fn what_speaks_against_it_has_to_be_bypassed() {
    for (type_, said) in [
        ("Invalid", "the cluster version object is invalid, you must correct the invalid state first:"),
        ("Failing", "the cluster is experiencing an error reconciling \"4.6.23\":"),
        ("Progressing", "the cluster is already upgrading:"),
    ] {
        let state = State::changed(|object| set(object, condition(type_, "True", "Why", "Because.")));
        let before = state.text();
        // Nor does --force help.
        let refused = state.run(&["--to", "4.6.43", "--force"]);
        let text = format!(
            "error: {said}\n\n  Reason: Why\n  Message: Because.\n\nIf you want to upgrade anyway, use --allow-upgrade-with-warnings.\n"
        );
        assert!(refused.code == 1 && refused.err.ends_with(&text), "{refused:?}");
        assert_eq!(state.text(), before);
        let taken = state.run(&["--to", "4.6.43", "--allow-upgrade-with-warnings"]);
        let text = format!("warning: --allow-upgrade-with-warnings is bypassing: {said}\n");
        assert!(taken.code == 0 && taken.err.contains(&text), "{taken:?}");
        assert_eq!(state.stored()["spec"]["desiredUpdate"]["version"], "4.6.43");
    }
}

/// An update that is stuck, or was never accepted, is asked for again: the operator is told to look.
#[test]
fn what_is_stuck_may_be_asked_for_again() {
    let stuck = State::changed(|object| {
        let entry = &mut object["status"]["history"][0];
        entry["state"] = "Partial".into();
        entry["completionTime"] = Value::Null;
        set(object, condition("Progressing", "True", "Updating", "Working towards 4.6.23"));
        set(object, condition("Failing", "True", "Why", "Because."));
    });
    let asked = stuck.run(&["--to", "4.6.23"]);
    assert_eq!((asked.code, asked.out.as_str()), (0, "Requested update to 4.6.23\n"), "{asked:?}");
    let again = stuck.run(&["--to", "4.6.23", "-o", "json"]);
    assert_eq!(again.json()["action"], "requestedAgain");
    let stored = stuck.stored();
    assert!(stored["metadata"]["annotations"]["clearway.dev/re-evaluate"].is_string(), "{stored}");
    assert_eq!(stored["spec"]["desiredUpdate"]["version"], "4.6.23");

    let refused = State::cluster(STORY);
    assert_eq!(refused.run(&["--to", "4.6.43"]).code, 0);
    let generation = refused.stored()["metadata"]["generation"].clone();
    let again = refused.run(&["--to", "4.6.43"]);
    assert_eq!(again.out, "Requested update to 4.6.43 again\n");
    assert_eq!(refused.stored()["metadata"]["generation"], generation, "the spec is the same");
    let there = refused.run(&["--to", "4.6.23"]);
    assert!(there.err.contains("4.6.43 is still requested"), "{there:?}");
}

/// A rehearsal that was asked for earlier does not turn an update into one.
#[test]
fn fields_of_other_clients_are_kept_but_for_the_one_that_would_change_the_meaning() {
    let state = State::changed(|object| {
        object["spec"]["desiredUpdate"] =
            json!({"version": "4.6.42", "mode": "Preflight", "acceptRisks": [{"name": "A"}]});
    });
    assert_eq!(state.run(&["--to", "4.6.43"]).code, 0);
    let update = state.stored()["spec"]["desiredUpdate"].clone();
    assert_eq!((&update["mode"], &update["acceptRisks"][0]["name"]), (&Value::Null, &json!("A")));
    assert_eq!(state.run(&["--clear"]).out, "Cancelled requested upgrade to 4.6.43\n");
    assert_eq!(state.stored()["spec"]["desiredUpdate"], json!({"acceptRisks": [{"name": "A"}]}));
    assert_eq!(state.run(&["--clear"]).out, "info: No update in progress\n");
}

#[test]
fn a_request_is_taken_back() {
    for (update, said) in [
        (json!({"version": "4.6.43"}), "Cancelled requested upgrade to 4.6.43\n"),
        (json!({"image": "example.com/x@sha256:1"}), "Cancelled requested upgrade to example.com/x@sha256:1\n"),
        (json!({"version": "4.6.23"}), "Cleared the update field, still at 4.6.23\n"),
        (Value::Null, "info: No update in progress\n"),
    ] {
        let state = State::changed(|object| object["spec"]["desiredUpdate"] = update);
        let answer = state.run(&["--clear"]);
        assert_eq!((answer.code, answer.out.as_str()), (0, said));
        assert_eq!(state.stored()["spec"]["desiredUpdate"], Value::Null);
    }
}

#[test]
fn a_channel_is_shown_set_and_cleared() {
    let listed = "candidate-4.6, candidate-4.7, eus-4.6, fast-4.6, fast-4.7, stable-4.6, stable-4.7";
    for (arguments, code, said, after) in [
        (&[][..], 0, format!("Channel: stable-4.6 (available channels: {listed})\n"), "stable-4.6"),
        (&["stable-4.6"], 0, "info: Cluster is already in stable-4.6 (no change)\n".to_owned(), "stable-4.6"),
        (&["stable-4.7"], 0, String::new(), "stable-4.7"),
        (&["mine"], 1, format!("error: the requested channel \"mine\" is not one of the available channels ({listed}), you must pass --allow-explicit-channel to continue\n"), "stable-4.6"),
        (&["mine", "--allow-explicit-channel"], 0, "warning: The requested channel \"mine\" is not one of the available channels".to_owned(), "mine"),
        (&[""], 1, "error: You are requesting to clear the update channel. The current channel \"stable-4.6\" is one of the available channels, you must pass --allow-explicit-channel to continue\n".to_owned(), "stable-4.6"),
        (&["", "--allow-explicit-channel"], 0, "warning: Clearing channel \"stable-4.6\"; cluster will no longer request available update recommendations.\n".to_owned(), ""),
    ] {
        let state = State::cluster(STORY);
        let answer = state.run(&[&["channel"], arguments].concat());
        assert_eq!(answer.code, code, "{answer:?}");
        assert!(answer.out == said || answer.err.starts_with(&said), "{answer:?}");
        assert_eq!(state.stored()["spec"]["channel"], after);
    }
    let unknown = State::changed(|object| object["status"]["desired"]["channels"] = Value::Null);
    let answer = unknown.run(&["channel", "mine"]);
    assert!(answer.code == 0 && answer.err.starts_with("warning: No channels known to be compatible with the current version \"4.6.23\"; unable to validate \"mine\"."), "{answer:?}");
}

#[test]
fn risks_are_accepted_by_name_and_taken_back() {
    let state = State::changed(|object| {
        // What is not understood here belongs to somebody.
        object["spec"]["acceptedRisks"] = json!([{"name": "Old", "reason": "r", "until": "soon"}]);
    });
    let accepted =
        state.run(&["accept", "ExampleReason,Unheard", "--reason", "known", "--until", "2199-01-01T00:00:00Z"]);
    assert_eq!(accepted.code, 0, "{accepted:?}");
    assert!(accepted.err.contains("no known update has a risk named Unheard"), "{accepted:?}");
    let entry = |name: &str| json!({"name": name, "reason": "known", "until": "2199-01-01T00:00:00Z"});
    let old = json!({"name": "Old", "reason": "r", "until": "soon"});
    assert_eq!(state.stored()["spec"]["acceptedRisks"], json!([old, entry("ExampleReason"), entry("Unheard")]));
    let again = state.run(&["accept", "ExampleReason", "--reason", "better known", "-o", "json"]);
    assert_eq!(again.json()["action"], "changed");
    assert_eq!(state.stored()["spec"]["acceptedRisks"][1], json!({"name": "ExampleReason", "reason": "better known"}));
    assert_eq!(state.run(&["accept", "Never-", "-o", "json"]).json()["action"], "unchanged");
    assert_eq!(state.run(&["accept", "Old-,ExampleReason-", "Unheard-"]).code, 0);
    assert_eq!(state.stored()["spec"]["acceptedRisks"], Value::Null);
    assert_eq!(state.run(&["accept"]).out, "There are no accepted risks.\n");
    let before = state.text();
    for (arguments, said) in [
        (&["A"][..], "pass a reason with --reason"),
        (&["A", "--reason", " "], "pass a reason with --reason"),
        (&["A", "--reason", "r", "--until", "2001-01-01T00:00:00Z"], "is in the past"),
        (&["A", "--reason", "r", "--until", "later"], "is neither a time such as"),
        (&["A,A-", "--reason", "r"], "both added and removed: A"),
        (&["A,,B", "--reason", "r"], "invalid risk name \"\""),
        (&["--reason", "r"], "RISK"),
    ] {
        let answer = state.run(&[&["accept"], arguments].concat());
        assert!(answer.code == 3 && answer.err.contains(said), "{answer:?}");
    }
    assert_eq!(state.text(), before);
}

/// The list is replaced whole, and yet nobody's entry is lost.
#[test]
fn risks_accepted_at_the_same_time_are_all_kept() {
    let state = State::changed(|object| object["metadata"]["resourceVersion"] = "by hand".into());
    thread::scope(|scope| {
        let state = &state;
        let runs: Vec<_> = (0..8)
            .map(|number| scope.spawn(move || state.run(&["accept", &format!("Risk{number}"), "--reason", "r"])))
            .collect();
        for run in runs {
            let answer = run.join().unwrap();
            assert_eq!(answer.code, 0, "{answer:?}");
        }
    });
    let stored = state.stored();
    let mut names: Vec<&str> =
        stored["spec"]["acceptedRisks"].as_array().unwrap().iter().map(|risk| risk["name"].as_str().unwrap()).collect();
    names.sort_unstable();
    assert_eq!(names, ["Risk0", "Risk1", "Risk2", "Risk3", "Risk4", "Risk5", "Risk6", "Risk7"]);
}
