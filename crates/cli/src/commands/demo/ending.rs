//! The beginning and the end that scenarios have in common: what is there, and what to try on it.

use anyhow::Result;

use super::narration::Teller;
use super::quoted;
use super::stage::{METRICS, Stage};
use crate::arguments::Demo;

/// Says what is there.
pub(super) async fn introduce(stage: &Stage, teller: &mut Teller) -> Result<()> {
    let status = stage.until("the first status", |_| true).await?;
    teller.prose(&format!(
        "The update service serves a sample product. A cluster that runs {} follows its channel {}: a directory in place of \
         an API server, with files in place of a Prometheus. On it works the operator, as in a cluster. Its intervals \
         are shortened: it asks the update service and the metrics every second, which are minutes and hours in a cluster. The \
         controllers that roll out workloads are simulated.",
        status.desired.version, stage.channel
    ))?;
    teller.lines("")
}

/// Says what to try, and goes on until somebody ends it.
pub(super) async fn run(stage: &mut Stage, teller: &mut Teller, options: &Demo) -> Result<()> {
    let status = stage.until("the first status", |_| true).await?;
    teller.heading("What to try next")?;
    let place = quoted(&stage.state.root().display().to_string());
    if teller.stays || options.output_dir.is_some() {
        let (base, channel, version) = (&stage.base, stage.channel, &status.desired.version);
        if teller.stays {
            teller.lines("In a second terminal:\n")?;
        }
        teller.lines(&format!("  export CLEARWAY_STATE={place}\n  clearway upgrade --include-not-recommended"))?;
        if teller.stays {
            let mut known: Vec<&str> =
                status.available_updates.iter().map(|release| release.version.as_str()).collect();
            // Only what is unpacked here can be carried out.
            known.retain(|version| stage.directory.join("releases").join(version).is_dir());
            if let Some(version) = known.first() {
                teller.lines(&format!("  clearway upgrade --to {version} --watch"))?;
            }
            teller.lines(&format!(
                "  clearway assess --graph {base} \\\n    --channel {channel} --version {version} \\\n    --series \"$CLEARWAY_STATE\"/{METRICS}"
            ))?;
        }
        teller.lines("  clearway upgrade history --details")?;
        teller.lines("  clearway status show --tree -f \"$CLEARWAY_STATE\"/objects")?;
    }
    if teller.stays {
        let [graph_data, metrics] = [stage.directory.join("graph-data"), stage.state.metrics()];
        teller.lines("\nOr change a file here, and it is seen:\n")?;
        teller.lines(&format!("  {}\n  {}\n", graph_data.display(), metrics.display()))?;
        let left = if options.output_dir.is_some() { "" } else { "; nothing is left behind" };
        teller.prose(&format!("Ctrl-C ends the demo{left}."))?;
        teller.lines("")?;
        return stage.follow(teller).await;
    }
    if options.output_dir.is_none() {
        teller.lines("  clearway demo --output-dir DIR   the same as files, to work on")?;
    }
    teller.lines("  clearway demo --list       other scenarios\n")?;
    teller.prose("At a terminal, without --once, the service and the cluster stay until Ctrl-C.")
}
