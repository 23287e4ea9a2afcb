//! Reads the rules of all risks of a plan within the memory that there is for them.
//!
//! A risk that asks about the objects of a release is another one for each release ([`RiskKey`]), and an answer may name a
//! thousand releases for it. Its rules that say the same for all of them are read and kept once. The others are read for
//! each release, and have one rule's share of the memory for all of them.

use std::collections::HashMap;
use std::sync::Arc;

use clearway_graph::{Risk, Rule};

use super::walk::{Candidate, RiskKey};
use crate::evidence::TargetRelease;
use crate::memory::{RuleMemory, RuleShare};
use crate::rules::{Entry, ReadContext, asks_about_release};
use crate::settings::Settings;

/// Reads rules.
#[derive(Debug)]
pub(crate) struct RuleReader<'s> {
    settings: &'s Settings,
    memory: RuleMemory,
    /// The rules of risks that ask about releases, by the JSON of the risk.
    of_several_releases: HashMap<String, Vec<RuleOfReleases>>,
}

/// A rule of a risk that may ask about releases.
#[derive(Debug)]
enum RuleOfReleases {
    /// It is the same for all that are still to be read.
    Same(Arc<Entry>),
    /// It is read for each of them, within what is left.
    Each(RuleShare),
}

impl<'s> RuleReader<'s> {
    /// For some risks, each of which may be there several times. No others may be read.
    pub(crate) fn new<'r>(settings: &'s Settings, risks: impl Iterator<Item = &'r Arc<Risk>>) -> Self {
        RuleReader { settings, memory: RuleMemory::for_rules_of(risks), of_several_releases: HashMap::new() }
    }

    /// Reads a risk of an update that leads to a release: once for each [`RiskKey`].
    pub(crate) fn read(&mut self, risk: &Arc<Risk>, release: &TargetRelease) -> Candidate {
        let (settings, memory) = (self.settings, &mut self.memory);
        let rules = risk.rules();
        let entries = if rules.iter().any(asks_about_release) {
            let known = self.of_several_releases.entry(risk.json().to_owned());
            let known = known.or_insert_with(|| rules.iter().map(|_| RuleOfReleases::new(memory)).collect());
            rules.iter().zip(known).map(|(rule, known)| known.read(rule, settings, release, memory)).collect()
        } else {
            rules.iter().map(|rule| RuleOfReleases::new(memory).read(rule, settings, release, memory)).collect()
        };
        Candidate { key: RiskKey::of(risk, release), risk: Arc::clone(risk), entries }
    }
}

impl RuleOfReleases {
    fn new(memory: &RuleMemory) -> Self {
        RuleOfReleases::Each(memory.share())
    }

    fn read(
        &mut self,
        rule: &Rule,
        settings: &Settings,
        release: &TargetRelease,
        memory: &mut RuleMemory,
    ) -> Arc<Entry> {
        let share = match self {
            RuleOfReleases::Same(entry) => return Arc::clone(entry),
            RuleOfReleases::Each(share) => share,
        };
        let context = ReadContext { settings, release, patterns: memory.pattern_work(share) };
        let entry = Entry::new(rule, &context);
        memory.take_patterns(&context.patterns, share);
        let admitted = memory.admit(entry, share);
        let is_same = admitted.is_err() || !asks_about_release(rule);
        let entry = admitted.unwrap_or_else(|refused| refused);
        if is_same {
            *self = RuleOfReleases::Same(Arc::clone(&entry));
        }
        entry
    }
}
