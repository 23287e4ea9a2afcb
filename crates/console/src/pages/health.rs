//! The state of the parts that answers depend on.

use askama::Template;

use super::{Page, PageError, page};
use crate::address::Route;
use crate::foreign_text;
use crate::frame::{Frame, Parts};

/// The state of a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PartState {
    /// It works.
    Good,
    /// It works, and something needs attention.
    Warning,
    /// It does not work.
    Bad,
    /// It is not known whether it works.
    Unknown,
}

impl PartState {
    pub(crate) fn class(self) -> &'static str {
        match self {
            PartState::Good => "good",
            PartState::Warning => "warning",
            PartState::Bad => "bad",
            PartState::Unknown => "unknown",
        }
    }

    pub(crate) fn word(self) -> &'static str {
        match self {
            PartState::Good => "Working",
            PartState::Warning => "Needs attention",
            PartState::Bad => "Not working",
            PartState::Unknown => "Unknown",
        }
    }
}

/// A part and its state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartHealth {
    /// What it is.
    pub name: String,
    /// Its state.
    pub state: PartState,
    /// The state in a sentence, with what to do about it.
    pub sentence: String,
}

#[derive(Template)]
#[template(path = "health.html")]
struct HealthPage {
    frame: Frame,
    version: String,
    rows: Vec<HealthRow>,
}

/// A part in the table.
pub(crate) struct HealthRow {
    pub(crate) name: String,
    pub(crate) class: &'static str,
    pub(crate) word: &'static str,
    pub(crate) sentence: String,
}

/// The page of the state of parts.
pub fn render(parts_health: &[PartHealth], version: &str, parts: Parts) -> Result<Page, PageError> {
    page(&HealthPage {
        frame: Frame::new("Health", parts, &Route::Health),
        version: foreign_text::line(version),
        rows: rows(parts_health),
    })
}

pub(crate) fn rows(parts: &[PartHealth]) -> Vec<HealthRow> {
    let row = |part: &PartHealth| HealthRow {
        name: foreign_text::line(&part.name),
        class: part.state.class(),
        word: part.state.word(),
        sentence: foreign_text::line(&part.sentence),
    };
    parts.iter().map(row).collect()
}
