//! The documentation of the codes of snapshots (`SN…`) and state directories (`ST…`).

use clearway_core::Severity;
use clearway_core::diagnostic::CodePage;

/// The pages of the codes of snapshots.
pub fn snapshot_pages() -> Vec<CodePage> {
    SNAPSHOT.iter().map(page).collect()
}

/// The pages of the codes of state directories.
pub fn state_pages() -> Vec<CodePage> {
    STATE.iter().map(page).collect()
}

/// A code with its gravest severity, title, meaning and action.
type Row = (&'static str, Severity, [&'static str; 3]);

fn page((code, severity, [title, meaning, action]): &Row) -> CodePage {
    CodePage::new(code, Some(*severity), title, meaning, action)
}

#[rustfmt::skip]
const SNAPSHOT: &[Row] = &[
    ("SN001", Severity::Warning, ["A snapshot of a newer format", "What this version does not know is ignored, so risks that need it are Unknown.", "Read the snapshot with a newer version of Clearway."]),
    ("SN002", Severity::Error, ["A file of a snapshot that cannot be used", "It is damaged, too large, or not what the manifest lists. Risks that need it are Unknown.", "Collect the snapshot again, or copy it again."]),
    ("SN003", Severity::Error, ["A file of a snapshot that is missing", "The manifest lists it. Risks that need it are Unknown.", "Copy the whole directory, or collect the snapshot again."]),
    ("SN004", Severity::Warning, ["A file that the manifest of a snapshot does not list", "It is not read.", "Remove the file."]),
];

#[rustfmt::skip]
const STATE: &[Row] = &[
    ("ST001", Severity::Warning, ["A file of a state directory that is not an object", "It is not used; the other files are.", "Put a regular file with the object there, or remove the file."]),
];
