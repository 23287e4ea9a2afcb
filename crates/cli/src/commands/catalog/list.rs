//! `clearway catalog list`: the products of a catalogue.

use anyhow::Result;
use clearway_catalog::CatalogEntry;
use clearway_core::Version;
use serde::Serialize;

use super::source::{self, OpenedCatalog};
use crate::arguments::CatalogList;
use crate::exit::Exit;
use crate::output;

/// One product.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Line {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    channel: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    oldest: Option<Version>,
    #[serde(skip_serializing_if = "Option::is_none")]
    newest: Option<Version>,
    risks: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    url: Option<String>,
    /// Why it cannot be used.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

/// Runs the command.
pub(super) fn run(options: &CatalogList) -> Result<Exit> {
    let opened = OpenedCatalog::open(&options.source)?;
    let lines: Vec<Line> = opened.catalog.iter().map(|(name, entry)| line(name, entry)).collect();
    output::print_data(options.output.format, &lines, || {
        let shown = |version: &Option<Version>| version.as_ref().map_or_else(|| "-".to_owned(), ToString::to_string);
        let rows = lines.iter().map(|line| {
            let last = line.reason.as_ref().or(line.url.as_ref()).cloned().unwrap_or_default();
            let versions = [shown(&line.oldest), shown(&line.newest)];
            let channel = line.channel.clone().unwrap_or_else(|| "-".to_owned());
            [vec![line.name.clone(), channel], versions.to_vec(), vec![line.risks.to_string(), last]].concat()
        });
        output::table(&["PRODUCT", "CHANNEL", "OLDEST", "NEWEST", "RISKS", "UPDATING"], rows)
    })?;
    Ok(if lines.iter().any(|line| line.reason.is_some()) { Exit::Unknown } else { Exit::Yes })
}

fn line(name: &str, entry: &CatalogEntry) -> Line {
    let (product, revision) = (source::usable(entry), source::revision(entry));
    let reason = product.as_ref().err().or(revision.as_ref().err()).cloned();
    let versions: Vec<Version> = match (&product, &revision) {
        (Ok(product), Ok(revision)) => {
            let own = revision.channels().find(|channel| channel.name == product.channel);
            let mut versions = own.map(|channel| channel.versions.clone()).unwrap_or_default();
            versions.sort();
            versions
        }
        _ => Vec::new(),
    };
    let text = |text: fn(&clearway_catalog::Product) -> &String| product.as_ref().ok().map(|one| text(one).clone());
    Line {
        name: name.to_owned(),
        title: text(|product| &product.title),
        channel: text(|product| &product.channel),
        oldest: versions.first().cloned(),
        newest: versions.last().cloned(),
        risks: revision.as_ref().map_or(0, |revision| revision.declarations().len()),
        url: text(|product| &product.url),
        reason,
    }
}
