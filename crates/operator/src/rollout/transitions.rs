//! Which states of an update follow each other, and why.
//!
//! The table is what the reconciler goes by: a change that is not in it does not happen. [`mermaid`] draws it for the
//! documentation, so a diagram that no longer says what the code does fails a test.

use std::fmt::{self, Write as _};

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

const ENGAGED: &[Phase] = &[Preparing, NotAccepted, Accepted, Applying, Done];
const ALL: &[Phase] = &[Idle, Waiting, Preparing, NotAccepted, Accepted, Applying, Done];

/// Every change of state that there is.
pub const TRANSITIONS: &[Transition] = &[
    Transition { from: ALL, trigger: Trigger::Unready, to: &[Waiting] },
    Transition { from: ALL, trigger: Trigger::Requested, to: &[Preparing] },
    Transition { from: ALL, trigger: Trigger::Ended, to: &[Idle] },
    Transition { from: ALL, trigger: Trigger::Deleted, to: &[Idle] },
    // A release that has to be fetched again, because its files are gone, is prepared a second time.
    Transition { from: ENGAGED, trigger: Trigger::Reported, to: &[Preparing, NotAccepted, Accepted] },
    Transition { from: &[Applying], trigger: Trigger::Reported, to: &[Applying, Done] },
    Transition { from: &[Accepted], trigger: Trigger::Stored, to: &[Applying] },
];

/// Whether the table has this change.
pub fn is_allowed(from: Phase, trigger: Trigger, to: Phase) -> bool {
    TRANSITIONS.iter().any(|row| row.trigger == trigger && row.from.contains(&from) && row.to.contains(&to))
}

/// The table as a Mermaid state diagram. Changes that are possible in every state are drawn once, from a frame around
/// all of them.
pub fn mermaid() -> String {
    let mut diagram = "stateDiagram-v2\n    [*] --> Idle\n".to_owned();
    let mut lines = Vec::new();
    for row in TRANSITIONS {
        for to in row.to {
            if row.from == ALL {
                lines.push(format!("    AnyState --> {to}: {}\n", row.trigger));
            } else {
                lines.extend(row.from.iter().map(|from| format!("    {from} --> {to}: {}\n", row.trigger)));
            }
        }
    }
    let _ = writeln!(diagram, "    state \"any state\" as AnyState");
    diagram.extend(lines);
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

impl fmt::Display for Trigger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Trigger::Unready => "asked for, cannot begin yet",
            Trigger::Requested => "asked for, or to be continued",
            Trigger::Ended => "complete and stored, or withdrawn before it began",
            Trigger::Deleted => "object deleted",
            Trigger::Reported => "reported by the worker",
            Trigger::Stored => "status stored",
        })
    }
}
