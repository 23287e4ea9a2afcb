//! `clearway catalog show`: one product of a catalogue.

use std::collections::BTreeMap;

use anyhow::{Result, anyhow};
use clearway_catalog::{DetectionMethod, ObjectFilter, Product, VersionSource};
use clearway_core::Version;
use clearway_graph::{Effect, Revision};
use serde::Serialize;

use super::source::{self, OpenedCatalog};
use crate::arguments::CatalogShow;
use crate::exit::Exit;
use crate::output::{self, Document};

/// A product.
#[derive(Debug, Serialize)]
struct ShownProduct<'p> {
    name: &'p str,
    title: &'p str,
    summary: &'p str,
    url: &'p str,
    channel: &'p str,
    /// How its installed version is found, in words.
    detection: Vec<String>,
    versions: Vec<Version>,
    risks: Vec<ShownRisk>,
}

/// A risk of it.
#[derive(Debug, Serialize)]
struct ShownRisk {
    name: String,
    /// The versions that updates to have it.
    to: String,
    message: String,
    url: String,
}

/// Runs the command.
pub(super) fn run(options: &CatalogShow) -> Result<Exit> {
    let opened = OpenedCatalog::open(&options.source)?;
    let (name, entry) = opened.product(&options.product)?;
    let product = source::usable(entry).map_err(|why| anyhow!("{name}: {why}"))?;
    let revision = source::revision(entry).map_err(|why| anyhow!("{name}: {why}"))?;
    let channel = revision.channels().find(|channel| channel.name == product.channel);
    let shown = ShownProduct {
        name,
        title: &product.title,
        summary: &product.summary,
        url: &product.url,
        channel: &product.channel,
        detection: product.detect.iter().map(method).collect(),
        versions: channel.map(|channel| channel.versions.clone()).unwrap_or_default(),
        risks: risks(&revision),
    };
    output::print_data(options.output.format, &shown, || document(product, &shown))?;
    Ok(Exit::Yes)
}

fn risks(revision: &Revision) -> Vec<ShownRisk> {
    let mut shown = BTreeMap::new();
    for declaration in revision.declarations() {
        let Effect::Condition(risk) = &declaration.effect else { continue };
        let to: Vec<String> =
            declaration.edges.iter().flat_map(|edges| edges.to.iter()).map(ToString::to_string).collect();
        let (name, message, url) = (risk.name().to_owned(), risk.message().to_owned(), risk.url().to_owned());
        shown.insert(name.clone(), ShownRisk { name, to: to.join(", "), message, url });
    }
    shown.into_values().collect()
}

fn method(method: &DetectionMethod) -> String {
    let DetectionMethod::Objects { filter, source } = method else { return "version of the API server".to_owned() };
    let what = match source {
        VersionSource::Label(key) => format!("label {key}"),
        VersionSource::Annotation(key) => format!("annotation {key}"),
        VersionSource::Image(name) => format!("tag of the image {name}"),
    };
    format!("{what} of {}", objects(filter))
}

fn objects(filter: &ObjectFilter) -> String {
    let mut parts = vec![filter.kind.to_string()];
    if !filter.names.is_empty() {
        parts.push(filter.names.join(" or "));
    }
    parts.extend(filter.labels.iter().map(|(key, value)| format!("with {key}={value}")));
    parts.extend(filter.definition_group.iter().map(|group| format!("of the group {group}")));
    parts.extend(filter.namespace.iter().map(|namespace| format!("in {namespace}")));
    parts.join(" ")
}

fn document(product: &Product, shown: &ShownProduct<'_>) -> Document {
    let versions: Vec<String> = shown.versions.iter().map(ToString::to_string).collect();
    let facts = [
        ("product", product.title.clone()),
        ("summary", product.summary.clone()),
        ("updating", product.url.clone()),
        ("channel", product.channel.clone()),
        ("detected by", shown.detection.join("; ")),
        ("versions", versions.join(", ")),
    ];
    let facts = output::table(&["PART", "WHAT"], facts.map(|(name, value)| vec![name.to_owned(), value]));
    let risks = shown.risks.iter().map(|risk| vec![risk.name.clone(), risk.to.clone(), risk.message.clone()]);
    Document::join([facts.into(), output::table(&["RISK", "UPDATES TO", "MESSAGE"], risks).into()])
}
