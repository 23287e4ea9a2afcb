//! HTTPRoutes and GRPCRoutes that claim the same hostnames of a listener: the older one wins (rule 2.7).

use std::collections::BTreeSet;

use super::Engine;
use super::store::Id;
use crate::hostname::{HostnameIndex, effective_hostnames};
use crate::model::{Body, Object, Route, RouteKind};
use crate::settings::HostnameClash;
use crate::words::Reason;

impl Engine {
    /// The reason of a route that loses.
    pub(super) fn clash_reason(&self) -> Reason {
        match self.settings.choices.hostname_clash {
            HostnameClash::HostnameConflict => Reason::HostnameConflict,
            HostnameClash::NotAllowed => Reason::NotAllowedByListeners,
        }
    }

    /// Finds the winners at the listeners that are marked; routes for which something changes are to be settled.
    pub(super) fn settle_clashes(&mut self) {
        for (parent, listener) in std::mem::take(&mut self.dirty.clashes) {
            let state = self.parents.get(&parent);
            let counts = state.and_then(|state| state.fitting.get(listener as usize)).copied().unwrap_or([0, 0]);
            let both = counts.iter().all(|count| *count > 0);
            if !both && !self.clashing.contains(&(parent, listener)) {
                continue;
            }
            let losers = if both { self.losers(parent, listener) } else { Vec::new() };
            if losers.is_empty() {
                self.clashing.remove(&(parent, listener));
            } else {
                self.clashing.insert((parent, listener));
            }
            let dependents: BTreeSet<Id> = self.store.dependents(parent).collect();
            for id in dependents {
                let Some(route) = self.routes.get_mut(id) else { continue };
                let winner = losers.iter().find(|(loser, _)| *loser == id).map(|(_, winner)| winner.clone());
                if route.lost.get(&(parent, listener)) != winner.as_ref() {
                    match winner {
                        Some(winner) => route.lost.insert((parent, listener), winner),
                        None => route.lost.remove(&(parent, listener)),
                    };
                    self.dirty.unsettled.insert(id);
                }
            }
        }
    }

    /// The routes that lose at a listener, each with the route that it loses to.
    fn losers(&self, parent: Id, listener: u32) -> Vec<(Id, String)> {
        let Some(state) = self.parents.get(&parent) else { return Vec::new() };
        let Some(hostname) = state.listeners.get(listener as usize).map(|one| one.listener.hostname.clone()) else {
            return Vec::new();
        };
        let fits = |id: &Id| {
            let attachments = self.routes.get(*id).map(super::RouteState::fitting).unwrap_or_default();
            attachments.iter().any(|one| (one.parent, one.listener, one.epoch) == (parent, listener, state.epoch))
        };
        let mut routes: Vec<(Id, &Object, &Route)> = self
            .store
            .dependents(parent)
            .filter(fits)
            .filter_map(|id| {
                let object = self.store.object(id)?;
                match &object.body {
                    Body::Route(route) if matches!(route.kind, RouteKind::Http | RouteKind::Grpc) => {
                        Some((id, object, &**route))
                    }
                    _ => None,
                }
            })
            .collect();
        routes.sort_by(|(_, one, _), (_, two, _)| (one.age(), &one.key.kind).cmp(&(two.age(), &two.key.kind)));
        let mut taken = [HostnameIndex::default(), HostnameIndex::default()];
        let mut winners: [Vec<(&Object, Vec<crate::hostname::Hostname>)>; 2] = [Vec::new(), Vec::new()];
        let mut losers = Vec::new();
        for (id, object, route) in routes {
            let hostnames = effective_hostnames(&route.hostnames, hostname.as_ref());
            let own = usize::from(route.kind == RouteKind::Grpc);
            let other = 1 - own;
            let is_taken = taken.get(other).is_some_and(|index| index.meets_any(&hostnames));
            if is_taken {
                let meets = |theirs: &[crate::hostname::Hostname]| {
                    theirs.is_empty()
                        || hostnames.is_empty()
                        || theirs.iter().any(|one| hostnames.iter().any(|two| one.meets(two)))
                };
                let winner = winners.get(other).and_then(|all| all.iter().find(|(_, theirs)| meets(theirs)));
                losers.push((id, winner.map(|(winner, _)| winner.key.to_string()).unwrap_or_default()));
                continue;
            }
            if let Some(index) = taken.get_mut(own) {
                if hostnames.is_empty() {
                    index.insert(None);
                }
                for hostname in &hostnames {
                    index.insert(Some(hostname));
                }
            }
            if let Some(winners) = winners.get_mut(own) {
                winners.push((object, hostnames));
            }
        }
        losers
    }
}
