//! Bundles that are named on the command line, and what could not be read of them.

use std::path::Path;

use anyhow::{Context as _, Result, anyhow};
use clearway_bundle::{Bundle, BundleLimits, BundleReader};
use clearway_core::Severity;
use clearway_sources::bundle_files::{BundleFiles, BundleSource};
use clearway_sources::files::confined::read_regular_file;
use clearway_sources::oci::Registry;

use crate::arguments::BundleReading;
use crate::commands::graph::source::registry;
use crate::name_hints;
use crate::output;
use crate::runtime;

/// The domain of annotations where no CRD has one.
const DEFAULT_DOMAIN: &str = "clearway.dev";
/// Bytes of a file of waivers or of a ledger of names.
const TEXT_BYTES: u64 = 64 << 20;

/// Reads bundles in the order of their names. They share one domain of annotations: the given one, or the one that the last
/// bundle uses.
pub(super) fn read(names: &[&str], reading: &BundleReading) -> Result<Vec<Bundle>> {
    let files = read_files(names, reading)?;
    let found = || files.iter().rev().find_map(|(_, files)| annotation_domain(files));
    let domain = reading.annotation_domain.clone().or_else(found).unwrap_or_else(|| DEFAULT_DOMAIN.to_owned());
    files.into_iter().map(|(name, files)| bundle(&name, &domain, files)).collect()
}

/// The files behind each name.
pub(super) fn read_files(names: &[&str], reading: &BundleReading) -> Result<Vec<(String, BundleFiles)>> {
    let access = registry::options(reading.registry.ca.file.clone(), &reading.registry.access);
    let registry = Registry::new(access)?;
    wait(async {
        let mut files = Vec::new();
        for name in names {
            let source: BundleSource = name.parse()?;
            let read = source.read(&registry).await;
            let hint = || if Path::new(name).exists() { String::new() } else { name_hints::image(name) };
            files.push((name.to_string(), read.map_err(|error| anyhow!("{error}{}", hint()))?));
        }
        Ok(files)
    })
}

/// Prints what could not be read of a bundle. A bundle without a single CRD is an error: it would be judged as if all
/// had been removed.
fn bundle(name: &str, domain: &str, files: BundleFiles) -> Result<Bundle> {
    let mut reader = BundleReader::new(name, domain, BundleLimits::default());
    for (file, content) in &files.files {
        reader.add_file(file, content);
    }
    let mut bundle = reader.finish();
    bundle.problems.extend(files.problems);
    for problem in bundle.problems.iter().filter(|problem| problem.severity != Severity::Info) {
        output::print_diagnostic(problem);
    }
    anyhow::ensure!(!bundle.crds.is_empty(), "{name} has no CRDs; name the install file or the directory of CRDs");
    Ok(bundle)
}

/// The text of a regular file: waivers, or a ledger.
pub(super) fn read_text(path: &Path) -> Result<String> {
    let content = read_regular_file(path, TEXT_BYTES).with_context(|| format!("cannot read {}", path.display()))?;
    String::from_utf8(content).with_context(|| format!("{} is not UTF-8", path.display()))
}

/// Whether a part of a bundle could not be read.
pub(super) fn is_incomplete(bundle: &Bundle) -> bool {
    bundle.problems.iter().any(|problem| problem.severity == Severity::Error)
}

/// The domain of the first annotation `DOMAIN/bundle-version` in the files.
fn annotation_domain(files: &BundleFiles) -> Option<String> {
    files.files.iter().find_map(|(_, content)| {
        let text = str::from_utf8(content).ok()?;
        let (before, _) = text.split_once("/bundle-version")?;
        let start = before.rfind(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '.' | '-')));
        let domain = before.get(start.map_or(0, |start| start + 1)..)?;
        (!domain.is_empty()).then(|| domain.to_owned())
    })
}

/// Waits for registries and clusters.
pub(super) fn wait<T>(work: impl Future<Output = Result<T>>) -> Result<T> {
    runtime::with_workers(1)?.block_on(work)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_domain_is_that_of_the_first_annotation() {
        let domain = |text: &str| {
            let files = BundleFiles { files: vec![("a".to_owned(), text.as_bytes().to_vec())], problems: Vec::new() };
            annotation_domain(&files)
        };
        let yaml = "metadata:\n  annotations:\n    gateway.networking.k8s.io/bundle-version: v1.4.0\n";
        assert_eq!(domain(yaml).as_deref(), Some("gateway.networking.k8s.io"));
        assert_eq!(domain(r#"{"a.b/bundle-version":"v1"}"#).as_deref(), Some("a.b"));
        assert_eq!(domain("kind: X\n"), None);
        assert_eq!(domain("/bundle-version"), None);
    }
}
