//! `Rollout`: a risk that ends for one cluster after the other.
//!
//! ```yaml
//! - type: Rollout
//!   rollout:
//!     start: 2026-05-04T09:00:00Z
//!     duration: 3d          # or `percentage: 25`
//! ```
//!
//! Before `start` every cluster matches. With `duration` each cluster has its turn within that time and matches until
//! then; with `percentage` that share of the clusters does not match from `start` on. Where a cluster stands follows from
//! its id and the name of the risk alone: the same place in every assessment, another for another risk, and a larger
//! percentage only ever adds clusters.

use std::time::Duration;

use clearway_core::Timestamp;
use clearway_graph::Rule;
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::parameters::{Parameters, canonical, excerpt};
use super::rule_result::RuleEvidence;
use super::{Case, Check, Finding, ReadContext, RuleResult};
use crate::evidence::{Failure, FailureClass};

#[derive(Debug)]
struct Rollout {
    start: Timestamp,
    pace: Pace,
    text: String,
}

#[derive(Debug)]
enum Pace {
    Within(Duration),
    /// Hundredths of a percent.
    Share(u64),
}

/// So many places there are among clusters: hundredths of a percent.
const PLACES: u64 = 10_000;

/// Reads `start` and one of `duration` and `percentage`.
pub(super) fn read(rule: &Rule, _: &ReadContext<'_>) -> Result<Box<dyn Check>, Failure> {
    let parameters = Parameters::of(rule)?;
    let start = parameters.required("start")?;
    let start = start.parse().map_err(|error| parameters.wrong("start", &format!("is not a time: {error}")))?;
    let pace = match (parameters.text("duration")?, parameters.get("percentage")) {
        (Some(text), None) => {
            let what = || format!("is `{}`, not a duration such as 12h or 3d", excerpt(text));
            Pace::Within(duration(text).ok_or_else(|| parameters.wrong("duration", &what()))?)
        }
        (None, Some(value)) => {
            let share = share(value).ok_or_else(|| parameters.wrong("percentage", "is not a number from 0 to 100"))?;
            Pace::Share(share)
        }
        (Some(_), Some(_)) => {
            return Err(parameters.wrong("percentage", "is set together with `duration`; set only one of them"));
        }
        (None, None) => return Err(parameters.wrong("duration", "is missing; set `duration` or `percentage`")),
    };
    Ok(Box::new(Rollout { start, pace, text: canonical(&rule.parameters) }))
}

impl Check for Rollout {
    fn parameters(&self) -> &str {
        &self.text
    }

    fn check(&self, case: &Case<'_>) -> RuleResult {
        let Some(id) = case.evidence.cluster_id().map(str::trim).filter(|id| !id.is_empty()) else {
            let message = "The cluster id is unknown.";
            return RuleResult::without_evidence(Finding::failed(FailureClass::Absent, message, "The cluster id."));
        };
        let place = place(case.risk, id);
        let (matches, value) = match self.pace {
            Pace::Within(duration) => {
                let whole = u128::from(duration.as_secs()) * u128::from(place) / u128::from(u64::MAX);
                let turn = self.start.plus(Duration::from_secs(u64::try_from(whole).unwrap_or(u64::MAX)));
                (case.now < turn, format!("the rollout reaches this cluster at {turn}"))
            }
            Pace::Share(share) => {
                let own = u64::try_from((u128::from(place) * u128::from(PLACES)) >> 64).unwrap_or(PLACES);
                let value = format!("this cluster is at position {}.{:02} of 100", own / 100, own % 100);
                (case.now < self.start || own >= share, value)
            }
        };
        let seen = RuleEvidence {
            value: Some(value),
            observed_at: Some(case.now),
            source: Some("cluster id and time".to_owned()),
            ..RuleEvidence::default()
        };
        RuleResult { finding: Finding::of(matches), seen, warnings: Vec::new() }
    }
}

/// Where a cluster stands among all: evenly spread over the range of the number.
fn place(risk: &str, cluster: &str) -> u64 {
    let mut hash = Sha256::new();
    hash.update(risk.as_bytes());
    // No name holds this byte, so no two pairs of texts run together.
    hash.update([0xff]);
    hash.update(cluster.to_ascii_lowercase().as_bytes());
    hash.finalize().iter().take(8).fold(0, |number, byte| number << 8 | u64::from(*byte))
}

/// Reads `3d`, `12h30m` and their like: whole numbers with units in falling order.
fn duration(text: &str) -> Option<Duration> {
    let mut units = [('w', 604_800), ('d', 86_400), ('h', 3_600), ('m', 60), ('s', 1)].into_iter();
    let (mut total, mut number, mut digits) = (0_u64, 0_u64, false);
    for c in text.chars() {
        if let Some(digit) = c.to_digit(10) {
            number = number.checked_mul(10)?.checked_add(u64::from(digit))?;
            digits = true;
        } else {
            let (_, seconds) = units.find(|(unit, _)| *unit == c).filter(|_| digits)?;
            total = total.checked_add(number.checked_mul(seconds)?)?;
            (number, digits) = (0, false);
        }
    }
    (!digits && !text.is_empty()).then_some(Duration::from_secs(total))
}

/// A percentage in hundredths of a percent.
fn share(value: &Value) -> Option<u64> {
    let percent = value.as_f64().filter(|percent| (0.0..=100.0).contains(percent))?;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the range was just checked")]
    let share = (percent * 100.0).round() as u64;
    Some(share)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_whole_numbers_with_falling_units() {
        for (text, want) in [("3d", Some(259_200)), ("1h30m", Some(5_400)), ("0s", Some(0)), ("1w", Some(604_800))] {
            assert_eq!(duration(text).map(|duration| duration.as_secs()), want, "{text}");
        }
        for text in ["", "3", "d", "3x", "1m1h", "1h1h", "-1h", "1.5h", "99999999999999999999d", "9999999999999999w"] {
            assert_eq!(duration(text), None, "{text}");
        }
    }

    #[test]
    fn places_are_spread_evenly_and_differ_by_risk() {
        let count = |risk: &str| (0..1_000).filter(|id| place(risk, &format!("cluster-{id}")) < u64::MAX / 4).count();
        for risk in ["A", "B", "C"] {
            assert!((200..300).contains(&count(risk)), "{}", count(risk));
        }
        assert_ne!(place("A", "x"), place("B", "x"));
        assert_eq!(place("A", "ABC"), place("A", "abc"));
        // The place is part of what users see; it must never change.
        assert_eq!(place("StagedRollout", "2f1b3d64-0e4c-4b0a-9d2e-0a7f6a1c9b11"), 13_784_180_662_635_702_635);
    }
}
