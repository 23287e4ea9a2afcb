//! The operator's reports as the console shows them.

use std::collections::BTreeSet;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;

use anyhow::{Context as _, Result};
use clearway_console::pages::cluster::ClusterState;
use clearway_console::pages::cluster_objects::ClusterObjects;
use clearway_console::pages::health::{PartHealth, PartState};
use clearway_operator::driver::ObjectReport;
use clearway_operator::operator::LatestReports;
use clearway_server::console::{ChangeLimits, ClusterSource, Console, RunningConsole};
use clearway_sources::clock;
use clearway_update::api::Kind;
use futures::future::BoxFuture;
use serde_json::Value;

use super::console_changes::{self, CallerChanges};
use super::console_objects::ObjectReader;

/// Failures of evidence that are listed.
const MOST_FAILURES: usize = 5;

/// What the operator reports, for the console.
pub(crate) struct OperatorReports {
    /// The reports.
    pub(crate) reports: LatestReports,
    /// Whether this replica is the leader.
    pub(crate) is_leading: Box<dyn Fn() -> bool + Send + Sync>,
    /// Policies, bundles and Gateways of the cluster; none of them without it.
    pub(crate) objects: Option<ObjectReader>,
}

/// Starts a console of the operator, which only shows if there is no one who makes changes.
pub(super) fn start(
    address: SocketAddr,
    reports: OperatorReports,
    changes: Option<CallerChanges>,
) -> Result<RunningConsole> {
    let socket = TcpListener::bind(address).with_context(|| format!("cannot listen on {address}"))?;
    let mut console = Console::new(env!("CARGO_PKG_VERSION"), clock::now).with_clusters(reports);
    if let Some(changes) = changes {
        console = console.with_changes(changes, ChangeLimits::default());
    }
    let console = RunningConsole::start(console, socket).context("cannot start the console")?;
    if !console.address().ip().is_loopback() {
        tracing::warn!(
            "everyone who can reach {} can read the console; use a loopback address and `kubectl port-forward`",
            console.address()
        );
    }
    tracing::info!("console on {}", console.link());
    Ok(console)
}

impl OperatorReports {
    fn all(&self) -> Vec<((Kind, String), ObjectReport)> {
        let all = self.reports.borrow();
        all.iter().filter_map(|(id, report)| Some((id.clone(), report.borrow().clone()?))).collect()
    }
}

impl ClusterSource for OperatorReports {
    fn clusters(&self) -> Vec<ClusterState> {
        let now = clock::now();
        let state = |((kind, name), report): ((Kind, String), ObjectReport)| ClusterState {
            kind: kind.as_str().to_owned(),
            name,
            requests: console_changes::request_state(&report.object, now),
            object: report.object,
            retrieved_at: report.retrieved_at,
            assessment: report.assessment,
        };
        self.all().into_iter().map(state).collect()
    }

    fn health(&self) -> Vec<PartHealth> {
        let leading = if (self.is_leading)() {
            "This replica is the leader."
        } else {
            "Another replica is the leader; the reports are in its console."
        };
        let mut parts =
            vec![PartHealth { name: "Operator".to_owned(), state: PartState::Good, sentence: leading.to_owned() }];
        for ((kind, name), report) in self.all() {
            let of = format!("{} {name}", kind.as_str());
            parts.push(update_service(&of, &report));
            parts.push(evidence(&of, &report));
        }
        parts
    }

    fn has_objects(&self) -> bool {
        self.objects.is_some()
    }

    fn objects(&self) -> BoxFuture<'_, Arc<ClusterObjects>> {
        match &self.objects {
            Some(reader) => Box::pin(reader.objects()),
            None => Box::pin(std::future::ready(Arc::default())),
        }
    }
}

/// Whether the update service answers, as the object's own condition says. The condition is written after the first answer was
/// assessed.
fn update_service(of: &str, report: &ObjectReport) -> PartHealth {
    let conditions = report.object.pointer("/status/conditions").and_then(Value::as_array);
    let text = |condition: &Value, key: &str| condition.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let found = conditions.into_iter().flatten().find(|condition| text(condition, "type") == "RetrievedUpdates");
    let (state, sentence) = match found {
        None if report.retrieved_at.is_some() => (PartState::Good, "It answers.".to_owned()),
        None => (PartState::Unknown, "It has not been asked yet.".to_owned()),
        Some(condition) => match text(condition, "status").as_str() {
            "True" => (PartState::Good, "It answers.".to_owned()),
            "False" => (PartState::Bad, text(condition, "message")),
            _ => (PartState::Unknown, text(condition, "message")),
        },
    };
    PartHealth { name: format!("Update service of {of}"), state, sentence }
}

/// Whether rules could be evaluated.
fn evidence(of: &str, report: &ObjectReport) -> PartHealth {
    let name = format!("Evidence of {of}");
    let Some(assessment) = &report.assessment else {
        let sentence = "Nothing has been assessed yet.".to_owned();
        return PartHealth { name, state: PartState::Unknown, sentence };
    };
    let risks = assessment.updates.iter().flat_map(|update| &update.risks);
    let failures: BTreeSet<&str> =
        risks.flat_map(|risk| risk.unreachable()).filter_map(|rule| rule.why.as_deref()).collect();
    if failures.is_empty() {
        let sentence = "Every source of evidence answered.".to_owned();
        return PartHealth { name, state: PartState::Good, sentence };
    }
    let listed: Vec<&str> = failures.into_iter().take(MOST_FAILURES).collect();
    PartHealth { name, state: PartState::Bad, sentence: listed.join("; ") }
}
