//! The update service, asked as a cluster asks it.

use anyhow::{Context as _, Result, bail};
use clearway_core::{Address, Arch, Limits};
use clearway_graph::wire;
use clearway_sources::http::HttpOptions;
use clearway_sources::service::{Answer, Service};

use super::narration::Teller;
use super::stage::Stage;

/// Asks over the network, and tells which other questions are worth asking.
pub(super) async fn ask(stage: &Stage, teller: &mut Teller) -> Result<()> {
    let (base, channel) = (&stage.base, stage.channel);
    let service = Service::new(&Address::from(base.as_str()), &HttpOptions::default())?;
    let Answer::Body { bytes, validator, .. } = service.answer(channel, &Arch::default(), None).await? else {
        bail!("the service answered that nothing changed, to a first question");
    };
    let graph = wire::read(&bytes, &Limits::default()).graph.context("the service's answer is no graph")?;
    let conditional: usize = graph.conditional().iter().map(|group| group.edges.len()).sum();
    let again = service.answer(channel, &Arch::default(), validator.as_ref()).await?;
    let unchanged = if matches!(again, Answer::NotModified { .. }) { "304, not one byte of body" } else { "all of it" };
    teller.lines(&format!("GET {base}/graph?channel={channel}\n"))?;
    teller.prose(&format!(
        "{} releases, {} updates for everybody, {conditional} for clusters that their risks do not match. Asked again with \
         its ETag: {unchanged}.",
        graph.nodes().len(),
        graph.edges().len()
    ))?;
    if teller.stays {
        teller.lines(&format!("\n  curl -i '{base}/graph?channel={channel}'"))?;
        teller.lines(&format!("  clearway graph paths 1.4.0 1.5.2 --channel {channel} \\\n    --graph {base}"))?;
        if let Some(address) = stage.running.status_address() {
            teller.lines(&format!("  curl http://{address}/metrics"))?;
        }
    }
    Ok(())
}
