//! The CRDs of bundles and their objects, to be kept in a snapshot and checked there by `bundle preflight --snapshot`.
//!
//! Everything is read by the one collector, so nothing is kept of it that rules would not see either.

use std::collections::{BTreeMap, BTreeSet};

use clearway_advice::evidence::ObjectRequest;
use clearway_bundle::{BundleLimits, installation_record, installed_bundle_of};
use clearway_core::GroupKind;
use clearway_sources::snapshot::{NameSelector, Objects, Part, Selection, Snapshot};
use serde_json::Value;

/// What belongs to some bundles.
pub(super) struct BundleObjects {
    /// The names of the bundles whose CRDs are known.
    bundles: Vec<String>,
    /// Their CRDs, or why they are not known.
    definitions: Option<Part<Objects>>,
    /// The objects of these CRDs.
    pub(super) requests: Vec<ObjectRequest>,
}

/// The request for all CRDs of a cluster.
pub(super) fn crds() -> ObjectRequest {
    request(crd_kind())
}

/// The kind of CRDs.
pub(super) fn crd_kind() -> GroupKind {
    GroupKind { group: "apiextensions.k8s.io".to_owned(), kind: "CustomResourceDefinition".to_owned() }
}

fn request(kind: GroupKind) -> ObjectRequest {
    ObjectRequest { kind, namespace: None, name: None }
}

/// Finds bundles by name among the CRDs of a cluster, which are given as the collector read them.
pub(super) fn find(bundles: &[String], collected: BTreeMap<GroupKind, Part<Objects>>) -> BundleObjects {
    let mut found = BundleObjects { bundles: Vec::new(), definitions: None, requests: Vec::new() };
    match collected.into_values().next() {
        None => {}
        Some(Part::NotCollected { why }) => found.definitions = Some(Part::NotCollected { why }),
        Some(Part::Collected(Objects { items, .. })) => {
            let (mut names, mut kinds) = (BTreeSet::new(), BTreeSet::new());
            for bundle in bundles {
                let records: Vec<Value> = items.iter().map(|crd| installation_record(crd, bundle)).collect();
                let crds = installed_bundle_of(bundle, &records, &BundleLimits::default());
                for crd in crds.into_iter().flat_map(|installed| installed.bundle.crds.into_values()) {
                    names.insert(crd.name);
                    kinds.insert(GroupKind { group: crd.group, kind: crd.kind });
                }
            }
            found.bundles = bundles.iter().cloned().collect::<BTreeSet<_>>().into_iter().collect();
            found.requests = kinds.into_iter().map(request).collect();
            let is_kept = |crd: &Value| crd["metadata"]["name"].as_str().is_some_and(|name| names.contains(name));
            let items = items.into_iter().filter(is_kept).collect();
            let only = names.iter().map(|name| NameSelector { namespace: None, name: name.clone() }).collect();
            let selection = Selection { only, ..Selection::default() };
            found.definitions = Some(Part::Collected(Objects { selection, items, not_served: false }));
        }
    }
    found
}

impl BundleObjects {
    /// Puts the CRDs into a snapshot, unless all CRDs are in it for rules, and the names of the bundles.
    pub(super) fn keep(self, taken: &mut Snapshot) {
        taken.bundles = self.bundles;
        let Some(definitions) = self.definitions else { return };
        let is_empty = matches!(&definitions, Part::Collected(objects) if objects.items.is_empty());
        // Without a selection, no definitions would mean that the cluster has none.
        if !is_empty {
            taken.objects.entry(crd_kind()).or_insert(definitions);
        }
    }
}
