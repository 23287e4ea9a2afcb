//! `clearway status wait`: watches objects until they are current or failed, or a time limit passes.
//!
//! The deciding is done by [`Wait`], which has neither a clock nor a connection; here is the loop that feeds it.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use anyhow::{Result, bail};
use clearway_conditions::Object;
use clearway_conditions::health::wait::{Clock, Clocks, Decision, Observation, Outcome, Progress, Wait};
use clearway_conditions::health::{State, Tally, progress_token};
use clearway_core::{ObjectId, ObjectReference, Severity, Timestamp, humanize};
use clearway_sources::clock;
use clearway_sources::kubernetes::{ClusterError, Resource, WatchEvent};
use clearway_yaml::{Source, Tape};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::live_objects::{FetchResult, Group, LiveObjects};
use super::related_objects::{RelatedObjects, Schemas};
use super::show;
use crate::arguments::{self, DataFormat};
use crate::exit::Exit;
use crate::output::{self, LiveLine};

/// How often a workload on its way is looked at again: its pods may fail without a word in its own status.
const LOOK_AGAIN: Duration = Duration::from_secs(5);
/// The kinds a workload's own pods are found through.
const POD_KINDS: [(&str, &str); 2] = [("apps", "ReplicaSet"), ("", "Pod")];
/// How long a workload's own pods may take to be found, before it is judged by what it says of itself.
const PODS_WITHIN: Duration = Duration::from_secs(5);
/// How long after the start nothing need be heard of anything.
const FIRST_WORD: Duration = Duration::from_secs(2);
/// The kind that defines others.
const DEFINITION: &str = "CustomResourceDefinition";
/// How often something is printed although nothing changed, where there is no live line.
const HEARTBEAT: Duration = Duration::from_mins(1);

/// Runs the command.
pub(super) async fn run(options: &arguments::Wait) -> Result<Exit> {
    super::require_named(&options.selection)?;
    let live = LiveObjects::open(&options.selection.connection).await?;
    let groups = targets(&live, options).await?;
    let ids = groups.iter().flat_map(|group| group.names.iter().map(|name| id(group, name)));
    let clocks = Clocks {
        total: options.timeout,
        per_object: options.per_object,
        no_progress: options.no_progress,
        settle: options.settle,
        patience: options.patience,
        fail_fast: options.fail_fast,
        ..Clocks::default()
    };
    let started = clock::now();
    let wait = Wait::new(ids, clocks, started);
    let (sender, seen) = mpsc::channel(256);
    for group in &groups {
        let namespace = group.namespace.clone().unwrap_or_default();
        let names: BTreeSet<String> = group.names.iter().cloned().collect();
        let mut one = live.cluster.follow(&group.resource, &namespace, names);
        let (sender, group) = (sender.clone(), group.clone());
        tokio::spawn(async move {
            while let Some(seen) = one.recv().await {
                if sender.send((group.clone(), seen)).await.is_err() {
                    return;
                }
            }
        });
    }
    drop(sender);
    let schemas = live.schemas(&groups).await;
    let display = Display::new(options.output.format);
    let watcher = Watcher {
        live,
        schemas,
        wait,
        seen,
        started,
        end: started.plus(options.timeout),
        targets: groups.iter().map(|group| group.names.len()).sum(),
        objects: BTreeMap::new(),
        judged: BTreeSet::new(),
        heard: BTreeSet::new(),
        display,
    };
    finish(&watcher.run().await?, options)
}

/// What is waited for: what the command line names, or the objects in files.
async fn targets(live: &LiveObjects, options: &arguments::Wait) -> Result<Vec<Group>> {
    let selection = &options.selection;
    if selection.files.is_empty() {
        let mut groups = live.groups(selection)?;
        for group in groups.iter_mut().filter(|group| group.names.is_empty()) {
            // A kind without names means those that are there now.
            let mut names = Vec::new();
            let wanted = Group { names: Vec::new(), ..group.clone() };
            live.fetch(&[wanted], selection.selector.as_deref(), |fetched| match fetched {
                FetchResult::Object(object) => {
                    names.extend(object["metadata"]["name"].as_str().map(str::to_owned));
                    Ok(())
                }
                FetchResult::Failed(error) => Err(error.into()),
                FetchResult::Missing { .. } => Ok(()),
            })
            .await?;
            if group.namespace.is_none() && group.resource.namespaced {
                bail!("pass a namespace with -n: `wait` supports one namespace");
            }
            if names.is_empty() {
                bail!("no {} found to wait for", group.resource);
            }
            group.names = names;
        }
        return Ok(groups);
    }
    from_files(live, selection)
}

/// The objects in files. A kind that is not served yet is waited for if its definition is among them.
fn from_files(live: &LiveObjects, selection: &arguments::Selection) -> Result<Vec<Group>> {
    let mut objects: Vec<(ObjectId, String)> = Vec::new();
    let mut definitions: Vec<Value> = Vec::new();
    super::read_files(
        &selection.files,
        selection.max_file_size,
        super::Repeats::Once,
        |kind, field| field != "spec" || kind.is_none_or(|kind| kind == DEFINITION),
        |object| {
            objects.push((object.id(), object.api_version().to_owned()));
            if object.kind() == DEFINITION {
                definitions.push(object.root.to_json());
            }
            Ok(())
        },
        |problem| match problem.severity {
            Severity::Info => Ok(()),
            _ => bail!("{}", clearway_core::diagnostic::terminal::render(&problem, false)),
        },
    )?;
    let mut wanted: BTreeMap<(Resource, Option<String>), Vec<String>> = BTreeMap::new();
    for (id, api_version) in objects {
        let version = api_version.rsplit('/').next().unwrap_or_default();
        let defined = || definitions.iter().filter_map(|definition| Resource::defined_by(definition, version));
        let resource = live
            .catalog
            .of(&id.group, &id.kind)
            .cloned()
            .or_else(|| defined().find(|resource| resource.kind.group_kind() == id.group_kind()));
        let Some(resource) = resource else {
            bail!("kind {} in {api_version} not found in the cluster or the files", id.kind);
        };
        let namespace = resource.namespaced.then(|| match id.namespace.as_str() {
            "" => live.cluster.default_namespace().to_owned(),
            namespace => namespace.to_owned(),
        });
        wanted.entry((resource, namespace)).or_default().push(id.name);
    }
    Ok(wanted.into_iter().map(|((resource, namespace), names)| Group { resource, namespace, names }).collect())
}

fn id(group: &Group, name: &str) -> ObjectId {
    let namespace = group.namespace.clone().unwrap_or_default();
    ObjectReference { kind: group.resource.kind.clone(), namespace, name: name.to_owned() }.id()
}

/// The loop between the cluster and the machine that decides.
struct Watcher {
    live: LiveObjects,
    schemas: Schemas,
    wait: Wait,
    seen: mpsc::Receiver<(Group, WatchEvent)>,
    started: Timestamp,
    end: Timestamp,
    /// Every target as it was last seen: some verdicts change with time alone.
    objects: BTreeMap<ObjectId, Value>,
    /// The targets that were judged at least once.
    judged: BTreeSet<ObjectId>,
    /// The targets of which anything was heard.
    heard: BTreeSet<ObjectId>,
    /// How many targets there are.
    targets: usize,
    display: Display,
}

impl Watcher {
    async fn run(mut self) -> Result<Outcome> {
        let stop = tokio::signal::ctrl_c();
        tokio::pin!(stop);
        let mut look_again = clock::now().plus(LOOK_AGAIN);
        loop {
            let now = clock::now();
            let until = match self.wait.step(now) {
                Decision::Done(outcome) => return Ok(outcome),
                Decision::Wait { until } => until,
            };
            // That not all were heard of in the first moment is no news.
            if self.heard.len() >= self.targets || now.since(self.started) >= FIRST_WORD {
                self.display.show(self.wait.progress(now), now);
            }
            let due = until.min(look_again);
            let pause = due.since(now).max(Duration::from_secs(1));
            let pause = if self.display.is_live() { pause.min(Duration::from_secs(1)) } else { pause };
            tokio::select! {
                next = self.seen.recv() => match next {
                    Some((group, seen)) => self.apply_event(&group, seen).await?,
                    None => bail!("the connection to the cluster was closed"),
                },
                () = tokio::time::sleep(pause) => if clock::now() >= due {
                    look_again = clock::now().plus(LOOK_AGAIN);
                    self.judge_again().await;
                },
                _ = &mut stop => bail!("stopped while waiting; nothing was changed"),
            }
        }
    }

    async fn apply_event(&mut self, group: &Group, seen: WatchEvent) -> Result<()> {
        let now = clock::now();
        match seen {
            WatchEvent::Object(object) => {
                let id = id(group, object["metadata"]["name"].as_str().unwrap_or_default());
                self.judge(&id, &object, now).await;
                self.heard.insert(id.clone());
                self.objects.insert(id, *object);
            }
            WatchEvent::Gone { name } => {
                let id = id(group, &name);
                self.objects.remove(&id);
                self.wait.observe(&id, Observation::NotFound, now);
                self.heard.insert(id);
            }
            // Whoever may not look at the start will not be allowed to by waiting.
            WatchEvent::Trouble { error: error @ ClusterError::Forbidden { .. } }
                if !group.names.iter().any(|name| self.objects.contains_key(&id(group, name))) =>
            {
                return Err(error.into());
            }
            // The definition of the kind is still to come.
            WatchEvent::Trouble { error: ClusterError::NoSuchKind { .. } } => {
                for id in group.names.iter().map(|name| id(group, name)) {
                    self.wait.observe(&id, Observation::NotFound, now);
                    self.heard.insert(id);
                }
            }
            WatchEvent::Trouble { error } => {
                for id in group.names.iter().map(|name| id(group, name)) {
                    self.wait.observe(&id, Observation::Unreachable { why: error.to_string() }, now);
                    self.heard.insert(id);
                }
            }
        }
        Ok(())
    }

    async fn judge_again(&mut self) {
        let now = clock::now();
        for (id, object) in std::mem::take(&mut self.objects) {
            self.judge(&id, &object, now).await;
            self.objects.insert(id, object);
        }
    }

    async fn judge(&mut self, id: &ObjectId, value: &Value, now: Timestamp) {
        let mut family = RelatedObjects::new(now, self.schemas.clone());
        family.add_value(value);
        let workload = matches!(id.kind.as_str(), "Deployment" | "ReplicaSet" | "StatefulSet");
        if workload && family.any(State::InProgress) {
            let known = value["metadata"]["uid"].as_str().map(str::to_owned).into_iter().collect();
            let namespaces = [Some(id.namespace.clone())].into();
            let pods = self.live.add_owned(&POD_KINDS, &namespaces, known, &mut family);
            // The clocks go on meanwhile, so nobody waits here for long.
            let limit = PODS_WITHIN.min(self.end.since(now)).max(Duration::from_secs(1));
            let seen = match tokio::time::timeout(limit, pods).await {
                Ok(Ok(())) => true,
                // Who may not read pods still sees what the workload says of itself.
                Ok(Err(error)) => matches!(error.downcast_ref(), Some(ClusterError::Forbidden { .. })),
                Err(_) => false,
            };
            // Without its pods a failed workload would look as if it had recovered.
            if !seen && self.judged.contains(id) {
                return;
            }
        }
        self.judged.insert(id.clone());
        let verdict = family.judge().into_iter().find(|member| member.id == *id).map(|member| member.value);
        let tape = Tape::from_json(value);
        let object = tape.root().and_then(|root| Object::new(root, Source::default(), None).ok());
        if let (Some(verdict), Some(object)) = (verdict, object) {
            let progress_token = progress_token(&object);
            self.wait.observe(id, Observation::Verdict { verdict, progress_token }, now);
        }
    }
}

/// Says how far it is: a live line on a terminal, a line per change elsewhere, or a stream of JSON events.
struct Display {
    output: DataFormat,
    line: LiveLine,
    shown: Option<(Progress, Timestamp)>,
}

impl Display {
    fn new(output: DataFormat) -> Self {
        Display { output, line: LiveLine::new(), shown: None }
    }

    fn is_live(&self) -> bool {
        self.output.is_text() && self.line.is_live()
    }

    fn show(&mut self, progress: Progress, now: Timestamp) {
        if self.is_live() {
            self.line.set(&progress.headline());
        }
        let news = self.shown.as_ref().is_none_or(|(shown, _)| progress.is_news_after(shown));
        let quiet = self.shown.as_ref().is_some_and(|(_, at)| now.since(*at) >= HEARTBEAT);
        if !news && (!quiet || self.is_live()) {
            return;
        }
        self.line.clear();
        match self.output {
            DataFormat::Table | DataFormat::Wide => output::print_note!("{progress}"),
            DataFormat::Json => {
                // A stream that nobody reads any more ends with the next thing that is written.
                let _ = output::print_event(&json!({"event": "progress", "time": now, "progress": progress}));
            }
            DataFormat::Yaml | DataFormat::Name => {}
        }
        self.shown = Some((progress, now));
    }
}

fn finish(outcome: &Outcome, options: &arguments::Wait) -> Result<Exit> {
    let now = clock::now();
    let report = outcome.report();
    match options.output.format {
        // The end of a stream of events is one more event.
        DataFormat::Json => output::print_event(&json!({"event": "end", "time": now, "result": outcome}))?,
        format => output::print_data(format, outcome, || {
            let rows = report.iter().map(|object| show::row(object.id.to_string(), &object.verdict, now));
            output::table(&show::HEAD, rows).named_by(show::NAME_COLUMN)
        })?,
    }
    if options.output.format.is_text() {
        let tally: Tally = report.iter().map(|object| object.verdict.state).collect();
        output::print_note!("{tally}");
    }
    Ok(match outcome {
        Outcome::Current { .. } => Exit::Yes,
        Outcome::Failed { .. } => Exit::No,
        Outcome::TimedOut { clock, .. } => {
            output::print_note!("{}", ran_out(*clock, options));
            let failing = report.iter().filter(|object| object.verdict.state == State::Failed).count();
            if failing > 0 {
                output::print_note!("{failing} failing, for less than --patience");
            }
            for object in report {
                if let (Some(why), Some(age)) = (&object.unreachable, object.age_seconds) {
                    let age = humanize(Duration::from_secs(age));
                    output::print_note!("{} was last observed {age} ago: {}", object.id, output::printable(why));
                }
            }
            Exit::Unknown
        }
        Outcome::CouldNotObserve { .. } => {
            let why = report.iter().find_map(|object| object.unreachable.as_deref()).unwrap_or("it was not observed");
            output::print_problem!("error: could not observe: {}", output::printable(why));
            Exit::CouldNotRun
        }
    })
}

/// Which clock ran out, by the name of its option.
fn ran_out(clock: Clock, options: &arguments::Wait) -> String {
    let limit = |limit: Option<Duration>| humanize(limit.unwrap_or_default());
    match clock {
        Clock::Total => format!("timed out after {} (--timeout)", limit(Some(options.timeout))),
        Clock::PerObject => {
            format!("timed out: an object took longer than {} (--per-object)", limit(options.per_object))
        }
        Clock::NoProgress => format!("timed out: nothing changed for {} (--no-progress)", limit(options.no_progress)),
    }
}
