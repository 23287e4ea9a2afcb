//! Downgrades: releases older than the present one, and which of them are carried out (U23).
//!
//! An older release may not understand what a newer one has migrated. So a downgrade is refused, with two exceptions that are
//! recorded in the history: a rollback to the release that was completed before the present one, and an update that is
//! forced.

use clearway_core::Version;

use crate::api::{Status, UpdateHistory, UpdateState, same_image};

/// The present release, and the one before it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CurrentRelease {
    /// Empty while no release was applied.
    version: String,
    /// The newest release that was completed and is not the present one.
    previous: Option<UpdateHistory>,
}

/// An update to an older version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Downgrade {
    from: String,
    to: String,
    /// The version of the release before the present one.
    previous: Option<String>,
    /// Whether it leads to that release.
    is_rollback: bool,
}

impl CurrentRelease {
    /// The present release of an object. What is being brought about counts as present: parts of it are there already.
    pub fn of(status: &Status) -> Self {
        let desired = &status.desired;
        let is_present =
            |entry: &&UpdateHistory| entry.version == desired.version && same_image(&entry.image, &desired.image);
        let mut completed = status.history.iter().filter(|entry| entry.state == UpdateState::Completed);
        CurrentRelease {
            version: desired.version.clone(),
            previous: completed.find(|entry| !is_present(entry)).cloned(),
        }
    }

    /// What going to a release is, if that is a downgrade. Versions that cannot be compared are none.
    pub fn downgrade_to(&self, version: &str, image: &str) -> Option<Downgrade> {
        let (from, to) = (self.version.parse::<Version>().ok()?, version.parse::<Version>().ok()?);
        if to.precedence(&from).is_ge() {
            return None;
        }
        let is_previous = |entry: &UpdateHistory| entry.version == version || same_image(&entry.image, image);
        Some(Downgrade {
            from: self.version.clone(),
            to: version.to_owned(),
            previous: self.previous.as_ref().map(|entry| entry.version.clone()),
            is_rollback: self.previous.as_ref().is_some_and(is_previous),
        })
    }
}

impl Downgrade {
    /// Why it is not carried out unless it is forced; nothing for a rollback.
    pub fn refusal(&self) -> Option<String> {
        let Downgrade { from, to, previous, is_rollback } = self;
        let rollback = match previous {
            Some(previous) => format!("a rollback to the previous release ({previous}) is allowed"),
            None => "a rollback is allowed, and there is no previous release".to_owned(),
        };
        (!is_rollback).then(|| format!("{to} is older than the current release {from}; without force, only {rollback}"))
    }

    /// The sentence for the history.
    pub fn record(&self) -> String {
        let Downgrade { from, to, is_rollback, .. } = self;
        if *is_rollback {
            format!("Downgrade from {from} to {to}: a rollback to the previous release.")
        } else {
            format!("Downgrade from {from} to {to}, which is not the previous release: the update was forced.")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::Release;

    fn entry(version: &str, state: UpdateState) -> UpdateHistory {
        UpdateHistory {
            state,
            started_time: "2026-01-01T00:00:00Z".parse().unwrap(),
            completion_time: None,
            version: version.to_owned(),
            image: format!("example.com/r@{version}"),
            verified: true,
            accepted_risks: String::new(),
        }
    }

    /// The history newest first; the newest is the present one.
    fn current(history: &[(&str, UpdateState)]) -> CurrentRelease {
        let history: Vec<_> = history.iter().map(|(version, state)| entry(version, *state)).collect();
        let newest = history.first().map(|entry| (entry.version.clone(), entry.image.clone()));
        let (version, image) = newest.unwrap_or_default();
        CurrentRelease::of(&Status {
            desired: Release { version, image, ..Release::default() },
            history,
            ..Status::default()
        })
    }

    #[test]
    fn only_the_release_before_the_present_one_may_be_gone_back_to() {
        use UpdateState::{Completed, Partial};
        let done = current(&[("1.2.0", Completed), ("1.1.0", Completed), ("1.0.0", Completed)]);
        let stuck = current(&[("1.2.0", Partial), ("1.1.0", Partial), ("1.0.0", Completed)]);
        let other = "mirror.example.com/r@else";
        for (current, version, image, want) in [
            (&done, "1.2.1", other, None),
            (&done, "1.2.0", other, None),
            (&done, "1.2.0+build", other, None),
            (&done, "", other, None),
            (&done, "1.1.0", other, Some(true)),
            (&done, "1.1.0-rc.1", "example.com/r@1.1.0", Some(true)),
            (&done, "1.0.0", "example.com/r@1.0.0", Some(false)),
            (&done, "1.2.0-rc.1", other, Some(false)),
            // What was never completed is nothing to go back to.
            (&stuck, "1.1.0", other, Some(false)),
            (&stuck, "1.0.0", other, Some(true)),
            (&CurrentRelease::default(), "1.0.0", other, None),
        ] {
            let downgrade = current.downgrade_to(version, image);
            assert_eq!(downgrade.map(|downgrade| downgrade.refusal().is_none()), want, "{version} {image}");
        }
    }

    #[test]
    fn the_sentences_say_what_is_allowed_and_what_was_done() {
        let current = current(&[("1.2.0", UpdateState::Completed), ("1.1.0", UpdateState::Completed)]);
        let far = current.downgrade_to("1.0.0", "").unwrap();
        assert_eq!(
            far.refusal().unwrap(),
            "1.0.0 is older than the current release 1.2.0; without force, only a rollback to the previous release (1.1.0) is allowed"
        );
        assert_eq!(
            far.record(),
            "Downgrade from 1.2.0 to 1.0.0, which is not the previous release: the update was forced."
        );
        let back = current.downgrade_to("1.1.0", "").unwrap();
        assert_eq!(back.record(), "Downgrade from 1.2.0 to 1.1.0: a rollback to the previous release.");
    }
}
