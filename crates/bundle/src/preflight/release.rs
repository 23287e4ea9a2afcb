//! The CRDs of a release against those that are installed: each bundle among them is compared by itself.

use std::collections::{BTreeMap, BTreeSet};

use clearway_core::Severity;
use serde_json::Value;

use super::Preflight;
use crate::installed::{annotation_domains, group};
use crate::model::Bundle;
use crate::read::{BundleLimits, BundleReader};

/// The domain of CRDs that belong to no bundle. They have neither a version nor a channel, but objects.
const NO_DOMAIN: &str = "";

impl Preflight {
    /// Compares the CRDs of a release with those of the same names in a cluster. CRDs with the annotations of a bundle, and
    /// others of its API groups, are compared as that bundle; the rest by their schemas and stored versions only.
    pub fn of_release(installed: &[&Value], release: &[&Value], limits: &BundleLimits) -> Self {
        let mut preflight = Preflight::default();
        for (domain, crds) in by_domain(release) {
            let new = read(domain, &crds, limits);
            let present: Vec<&Value> =
                installed.iter().copied().filter(|crd| new.crds.contains_key(name(crd))).collect();
            for crd in crds.iter().filter(|crd| !new.crds.contains_key(name(crd))) {
                preflight.not_read(&new, name(crd));
            }
            if !present.is_empty() {
                preflight.compare(&read(domain, &present, limits), &new);
            }
        }
        preflight
    }

    /// Notes a CRD of a release that could not be read; the API server may still accept it.
    fn not_read(&mut self, new: &Bundle, crd: &str) {
        let of_crd = |place: &clearway_core::Place| place.object.as_deref().is_none_or(|object| object.contains(crd));
        let errors = new.problems.iter().filter(|problem| problem.severity == Severity::Error);
        let why = errors.filter(|problem| of_crd(&problem.place)).map(|problem| problem.message.as_str()).next();
        self.not_checked(crd, format!("the CRD of the release cannot be read: {}", why.unwrap_or("it is not valid")));
    }
}

fn by_domain<'v>(crds: &[&'v Value]) -> BTreeMap<&'v str, Vec<&'v Value>> {
    let mut groups: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for crd in crds {
        for domain in annotation_domains(crd) {
            groups.entry(domain).or_default().insert(group(crd));
        }
    }
    let mut found: BTreeMap<&str, Vec<&Value>> = BTreeMap::new();
    for crd in crds {
        let of_crd = groups.iter().filter(|(_, groups)| groups.contains(group(crd))).map(|(domain, _)| *domain);
        let of_crd: Vec<&str> = of_crd.collect();
        let of_crd = if of_crd.is_empty() { vec![NO_DOMAIN] } else { of_crd };
        for domain in of_crd {
            found.entry(domain).or_default().push(crd);
        }
    }
    found
}

fn read(domain: &str, crds: &[&Value], limits: &BundleLimits) -> Bundle {
    let mut reader = BundleReader::new(domain, domain, limits.clone());
    for crd in crds {
        reader.add_object(crd);
    }
    reader.finish()
}

fn name(crd: &Value) -> &str {
    crd.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default()
}
