//! The codes of what is wrong with the content of a release.
//!
//! What is no YAML or JSON at all has the codes of the reader (`IN…`).

mod pages;

use clearway_core::diagnostic::sarif::Rule;

pub use pages::pages;

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
        "every document is one Kubernetes object",
        "An object without apiVersion, kind or name cannot be applied, and one that only an API server could refuse would \
         stop an update half-way.",
    ),
    rule(
        DUPLICATE,
        "an object is only once in a release",
        "Of two manifests for one object, the one that is applied last wins, and the two replace each other forever.",
    ),
    rule(TEMPLATE, "a release contains no templates", "Templates are not filled in when the release is applied."),
    rule(METADATA, "release-metadata contains the version", "Without it, the version of the release is unknown."),
    rule(
        REFERENCES,
        "image-references is an ImageStream named like the version",
        "OpenShift's operators look their images up in it.",
    ),
    rule(FILE, "files have supported names", "A digest covers names and content, but not links and unsupported names."),
    rule(TOO_MANY, "a release is within the size limits", "Programs that read releases have limited memory."),
    rule(
        SECRET,
        "a release contains no secrets",
        "Everyone who can pull the release can read them, and every cluster has the same ones.",
    ),
    rule(
        ODD_NAME,
        "a name that begins with 0000_ names a run level and a component",
        "0000_NN_component_name.yaml: any other name is at run level 50, which is probably not intended.",
    ),
    rule(
        IMAGE_BY_TAG,
        "images are named by digest",
        "A tag can be moved to another image; then the release is not what was tested and signed.",
    ),
    rule(REPEATED_KEY, "a key is only once in an object", "Readers take the last one, and some refuse the object."),
    rule(
        TOO_LATE,
        "namespaces and definitions come before what needs them",
        "They are applied at the lower run level, not at the one in the file name.",
    ),
    rule(PASSED_OVER, "every file is used", "Files with other names are covered by the digest, but have no effect."),
    rule(EMPTY, "a release has objects", "Nothing would be applied, and all existing objects would be pruned."),
    rule(SIGNATURE, "a trusted key signed the release", "Anyone who can write to a registry can push a release."),
    rule(
        REFUSED,
        "the release is the requested one",
        "A digest identifies one content, and an image one architecture.",
    ),
];
