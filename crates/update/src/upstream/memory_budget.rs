//! One budget for what the operator keeps of update services, over all of its objects.
//!
//! Each answer has caps of its own, and an operator may follow the answers of many publishers. So that none of them can
//! take the memory of the container, or the advice of another one's updates:
//!
//! - the ClusterVersion has its own part, which nobody else uses;
//! - each of the first ComponentVersions has a share that is always there for it, so that an answer of usual size fits
//!   whatever the others send;
//! - beyond its share a ComponentVersion takes from a pool while there is room, and never more than a part of the pool.
//!
//! What does not fit is refused, for that object alone. Nothing that was accepted is taken away later.

use std::collections::BTreeMap;

use crate::api::Kind;

/// Bytes of memory, as [`Knowledge::memory`](super::Knowledge::memory) estimates them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BudgetLimits {
    /// For the ClusterVersion.
    pub cluster_version: usize,
    /// Always there for a ComponentVersion.
    pub share: usize,
    /// How many ComponentVersions have a share.
    pub shares: usize,
    /// For ComponentVersions above their shares, and for those without one, all together.
    pub pool: usize,
    /// The most of it for one of them.
    pub most_of_pool: usize,
}

impl Default for BudgetLimits {
    fn default() -> Self {
        BudgetLimits { cluster_version: 80 << 20, share: 1 << 20, shares: 24, pool: 24 << 20, most_of_pool: 12 << 20 }
    }
}

impl BudgetLimits {
    /// Bytes of all of it.
    pub fn total(&self) -> usize {
        self.shares.saturating_mul(self.share).saturating_add(self.pool).saturating_add(self.cluster_version)
    }
}

/// Who takes how much.
#[derive(Debug, Default)]
pub struct MemoryBudget {
    limits: BudgetLimits,
    members: BTreeMap<MemberId, Member>,
    next: MemberId,
}

/// What an object is known by in a budget. Of two ComponentVersions the one that joined first has the smaller one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct MemberId(u64);

#[derive(Debug)]
struct Member {
    kind: Kind,
    /// What it keeps.
    kept: usize,
    /// Answers that were accepted, and are on their way to take the place of what it keeps. There are several if what is
    /// asked changed meanwhile.
    accepted: Vec<usize>,
}

impl Member {
    /// What is on its way.
    fn accepted(&self) -> usize {
        self.accepted.iter().copied().fold(0, usize::saturating_add)
    }

    /// The most of both: one takes the place of the other.
    fn bytes(&self) -> usize {
        self.kept.max(self.accepted())
    }
}

impl MemoryBudget {
    /// A budget that nobody uses.
    pub fn new(limits: BudgetLimits) -> Self {
        MemoryBudget { limits, ..MemoryBudget::default() }
    }

    /// Adds an object, which keeps nothing yet.
    pub fn join(&mut self, kind: Kind) -> MemberId {
        let id = self.next;
        self.next = MemberId(id.0.saturating_add(1));
        self.members.insert(id, Member { kind, kept: 0, accepted: Vec::new() });
        id
    }

    /// Removes an object with what it keeps.
    pub fn leave(&mut self, id: MemberId) {
        self.members.remove(&id);
    }

    /// The most that an object may keep at present.
    pub fn room(&self, id: MemberId) -> usize {
        match self.members.get(&id).map(|member| member.kind) {
            None => 0,
            Some(Kind::ClusterVersion) => self.limits.cluster_version,
            Some(Kind::ComponentVersion) => {
                let others = self.components().filter(|(other, _, _)| *other != id);
                let taken = others
                    .fold(0, |sum: usize, (_, member, share)| sum.saturating_add(member.bytes().saturating_sub(share)));
                let share = self.components().find(|(own, _, _)| *own == id).map_or(0, |(_, _, share)| share);
                let pool = self.limits.pool.saturating_sub(taken).min(self.limits.most_of_pool);
                share.saturating_add(pool)
            }
        }
    }

    /// Accepts an answer that takes so much, in place of what the object keeps and beside others that are on their way; an
    /// error with the room that there is for it.
    pub fn accept(&mut self, id: MemberId, bytes: usize) -> Result<(), usize> {
        let under_way = self.members.get(&id).map_or(0, Member::accepted);
        let room = self.room(id).saturating_sub(under_way);
        if bytes > room {
            return Err(room);
        }
        if let Some(member) = self.members.get_mut(&id) {
            member.accepted.push(bytes);
        }
        Ok(())
    }

    /// Notes what an object keeps; `arrived` with the bytes of an accepted answer that is not on its way any more.
    pub fn set_kept(&mut self, id: MemberId, bytes: usize, arrived: Option<usize>) {
        if let Some(member) = self.members.get_mut(&id) {
            member.kept = bytes;
            if let Some(place) = member.accepted.iter().position(|accepted| Some(*accepted) == arrived) {
                member.accepted.swap_remove(place);
            }
        }
    }

    /// The ComponentVersions in the order in which they joined, with their shares.
    fn components(&self) -> impl Iterator<Item = (MemberId, &Member, usize)> {
        let components = self.members.iter().filter(|(_, member)| member.kind == Kind::ComponentVersion);
        let share = |place: usize| if place < self.limits.shares { self.limits.share } else { 0 };
        components.enumerate().map(move |(place, (id, member))| (*id, member, share(place)))
    }
}

#[cfg(test)]
mod tests {
    use clearway_core::Timestamp;
    use serde_json::json;

    use super::*;
    use crate::upstream::Knowledge;

    const LIMITS: BudgetLimits =
        BudgetLimits { cluster_version: 100, share: 10, shares: 3, pool: 40, most_of_pool: 25 };

    /// Accepts an answer that becomes what is kept.
    fn keep(budget: &mut MemoryBudget, id: MemberId, bytes: usize) -> Result<(), usize> {
        budget.accept(id, bytes)?;
        budget.set_kept(id, bytes, Some(bytes));
        Ok(())
    }

    fn kept(budget: &MemoryBudget) -> usize {
        budget.members.values().map(Member::bytes).sum()
    }

    #[test]
    fn a_hostile_publisher_takes_nothing_from_the_others() {
        let mut budget = MemoryBudget::new(LIMITS);
        let hostile = budget.join(Kind::ComponentVersion);
        let honest = budget.join(Kind::ComponentVersion);
        let cluster = budget.join(Kind::ClusterVersion);
        assert_eq!(keep(&mut budget, hostile, 36), Err(35), "its share and a part of the pool");
        assert_eq!(keep(&mut budget, hostile, 35), Ok(()));
        assert_eq!(keep(&mut budget, honest, 10), Ok(()), "its share is there for it");
        assert_eq!(keep(&mut budget, honest, 26), Err(25), "what is left of the pool");
        assert_eq!(keep(&mut budget, honest, 25), Ok(()));
        let late = budget.join(Kind::ComponentVersion);
        assert_eq!(keep(&mut budget, late, 11), Err(10), "the pool is used up, and its share is not");
        assert_eq!(keep(&mut budget, late, 10), Ok(()));
        assert_eq!(keep(&mut budget, cluster, 100), Ok(()));
        assert_eq!(keep(&mut budget, cluster, 101), Err(100));
        assert_eq!(kept(&budget), 170);
    }

    #[test]
    fn a_refused_answer_changes_nothing_and_room_comes_back() {
        let mut budget = MemoryBudget::new(LIMITS);
        let [one, other, third] = [0; 3].map(|_| budget.join(Kind::ComponentVersion));
        assert_eq!(keep(&mut budget, one, 35), Ok(()));
        assert_eq!(keep(&mut budget, other, 20), Ok(()));
        assert_eq!(keep(&mut budget, third, 16), Err(15));
        assert_eq!((kept(&budget), budget.room(third)), (55, 15));
        // A smaller answer of its own gives room back to all.
        assert_eq!(keep(&mut budget, one, 5), Ok(()));
        assert_eq!(keep(&mut budget, third, 35), Ok(()));
        budget.leave(other);
        assert_eq!(budget.room(one), 25);
        assert_eq!(budget.accept(other, 1), Err(0), "it is gone");
    }

    /// Another answer may be accepted before the first one was taken in.
    #[test]
    fn what_was_accepted_counts_before_it_is_kept() {
        let mut budget = MemoryBudget::new(LIMITS);
        let [one, other] = [0; 2].map(|_| budget.join(Kind::ComponentVersion));
        assert_eq!(budget.accept(one, 35), Ok(()));
        budget.set_kept(one, 3, None);
        assert_eq!(budget.room(other), 25, "it is still on its way");
        budget.set_kept(one, 3, Some(35));
        assert_eq!(budget.room(other), 35, "it was not used after all");
        // What is kept counts until it is replaced.
        budget.set_kept(one, 30, None);
        assert_eq!((budget.accept(one, 12), budget.room(other)), (Ok(()), 30));
        budget.set_kept(one, 12, Some(12));
        assert_eq!(budget.room(other), 35);
    }

    #[test]
    fn those_above_the_number_of_shares_have_the_pool_until_another_one_leaves() {
        let mut budget = MemoryBudget::new(LIMITS);
        let ids: Vec<MemberId> = (0..5).map(|_| budget.join(Kind::ComponentVersion)).collect();
        assert_eq!(ids.iter().map(|id| budget.room(*id)).collect::<Vec<_>>(), [35, 35, 35, 25, 25]);
        assert_eq!(keep(&mut budget, ids[3], 25), Ok(()));
        assert_eq!(keep(&mut budget, ids[4], 15), Ok(()));
        assert_eq!(budget.room(ids[0]), 10, "its share");
        budget.leave(ids[0]);
        assert_eq!((budget.room(ids[3]), budget.room(ids[4])), (35, 25), "the next one has a share now");
    }

    /// Where what is asked changes before there is an answer, there are two of them.
    #[test]
    fn answers_that_are_on_their_way_at_the_same_time_add_up() {
        let mut budget = MemoryBudget::new(LIMITS);
        let [one, other] = [0; 2].map(|_| budget.join(Kind::ComponentVersion));
        assert_eq!((budget.accept(one, 20), budget.accept(one, 16)), (Ok(()), Err(15)));
        assert_eq!((budget.accept(one, 15), budget.room(other)), (Ok(()), 25));
        // The first one was not used, and the second one is still on its way.
        budget.set_kept(one, 0, Some(20));
        assert_eq!((budget.room(other), budget.accept(one, 21)), (35, Err(20)));
        budget.set_kept(one, 15, Some(15));
        assert_eq!((budget.room(other), budget.accept(one, 35)), (35, Ok(())));
    }

    /// What a member of the budget really has: what it keeps, and what is on its way to it.
    #[derive(Default)]
    struct Holding {
        kept: usize,
        under_way: Vec<usize>,
    }

    /// Whatever is asked in whatever order, all of it together is within the total.
    #[test]
    fn the_total_is_never_exceeded() {
        let mut budget = MemoryBudget::new(LIMITS);
        let mut members = vec![(budget.join(Kind::ClusterVersion), Holding::default())];
        let mut random = 7_usize;
        let (mut several, mut refused) = (0, 0);
        for step in 0..20_000 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let number = random >> 33;
            let (count, place) = (members.len(), number % members.len());
            let bytes = number / 11 % 140;
            match number % 11 {
                0 if count < 9 => members.push((budget.join(Kind::ComponentVersion), Holding::default())),
                1 if count > 1 => budget.leave(members.remove(1 + number % (count - 1)).0),
                2..6 => {
                    let (id, holding) = &mut members[place];
                    match budget.accept(*id, bytes) {
                        Ok(()) => holding.under_way.push(bytes),
                        Err(_) => refused += 1,
                    }
                }
                // One arrives, and is used or not.
                6.. if !members[place].1.under_way.is_empty() => {
                    let (id, holding) = &mut members[place];
                    let arrived = holding.under_way.remove(bytes % holding.under_way.len());
                    if number.is_multiple_of(2) {
                        holding.kept = arrived;
                    }
                    budget.set_kept(*id, holding.kept, Some(arrived));
                }
                _ => {}
            }
            several += usize::from(members.iter().any(|(_, holding)| holding.under_way.len() > 1));
            let held = |holding: &Holding| holding.kept.max(holding.under_way.iter().sum());
            let total: usize = members.iter().map(|(_, holding)| held(holding)).sum();
            assert!(total <= LIMITS.total(), "{step}: {total} {budget:?}");
        }
        assert!(several > 1_000 && refused > 1_000, "{several} {refused}");
    }

    /// An answer as OpenShift's update service gives the largest, by the needs in `docs/limits.md`: more than 108,370 bytes of
    /// risks over all updates from one version, and 64 queries.
    fn openshift() -> serde_json::Value {
        let node = |version: String| {
            json!({"version": version, "payload": format!("quay.io/openshift-release-dev/ocp-release@sha256:{:064}", 1), "metadata": {
                "url": "https://access.redhat.com/errata/RHSA-2026:0000",
                "io.openshift.upgrades.graph.release.channels": (0..12).map(|number| format!("stable-4.{number}")).collect::<Vec<_>>().join(","),
            }})
        };
        let risk = |number: usize| {
            let operator = |name: &str| {
                format!("group by (name) (cluster_operator_conditions{{_id=\"\",name=\"{name}-{number}\"}})")
            };
            let query =
                format!("topk(1, {} or 0 * {} or {})", operator("aro"), operator("network"), operator("storage"));
            json!({"name": format!("Risk{number}"), "url": format!("https://issues.redhat.com/browse/OCPBUGS-{number}"),
                   "message": "x".repeat(150), "matchingRules": [{"type": "PromQL", "promql": {"promql": query}}]})
        };
        let group = |target: usize| {
            let risks: Vec<_> = (0..4).map(|at| risk((target + at) % 64)).collect();
            json!({"edges": [{"from": "4.0.0", "to": format!("4.1.{target}")}], "risks": risks})
        };
        let nodes: Vec<_> =
            ["4.0.0".to_owned()].into_iter().chain((0..60).map(|at| format!("4.1.{at}"))).map(node).collect();
        json!({"nodes": nodes, "edges": [], "conditionalEdges": (0..60).map(group).collect::<Vec<_>>()})
    }

    /// The caps are at least ten times what OpenShift needs, and an add-on of a tenth of its size has a share.
    #[test]
    fn the_limits_are_ten_times_what_openshift_needs() {
        let answer = openshift();
        let risks: usize =
            answer["conditionalEdges"].as_array().unwrap().iter().map(|group| group["risks"].to_string().len()).sum();
        assert!(risks > 108_370, "{risks}");
        let (version, settings) = ("4.0.0".parse().unwrap(), clearway_advice::Settings::default());
        let read = Knowledge::read(answer.to_string().as_bytes(), &version, Timestamp::EPOCH, &settings);
        let needed = read.unwrap().memory();
        let limits = BudgetLimits::default();
        assert!(10 * needed <= limits.cluster_version, "{needed}");
        assert!(needed / 10 <= limits.share && needed <= limits.share + limits.most_of_pool, "{needed}");
    }
}
