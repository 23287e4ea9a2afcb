//! Why objects are unknown, in the same fixed words in proofs and snapshots.

use std::fmt;

use clearway_advice::evidence::{Failure, FailureClass};

use clearway_core::{GroupKind, GroupVersionKind};

use crate::store::StoreError;

/// Why the objects of a kind are unknown: a class and fixed words, as they stand in proofs and snapshots.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unread {
    /// The identity that reads evidence may not read them.
    Forbidden,
    /// There are more than [`ObjectLimits`](super::ObjectLimits) allow.
    TooLarge,
    /// The API server did not answer, or not with what was asked for.
    Unreachable,
    /// The API server does not know at the moment whether it serves the kind.
    DiscoveryIncomplete,
    /// The list has no end.
    Endless,
    /// The objects are credentials, or `ConfigMap`s that no rule names.
    Unsupported,
    /// A snapshot does not hold them.
    NotInSnapshot,
}

impl Unread {
    const ALL: [Unread; 7] = [
        Unread::Forbidden,
        Unread::TooLarge,
        Unread::Unreachable,
        Unread::DiscoveryIncomplete,
        Unread::Endless,
        Unread::Unsupported,
        Unread::NotInSnapshot,
    ];

    /// The words.
    pub const fn as_str(self) -> &'static str {
        match self {
            Unread::Forbidden => "permission denied",
            Unread::TooLarge => "too large",
            Unread::Unreachable => "the API server did not answer",
            Unread::DiscoveryIncomplete => "the API server does not know whether it serves the kind",
            Unread::Endless => "the list has no end",
            Unread::Unsupported => "rules cannot read them",
            Unread::NotInSnapshot => "not in the snapshot",
        }
    }

    /// The reason that words of a snapshot stand for. Other words come from a stranger, and are not repeated.
    pub fn of_words(words: &str) -> Self {
        Unread::ALL.into_iter().find(|reason| reason.as_str() == words).unwrap_or(Unread::NotInSnapshot)
    }

    /// The failure of every rule about objects of the kind.
    pub fn failure(self, kind: &GroupKind) -> Failure {
        let class = match self {
            Unread::Forbidden => FailureClass::Unauthorized,
            Unread::TooLarge => FailureClass::Budget,
            Unread::Unreachable | Unread::DiscoveryIncomplete => FailureClass::Unreachable,
            Unread::Endless => FailureClass::Partial,
            Unread::Unsupported => FailureClass::Unsupported,
            Unread::NotInSnapshot => FailureClass::Absent,
        };
        Failure::new(class, format!("{kind} objects are unknown: {self}."))
    }

    /// The reason behind an error of a store.
    pub(super) fn of_error(error: &StoreError, kind: &GroupVersionKind) -> Self {
        // The text of the API server may name users and objects, so it goes no further than this.
        tracing::debug!(%error, %kind, "cannot read objects for rules");
        match error {
            StoreError::Forbidden { .. } => Unread::Forbidden,
            StoreError::AnswerTooLarge { .. } => Unread::TooLarge,
            _ => Unread::Unreachable,
        }
    }
}

impl fmt::Display for Unread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
