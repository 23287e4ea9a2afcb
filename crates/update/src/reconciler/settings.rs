//! How often, how long, for whom: what does not change while the operator runs.

use std::time::Duration;

use clearway_advice::rounds::RoundSettings;
use clearway_core::{Address, Arch};

/// What an operator is started with.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The update service to ask where the object names none.
    pub upstream: Option<Address>,
    /// The architecture of the cluster, unless its release is for several.
    pub arch: Arch,
    /// Whether there is a metrics store to ask.
    pub has_metrics: bool,
    /// Whether that store holds many clusters, and is asked about this one by its id.
    pub shared_store: bool,
    /// How risks are judged.
    pub advice: clearway_advice::Settings,
    /// How often queries are asked.
    pub rounds: RoundSettings,
    /// How often the update service is asked.
    pub fetch_every: Duration,
    /// Up to what age the service's last answer is used while it does not answer.
    pub graph_max_age: Duration,
    /// How often objects that rules look at are looked at.
    pub look_again: Duration,
    /// A number from 0 to 1, drawn once: many clusters do not ask at the same time.
    pub jitter: f64,
    /// Whether updates that are asked for are carried out.
    pub update_mode: UpdateMode,
}

/// Whether updates are carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UpdateMode {
    /// Never: the operator only advises.
    Never,
    /// When they are asked for.
    OnRequest,
}

impl Settings {
    /// The usual settings for an architecture: updates are recommended, and not carried out.
    pub fn new(arch: Arch) -> Self {
        Settings {
            upstream: None,
            arch,
            has_metrics: false,
            shared_store: false,
            advice: clearway_advice::Settings::default(),
            rounds: RoundSettings::default(),
            fetch_every: Duration::from_mins(3),
            graph_max_age: Duration::from_hours(24),
            look_again: Duration::from_mins(10),
            jitter: 0.5,
            update_mode: UpdateMode::Never,
        }
    }

    /// How queries are asked, with what else decides about that.
    pub(super) fn round_settings(&self) -> RoundSettings {
        RoundSettings { clock_skew: self.advice.clock_skew, ..self.rounds.clone() }
    }

    /// The rest between two answers of the update service: two thirds to four thirds of the usual, the same each time.
    pub(crate) fn fetch_interval(&self) -> Duration {
        whole_seconds(self.fetch_every.mul_f64(2.0 / 3.0 + self.jitter.clamp(0.0, 1.0) * 2.0 / 3.0))
    }

    /// The rest after so many failures in a row: it doubles from five seconds up to the usual interval.
    pub(crate) fn back_off(&self, failures: u32) -> Duration {
        let first = Duration::from_secs(5);
        let rest = first.saturating_mul(2_u32.saturating_pow(failures.saturating_sub(1).min(16)));
        whole_seconds(rest.mul_f64(0.75 + self.jitter.clamp(0.0, 1.0) / 2.0)).min(self.fetch_interval())
    }
}

/// An interval in the unit of timestamps, rounded up: one of less than a second would be over at once, for ever.
fn whole_seconds(interval: Duration) -> Duration {
    let up = u64::from(interval.subsec_nanos() > 0);
    Duration::from_secs(interval.as_secs().saturating_add(up).max(1))
}
