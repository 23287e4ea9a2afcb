//! The codes of what is wrong with the content of a release.
//!
//! What is no YAML or JSON at all has the codes of the reader (`IN…`).

use clearway_core::diagnostic::sarif::Rule;

/// Something in a file that is no object of Kubernetes with a name.
pub const NO_OBJECT: &str = "RL001";
/// An object that is in the release twice.
pub const DUPLICATE: &str = "RL002";
/// A template where a manifest is expected.
pub const TEMPLATE: &str = "RL003";
/// `release-metadata` is missing or cannot be read.
pub const METADATA: &str = "RL004";
/// `image-references` cannot be read, or is of another version.
pub const REFERENCES: &str = "RL005";
/// A file whose name or size is not read.
pub const FILE: &str = "RL006";
/// More objects than a release may have.
pub const TOO_MANY: &str = "RL007";
/// A Secret with content.
pub const SECRET: &str = "RL101";
/// A name that begins as if it had a run level.
pub const ODD_NAME: &str = "RL102";
/// An image by tag.
pub const IMAGE_BY_TAG: &str = "RL103";
/// A key that stands twice in one object.
pub const REPEATED_KEY: &str = "RL104";
/// A namespace or definition behind what needs it.
pub const TOO_LATE: &str = "RL105";
/// A file that is no part of the release.
pub const PASSED_OVER: &str = "RL106";
/// A release without one object.
pub const EMPTY: &str = "RL107";
/// The signature does not vouch for the release.
pub const SIGNATURE: &str = "RL201";
/// The release is not what was asked for, or cannot be had whole.
pub const REFUSED: &str = "RL202";

const fn rule(code: &'static str, title: &'static str, why: &'static str) -> Rule {
    Rule { code, title, why, text: why }
}

/// Every rule about releases, in order.
pub const RULES: [Rule; 16] = [
    rule(
        NO_OBJECT,
        "every document is one object of Kubernetes",
        "An object without apiVersion, kind or name cannot be applied, and one that only an API server could refuse would \
         stop an update half-way.",
    ),
    rule(
        DUPLICATE,
        "an object is in a release once",
        "Of two manifests for one object, the one that is applied last wins, and the two replace each other forever.",
    ),
    rule(TEMPLATE, "a release holds no templates", "Templates are not filled in when the release is applied."),
    rule(
        METADATA,
        "release-metadata says which version this is",
        "Without it, it is not known which release this is, or whether it is the requested one.",
    ),
    rule(
        REFERENCES,
        "image-references is an ImageStream named like the version",
        "OpenShift's operators look their images up in it.",
    ),
    rule(FILE, "files have names that are read", "A digest covers names and content; links and odd names are neither."),
    rule(TOO_MANY, "a release is of bounded size", "What reads releases has bounded memory."),
    rule(
        SECRET,
        "a release holds no secrets",
        "Everybody who may pull the release reads them, and every cluster has the same ones.",
    ),
    rule(
        ODD_NAME,
        "a name that begins with 0000_ names a run level and a component",
        "0000_NN_component_name.yaml: anything else is at level 50, which the author of the name did not mean.",
    ),
    rule(
        IMAGE_BY_TAG,
        "images are named by digest",
        "A tag can point to something else tomorrow; then the release is not what was tested and signed.",
    ),
    rule(REPEATED_KEY, "a key stands once in an object", "Readers take the last one, and some refuse the object."),
    rule(
        TOO_LATE,
        "namespaces and definitions come before what needs them",
        "They are carried out at the lower run level, which is not the one that the file names.",
    ),
    rule(PASSED_OVER, "every file has its part in the release", "Files of other names are covered by the digest only."),
    rule(EMPTY, "a release has objects", "Nothing would be applied, and everything that was there pruned."),
    rule(SIGNATURE, "a trusted key signed the release", "Anybody who can write to a registry can put a release there."),
    rule(REFUSED, "the release is what was asked for", "A digest names one content, and an image one architecture."),
];
