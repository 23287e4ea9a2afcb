//! The pages, each a function of values.

pub mod change;
pub mod channel;
pub mod cluster;
pub mod cluster_objects;
pub mod cluster_risks;
pub mod health;
pub mod overview;
pub mod revisions;
mod risk_text;
pub mod risks;
pub mod update;

use std::fmt;

use askama::Template;

use crate::address::{BadAddress, Route};
use crate::change::BadForm;
use crate::foreign_text;
use crate::frame::{Frame, Parts};

/// A page as HTML.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// The HTML.
    pub html: String,
}

/// Why there is no page.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PageError {
    /// The request names something that does not exist.
    #[error("{0}")]
    NotFound(String),
    /// The request cannot be understood.
    #[error("{0}")]
    Invalid(String),
    /// There is nothing to show yet.
    #[error("{0}")]
    NotReady(String),
    /// The page has more bytes than are sent.
    #[error("The page would be larger than 16 MiB. Use the command line, such as clearway graph show.")]
    TooLarge,
    /// The page cannot be rendered.
    #[error("the page cannot be rendered: {0}")]
    Template(String),
}

impl From<BadAddress> for PageError {
    fn from(error: BadAddress) -> Self {
        match error {
            BadAddress::NoPage => PageError::NotFound(error.to_string()),
            BadAddress::Missing(_) | BadAddress::Invalid { .. } => PageError::Invalid(error.to_string()),
        }
    }
}

impl From<BadForm> for PageError {
    fn from(error: BadForm) -> Self {
        match error {
            BadForm::Field(error) => error.into(),
            BadForm::Token(_) => PageError::Invalid(error.to_string()),
        }
    }
}

/// Bytes of a page. What is above it is not rendered to its end: no browser shows it, and memory is not for one client.
const PAGE_BYTES: usize = 16 << 20;

/// HTML as it is written, up to [`PAGE_BYTES`].
struct BoundedHtml(String);

impl fmt::Write for BoundedHtml {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if self.0.len().saturating_add(text.len()) > PAGE_BYTES {
            return Err(fmt::Error);
        }
        self.0.push_str(text);
        Ok(())
    }
}

/// A page of a template.
fn page(template: &impl Template) -> Result<Page, PageError> {
    let mut html = BoundedHtml(String::new());
    match template.render_into(&mut html) {
        Ok(()) => Ok(Page { html: html.0 }),
        Err(askama::Error::Fmt) => Err(PageError::TooLarge),
        Err(error) => Err(PageError::Template(error.to_string())),
    }
}

#[derive(Template)]
#[template(path = "error.html")]
struct ErrorPage {
    frame: Frame,
    message: String,
}

impl PageError {
    /// A page that says so.
    pub fn page(&self, parts: Parts) -> Page {
        let title = match self {
            PageError::NotFound(_) => "Not found",
            PageError::Invalid(_) => "Invalid request",
            PageError::NotReady(_) => "Not ready",
            PageError::TooLarge => "Too large",
            PageError::Template(_) => "Error",
        };
        let message = foreign_text::line(&self.to_string());
        // No section of the navigation is current.
        let frame = Frame::new(title, parts, &Route::Asset { name: String::new() });
        page(&ErrorPage { frame, message }).unwrap_or(Page { html: String::new() })
    }
}

/// A link with its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TextLink {
    pub(crate) text: String,
    pub(crate) link: String,
}
