//! Keeping what is served current: look at the source, and publish what is new and good.
//!
//! The previous revision is served until the new one is complete. What cannot be read, or is refused, changes nothing
//! but the age of what is served, and is told in the log and by the metrics.

use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use clearway_core::diagnostic::terminal;
use clearway_core::{Diagnostic, Digest, Limits, Severity, Timestamp};
use clearway_graph::{Inputs, load};

use crate::console::graph_console::NextRevision;
use crate::data::feed::{Feed, FeedError};
use crate::data::last_good::{LastGoodData, StagedData};
use crate::data::publication::{Publication, ServedFiles};
use crate::metrics::{Findings, RefreshResult};
use crate::service::{Service, processors};

/// How soon a source that failed is looked at again; each failure doubles it up to the usual interval.
const FIRST_RETRY: Duration = Duration::from_secs(5);

/// Looks at the source of graph-data and publishes what it finds.
#[derive(Debug)]
pub struct Refresher {
    service: Arc<Service>,
    feed: Feed,
    last_good: Option<LastGoodData>,
    limits: Limits,
    /// The files that were refused last: they are not read, and not complained about, again.
    refused: Option<Digest>,
    /// What is wrong with the files that are served.
    findings: Findings,
    failures: u32,
    /// Why the source could not be read, or is refused.
    why: String,
}

/// What came of preparing a revision.
#[derive(Default)]
struct PreparedRevision {
    findings: Findings,
    /// The first of the errors.
    why: String,
    /// Nothing if it is refused.
    publication: Option<Publication>,
    /// The files as they are kept for the next start.
    staged: Option<StagedData>,
    /// What the console shows of it.
    shown: Option<NextRevision>,
}

impl Refresher {
    /// A refresher of a service.
    pub fn new(service: Arc<Service>, feed: Feed, last_good: Option<LastGoodData>) -> Self {
        let (limits, findings) = (Limits::for_graph_data(), Findings::default());
        Refresher { service, feed, last_good, limits, refused: None, findings, failures: 0, why: String::new() }
    }

    /// Publishes something for the first time: what the source holds, or what was good before the restart.
    ///
    /// A source that takes its time is not waited for if there is something to serve meanwhile.
    pub async fn begin(&mut self) -> RefreshResult {
        if self.feed.is_quick() {
            let outcome = self.once().await;
            if self.service.publication().is_none() {
                self.restore().await;
            }
            return outcome;
        }
        self.restore().await;
        self.once().await
    }

    /// Looks at the source once.
    pub async fn once(&mut self) -> RefreshResult {
        let read = self.feed.read(&self.limits).await;
        self.take_in(read).await
    }

    /// Notes what came of reading the source.
    async fn take_in(&mut self, read: Result<Inputs, FeedError>) -> RefreshResult {
        let outcome = self.publish_new(read).await;
        self.failures = if outcome == RefreshResult::Failed { self.failures.saturating_add(1) } else { 0 };
        self.service.metrics().record_refresh(outcome);
        if let Some(console) = self.service.console() {
            console.record_source(self.service.now(), outcome, self.why.clone(), self.findings.clone());
        }
        outcome
    }

    /// When to look again: at the usual time, or sooner after a failure.
    pub fn next(&self, usual: Duration) -> Duration {
        pause(self.failures, usual)
    }

    async fn publish_new(&mut self, read: Result<Inputs, FeedError>) -> RefreshResult {
        let inputs = match read {
            Ok(inputs) => inputs,
            Err(error) => {
                let served = self.service.publication().is_some();
                tracing::error!(%error, "the graph-data cannot be read; {}", instead(served));
                self.why = error.to_string();
                return RefreshResult::Failed;
            }
        };
        let now = self.service.now();
        let id = inputs.id();
        let current = self.service.publication();
        if current.as_ref().is_some_and(|current| *current.revision() == id) {
            self.service.confirm(now);
            self.keep(|kept| kept.confirm(&id.to_string(), now));
            if self.refused.take().is_some() {
                self.service.metrics().record_findings(&self.findings);
            }
            return RefreshResult::Unchanged;
        }
        if self.refused.as_ref() == Some(&id) {
            return RefreshResult::Refused;
        }
        // Those who are being served share the processors with this.
        let threads = if current.is_some() { NonZeroUsize::MIN } else { processors() };
        let PreparedRevision { findings, why, publication, staged, shown } =
            self.prepare(inputs, threads, true, now).await;
        self.service.metrics().record_findings(&findings);
        let Some(publication) = publication else {
            tracing::error!(revision = %id, "graph-data refused; {}", instead(current.is_some()));
            self.refused = Some(id);
            self.why = why;
            return RefreshResult::Refused;
        };
        self.publish(publication, shown, findings, now);
        if let Some(staged) = staged {
            self.keep(|kept| kept.commit(staged, now));
        }
        self.refused = None;
        RefreshResult::Published
    }

    /// Serves what was good before the restart.
    async fn restore(&mut self) {
        let Some(kept) = self.last_good.clone() else { return };
        let (limits, now) = (self.limits.clone(), self.service.now());
        let loaded = tokio::task::spawn_blocking(move || kept.load(&limits, now)).await;
        let Some((inputs, confirmed)) = loaded.ok().flatten() else { return };
        // What the metrics tell of is what the source holds, and not this.
        let PreparedRevision { findings, publication, shown, .. } =
            self.prepare(inputs, processors(), false, confirmed).await;
        if let Some(publication) = publication {
            let age = clearway_core::humanize(self.service.now().since(confirmed));
            tracing::warn!("serving the last good graph-data from before the restart, {age} old");
            self.publish(publication, shown, findings, confirmed);
        }
    }

    fn publish(
        &mut self,
        publication: Publication,
        shown: Option<NextRevision>,
        findings: Findings,
        confirmed: Timestamp,
    ) {
        let publication = Arc::new(publication);
        self.service.publish(Arc::clone(&publication), confirmed);
        if let (Some(console), Some(shown)) = (self.service.console(), shown) {
            console.show(shown);
        }
        self.findings = findings;
        tracing::info!(
            revision = %publication.revision(),
            releases = publication.releases(),
            channels = publication.channels(),
            "published"
        );
    }

    /// Everything that takes long, away from the threads that answer; with `stage`, the files are kept for the next start.
    ///
    /// The files are let go before the answers are made, and nobody else prepares anything large meanwhile: so the memory
    /// of both together is bounded.
    async fn prepare(&self, inputs: Inputs, threads: NonZeroUsize, stage: bool, now: Timestamp) -> PreparedRevision {
        let _alone = self.service.acquire_preparation().await;
        let service = Arc::clone(&self.service);
        let limits = self.limits.clone();
        let last_good = self.last_good.clone().filter(|_| stage);
        let directory = self.feed.watched().map(Path::to_owned);
        let work = move || {
            let outcome = load(&inputs, &limits);
            tell(&outcome.diagnostics);
            let findings = Findings::of(&outcome.diagnostics);
            let first_error = outcome.diagnostics.iter().find(|finding| finding.severity == Severity::Error);
            let why = first_error.map_or(String::new(), |error| error.message.clone());
            let Some(revision) = outcome.revision else {
                return PreparedRevision { findings, why, ..PreparedRevision::default() };
            };
            let files = ServedFiles::new(&inputs, &revision);
            let staged = last_good.and_then(|kept| {
                let warn = |error: &std::io::Error| tracing::warn!(%error, "cannot save graph-data for the next start");
                kept.stage(&inputs).inspect_err(warn).ok()
            });
            drop(inputs);
            let previous = service.publication();
            let publication = files
                .and_then(|files| Publication::of_files(files, &revision, previous.as_deref(), threads))
                .inspect_err(|error| tracing::error!("graph-data cannot be served: {error}"))
                .ok();
            let shown = service.console().zip(publication.as_ref()).map(|(console, made)| {
                console.prepare(revision, (previous.as_deref(), made), directory.as_deref(), now)
            });
            PreparedRevision { findings, why, publication, staged, shown }
        };
        // It does not panic; if it did, the revision would be as good as refused.
        tokio::task::spawn_blocking(work).await.unwrap_or_default()
    }

    /// A cache that cannot be written is a pity, and no reason not to serve.
    fn keep(&self, write: impl FnOnce(&LastGoodData) -> std::io::Result<()>) {
        if let Some(Err(error)) = self.last_good.as_ref().map(write) {
            tracing::warn!(%error, "cannot save graph-data for the next start");
        }
    }
}

/// How long to wait after so many failures in a row.
pub(crate) fn pause(failures: u32, usual: Duration) -> Duration {
    match failures.checked_sub(1) {
        None => usual,
        Some(more) => FIRST_RETRY.saturating_mul(1 << more.min(10)).min(usual),
    }
}

fn instead(served: bool) -> &'static str {
    if served { "the last good revision is still served" } else { "there is nothing to serve yet" }
}

/// Every error in full, and how many there are of the rest.
fn tell(diagnostics: &[Diagnostic]) {
    for diagnostic in diagnostics.iter().filter(|diagnostic| diagnostic.severity == Severity::Error) {
        tracing::error!(code = %diagnostic.code, "{}", terminal::render(diagnostic, false));
    }
    let count = |severity| diagnostics.iter().filter(|diagnostic| diagnostic.severity == severity).count();
    let (errors, warnings) = (count(Severity::Error), count(Severity::Warning));
    if errors + warnings > 0 {
        tracing::warn!(errors, warnings, "the graph-data has faults; `clearway graph lint` shows all of them");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clearway_sources::graph_data::GraphDataError;

    use crate::metrics::Metrics;
    use crate::service::ServiceOptions;

    #[tokio::test]
    async fn a_directory_that_changes_at_every_reading_keeps_the_last_good_revision_and_says_so() {
        let options = ServiceOptions::default();
        let service = Arc::new(Service::new(&options, None, Metrics::new(), || Timestamp::EPOCH));
        let mut refresher = Refresher::new(Arc::clone(&service), Feed::directory("/graph-data"), None);
        let files = [("version", "1.1.0\n"), ("channels/c.yaml", "name: c\nversions: []\n")];
        let good: Inputs = files.into_iter().collect();
        assert_eq!(refresher.take_in(Ok(good.clone())).await, RefreshResult::Published);
        // What the directory is when it changed during each of five readings.
        let changing = || Err(GraphDataError::Changing { path: "/graph-data".into() }.into());
        for failures in 1..3 {
            assert_eq!(refresher.take_in(changing()).await, RefreshResult::Failed);
            assert_eq!(*service.publication().unwrap().revision(), good.id());
            assert!(refresher.why.starts_with("/graph-data: it changed during each of 5 reads"), "{}", refresher.why);
            assert!(service.metrics().text().contains("clearway_graph_data_stale 1\n"));
            let usual = Duration::from_mins(5);
            assert_eq!(refresher.next(usual), pause(failures, usual), "it is looked at again soon");
        }
        assert_eq!(refresher.take_in(Ok(good)).await, RefreshResult::Unchanged);
        assert!(service.metrics().text().contains("clearway_graph_data_stale 0\n"));
    }

    #[test]
    fn a_failure_is_tried_again_soon_and_then_less_often_up_to_the_usual() {
        let usual = Duration::from_mins(5);
        let pauses: Vec<u64> = (0..9).map(|failures| pause(failures, usual).as_secs()).collect();
        assert_eq!(pauses, [300, 5, 10, 20, 40, 80, 160, 300, 300]);
        assert_eq!(pause(u32::MAX, usual), usual);
        assert_eq!(pause(1, Duration::from_secs(1)), Duration::from_secs(1));
    }
}
