//! A graph prepared once per cluster version, shared by all threads.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, PoisonError, RwLock};

use anyhow::Result;
use clearway_advice::Settings;
use clearway_advice::fleet::{FleetChannel, Member, VersionPlan};
use clearway_core::{Arch, Version};
use clearway_sources::prometheus::QueryWindows;

use crate::commands::graph::source::channels::Channels;

/// A channel and an architecture, as far as they are known.
type Place = (Option<String>, Option<Arch>);

/// A graph and what was made of it so far.
pub(super) struct PreparedGraph {
    channels: Channels,
    settings: Settings,
    made: RwLock<PreparedParts>,
}

#[derive(Default)]
struct PreparedParts {
    laid_out: HashMap<Place, Result<FleetChannel, String>>,
    stances: HashMap<(Place, Version), AdviceResult>,
}

/// What is said to clusters of a version, or why there is nothing to say.
pub(super) type AdviceResult = Result<Arc<PreparedAdvice>, String>;

/// What is said to clusters of a version, and the samples that its questions need.
pub(super) struct PreparedAdvice {
    pub(super) stance: Arc<VersionPlan>,
    /// By the text of the question.
    pub(super) needs: BTreeMap<String, QueryWindows>,
}

impl PreparedGraph {
    pub(super) fn new(channels: Channels, settings: Settings) -> Self {
        PreparedGraph { channels, settings, made: RwLock::default() }
    }

    /// What is said to clusters like this one. An error is one of the graph's source.
    pub(super) fn prepared(&self, member: &Member) -> Result<AdviceResult> {
        let key = ((member.channel.clone(), member.arch.clone()), member.version.clone());
        // A thread that panicked while it held the lock left nothing half done behind it.
        if let Some(known) = self.made.read().unwrap_or_else(PoisonError::into_inner).stances.get(&key) {
            return Ok(known.clone());
        }
        let mut made = self.made.write().unwrap_or_else(PoisonError::into_inner);
        // Another thread may have been faster.
        if let Some(known) = made.stances.get(&key) {
            return Ok(known.clone());
        }
        if !made.laid_out.contains_key(&key.0) {
            let graph = self.channels.graph(key.0.0.as_deref(), key.0.1.as_ref())?;
            made.laid_out.insert(key.0.clone(), graph.map(|graph| FleetChannel::new(graph, self.settings.clone())));
        }
        let known = match &made.laid_out[&key.0] {
            Err(why) => Err(why.clone()),
            Ok(ground) => ground.version_plan(&key.1).map(prepared).map_err(|error| error.to_string()),
        };
        made.stances.insert(key, known.clone());
        Ok(known)
    }
}

fn prepared(stance: VersionPlan) -> Arc<PreparedAdvice> {
    let questions = stance.plan().questions();
    let needs =
        questions.iter().map(|question| (question.text().to_owned(), QueryWindows::of(question.query()))).collect();
    Arc::new(PreparedAdvice { stance: Arc::new(stance), needs })
}
