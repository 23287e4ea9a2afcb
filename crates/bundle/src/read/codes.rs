//! The codes of what is wrong with the files of a bundle.
//!
//! What is not YAML or JSON at all has the codes of the reader (`IN…`).

mod pages;

use clearway_core::diagnostic::sarif::Rule;

pub use pages::{change_pages, pages};

/// A document that is not a Kubernetes object.
pub const NOT_AN_OBJECT: &str = "BD001";
/// A CRD without a part that every CRD has.
pub const INCOMPLETE_CRD: &str = "BD002";
/// A CRD of the API version `apiextensions.k8s.io/v1beta1`.
pub const OLD_CRD: &str = "BD003";
/// An API version without a schema.
pub const NO_SCHEMA: &str = "BD004";
/// A `$ref` in a schema.
pub const REFERENCE: &str = "BD005";
/// A schema that is nested too deep or has too many parts.
pub const SCHEMA_TOO_LARGE: &str = "BD006";
/// An object that is in the bundle twice.
pub const DUPLICATE: &str = "BD007";
/// A bundle without one CRD.
pub const NO_CRDS: &str = "BD008";
/// More CRDs than one bundle may have.
pub const TOO_MANY_CRDS: &str = "BD009";
/// A waiver that cannot be read.
pub const INVALID_WAIVER: &str = "BD010";
/// A waiver that has expired.
pub const EXPIRED_WAIVER: &str = "BD011";
/// A waiver that applies to no finding.
pub const UNUSED_WAIVER: &str = "BD012";
/// A line of a name ledger that cannot be read.
pub const INVALID_LEDGER: &str = "BD013";
/// A schema whose keyword has a value of the wrong type.
pub const INVALID_KEYWORD: &str = "BD014";

/// A version or channel that was given for a bundle, and that its annotations contradict.
pub const OTHER_ANNOTATION: &str = "BD015";
/// A CRD that is larger than what the API server stores.
pub const CRD_TOO_LARGE: &str = "BD016";

const fn rule(code: &'static str, title: &'static str, why: &'static str) -> Rule {
    Rule { code, title, why, text: why }
}

/// All of them, with what they mean.
pub const RULES: &[Rule] = &[
    rule(
        NOT_AN_OBJECT,
        "document is not a Kubernetes object",
        "Without `kind` and `metadata.name` it cannot be installed.",
    ),
    rule(INCOMPLETE_CRD, "CRD is incomplete", "The API server refuses a CRD without group, names, scope and versions."),
    rule(OLD_CRD, "CRD has the API version v1beta1", "Kubernetes 1.22 removed it; such a CRD is not judged."),
    rule(NO_SCHEMA, "API version has no schema", "Without a schema nothing about its fields can be judged."),
    rule(REFERENCE, "schema contains `$ref`", "The API server refuses references in the schema of a CRD."),
    rule(SCHEMA_TOO_LARGE, "schema is too large", "Schemas are read up to a depth and a number of parts."),
    rule(DUPLICATE, "object is in the bundle twice", "Which of the two is installed depends on the order."),
    rule(NO_CRDS, "bundle has no CRD", "There is nothing to compare."),
    rule(TOO_MANY_CRDS, "bundle has too many CRDs", "CRDs are read up to a number; the others are not judged."),
    rule(INVALID_WAIVER, "waiver cannot be read", "It is not applied."),
    rule(EXPIRED_WAIVER, "waiver has expired", "It is not applied; renew it or correct the change."),
    rule(UNUSED_WAIVER, "waiver applies to no finding", "The change it was written for is gone, or its path is wrong."),
    rule(INVALID_LEDGER, "line of the name ledger cannot be read", "The name in it is not protected."),
    rule(INVALID_KEYWORD, "keyword has a value of the wrong type", "The API server refuses such a schema."),
    rule(
        OTHER_ANNOTATION,
        "annotations contradict the given version or channel",
        "Clusters report the version and channel in the annotations, and not those of the release.",
    ),
    rule(CRD_TOO_LARGE, "CRD is too large", "The API server refuses objects above 1.5 MiB, so it cannot be installed."),
];
