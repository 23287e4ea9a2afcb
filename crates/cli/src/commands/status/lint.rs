//! `clearway status lint`: findings in the status of objects.

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::{Result, bail};
use clearway_conditions::Object;
use clearway_conditions::lint::{self, History, Policy};
use clearway_core::{Diagnostic, Place, Severity};
use clearway_sources::clock;
use clearway_sources::kubernetes::{ClusterError, WatchEvent};
use clearway_yaml::{Source, Tape};
use serde_json::Value;

use super::Repeats;
use super::live_objects::{FetchResult, LiveObjects};
use crate::arguments::Lint;
use crate::exit::Exit;
use crate::findings::{Findings, LintInput};
use crate::output::{self, LiveLine};

/// The code of the finding that live objects could not be looked at.
const NOT_SEEN: &str = "IN008";

/// Runs the command.
pub(super) async fn run(options: &Lint) -> Result<Exit> {
    let selection = &options.selection;
    if !options.all {
        super::require_named(selection)?;
    }
    let policy = policy(options);
    let input = LintInput {
        rules: lint::sarif_rules(),
        directories: selection.files.iter().filter(|path| path.is_dir()).cloned().collect(),
        now: policy.now,
        is_partial: false,
    };
    let mut findings = Findings::of_linter(options.output.format, "object", &options.findings, input)?;
    findings.told = options.watch.map(|_| BTreeSet::new());
    let several = options.history || options.watch.is_some();
    findings.distinct = several.then(BTreeSet::new);
    let mut checker = Checker { policy, history: several.then(History::new), found: Vec::new() };
    if selection.files.is_empty() {
        check_cluster(options, &mut checker, &mut findings).await?;
    } else {
        let findings = std::cell::RefCell::new(&mut findings);
        super::read_files(
            &selection.files,
            selection.max_file_size,
            if options.history { Repeats::EachTime } else { Repeats::Once },
            lint::needs_field,
            |object| checker.check(object, &mut findings.borrow_mut()),
            |problem| findings.borrow_mut().add(&problem),
        )?;
    }
    findings.end()
}

async fn check_cluster(options: &Lint, checker: &mut Checker, findings: &mut Findings) -> Result<()> {
    let selection = &options.selection;
    let live = LiveObjects::open(&selection.connection).await?;
    let groups = if options.all { live.everything() } else { live.groups(selection)? };
    let Some(duration) = options.watch else {
        let labels = selection.selector.as_deref();
        let check = |fetched| match fetched {
            FetchResult::Object(object) => checker.check_value(&object, findings),
            FetchResult::Missing { resource, namespace, name } => {
                findings.add(&not_seen(format!("{resource} {namespace}/{name} not found")))
            }
            // A list that is refused says nothing about the objects, and the others are still checked.
            FetchResult::Failed(error) => findings.add(&not_seen(error.to_string())),
        };
        return live.fetch(&groups, labels, check).await;
    };
    let [group] = groups.as_slice() else { bail!("--watch supports one kind at a time") };
    let namespace = group.namespace.clone().unwrap_or_default();
    let names: BTreeSet<String> = group.names.iter().cloned().collect();
    let seen = live.cluster.follow(&group.resource, &namespace, names);
    watch(seen, duration, checker, findings).await
}

fn not_seen(message: String) -> Diagnostic {
    Diagnostic::new(NOT_SEEN, Severity::Error, message)
        .at(Place::default())
        .with_help("the objects that could be read were checked")
}

fn policy(options: &Lint) -> Policy {
    let mut policy = Policy::new(options.time.now.unwrap_or_else(clock::now));
    policy.profile = options.profile.0;
    policy
}

async fn watch(
    mut seen: tokio::sync::mpsc::Receiver<WatchEvent>,
    duration: Duration,
    checker: &mut Checker,
    findings: &mut Findings,
) -> Result<()> {
    let mut line = LiveLine::new();
    if !line.is_live() {
        output::print_note!("watching for {}", clearway_core::humanize(duration));
    }
    let end = tokio::time::Instant::now() + duration;
    let stop = tokio::signal::ctrl_c();
    tokio::pin!(stop);
    loop {
        let left = end.saturating_duration_since(tokio::time::Instant::now());
        line.set(&format!(
            "watching for {}; {} states observed; Ctrl-C stops",
            clearway_core::humanize(left),
            findings.checked
        ));
        tokio::select! {
            next = seen.recv() => match next {
                Some(WatchEvent::Object(object)) => {
                    line.clear();
                    checker.policy.now = clock::now();
                    checker.check_value(&object, findings)?;
                }
                Some(WatchEvent::Gone { .. }) => {}
                Some(WatchEvent::Trouble { error }) => {
                    line.clear();
                    findings.add(&not_seen(error.to_string()))?;
                    // Waiting does not bring rights.
                    if matches!(error, ClusterError::Forbidden { .. }) {
                        return Ok(());
                    }
                }
                None => return Ok(()),
            },
            () = tokio::time::sleep(left.min(Duration::from_secs(1))) => if left.is_zero() { return Ok(()) },
            _ = &mut stop => return Ok(()),
        }
    }
}

/// Checks objects one after the other.
struct Checker {
    policy: Policy,
    history: Option<History>,
    found: Vec<Diagnostic>,
}

impl Checker {
    fn check(&mut self, object: &Object<'_>, findings: &mut Findings) -> Result<()> {
        findings.checked += 1;
        if let Some(distinct) = &mut findings.distinct {
            distinct.insert(object.id().to_string());
        }
        lint::lint(object, &self.policy, &mut self.found);
        if let Some(history) = &mut self.history {
            history.push(object, &self.policy, &mut self.found);
        }
        self.found.drain(..).try_for_each(|finding| findings.add(&finding))
    }

    fn check_value(&mut self, value: &Value, findings: &mut Findings) -> Result<()> {
        let tape = Tape::from_json(value);
        let Some(root) = tape.root() else { return Ok(()) };
        match Object::new(root, Source::default(), None) {
            Ok(object) => self.check(&object, findings),
            Err(problem) => findings.add(&problem),
        }
    }
}
