//! What is unwise about a release although it can be carried out.

use clearway_core::diagnostic::FindingList;
use clearway_core::{Diagnostic, Place, Severity};
use serde_json::Value;

use super::codes;
use super::manifest::Manifest;
use super::stages::{Hoisted, hoisted};

/// Looks at manifests that were read.
pub(super) fn lint(manifests: &[Manifest], findings: &mut FindingList) {
    for manifest in manifests {
        if let Some(field) = secret(manifest) {
            let message = format!("{} has content, which everyone who can pull the release can read", manifest.id);
            let help = "create secrets in the cluster, or let your operator fetch them";
            findings.push(finding(codes::SECRET, message, manifest, Some(field.to_owned())).with_help(help));
        }
        manifest.each_image(&mut |path, image| {
            if !image.contains('@') {
                findings.report(Severity::Warning, || {
                    let message =
                        format!("the image `{}` is named by a tag, which can be moved to another image", shown(image));
                    let help = "name it by digest: host/path@sha256:…";
                    finding(codes::IMAGE_BY_TAG, message, manifest, Some(path.to_string())).with_help(help)
                });
            }
        });
    }
    for Hoisted { manifest, needed_by } in hoisted(manifests) {
        let message = format!(
            "{} is at run level {}, but {} needs it at {}; it is applied there",
            manifest.id, manifest.run_level, needed_by.id, needed_by.run_level
        );
        findings.push(finding(codes::TOO_LATE, message, manifest, None).with_help("lower the run level in its name"));
    }
}

/// The field of a Secret that has content.
fn secret(manifest: &Manifest) -> Option<&'static str> {
    let is_secret = manifest.id.kind == "Secret" && manifest.id.group.is_empty() && !manifest.deletes();
    let has = |field: &&str| {
        manifest.object.get(*field).and_then(Value::as_object).is_some_and(|content| !content.is_empty())
    };
    ["data", "stringData"].into_iter().find(|field| is_secret && has(field))
}

fn finding(code: &'static str, message: String, manifest: &Manifest, path: Option<String>) -> Diagnostic {
    Diagnostic::new(code, Severity::Warning, message).at(Place {
        file: Some(manifest.file.clone()),
        position: Some(manifest.position),
        object: Some(manifest.id.to_string()),
        path,
    })
}

fn shown(text: &str) -> String {
    text.chars().filter(|letter| !letter.is_control()).take(200).collect()
}
