//! `--watch`: follows with progress to the end, whatever that is; the test is the operator.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use clearway_core::{GroupVersionKind, ObjectReference};
use clearway_sources::store::{Part, StateDirectory, Store as _};
use clearway_update::api::{Kind as Versions, SINGLETON};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use super::{STORY, State, condition};
use crate::Answer;

/// How long anything may take, on a busy machine.
const SOON: Duration = clearway_testbed::IN_TIME;

/// A run that goes on.
struct Running {
    child: Child,
    said: mpsc::Receiver<String>,
    err: String,
}

impl Running {
    fn start(state: &State, arguments: &[&str]) -> Self {
        let arguments = [&["upgrade", "--state", "state"], arguments].concat();
        let mut command = state.place.command(&arguments);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let (sender, said) = mpsc::channel();
        let lines = BufReader::new(child.stderr.take().unwrap()).lines();
        thread::spawn(move || lines.map_while(Result::ok).try_for_each(|line| sender.send(line)));
        Running { child, said, err: String::new() }
    }

    /// Waits until it has said this on standard error.
    #[track_caller]
    fn until(&mut self, text: &str) {
        while !self.err.contains(text) {
            match self.said.recv_timeout(SOON) {
                Ok(line) => self.err = format!("{}{line}\n", self.err),
                Err(error) => panic!("{error}: no `{text}` in {}", self.err),
            }
        }
    }

    fn end(mut self) -> Answer {
        while let Ok(line) = self.said.recv_timeout(SOON) {
            self.err = format!("{}{line}\n", self.err);
        }
        let answer = super::super::answer(self.child.wait_with_output().unwrap());
        Answer { err: self.err, ..answer }
    }
}

/// Writes as the operator does.
fn report(state: &State, change: impl FnOnce(&mut Value)) {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let store = StateDirectory::open(&state.place.path().join("state")).unwrap();
        let kind = GroupVersionKind::new(Versions::ClusterVersion.api_version(), Versions::ClusterVersion.as_str());
        let mut object = store.get(&ObjectReference::cluster_scoped(kind, SINGLETON)).await.unwrap().unwrap();
        object["status"]["observedGeneration"] = object["metadata"]["generation"].clone();
        change(&mut object);
        store.replace_status(&object).await.unwrap();
    });
}

fn ask(state: &State, spec: &Value) {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let store = StateDirectory::open(&state.place.path().join("state")).unwrap();
        let kind = GroupVersionKind::new(Versions::ClusterVersion.api_version(), Versions::ClusterVersion.as_str());
        let key = ObjectReference::cluster_scoped(kind, SINGLETON);
        store.patch(&key, Part::Main, &json!({"spec": spec})).await.unwrap();
    });
}

fn begun(object: &mut Value, message: &str) {
    let update = object["spec"]["desiredUpdate"].clone();
    let entry = json!({
        "state": "Partial", "startedTime": "2021-08-28T02:00:00Z", "completionTime": null, "verified": true,
        "version": update["version"], "image": update["image"],
    });
    let history = object["status"]["history"].as_array_mut().unwrap();
    if history[0]["version"] != update["version"] {
        history.insert(0, entry);
    }
    super::set(object, condition("Progressing", "True", "Updating", message));
}

fn completed(object: &mut Value) {
    begun(object, "");
    let entry = &mut object["status"]["history"][0];
    entry["state"] = "Completed".into();
    entry["completionTime"] = "2021-08-28T03:00:00Z".into();
    super::set(object, condition("Progressing", "False", "AsExpected", "Cluster version is 4.6.43"));
}

#[test]
fn an_update_is_followed_to_its_end() {
    let state = State::cluster(STORY);
    let mut watch = Running::start(&state, &["--to", "4.6.43", "--watch"]);
    watch.until("Cluster: the operator has not observed the latest spec yet; 4.6.43 is requested");
    report(&state, |_| ());
    watch.until("Cluster: 4.6.43 is requested, and being checked");
    report(&state, |object| begun(object, "Working towards 4.6.43: 1 of 2 done (50% complete)"));
    watch.until("Cluster is updating to 4.6.43 from 4.6.23: Working towards 4.6.43: 1 of 2 done (50% complete)");
    report(&state, completed);
    let end = watch.end();
    assert_eq!((end.code, end.out.as_str()), (0, "Requested update to 4.6.43\nCluster is at 4.6.43.\n"), "{end:?}");
    assert_eq!(state.run(&["status", "--watch"]).code, 0, "at rest there is nothing to wait for");
}

#[test]
fn a_failure_is_believed_after_a_while_and_a_wrong_spec_at_once() {
    let state = State::cluster(STORY);
    let mut watch = Running::start(&state, &["--to", "4.6.43", "--watch", "--patience", "2s"]);
    watch.until("not observed the latest spec");
    report(&state, |object| {
        begun(object, "Unable to apply 4.6.43");
        super::set(object, condition("Failing", "True", "UpdateFailed", "it does not work"));
    });
    let end = watch.end();
    assert!(end.code == 1 && end.err.contains("(--patience)"), "{end:?}");
    assert!(end.err.contains("with an error (UpdateFailed): it does not work"), "{end:?}");

    let state = State::cluster(STORY);
    let mut watch = Running::start(&state, &["--to", "4.6.43", "--watch"]);
    watch.until("not observed the latest spec");
    report(&state, |object| {
        super::set(object, condition("Invalid", "True", "InvalidClusterVersion", "no such version"));
    });
    let end = watch.end();
    assert_eq!(end.code, 1, "{end:?}");
}

#[test]
fn following_ends_when_the_clock_the_person_or_another_request_says_so() {
    let state = State::cluster(STORY);
    let late = state.run(&["--to", "4.6.43", "--watch", "--timeout", "5s"]);
    assert!(late.code == 2 && late.err.contains("timed out after 5s (--timeout); the update continues"), "{late:?}");

    let mut watch = Running::start(&state, &["status", "--watch"]);
    watch.until("4.6.43 is requested");
    kill_process(Pid::from_child(&watch.child), Signal::INT).unwrap();
    let end = watch.end();
    assert!(end.code == 2 && end.err.contains("stopped watching; the update continues"), "{end:?}");

    for (spec, said) in [
        (json!({"desiredUpdate": {"version": "4.6.42", "image": "x"}}), "4.6.42 has been requested instead"),
        (json!({"desiredUpdate": null}), "the request was cancelled"),
    ] {
        let state = State::cluster(STORY);
        let mut watch = Running::start(&state, &["--to", "4.6.43", "--watch"]);
        watch.until("not observed the latest spec");
        ask(&state, &spec);
        let end = watch.end();
        assert!(end.code == 1 && end.err.contains(said), "{end:?}");
    }
}

#[test]
fn what_is_followed_is_a_stream_of_events_for_programs() {
    let state = State::cluster(STORY);
    let mut watch = Running::start(&state, &["--to", "4.6.43", "--watch", "-o", "json"]);
    let object = state.object.clone();
    // Nothing is said on standard error, so the request itself is what is waited for.
    let asked = || std::fs::read_to_string(&object).unwrap().contains("desiredUpdate");
    let started = std::time::Instant::now();
    while !asked() {
        assert!(started.elapsed() < SOON && watch.child.try_wait().unwrap().is_none());
        thread::yield_now();
    }
    report(&state, completed);
    let end = watch.end();
    assert_eq!(end.code, 0, "{end:?}");
    let events: Vec<Value> = end.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(events[0]["event"], "requested");
    let last = events.last().unwrap();
    assert_eq!((&last["event"], &last["state"]), (&json!("end"), &json!("current")));
}
