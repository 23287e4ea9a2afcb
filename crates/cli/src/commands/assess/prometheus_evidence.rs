//! Evidence from a Prometheus: every distinct query of the graph's rules is run once, a few at a time.

use std::collections::BTreeMap;

use anyhow::Result;
use clearway_advice::Plan;
use clearway_advice::evidence::{Record, RecordedEvidence};
use clearway_advice::rounds::Round;
use clearway_core::Timestamp;
use clearway_sources::clock;
use clearway_sources::prometheus::Prometheus;
use clearway_sources::rounds;

use crate::output::LiveLine;
use crate::runtime;

/// Queries that are asked at one time: advice is no reason to burden a cluster's monitoring.
pub(crate) const AT_ONCE: usize = 4;

/// Asks whatever the plan has to know, as of a time or of the moment of each answer. A store that does not answer is not
/// asked everything. `store_id` is the cluster's id in a store of many clusters.
pub(super) fn run_queries(
    plan: &Plan,
    prometheus: &Prometheus,
    at: Option<Timestamp>,
    cluster_id: Option<&str>,
    store_id: Option<&str>,
) -> Result<RecordedEvidence> {
    let queries: Vec<String> = match store_id {
        Some(id) => plan.questions_for(id).iter().map(|question| question.text().to_owned()).collect(),
        None => plan.questions().iter().map(|question| question.text().to_owned()).collect(),
    };
    let round = Round { queries, parallel: AT_ONCE };
    let runtime = runtime::on_this_thread()?;
    let (mut progress, mut records) = (LiveLine::new(), BTreeMap::new());
    // Without a time it is asked as of the moment it answers: a sample of this second is not in the future for it.
    let observe = |query: String| async move { prometheus.observe(&query, at, clock::now).await };
    let ran = rounds::run_round(&round, observe, |query, result| {
        records.insert(query, result.map_or_else(Record::Failed, Record::Answered));
        progress.set(&format!("ran {} of {} queries", records.len(), round.queries.len()));
    });
    runtime.block_on(ran);
    let (cluster_id, store_id) = (cluster_id.map(str::to_owned), store_id.map(str::to_owned));
    Ok(RecordedEvidence { queries: records, configured: true, cluster_id, store_id, ..RecordedEvidence::default() })
}
