//! The forms that change something, and the page that says what came of one.
//!
//! A form names the object and the update, and asks for the caller's token, unless the request for its page came with an
//! identity already.

use std::collections::{BTreeMap, BTreeSet};

use askama::Template;
use clearway_advice::{Status, Update, Verdict};

use super::cluster::ClusterState;
use super::{Page, PageError, page};
use crate::address::Route;
use crate::change::{self, Change, ChangeAction, ChangeOutcome, ChangeResult};
use crate::foreign_text;
use crate::frame::{Frame, Parts};

/// The forms of a console that can change something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FormOptions {
    /// Whether the request for the page has the identity of the caller, so that forms do not ask for a token.
    pub has_identity: bool,
}

/// What the object of a cluster says about requests: those that were made, and what decides about the next one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RequestState {
    /// Accepted risks by name, each with its end and reason in words.
    pub accepted_risks: BTreeMap<String, String>,
    /// The versions that the object recommends, with the accepted risks taken into account.
    pub recommended: BTreeSet<String>,
    /// The conditions that are a problem for an update; empty if there are none.
    pub objections: String,
}

impl RequestState {
    /// That a risk was accepted, as text for a page; empty if it was not.
    pub(crate) fn accepted_text(&self, risk: &str) -> String {
        self.accepted_risks.get(risk).map_or(String::new(), |text| foreign_text::line(text))
    }
}

/// The form that starts an update.
pub(crate) struct StartForm {
    pub(crate) action: String,
    pub(crate) hidden: Vec<(&'static str, String)>,
    /// What the tick says that is needed; empty if none is.
    pub(crate) allow_not_recommended: &'static str,
    pub(crate) allow_with_warnings: &'static str,
    pub(crate) objections: String,
    pub(crate) asks_for_token: bool,
}

/// The form that accepts a risk.
pub(crate) struct AcceptForm {
    pub(crate) action: String,
    pub(crate) hidden: Vec<(&'static str, String)>,
    pub(crate) is_unknown: bool,
    pub(crate) asks_for_token: bool,
    /// The id of the text about the token, which no other form of the page has.
    pub(crate) token_id: String,
}

/// Names the object and the update. Values are sent back as they are, so they are not changed for reading.
fn hidden(cluster: &ClusterState, update: &Update) -> Vec<(&'static str, String)> {
    vec![("kind", cluster.kind.clone()), ("name", cluster.name.clone()), ("version", update.version.to_string())]
}

impl StartForm {
    pub(crate) fn new(cluster: &ClusterState, update: &Update, options: FormOptions) -> Self {
        let RequestState { recommended, objections, .. } = &cluster.requests;
        let is_recommended =
            recommended.contains(&update.version.to_string()) || update.recommended.status == Status::True;
        StartForm {
            action: change::start_link(),
            hidden: hidden(cluster, update),
            allow_not_recommended: if is_recommended { "" } else { change::ALLOW_NOT_RECOMMENDED },
            allow_with_warnings: if objections.is_empty() { "" } else { change::ALLOW_WITH_WARNINGS },
            objections: foreign_text::lines(objections),
            asks_for_token: !options.has_identity,
        }
    }
}

impl AcceptForm {
    /// The form for the risk at a place of an update; none if the risk is known not to apply.
    pub(crate) fn new(cluster: &ClusterState, update: &Update, place: usize, options: FormOptions) -> Option<Self> {
        let risk = update.risks.get(place)?;
        let mut hidden = hidden(cluster, update);
        hidden.push(("risk", risk.name.clone()));
        (risk.verdict != Verdict::NoMatch).then(|| AcceptForm {
            action: change::accept_link(),
            hidden,
            is_unknown: risk.verdict != Verdict::Match,
            asks_for_token: !options.has_identity,
            token_id: format!("token-{place}"),
        })
    }
}

#[derive(Template)]
#[template(path = "change.html")]
struct ChangePage {
    frame: Frame,
    class: &'static str,
    word: &'static str,
    sentence: String,
    warnings: Vec<String>,
    back: String,
}

/// The page that says what came of a change.
pub fn render(change: &Change, outcome: &ChangeOutcome, parts: Parts) -> Result<Page, PageError> {
    let (class, word) = match outcome.result {
        ChangeResult::Done => ("good", "Done"),
        ChangeResult::Invalid | ChangeResult::NotFound => ("bad", "Invalid"),
        ChangeResult::Unauthenticated => ("bad", "Not authenticated"),
        ChangeResult::Forbidden => ("bad", "Not allowed"),
        ChangeResult::Refused => ("bad", "Refused"),
        ChangeResult::Unreachable => ("bad", "Not working"),
    };
    let title = match (&outcome.result, &change.action) {
        (ChangeResult::Done, ChangeAction::StartUpdate { .. }) => format!("Update to {}", change.version),
        (ChangeResult::Done, ChangeAction::AcceptRisk { .. }) => "Accepted risk".to_owned(),
        _ => "Nothing was changed".to_owned(),
    };
    page(&ChangePage {
        frame: Frame::new(title, parts, &Route::Overview),
        class,
        word,
        sentence: foreign_text::lines(&outcome.sentence),
        warnings: outcome.warnings.iter().map(|warning| foreign_text::lines(warning)).collect(),
        back: change.page().link(),
    })
}
