//! `clearway release show`: metadata, components and objects of a release.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use anyhow::Result;
use clearway_release::{Manifest, Part, Payload, ReleaseLimits, Selection, Stage};
use clearway_sources::release::Reference;
use serde_json::{Value, json};

use super::{NamedRelease, wait};
use crate::arguments::ReleaseShow;
use crate::exit::Exit;
use crate::output::{self, Document};

/// Runs the command.
pub(super) fn run(options: &ReleaseShow) -> Result<Exit> {
    let named = NamedRelease::new(&options.source)?;
    let fetched = wait(named.fetch(None))??;
    if options.digest {
        output::print_line!("{}", fetched.digest);
        return Ok(Exit::Yes);
    }
    let payload = fetched.payload(&Selection::default(), &ReleaseLimits::default())?;
    output::print_data(options.output.format, &data(&fetched.reference, &payload), || table(&payload))?;
    Ok(Exit::Yes)
}

fn data(reference: &Reference, payload: &Payload) -> Value {
    let manifest = |manifest: &Manifest| {
        json!({
            "file": manifest.file,
            "line": manifest.position.line,
            "apiVersion": manifest.reference().kind.api_version(),
            "kind": manifest.id.kind,
            "namespace": Some(&manifest.id.namespace).filter(|namespace| !namespace.is_empty()),
            "name": manifest.id.name,
            "delete": manifest.deletes(),
            "createOnly": manifest.create_only(),
        })
    };
    let stage = |stage: &Stage<'_>| {
        let lanes = stage.lanes.iter().map(|lane| {
            let manifests: Vec<Value> = lane.manifests.iter().map(|one| manifest(one)).collect();
            json!({"component": lane.component, "manifests": manifests})
        });
        json!({
            "runLevel": stage.run_level,
            "part": stage.part,
            "defines": stage.defines,
            "needs": stage.needs,
            "components": lanes.collect::<Vec<_>>(),
        })
    };
    json!({
        "release": reference.to_string(),
        "digest": payload.digest,
        "version": payload.metadata.version,
        "previous": payload.metadata.previous,
        "next": payload.metadata.next,
        "metadata": payload.metadata.metadata,
        "stages": payload.stages().iter().map(stage).collect::<Vec<_>>(),
        "leftOut": payload.left_out,
        "images": images(payload),
    })
}

/// Every image that the release names, once.
fn images(payload: &Payload) -> BTreeSet<&str> {
    let listed = payload.references.iter().flat_map(|references| references.images.values()).map(String::as_str);
    let mut images: BTreeSet<&str> = listed.collect();
    for manifest in &payload.manifests {
        manifest.each_image(&mut |_, image| {
            images.insert(image);
        });
    }
    images
}

fn table(payload: &Payload) -> Document {
    let listing = |versions: &[String]| if versions.is_empty() { "-".to_owned() } else { versions.join(", ") };
    let mut text = String::new();
    let mut line = |name: &str, value: &str| {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{name:<10} {}", output::printable(value));
    };
    line("Version", &payload.metadata.version.to_string());
    line("Digest", &payload.digest.to_string());
    line("Previous", &listing(&payload.metadata.previous));
    line("Next", &listing(&payload.metadata.next));
    for (name, value) in &payload.metadata.metadata {
        line("Metadata", &format!("{name}: {value}"));
    }
    for image in images(payload) {
        line("Image", image);
    }
    text.push('\n');
    let stages = payload.stages();
    let rows = stages.iter().flat_map(|stage| {
        stage.lanes.iter().flat_map(move |lane| {
            lane.manifests.iter().map(move |manifest| {
                let first = if stage.part == Part::Foundations { "first" } else { "" };
                let what = if manifest.deletes() {
                    "delete"
                } else if manifest.create_only() {
                    "create"
                } else {
                    "apply"
                };
                vec![
                    format!("{:02} {first}", stage.run_level).trim_end().to_owned(),
                    lane.component.to_owned(),
                    what.to_owned(),
                    manifest.id.to_string(),
                    format!("{}:{}", manifest.file, manifest.position.line),
                ]
            })
        })
    });
    let mut text = Document::from(text);
    text.push_table(output::table(&["LEVEL", "COMPONENT", "DO", "OBJECT", "FILE"], rows).named_by(3));
    if !payload.left_out.is_empty() {
        let _ = writeln!(text, "\n{} objects are excluded for this kind of cluster", payload.left_out.len());
    }
    text
}
