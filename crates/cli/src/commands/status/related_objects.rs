//! Health of objects that depend on others: workloads on their pods, custom resources on their siblings.

use std::collections::{BTreeMap, BTreeSet};

use clearway_conditions::Object;
use clearway_conditions::health::{Basis, Context, OwnedObject, State, Verdict, health, with_pods};
use clearway_core::{GroupKind, ObjectId, Timestamp};
use clearway_yaml::{Node, Source, Tape};
use serde_json::Value;

/// An object that was judged, and what its family needs to know of it.
struct Member {
    owned: OwnedObject<Verdict>,
    /// For a `ReplicaSet`: which revision of its Deployment it is.
    revision: i64,
    /// For a `StatefulSet` the revision it rolls out, for its pods the one they are of.
    hash: String,
    /// Kept of an object that could not be judged by anything but the lack of a rule, until its siblings are known.
    unjudged: Option<Value>,
}

/// Of which kinds the schema is known to promise `status.conditions`, or not to.
pub(crate) type Schemas = BTreeMap<GroupKind, bool>;

/// Judges objects, each alone at first and in the light of the others at the end.
pub(crate) struct RelatedObjects {
    now: Timestamp,
    members: Vec<Member>,
    /// Kinds of which an object shows `Ready`.
    reporting: BTreeSet<GroupKind>,
    schemas: Schemas,
}

impl RelatedObjects {
    /// A family without members yet.
    pub(crate) fn new(now: Timestamp, schemas: Schemas) -> Self {
        RelatedObjects { now, members: Vec::new(), reporting: BTreeSet::new(), schemas }
    }

    /// Whether a member is in a state so far.
    pub(super) fn any(&self, state: State) -> bool {
        self.members.iter().any(|member| member.owned.value.state == state)
    }

    /// Adds an object that lives in a cluster.
    pub(super) fn add_value(&mut self, value: &Value) {
        let tape = Tape::from_json(value);
        let object = tape.root().and_then(|root| Object::new(root, Source::default(), None).ok());
        if let Some(object) = object {
            self.add(&object);
        }
    }

    /// Adds an object.
    pub(crate) fn add(&mut self, object: &Object<'_>) {
        let kind = object.group_kind();
        let context = self.context(&kind, false);
        let verdict = health(object, &context);
        let annotation = object.root.at(&["metadata", "annotations", "deployment.kubernetes.io/revision"]);
        let hash = object
            .root
            .at(&["metadata", "labels", "controller-revision-hash"])
            .or_else(|| object.root.at(&["status", "updateRevision"]));
        let has_ready = object
            .root
            .at(&["status", "conditions"])
            .is_some_and(|list| list.items().any(|item| item.get("type").map(Node::raw) == Some("Ready")));
        if has_ready {
            self.reporting.insert(kind);
        }
        self.members.push(Member {
            revision: annotation.and_then(|node| node.raw().parse().ok()).unwrap_or(0),
            hash: hash.map_or_else(String::new, |node| node.raw().to_owned()),
            unjudged: (verdict.basis == Basis::Default).then(|| object.root.to_json()),
            owned: OwnedObject::new(object, verdict),
        });
    }

    /// Adds an object that is known not to exist.
    pub(super) fn add_missing(&mut self, id: ObjectId) {
        let owned = OwnedObject { id, uid: String::new(), owners: Vec::new(), value: Verdict::not_found() };
        self.members.push(Member { owned, revision: 0, hash: String::new(), unjudged: None });
    }

    fn context(&self, kind: &GroupKind, sibling_ready: bool) -> Context {
        let has_conditions_schema = self.schemas.get(kind).copied();
        Context { has_conditions_schema, sibling_ready, ..Context::at(self.now) }
    }

    /// The verdicts in the light of each other, in the order in which the objects came.
    pub(crate) fn judge(mut self) -> Vec<OwnedObject<Verdict>> {
        self.look_at_siblings();
        self.look_at_pods();
        self.members.into_iter().map(|member| member.owned).collect()
    }

    /// A custom resource that says nothing is expected to say something if another of its kind does.
    fn look_at_siblings(&mut self) {
        for index in 0..self.members.len() {
            let Some(value) = self.members.get_mut(index).and_then(|member| member.unjudged.take()) else { continue };
            let tape = Tape::from_json(&value);
            let Some(Ok(object)) = tape.root().map(|root| Object::new(root, Source::default(), None)) else { continue };
            let kind = object.group_kind();
            if self.reporting.contains(&kind) {
                let verdict = health(&object, &self.context(&kind, true));
                if let Some(member) = self.members.get_mut(index) {
                    member.owned.value = verdict;
                }
            }
        }
    }

    /// A workload whose newest pods failed has failed, though its own status may not say so for minutes.
    fn look_at_pods(&mut self) {
        let mut pods: BTreeMap<&str, Vec<&Member>> = BTreeMap::new();
        let mut newest: BTreeMap<&str, &Member> = BTreeMap::new();
        for member in &self.members {
            let Some(owner) = member.owned.owners.first() else { continue };
            match member.owned.id.kind.as_str() {
                "Pod" => pods.entry(owner).or_default().push(member),
                "ReplicaSet" => {
                    let slot = newest.entry(owner).or_insert(member);
                    if member.revision > slot.revision {
                        *slot = member;
                    }
                }
                _ => {}
            }
        }
        let verdicts: Vec<(usize, Verdict)> = self
            .members
            .iter()
            .enumerate()
            .filter_map(|(index, member)| {
                let own = match member.owned.id.kind.as_str() {
                    "ReplicaSet" | "StatefulSet" => pods.get(member.owned.uid.as_str()),
                    "Deployment" => pods.get(newest.get(member.owned.uid.as_str())?.owned.uid.as_str()),
                    _ => None,
                }?;
                let current = |pod: &&&Member| member.owned.id.kind != "StatefulSet" || pod.hash == member.hash;
                let judged: Vec<(ObjectId, Verdict)> =
                    own.iter().filter(current).map(|pod| (pod.owned.id.clone(), pod.owned.value.clone())).collect();
                Some((index, with_pods(member.owned.value.clone(), &judged)))
            })
            .collect();
        for (index, verdict) in verdicts {
            if let Some(member) = self.members.get_mut(index) {
                member.owned.value = verdict;
            }
        }
    }
}
