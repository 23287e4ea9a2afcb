//! The conditions a controller owns, declared once.
//!
//! Polarity, presence and severity belong to a type, not to a report, so they are declared here and nowhere else. What
//! would be wrong to declare does not compile: a negative dependent, a dependent that may be absent, two conditions of
//! one type, a summary without dependents. Start at [`condition_set!`](crate::condition_set), which writes the
//! implementation of [`ConditionSet`].

mod set_macro;

use super::schema::MAX_CONDITIONS;
use super::{ConditionSeverity, Polarity, Presence};
use crate::condition_type;
use crate::model::words::names::ConditionType;

/// Which condition sums up the others. It is computed by every pass and cannot be reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Summary {
    /// `Ready`, for what keeps running (K3).
    Ready,
    /// `Succeeded`, for what runs to completion (K3).
    Succeeded,
    /// No summary: for lists inside a status, whose object has its summary elsewhere, and for foreign APIs without one.
    /// There are no dependents then.
    Omitted,
}

impl Summary {
    /// The type of the summary condition, if there is one.
    pub const fn condition_type(self) -> Option<ConditionType> {
        match self {
            Summary::Ready => Some(condition_type!("Ready")),
            Summary::Succeeded => Some(condition_type!("Succeeded")),
            Summary::Omitted => None,
        }
    }
}

/// What is declared of one condition type. The constructors are all there is: no other combination can be said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Declaration {
    type_: ConditionType,
    polarity: Polarity,
    presence: Presence,
    severity: ConditionSeverity,
}

impl Declaration {
    const fn new(type_: ConditionType, polarity: Polarity, presence: Presence, severity: ConditionSeverity) -> Self {
        Declaration { type_, polarity, presence, severity }
    }

    /// Always present, positive, severity "": takes part in the summary (K4).
    #[must_use]
    pub const fn dependent(type_: ConditionType) -> Self {
        Declaration::new(type_, Polarity::Positive, Presence::Always, ConditionSeverity::Error)
    }

    /// Always present, positive, severity Warning.
    #[must_use]
    pub const fn warning(type_: ConditionType) -> Self {
        Declaration::new(type_, Polarity::Positive, Presence::Always, ConditionSeverity::Warning)
    }

    /// Always present, positive, severity Info.
    #[must_use]
    pub const fn info(type_: ConditionType) -> Self {
        Declaration::new(type_, Polarity::Positive, Presence::Always, ConditionSeverity::Info)
    }

    /// Always present though negative, severity Info: only for APIs whose clients expect to read a False there, such as
    /// `Failing` and `Progressing` of a `ClusterVersion`. All other negative conditions are problems (G1).
    #[must_use]
    pub const fn negative(type_: ConditionType) -> Self {
        Declaration::new(type_, Polarity::Negative, Presence::Always, ConditionSeverity::Info)
    }

    /// Present only while True, negative, severity Info (G1).
    #[must_use]
    pub const fn problem(type_: ConditionType) -> Self {
        Declaration::new(type_, Polarity::Negative, Presence::WhileAbnormal, ConditionSeverity::Info)
    }

    /// Present only while True, negative, severity Warning (G1).
    #[must_use]
    pub const fn problem_warning(type_: ConditionType) -> Self {
        Declaration::new(type_, Polarity::Negative, Presence::WhileAbnormal, ConditionSeverity::Warning)
    }

    /// Present only while False, positive, severity Info: only for APIs whose clients read absence as True, such as
    /// `Upgradeable` of a `ClusterVersion`.
    #[must_use]
    pub const fn problem_while_false(type_: ConditionType) -> Self {
        Declaration::new(type_, Polarity::Positive, Presence::WhileAbnormal, ConditionSeverity::Info)
    }

    /// The type of the condition.
    pub const fn condition_type(&self) -> &ConditionType {
        &self.type_
    }

    /// Which status is healthy.
    pub const fn polarity(&self) -> Polarity {
        self.polarity
    }

    /// When the condition is in the list.
    pub const fn presence(&self) -> Presence {
        self.presence
    }

    /// How much it matters.
    pub const fn severity(&self) -> ConditionSeverity {
        self.severity
    }
}

/// The conditions one controller owns on one kind of object. Written by [`condition_set!`](crate::condition_set).
///
/// Conditions of any other type on the object are somebody else's and are not touched.
pub trait ConditionSet: Sized + 'static {
    /// Names for the conditions that are always present, to report with.
    type Always: ConditionKey;
    /// Names for the conditions that are present while something is wrong, to raise and clear with.
    type Problem: ConditionKey;
    /// Which condition sums up the others.
    const SUMMARY: Summary;
    /// Whether `Reconciling` and `Stalled` are this controller's too.
    const PROGRESS: bool;
    /// Types that an earlier release of the controller wrote and this one does not: removed by every pass.
    const RETIRED: &'static [ConditionType];
}

/// The name of a condition in a program: a variant of an enum that [`condition_set!`](crate::condition_set) writes.
pub trait ConditionKey: Copy + Eq + std::fmt::Debug + 'static {
    /// What is declared of each variant, in order.
    const DECLARED: &'static [Declaration];
    /// The variants, in the same order.
    const KEYS: &'static [Self];
}

/// The problems of a set that has none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoProblems {}

impl ConditionKey for NoProblems {
    const DECLARED: &'static [Declaration] = &[];
    const KEYS: &'static [Self] = &[];
}

pub(super) const RECONCILING: ConditionType = condition_type!("Reconciling");
pub(super) const STALLED: ConditionType = condition_type!("Stalled");

/// Holds a set to what the constructors alone cannot: run at compile time by `condition_set!` and by `Pass::begin`.
#[doc(hidden)]
pub const fn check_set<S: ConditionSet>() {
    let (always, problems) = (S::Always::DECLARED, S::Problem::DECLARED);
    let summarised = !matches!(S::SUMMARY, Summary::Omitted);
    let mut dependents = 0;
    let mut rest = always;
    while let [declared, tail @ ..] = rest {
        assert!(matches!(declared.presence, Presence::Always), "an always-present condition is declared as a problem");
        if matches!(declared.severity, ConditionSeverity::Error) {
            dependents += 1;
        }
        check_name::<S>(&declared.type_);
        assert!(
            !occurs(&declared.type_, tail) && !occurs(&declared.type_, problems),
            "two conditions of the set have the same type"
        );
        rest = tail;
    }
    rest = problems;
    while let [declared, tail @ ..] = rest {
        assert!(
            matches!(declared.presence, Presence::WhileAbnormal),
            "a problem is declared as an always-present condition"
        );
        check_name::<S>(&declared.type_);
        assert!(!occurs(&declared.type_, tail), "two conditions of the set have the same type");
        rest = tail;
    }
    let mut retired = S::RETIRED;
    while let [type_, tail @ ..] = retired {
        assert!(
            !occurs(type_, always) && !occurs(type_, problems) && !is_computed::<S>(type_),
            "a retired type is still in use"
        );
        retired = tail;
    }
    assert!(!summarised || dependents > 0, "a summary needs at least one dependent, or nothing would set it to False");
    assert!(summarised || dependents == 0, "a dependent needs a summary");
    assert!(
        always.len() + problems.len() + 3 <= MAX_CONDITIONS,
        "the set alone would fill the list, and others need room too"
    );
}

const fn check_name<S: ConditionSet>(type_: &ConditionType) {
    let name = type_.literal_bytes();
    assert!(
        !equal(name, b"Ready") && !equal(name, b"Succeeded") || matches!(S::SUMMARY, Summary::Omitted),
        "the summary is computed and cannot be declared; a set has one summary only"
    );
    assert!(
        !equal(name, b"Reconciling") && !equal(name, b"Stalled"),
        "Reconciling and Stalled are reported with `progress`, so that both cannot be True at once"
    );
}

/// Whether every pass writes this type by itself.
const fn is_computed<S: ConditionSet>(type_: &ConditionType) -> bool {
    let name = type_.literal_bytes();
    match S::SUMMARY {
        Summary::Ready if equal(name, b"Ready") => true,
        Summary::Succeeded if equal(name, b"Succeeded") => true,
        _ => S::PROGRESS && (equal(name, b"Reconciling") || equal(name, b"Stalled")),
    }
}

const fn occurs(type_: &ConditionType, declared: &[Declaration]) -> bool {
    let mut rest = declared;
    while let [first, tail @ ..] = rest {
        if equal(type_.literal_bytes(), first.type_.literal_bytes()) {
            return true;
        }
        rest = tail;
    }
    false
}

const fn equal(left: &[u8], right: &[u8]) -> bool {
    let (mut left, mut right) = (left, right);
    while let ([a, left_tail @ ..], [b, right_tail @ ..]) = (left, right) {
        if *a != *b {
            return false;
        }
        (left, right) = (left_tail, right_tail);
    }
    left.is_empty() && right.is_empty()
}
