//! `clearway upgrade` on a state directory: the texts, what is written and what is not, and the exit codes.

mod following;
mod readers;
mod recommend;
mod requests;

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::Command;
use std::thread;

use serde_json::{Value, json};
use snapbox::{assert_data_eq, file};

use super::{Answer, Place};

/// The `ClusterVersion` of the user story.
const STORY: &str = include_str!("upgrade/story.yaml");
/// A `ComponentVersion` of the sample product.
const COMPONENT: &str = include_str!("upgrade/component.yaml");
const GRAPH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/graph-data");

/// A state directory with one object in it.
struct State {
    place: Place,
    object: PathBuf,
}

impl State {
    fn cluster(object: &str) -> Self {
        State::with("objects/config.openshift.io/ClusterVersion/_/version.yaml", object)
    }

    fn component() -> Self {
        State::with("objects/clearway.dev/ComponentVersion/_/platform.yaml", COMPONENT)
    }

    fn with(path: &str, object: &str) -> Self {
        let place = Place::new();
        let object = place.write(&format!("state/{path}"), object);
        State { place, object }
    }

    /// The story's object with this done to it.
    fn changed(change: impl FnOnce(&mut Value)) -> Self {
        let mut object: Value = serde_saphyr::from_str(STORY).unwrap();
        change(&mut object);
        State::cluster(&object.to_string())
    }

    fn run(&self, arguments: &[&str]) -> Answer {
        self.place.run(&[&["upgrade", "--state", "state"], arguments].concat())
    }

    fn stored(&self) -> Value {
        serde_saphyr::from_str(&self.text()).unwrap()
    }

    fn text(&self) -> String {
        fs::read_to_string(&self.object).unwrap()
    }
}

fn condition(type_: &str, status: &str, reason: &str, message: &str) -> Value {
    json!({"type": type_, "status": status, "reason": reason, "message": message, "lastTransitionTime": "2021-08-28T01:00:00Z"})
}

/// Puts a condition in the place of the one of its type.
fn set(object: &mut Value, condition: Value) {
    let conditions = object["status"]["conditions"].as_array_mut().unwrap();
    conditions.retain(|one| one["type"] != condition["type"]);
    conditions.push(condition);
}

/// U13: the golden files are the story's console blocks, but for the lines that stand for more of the same.
#[test]
fn the_story_is_told_word_for_word() {
    let state = State::cluster(STORY);
    let before = state.text();
    let list = state.run(&[]);
    assert_data_eq!(&list.out, file!["golden/upgrade-list.txt"].raw());
    assert_eq!((list.code, list.err.as_str()), (0, ""));
    let all = state.run(&["--include-not-recommended"]);
    assert_data_eq!(&all.out, file!["golden/upgrade-all.txt"].raw());
    assert_eq!((all.code, all.err.as_str()), (0, ""));
    assert_eq!(state.text(), before, "looking changes nothing");
}

#[test]
fn the_list_is_data_too() {
    let state = State::cluster(STORY);
    let data = state.run(&["-o", "json"]).json();
    let updates: Vec<_> = data["updates"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| (text(&one["version"]), text(&one["recommended"]["status"])))
        .collect();
    assert_eq!(
        updates,
        [
            ("4.7.4", "False"),
            ("4.6.99-example", "Unknown"),
            ("4.6.43", "True"),
            ("4.6.42", "True"),
            ("4.6.30", "False")
        ]
    );
    assert_eq!(data["updates"][0]["risks"][0], "AuthOAuthProxyLeakedConnections");
    assert_eq!((&data["version"], &data["current"]), (&json!("4.6.23"), &json!(true)));
    let yaml: Value = serde_saphyr::from_str(&state.run(&["-o", "yaml"]).out).unwrap();
    assert_eq!(yaml, data);
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap()
}

/// What the story does not show: every block, old advice, and why there is none.
#[test]
fn trouble_is_shown_before_updates() {
    let state = State::changed(|object| {
        set(
            object,
            condition("Failing", "True", "ClusterOperatorDegraded", "Cluster operator etcd is degraded\nsince noon"),
        );
        set(object, condition("Invalid", "True", "InvalidClusterVersion", "The cluster version is invalid: x"));
        set(object, condition("Progressing", "True", "Updating", "Working towards 4.6.23: 1 of 2 done (50% complete)"));
        set(object, condition("Upgradeable", "False", "AdminAckRequired", "Acknowledge first."));
        set(object, condition("ReleaseAccepted", "False", "RetrievePayload", "Retrieving payload failed"));
        set(object, condition("RetrievedUpdates", "False", "RemoteFailed", "connection refused"));
        object["spec"].as_object_mut().unwrap().remove("upstream");
    });
    let list = state.run(&[]);
    assert_data_eq!(&list.out, file!["golden/upgrade-trouble.txt"].raw());
    let warning = "warning: Cannot refresh available updates:\n  Reason: RemoteFailed\n  Message: connection refused\n  \
                   The list is from before 2021-08-28T01:00:00Z and may be out of date.\n";
    assert!(list.code == 2 && list.err.starts_with(warning), "{list:?}");
}

#[test]
fn no_updates_are_explained() {
    let hint = |which: &str| {
        format!(
            "\nAdditional updates {which} your cluster configuration are available, to view those re-run the command with --include-not-recommended.\n"
        )
    };
    let wait =
        "You may still upgrade to a specific release image with --to-image or wait for new updates to be available.\n";
    let nothing = |object: &mut Value| {
        object["status"]["availableUpdates"] = Value::Null;
        object["status"]["conditionalUpdates"] = Value::Null;
    };
    let none = State::changed(nothing);
    let list = none.run(&[]);
    assert!(list.code == 0 && list.out.ends_with(&format!("\nNo updates available. {wait}")), "{list:?}");
    let all = none.run(&["--include-not-recommended"]);
    let end = "\nNo updates which are not recommended based on your cluster configuration are available.\n";
    assert!(all.out.ends_with(end), "{all:?}");

    let risky = State::changed(|object| object["status"]["availableUpdates"] = Value::Null).run(&[]);
    let end = format!("\nNo recommended updates available. {wait}{}", hint("which are not recommended based on"));
    assert!(risky.out.ends_with(&end), "{risky:?}");
    let unknown = State::changed(|object| {
        object["status"]["conditionalUpdates"]
            .as_array_mut()
            .unwrap()
            .retain(|update| update["release"]["version"] == "4.6.99-example");
    });
    let unknown = unknown.run(&[]);
    assert!(unknown.out.ends_with(&hint("where the recommended status is \"Unknown\" for")), "{unknown:?}");

    for (reason, remedy) in
        [("VersionNotFound", "Choose a channel that has this version"), ("NoUpstream", "Set spec.upstream")]
    {
        let list = State::changed(|object| {
            nothing(object);
            set(object, condition("RetrievedUpdates", "False", reason, "why"));
        })
        .run(&[]);
        assert_eq!(list.code, 2, "{list:?}");
        assert!(
            list.err.contains("warning: Cannot display available updates:\n") && list.err.contains(remedy),
            "{list:?}"
        );
        assert!(list.out.ends_with("stable-4.7)\n"), "nothing is claimed: {list:?}");
    }
}

#[test]
fn columns_are_aligned_whatever_the_versions_are() {
    let state = State::changed(|object| {
        object["status"]["availableUpdates"][0]["version"] = "4.6.44-0.nightly-2021-09-01".into();
        object["status"]["availableUpdates"][1]["version"] = "new".into();
    });
    let list = state.run(&[]).out;
    let rows: Vec<&str> = list.lines().filter(|line| line.contains('\t')).collect();
    let widths: Vec<usize> = rows.iter().map(|row| row.find('\t').unwrap()).collect();
    assert_eq!(widths, [widths[0]; 3], "{list}");
    assert!(
        rows[1].starts_with("  4.6.44-0.nightly") && rows[2].starts_with("  new "),
        "what is no version is last: {list}"
    );
}

#[test]
fn an_add_on_is_listed_by_its_name() {
    let state = State::component();
    let list = state.run(&["--component", "platform"]);
    assert!(list.code == 2 && list.out.contains("\n  1.4.3  \tregistry.example.com/platform@sha256:3333"), "{list:?}");
    let missing = state.run(&["--component", "mesh"]);
    assert_eq!((missing.code, missing.err.as_str()), (3, "error: ComponentVersion `mesh` not found\n"));
    let cluster = state.run(&[]);
    assert!(cluster.code == 3 && cluster.err.contains("no cluster version information available"), "{cluster:?}");
}

#[test]
fn the_history_shows_what_was_accepted() {
    let state = State::cluster(STORY);
    let short = state.run(&["history"]);
    assert!(short.code == 0 && short.err.contains("--details"), "{short:?}");
    let long = state.run(&["history", "--details"]);
    assert_data_eq!(&long.out, file!["golden/upgrade-history.txt"].raw());
    assert!(long.out.starts_with(&short.out) && long.err.is_empty());
    let entries = state.run(&["history", "-o", "json"]).json();
    assert_eq!(entries.as_array().unwrap().len(), 2);
    assert_eq!(entries[1]["version"], "4.6.20");
}

#[test]
fn the_status_says_what_happens_and_what_to_do() {
    let rest = State::cluster(STORY);
    let now = ["status", "--now", "2021-08-28T02:00:00Z"];
    let rest = rest.run(&now);
    assert_eq!(rest.code, 0, "{rest:?}");
    assert!(rest.out.starts_with("Cluster is at 4.6.23.\n  Cluster version is 4.6.23\n"), "{rest:?}");
    let failing = State::changed(|object| {
        object["spec"]["acceptedRisks"] =
            json!([{"name": "SlowEtcd", "reason": "new disks", "until": "2021-09-01T00:00:00Z"}]);
        let entry = &mut object["status"]["history"][0];
        entry["state"] = "Partial".into();
        entry["completionTime"] = Value::Null;
        set(object, condition("Progressing", "True", "Updating", "Working towards 4.6.23: 1 of 2 done (50% complete)"));
        set(object, condition("Failing", "True", "ClusterOperatorDegraded", "Cluster operator etcd is degraded"));
    });
    let answer = failing.run(&now);
    assert_data_eq!(&answer.out, file!["golden/upgrade-status.txt"].raw());
    assert_eq!(answer.code, 1);
    let data = failing.run(&["status", "-o", "json"]).json();
    assert_eq!((&data["state"], &data["acceptedRisks"][0]["ended"]), (&json!("failing"), &json!(true)));
}

#[test]
fn a_plan_goes_hop_by_hop() {
    let state = State::component();
    let plan = |more: &[&str]| {
        let always = ["plan", "--component", "platform", "--graph", GRAPH];
        state.run(&[&always[..], more].concat())
    };
    let risky = plan(&["--to", "1.5.0"]);
    assert_data_eq!(&risky.out, file!["golden/upgrade-plan.txt"].raw());
    assert!(
        risky.code == 1
            && risky.err.contains("start with `clearway upgrade --component platform --state state --to 1.4.3`"),
        "{risky:?}"
    );
    let clear = plan(&["--to", "1.5.2"]);
    assert_eq!(clear.code, 0, "{clear:?}");
    let data = plan(&["--to", "1.5.1", "--channel", "candidate-1.5", "-o", "json"]);
    assert_eq!(data.code, 1);
    let hops = &data.json()["ways"][0]["hops"];
    assert_eq!((&hops[0]["basis"], &hops[0]["provisional"]), (&json!("object"), &json!(false)));
    let verdicts: Vec<_> =
        hops[1]["risks"].as_array().unwrap().iter().map(|risk| (text(&risk["name"]), text(&risk["verdict"]))).collect();
    assert_eq!(verdicts, [("IngressSettingsLost", "match"), ("ProxyTimeouts", "match")]);
    for (more, code, said) in [
        (&["--to", "1.5.1"][..], 3, "1.5.1 is not in this channel; the channel is stable-1.5"),
        (&["--to", "1.4.0"], 3, "updates only lead to newer versions"),
        (&["--to", "1.5.0", "--channel", "nope"], 3, "nope"),
    ] {
        let answer = plan(more);
        assert!(answer.code == code && answer.err.contains(said), "{answer:?}");
    }
    let nowhere = state.run(&["plan", "--component", "platform", "--to", "1.5.0"]);
    assert!(nowhere.code == 3 && nowhere.err.contains("has no upstream; pass --graph"), "{nowhere:?}");
}

/// What the upstream of an object, whose address ends like this, is asked for by a plan that comes to what is expected.
fn asked_for(state: &State, path: &str) -> String {
    let built = state.place.run(&["graph", "build", "--graph", GRAPH, "--channel", "stable-1.5"]);
    let socket = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = socket.local_addr().unwrap();
    let service = thread::spawn(move || {
        let (mut stream, _) = socket.accept().unwrap();
        let lines = BufReader::new(&stream).lines().map(Result::unwrap);
        let asked = lines.take_while(|line| !line.is_empty()).collect::<Vec<_>>().remove(0);
        let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n";
        write!(stream, "{head}content-length: {}\r\n\r\n{}", built.out.len(), built.out).unwrap();
        asked
    });
    let mut object = state.stored();
    object["spec"]["upstream"] = format!("http://{address}{path}").into();
    fs::write(&state.object, object.to_string()).unwrap();
    let plan = state.run(&["plan", "--component", "platform", "--to", "1.5.0"]);
    assert_data_eq!(&plan.out, file!["golden/upgrade-plan.txt"].raw());
    service.join().unwrap()
}

/// The graph is asked for where the object says, for its channel.
#[test]
fn a_plan_asks_the_upstream_of_the_object() {
    let state = State::component();
    let asked = asked_for(&state, "/api/upgrades_info/graph");
    assert!(asked.starts_with("GET /api/upgrades_info/graph?") && asked.contains("channel=stable-1.5"), "{asked}");
    let fenced =
        state.run(&["plan", "--component", "platform", "--to", "1.5.0", "--graph", GRAPH, "--deny-metrics", "("]);
    assert!(fenced.code == 3 && fenced.err.contains("--deny-metrics is not a regular expression"), "{fenced:?}");
    // An address is taken as it is written, unless it is the base of a service.
    for (upstream, asked) in [
        ("/graph.json", "GET /graph.json?channel="),
        ("/api/upgrades_info/v1", "GET /api/upgrades_info/v1/graph?channel="),
        ("/own/api/upgrades_info/", "GET /own/api/upgrades_info/graph?channel="),
    ] {
        assert!(asked_for(&state, upstream).starts_with(asked), "{upstream}");
    }
    let away = state.run(&["plan", "--component", "platform", "--to", "1.5.0"]);
    assert!(away.code == 3 && away.err.contains("cannot be reached"), "{away:?}");
}

/// U16: what the graph has by now and the object does not know of is not recommended on the object's word.
#[test]
fn a_risk_that_the_object_does_not_know_of_counts() {
    let state = State::component();
    let text = state.text().replace("version: 1.4.3,", "version: 1.5.0,");
    let object: Value = serde_saphyr::from_str(&text).unwrap();
    let mut object = object;
    object["status"]["conditionalUpdates"] = Value::Null;
    fs::write(&state.object, object.to_string()).unwrap();
    let plan = state.run(&["plan", "--component", "platform", "--graph", GRAPH, "--to", "1.5.0", "-o", "json"]);
    let data = plan.json();
    let direct = &data["ways"][0]["hops"][0];
    assert_eq!((&direct["basis"], &direct["recommended"]["status"]), (&json!("graph"), &json!("Unknown")), "{data}");
}

/// One is named, or the other, and nothing is tried in its place.
#[test]
fn a_directory_and_a_cluster_are_never_mixed_up() {
    let state = State::cluster(STORY);
    let both = state.run(&["--kubeconfig", "x"]);
    assert!(both.code == 3 && both.err.contains("cannot be used with --kubeconfig"), "{both:?}");
    let with = |variable: &str, arguments: &[&str]| {
        super::answer(state.place.command(arguments).env("CLEARWAY_STATE", variable).output().unwrap())
    };
    assert_eq!(with("state", &["upgrade"]).code, 0);
    let both = with("state", &["upgrade", "status", "--context", "x"]);
    assert!(both.code == 3 && both.err.contains("(or CLEARWAY_STATE) state cannot be used with"), "{both:?}");
    for (variable, arguments) in [("nowhere", &["upgrade"][..]), ("state", &["upgrade", "--state", "nowhere"])] {
        let wrong = with(variable, arguments);
        assert_eq!(wrong.err, "error: nowhere is not a state directory: `objects` not found in it\n");
        assert!(!state.place.path().join("nowhere").exists(), "and none is made");
    }
    let neither = state.place.run(&["upgrade"]);
    assert!(neither.code == 3 && neither.err.contains("no cluster configured"), "{neither:?}");
}

/// Foreign input: nothing panics, nothing drives the terminal, and what cannot be read is named.
#[test]
fn odd_objects_are_read_as_far_as_they_go() {
    for change in [
        |object: &mut Value| object["status"] = json!(3),
        |object: &mut Value| object["status"] = Value::Null,
        |object: &mut Value| object["spec"] = json!([]),
        |object: &mut Value| object["status"]["conditions"] = json!("none"),
        |object: &mut Value| {
            object["status"]["availableUpdates"] = json!([3, {"version": 1}, {"version": "\u{1b}[2J", "image": "\r"}]);
        },
        |object: &mut Value| {
            object["status"]["conditionalUpdates"] = json!([{}, {"release": {"version": "9.9.9", "image": "x"}}]);
        },
        |object: &mut Value| object["status"]["history"] = json!([{"state": "Odd", "startedTime": "never"}]),
        |object: &mut Value| set(object, condition("Progressing", "Maybe", "\u{1b}]0;x", &"long ".repeat(20_000))),
    ] {
        let state = State::changed(change);
        for arguments in
            [&[][..], &["--include-not-recommended"], &["status"], &["history"], &["-o", "yaml"], &["--to", "9.9.9"]]
        {
            let answer = state.run(arguments);
            assert!((0..=2).contains(&answer.code), "{arguments:?}: {answer:?}");
            assert!(!answer.out.contains('\u{1b}') && !answer.err.contains('\u{1b}'), "{answer:?}");
        }
    }
    let state = State::cluster("kind: Pod\napiVersion: v1\n");
    let other = state.run(&[]);
    assert!(other.code == 3, "{other:?}");
    for text in ["a: [", "- a\n- b\n", "just words", "7"] {
        let answer = State::cluster(text).run(&[]);
        assert!(answer.code == 3 && answer.err.contains("version.yaml is not used: "), "{text}: {answer:?}");
    }
}

/// What else stands in the directory is named, and has no say.
#[test]
fn files_that_are_no_objects_are_named_and_the_rest_goes_on() {
    let state = State::changed(|_| {});
    let good = state.run(&[]);
    let beside = state.place.path().join("state/objects/config.openshift.io/ClusterVersion/_");
    fs::write(beside.join("list.yaml"), "- a\n- b\n").unwrap();
    assert!(Command::new("mkfifo").arg(beside.join("pipe.yaml")).status().unwrap().success());
    fs::create_dir_all(state.place.path().join("state/objects/core/ConfigMap/default")).unwrap();
    let config = state.place.path().join("state/objects/core/ConfigMap/default/out.yaml");
    std::os::unix::fs::symlink("/etc/passwd", config).unwrap();
    let answer = state.run(&[]);
    assert_eq!((answer.code, &answer.out), (good.code, &good.out));
    for named in [
        "list.yaml: the file is not used: it contains a list",
        "pipe.yaml: the file is not used: it is a named pipe",
        "out.yaml: the file is not used: it links to `/etc/passwd`",
    ] {
        assert!(answer.err.contains(named), "{named}: {}", answer.err);
    }
}

/// U8: "where did that edge go?"
#[test]
fn what_the_operator_could_not_use_of_the_graph_is_shown() {
    let message = "One part of the graph could not be used as published (1): 4.6.23 -> 4.7.9 is in both lists";
    let state = State::changed(|object| set(object, condition("RetrievedUpdates", "True", "AsExpected", message)));
    for arguments in [&[][..], &["--include-not-recommended"]] {
        let list = state.run(arguments);
        assert!(list.code == 0 && list.err.contains(&format!("warning: {message}\n")), "{list:?}");
    }
    assert!(state.run(&["status"]).out.contains(message));
}

/// U15: updates that the status cannot hold are named too, all of them.
#[test]
fn updates_that_the_status_cannot_hold_are_named() {
    let lines =
        ["* the update to 4.7.9: a risk has no rule that can be stored", "* the update to 4.7.8: url is no URL"];
    let message = format!("Left out of this status because it cannot be stored:\n{}", lines.join("\n"));
    let state =
        State::changed(|object| set(object, condition("clearway.dev/UpdatesLeftOut", "True", "NotStorable", &message)));
    for arguments in [&[][..], &["--include-not-recommended"]] {
        let list = state.run(arguments);
        assert!(list.code == 0 && list.err.contains(&format!("warning: {message}\n")), "{list:?}");
    }
    let status = state.run(&["status"]);
    assert!(lines.iter().all(|line| status.out.contains(line)), "{status:?}");
    for arguments in [&["-o", "json"][..], &["status", "-o", "json"]] {
        assert_eq!(state.run(arguments).json()["leftOut"], json!([message]));
    }
    assert_eq!(State::cluster(STORY).run(&["status", "-o", "json"]).json().get("leftOut"), None);
}
