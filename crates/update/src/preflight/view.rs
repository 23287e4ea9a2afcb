//! The cluster as the checks see it, collected once before the first write.

use std::collections::BTreeMap;

use clearway_bundle::PreflightFinding;
use clearway_core::{ObjectId, Timestamp};
use clearway_release::{Manifest, Payload};
use serde_json::Value;

use super::PolicyDenial;
use crate::task::Task;

/// What the checks see.
#[derive(Debug)]
pub struct View<'a> {
    /// The present.
    pub now: Timestamp,
    /// What is to be carried out.
    pub task: &'a Task,
    /// The release.
    pub payload: &'a Payload,
    /// What is there: the objects the release names, and those of their kinds that its owner claims.
    pub objects: BTreeMap<ObjectId, Value>,
    /// What its CRDs would do to those that are there and to their stored objects. Objects are read page by page and not
    /// kept, so this is what was found.
    pub crds: Vec<PreflightFinding>,
    /// What the workloads of the release would become.
    pub workloads: BTreeMap<ObjectId, Value>,
    /// What could not be tried.
    pub dry_runs: Vec<DryRunFailure>,
    /// The constraints of the cluster that would deny objects of the release.
    pub policies: Vec<PolicyDenial>,
    /// The nodes, if a workload asks for some.
    pub nodes: Option<Vec<Value>>,
    /// The pods, if a workload needs room beside them.
    pub pods: Option<Vec<Value>>,
    /// The disruption budgets, if a workload is replaced.
    pub budgets: Option<Vec<Value>>,
    /// What could not be looked at, a sentence each.
    pub unseen: Vec<String>,
}

/// An object that the API server did not take when it was tried.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DryRunFailure {
    /// Which.
    pub id: ObjectId,
    /// Its file.
    pub file: String,
    /// Why.
    pub error: DryRunError,
}

/// Why an object could not be applied when it was tried.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DryRunError {
    /// The API server refuses the object, or the request; what it said.
    Refused(String),
    /// The cluster does not serve the kind.
    NoSuchKind,
    /// The dry run failed for another reason, which may pass.
    Inconclusive,
}

impl<'a> View<'a> {
    /// A view of nothing.
    pub fn empty(task: &'a Task, payload: &'a Payload, now: Timestamp) -> Self {
        View {
            now,
            task,
            payload,
            objects: BTreeMap::new(),
            crds: Vec::new(),
            workloads: BTreeMap::new(),
            dry_runs: Vec::new(),
            policies: Vec::new(),
            nodes: None,
            pods: None,
            budgets: None,
            unseen: Vec::new(),
        }
    }

    /// The manifests that are carried out.
    pub fn manifests(&self) -> impl Iterator<Item = &'a Manifest> {
        let Self { task, payload, .. } = *self;
        payload.manifests.iter().filter(move |manifest| !task.unmanaged.contains(&manifest.id))
    }

    /// Which object a manifest is about.
    pub fn id(&self, manifest: &Manifest) -> ObjectId {
        manifest.id.clone()
    }

    /// The object of a manifest as it is.
    pub fn live(&self, manifest: &Manifest) -> Option<&Value> {
        self.objects.get(&manifest.id)
    }

    /// Everything that is there.
    pub fn live_objects(&self) -> impl Iterator<Item = &Value> {
        self.objects.values()
    }
}
