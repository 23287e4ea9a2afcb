//! `clearway release verify`: integrity, manifests and signature of a release.

use anyhow::Result;
use clearway_core::{Diagnostic, Severity};
use clearway_release::{Payload, ReleaseLimits, Selection, Verdict, codes};
use clearway_sources::release::Key;

use super::{NamedRelease, wait};
use crate::arguments::ReleaseVerify;
use crate::exit::Exit;
use crate::findings::Findings;

/// Runs the command. Exit code 0: clean; 1: findings, or refused; 3: could not run.
pub(super) fn run(options: &ReleaseVerify) -> Result<Exit> {
    let mut keys = Vec::new();
    for path in &options.keys {
        keys.extend(Key::file(path)?);
    }
    let mut named = NamedRelease::new(&options.source)?;
    if !keys.is_empty() {
        // A file of the cache does not prove that it is the release that was signed.
        named.cache = named.cache.own_entries_only();
    }
    let (selection, limits) = (Selection::default(), ReleaseLimits::default());
    let mut findings = Findings::new(options.output.format, "object");
    let fetched = match wait(named.fetch(options.digest.as_ref()))? {
        Ok(fetched) => fetched,
        // What is wrong with the release itself is an answer.
        Err(error) if error.is_about_the_release() => {
            findings.begin(&codes::RULES)?;
            findings.add(&Diagnostic::new(codes::REFUSED, Severity::Error, error.to_string()))?;
            findings.end()?;
            return Ok(Exit::No);
        }
        Err(error) => return Err(error.into()),
    };
    let signature = if keys.is_empty() { None } else { Some(wait(fetched.verify(&keys, named.registries()))??) };
    findings.begin(&codes::RULES)?;
    // Whoever reads only the first lines should read this.
    if let Some(finding) = signature.as_ref().and_then(of_signature) {
        findings.add(&finding)?;
    }
    let found = fetched.findings(&selection, &limits);
    for finding in found.iter() {
        findings.add(finding)?;
    }
    findings.count_dropped(&found);
    let payload = fetched.payload(&selection, &limits).ok();
    findings.checked = payload.as_ref().map_or(0, |payload| payload.manifests.len());
    let exit = findings.end()?;
    print_summary(payload.as_ref(), signature.as_ref());
    // A file that cannot be read does not make the answer unknown: such a release is none.
    Ok(if exit == Exit::CouldNotRun { Exit::No } else { exit })
}

fn of_signature(verdict: &Verdict) -> Option<Diagnostic> {
    let why = match verdict {
        Verdict::Verified { .. } => return None,
        Verdict::Unsigned => "no valid signature",
        Verdict::Failed { why } => why,
    };
    let finding = Diagnostic::new(codes::SIGNATURE, Severity::Error, format!("the release cannot be verified: {why}"));
    Some(finding.with_help("do not apply it; ask its publisher"))
}

fn print_summary(payload: Option<&Payload>, signature: Option<&Verdict>) {
    if let Some(payload) = payload {
        crate::output::print_note!("release {}, digest {}", payload.version(), payload.digest);
    }
    match signature {
        Some(Verdict::Verified { key, .. }) => crate::output::print_note!("signed by {key}"),
        Some(_) => {}
        None => crate::output::print_note!("signature not checked; pass --key"),
    }
}
