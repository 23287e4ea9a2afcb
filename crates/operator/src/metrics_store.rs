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
use clearway_promql::read::{self, ReadLimits};
use clearway_promql::{Millis, Series};
use clearway_sources::confined::ConfinedDirectory;
use clearway_sources::prometheus::Prometheus;

use crate::heartbeat::Heartbeat;

/// Bytes of all files of the feed.
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
    let mut root = ConfinedDirectory::open(directory).map_err(|error| failed(directory, &error))?;
    let listed = root.list_names(Path::new("")).map_err(|error| failed(directory, &error))?;
    let mut names: Vec<PathBuf> = listed.into_iter().flatten().map(PathBuf::from).collect();
    names.retain(|path| path.extension().is_some_and(|extension| extension == "prom"));
    if names.is_empty() {
        return Err(failed(directory, &"there is no file *.prom in it"));
    }
    let mut text = Vec::new();
    for name in &names {
        let left = FEED_BYTES.saturating_sub(text.len() as u64);
        let content = root.read_file(Path::new(""), name, left);
        text.extend(content.map_err(|error| failed(&directory.join(name), &error))?);
        text.push(b'\n');
    }
    let time = Millis(now.as_seconds().saturating_mul(1_000));
    // What is wrong with a line would quote it.
    read::text(&text, time, &ReadLimits::default())
        .map_err(|_| failed(directory, &"a line is not valid exposition text"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::process::Command;

    #[test]
    fn the_feed_is_its_files_and_what_is_no_file_is_named() {
        let now = Timestamp::from_seconds(1_700_000_000).unwrap();
        let root = tempfile::tempdir().unwrap();
        let why = |root: &Path| feed(root, now).unwrap_err();
        assert!(why(root.path()).contains("no file *.prom"));
        fs::write(root.path().join("a.prom"), "up 1\n").unwrap();
        fs::write(root.path().join("notes"), "x").unwrap();
        assert!(feed(root.path(), now).is_ok());
        let odd = root.path().join("b.prom");
        assert!(Command::new("mkfifo").arg(&odd).status().unwrap().success());
        assert!(why(root.path()).contains("b.prom cannot be read: it is a named pipe"), "{}", why(root.path()));
        fs::remove_file(&odd).unwrap();
        std::os::unix::fs::symlink("/etc/passwd", &odd).unwrap();
        assert!(why(root.path()).contains("outside of the directory"), "{}", why(root.path()));
    }
}
