//! The first page: the clusters and the channels, and how old what is known about them is.

use std::collections::BTreeSet;

use askama::Template;
use clearway_core::{Timestamp, Version, humanize};
use clearway_graph::{Channel, Revision};

use super::cluster::{ClusterCard, ClusterState, card};
use super::health::{HealthRow, PartHealth, PartState, rows};
use super::{Page, PageError, TextLink, page};
use crate::address::{ChannelView, Route};
use crate::foreign_text;
use crate::frame::{Frame, Parts};
use crate::pages::revisions::short;

/// Channels that are listed.
const MOST_CHANNELS: usize = 2_000;
/// Bytes of the names and links of channels that are listed: a name of a stranger may be long, and each architecture has a
/// link.
const MOST_BYTES: usize = 1 << 20;

/// What is served, for the first page.
#[derive(Debug)]
pub struct GraphSummary {
    revision: String,
    releases: usize,
    risks: usize,
    channels: Vec<ChannelRow>,
    total: usize,
}

/// A channel in the list.
#[derive(Debug)]
struct ChannelRow {
    name: String,
    link: String,
    arches: Vec<TextLink>,
    releases: usize,
    newest: String,
}

impl GraphSummary {
    /// Sums up a revision. This takes a while for a large one and does not depend on anything else, so it is done once.
    pub fn new(revision: &Revision) -> Self {
        let channels: Vec<&Channel> = revision.channels().collect();
        let mut left = MOST_BYTES;
        let fitting = |row: &ChannelRow| {
            let links: usize = row.arches.iter().map(|arch| arch.link.len() + arch.text.len()).sum();
            let rest = left.checked_sub(row.name.len() + row.link.len() + row.newest.len() + links);
            left = rest.unwrap_or(0);
            rest.is_some()
        };
        GraphSummary {
            revision: revision.id().to_string(),
            releases: revision.releases().len(),
            risks: revision.updates_by_risk().len(),
            total: channels.len(),
            channels: channels
                .iter()
                .take(MOST_CHANNELS)
                .map(|channel| row(revision, channel))
                .take_while(fitting)
                .collect(),
        }
    }
}

fn row(revision: &Revision, channel: &Channel) -> ChannelRow {
    let arches = revision.arches().iter().filter(|arch| !revision.members(&channel.name, arch).is_empty());
    let arches: Vec<TextLink> = arches
        .map(|arch| TextLink {
            text: arch.to_string(),
            link: Route::Channel(ChannelView::new(channel.name.clone(), arch.clone())).link(),
        })
        .collect();
    let versions: BTreeSet<Version> = channel.versions.iter().map(Version::without_build).collect();
    ChannelRow {
        name: foreign_text::line(&channel.name),
        link: arches.first().map_or(String::new(), |first| first.link.clone()),
        arches,
        releases: versions.len(),
        newest: versions.last().map_or(String::new(), Version::to_string),
    }
}

/// What is known about the graph at the moment.
#[derive(Debug, Clone, Copy)]
pub struct GraphState<'s> {
    /// What is served; nothing before anything could be read.
    pub summary: Option<&'s GraphSummary>,
    /// When the graph was last known to be current.
    pub confirmed: Option<Timestamp>,
}

#[derive(Template)]
#[template(path = "overview.html")]
struct OverviewPage<'s> {
    frame: Frame,
    clusters: Vec<ClusterCard>,
    shows_clusters: bool,
    shows_graph: bool,
    graph: Option<&'s GraphSummary>,
    revision: TextLink,
    confirmed: String,
    age: String,
    problems: Vec<HealthRow>,
    health: String,
    risks_link: String,
}

/// The first page.
pub fn render(
    graph: Option<GraphState<'_>>,
    clusters: Option<&[ClusterState]>,
    health: &[PartHealth],
    now: Timestamp,
    parts: Parts,
) -> Result<Page, PageError> {
    let problems: Vec<PartHealth> = health.iter().filter(|part| part.state != PartState::Good).cloned().collect();
    let summary = graph.and_then(|graph| graph.summary);
    let confirmed = graph.and_then(|graph| graph.confirmed);
    let id = summary.map_or("", |summary| summary.revision.as_str());
    page(&OverviewPage {
        frame: Frame::new("Overview", parts, &Route::Overview),
        clusters: clusters.unwrap_or_default().iter().map(|cluster| card(cluster, now)).collect(),
        shows_clusters: clusters.is_some(),
        shows_graph: graph.is_some(),
        graph: summary,
        revision: TextLink { text: short(id), link: Route::Revision { id: id.to_owned() }.link() },
        confirmed: confirmed.map_or(String::new(), |time| time.to_string()),
        age: confirmed.map_or(String::new(), |time| humanize(now.since(time))),
        problems: rows(&problems),
        health: Route::Health.link(),
        risks_link: Route::Risks.link(),
    })
}
