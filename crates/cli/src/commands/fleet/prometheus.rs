//! Clusters of a metrics store: each distinct rule is one query for all of them.
//!
//! A rule's query is rewritten so that one answer has the series of every cluster (`clearway_promql::Query::grouped_by`). What
//! cannot be rewritten is not guessed: the rule could not be evaluated, for every cluster and with the reason. An
//! evaluation that fails for one cluster fails for all of them in the store; such a question is asked again for fewer and
//! fewer clusters until it is known for whom it fails, with at most [`MORE`] further questions.

use std::collections::{BTreeMap, HashMap};

use anyhow::Result;
use clearway_advice::evidence::{
    Evidence, Failure, FailureClass, ObjectAnswer, ObjectQuestion, Observation, Question, Reply,
};
use clearway_advice::fleet::ClusterAssessment;
use clearway_core::Timestamp;
use clearway_promql::eval::{Sample, Value};
use clearway_promql::{GroupedQuery, Limits};
use clearway_sources::clock;
use clearway_sources::prometheus::Prometheus;
use futures::StreamExt as _;

use super::FleetAssessments;
use super::cluster_list::{self, ClusterList};
use super::prepared_graph::{AdviceResult, PreparedGraph};
use crate::arguments::{AsOf, FleetEvidence};
use crate::commands::assess::prometheus_evidence::AT_ONCE;
use crate::output::LiveLine;
use crate::runtime;

/// Clusters that a question is asked for at most once it has failed for all of them: their names stand in the query.
const PIECE: usize = 128;
/// Further questions for a rule that fails for some clusters: enough to find a dozen of them among ten thousand.
const MORE: usize = 250;

/// Assesses every cluster of the store.
pub(super) fn assess_clusters<const GRAPHS: usize>(
    prometheus: Prometheus,
    options: &FleetEvidence,
    grounds: &[PreparedGraph; GRAPHS],
) -> Result<FleetAssessments<GRAPHS>> {
    let runtime = runtime::on_this_thread()?;
    let ClusterList { clusters, refused } = runtime.block_on(cluster_list::of(&prometheus, options))?;
    let mut known: Vec<[AdviceResult; GRAPHS]> = Vec::with_capacity(clusters.len());
    let mut questions: BTreeMap<String, Question> = BTreeMap::new();
    for member in &clusters {
        let under = grounds.iter().map(|ground| ground.prepared(member)).collect::<Result<Vec<AdviceResult>>>()?;
        for prepared in under.iter().flatten() {
            for question in prepared.stance.plan().questions() {
                if !questions.contains_key(question.text()) {
                    questions.insert(question.text().to_owned(), question.clone());
                }
            }
        }
        known.push(
            <[AdviceResult; GRAPHS]>::try_from(under).unwrap_or_else(|_| unreachable!("there is one for each graph")),
        );
    }
    let ids: Vec<&str> = clusters.iter().map(|member| member.name.as_str()).collect();
    let store = Store { prometheus, label: &options.cluster_label, at: AsOf::named(options.time.as_of) };
    let answers = runtime.block_on(store.ask_all(&questions, &ids));
    let now = store.at.unwrap_or_else(clock::now);
    let standings = known.into_iter().zip(&ids).map(|(known, id)| {
        let evidence = ClusterEvidence { answers: &answers, id };
        known.map(|known| match known {
            Err(why) => ClusterAssessment::Absent { why },
            Ok(prepared) => prepared.stance.assess(&evidence, now),
        })
    });
    let standings: Vec<[ClusterAssessment; GRAPHS]> = standings.collect();
    let failures = answers.values().filter_map(|asked| asked.for_all.as_ref());
    let unreachable = failures.filter(|failure| failure.class.is_of_source()).map(|failure| failure.message.clone());
    let unreachable = unreachable.collect();
    Ok(FleetAssessments { clusters: clusters.into_iter().zip(standings).collect(), refused, unreachable })
}

/// A store of many clusters.
struct Store<'o> {
    prometheus: Prometheus,
    label: &'o str,
    at: Option<Timestamp>,
}

/// What came of one question.
struct QueryResult {
    observed_at: Timestamp,
    source: String,
    answered: BTreeMap<String, Vec<Sample>>,
    /// The clusters for which it failed.
    failed: BTreeMap<String, Failure>,
    /// Why it failed for all, if it did.
    for_all: Option<Failure>,
}

impl Store<'_> {
    async fn ask_all(&self, questions: &BTreeMap<String, Question>, ids: &[&str]) -> HashMap<String, QueryResult> {
        let mut progress = LiveLine::new();
        let asked = questions.iter().map(async |(text, question)| (text.clone(), self.ask(question, ids).await));
        let mut asked = futures::stream::iter(asked).buffer_unordered(AT_ONCE);
        let mut answers = HashMap::new();
        while let Some((text, answer)) = asked.next().await {
            answers.insert(text, answer);
            progress.set(&format!("ran {} of {} queries for {} clusters", answers.len(), questions.len(), ids.len()));
        }
        answers
    }

    async fn ask(&self, question: &Question, ids: &[&str]) -> QueryResult {
        let mut asked = QueryResult {
            observed_at: self.at.unwrap_or_else(clock::now),
            source: self.prometheus.shown(),
            answered: BTreeMap::new(),
            failed: BTreeMap::new(),
            for_all: None,
        };
        let grouped = match question.query().grouped_by(self.label, &Limits::default()) {
            Ok(grouped) => grouped,
            Err(why) => {
                let message = format!("The query cannot be run for all clusters at once: {why}.");
                asked.for_all = Some(Failure::new(FailureClass::Evaluation, message));
                return asked;
            }
        };
        match self.vector(&grouped.query().to_string()).await {
            Ok(samples) => asked.answered = grouped.split(samples),
            Err(failure) if failure.class == FailureClass::Evaluation => {
                self.ask_pieces(&grouped, ids, &mut asked).await;
            }
            Err(failure) => asked.for_all = Some(failure),
        }
        asked
    }

    /// Finds out for which clusters a question fails.
    async fn ask_pieces(&self, grouped: &GroupedQuery, ids: &[&str], asked: &mut QueryResult) {
        // The names of the clusters make it longer than any query of a publisher.
        let limits =
            Limits { bytes: 4 << 20, pattern_bytes: 16 << 20, pattern_positions: 4 << 20, ..Limits::default() };
        let mut pieces: Vec<&[&str]> = ids.chunks(PIECE).collect();
        let mut left = MORE;
        while let Some(piece) = pieces.pop() {
            let failure = match (left.checked_sub(1), grouped.narrowed(piece, &limits)) {
                (None, _) => Failure::new(
                    FailureClass::Evaluation,
                    format!(
                        "The query fails for some clusters, and after {MORE} more queries not all of them are known."
                    ),
                ),
                (_, Err(errors)) => Failure::new(
                    FailureClass::Evaluation,
                    format!("The query cannot be run for some clusters: {errors}"),
                ),
                (Some(less), Ok(query)) => {
                    left = less;
                    match self.vector(&query.to_string()).await {
                        Ok(samples) => {
                            asked.answered.extend(grouped.split(samples));
                            continue;
                        }
                        Err(failure) if failure.class == FailureClass::Evaluation && piece.len() > 1 => {
                            let (one, other) = piece.split_at(piece.len() / 2);
                            pieces.extend([one, other]);
                            continue;
                        }
                        Err(failure) => failure,
                    }
                }
            };
            asked.failed.extend(piece.iter().map(|id| ((*id).to_owned(), failure.clone())));
        }
    }

    async fn vector(&self, query: &str) -> Result<Vec<Sample>, Failure> {
        // The text of an error may quote what the store holds.
        match self.prometheus.instant(query, self.at).await.map_err(|error| error.failure())?.value {
            Value::Vector(samples) => Ok(samples),
            _ => Err(Failure::new(FailureClass::Ambiguous, "The store did not return an instant vector.")),
        }
    }
}

/// What the answers say of one cluster.
struct ClusterEvidence<'a> {
    answers: &'a HashMap<String, QueryResult>,
    id: &'a str,
}

impl Evidence for ClusterEvidence<'_> {
    fn promql(&self, question: &Question, _samples: u64) -> Reply<Value> {
        let Some(asked) = self.answers.get(question.text()) else { return Reply::NotConfigured };
        if let Some(failure) = asked.for_all.as_ref().or_else(|| asked.failed.get(self.id)) {
            return Reply::Failed(failure.clone());
        }
        Reply::Answered(Observation {
            value: Value::Vector(asked.answered.get(self.id).cloned().unwrap_or_default()),
            observed_at: asked.observed_at,
            source: asked.source.clone(),
            reproduce: None,
            warnings: Vec::new(),
        })
    }

    fn objects(&self, _question: &ObjectQuestion, _steps: u64) -> Reply<ObjectAnswer> {
        Reply::NotConfigured
    }

    fn cluster_id(&self) -> Option<&str> {
        Some(self.id)
    }
}
