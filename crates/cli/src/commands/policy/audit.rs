//! `clearway policy audit`: which objects of a cluster, or of a snapshot of one, violate constraints.

pub(super) mod evaluation;
mod evaluation_threads;
pub(super) mod report;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::thread;

use anyhow::{Context as _, Result, bail};
use clearway_core::{GroupKind, GroupVersionKind, Limits, Timestamp};
use clearway_operator::{constraint_status, gatekeeper_installation};
use clearway_policy::{EnforcementPoint, Inventory, ObjectKind, Process};
use clearway_sources::clock;
use clearway_sources::kubernetes::Cluster;
use clearway_sources::object_stream::{ObjectNamespace, ObjectStream, StreamEvent, StreamedObject};
use clearway_sources::snapshot::{self, Part, Snapshot};
use clearway_sources::store::{ClusterStore, Store as _};
use serde_json::Value;
use tokio::sync::mpsc;

use super::files;
use super::policies::{self, Concerned, LoadedPolicies, Problem, kind_text, object_kind};
use crate::arguments::{ClusterConnection, PolicyAudit};
use crate::exit::Exit;
use crate::output::{self, LiveLine};
use crate::runtime;
use evaluation::{Evaluation, Outcome, Setting, evaluate};
use report::Occasion;

/// How many threads evaluate: one for each core. Reading needs little of them.
pub(super) fn threads() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

/// Runs the command.
pub(super) fn run(options: &PolicyAudit) -> Result<Exit> {
    if let Some(path) = &options.snapshot {
        let loaded = snapshot::read(path, &Limits::default())
            .with_context(|| format!("cannot read the snapshot in {}", path.display()))?;
        loaded.diagnostics.iter().for_each(output::print_diagnostic);
        let outcome = audit_snapshot(options, &loaded.snapshot)?;
        return report::print(&outcome, Occasion::Audit, options.output.format);
    }
    // Objects are read on another thread than those that evaluate them.
    let runtime = runtime::with_workers(1)?;
    let store = runtime.block_on(connect(&options.connection))?;
    if options.write_status
        && let Some(installed) = runtime.block_on(gatekeeper_installation::find(&store))?
    {
        bail!("{installed}; it writes the status of constraints itself, so --write-status is refused");
    }
    let started = clock::now();
    let objects = match options.files.as_slice() {
        [] => runtime.block_on(policies::read_cluster(&store))?,
        files => files::read_objects(files)?,
    };
    let mut policies = LoadedPolicies::of(&objects);
    drop(objects);
    let inventory = runtime.block_on(policies.read_inventory(&store));
    let outcome = audit_cluster(options, &runtime, &store, &mut policies, &inventory, started)?;
    let unwritten =
        if options.write_status { runtime.block_on(write_statuses(&store, &outcome, &policies)) } else { 0 };
    let exit = report::print(&outcome, Occasion::Audit, options.output.format)?;
    Ok(if unwritten > 0 && exit == Exit::Yes { Exit::Unknown } else { exit })
}

/// A connection to the cluster that the options name.
pub(super) async fn connect(connection: &ClusterConnection) -> Result<ClusterStore> {
    Ok(ClusterStore::new(Cluster::connect(&connection.connection()).await?, "clearway-policy"))
}

fn audit_cluster(
    options: &PolicyAudit,
    runtime: &tokio::runtime::Runtime,
    store: &ClusterStore,
    policies: &mut LoadedPolicies,
    inventory: &Inventory,
    started: Timestamp,
) -> Result<Outcome> {
    let mut kinds = runtime.block_on(store.kinds())?;
    kinds.retain(|kind| policies.set.is_audited(&object_kind(kind), &policies.expander));
    kinds.sort();
    let is_audited = |group: &String| {
        let enforced = policies.set.constraints().filter(|one| one.is_enforced_at(EnforcementPoint::Audit));
        enforced.into_iter().any(|constraint| constraint.concerns_group(group))
    };
    let stale: Vec<String> = store.stale_groups().into_iter().filter(is_audited).collect();
    policies.problems.extend(stale.into_iter().map(|group| Problem {
        what: format!("kinds of the group {group}"),
        why: "the server of this group does not answer, so it is not known which kinds it has".to_owned(),
        concerns: Concerned::Group(group),
    }));
    let policies = &*policies;
    let setting = setting(options, policies, inventory, started);
    let (sender, mut receiver) = mpsc::channel(1);
    let lister = store.clone();
    runtime.spawn(async move { ObjectStream::new(&lister).send_to(kinds, sender).await });
    let excluded = policies.excluded(Process::Audit);
    let mut progress = LiveLine::new();
    let outcome = evaluate(&setting, threads(), |evaluation| {
        while let Some(event) = receiver.blocking_recv() {
            match event {
                StreamEvent::Objects { kind, objects } => {
                    for streamed in objects.into_iter().filter(|streamed| !excluded.excludes(&streamed.object)) {
                        add_streamed(evaluation, streamed);
                    }
                    progress.set(&format!("{} objects evaluated; now {}", evaluation.objects(), shown(&kind)));
                }
                StreamEvent::Restarted { .. } => evaluation.restart_kind(),
                StreamEvent::Listed { .. } => evaluation.end_kind(),
                StreamEvent::Failed { kind, error } => evaluation.fail_kind(object_kind(&kind), error.to_string()),
            }
        }
    });
    progress.clear();
    Ok(outcome)
}

fn setting<'p>(
    options: &'p PolicyAudit,
    policies: &'p LoadedPolicies,
    inventory: &'p Inventory,
    started: Timestamp,
) -> Setting<'p> {
    let violations_limit = options.output.constraint_violations_limit;
    let point = EnforcementPoint::Audit;
    Setting { policies, point, inventory, limits: &options.limits, started, violations_limit }
}

fn add_streamed(evaluation: &mut Evaluation<'_>, streamed: StreamedObject) {
    let StreamedObject { object, namespace } = streamed;
    match namespace {
        ObjectNamespace::None => evaluation.add(Cow::Owned(object), None),
        ObjectNamespace::Known(namespace) => evaluation.add(Cow::Owned(object), Some(namespace)),
        // It is being deleted with its namespace.
        ObjectNamespace::Gone => {}
        ObjectNamespace::Unknown(error) => {
            evaluation.fail_object(&object, format!("its namespace cannot be read: {error}"));
        }
    }
}

fn shown(kind: &GroupVersionKind) -> String {
    kind_text(&object_kind(kind))
}

fn audit_snapshot(options: &PolicyAudit, snapshot: &Snapshot) -> Result<Outcome> {
    let objects = match options.files.as_slice() {
        [] => policies::read_snapshot(snapshot)?,
        files => files::read_objects(files)?,
    };
    let mut policies = LoadedPolicies::of(&objects);
    let all = || snapshot.objects.values().filter_map(|part| part.collected().ok()).flat_map(|found| &found.items);
    let mut inventory = Inventory::default();
    if !policies.inventory_users().is_empty() {
        // Without a Config it is not known what would be synced, so templates see everything.
        let synced = |object: &&Value| policies.synced.is_empty() || policies.synced.contains(&ObjectKind::of(object));
        policies.extend(&mut inventory, all().filter(synced));
    }
    let namespaces: BTreeMap<&str, Arc<Value>> = snapshot
        .objects_of("", "Namespace")
        .map(|found| &found.items)
        .into_iter()
        .flatten()
        .filter_map(|namespace| Some((namespace.pointer("/metadata/name")?.as_str()?, Arc::new(namespace.clone()))))
        .collect();
    policies.problems.extend(missing_kinds(snapshot, &policies));
    let policies = &policies;
    let setting = setting(options, policies, &inventory, snapshot.taken_at);
    let excluded = policies.excluded(Process::Audit);
    let mut progress = LiveLine::new();
    let outcome = evaluate(&setting, threads(), |evaluation| {
        for (group_kind, part) in &snapshot.objects {
            let GroupKind { group, kind } = group_kind.clone();
            let listed = ObjectKind { group, version: String::new(), kind };
            let Part::Collected(found) = part else { continue };
            if !policies.set.is_audited(&listed, &policies.expander) {
                continue;
            }
            for object in found.items.iter().filter(|object| !excluded.excludes(object)) {
                let namespace = object.pointer("/metadata/namespace").and_then(Value::as_str).unwrap_or_default();
                evaluation.add(Cow::Borrowed(object), namespaces.get(namespace).cloned());
            }
            progress.set(&format!("{} objects evaluated; now {}", evaluation.objects(), kind_text(&listed)));
            evaluation.end_kind();
        }
    });
    progress.clear();
    Ok(outcome)
}

/// The kinds that constraints are about and that a snapshot does not hold.
fn missing_kinds(snapshot: &Snapshot, policies: &LoadedPolicies) -> Vec<Problem> {
    let named = policies.set.named_kinds(EnforcementPoint::Audit);
    let mut missing = Vec::new();
    for (group, kind) in named.kinds {
        let why = if let Some(group) = &group {
            snapshot.objects_of(group, &kind).err().map(str::to_owned)
        } else {
            let held = snapshot.objects.iter().any(|(one, part)| one.kind == kind && part.collected().is_ok());
            (!held).then(|| "not in the snapshot".to_owned())
        };
        if let Some(why) = why {
            let kind = ObjectKind { group: group.unwrap_or_default(), version: String::new(), kind };
            missing.push(Problem { what: kind_text(&kind), why, concerns: Concerned::Kind(kind) });
        }
    }
    if named.any {
        missing.push(Problem {
            what: "other kinds".to_owned(),
            why: "a constraint is about all kinds, and a snapshot holds only those that were collected".to_owned(),
            concerns: Concerned::AllKinds,
        });
    }
    missing
}

/// Writes the statuses of constraints whose results are complete; the number of those that are not written.
async fn write_statuses(store: &ClusterStore, outcome: &Outcome, policies: &LoadedPolicies) -> usize {
    let mut unwritten = 0;
    for audited in outcome.audit.constraints() {
        let constraint = audited.constraint();
        let name = format!("{}/{}", constraint.kind, constraint.name);
        let template = policies.set.templates().find(|template| template.kind == constraint.kind);
        let incomplete = outcome.problems.iter().find(|problem| match &problem.concerns {
            Concerned::Kind(kind) => constraint.is_about(kind, &policies.expander),
            Concerned::Group(group) => constraint.concerns_group(group),
            Concerned::AllKinds => true,
            Concerned::Inventory => template.is_some_and(|template| template.uses_inventory()),
            Concerned::Policies => false,
        });
        if let Some(problem) = incomplete {
            output::print_problem!(
                "the status of {name} is not written, because its results are incomplete: {problem}"
            );
            unwritten += 1;
            continue;
        }
        match constraint_status::write(store, audited).await {
            Ok(true) => {}
            Ok(false) => {
                output::print_problem!("the status of {name} is not written, because the constraint was deleted");
            }
            Err(error) => {
                output::print_problem!("cannot write the status of {name}: {error}");
                unwritten += 1;
            }
        }
    }
    unwritten
}
