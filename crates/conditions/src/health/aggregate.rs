//! The health of many objects as one word: the worst, in an order that does not depend on theirs.

use serde::Serialize;

use super::verdict::State;

/// How bad a state is for a set; states of the same rank are reported as the one with the first place.
fn rank(state: State) -> u8 {
    match state {
        State::Current => 0,
        State::Suspended => 1,
        // What is missing or going away is on the way to something else.
        State::InProgress | State::Terminating | State::NotFound => 2,
        // Worse than being on the way: among what is not known there may be failures.
        State::Unknown => 3,
        State::Failed => 4,
    }
}

/// The state of a set: the worst of its members', where `Terminating` and `NotFound` count as `InProgress`.
///
/// No objects are `Current`; a [`Tally`] says that there were none.
pub fn aggregate(states: impl IntoIterator<Item = State>) -> State {
    states.into_iter().map(rank).max().map_or(State::Current, |worst| match worst {
        0 => State::Current,
        1 => State::Suspended,
        2 => State::InProgress,
        3 => State::Unknown,
        _ => State::Failed,
    })
}

/// How many objects are in each state.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Tally {
    /// All of them.
    pub objects: usize,
    /// [`State::Current`].
    pub current: usize,
    /// [`State::InProgress`].
    pub in_progress: usize,
    /// [`State::Failed`].
    pub failed: usize,
    /// [`State::Terminating`].
    pub terminating: usize,
    /// [`State::NotFound`].
    pub not_found: usize,
    /// [`State::Suspended`].
    pub suspended: usize,
    /// [`State::Unknown`].
    pub unknown: usize,
}

impl Tally {
    /// How many are in a state.
    pub fn of(&self, state: State) -> usize {
        match state {
            State::Current => self.current,
            State::InProgress => self.in_progress,
            State::Failed => self.failed,
            State::Terminating => self.terminating,
            State::NotFound => self.not_found,
            State::Suspended => self.suspended,
            State::Unknown => self.unknown,
        }
    }

    /// The state of the whole.
    pub fn state(&self) -> State {
        aggregate(State::ALL.into_iter().filter(|state| self.of(*state) > 0))
    }
}

impl FromIterator<State> for Tally {
    fn from_iter<I: IntoIterator<Item = State>>(states: I) -> Self {
        states.into_iter().fold(Tally::default(), |mut tally, state| {
            tally.objects += 1;
            *match state {
                State::Current => &mut tally.current,
                State::InProgress => &mut tally.in_progress,
                State::Failed => &mut tally.failed,
                State::Terminating => &mut tally.terminating,
                State::NotFound => &mut tally.not_found,
                State::Suspended => &mut tally.suspended,
                State::Unknown => &mut tally.unknown,
            } += 1;
            tally
        })
    }
}

impl std::fmt::Display for Tally {
    /// `10 objects: 7 Current, 2 InProgress, 1 Failed`, and `0 objects` for none.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} object{}", self.objects, if self.objects == 1 { "" } else { "s" })?;
        let mut between = ": ";
        for state in State::ALL.into_iter().filter(|state| self.of(*state) > 0) {
            write!(f, "{between}{} {state}", self.of(state))?;
            between = ", ";
        }
        Ok(())
    }
}
