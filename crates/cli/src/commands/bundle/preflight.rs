//! `clearway bundle preflight`: what installing a bundle would do to a cluster, or to the one that a snapshot was taken
//! from.

mod gateway_status;
mod snapshot_objects;

use std::fmt::Write as _;

use anyhow::Result;
use clearway_bundle::{Bundle, BundleLimits, Preflight, PreflightFinding, PreflightSeverity, installed_bundles};
use clearway_operator::apply_update::check_stored_objects;

pub(crate) use snapshot_objects::check_snapshot_objects;

use super::{installed, source};
use crate::arguments::BundlePreflight;
use crate::exit::Exit;
use crate::output::{self, LiveLine};

pub(super) fn run(options: &BundlePreflight) -> Result<Exit> {
    let Some(new) = source::read(&[&options.name.bundle], &options.name.reading)?.pop() else {
        anyhow::bail!("{} has no CRDs", options.name.bundle);
    };
    let findings = match &options.snapshot {
        Some(path) => snapshot_objects::findings(&new, path)?,
        None => live_findings(&new, options)?,
    };
    output::print_data(options.report.output.format, &findings, || table(&findings))?;
    let incomplete = source::is_incomplete(&new);
    Ok(match findings.iter().map(|finding| finding.severity).min() {
        Some(PreflightSeverity::Blocking) => Exit::No,
        Some(PreflightSeverity::Warning) => Exit::Unknown,
        None if incomplete => Exit::Unknown,
        None => Exit::Yes,
    })
}

fn live_findings(new: &Bundle, options: &BundlePreflight) -> Result<Vec<PreflightFinding>> {
    source::wait(async {
        let store = installed::connect(&options.report.connection).await?;
        let objects = installed::objects(&store).await?;
        let installed = installed_bundles(&objects, &BundleLimits::default());
        let Some(installed) = installed.into_iter().find(|installed| installed.bundle.domain == new.domain) else {
            output::print_note!("nothing of {} is installed", new.domain);
            return Ok(Vec::new());
        };
        print_versions(&installed.bundle, new);
        let mut preflight = Preflight::new(&installed.bundle, new);
        let mut progress = LiveLine::new();
        check_stored_objects(&store, &mut preflight, |crd, checked| {
            progress.set(&format!("checked {checked} objects of {crd}"));
        })
        .await?;
        progress.clear();
        let mut findings = preflight.finish();
        findings.extend(gateway_status::live_findings(&installed.bundle, new, &options.report.connection).await?);
        findings.sort();
        Ok(findings)
    })
}

fn print_versions(installed: &Bundle, new: &Bundle) {
    output::print_note!("{} → {}", installed.version_text(), new.version_text());
}

pub(crate) fn table(findings: &[PreflightFinding]) -> String {
    let mut text = String::new();
    for finding in findings {
        let severity = match finding.severity {
            PreflightSeverity::Blocking => "blocking",
            PreflightSeverity::Warning => "warning",
        };
        let crd = finding.crd.as_deref().map(|crd| format!("{crd}: ")).unwrap_or_default();
        let count = if finding.count == 0 { String::new() } else { format!(" ({} objects)", finding.count) };
        // Writing into a text cannot fail.
        let _ = writeln!(text, "{severity}: {crd}{}{count}", finding.message);
        for object in &finding.objects {
            let fields =
                if object.fields.is_empty() { String::new() } else { format!(": {}", object.fields.join("; ")) };
            let _ = writeln!(text, "  {}{fields}", object.name);
        }
        if finding.count > finding.objects.len() {
            let _ = writeln!(text, "  and {} more", finding.count - finding.objects.len());
        }
    }
    text
}
