//! Where queries are answered: by a Prometheus, or from the metrics feed of a state directory.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clearway_advice::Settings;
use clearway_advice::evidence::{
    Evidence as _, Failure, FailureClass, Observation, Question, Reply, Snapshot, numbers_only,
};
use clearway_core::Timestamp;
use clearway_promql::eval::Value;
use clearway_promql::read::{self, ReadLimits};
use clearway_promql::{Millis, Series};
use clearway_sources::prometheus::Prometheus;

/// Bytes of all files of the feed together.
const FEED_BYTES: u64 = 64 << 20;

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
    ) -> Result<Observation<Value>, Failure> {
        match self {
            MetricsStore::Prometheus(prometheus) => prometheus.observe(query, None, clock).await,
            MetricsStore::Directory(directory) => {
                let now = clock();
                let question = Question::new(query, settings)?;
                let (directory, samples) = (directory.clone(), settings.budget.samples.rule);
                let answer = tokio::task::spawn_blocking(move || evaluate(&directory, &question, samples, now)).await;
                answer.unwrap_or_else(|_| Err(Failure::of_evaluation(FailureClass::Evaluation)))
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
    let series = feed(directory, now).map_err(|why| failed(FailureClass::Unreachable, why))?;
    match Snapshot::new(&series, now, &directory.display().to_string()).promql(question, samples) {
        Reply::Answered(observation) => Ok(observation.map(numbers_only)),
        Reply::Failed(failure) => Err(failure),
        Reply::Pending { .. } | Reply::NotConfigured => {
            Err(failed(FailureClass::NotConfigured, "There is no metrics feed.".to_owned()))
        }
    }
}

/// The series of all files, as of now.
fn feed(directory: &Path, now: Timestamp) -> Result<Series, String> {
    let failed = |path: &Path, error: &dyn std::fmt::Display| {
        format!("The metrics feed {} cannot be read: {error}.", path.display())
    };
    let listed = fs::read_dir(directory).and_then(|entries| entries.map(|entry| Ok(entry?.path())).collect());
    let mut paths: Vec<PathBuf> = listed.map_err(|error: io::Error| failed(directory, &error))?;
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "prom"));
    paths.sort();
    if paths.is_empty() {
        return Err(failed(directory, &"there is no file *.prom in it"));
    }
    let mut text = Vec::new();
    for path in &paths {
        let found = fs::metadata(path).map_err(|error| failed(path, &error))?;
        // Opening a pipe waits for whoever writes to it.
        if !found.is_file() {
            return Err(failed(path, &"it is not a regular file"));
        }
        if found.len().saturating_add(text.len() as u64) > FEED_BYTES {
            return Err(failed(path, &format!("all files together are larger than {FEED_BYTES} bytes")));
        }
        text.extend(fs::read(path).map_err(|error| failed(path, &error))?);
        text.push(b'\n');
    }
    let time = Millis(now.as_seconds().saturating_mul(1_000));
    // What is wrong with a line would quote it.
    read::text(&text, time, &ReadLimits::default())
        .map_err(|_| failed(directory, &"a line is not valid exposition text"))
}
