//! The introduction and the commands to try next, which all scenarios have.

use anyhow::Result;

use super::narration::Narrator;
use super::quoted;
use super::stage::{METRICS, Stage};
use crate::arguments::Demo;

/// Introduces the sample cluster and the services.
pub(super) async fn introduce(stage: &Stage, narrator: &mut Narrator) -> Result<()> {
    let status = stage.until("the first status", |_| true).await?;
    narrator.prose(&format!(
        "The update service serves a sample product. A cluster runs {} and uses the channel {}. A directory replaces the API \
         server, and files replace Prometheus; the operator is the real one. It queries the update service and the metrics \
         every second; in a cluster these intervals are minutes and hours. The controllers that roll out workloads are \
         simulated.",
        status.desired.version, stage.channel
    ))?;
    narrator.lines("")
}

/// Prints commands to try, and with `--stay` waits for Ctrl-C.
pub(super) async fn run(stage: &mut Stage, narrator: &mut Narrator, options: &Demo) -> Result<()> {
    let status = stage.until("the first status", |_| true).await?;
    narrator.page("What to try next").await?;
    let place = quoted(&stage.state.root().display().to_string());
    if narrator.stays || options.output_dir.is_some() {
        let (base, channel, version) = (&stage.base, stage.channel, &status.desired.version);
        if narrator.stays {
            narrator.verbatim(&format!("In a browser:\n\n  {}\n", stage.console.link()))?;
            narrator.lines("In a second terminal:\n")?;
        }
        narrator.verbatim(&format!("  export CLEARWAY_STATE={place}\n  clearway upgrade --include-not-recommended"))?;
        if narrator.stays {
            let mut known: Vec<&str> =
                status.available_updates.iter().map(|release| release.version.as_str()).collect();
            // Only what is unpacked here can be carried out.
            known.retain(|version| stage.directory.join("releases").join(version).is_dir());
            if let Some(version) = known.first() {
                narrator.verbatim(&format!("  clearway upgrade --to {version} --watch"))?;
            }
            narrator.verbatim(&format!(
                "  clearway assess --graph {base} \\\n    --channel {channel} --version {version} \\\n    --series \"$CLEARWAY_STATE\"/{METRICS}"
            ))?;
        }
        narrator.lines("  clearway upgrade history --details")?;
        narrator.lines("  clearway status show --tree -f \"$CLEARWAY_STATE\"/objects")?;
    }
    if narrator.stays {
        let [graph_data, metrics] = [stage.directory.join("graph-data"), stage.state.metrics()];
        narrator.lines("\nOr change one of these files, and watch the effect:\n")?;
        narrator.verbatim(&format!("  {}\n  {}\n", graph_data.display(), metrics.display()))?;
        let left = if options.output_dir.is_some() { "" } else { "; all files are removed" };
        narrator.prose(&format!("Ctrl-C stops the demo{left}."))?;
        narrator.lines("")?;
        return stage.follow(narrator).await;
    }
    if options.output_dir.is_none() {
        narrator.lines("  clearway demo --output-dir DIR   keep the files")?;
    }
    narrator.lines("  clearway demo --list             other scenarios\n")?;
    narrator.prose("At a terminal, without --once, the service, the cluster and the console stay until Ctrl-C.")
}
