//! The known updates of a status, newest first, each with its recommendation (U11, U13).

use std::cmp::Ordering;

use clearway_conditions::Status as Word;
use clearway_core::Version;
use clearway_update::api::{ConditionalUpdate, RECOMMENDED, Release, Status, same_image};

use super::condition_text::Statement;

/// An update that is known.
#[derive(Debug, Clone)]
pub(crate) struct KnownUpdate<'s> {
    pub(crate) release: &'s Release,
    pub(super) recommended: Statement,
    /// The names of its risks.
    pub(super) risks: Vec<&'s str>,
}

impl KnownUpdate<'_> {
    pub(crate) fn is_recommended(&self) -> bool {
        self.recommended.status == Word::True
    }
}

/// Every update of a status. What is in both lists is what its condition says: where the two contradict each other,
/// nothing is recommended by accident (U16).
pub(crate) fn known_updates(status: &Status) -> Vec<KnownUpdate<'_>> {
    let conditional = status.conditional_updates.iter().map(|update| KnownUpdate {
        release: &update.release,
        recommended: recommended(update),
        risks: update.risks.iter().map(|risk| risk.name.as_str()).collect(),
    });
    let mut all: Vec<KnownUpdate<'_>> = conditional.collect();
    for release in &status.available_updates {
        if !all.iter().any(|known| is_same(known.release, release)) {
            let recommended = Statement { status: Word::True, reason: String::new(), message: String::new() };
            all.push(KnownUpdate { release, recommended, risks: Vec::new() });
        }
    }
    all.sort_by(|one, other| newest_first(&one.release.version, &other.release.version));
    all
}

/// What the condition of a conditional update says; without one nothing is known.
fn recommended(update: &ConditionalUpdate) -> Statement {
    match update.conditions.get(RECOMMENDED) {
        Some(condition) => Statement {
            status: condition.status,
            reason: condition.reason.to_owned(),
            message: condition.message.to_owned(),
        },
        None => Statement {
            status: Word::Unknown,
            reason: "NotEvaluated".to_owned(),
            message: "Its risks have not been evaluated yet.".to_owned(),
        },
    }
}

fn is_same(one: &Release, other: &Release) -> bool {
    if one.image.is_empty() || other.image.is_empty() {
        return one.version == other.version;
    }
    same_image(&one.image, &other.image)
}

/// Decreasing by precedence; what is no version stands last.
fn newest_first(one: &str, other: &str) -> Ordering {
    match (one.parse::<Version>(), other.parse::<Version>()) {
        (Ok(first), Ok(second)) => second.precedence(&first).then_with(|| other.cmp(one)),
        (Ok(_), Err(_)) => Ordering::Less,
        (Err(_), Ok(_)) => Ordering::Greater,
        (Err(_), Err(_)) => other.cmp(one),
    }
}
