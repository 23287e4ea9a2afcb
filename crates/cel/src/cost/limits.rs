//! How large an expression may be, and how much evaluating one may use.

use crate::error::ErrorClass;

/// Bounds on the text of one expression. What exceeds one of them is refused with the name of the limit.
///
/// The first two are those of Kubernetes, so that an expression is refused here if it is refused there; the others are
/// far above what an expression within the first two needs, unless it was written to be expensive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Characters of the text.
    pub code_points: usize,
    /// Levels of nesting: brackets, chains of operators, selections, calls and conditionals.
    pub nesting: usize,
    /// Parts of the expression after macros were expanded. `optMap` doubles what it is called on.
    pub nodes: usize,
    /// Steps of comparing types. Types can be larger than the text that has them.
    pub type_steps: usize,
    /// Bytes that one compiled regular expression may take.
    pub regex_bytes: usize,
    /// Bytes that are written and read to compile all regular expressions of the text; see [`RegexWork`].
    pub regex_work: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            code_points: 100_000,
            nesting: 250,
            nodes: 200_000,
            type_steps: 5_000_000,
            regex_bytes: 1 << 20,
            regex_work: 64 << 20,
        }
    }
}

/// What compiling regular expressions has taken, and may still take: each is tried in a few sizes, and each try counts with the
/// bytes that it may write and those that it reads. It is counted before it is done.
#[derive(Debug)]
pub struct RegexWork {
    most: usize,
    used: usize,
    exceeded: bool,
}

impl RegexWork {
    /// So many bytes, and none used yet.
    pub fn new(most: usize) -> Self {
        RegexWork { most, used: 0, exceeded: false }
    }

    /// The bytes that were used.
    pub fn used(&self) -> usize {
        self.used
    }

    /// Whether there was not enough for a regular expression.
    pub fn is_exceeded(&self) -> bool {
        self.exceeded
    }

    /// All bytes there are.
    pub(crate) fn most(&self) -> usize {
        self.most
    }

    /// Takes some bytes, if there are as many.
    pub(crate) fn take(&mut self, bytes: usize) -> Result<(), ErrorClass> {
        let used = self.used.saturating_add(bytes);
        if used > self.most {
            self.exceeded = true;
            return Err(ErrorClass::TooLarge);
        }
        self.used = used;
        Ok(())
    }
}

/// How much one evaluation may use. What exceeds it ends with an error that nothing absorbs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    /// Cost by Kubernetes' model.
    pub cost: u64,
    /// Bytes of values that are made on the way, over the whole evaluation.
    pub memory: u64,
    /// Bytes and elements that are looked at. Kubernetes' model does not count all of them (the size of a text costs 1,
    /// however long it is), so that this bounds the time.
    pub work: u64,
}

impl Budget {
    /// What the API server allows for one expression.
    pub const PER_EXPRESSION: u64 = 1_000_000;
    /// What the API server allows for all rules of one custom resource, or all expressions of one policy.
    pub const PER_OBJECT: u64 = 10_000_000;
    /// The same for the match conditions of one webhook or policy.
    pub const MATCH_CONDITIONS: u64 = 2_500_000;
    /// The largest estimate that the API server accepts for one rule of a CRD.
    pub const ESTIMATE_PER_RULE: u64 = 10_000_000;
    /// The largest estimate that the API server accepts for all rules of a CRD.
    pub const ESTIMATE_PER_CRD: u64 = 100_000_000;

    /// The budget of one expression with another cost.
    #[must_use]
    pub fn with_cost(cost: u64) -> Self {
        Budget { cost, ..Budget::default() }
    }
}

impl Default for Budget {
    fn default() -> Self {
        Budget { cost: Budget::PER_EXPRESSION, memory: 64 << 20, work: 1 << 25 }
    }
}
