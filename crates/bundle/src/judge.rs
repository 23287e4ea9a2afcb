//! Two bundles become a list of findings: every rule is asked about every pair of bundles, CRDs, versions and fields.
//!
//! Start at [`Comparison`].

mod collector;
mod walk;

use clearway_core::{Severity, Timestamp};
use serde::Serialize;

use crate::channel::Channel;
use crate::finding::{Finding, Verdict};
use crate::ledger::NameLedger;
use crate::model::{Bundle, Level};
use crate::waivers::Waivers;

pub(crate) use collector::{Change, Collector, Site, name_list};
pub(crate) use walk::{FieldPair, missing_fields};

/// Two bundles to compare, with what else is known.
#[derive(Debug, Clone, Copy)]
pub struct Comparison<'b> {
    /// The previous bundle.
    pub old: &'b Bundle,
    /// The bundle after.
    pub new: &'b Bundle,
    /// The experimental bundle of the old version, if both others are of the standard channel.
    pub old_experimental: Option<&'b Bundle>,
    /// The experimental bundle of the new version. Whether fields and CRDs were experimental before is judged only if at
    /// least one experimental bundle is given.
    pub new_experimental: Option<&'b Bundle>,
    /// The names that were used before (V4).
    pub ledger: Option<&'b NameLedger>,
    /// The level that is allowed; if none is given, the one that the two versions allow.
    pub level: Option<Level>,
}

/// What kind of step it is from the old bundle to the new one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Step {
    /// To the same or a newer version of the same channel.
    Update,
    /// To an older version.
    Rollback,
    /// From the experimental channel to the standard one.
    ToStandard,
    /// From the standard channel to the experimental one.
    ToExperimental,
}

/// The findings of a comparison.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Judgement {
    /// What kind of step it is.
    pub step: Step,
    /// The level that the versions of the two bundles allow.
    pub allowed: Level,
    /// The findings, in order of path and rule.
    pub findings: Vec<Finding>,
    /// How many findings were left out because there were too many.
    pub left_out: usize,
    /// Whether a part of one of the bundles could not be read, and was not judged.
    pub incomplete: bool,
}

/// The result of a comparison as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// Every change is allowed.
    Allowed,
    /// No change is a violation, but some have to be reviewed, or something could not be read.
    NeedsReview,
    /// At least one change is not allowed.
    Violation,
}

impl<'b> Comparison<'b> {
    /// Compares two bundles, with nothing else known.
    pub fn new(old: &'b Bundle, new: &'b Bundle) -> Self {
        Comparison { old, new, old_experimental: None, new_experimental: None, ledger: None, level: None }
    }

    /// What kind of step it is.
    pub fn step(&self) -> Step {
        let rollback = match (&self.old.version, &self.new.version) {
            (Some(old), Some(new)) => old.is_rollback_to(new),
            _ => false,
        };
        match (self.old.channel, self.new.channel) {
            _ if rollback => Step::Rollback,
            (Some(Channel::Experimental), Some(Channel::Standard)) => Step::ToStandard,
            (Some(Channel::Standard), Some(Channel::Experimental)) => Step::ToExperimental,
            _ => Step::Update,
        }
    }

    /// The level that is allowed: the given one, or that of the two versions. Without both versions nothing is allowed.
    pub fn allowed_level(&self) -> Level {
        if let Some(level) = self.level {
            return level;
        }
        match (&self.old.version, &self.new.version) {
            (Some(old), Some(new)) => old.level_to(new),
            _ => Level::None,
        }
    }

    /// Whether the rules of the experimental channel hold: in that channel, and between snapshots.
    pub fn is_experimental(&self) -> bool {
        let snapshot = |bundle: &Bundle| bundle.version.as_ref().is_some_and(crate::model::BundleVersion::is_snapshot);
        self.new.channel == Some(Channel::Experimental) || snapshot(self.old) || snapshot(self.new)
    }

    /// Asks every rule.
    pub fn judge(&self) -> Judgement {
        let mut collector = Collector::new(self.is_experimental(), self.allowed_level());
        walk::walk(self, &mut collector);
        if let Some(ledger) = self.ledger {
            ledger.report_reused_names(self.new, &mut collector);
        }
        let unreadable = |bundle: &Bundle| bundle.problems.iter().any(|problem| problem.severity == Severity::Error);
        let (findings, left_out) = collector.finish();
        Judgement {
            step: self.step(),
            allowed: self.allowed_level(),
            findings,
            left_out,
            incomplete: unreadable(self.old) || unreadable(self.new),
        }
    }
}

impl Judgement {
    /// Marks the findings that a waiver allows at this time.
    #[must_use]
    pub fn with_waivers(mut self, waivers: &mut Waivers, now: Timestamp) -> Self {
        for finding in &mut self.findings {
            waivers.apply(finding, now);
        }
        self
    }

    /// The result as a whole.
    pub fn outcome(&self) -> Outcome {
        match self.findings.iter().map(|finding| finding.verdict).max() {
            Some(Verdict::Violation) => Outcome::Violation,
            Some(Verdict::NeedsReview) => Outcome::NeedsReview,
            _ if self.incomplete || self.left_out > 0 => Outcome::NeedsReview,
            _ => Outcome::Allowed,
        }
    }

    /// The largest level that a change needs and no waiver allows.
    pub fn needed(&self) -> Level {
        let counted = self.findings.iter().filter(|finding| finding.verdict != Verdict::Waived);
        counted.map(|finding| finding.needed).max().unwrap_or(Level::None)
    }
}
