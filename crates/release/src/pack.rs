//! From plain manifests (a directory of them, or what Helm and kustomize render) to the files of a release.
//!
//! Every object gets a file of its own, named `0000_NN_component_RR-kind.group_namespace_name.yaml`. The run level `NN` and
//! the component come from the annotations [`RUN_LEVEL`] and [`COMPONENT`] of the object, from the name of the file it
//! was in if that has the form of a release, or are 50 and what the caller says. `RR` orders the kinds of one component:
//! accounts and settings before roles, those before what uses them, webhooks last. So the files depend on the objects
//! only, and not on the files they came from, or their order.

use std::fmt::Write as _;
use std::io::BufRead;

use clearway_core::{Diagnostic, Digest, ObjectId, Place, Severity};
use clearway_yaml::{Node, ReadEvent};
use serde_json::Value;

use super::manifest::{Manifest, annotation};
use super::memory::ObjectMemory;
use super::metadata::Metadata;
use super::{Files, ReleaseLimits, codes, name, read};

/// The annotation that names the run level of an object, from 0 to 99.
pub const RUN_LEVEL: &str = "clearway.dev/run-level";
/// The annotation that names the component of an object.
pub const COMPONENT: &str = "clearway.dev/component";

/// The longest name of a file before its ending; file systems take 255 bytes.
const LONGEST: usize = 200;

/// What was packed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackedRelease {
    /// The files of the release.
    pub files: Files,
    /// How many objects there are.
    pub objects: usize,
}

/// Packs the objects of some streams, each with its name. `component` is that of objects that name none.
pub fn pack<R: BufRead>(
    streams: impl IntoIterator<Item = (String, R)>,
    metadata: &Metadata,
    component: &str,
    limits: &ReleaseLimits,
) -> Result<PackedRelease, Vec<Diagnostic>> {
    let mut problems = Vec::new();
    let mut objects: Vec<Manifest> = Vec::new();
    let mut memory = ObjectMemory::new(limits.memory);
    let mut too_large = None;
    for (file, stream) in streams {
        let base = file.rsplit('/').next().unwrap_or(&file);
        let named = name::read(base).ok().filter(|named| base.starts_with("0000_") && !named.odd);
        let (level, component) = match &named {
            Some(named) => (named.run_level, named.component.as_str()),
            None => (name::DEFAULT_RUN_LEVEL, component),
        };
        clearway_yaml::read(stream, &file, &read::yaml_limits(limits), |found| match found {
            ReadEvent::Object { .. } if too_large.is_some() => {}
            ReadEvent::Object { root, .. } if count_memory(&mut memory, root, &mut too_large) => {}
            ReadEvent::Object { root, source, .. } => match read::object(root, source) {
                Ok((reference, object)) => {
                    let (id, version) = (reference.id(), reference.kind.version);
                    let place = source.place(root);
                    let Some(position) = place.position else { return };
                    match wishes(&object, level, component) {
                        Ok((run_level, component)) => {
                            let (file, index) = (file.clone(), objects.len());
                            objects.push(Manifest { file, run_level, component, index, position, id, version, object });
                        }
                        Err(why) => {
                            problems
                                .push(Diagnostic::new(codes::FILE, Severity::Error, format!("{id}: {why}")).at(place));
                        }
                    }
                }
                Err(problem) => problems.push(*problem),
            },
            ReadEvent::Problem(problem) if problem.severity == Severity::Error => problems.push(problem),
            ReadEvent::Problem(_) => {}
        });
        if let Some(message) = too_large.take() {
            problems.push(Diagnostic::new(codes::TOO_MANY, Severity::Error, message));
            break;
        }
        if objects.len() > limits.objects {
            let message = format!("there are more than {} objects, the limit of a release", limits.objects);
            problems.push(Diagnostic::new(codes::TOO_MANY, Severity::Error, message));
            break;
        }
    }
    objects.sort_by(|one, other| one.id.cmp(&other.id));
    for pair in objects.windows(2) {
        if let [one, other] = pair
            && one.id == other.id
        {
            problems.push(twice(one, other));
        }
    }
    if objects.is_empty() && problems.is_empty() {
        let nothing = Diagnostic::new(codes::EMPTY, Severity::Error, "there are no objects to pack");
        problems.push(nothing.with_help("name files or directories with manifests"));
    }
    if !problems.is_empty() {
        return Err(problems);
    }
    let mut files: Files = [(read::METADATA.to_owned(), metadata.write())].into();
    for manifest in &objects {
        let name = file_name(manifest);
        let unique = if files.contains_key(&format!("{name}.yaml")) {
            format!("{name}-{}", short_hash(&manifest.id))
        } else {
            name
        };
        files.insert(format!("{unique}.yaml"), write(&manifest.object));
    }
    Ok(PackedRelease { files, objects: objects.len() })
}

/// Counts an object; whether that is too much, and why.
fn count_memory(memory: &mut ObjectMemory, object: Node<'_>, too_large: &mut Option<String>) -> bool {
    *too_large = memory.add(object).err();
    too_large.is_some()
}

/// The run level and component of an object: what its annotations say, or what is given.
fn wishes(object: &Value, level: u16, component: &str) -> Result<(u16, String), String> {
    let level = match annotation(object, RUN_LEVEL) {
        Some(text) => text.parse().ok().filter(|level| *level <= 99).ok_or_else(|| {
            let text: String = text.chars().take(20).collect();
            format!("the annotation {RUN_LEVEL} is `{text}`, but must be a number from 0 to 99")
        })?,
        None => level,
    };
    let component = annotation(object, COMPONENT).unwrap_or(component);
    if !name::is_component(component) || component.len() > 60 {
        let shown: String = component.chars().take(60).collect();
        return Err(format!(
            "`{shown}` is not a valid component: use at most 60 letters and digits, with single dashes in between"
        ));
    }
    Ok((level, component.to_owned()))
}

fn twice(one: &Manifest, other: &Manifest) -> Diagnostic {
    let at = format!("{}:{}:{}", one.file, one.position.line, one.position.column);
    let place = Place {
        file: Some(other.file.clone()),
        position: Some(other.position),
        object: Some(other.id.to_string()),
        path: None,
    };
    let message = format!("{} occurs twice: also in {at}", other.id);
    Diagnostic::new(codes::DUPLICATE, Severity::Error, message).at(place).with_help("remove one of them")
}

/// The name of an object's file, without its ending.
fn file_name(manifest: &Manifest) -> String {
    let Manifest { run_level, component, id, .. } = manifest;
    let group = if id.group.is_empty() { String::new() } else { format!(".{}", id.group) };
    let namespace = if id.namespace.is_empty() { String::new() } else { format!("_{}", id.namespace) };
    let kind = if manifest.is_definition() { "crd".to_owned() } else { format!("{}{group}", id.kind) };
    let wanted = format!("{:02}-{kind}{namespace}_{}", rank(id), id.name).to_lowercase();
    let plain: String = wanted
        .chars()
        .map(|letter| if letter.is_ascii_alphanumeric() || "._-".contains(letter) { letter } else { '-' })
        .take(LONGEST - component.len())
        .collect();
    // What was shortened or written otherwise could be the name of another.
    let hash = if plain == wanted { String::new() } else { format!("-{}", short_hash(id)) };
    format!("0000_{run_level:02}_{component}_{plain}{hash}")
}

fn short_hash(id: &ObjectId) -> String {
    let digest = Digest::sha256(format!("{:?}", (&id.group, &id.kind, &id.namespace, &id.name)).as_bytes());
    digest.hex().chars().take(8).collect()
}

/// The order of kinds within a component.
fn rank(id: &ObjectId) -> u8 {
    let workloads = ["apps", "batch", ""];
    match (id.group.as_str(), id.kind.as_str()) {
        ("", "Namespace") => 0,
        ("apiextensions.k8s.io", "CustomResourceDefinition") => 1,
        ("", "ResourceQuota" | "LimitRange")
        | ("scheduling.k8s.io" | "storage.k8s.io", _)
        | ("networking.k8s.io", "NetworkPolicy") => 10,
        ("", "ServiceAccount") => 20,
        ("", "Secret" | "ConfigMap") => 21,
        ("", "PersistentVolume" | "PersistentVolumeClaim") => 22,
        ("rbac.authorization.k8s.io", "ClusterRole" | "Role") => 30,
        ("rbac.authorization.k8s.io", _) => 31,
        ("", "Service") => 40,
        (group, "Deployment" | "DaemonSet" | "StatefulSet" | "ReplicaSet" | "Job" | "CronJob" | "Pod")
            if workloads.contains(&group) =>
        {
            50
        }
        ("apiregistration.k8s.io" | "admissionregistration.k8s.io", _) => 80,
        // Custom objects come after the workloads that may have to default or check them.
        _ => 60,
    }
}

/// An object as YAML; as JSON, which is YAML too, should it not mean the same when it is read again.
fn write(object: &Value) -> Vec<u8> {
    // References to images are longer than lines are wide, and easier to find in one piece.
    let options = serde_saphyr::ser_options! { folded_wrap_chars: usize::MAX };
    let text = serde_saphyr::to_string_with_options(object, options).unwrap_or_default();
    let mut read = None;
    let limits = read::yaml_limits(&ReleaseLimits::default());
    let summary = clearway_yaml::read(text.as_bytes(), "", &limits, |found| {
        if let ReadEvent::Object { root, .. } = found {
            read = Some(root.to_json());
        }
    });
    let mut text = if summary.objects == 1 && read.as_ref() == Some(object) {
        text.into_bytes()
    } else {
        json(object).into_bytes()
    };
    if text.last() != Some(&b'\n') {
        text.push(b'\n');
    }
    text
}

/// JSON that readers of YAML take: characters that must not stand in YAML as they are are escaped.
fn json(object: &Value) -> String {
    let text = serde_json::to_string_pretty(object).unwrap_or_default();
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '\u{7f}'..='\u{9f}' | '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}' => {
                // Writing to a string cannot fail.
                let _ = write!(escaped, "\\u{:04x}", u32::from(letter));
            }
            letter => escaped.push(letter),
        }
    }
    escaped
}

#[cfg(test)]
mod tests;
