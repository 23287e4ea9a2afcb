//! The channels of one bundle version compared: the standard one must be a subset of the experimental one (V2).

use serde::Serialize;

use crate::finding::{Finding, RuleId};
use crate::judge::{Change, Collector, Site, missing_fields};
use crate::model::{Bundle, Level, render_path};

const V2: RuleId = RuleId("V2");

/// How the channels differ.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ChannelDifference {
    /// CRDs, versions and fields that only the experimental channel has, such as `httproutes v1 spec.rules[].retry`.
    pub experimental_only: Vec<String>,
    /// API versions that only the experimental channel serves.
    pub served_in_experimental_only: Vec<String>,
    /// What the standard channel has and the experimental one does not, which is always a violation.
    pub violations: Vec<Finding>,
}

/// Compares the two channels of one bundle version.
pub fn compare_channels(standard: &Bundle, experimental: &Bundle) -> ChannelDifference {
    let mut difference = ChannelDifference::default();
    let mut out = Collector::new(false, Level::Minor);
    if standard.version != experimental.version {
        let (one, two) = (standard.version_text(), experimental.version_text());
        let message = format!("the standard channel has version {one}, and the experimental channel {two}");
        out.report(&Site::bundle(standard), &[], Change::new(V2, message));
    }
    for crd in standard.crds.values() {
        let Some(other) = experimental.crds.get(&crd.name) else {
            out.report(&Site::crd(crd), &[], Change::new(V2, "the experimental channel does not have this CRD"));
            continue;
        };
        for version in crd.versions.values() {
            let site = Site::version(crd, version);
            let Some(other) = other.versions.get(&version.name) else {
                out.report(&site, &[], Change::new(V2, "the experimental channel does not have this API version"));
                continue;
            };
            if version.served && !other.served {
                out.report(&site, &[], Change::new(V2, "the experimental channel does not serve this API version"));
            }
            let (Some(schema), Some(other)) = (&version.schema, &other.schema) else { continue };
            for path in missing_fields(schema, other) {
                let position = schema.at(&path).and_then(|schema| schema.position);
                let change = Change::new(V2, "the experimental channel does not have this field").at(position);
                out.report(&site, &path, change);
            }
        }
    }
    for crd in experimental.crds.values() {
        let Some(other) = standard.crds.get(&crd.name) else {
            difference.experimental_only.push(crd.plural.clone());
            continue;
        };
        for version in crd.versions.values() {
            let name = format!("{} {}", crd.plural, version.name);
            let Some(other) = other.versions.get(&version.name) else {
                difference.experimental_only.push(name);
                continue;
            };
            if version.served && !other.served {
                difference.served_in_experimental_only.push(name.clone());
            }
            let (Some(schema), Some(other)) = (&version.schema, &other.schema) else { continue };
            let missing = missing_fields(schema, other);
            difference.experimental_only.extend(missing.iter().map(|path| format!("{name} {}", render_path(path))));
        }
    }
    difference.violations = out.finish().0;
    difference
}
