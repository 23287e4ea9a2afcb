//! Why objects are unknown, in the same fixed words in proofs and snapshots.

use std::fmt;

use clearway_advice::evidence::{Failure, FailureClass};

use clearway_core::{GroupKind, GroupVersionKind};

use crate::store::StoreError;

/// Why the objects of a kind are unknown: a class and fixed words, as they stand in proofs and snapshots.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnreadReason {
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

impl UnreadReason {
    const ALL: [UnreadReason; 7] = [
        UnreadReason::Forbidden,
        UnreadReason::TooLarge,
        UnreadReason::Unreachable,
        UnreadReason::DiscoveryIncomplete,
        UnreadReason::Endless,
        UnreadReason::Unsupported,
        UnreadReason::NotInSnapshot,
    ];

    /// The words.
    pub const fn as_str(self) -> &'static str {
        match self {
            UnreadReason::Forbidden => "permission denied",
            UnreadReason::TooLarge => "too large",
            UnreadReason::Unreachable => "the API server did not answer",
            UnreadReason::DiscoveryIncomplete => "the API server does not know whether it serves the kind",
            UnreadReason::Endless => "the list has no end",
            UnreadReason::Unsupported => "rules cannot read them",
            UnreadReason::NotInSnapshot => "not in the snapshot",
        }
    }

    /// The reason that words of a snapshot stand for. Other words come from a stranger, and are not repeated.
    pub fn of_words(words: &str) -> Self {
        UnreadReason::ALL.into_iter().find(|reason| reason.as_str() == words).unwrap_or(UnreadReason::NotInSnapshot)
    }

    /// The failure of every rule about objects of the kind.
    pub fn failure(self, kind: &GroupKind) -> Failure {
        let class = match self {
            UnreadReason::Forbidden => FailureClass::Unauthorized,
            UnreadReason::TooLarge => FailureClass::Budget,
            UnreadReason::Unreachable | UnreadReason::DiscoveryIncomplete => FailureClass::Unreachable,
            UnreadReason::Endless => FailureClass::Partial,
            UnreadReason::Unsupported => FailureClass::Unsupported,
            UnreadReason::NotInSnapshot => FailureClass::Absent,
        };
        Failure::new(class, format!("{kind} objects are unknown: {self}."))
    }

    /// The reason behind an error of a store.
    pub(super) fn of_error(error: &StoreError, kind: &GroupVersionKind) -> Self {
        // The text of the API server may name users and objects, so it goes no further than this.
        tracing::debug!(%error, %kind, "cannot read objects for rules");
        match error {
            StoreError::Forbidden { .. } => UnreadReason::Forbidden,
            StoreError::AnswerTooLarge { .. } => UnreadReason::TooLarge,
            _ => UnreadReason::Unreachable,
        }
    }
}

impl fmt::Display for UnreadReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
