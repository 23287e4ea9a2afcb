//! Evaluates the cluster's constraints that deny over the objects of a release, before the first write.
//!
//! Templates are programs, and one that takes all memory or does not end must not end the operator. So they are evaluated by
//! another process, which has limits of its own and is ended when it takes too long.

use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use clearway_core::GroupVersionKind;
use clearway_policy::{ObjectKind, synced_kinds};
use clearway_release::Manifest;
use clearway_sources::store::{ObjectPages, Store, StoreError};
use clearway_update::preflight::{PolicyDenial, View};
use rustix::process::Signal;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;

use super::view::is_applied;
use crate::gatekeeper_objects::{self, CONSTRAINTS};
use crate::policies::evaluation::ALLOCATOR_ENVIRONMENT;

/// Set in the environment of a `clearway policy` command, it makes the process itself the one that has limits, instead of
/// starting another.
pub const POLICY_WORKER: &str = "CLEARWAY_POLICY_WORKER";

/// Objects that are named for each constraint.
const NAMED: usize = 3;
/// Bytes of the inventory, as JSON: this process holds it, and so does the one that evaluates.
const INVENTORY_BYTES: usize = 16 << 20;

/// The program that evaluates policies.
#[derive(Debug, Clone)]
pub struct PolicyProgram {
    /// The program; it is `clearway` itself.
    pub program: PathBuf,
    /// CPU time that all evaluations together may take, in whole seconds.
    pub cpu_time: Duration,
    /// When a process is taken for stuck, on a clock. It is far longer than the CPU time: a busy machine is not a reason.
    pub timeout: Duration,
    /// The memory that it may take besides the program and its stack, in MiB.
    pub memory_mib: u64,
}

impl PolicyProgram {
    /// A program with the usual limits: five minutes of CPU time, and the half of what the operator's container may take.
    pub fn new(program: PathBuf) -> Self {
        let (cpu_time, timeout) = (Duration::from_mins(5), Duration::from_hours(1));
        PolicyProgram { program, cpu_time, timeout, memory_mib: 128 }
    }
}

/// What the program reads: policies, the objects that they are evaluated on, and what else they see.
#[derive(Debug, Serialize, Deserialize)]
pub struct PolicyRequest {
    /// Templates, constraints, and Gatekeeper's settings.
    pub policies: Vec<Value>,
    /// The objects, as they would be created.
    pub objects: Vec<Value>,
    /// Namespaces of the cluster that objects are in.
    pub namespaces: Vec<Value>,
    /// Objects of the cluster for the inventory.
    pub inventory: Vec<Value>,
}

/// What is read of the answer of the program.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PolicyAnswer {
    pub(crate) constraints: Vec<ConstraintAnswer>,
    pub(crate) not_evaluated: Vec<NotEvaluated>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ConstraintAnswer {
    pub(crate) kind: String,
    pub(crate) name: String,
    pub(crate) total_violations: u64,
    denied_violations: u64,
    pub(crate) violations: Vec<Violation>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Violation {
    pub(crate) kind: String,
    #[serde(default)]
    pub(crate) namespace: String,
    pub(crate) name: String,
    message: String,
}

#[derive(Debug, Deserialize)]
pub(crate) struct NotEvaluated {
    pub(crate) what: String,
    pub(crate) why: String,
}

/// Evaluates the constraints of the cluster. What could not be evaluated is a sentence in the view; an API server that does
/// not answer is an error.
pub(super) async fn look_at_policies<S: Store>(
    view: &mut View<'_>,
    store: &S,
    program: &PolicyProgram,
) -> Result<(), StoreError> {
    let unseen = |why: String| format!("The constraints of the cluster could not be evaluated: {why}.");
    let policies = match gatekeeper_objects::read(store).await {
        Ok(None) => return Ok(()),
        Ok(Some(policies)) => policies,
        Err(error) if error.is_passing() => return Err(error),
        Err(error) => {
            view.unseen.push(unseen(error.to_string()));
            return Ok(());
        }
    };
    let policies: Vec<Value> = policies.into_iter().filter(may_deny).collect();
    if !policies.iter().any(|object| ObjectKind::of(object).group == CONSTRAINTS) {
        return Ok(());
    }
    let applied = view.manifests().filter(|manifest| is_applied(view, manifest));
    let objects: Vec<Value> = applied.map(|manifest: &Manifest| view.task.owner.stamped(manifest)).collect();
    let mut namespaces = Vec::new();
    for (name, namespace) in gatekeeper_objects::namespaces_of(store, &objects).await {
        match namespace {
            Ok(namespace) => namespaces.extend(namespace),
            Err(error) if error.is_passing() => return Err(error),
            Err(error) => view.unseen.push(unseen(format!("the namespace {name} cannot be read: {error}"))),
        }
    }
    let inventory = match read_inventory(store, &policies).await {
        Ok(Ok(inventory)) => inventory,
        Ok(Err(too_large)) => {
            view.unseen.push(unseen(too_large));
            return Ok(());
        }
        Err(error) if error.is_passing() => return Err(error),
        Err(error) => {
            view.unseen.push(unseen(error.to_string()));
            return Ok(());
        }
    };
    let request = PolicyRequest { policies, objects, namespaces, inventory };
    match evaluate(program, request).await {
        Err(why) => view.unseen.push(unseen(why)),
        Ok(answer) => {
            let problems = answer.not_evaluated.into_iter();
            view.unseen.extend(problems.map(|NotEvaluated { what, why }| unseen(format!("{what}: {why}"))));
            let denied = answer.constraints.into_iter().filter(|constraint| constraint.denied_violations > 0);
            view.policies.extend(denied.map(denial));
        }
    }
    Ok(())
}

/// Whether a constraint may deny; other objects stay.
fn may_deny(object: &Value) -> bool {
    let is_constraint = ObjectKind::of(object).group == CONSTRAINTS;
    !is_constraint || !matches!(object["spec"]["enforcementAction"].as_str(), Some("warn" | "dryrun"))
}

/// The objects of synced kinds, if a template mentions them; a sentence without its full stop if they are too large.
pub(crate) async fn read_inventory<S: Store>(
    store: &S,
    policies: &[Value],
) -> Result<Result<Vec<Value>, String>, StoreError> {
    let mut found = Vec::new();
    let mut left = INVENTORY_BYTES;
    // Templates are not loaded in this process, so a word in their text has to do.
    if !policies.iter().any(|object| object["spec"]["targets"].to_string().contains("inventory")) {
        return Ok(Ok(found));
    }
    for ObjectKind { group, version, kind } in synced_kinds(policies) {
        let mut pages = ObjectPages::new(store, GroupVersionKind { group, version, kind });
        while let Some(page) = pages.next_page().await? {
            let bytes: usize = page.items.iter().map(|object| object.to_string().len()).sum();
            let Some(rest) = left.checked_sub(bytes) else {
                return Ok(Err(format!("the objects of the inventory are larger than {INVENTORY_BYTES} bytes")));
            };
            left = rest;
            found.extend(page.items);
        }
    }
    Ok(Ok(found))
}

/// Runs the program; otherwise a sentence without its full stop.
pub(crate) async fn evaluate(program: &PolicyProgram, request: PolicyRequest) -> Result<PolicyAnswer, String> {
    let text = serde_json::to_vec(&request).map_err(|error| error.to_string())?;
    // The objects take several times the memory of their text, which the process needs now.
    drop(request);
    let mut command = Command::new(&program.program);
    command
        .args(["policy", "evaluate", "--memory-limit"])
        .arg(program.memory_mib.to_string())
        .arg("--cpu-limit")
        .arg(program.cpu_time.as_secs().to_string())
        // It needs nothing of the environment, where an operator may have credentials.
        .env_clear()
        .envs([ALLOCATOR_ENVIRONMENT, (POLICY_WORKER, "1")])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    let run = async {
        let mut child = command.spawn().map_err(|error| format!("the process cannot be started: {error}"))?;
        if let Some(mut stdin) = child.stdin.take() {
            // A process that ends early says why.
            let _ = stdin.write_all(&text).await;
        }
        child.wait_with_output().await.map_err(|error| format!("the process failed: {error}"))
    };
    let output = tokio::time::timeout(program.timeout, run)
        .await
        .map_err(|_| format!("it did not end within {} seconds", program.timeout.as_secs()))??;
    match output.status.signal() {
        None => {}
        Some(signal) if signal == Signal::XCPU.as_raw() => {
            return Err(format!("it took more than {} seconds of CPU time", program.cpu_time.as_secs()));
        }
        Some(_) => {
            let (memory, status) = (program.memory_mib, output.status);
            return Err(format!(
                "it needs more than {memory} MiB of memory, or crashed ({status}); find the template with `clearway \
                 policy preview --release IMAGE --memory-limit MIB`"
            ));
        }
    }
    serde_json::from_slice(&output.stdout).map_err(|_| {
        let said = String::from_utf8_lossy(&output.stderr);
        let last = said.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("the process gave no answer");
        last.chars().take(300).collect()
    })
}

fn denial(constraint: ConstraintAnswer) -> PolicyDenial {
    let ConstraintAnswer { kind, name, denied_violations, violations, .. } = constraint;
    // Gatekeeper's order is from the last to the first.
    let objects = violations.iter().rev().take(NAMED).map(|violation| {
        let Violation { kind, namespace, name, message } = violation;
        let place = if namespace.is_empty() { String::new() } else { format!("{namespace}/") };
        format!("{kind} {place}{name}: {message}")
    });
    PolicyDenial { constraint: format!("{kind} {name}"), count: denied_violations, objects: objects.collect() }
}
