//! The operator under attack: on a state directory, with a ClusterVersion at 1.0.0 that follows the channel `c`.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use clearway_core::Digest;
use clearway_testbed::IN_TIME;
use serde_json::{Value, json};

use crate::program::{MARKER, OPERATOR, Service, shortened};

const OBJECT: &str = "objects/config.openshift.io/ClusterVersion/_/version.yaml";

/// An operator and its state directory.
pub(crate) struct Operator {
    state: PathBuf,
    service: Service,
}

/// Writes a state directory: the ClusterVersion, an object with something to hide, and a feed of metrics.
pub(crate) fn write_state(state: &Path) {
    let write = |path: &str, text: String| {
        let path = state.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    let history = json!([{
        "state": "Completed", "version": "1.0.0", "image": "r.example.com/p:1.0.0", "verified": false,
        "startedTime": "2026-01-01T00:00:00Z", "completionTime": "2026-01-01T00:00:00Z",
    }]);
    let version = json!({
        "apiVersion": "config.openshift.io/v1", "kind": "ClusterVersion", "metadata": {"name": "version"},
        "spec": {"clusterID": "0d9fd3a5-8b7e-4b7a-9a52-1d4a5a4a1f6c", "channel": "c"},
        "status": {"desired": {"version": "1.0.0", "image": "r.example.com/p:1.0.0"}, "history": history,
                   "observedGeneration": 1, "versionHash": "", "availableUpdates": null},
    });
    write(OBJECT, version.to_string());
    for (group, kind, name) in [("core", "ConfigMap", "disks"), ("core", "Secret", "login"), ("core", "Node", "one")] {
        let namespace = if kind == "Node" { "_" } else { "shop" };
        let mut metadata = json!({"name": name, "annotations": {"note": MARKER}});
        if kind != "Node" {
            metadata["namespace"] = namespace.into();
        }
        let object = json!({"apiVersion": "v1", "kind": kind, "metadata": metadata, "data": {"key": MARKER}});
        write(&format!("objects/{group}/{kind}/{namespace}/{name}.yaml"), object.to_string());
    }
    write(
        "metrics/feed.prom",
        format!("# TYPE broken gauge\nbroken 0\n# TYPE labelled gauge\nlabelled{{secret=\"{MARKER}\"}} 1\n"),
    );
}

/// Writes a ComponentVersion at 1.0.0 that follows the channel of its name.
pub(crate) fn write_component(state: &Path, name: &str) {
    let image = "r.example.com/p:1.0.0";
    let history = json!([{
        "state": "Completed", "version": "1.0.0", "image": image, "verified": false,
        "startedTime": "2026-01-01T00:00:00Z", "completionTime": "2026-01-01T00:00:00Z",
    }]);
    let object = json!({
        "apiVersion": "clearway.dev/v1alpha1", "kind": "ComponentVersion", "metadata": {"name": name},
        "spec": {"clusterID": "0d9fd3a5-8b7e-4b7a-9a52-1d4a5a4a1f6c", "channel": name},
        "status": {"desired": {"version": "1.0.0", "image": image}, "history": history,
                   "observedGeneration": 1, "versionHash": "", "availableUpdates": null},
    });
    let path = component_path(state, name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, object.to_string()).unwrap();
}

fn component_path(state: &Path, name: &str) -> PathBuf {
    state.join(format!("objects/clearway.dev/ComponentVersion/_/{name}.yaml"))
}

/// Asks for an update to a release by its image.
pub(crate) fn ask_for(state: &Path, image: &str) {
    let path = state.join(OBJECT);
    let mut object: Value = serde_saphyr::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    object["spec"]["desiredUpdate"] = json!({"image": image, "force": true});
    fs::write(path, object.to_string()).unwrap();
}

/// Marks in what operators keep over a restart that each of these answers has ended one of them.
pub(crate) fn mark_deaths(place: &Path, answers: &[Digest]) {
    let directory = place.join("state/objects/core/ConfigMap/clearway");
    let path = fs::read_dir(directory).unwrap().next().unwrap().unwrap().path();
    let mut object: Value = serde_saphyr::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    let now = clearway_core::Timestamp::from_seconds(
        i64::try_from(std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs()).unwrap(),
    )
    .unwrap();
    let attempts: Vec<Value> = answers.iter().map(|answer| json!({"digest": answer, "at": now})).collect();
    object["data"]["assessing"] = json!(attempts).to_string().into();
    fs::write(path, object.to_string()).unwrap();
}

/// Where the lease of the leader is.
pub(crate) fn lease_path(place: &Path) -> PathBuf {
    place.join("state/objects/coordination.k8s.io/Lease/clearway/clearway-operator.yaml")
}

/// Removes the lease of an operator that was ended at once, so that the next one need not wait until it has run out.
pub(crate) fn remove_lease(place: &Path) {
    fs::remove_file(lease_path(place)).unwrap();
}

impl Operator {
    pub(crate) fn start(place: &Path, more: &[&str]) -> Self {
        let state = place.join("state");
        if !state.exists() {
            write_state(&state);
        }
        // Short ones, unless the test has others.
        let intervals = [["--fetch-every", "1s"], ["--between-rounds", "1s"], ["--between-answers", "1s"]];
        let intervals: Vec<&str> = intervals.into_iter().filter(|[name, _]| !more.contains(name)).flatten().collect();
        let arguments = [
            &["operator", "--state", state.to_str().unwrap(), "--status-listen", "127.0.0.1:0", "--arch", "amd64"][..],
            &["--log", "info"],
            &intervals,
            more,
        ]
        .concat();
        let service = Service::start(place, &arguments);
        Operator { state, service }
    }

    /// The status of the ClusterVersion.
    pub(crate) fn status(&self) -> Value {
        Operator::status_of(&fs::read_to_string(self.state.join(OBJECT)).unwrap())
    }

    /// The status in the text of an object.
    fn status_of(text: &str) -> Value {
        let object: Value = serde_saphyr::from_str(text).unwrap();
        assert!(!object["status"].to_string().contains(MARKER), "the status tells a value of the cluster");
        object["status"].clone()
    }

    /// Waits until the status is so.
    pub(crate) fn until(&mut self, what: &str, holds: impl Fn(&Value) -> bool) -> Value {
        self.until_in(&self.state.join(OBJECT), what, holds)
    }

    /// The same of a ComponentVersion.
    pub(crate) fn until_component(&mut self, name: &str, what: &str, holds: impl Fn(&Value) -> bool) -> Value {
        self.until_in(&component_path(&self.state, name), &format!("{name} {what}"), holds)
    }

    fn until_in(&mut self, path: &Path, what: &str, holds: impl Fn(&Value) -> bool) -> Value {
        let begin = Instant::now();
        // A status may have a megabyte: it is read again only when it was written again.
        let mut text = fs::read_to_string(path).unwrap();
        loop {
            let status = Operator::status_of(&text);
            if holds(&status) {
                return status;
            }
            let before = text;
            text = loop {
                self.service.is_well();
                let (shown, words) = (|| shortened(&status.to_string()), || self.service.last_words());
                assert!(begin.elapsed() < IN_TIME, "{what}: not so\n{}\n{}", shown(), words());
                thread::sleep(Duration::from_millis(50));
                let text = fs::read_to_string(path).unwrap();
                if text != before {
                    break text;
                }
            };
        }
    }

    /// Waits until the note says that so many processes began to assess one answer, and not the other.
    pub(crate) fn until_assessing(&mut self, answer: &Digest, processes: usize, not: &Digest) {
        let begin = Instant::now();
        loop {
            let note = self.note();
            let count = note.matches(&answer.to_string()).count();
            if count == processes && !note.contains(&not.to_string()) {
                return;
            }
            self.service.is_well();
            assert!(begin.elapsed() < IN_TIME, "{answer} is not assessed: {note}\n{}", self.service.last_words());
            thread::sleep(Duration::from_millis(10));
        }
    }

    /// Waits until an answer is kept for the next process.
    pub(crate) fn until_cached(&mut self) {
        let begin = Instant::now();
        while !self.kept_objects().iter().any(|object| object["binaryData"].is_object()) {
            self.service.is_well();
            assert!(begin.elapsed() < IN_TIME, "nothing is kept\n{}", self.service.last_words());
            thread::sleep(Duration::from_millis(10));
        }
    }

    /// Which answers are being assessed, or were when a process ended.
    fn note(&self) -> String {
        self.kept_objects().iter().filter_map(|object| object["data"]["assessing"].as_str()).collect()
    }

    /// What is kept for the next process.
    fn kept_objects(&self) -> Vec<Value> {
        let directory = self.state.join("objects/core/ConfigMap/clearway");
        let files = fs::read_dir(directory).into_iter().flatten().flatten();
        // A file that was being written (`.new-…`) when a process was ended stays there, and is not an object.
        let files = files.filter(|file| !file.file_name().to_string_lossy().starts_with('.'));
        let texts = files.filter_map(|file| fs::read_to_string(file.path()).ok());
        texts.filter_map(|text| serde_saphyr::from_str(&text).ok()).collect()
    }

    /// Ends it at once.
    pub(crate) fn kill(self) {
        self.service.kill();
    }

    /// Waits for a line of its log.
    pub(crate) fn line_with(&mut self, text: &str) -> String {
        self.service.line_with(&[text])
    }

    /// What it has logged.
    pub(crate) fn log(&self) -> String {
        self.service.log()
    }

    /// Asks it to end, twice at one moment.
    pub(crate) fn signal_twice(&self) {
        self.service.signal_twice();
    }

    /// How long it has computed to reconcile objects and evaluate rules, and how long for everything else.
    pub(crate) fn computing_times(&self) -> (Duration, Duration) {
        self.service.computing_times("reconciler")
    }

    /// Waits until it has ended: its exit code.
    pub(crate) fn ended(mut self) -> Option<i32> {
        self.service.wait();
        self.service.code()
    }

    /// Ends it, and looks through all that it wrote.
    pub(crate) fn end(self) {
        self.service.end(OPERATOR);
        let log = fs::read_to_string(self.state.join("events.log")).unwrap_or_default();
        assert!(!log.contains(MARKER), "an event tells a value of the cluster");
    }
}

/// What is advised about a version: its status, reason and message.
pub(crate) fn advice(status: &Value, version: &str) -> Option<(String, String)> {
    let is = |update: &&Value| update["version"] == version;
    if status["availableUpdates"].as_array().into_iter().flatten().any(|update| is(&update)) {
        return Some(("True".to_owned(), String::new()));
    }
    let conditional = status["conditionalUpdates"].as_array()?.iter().find(|update| is(&&update["release"]))?;
    let recommended = conditional["conditions"].as_array()?.iter().find(|one| one["type"] == "Recommended")?;
    Some((recommended["status"].as_str()?.to_owned(), recommended["message"].as_str().unwrap_or_default().to_owned()))
}

/// Whether a version is recommended.
pub(crate) fn is_recommended(status: &Value, version: &str) -> bool {
    advice(status, version).is_some_and(|(status, _)| status == "True")
}

/// The reason of a condition of the ClusterVersion.
pub(crate) fn reason<'a>(status: &'a Value, type_: &str) -> &'a str {
    field(status, type_, "reason")
}

/// The message of a condition of the ClusterVersion.
pub(crate) fn message<'a>(status: &'a Value, type_: &str) -> &'a str {
    field(status, type_, "message")
}

fn field<'a>(status: &'a Value, type_: &str, field: &str) -> &'a str {
    let mut conditions = status["conditions"].as_array().into_iter().flatten();
    conditions.find(|one| one["type"] == type_).and_then(|one| one[field].as_str()).unwrap_or_default()
}
