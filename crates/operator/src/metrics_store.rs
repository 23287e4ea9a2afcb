//! Where queries are answered: by a Prometheus, or from the metrics feed of a state directory.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use clearway_advice::Settings;
use clearway_advice::evidence::{
    Evidence as _, Failure, FailureClass, Observation, Question, Reply, Snapshot, numbers_only,
};
use clearway_core::Timestamp;
use clearway_promql::eval::Value;
use clearway_sources::metrics_directory;
use clearway_sources::prometheus::Prometheus;

use crate::heartbeat::Heartbeat;

/// Somebody who answers queries.
#[derive(Debug, Clone)]
pub enum MetricsStore {
    /// A Prometheus, or what speaks like one.
    Prometheus(Arc<Prometheus>),
    /// The files `*.prom` of a directory, read anew for every query: they are the feed of one machine.
    Directory(PathBuf),
}

impl MetricsStore {
    /// The value of a query now.
    pub async fn observe(
        &self,
        query: &str,
        settings: &Settings,
        clock: impl Fn() -> Timestamp,
        heartbeat: &Heartbeat,
    ) -> Result<Observation<Value>, Failure> {
        match self {
            MetricsStore::Prometheus(prometheus) => prometheus.observe(query, None, clock).await,
            MetricsStore::Directory(directory) => {
                let now = clock();
                let question = Question::new(query, settings)?;
                let (directory, samples) = (directory.clone(), settings.budget.samples.rule);
                let heartbeat = heartbeat.clone();
                let answer = tokio::task::spawn_blocking(move || {
                    let _beat = heartbeat.begin("the evaluation of a query", Instant::now());
                    evaluate(&directory, &question, samples, now)
                });
                answer.await.unwrap_or_else(|_| Err(Failure::of_evaluation(FailureClass::Evaluation)))
            }
        }
    }
}

/// Evaluates a query over the feed of a directory.
fn evaluate(
    directory: &Path,
    question: &Question,
    samples: u64,
    now: Timestamp,
) -> Result<Observation<Value>, Failure> {
    let failed = |class, message: String| Failure { observed_at: Some(now), ..Failure::new(class, message) };
    let series = metrics_directory::series(directory, now).map_err(|why| failed(FailureClass::Unreachable, why))?;
    match Snapshot::new(&series, now, &directory.display().to_string()).promql(question, samples) {
        Reply::Answered(observation) => Ok(observation.map(numbers_only)),
        Reply::Failed(failure) => Err(failure),
        Reply::Pending { .. } | Reply::NotConfigured => {
            Err(failed(FailureClass::NotConfigured, "No metrics feed is configured.".to_owned()))
        }
    }
}
