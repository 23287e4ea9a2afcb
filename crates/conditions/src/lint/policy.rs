//! What the rules are told from outside: the present, the tolerances, the choice of profile.

use std::time::Duration;

use clearway_core::Timestamp;

use super::Profile;

/// How objects are linted.
#[derive(Debug, Clone)]
pub struct Policy {
    /// The profile of every object; without one the API group of each object decides ([`Profile::of`]).
    pub profile: Option<Profile>,
    /// The present.
    pub now: Timestamp,
    /// How old an object must be before a missing condition is a finding.
    pub grace: Duration,
    /// How far the clock of a controller may be ahead.
    pub skew: Duration,
    /// From when on a condition counts as flapping (SC022).
    pub flapping: Flapping,
}

/// From when on a condition counts as flapping.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Flapping {
    /// More changes of status than this …
    pub transitions: usize,
    /// … within this time.
    pub window: Duration,
}

impl Default for Flapping {
    /// More than four in ten minutes: the rate at which `OpenShift`'s version operator raises its alert.
    fn default() -> Self {
        Flapping { transitions: 4, window: Duration::from_mins(10) }
    }
}

impl Policy {
    /// The defaults at a time.
    pub fn new(now: Timestamp) -> Self {
        Policy {
            profile: None,
            now,
            grace: Duration::from_mins(1),
            skew: Duration::from_mins(5),
            flapping: Flapping::default(),
        }
    }
}
