//! The graph of a channel: a drawing with links, and the same as a table.
//!
//! Without a script, the first version that is chosen leads to the page of its updates, and the second one to the page of
//! the update or the paths between them. The script does the same in place.

use askama::Template;
use clearway_core::{Arch, Version};
use clearway_graph::render::{Options, PageDrawing, RenderDetail, RenderError, render_for_page};
use clearway_graph::{Graph, Revision};

use super::{Page, PageError, TextLink, page};
use crate::address::{ChannelView, Route, ZOOMS};
use crate::foreign_text;
use crate::frame::{Frame, Parts};

/// More versions than this are not drawn at once.
const MOST_DRAWN: usize = 2_000;
/// More updates than this are not drawn at once.
const MOST_UPDATES: usize = 60_000;
/// A larger drawing is not shown. What is drawn has names of strangers in it.
const DRAWING_BYTES: usize = 8 << 20;
/// Versions that a search lists.
const MOST_FOUND: usize = 50;

#[derive(Template)]
#[template(path = "channel.html")]
struct ChannelPage {
    frame: Frame,
    channel: String,
    /// As the forms send it back.
    channel_value: String,
    arch: String,
    arches: Vec<Choice>,
    releases: usize,
    unconditional: usize,
    conditional: usize,
    blocked_updates: usize,
    from: Option<String>,
    whole: String,
    details: Vec<Choice>,
    blocked: Choice,
    zoom: u32,
    zoom_in: Option<String>,
    zoom_out: Option<String>,
    zoom_reset: String,
    find: String,
    is_search: bool,
    found: Vec<TextLink>,
    found_more: usize,
    /// HTML.
    drawing: Option<String>,
    versions: Vec<VersionRow>,
    hidden: Vec<(&'static str, String)>,
    update_base: String,
}

/// One of several ways to look at the page.
struct Choice {
    text: String,
    link: String,
    is_current: bool,
}

/// A version in the table.
struct VersionRow {
    version: String,
    link: String,
    /// Where the version is chosen as the second one, if another is the first.
    paths: Option<String>,
    unconditional_from: usize,
    conditional_from: usize,
    unconditional_to: usize,
    conditional_to: usize,
}

/// The page of a channel.
pub fn render(revision: &Revision, view: &ChannelView, parts: Parts) -> Result<Page, PageError> {
    check_channel(revision, &view.channel, &view.arch)?;
    let graph = revision.graph(&view.channel, &view.arch);
    let blocked_updates = revision.removed(&view.channel, &view.arch);
    let place = |version: &Version| graph.find(version).or_else(|| graph.find(&version.without_build()));
    let from = match &view.from {
        Some(version) => {
            let place = place(version).ok_or_else(|| missing_version(version, &view.channel))?;
            graph.node(place).map(|node| node.version().clone())
        }
        None => None,
    };
    // Every version has a link, so what was searched for is not in links.
    let linked = ChannelView { find: String::new(), ..view.clone() };
    let with = |change: &dyn Fn(&mut ChannelView)| {
        let mut changed = linked.clone();
        change(&mut changed);
        Route::Channel(changed).link()
    };
    let version_link = |version: &Version| match &from {
        None => with(&|view| view.from = Some(version.clone())),
        Some(first) if first == version => with(&|view| view.from = None),
        Some(first) => paths_link(view, first, version),
    };
    let conditional: usize = graph.conditional().iter().map(|group| group.edges.len()).sum();
    let count_of_blocked = blocked_updates.len();
    let title = foreign_text::line(&view.channel);
    let options = Options {
        show: view.show,
        from: from.clone(),
        removed: if view.blocked { blocked_updates } else { Vec::new() },
        title: format!("{title} ({})", view.arch),
        ..Options::default()
    };
    let updates = graph.edges().len() + conditional;
    let fits = from.is_some()
        || (graph.nodes().len() <= MOST_DRAWN && (view.show != RenderDetail::All || updates <= MOST_UPDATES));
    let drawing = if fits {
        let drawn = render_for_page(&graph, &options, PageDrawing { link: &version_link, zoom: view.zoom });
        match drawn {
            Ok(drawing) => Some(drawing).filter(|drawing| drawing.len() <= DRAWING_BYTES),
            Err(RenderError::TooLarge(_)) => None,
            Err(error @ RenderError::NotInGraph { .. }) => return Err(PageError::NotFound(error.to_string())),
        }
    } else {
        None
    };
    let details = [
        (RenderDetail::Risks, "Newest updates"),
        (RenderDetail::Essential, "Without risks that can be avoided"),
        (RenderDetail::All, "All updates"),
    ];
    let details = details.map(|(show, text)| Choice {
        text: text.to_owned(),
        link: with(&|view| view.show = show),
        is_current: view.show == show,
    });
    let zoomed = |zoom: u32| with(&|view| view.zoom = zoom);
    let matching: Vec<&Version> = graph
        .nodes()
        .iter()
        .map(|node| node.version())
        .filter(|version| !view.find.is_empty() && version.to_string().contains(&view.find))
        .collect();
    let mut hidden = vec![("channel", view.channel.clone()), ("arch", view.arch.to_string())];
    match view.show {
        RenderDetail::Risks => {}
        RenderDetail::Essential => hidden.push(("show", "essential".to_owned())),
        RenderDetail::All => hidden.push(("show", "all".to_owned())),
    }
    if view.blocked {
        hidden.push(("blocked", "yes".to_owned()));
    }
    page(&ChannelPage {
        frame: Frame::new(title.clone(), parts, &Route::Overview),
        channel: title,
        channel_value: view.channel.clone(),
        arch: view.arch.to_string(),
        arches: arches(revision, &linked),
        releases: graph.nodes().len(),
        unconditional: graph.edges().len(),
        conditional,
        blocked_updates: count_of_blocked,
        from: from.as_ref().map(Version::to_string),
        whole: with(&|view| view.from = None),
        details: details.into(),
        blocked: Choice {
            text: if view.blocked { "Hide blocked updates" } else { "Show blocked updates" }.to_owned(),
            link: with(&|view| view.blocked = !view.blocked),
            is_current: false,
        },
        zoom: view.zoom,
        zoom_in: ZOOMS.into_iter().find(|zoom| *zoom > view.zoom).map(zoomed),
        zoom_out: ZOOMS.into_iter().rfind(|zoom| *zoom < view.zoom).map(zoomed),
        zoom_reset: zoomed(100),
        find: foreign_text::line(&view.find),
        is_search: !view.find.is_empty(),
        found: matching
            .iter()
            .take(MOST_FOUND)
            .map(|version| TextLink { text: version.to_string(), link: version_link(version) })
            .collect(),
        found_more: matching.len().saturating_sub(MOST_FOUND),
        drawing,
        versions: rows(&graph, &linked, from.as_ref()),
        hidden,
        update_base: update_base(view),
    })
}

/// The address of updates, to which the script appends two versions.
fn update_base(view: &ChannelView) -> String {
    let version = Version::new(0, 0, 0);
    let route =
        Route::Update { channel: view.channel.clone(), arch: view.arch.clone(), from: version.clone(), to: version };
    let link = route.link();
    link.split_once("&from=").map_or(String::new(), |(base, _)| base.to_owned())
}

/// The architectures that the channel has releases for.
fn arches(revision: &Revision, view: &ChannelView) -> Vec<Choice> {
    let has_releases = |arch: &&Arch| !revision.members(&view.channel, arch).is_empty();
    let choice = |arch: &Arch| Choice {
        text: arch.to_string(),
        link: Route::Channel(ChannelView { arch: arch.clone(), from: None, ..view.clone() }).link(),
        is_current: *arch == view.arch,
    };
    revision.arches().iter().filter(has_releases).map(choice).collect()
}

/// The paths between two versions, whichever was chosen first.
fn paths_link(view: &ChannelView, one: &Version, other: &Version) -> String {
    let (from, to) = if other < one { (other, one) } else { (one, other) };
    let (channel, arch) = (view.channel.clone(), view.arch.clone());
    Route::Update { channel, arch, from: from.clone(), to: to.clone() }.link()
}

/// The versions from the newest on.
fn rows(graph: &Graph, view: &ChannelView, from: Option<&Version>) -> Vec<VersionRow> {
    let mut rows: Vec<VersionRow> = graph
        .nodes()
        .iter()
        .map(|node| {
            let version = node.version();
            VersionRow {
                version: version.to_string(),
                link: Route::Channel(ChannelView { from: Some(version.clone()), ..view.clone() }).link(),
                paths: from.filter(|first| *first != version).map(|first| paths_link(view, first, version)),
                unconditional_from: 0,
                conditional_from: 0,
                unconditional_to: 0,
                conditional_to: 0,
            }
        })
        .collect();
    for (edge, risks) in graph.updates() {
        if let Some(row) = rows.get_mut(edge.from as usize) {
            *(if risks.is_empty() { &mut row.unconditional_from } else { &mut row.conditional_from }) += 1;
        }
        if let Some(row) = rows.get_mut(edge.to as usize) {
            *(if risks.is_empty() { &mut row.unconditional_to } else { &mut row.conditional_to }) += 1;
        }
    }
    rows.reverse();
    rows
}

/// Says what is missing if a channel has no releases for an architecture.
pub(crate) fn check_channel(revision: &Revision, channel: &str, arch: &Arch) -> Result<(), PageError> {
    if !revision.members(channel, arch).is_empty() {
        return Ok(());
    }
    let name = foreign_text::line(channel);
    let exists = revision.channels().any(|known| known.name == channel);
    Err(PageError::NotFound(if exists {
        format!("The channel {name} has no releases for {arch}.")
    } else {
        format!("The channel {name} does not exist.")
    }))
}

pub(crate) fn missing_version(version: &Version, channel: &str) -> PageError {
    PageError::NotFound(format!("The version {version} is not in the channel {}.", foreign_text::line(channel)))
}
