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

use clearway_core::{CapExceeded, Version};
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

/// Why there is no drawing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RenderError {
    /// A version that was asked for is not in the graph.
    #[error("{version} is not in this channel")]
    NotInGraph {
        /// The version.
        version: Version,
    },
    /// The drawing would have more bytes than one may have.
    #[error("{0}; draw less of the channel")]
    TooLarge(CapExceeded),
}

/// Bytes of one drawing.
const DRAWING_BYTES: usize = 128 << 20;

/// Draws a graph.
pub fn render(graph: &Graph, options: &Options) -> Result<String, RenderError> {
    let view = View::new(graph, options)?;
    match options.format {
        Format::Svg => svg::draw(&view),
        Format::Dot => dot::draw(&view),
        Format::Mermaid => mermaid::draw(&view),
    }
    .finish()
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
pub fn render_for_page(graph: &Graph, options: &Options, page: PageDrawing<'_>) -> Result<String, RenderError> {
    svg::draw_for_page(&View::new(graph, options)?, page).finish()
}

/// The text of a drawing, as far as it fits.
struct Drawing {
    text: String,
    most: usize,
    is_full: bool,
}

impl Drawing {
    fn with_capacity(bytes: usize) -> Self {
        Drawing { text: String::with_capacity(bytes.min(DRAWING_BYTES)), most: DRAWING_BYTES, is_full: false }
    }

    fn push_str(&mut self, text: &str) {
        self.is_full = self.is_full || self.text.len().saturating_add(text.len()) > self.most;
        if !self.is_full {
            self.text.push_str(text);
        }
    }

    /// Adds a line.
    fn line(&mut self, text: fmt::Arguments<'_>) {
        // What does not fit is said at the end.
        let _ = fmt::Write::write_fmt(self, format_args!("{text}\n"));
    }

    fn finish(self) -> Result<String, RenderError> {
        if self.is_full {
            let (cap, limit, what) = ("drawing_bytes", self.most as u64, "bytes of one drawing");
            return Err(RenderError::TooLarge(CapExceeded { cap, limit, what }));
        }
        Ok(self.text)
    }
}

impl fmt::Write for Drawing {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.push_str(text);
        if self.is_full { Err(fmt::Error) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_drawing_that_is_too_large_is_an_error_with_the_cap() {
        let drawn = |most: usize| {
            let mut drawing = Drawing { text: String::new(), most, is_full: false };
            drawing.push_str("abc");
            drawing.line(format_args!("{}{}", "def", 1));
            drawing.push_str("");
            drawing.finish()
        };
        assert_eq!(drawn(8).unwrap(), "abcdef1\n");
        let error = drawn(7).unwrap_err().to_string();
        assert_eq!(error, "more than 7 bytes of one drawing (the cap `drawing_bytes`); draw less of the channel");
    }
}
