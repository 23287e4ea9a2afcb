//! `clearway bundle preflight`: what installing a bundle would do to a cluster, or to the one that a snapshot was taken
//! from.

mod snapshot_objects;

use std::fmt::Write as _;

use anyhow::Result;
use clearway_bundle::{Bundle, BundleLimits, Preflight, PreflightFinding, PreflightSeverity, installed_bundles};
use clearway_core::GroupVersionKind;
use clearway_sources::store::{ClusterStore, Store as _, StoreError};

use super::{installed, source};
use crate::arguments::BundlePreflight;
use crate::exit::Exit;
use crate::output::{self, LiveLine};

/// Objects of one page; a page that is too large is asked for again with fewer.
const PAGE: u32 = 500;

pub(super) fn run(options: &BundlePreflight) -> Result<Exit> {
    let Some(new) = source::read(&[&options.bundle], &options.reading)?.pop() else {
        anyhow::bail!("{} has no CRDs", options.bundle);
    };
    let findings = match &options.snapshot {
        Some(path) => snapshot_objects::findings(&new, path)?,
        None => live_findings(&new, options)?,
    };
    output::print_data(options.output.format, &findings, || table(&findings))?;
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
        let store = installed::connect(&options.connection).await?;
        let objects = installed::objects(&store).await?;
        let installed = installed_bundles(&objects, &BundleLimits::default());
        let Some(installed) = installed.into_iter().find(|installed| installed.bundle.domain == new.domain) else {
            output::print_note!("nothing of {} is installed", new.domain);
            return Ok(Vec::new());
        };
        print_versions(&installed.bundle, new);
        let mut preflight = Preflight::new(&installed.bundle, new);
        let mut progress = LiveLine::new();
        for (crd, kind) in preflight.wanted() {
            check_objects(&store, &mut preflight, &crd, &kind, &mut progress).await?;
        }
        progress.clear();
        Ok(preflight.finish())
    })
}

fn print_versions(installed: &Bundle, new: &Bundle) {
    output::print_note!("{} → {}", installed.version_text(), new.version_text());
}

/// Reads the objects of a kind page by page.
async fn check_objects(
    store: &ClusterStore,
    preflight: &mut Preflight,
    crd: &str,
    kind: &GroupVersionKind,
    progress: &mut LiveLine,
) -> Result<()> {
    let (mut token, mut size, mut checked) = (None, PAGE, 0_usize);
    loop {
        match store.page(kind, token.as_deref(), size).await {
            Ok(page) => {
                for object in &page.items {
                    preflight.check_object(crd, object);
                }
                checked += page.items.len();
                progress.set(&format!("checked {checked} objects of {crd}"));
                match page.next {
                    Some(next) => token = Some(next),
                    None => return Ok(()),
                }
            }
            Err(StoreError::AnswerTooLarge { .. }) if size > 1 => size /= 2,
            Err(error) if error.is_passing() => return Err(error.into()),
            Err(error) => {
                preflight.not_listed(crd, &error.to_string());
                return Ok(());
            }
        }
    }
}

fn table(findings: &[PreflightFinding]) -> String {
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
