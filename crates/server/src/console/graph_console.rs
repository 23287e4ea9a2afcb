//! What the console shows of the graph: the revision behind the answers, those before it, and the state of its source.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use arc_swap::ArcSwapOption;
use clearway_console::pages::health::{PartHealth, PartState};
use clearway_console::pages::overview::GraphSummary;
use clearway_console::pages::risks::{RiskTest, RiskTests};
use clearway_console::revision_history::{RevisionHistory, RevisionRecord};
use clearway_core::{Severity, Timestamp, humanize};
use clearway_graph::Revision;
use clearway_sources::graph_data;

use super::page_cache::PageCache;
use crate::data::publication::Publication;
use crate::metrics::{Findings, RefreshResult};
use crate::service::Service;

/// A revision as the console shows it.
#[derive(Debug)]
pub(crate) struct ShownRevision {
    pub(super) revision: Arc<Revision>,
    pub(super) summary: GraphSummary,
    pub(super) tests: RiskTests,
    pub(super) pages: PageCache,
}

/// A revision that will be shown as soon as its answers are served.
#[derive(Debug)]
pub(crate) struct NextRevision {
    shown: ShownRevision,
    record: RevisionRecord,
}

/// What is known about the source of the graph.
#[derive(Debug)]
struct SourceState {
    at: Timestamp,
    result: RefreshResult,
    why: String,
    findings: Findings,
}

/// What the console shows of the graph at the moment.
#[derive(Debug, Default)]
pub(crate) struct GraphConsole {
    shown: ArcSwapOption<ShownRevision>,
    history: Mutex<RevisionHistory>,
    source: Mutex<Option<SourceState>>,
}

impl GraphConsole {
    /// Everything that takes a while before a revision is shown. `publications` are the answers of the revision that is
    /// shown now, and those of the next one.
    pub(crate) fn prepare(
        &self,
        revision: Revision,
        publications: (Option<&Publication>, &Publication),
        directory: Option<&Path>,
        now: Timestamp,
    ) -> NextRevision {
        let record = match (self.shown(), publications) {
            (Some(shown), (Some(before), after)) => {
                RevisionRecord::next(&shown.revision, &revision, &after.changed_answers(before), now)
            }
            _ => RevisionRecord::first(&revision, now),
        };
        let tests = directory.map_or(RiskTests::Unknown, risk_tests);
        let summary = GraphSummary::new(&revision);
        let pages = PageCache::default();
        NextRevision { shown: ShownRevision { revision: Arc::new(revision), summary, tests, pages }, record }
    }

    /// Shows a revision from now on.
    pub(crate) fn show(&self, next: NextRevision) {
        self.history.lock().unwrap_or_else(PoisonError::into_inner).add(next.record);
        self.shown.store(Some(Arc::new(next.shown)));
    }

    /// What is shown now.
    pub(super) fn shown(&self) -> Option<Arc<ShownRevision>> {
        self.shown.load_full()
    }

    /// The revisions since the start.
    pub(super) fn history(&self) -> RevisionHistory {
        self.history.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Notes what came of reading the source.
    pub(crate) fn record_source(&self, at: Timestamp, result: RefreshResult, why: String, findings: Findings) {
        let state = SourceState { at, result, why, findings };
        *self.source.lock().unwrap_or_else(PoisonError::into_inner) = Some(state);
    }
}

/// The unit tests of risks in a directory; what cannot be read is not known.
fn risk_tests(directory: &Path) -> RiskTests {
    match graph_data::risk_tests(directory) {
        Ok(tests) => RiskTests::Known(
            tests
                .into_iter()
                .map(|(risk, files)| {
                    let test = |(file, cases)| RiskTest { file, cases };
                    (risk, files.into_iter().map(test).collect())
                })
                .collect(),
        ),
        Err(error) => {
            tracing::warn!(%error, "the console does not show the unit tests of risks");
            RiskTests::Unknown
        }
    }
}

/// The state of the parts of a service.
pub(super) fn health(service: &Service, now: Timestamp) -> Vec<PartHealth> {
    let mut parts = Vec::new();
    let part = |name: &str, state: PartState, sentence: String| PartHealth { name: name.to_owned(), state, sentence };
    if let Some(console) = service.console().filter(|_| service.has_feed()) {
        let source = console.source.lock().unwrap_or_else(PoisonError::into_inner);
        let served = if console.shown().is_some() { "the last good revision is served" } else { "nothing is served" };
        parts.push(match source.as_ref() {
            None => part("Graph-data", PartState::Unknown, "It has not been read yet.".to_owned()),
            Some(source) => {
                let ago = humanize(now.since(source.at));
                match source.result {
                    RefreshResult::Published | RefreshResult::Unchanged => {
                        part("Graph-data", PartState::Good, format!("It was read {ago} ago, and is served."))
                    }
                    RefreshResult::Refused => part(
                        "Graph-data",
                        PartState::Bad,
                        format!("It was refused {ago} ago; {served}. Run clearway graph lint. {}", source.why),
                    ),
                    RefreshResult::Failed => part(
                        "Graph-data",
                        PartState::Bad,
                        format!("It could not be read {ago} ago; {served}. {}", source.why),
                    ),
                }
            }
        });
        if let Some(source) = source.as_ref() {
            let (errors, warnings) = (source.findings.count(Severity::Error), source.findings.count(Severity::Warning));
            let (state, sentence) = match (errors, warnings) {
                (0, 0) => (PartState::Good, "No faults were found.".to_owned()),
                _ => (
                    PartState::Warning,
                    format!("{errors} errors and {warnings} warnings; clearway graph lint shows them."),
                ),
            };
            parts.push(part("Content of the graph-data", state, sentence));
        }
    }
    if let Some(mirror) = service.mirror() {
        parts.push(if mirror.is_ready() {
            part("Mirrored update service", PartState::Good, "Every configured channel is known.".to_owned())
        } else {
            let why = "Not every configured channel could be fetched yet; the log says why.";
            part("Mirrored update service", PartState::Bad, why.to_owned())
        });
    }
    parts.push(if service.is_ready() {
        part("Update service", PartState::Good, "Clients are answered.".to_owned())
    } else {
        part("Update service", PartState::Bad, "There is nothing to answer clients with yet.".to_owned())
    });
    parts
}
