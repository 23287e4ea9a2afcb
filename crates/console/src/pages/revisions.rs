//! The revisions of the graph since the start, and what each changed.

use askama::Template;
use clearway_core::{Timestamp, humanize};

use super::{Page, PageError, page};
use crate::address::Route;
use crate::foreign_text;
use crate::frame::{Frame, Parts};
use crate::revision_history::{ChannelChange, MOST_REVISIONS, RevisionHistory, RevisionRecord};

#[derive(Template)]
#[template(path = "revisions.html")]
struct RevisionsPage {
    frame: Frame,
    most: usize,
    revisions: Vec<RevisionRow>,
}

/// A revision in the list.
struct RevisionRow {
    id: String,
    link: String,
    published: String,
    age: String,
    releases: usize,
    channels: usize,
    summary: String,
    is_current: bool,
}

#[derive(Template)]
#[template(path = "revision.html")]
struct RevisionPage<'r> {
    frame: Frame,
    id: String,
    published: String,
    before: Option<String>,
    is_first: bool,
    changes: &'r [ChannelChange],
    more: usize,
}

/// The list of revisions.
pub fn render_list(history: &RevisionHistory, now: Timestamp, parts: Parts) -> Result<Page, PageError> {
    let row = |(place, record): (usize, &RevisionRecord)| RevisionRow {
        id: short(&record.id),
        link: Route::Revision { id: record.id.clone() }.link(),
        published: record.published.to_string(),
        age: humanize(now.since(record.published)),
        releases: record.releases,
        channels: record.channels,
        summary: summary(record),
        is_current: place == 0,
    };
    page(&RevisionsPage {
        frame: Frame::new("Revisions", parts, &Route::Revisions),
        most: MOST_REVISIONS,
        revisions: history.iter().enumerate().map(row).collect(),
    })
}

/// The page of a revision: what it changed.
pub fn render(history: &RevisionHistory, id: &str, parts: Parts) -> Result<Page, PageError> {
    let Some((place, record)) = history.find(id) else {
        let id = foreign_text::line(id);
        return Err(PageError::NotFound(format!("There is no revision {id} among the last {MOST_REVISIONS}.")));
    };
    let changes = record.changes.as_ref();
    page(&RevisionPage {
        frame: Frame::new(format!("Revision {}", short(id)), parts, &Route::Revisions),
        id: record.id.clone(),
        published: record.published.to_string(),
        before: history.get(place + 1).map(|before| short(&before.id)),
        is_first: changes.is_none(),
        changes: changes.map_or(&[], |changes| &changes.list),
        more: changes.map_or(0, |changes| changes.more),
    })
}

fn summary(record: &RevisionRecord) -> String {
    match &record.changes {
        None => "the first since the start".to_owned(),
        Some(changes) if changes.list.is_empty() => "no update changed".to_owned(),
        Some(changes) => {
            let answers: usize =
                changes.list.iter().map(|change| change.channels.len() + change.more_channels).sum::<usize>();
            format!("changes in {} graphs of channels", answers + changes.more)
        }
    }
}

/// The first letters of a revision's name, which tell revisions apart.
pub(crate) fn short(id: &str) -> String {
    id.strip_prefix("sha256:").unwrap_or(id).chars().take(12).collect()
}
