//! The documentation of the reasons why an object of a release cannot be applied.

use clearway_core::diagnostic::CodePage;

/// The pages of all reasons.
pub fn failure_pages() -> Vec<CodePage> {
    PAGES.iter().map(|(reason, [title, meaning, action])| CodePage::new(reason, None, title, meaning, action)).collect()
}

/// A reason with its title, meaning and action.
#[rustfmt::skip]
const PAGES: &[(&str, [&str; 3])] = &[
    ("CannotPrune", ["An object that the release no longer has cannot be deleted", "It stays in the cluster; the update is not complete.", "Read the cause in the message: rights, finalizers, or an owner."]),
    ("CannotRender", ["The release cannot be rendered", "Another tool applies the release, and the files for it cannot be written.", "Read the cause in the message."]),
    ("Conflict", ["Another writer changed the object at the same time", "The object is applied again.", "If it stays: find the other writer in `metadata.managedFields`."]),
    ("FieldNotKept", ["The API server does not keep a field", "The field was sent and is not in the stored object: the CRD does not have it, or a webhook removes it.", "Update the CRD before the object, or remove the field from the release."]),
    ("Forbidden", ["The operator may not write the object", "RBAC refuses it.", "Grant the right to the service account that applies updates; docs/installing.md lists the rights."]),
    ("KindNotServed", ["The API server does not serve the kind", "The CRD is missing, not established, or does not serve the version.", "Install the CRD, or correct the apiVersion."]),
    ("Missing", ["The object, or its namespace, does not exist", "It was deleted while the update was applied.", "Create the namespace in the release, and find out who deletes the object."]),
    ("OwnedByAnother", ["The object belongs to another release", "It is not overwritten.", "Remove it from one of the two releases, or remove its owner label."]),
    ("Refused", ["The API server refuses the object", "Validation or an admission webhook refuses it; the message has the answer.", "Correct the manifest, or the policy that refuses it."]),
    ("TakesTooLong", ["The object is not healthy in time", "It was applied, but did not become healthy, or was not deleted, within the time it may take.", "`clearway status show` says what it waits for."]),
    ("TooLarge", ["The object, or the answer, is too large", "The API server does not store objects above 1.5 MiB.", "Split the object."]),
    ("Unreachable", ["The API server does not answer", "It is tried again.", "Check the API server and the network."]),
];
