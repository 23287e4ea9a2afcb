//! Requests to the update service, as a cluster sends them.

use anyhow::{Context as _, Result, bail};
use clearway_core::{Address, Arch, Limits};
use clearway_graph::wire;
use clearway_sources::http::HttpOptions;
use clearway_sources::service::{Answer, Service};

use super::narration::Narrator;
use super::stage::Stage;

/// Sends requests to the service, and prints others to try.
pub(super) async fn show(stage: &Stage, narrator: &mut Narrator) -> Result<()> {
    let (base, channel) = (&stage.base, stage.channel);
    let service = Service::new(&Address::from(base.as_str()), &HttpOptions::default())?;
    let Answer::Body { bytes, validator, .. } = service.answer(channel, &Arch::default(), None).await? else {
        bail!("the service answered 304 to a request without an ETag");
    };
    let graph = wire::read(&bytes, &Limits::default()).graph.context("the service's answer is not a graph")?;
    let conditional: usize = graph.conditional().iter().map(|group| group.edges.len()).sum();
    let again = service.answer(channel, &Arch::default(), validator.as_ref()).await?;
    let unchanged = if matches!(again, Answer::NotModified { .. }) { "304, empty body" } else { "the whole answer" };
    narrator.lines(&format!("GET {base}/graph?channel={channel}\n"))?;
    narrator.prose(&format!(
        "{} releases, {} unconditional updates, {conditional} conditional updates. A second request with the ETag: \
         {unchanged}.",
        graph.nodes().len(),
        graph.edges().len()
    ))?;
    if narrator.stays {
        narrator.verbatim(&format!("\n  curl -i '{base}/graph?channel={channel}'"))?;
        narrator.verbatim(&format!("  clearway graph paths 1.4.0 1.5.2 --channel {channel} \\\n    --graph {base}"))?;
        if let Some(address) = stage.running.status_address() {
            narrator.lines(&format!("  curl http://{address}/metrics"))?;
        }
    }
    Ok(())
}
