//! Evidence from a Prometheus: every distinct query of the graph's rules is asked once, a few at a time.

use std::path::Path;

use anyhow::{Context as _, Result};
use clearway_advice::Plan;
use clearway_advice::evidence::{Record, Recorded};
use clearway_core::Timestamp;
use clearway_sources::clock;
use clearway_sources::prometheus::{ClientIdentity, Prometheus, PrometheusOptions};
use futures::StreamExt as _;

use crate::arguments::{ClusterAccess, EvidenceSource, Trust};
use crate::output::LiveLine;

/// Queries that are asked at one time: advice is no reason to burden a cluster's monitoring.
pub(crate) const AT_ONCE: usize = 4;

/// The Prometheus of a URL; nothing is sent yet.
pub(crate) fn connect(url: &str, access: &ClusterAccess, trust: &Trust) -> Result<Prometheus> {
    let ClusterAccess { token_file, client_certificate, client_key, .. } = access;
    connect_as(url, token_file.as_deref(), client_certificate.as_deref().zip(client_key.as_deref()), trust)
}

/// The same for who has a token, or a certificate with its key.
pub(crate) fn connect_as(
    url: &str,
    token_file: Option<&Path>,
    identity: Option<(&Path, &Path)>,
    trust: &Trust,
) -> Result<Prometheus> {
    let identity =
        identity.map(|(certificate, key)| ClientIdentity { certificate: certificate.to_owned(), key: key.to_owned() });
    let options = PrometheusOptions {
        token_file: token_file.map(Path::to_owned),
        ca_file: trust.ca_file.clone(),
        identity,
        ..PrometheusOptions::default()
    };
    Ok(Prometheus::new(url, &options)?)
}

/// Asks whatever the plan has to know.
pub(super) fn ask(
    plan: &Plan,
    url: &str,
    options: &EvidenceSource,
    trust: &Trust,
    id: Option<&str>,
) -> Result<Recorded> {
    let prometheus = connect(url, &options.cluster, trust)?;
    let cluster_id = id.map(str::to_owned);
    let store_id = cluster_id.clone().filter(|_| options.cluster.shared_store);
    let questions: Vec<String> = match &store_id {
        Some(id) => plan.questions_for(id).iter().map(|question| question.text().to_owned()).collect(),
        None => plan.questions().iter().map(|question| question.text().to_owned()).collect(),
    };
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().context("cannot start a runtime")?;
    let queries = runtime.block_on(async {
        let mut progress = LiveLine::new();
        let asked = questions.iter().map(|query| record(&prometheus, query, options.now));
        let mut asked = futures::stream::iter(asked).buffer_unordered(AT_ONCE);
        let mut records = std::collections::BTreeMap::new();
        while let Some((query, record)) = asked.next().await {
            records.insert(query, record);
            progress.set(&format!("asked {} of {} queries", records.len(), questions.len()));
        }
        progress.clear();
        records
    });
    Ok(Recorded { queries, configured: true, cluster_id, store_id, ..Recorded::default() })
}

async fn record(prometheus: &Prometheus, query: &str, at: Option<Timestamp>) -> (String, Record) {
    // Without a time it is asked as of the moment it answers: a sample of this second is not in the future for it.
    let record = match prometheus.observe(query, at, clock::now).await {
        Ok(observation) => Record::Answered(observation),
        Err(failure) => Record::Failed(failure),
    };
    (query.to_owned(), record)
}
