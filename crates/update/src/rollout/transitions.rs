//! Which states of an update follow each other, and why.
//!
//! The table is what the reconciler goes by: a change that is not in it does not happen. [`mermaid`] draws it for the
//! documentation, so a diagram that no longer says what the code does fails a test.

use std::fmt;

use super::Rollout;

/// The state of an update without its data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Phase {
    /// [`Rollout::Idle`].
    Idle,
    /// [`Rollout::Waiting`].
    Waiting,
    /// [`Rollout::Preparing`].
    Preparing,
    /// [`Rollout::NotAccepted`].
    NotAccepted,
    /// [`Rollout::Accepted`].
    Accepted,
    /// [`Rollout::Applying`].
    Applying,
    /// [`Rollout::Done`].
    Done,
}

/// What makes the state of an update change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Trigger {
    /// The spec asks for an update that may not or cannot be begun yet.
    Unready,
    /// The spec asks for an update, or for another one, or the history has one to continue.
    Requested,
    /// The spec asks for nothing more than there is, and what was done is stored.
    Ended,
    /// The object was deleted.
    Deleted,
    /// The worker reports how far it is.
    Reported,
    /// The stored status says that the update has begun.
    Stored,
}

/// One row of the table: in these states, for this reason, the state may become one of these.
#[derive(Debug, Clone, Copy)]
pub struct Transition {
    /// The states in which it may happen.
    pub from: &'static [Phase],
    /// Why.
    pub trigger: Trigger,
    /// The states that may follow.
    pub to: &'static [Phase],
}

use Phase::{Accepted, Applying, Done, Idle, NotAccepted, Preparing, Waiting};

const ALL: &[Phase] = &[Idle, Waiting, Preparing, NotAccepted, Accepted, Applying, Done];

/// Every change of state that there is.
pub const TRANSITIONS: &[Transition] = &[
    Transition { from: ALL, trigger: Trigger::Unready, to: &[Waiting] },
    Transition { from: ALL, trigger: Trigger::Requested, to: &[Preparing] },
    Transition { from: ALL, trigger: Trigger::Ended, to: &[Idle] },
    Transition { from: ALL, trigger: Trigger::Deleted, to: &[Idle] },
    Transition { from: &[Preparing, NotAccepted], trigger: Trigger::Reported, to: &[Preparing, NotAccepted, Accepted] },
    // A release whose files are gone when it is to be applied is prepared a second time.
    Transition { from: &[Applying], trigger: Trigger::Reported, to: &[Preparing, NotAccepted, Accepted] },
    Transition { from: &[Applying], trigger: Trigger::Reported, to: &[Applying, Done] },
    Transition { from: &[Accepted], trigger: Trigger::Stored, to: &[Applying] },
];

/// Whether the table has this change.
pub fn is_allowed(from: Phase, trigger: Trigger, to: Phase) -> bool {
    TRANSITIONS.iter().any(|row| row.trigger == trigger && row.from.contains(&from) && row.to.contains(&to))
}

/// The table as a Mermaid state diagram. Changes that are possible in every state are drawn once, from
/// "any state".
pub fn mermaid() -> String {
    let mut diagram = "stateDiagram-v2\n    state \"any state\" as AnyState\n    [*] --> Idle\n".to_owned();
    for row in TRANSITIONS {
        for to in row.to {
            let label = label(row.trigger, *to);
            let from = if row.from == ALL {
                vec!["AnyState".to_owned()]
            } else {
                row.from.iter().map(ToString::to_string).collect()
            };
            diagram.extend(from.iter().map(|from| format!("    {from} --> {to}: {label}\n")));
        }
    }
    diagram
}

impl Rollout {
    /// The state without its data.
    pub const fn phase(&self) -> Phase {
        match self {
            Rollout::Idle => Phase::Idle,
            Rollout::Waiting { .. } => Phase::Waiting,
            Rollout::Preparing { .. } => Phase::Preparing,
            Rollout::NotAccepted { .. } => Phase::NotAccepted,
            Rollout::Accepted { .. } => Phase::Accepted,
            Rollout::Applying { .. } => Phase::Applying,
            Rollout::Done { .. } => Phase::Done,
        }
    }
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Phase::Idle => "Idle",
            Phase::Waiting => "Waiting",
            Phase::Preparing => "Preparing",
            Phase::NotAccepted => "NotAccepted",
            Phase::Accepted => "Accepted",
            Phase::Applying => "Applying",
            Phase::Done => "Done",
        })
    }
}

/// What happened, for readers of the diagram.
fn label(trigger: Trigger, to: Phase) -> &'static str {
    match (trigger, to) {
        (Trigger::Unready, _) => "requested, cannot start yet",
        (Trigger::Requested, _) => "requested, or started by an earlier process",
        (Trigger::Ended, _) => "complete and stored, or withdrawn before it started",
        (Trigger::Deleted, _) => "object deleted",
        (Trigger::Stored, _) => "status stored",
        (Trigger::Reported, Phase::Preparing) => "a check begins",
        (Trigger::Reported, Phase::NotAccepted) => "a check failed",
        (Trigger::Reported, Phase::Accepted) => "all checks passed",
        (Trigger::Reported, Phase::Done) => "every object healthy",
        (Trigger::Reported, _) => "progress",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_applied_before_the_status_says_that_it_begins() {
        for from in ALL {
            for trigger in [Trigger::Unready, Trigger::Requested, Trigger::Ended, Trigger::Deleted, Trigger::Reported] {
                let applying = *from == Phase::Applying && trigger == Trigger::Reported;
                assert_eq!(is_allowed(*from, trigger, Phase::Applying), applying, "{from}: {trigger:?}");
            }
        }
        assert!(is_allowed(Phase::Accepted, Trigger::Stored, Phase::Applying));
    }

    #[test]
    fn a_worker_that_was_stopped_changes_nothing() {
        for from in [Phase::Idle, Phase::Waiting] {
            for to in ALL {
                assert!(!is_allowed(from, Trigger::Reported, *to), "{from} → {to}");
            }
        }
    }

    #[test]
    fn every_state_can_be_reached_and_left() {
        for phase in ALL {
            assert!(TRANSITIONS.iter().any(|row| row.to.contains(phase)), "{phase} is never reached");
            let left = TRANSITIONS.iter().any(|row| row.from.contains(phase) && row.to.iter().any(|to| to != phase));
            assert!(left, "{phase} is never left");
        }
    }
}
