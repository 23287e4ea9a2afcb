//! `clearway status show`: the health of objects, a line each, or as a tree of owners.

use std::collections::BTreeSet;

use anyhow::Result;
use clearway_conditions::health::{State, Tally, Tree, Verdict, forest};
use clearway_conditions::lint;
use clearway_core::{Diagnostic, ObjectId, ObjectReference, Severity, Timestamp, humanize};
use clearway_sources::clock;
use serde_json::{Value, json};

use super::Repeats;
use super::live_objects::{FetchResult, LiveObjects};
use super::related_objects::{RelatedObjects, Schemas};
use crate::arguments::Show;
use crate::exit::Exit;
use crate::output::{self, Document};

/// Kinds that others own, looked at for a tree of live objects.
const OWNED_KINDS: [(&str, &str); 4] =
    [("apps", "ReplicaSet"), ("batch", "Job"), ("", "Pod"), ("", "PersistentVolumeClaim")];

/// The columns of the table.
pub(crate) const HEAD: [&str; 6] = ["HEALTH", "SINCE", "REASON", "BASIS", "OBJECT", "MESSAGE"];
/// The column with the names of objects.
pub(crate) const NAME_COLUMN: usize = 4;

/// Runs the command.
pub(super) async fn run(options: &Show) -> Result<Exit> {
    super::require_named(&options.selection)?;
    let now = options.time.now.unwrap_or_else(clock::now);
    let (family, problems) = if options.selection.files.is_empty() {
        (from_cluster(options, now).await?, Vec::new())
    } else {
        from_files(options, now)?
    };
    let judged = family.judge();
    let tally: Tally = judged.iter().map(|object| object.value.state).collect();
    if options.tree {
        let trees = forest(judged);
        let data: Vec<Value> = trees.iter().map(tree_data).collect();
        output::print_data(options.output.format, &data, || {
            let mut names = Vec::new();
            for tree in &trees {
                tree.walk(&mut |_, node| names.push(node.id.to_string()));
            }
            let table = output::table(&HEAD, trees.iter().flat_map(|tree| tree_rows(tree, now)));
            Document::from(table.named_by(NAME_COLUMN)).named(names)
        })?;
    } else {
        let data: Vec<Value> = judged.iter().map(|object| data(&object.id, &object.value)).collect();
        output::print_data(options.output.format, &data, || {
            let rows = judged.iter().map(|object| row(object.id.to_string(), &object.value, now));
            output::table(&HEAD, rows).named_by(NAME_COLUMN)
        })?;
    }
    for problem in &problems {
        output::print_diagnostic(problem);
    }
    if options.output.format.is_text() {
        output::print_note!("{tally}");
    }
    let unread = problems.iter().any(|problem| problem.severity == Severity::Error);
    Ok(match tally.state() {
        _ if unread => Exit::CouldNotRun,
        State::Current | State::Suspended => Exit::Yes,
        State::Failed => Exit::No,
        _ => Exit::Unknown,
    })
}

fn from_files(options: &Show, now: Timestamp) -> Result<(RelatedObjects, Vec<Diagnostic>)> {
    let mut family = RelatedObjects::new(now, Schemas::new());
    let problems = std::cell::RefCell::new(Vec::new());
    super::read_files(
        &options.selection.files,
        options.selection.max_file_size,
        Repeats::Once,
        |_, _| true,
        |object| {
            problems.borrow_mut().extend(lint::unreadable_status(object));
            family.add(object);
            Ok(())
        },
        |problem| {
            problems.borrow_mut().push(problem);
            Ok(())
        },
    )?;
    Ok((family, problems.into_inner()))
}

async fn from_cluster(options: &Show, now: Timestamp) -> Result<RelatedObjects> {
    let selection = &options.selection;
    let live = LiveObjects::open(&selection.connection).await?;
    let groups = live.groups(selection)?;
    let mut family = RelatedObjects::new(now, live.schemas(&groups).await);
    let mut known = BTreeSet::new();
    live.fetch(&groups, selection.selector.as_deref(), |fetched| {
        match fetched {
            FetchResult::Object(object) => {
                known.extend(object["metadata"]["uid"].as_str().map(str::to_owned));
                family.add_value(&object);
            }
            FetchResult::Missing { resource, namespace, name } => {
                family.add_missing(ObjectReference { kind: resource.kind, namespace, name }.id());
            }
            FetchResult::Failed(error) => return Err(error.into()),
        }
        Ok(())
    })
    .await?;
    if options.tree {
        let namespaces = groups.iter().map(|group| group.namespace.clone()).collect();
        live.add_owned(&OWNED_KINDS, &namespaces, known, &mut family).await?;
    }
    Ok(family)
}

/// One line of the table.
pub(crate) fn row(name: String, verdict: &Verdict, now: Timestamp) -> Vec<String> {
    let since = verdict.since.map_or_else(|| "-".to_owned(), |since| humanize(now.since(since)));
    let basis = if verdict.proven { verdict.basis.to_string() } else { format!("{} (unproven)", verdict.basis) };
    vec![verdict.state.to_string(), since, verdict.reason.clone(), basis, name, verdict.message.clone()]
}

/// The lines of a tree, each indented below its owner.
pub(crate) fn tree_rows(tree: &Tree<Verdict>, now: Timestamp) -> Vec<Vec<String>> {
    let mut rows = Vec::new();
    tree.walk(&mut |depth, node| {
        let indent = if depth == 0 { String::new() } else { "  ".repeat(depth - 1) + "└ " };
        rows.push(row(format!("{indent}{}", node.id), &node.value, now));
    });
    rows
}

fn data(id: &ObjectId, verdict: &Verdict) -> Value {
    let mut data = json!({"object": id});
    if let (Some(data), Value::Object(verdict)) = (data.as_object_mut(), json!(verdict)) {
        data.extend(verdict);
    }
    data
}

fn tree_data(tree: &Tree<Verdict>) -> Value {
    let mut node = data(&tree.id, &tree.value);
    if let (Some(node), false) = (node.as_object_mut(), tree.owned.is_empty()) {
        node.insert("owns".to_owned(), tree.owned.iter().map(tree_data).collect());
    }
    node
}
