//! How soon something is looked at or tried again.

use std::time::Duration;

/// How soon, and how long something may take before somebody should know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pace {
    /// The first look at something that is on its way; each later one is half as long again.
    pub look: Duration,
    /// The longest rest between two looks.
    pub look_most: Duration,
    /// The first new try of what failed in passing; each later one takes twice as long.
    pub retry: Duration,
    /// The longest rest between two of those.
    pub retry_most: Duration,
    /// The first new try of what was refused: somebody has to change something first.
    pub refused: Duration,
    /// The longest rest between two of those.
    pub refused_most: Duration,
    /// How long what fails in passing may last before it is a failure.
    pub passing: Duration,
    /// How long an object may take to become healthy, or to go, before that is a failure.
    pub patience: Duration,
    /// How long an object that has failed must not fail before that is over.
    pub recovery: Duration,
    /// How long an object whose controller does not say which generation it speaks of must seem healthy.
    pub settle: Duration,
}

impl Default for Pace {
    fn default() -> Self {
        Pace {
            look: Duration::from_millis(250),
            look_most: Duration::from_secs(5),
            retry: Duration::from_millis(250),
            retry_most: Duration::from_secs(15),
            refused: Duration::from_secs(5),
            refused_most: Duration::from_mins(1),
            passing: Duration::from_secs(10),
            patience: Duration::from_mins(10),
            recovery: Duration::from_mins(2),
            settle: Duration::from_secs(2),
        }
    }
}

impl Pace {
    /// The rest before the look after so many without news.
    pub(super) fn check_delay(&self, looks: u32) -> Duration {
        self.look.mul_f64(1.5_f64.powi(i32::try_from(looks.min(32)).unwrap_or(32))).min(self.look_most)
    }

    /// The rest after so many failures in a row; `jitter` is a number from 0 to 1.
    pub(super) fn retry(&self, failures: u32, passing: bool, jitter: f64) -> Duration {
        let (first, most) = if passing { (self.retry, self.retry_most) } else { (self.refused, self.refused_most) };
        let rest = first.saturating_mul(2_u32.saturating_pow(failures.saturating_sub(1).min(16))).min(most);
        rest.mul_f64(0.75 + jitter.clamp(0.0, 1.0) / 2.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rests_grow_up_to_a_bound() {
        let pace = Pace::default();
        assert_eq!(pace.check_delay(0), Duration::from_millis(250));
        assert_eq!(pace.check_delay(u32::MAX), Duration::from_secs(5));
        assert_eq!(pace.retry(1, true, 0.5), Duration::from_millis(250));
        assert_eq!(pace.retry(3, true, 0.5), Duration::from_secs(1));
        assert_eq!(pace.retry(u32::MAX, true, 0.5), Duration::from_secs(15));
        assert_eq!(pace.retry(1, false, 0.0), Duration::from_secs(5).mul_f64(0.75));
        assert_eq!(pace.retry(u32::MAX, false, 1.0), Duration::from_mins(1).mul_f64(1.25));
    }
}
