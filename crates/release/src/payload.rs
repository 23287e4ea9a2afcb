//! A release that can be applied: every one of its files was read without an error.

use std::fmt;

use clearway_core::{Diagnostic, Digest, Position, Severity, Version};
use clearway_core::{ObjectReference, diagnostic::FindingList};
use serde::Serialize;

use crate::manifest::Manifest;
use crate::metadata::{Metadata, References};
use crate::select::Selection;
use crate::stages::{self, Stage};
use crate::{Files, ReleaseLimits, lint, read};

/// A release that can be applied.
#[derive(Debug, Clone, PartialEq)]
pub struct Payload {
    /// What names exactly this content.
    pub digest: Digest,
    /// What it says about itself.
    pub metadata: Metadata,
    /// The images it lists.
    pub references: Option<References>,
    /// Its objects, in the order of their files.
    pub manifests: Vec<Manifest>,
    /// Objects that are not meant for this cluster.
    pub left_out: Vec<SkippedObject>,
}

/// An object of a release that is not meant for this cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SkippedObject {
    /// Its file.
    pub file: String,
    /// Which object.
    #[serde(flatten)]
    pub reference: ObjectReference,
    /// Why.
    pub why: String,
}

/// What is wrong with the files of a release; displayed as the first error and the number of the others.
#[derive(Debug, Clone, PartialEq)]
pub struct ContentError {
    /// The errors, as far as they were kept.
    pub findings: Vec<Diagnostic>,
    /// How many errors there are.
    pub errors: usize,
}

impl Payload {
    /// Makes objects of the files that `digest` names. One that is none refuses the release.
    pub fn read(
        files: &Files,
        digest: Digest,
        selection: &Selection,
        limits: &ReleaseLimits,
    ) -> Result<Self, ContentError> {
        let reading = read::read(files, selection, limits);
        let good = reading.is_good();
        match reading.metadata {
            Some(metadata) if good => Ok(Payload {
                digest,
                metadata,
                references: reading.references,
                manifests: reading.manifests,
                left_out: reading.left_out,
            }),
            _ => {
                let errors = reading.findings.count(Severity::Error);
                Err(ContentError { findings: reading.findings.into_errors(), errors })
            }
        }
    }

    /// The version.
    pub fn version(&self) -> &Version {
        &self.metadata.version
    }

    /// The order in which its objects are applied.
    pub fn stages(&self) -> Vec<Stage<'_>> {
        stages::stages(&self.manifests)
    }
}

/// Everything that is wrong with the files of a release or unwise: all of it is counted, and the first ones are kept.
pub fn findings(files: &Files, selection: &Selection, limits: &ReleaseLimits) -> FindingList {
    let reading = read::read(files, selection, limits);
    let mut findings = reading.findings;
    lint::lint(&reading.manifests, &mut findings);
    findings
}

impl fmt::Display for ContentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [first, ..] = &self.findings[..] else { return f.write_str("it cannot be read") };
        if let (Some(file), Some(Position { line, column })) = (&first.place.file, first.place.position) {
            write!(f, "{file}:{line}:{column}: ")?;
        }
        f.write_str(&first.message)?;
        if let Some(help) = &first.help {
            write!(f, "; {help}")?;
        }
        let more = self.errors.saturating_sub(1);
        if more == 0 { Ok(()) } else { write!(f, " (and {more} more)") }
    }
}

impl std::error::Error for ContentError {}
