//! A world for a reconciler: an object that is stored, a service, a metrics store, and a clock, all of which obey.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use clearway_advice::evidence::{Failure as QueryFailure, FailureClass, ObjectQuestion, Observation, Record};
use clearway_conditions::reason;
use clearway_core::{Digest, EntityTag, Event, GroupKind, Timestamp};
use clearway_promql::Labels;
use clearway_promql::eval::{self, Sample};
use clearway_update::reconciler::{Effect, Input, ObjectRecords, Reconciler, Settings, UpdateMode, UpstreamAnswer};
use clearway_update::rollout::{Failure, PreparedRelease, Progress, Rollout, UpdateRequest};
use clearway_update::upstream::CachedState;
use clearway_update::upstream::Knowledge;
use clearway_update::upstream::{RetrievalError, UpstreamRequest};
use serde_json::{Value, json};

pub(crate) const ID: &str = "8d3c9d26-95cf-4b4e-8d0d-0a1f4e6b7c11";

/// What the update service does.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Service {
    Answers,
    Away,
    Forgets,
    /// Does not answer at all.
    Hangs,
}

/// Everything around a reconciler.
pub(crate) struct World {
    pub(crate) now: Timestamp,
    pub(crate) reconciler: Reconciler,
    pub(crate) object: Value,
    pub(crate) graph: Value,
    /// The graph of multi-architecture releases.
    pub(crate) multi: Value,
    pub(crate) service: Service,
    /// By query: its value, or nothing if it fails.
    pub(crate) metrics: BTreeMap<&'static str, Option<f64>>,
    /// The objects of the cluster.
    pub(crate) objects: Vec<Value>,
    /// Whether queries are answered at all.
    pub(crate) answering: bool,
    /// Whether questions about objects are answered at once.
    pub(crate) looking: bool,
    /// When they were asked.
    pub(crate) looked_at: Vec<Timestamp>,
    /// Those that were not answered.
    pub(crate) looks: Vec<(u64, Vec<(ObjectQuestion, u64)>)>,
    /// How many statuses are overtaken by somebody else's change.
    pub(crate) conflicts: usize,
    /// How many statuses the store does not take.
    pub(crate) failures: usize,
    /// How long the store takes for a status.
    pub(crate) store_time: Duration,
    /// What the store makes of a status.
    pub(crate) stored_as: fn(&mut Value),
    pub(crate) log: Vec<String>,
    /// Every request to the update service, in order.
    pub(crate) requests: Vec<UpstreamRequest>,
    pub(crate) kept: Option<CachedState>,
    /// The answers that were begun to be assessed and are not done.
    pub(crate) assessing: BTreeSet<Digest>,
    /// What preparing a release comes to.
    pub(crate) prepared: Result<PreparedRelease, String>,
    /// Whether applying ends.
    pub(crate) applies: bool,
    /// What keeps it from that.
    pub(crate) failing: Vec<Failure>,
    /// Every event, in order.
    pub(crate) events: Vec<Event>,
    /// What the stored statuses said of `Failing`, in order.
    pub(crate) stored_failing: Vec<String>,
    pub(crate) settings: Settings,
    /// Bytes of memory that an answer may take.
    pub(crate) room: usize,
    version: u64,
}

pub(crate) fn risk(name: &str, query: &str) -> Value {
    json!({
        "name": name, "url": format!("https://example.com/{name}"), "message": format!("{name} is bad."),
        "matchingRules": [{"type": "PromQL", "promql": {"promql": query}}],
    })
}

/// A graph from 1.0.0: one update without risks, and one with each list of risks.
pub(crate) fn graph(conditional: &[(&str, Vec<Value>)]) -> Value {
    let node = |version: &str| json!({"version": version, "payload": format!("example.com/r@{version}"), "metadata": {"url": format!("https://example.com/{version}"), "io.openshift.upgrades.graph.release.channels": "stable-1,fast-1"}});
    let mut nodes = vec![node("1.0.0"), node("1.0.1")];
    nodes.extend(conditional.iter().map(|(version, _)| node(version)));
    let edges: Vec<Value> = conditional
        .iter()
        .map(|(version, risks)| json!({"edges": [{"from": "1.0.0", "to": version}], "risks": risks}))
        .collect();
    json!({"nodes": nodes, "edges": [[0, 1]], "conditionalEdges": edges})
}

pub(crate) fn cluster_version() -> Value {
    json!({
        "apiVersion": "config.openshift.io/v1", "kind": "ClusterVersion",
        "metadata": {"name": "version", "generation": 1, "resourceVersion": "1"},
        "spec": {"clusterID": ID, "channel": "stable-1", "upstream": "https://updates.example.com"},
        "status": {
            "desired": {"version": "1.0.0", "image": "example.com/r@1.0.0"}, "observedGeneration": 1, "versionHash": "",
            "availableUpdates": null,
            "history": [{"state": "Completed", "startedTime": "2026-01-01T00:00:00Z", "completionTime": "2026-01-01T01:00:00Z", "version": "1.0.0", "image": "example.com/r@1.0.0", "verified": true}],
        },
    })
}

pub(crate) fn settings() -> Settings {
    Settings { has_metrics: true, update_mode: UpdateMode::OnRequest, ..Settings::new("amd64".parse().unwrap()) }
}

impl World {
    pub(crate) fn new(graph: Value) -> Self {
        World::with(graph, settings())
    }

    /// The same with other settings.
    pub(crate) fn with(graph: Value, settings: Settings) -> Self {
        World {
            now: "2026-05-04T09:00:00Z".parse().unwrap(),
            reconciler: Reconciler::new(settings.clone()),
            object: cluster_version(),
            graph,
            multi: json!({"nodes": [], "edges": []}),
            service: Service::Answers,
            metrics: BTreeMap::new(),
            objects: Vec::new(),
            answering: true,
            looking: true,
            looked_at: Vec::new(),
            looks: Vec::new(),
            conflicts: 0,
            failures: 0,
            store_time: Duration::ZERO,
            stored_as: |_| {},
            log: Vec::new(),
            requests: Vec::new(),
            kept: None,
            assessing: BTreeSet::new(),
            prepared: Ok(PreparedRelease {
                version: "1.0.1".into(),
                hash: "h".into(),
                verified: true,
                overridden: Vec::new(),
                objects: 3,
            }),
            applies: true,
            failing: Vec::new(),
            events: Vec::new(),
            stored_failing: Vec::new(),
            settings,
            room: usize::MAX,
            version: 1,
        }
    }

    /// Lets the reconciler see the object, and carries out what it wants until it wants nothing.
    pub(crate) fn start(&mut self) {
        let object = self.object.clone();
        self.input(Input::Object(Box::new(object)));
    }

    /// Another process takes over, with what was kept.
    pub(crate) fn restart(&mut self) {
        self.reconciler = Reconciler::new(self.settings.clone());
        if let Some(kept) = self.kept.clone() {
            self.input(Input::Cached { state: Box::new(kept), room: self.room });
        }
        self.start();
    }

    pub(crate) fn input(&mut self, input: Input) {
        let mut inputs = vec![input];
        for _ in 0..1000 {
            let Some(input) = inputs.pop() else { return };
            let effects = self.reconciler.step(input, self.now);
            let outcomes: Vec<Input> = effects.into_iter().flat_map(|effect| self.run_effect(effect)).collect();
            inputs.splice(0..0, outcomes.into_iter().rev());
        }
        panic!("it never rests: {:?}", self.log);
    }

    /// Lets time pass; every step that is due is made at its time.
    pub(crate) fn pass(&mut self, time: Duration) {
        let end = self.now.plus(time);
        for _ in 0..10_000 {
            match self.reconciler.next() {
                Some(next) if next <= end => {
                    self.now = self.now.max(next);
                    self.input(Input::Tick);
                    let again = self.reconciler.next();
                    assert!(again.is_none_or(|again| again > self.now), "it spins at {}: {:?}", self.now, self.log);
                }
                _ => {
                    self.now = end;
                    return;
                }
            }
        }
        panic!("it never rests: {:?}", self.log);
    }

    /// What an administrator changes.
    pub(crate) fn edit(&mut self, edit: impl FnOnce(&mut Value)) {
        edit(&mut self.object);
        self.version += 1;
        self.object["metadata"]["resourceVersion"] = json!(self.version.to_string());
        self.object["metadata"]["generation"] = json!(self.object["metadata"]["generation"].as_i64().unwrap() + 1);
        self.start();
    }

    pub(crate) fn ask_for(&mut self, desired: Value) {
        self.edit(|object| object["spec"]["desiredUpdate"] = desired);
    }

    pub(crate) fn count(&self, what: &str) -> usize {
        self.log.iter().filter(|entry| entry.starts_with(what)).count()
    }

    pub(crate) fn available(&self) -> Vec<String> {
        let list = self.object["status"]["availableUpdates"].as_array().cloned().unwrap_or_default();
        list.iter().map(|release| release["version"].as_str().unwrap().to_owned()).collect()
    }

    /// The status, reason and message of a condition of a conditional update.
    pub(crate) fn recommended(&self, version: &str) -> (String, String, String) {
        let list = self.object["status"]["conditionalUpdates"].as_array().unwrap();
        let update = list.iter().find(|update| update["release"]["version"] == version).expect(version);
        find(&update["conditions"], "Recommended")
    }

    pub(crate) fn condition(&self, type_: &str) -> (String, String, String) {
        find(&self.object["status"]["conditions"], type_)
    }

    fn run_effect(&mut self, effect: Effect) -> Vec<Input> {
        match effect {
            Effect::Fetch { ask, known, digest, again } => {
                self.log.push(format!("fetch{}", if again { " again" } else { "" }));
                self.requests.push(ask.clone());
                let fetched = self.fetch(ask, known.as_ref());
                // As the operator does before it reads an answer.
                if let Some(Input::Fetched { outcome: Ok(UpstreamAnswer::Knowledge(knowledge, _)), .. }) = &fetched
                    && digest.as_ref() != Some(&knowledge.digest)
                {
                    self.assessing.insert(knowledge.digest.clone());
                }
                fetched.into_iter().collect()
            }
            Effect::Assessed(digest) => {
                self.log.push("assessed".into());
                self.assessing.remove(&digest);
                Vec::new()
            }
            Effect::Evaluate(round) => {
                self.log.push(format!("evaluate {}", round.queries.len()));
                if !self.answering {
                    return Vec::new();
                }
                round.queries.into_iter().map(|query| Input::Evidence { result: self.value(&query), query }).collect()
            }
            Effect::Look { number, questions } => {
                self.log.push(format!("look {}", questions.len()));
                self.looked_at.push(self.now);
                if !self.looking {
                    self.looks.push((number, questions));
                    return Vec::new();
                }
                vec![Input::Looked { number, objects: self.look(questions) }]
            }
            Effect::Store(object) => {
                self.log.push("store".into());
                self.now = self.now.plus(self.store_time);
                if self.conflicts > 0 {
                    self.conflicts -= 1;
                    return vec![Input::Overtaken(Box::new(self.object.clone()))];
                }
                if self.failures > 0 {
                    self.failures -= 1;
                    return vec![Input::Stored(Err("no answer".into()))];
                }
                self.version += 1;
                self.object = *object;
                (self.stored_as)(&mut self.object["status"]);
                self.stored_failing.push(self.condition("Failing").0);
                self.object["metadata"]["resourceVersion"] = json!(self.version.to_string());
                vec![Input::Stored(Ok(Box::new(self.object.clone())))]
            }
            Effect::Prepare(request) => {
                self.log.push(format!("prepare {}", request.release.image));
                vec![Input::Rollout(self.prepare(request))]
            }
            Effect::Apply(request, prepared) => {
                self.log.push(format!("apply {}", request.release.image));
                let waiting_on = vec!["Deployment shop/web".into()];
                let progress = Progress { done: 1, total: 3, waiting_on, ..Progress::default() };
                let progress = progress.with_failures(self.failing.clone());
                let mut works = vec![Input::Rollout(Rollout::Applying {
                    request: request.clone(),
                    prepared: prepared.clone(),
                    progress,
                })];
                if self.applies {
                    works.push(Input::Rollout(Rollout::Done { request, prepared, at: self.now }));
                }
                works
            }
            Effect::Stop => {
                self.log.push("stop".into());
                Vec::new()
            }
            Effect::Record(event) => {
                self.log.push(format!("tell {} {}", event.reason, event.message));
                self.events.push(event);
                Vec::new()
            }
            Effect::Cache(kept) => {
                self.log.push("keep".into());
                self.kept = Some(*kept);
                Vec::new()
            }
        }
    }

    /// What the objects say to questions.
    pub(crate) fn look(&self, questions: Vec<(ObjectQuestion, u64)>) -> ObjectRecords {
        let answer = |(question, steps): (ObjectQuestion, u64)| {
            let mut tally = question.tally(steps);
            for object in &self.objects {
                if GroupKind::of(object).as_ref() == Some(&question.request().kind) {
                    tally.add(object);
                }
            }
            let record = match tally.finish() {
                Ok(value) => Record::Answered(Observation {
                    value,
                    observed_at: self.now,
                    source: "the cluster".into(),
                    reproduce: None,
                    warnings: Vec::new(),
                }),
                Err(failure) => Record::Failed(failure),
            };
            (question.text().to_owned(), record)
        };
        ObjectRecords { at: self.now, records: questions.into_iter().map(answer).collect() }
    }

    fn prepare(&self, request: UpdateRequest) -> Rollout {
        match &self.prepared {
            Ok(prepared) => Rollout::Accepted { request, prepared: prepared.clone() },
            Err(why) => {
                Rollout::NotAccepted { request, step: clearway_update::rollout::Step::Retrieve, why: why.clone() }
            }
        }
    }

    /// What the service answers.
    pub(crate) fn fetch(&self, ask: UpstreamRequest, known: Option<&EntityTag>) -> Option<Input> {
        let trouble = |reason, passing| RetrievalError {
            reason,
            message: "Unable to retrieve available updates: no".into(),
            passing,
            answered: !passing,
        };
        let body = if ask.arch.as_str() == "multi" { &self.multi } else { &self.graph }.to_string();
        let tag = format!("\"{}\"", body.len());
        let outcome = match self.service {
            Service::Hangs => return None,
            Service::Away => Err(trouble(reason!("RemoteFailed"), true)),
            Service::Forgets => Err(trouble(reason!("VersionNotFound"), false)),
            Service::Answers if known.is_some_and(|known| known.as_str() == tag) => Ok(UpstreamAnswer::NotModified),
            Service::Answers => {
                let knowledge = Knowledge::read(body.as_bytes(), &ask.version, self.now, &self.settings.advice);
                let knowledge = knowledge.map_err(|error| RetrievalError::of_answer(&error, &ask));
                let knowledge = knowledge.and_then(|knowledge| match knowledge.memory() {
                    bytes if bytes > self.room => {
                        Err(RetrievalError::of_memory("ClusterVersion version", bytes, self.room))
                    }
                    _ => Ok(knowledge),
                });
                knowledge.map(|knowledge| UpstreamAnswer::Knowledge(Box::new(knowledge), EntityTag::new(&tag)))
            }
        };
        Some(Input::Fetched { ask, outcome })
    }

    /// What the metrics store says to a query.
    pub(crate) fn value(&self, query: &str) -> Result<Observation<eval::Value>, QueryFailure> {
        match self.metrics.get(query) {
            Some(Some(value)) => Ok(Observation {
                value: eval::Value::Vector(vec![Sample { labels: Labels::default(), value: *value }]),
                observed_at: self.now,
                source: "https://prometheus.example.com".into(),
                reproduce: None,
                warnings: Vec::new(),
            }),
            Some(None) => Err(QueryFailure::new(FailureClass::Timeout, "no complete answer within 30s")),
            None => Err(QueryFailure::new(FailureClass::Unreachable, "connection refused")),
        }
    }
}

fn find(conditions: &Value, type_: &str) -> (String, String, String) {
    let list = conditions.as_array().unwrap();
    let found =
        list.iter().find(|condition| condition["type"] == type_).unwrap_or_else(|| panic!("no {type_}: {conditions}"));
    let word = |field: &str| found[field].as_str().unwrap_or_default().to_owned();
    (word("status"), word("reason"), word("message"))
}
