//! Definitions of custom kinds that the release replaces or deletes: versions that clients use, and what cannot be changed.
//! What happens to stored objects is found by [`super::crds`].

use std::collections::BTreeSet;

use serde_json::Value;

use super::{Check, Finding, View};

/// Clients of versions that are no longer served fail, and objects are deleted with their definition.
#[derive(Debug)]
pub(super) struct Definitions;

impl Check for Definitions {
    fn name(&self) -> &'static str {
        "Definitions"
    }

    fn findings(&self, view: &View<'_>) -> Vec<Finding> {
        let mut found = Vec::new();
        for manifest in view.manifests().filter(|manifest| manifest.is_definition()) {
            let Some(live) = view.live(manifest) else { continue };
            let name = &manifest.id.name;
            if manifest.deletes() {
                let stored = texts(&live["status"]["storedVersions"]).join(", ");
                let message = format!("This release deletes {name} and all of its objects (stored in {stored}).");
                found.push(Finding::blocking(self, message));
                continue;
            }
            let served = |definition: &Value| -> BTreeSet<String> {
                let all = definition["spec"]["versions"].as_array().map_or(&[][..], Vec::as_slice);
                let served = all.iter().filter(|version| version["served"] == true);
                served.filter_map(|version| Some(version["name"].as_str()?.to_owned())).collect()
            };
            let ended: Vec<String> = served(live).difference(&served(&manifest.object)).cloned().collect();
            if !ended.is_empty() {
                let message = format!("{name} is no longer served in {}; clients that use it fail.", ended.join(", "));
                found.push(Finding::warning(self, message));
            }
            for (field, what) in [("/spec/scope", "scope"), ("/spec/names/kind", "kind")] {
                let (before, after) = (live.pointer(field), manifest.object.pointer(field));
                if before != after {
                    let word = |value: Option<&Value>| value.and_then(Value::as_str).unwrap_or("nothing").to_owned();
                    let message = format!(
                        "{name} would change its {what} from {} to {}, which the API server does not allow.",
                        word(before),
                        word(after)
                    );
                    found.push(Finding::blocking(self, message));
                }
            }
        }
        found
    }
}

fn texts(list: &Value) -> Vec<&str> {
    list.as_array().map_or(&[][..], Vec::as_slice).iter().filter_map(Value::as_str).collect()
}
