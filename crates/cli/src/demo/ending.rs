//! The beginning and the end that scenarios have in common: what is there, and what to try on it.

use anyhow::Result;
use clap::ValueEnum as _;

use super::quoted;
use super::stage::{METRICS, Stage};
use super::teller::Teller;
use super::watching::advice;
use crate::arguments::{Demo, Scenario};

/// Says what is there.
pub(super) async fn introduce(stage: &Stage, teller: &mut Teller) -> Result<()> {
    let status = stage.until("the first status", |_| true).await?;
    teller.prose(&format!(
        "The update service serves a sample product, at {}. A cluster that runs {} follows its channel {}: a directory in place of \
         an API server, with files in place of a Prometheus. On it works the operator, as in a cluster. Its intervals \
         are shortened: it asks the update service and the metrics every second, which are minutes and hours in a cluster. The \
         controllers that roll workloads out are played.",
        stage.base, status.desired.version, stage.channel
    ))?;
    teller.lines("")
}

/// Says what to try, and goes on until somebody ends it.
pub(super) async fn run(stage: &mut Stage, teller: &mut Teller, options: &Demo) -> Result<()> {
    let status = stage.until("the first status", |_| true).await?;
    teller.heading("What to try next")?;
    let state = quoted(&stage.state.root().display().to_string());
    if teller.stays || options.keep.is_some() {
        let (base, channel, version) = (&stage.base, stage.channel, &status.desired.version);
        if teller.stays {
            teller.prose("In a second terminal:")?;
        }
        teller.lines(&format!("\n  export CLEARWAY_STATE={state}\n  clearway upgrade --include-not-recommended"))?;
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
        let place = quoted(&stage.directory.display().to_string());
        teller.lines("")?;
        teller.prose(&format!(
            "Or change a file below {place}/graph-data or {place}/state/metrics: it is seen. Ctrl-C ends the demo{}.",
            if options.keep.is_some() { "" } else { ", and nothing is left behind" }
        ))?;
        teller.lines("")?;
        return stage.follow(teller).await;
    }
    teller.lines("")?;
    for scenario in Scenario::value_variants().iter().filter(|scenario| **scenario != options.scenario) {
        if let Some(value) = scenario.to_possible_value() {
            let help = value.get_help().map(ToString::to_string).unwrap_or_default();
            teller.lines(&format!("  clearway demo {:<8} {help}", value.get_name()))?;
        }
    }
    if options.keep.is_none() {
        teller.lines("  clearway demo --keep DIR   the samples as files, to try commands on")?;
    }
    teller.lines("")?;
    teller.prose("At a terminal, without --once, the service and the cluster stay until Ctrl-C.")
}

/// Whether all of these updates are said something about.
pub(super) fn is_advised(status: &clearway_operator::api::Status, versions: &[&str]) -> bool {
    versions.iter().all(|version| advice(status, version).is_some())
}
