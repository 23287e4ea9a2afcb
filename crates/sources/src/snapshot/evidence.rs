//! The objects of a snapshot as evidence. What was not collected is unknown, and never "not there".

use std::collections::BTreeMap;

use clearway_advice::evidence::{self, ObjectRequest};
use clearway_core::{GroupKind, Timestamp, is_config_map};

use super::{NameSelector, Objects, Part, Selection};
use crate::collector::UnreadReason;

/// The objects of a snapshot that was taken at a time; `source` is what it goes by. They are moved: a second copy would
/// double the memory that a snapshot takes.
pub fn object_evidence(
    parts: BTreeMap<GroupKind, Part<Objects>>,
    taken_at: Timestamp,
    source: &str,
) -> evidence::Objects {
    let mut objects = evidence::Objects::new(taken_at, source);
    for (kind, part) in parts {
        let found = match part {
            Part::Collected(found) => found,
            Part::NotCollected { why } => {
                let failure = UnreadReason::of_words(&why).failure(&kind);
                objects.fail(kind, failure);
                continue;
            }
        };
        if found.not_served {
            objects.not_served(kind);
            continue;
        }
        let is_whole = found.selection == Selection::default();
        let Selection { namespace, name, labels, only, not_read } = found.selection;
        let named =
            |name: NameSelector| ObjectRequest { kind: kind.clone(), namespace: name.namespace, name: Some(name.name) };
        if !only.is_empty() || !not_read.is_empty() {
            for one in only {
                let items = found.items.iter().filter(|item| one.selects(item)).cloned().collect();
                objects.add_requested(named(one), items);
            }
            for one in not_read {
                objects.fail_request(named(one.name), UnreadReason::of_words(&one.why).failure(&kind));
            }
        } else if is_config_map(&kind) {
            // All of them without their data, which is not known to be absent.
        } else if is_whole {
            objects.mark_read(kind);
            for item in found.items {
                objects.insert(item);
            }
        } else if labels.is_none() {
            objects.add_requested(ObjectRequest { kind, namespace, name }, found.items);
        }
    }
    objects
}
