//! Drawings of a graph that a person can use: SVG, DOT and Mermaid.
//!
//! A channel has hundreds of versions and thousands of updates, and a drawing of all of them shows nothing. By default
//! the updates are drawn that decide where a cluster can go ([`RenderDetail::Essential`]); how many there are in truth
//! stands in the tooltip of each version. [`Options::from`] and [`Options::to`] show every update of one version
//! instead, and [`RenderDetail::All`] everything. The same graph and options give the same bytes.
//!
//! In SVG every minor is a column with its versions from the oldest down. To the right of a column, updates to one
//! target share a vertical line: a dot where the row of a version crosses it is an update, and the arrow at its end
//! points at the target. DOT and Mermaid leave the placing to others and draw one box for neighbouring versions that
//! have the same updates. Start at [`render`].

mod dot;
mod layout;
mod mermaid;
mod removed;
mod svg;
mod view;

use std::fmt;

use clearway_core::Version;
use serde::Serialize;

use crate::model::graph::Graph;
pub use svg::STYLE as PAGE_STYLE;
use view::View;

/// What to draw, and how.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Options {
    /// The language of the drawing.
    pub format: Format,
    /// Which updates, where neither `from` nor `to` is given.
    pub show: RenderDetail,
    /// Every update from this version. With `to`, only those that lead on to it.
    pub from: Option<Version>,
    /// Every update to this version. With `from`, only those that come from it.
    pub to: Option<Version>,
    /// Updates that are not offered to any cluster, to be drawn as well; from each version and into each minor only the newest,
    /// unless all updates are drawn. See [`Revision::removed`](crate::Revision::removed).
    pub removed: Vec<(Version, Version)>,
    /// What the drawing is of, such as the name of a channel.
    pub title: String,
    /// How many updates are blocked for every cluster, drawn or not; nothing if that is unknown.
    pub blocked: Option<usize>,
    /// The revision of the graph-data; nothing for an answer of a service.
    pub revision: Option<String>,
}

/// The language of a drawing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Format {
    /// A picture; tooltips, light and dark.
    #[default]
    Svg,
    /// Graphviz.
    Dot,
    /// Mermaid, for Markdown. Its renderers refuse more than some hundred edges, so [`RenderDetail::All`] of a large
    /// channel is beyond them.
    Mermaid,
}

/// Which updates to draw.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum RenderDetail {
    /// From each version and into each minor: the newest target without a risk, and the newest with risks unless a way
    /// without any leads as far. So what is dashed is what somebody has to decide.
    #[default]
    Essential,
    /// The same, but the newest target with risks is left out only if a way without any leads to that very version. So
    /// the risks that are avoided are seen as well.
    Risks,
    /// All of them.
    All,
}

/// A version that was asked for is not in the graph.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotInGraph {
    /// The version.
    pub version: Version,
}

impl fmt::Display for NotInGraph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is not in this channel", self.version)
    }
}

impl std::error::Error for NotInGraph {}

/// Draws a graph.
pub fn render(graph: &Graph, options: &Options) -> Result<String, NotInGraph> {
    let view = View::new(graph, options)?;
    Ok(match options.format {
        Format::Svg => svg::draw(&view),
        Format::Dot => dot::draw(&view),
        Format::Mermaid => mermaid::draw(&view),
    })
}

/// How a drawing becomes part of an HTML page.
#[derive(Clone, Copy)]
pub struct PageDrawing<'l> {
    /// Where the link of a version leads.
    pub link: &'l dyn Fn(&Version) -> String,
    /// The size in percent.
    pub zoom: u32,
}

/// Draws a graph as an `svg` element of an HTML page, whatever [`Options::format`] says.
///
/// The element has no styles of its own, so that the content security policy of the page may forbid them; the style sheet of
/// the page contains [`PAGE_STYLE`] for elements of the class `drawing`. Every version is a link with its version in
/// `data-version`; updates have their sources in `data-from`, separated by spaces, and their target in `data-to`.
pub fn render_for_page(graph: &Graph, options: &Options, page: PageDrawing<'_>) -> Result<String, NotInGraph> {
    Ok(svg::draw_for_page(&View::new(graph, options)?, page))
}

/// Adds a line to a drawing.
fn line(out: &mut String, text: fmt::Arguments<'_>) {
    // Writing into a text cannot fail.
    let _ = fmt::Write::write_fmt(out, format_args!("{text}\n"));
}
