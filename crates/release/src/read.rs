//! From the files of a release to its objects, with the place of everything that is wrong.
//!
//! Reading goes on after an error, so that one run names all of them; a release with one error is refused as a whole.

use std::collections::BTreeMap;

use clearway_core::{Diagnostic, Limits, Place, Position, Severity};
use clearway_core::{GroupVersionKind, ObjectId, ObjectReference, diagnostic::FindingList};
use clearway_yaml::{Node, ReadEvent, Source};
use serde_json::Value;

use super::manifest::Manifest;
use super::memory::ObjectMemory;
use super::metadata::{Metadata, References};
use super::select::Selection;
use super::{Files, ReleaseLimits, SkippedObject, codes, name};

/// The file that says which release it is.
pub const METADATA: &str = "release-metadata";
/// The file that says which images it is made of.
pub(super) const REFERENCES: &str = "image-references";
/// How many findings of each severity are kept; a thousandth error says nothing new. All are counted.
pub(super) const KEPT_FINDINGS: usize = 1000;

/// What the files of a release came to.
#[derive(Debug)]
pub(super) struct Reading {
    pub(super) metadata: Option<Metadata>,
    pub(super) references: Option<References>,
    /// In the order of their files.
    pub(super) manifests: Vec<Manifest>,
    pub(super) left_out: Vec<SkippedObject>,
    pub(super) findings: FindingList,
}

impl Reading {
    /// Whether the release can be used.
    pub(super) fn is_good(&self) -> bool {
        !self.findings.has_errors()
    }

    fn add(&mut self, finding: Diagnostic) {
        self.findings.push(finding);
    }
}

/// Reads the files.
pub(super) fn read(files: &Files, selection: &Selection, limits: &ReleaseLimits) -> Reading {
    let mut reading = Reading {
        metadata: None,
        references: None,
        manifests: Vec::new(),
        left_out: Vec::new(),
        findings: FindingList::new(KEPT_FINDINGS),
    };
    metadata(files, &mut reading);
    let mut taken = Taken { objects: 0, memory: ObjectMemory::new(limits.memory), is_full: false };
    for (file, content) in files {
        if taken.is_full {
            break;
        }
        if [METADATA, REFERENCES].contains(&file.as_str()) {
            continue;
        }
        if file.contains('/') || !name::is_manifest(file) {
            let template = name::is_template(file);
            reading.add(if template { template_file(file) } else { passed_over(file) });
            continue;
        }
        match name::read(file) {
            Ok(named) => {
                if named.odd {
                    reading.add(odd_name(file));
                }
                manifests(file, content, &named, selection, limits, &mut taken, &mut reading);
            }
            Err(error) => reading.add(in_file(codes::FILE, Severity::Error, &error.to_string(), file)),
        }
    }
    duplicates(&mut reading);
    if reading.manifests.is_empty() && reading.is_good() {
        let nothing = Diagnostic::new(codes::EMPTY, Severity::Warning, "the release has no objects");
        reading.add(nothing.with_help("name manifests with .yaml, .yml or .json"));
    }
    reading
}

fn metadata(files: &Files, reading: &mut Reading) {
    match files.get(METADATA).map(|bytes| Metadata::read(bytes)) {
        Some(Ok(metadata)) => reading.metadata = Some(metadata),
        Some(Err(error)) => {
            let help = "write it as {\"kind\": \"cincinnati-metadata-v0\", \"version\": \"1.2.3\"}";
            reading.add(in_file(codes::METADATA, Severity::Error, &error.to_string(), METADATA).with_help(help));
        }
        None => {
            let missing = in_file(codes::METADATA, Severity::Error, "it does not exist", METADATA);
            reading.add(missing.with_help("`clearway release pack` makes a release from plain manifests"));
        }
    }
    match files.get(REFERENCES).map(|bytes| References::read(bytes)) {
        Some(Ok(references)) => {
            let version = reading.metadata.as_ref().map(|metadata| metadata.version.to_string());
            if let Some(version) = version.filter(|version| *version != references.name) {
                let message = format!("it is named `{}`, but the release is {version}", references.name);
                reading.add(in_file(codes::REFERENCES, Severity::Error, &message, REFERENCES));
            }
            reading.references = Some(references);
        }
        Some(Err(error)) => reading.add(in_file(codes::REFERENCES, Severity::Error, &error.to_string(), REFERENCES)),
        None => {}
    }
}

/// What the objects of a release took so far.
struct Taken {
    objects: usize,
    memory: ObjectMemory,
    /// Whether a limit of the release is exceeded: the release is refused, and the rest of it is not read.
    is_full: bool,
}

/// The objects of one file.
fn manifests(
    file: &str,
    content: &[u8],
    named: &name::Named,
    selection: &Selection,
    limits: &ReleaseLimits,
    taken: &mut Taken,
    reading: &mut Reading,
) {
    let template = content.windows(2).any(|pair| pair == b"{{");
    let mut index = 0;
    clearway_yaml::read(content, file, &yaml_limits(limits), |found| match found {
        ReadEvent::Object { root, source, .. } => {
            if taken.is_full {
                return;
            }
            taken.objects = taken.objects.saturating_add(1);
            let too_large = if taken.objects > limits.objects {
                Some(format!("there are more than {} objects in the release", limits.objects))
            } else {
                // Before the object is made.
                taken.memory.add(root).err()
            };
            if let Some(message) = too_large {
                taken.is_full = true;
                reading.add(at(codes::TOO_MANY, message, source, root));
                return;
            }
            repeated_keys(root, source, reading);
            match object(root, source) {
                Ok((reference, object)) => {
                    let position = position(root);
                    let release = reading.metadata.as_ref().map(|metadata| &metadata.version);
                    let file = file.to_owned();
                    if let Some(why) = selection.skip_reason(&object, release) {
                        reading.left_out.push(SkippedObject { file, reference, why });
                    } else {
                        let (run_level, component) = (named.run_level, named.component.clone());
                        let (id, version) = (reference.id(), reference.kind.version);
                        let manifest = Manifest { file, run_level, component, index, position, id, version, object };
                        reading.manifests.push(manifest);
                    }
                }
                Err(finding) => reading.add(*finding),
            }
            index += 1;
        }
        ReadEvent::Problem(mut problem) => {
            if template && problem.severity == Severity::Error {
                problem.code = codes::TEMPLATE.into();
                problem.message = format!("templates are not supported ({})", problem.message);
                problem.help = Some("render it first, and pack the result".to_owned());
            }
            reading.add(problem);
        }
    });
}

/// The limits of the reader of documents.
pub(super) fn yaml_limits(limits: &ReleaseLimits) -> Limits {
    Limits {
        file_bytes: limits.bytes,
        document_bytes: usize::try_from(limits.bytes).unwrap_or(usize::MAX),
        depth: 128,
        nodes: limits.values,
        list_items: usize::MAX,
        ..Limits::default()
    }
}

/// A document as an object with a name, or what it lacks.
pub(super) fn object(root: Node<'_>, source: Source<'_>) -> Result<(ObjectReference, Value), Box<Diagnostic>> {
    let no = |message: String, node: Node<'_>| Box::new(at(codes::NO_OBJECT, message, source, node));
    if !root.is_mapping() {
        return Err(no(format!("{} is not a Kubernetes object", root.describe()), root));
    }
    let (api_version, node) = text(root, "apiVersion", source)?;
    let word = |text: &str| {
        !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'.')
    };
    if !(api_version.split('/').count() <= 2 && api_version.split('/').all(word)) {
        return Err(no(format!("apiVersion `{}` is not valid", shown(&api_version)), node));
    }
    let (kind, node) = text(root, "kind", source)?;
    if !kind.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        return Err(no(format!("kind `{}` is not valid", shown(&kind)), node));
    }
    // A reader that does not know the kind takes its items for objects, and the object for an empty list.
    if let Some((items, _)) = root.field("items").filter(|(_, items)| items.is_sequence()) {
        return Err(no(format!("a {kind} with a list `items` at its top looks like a list of objects"), items));
    }
    let metadata = match root.get("metadata") {
        Some(metadata) if metadata.is_mapping() => metadata,
        Some(other) => return Err(no(format!("metadata is {}, but must be an object", other.describe()), other)),
        None => return Err(no("the object has no metadata".to_owned(), root)),
    };
    let (name, node) = text(metadata, "metadata.name", source)?;
    in_path(&name).map_err(|why| no(format!("metadata.name `{}` {why}", shown(&name)), node))?;
    let namespace = match metadata.get("namespace") {
        Some(value) if !value.is_null() => {
            let (namespace, node) = text(metadata, "metadata.namespace", source)?;
            in_path(&namespace).map_err(|why| no(format!("metadata.namespace `{}` {why}", shown(&namespace)), node))?;
            namespace
        }
        _ => String::new(),
    };
    for field in ["annotations", "labels"] {
        let Some(all) = metadata.get(field).filter(|all| !all.is_null()) else { continue };
        if !all.is_mapping() {
            return Err(no(format!("metadata.{field} is {}, but must be an object", all.describe()), all));
        }
        if let Some((key, value)) = all.fields().find(|(_, value)| value.as_text().is_none()) {
            let (key, what) = (shown(key.raw()), value.describe());
            return Err(no(format!("metadata.{field}: `{key}` is {what}, but must be a string"), value));
        }
    }
    let reference = ObjectReference { kind: GroupVersionKind::new(&api_version, &kind), namespace, name };
    let object = root.to_json();
    let manifest = Manifest {
        file: String::new(),
        run_level: 0,
        component: String::new(),
        index: 0,
        position: position(root),
        id: reference.id(),
        version: reference.kind.version.clone(),
        object,
    };
    if manifest.is_definition() && !manifest.deletes() && manifest.definition().is_none() {
        let message = "the definition lacks spec.group, spec.names.kind or spec.names.plural".to_owned();
        return Err(no(message, root.get("spec").unwrap_or(root)));
    }
    let mut template = None;
    manifest.each_image(&mut |path, image| {
        if template.is_none() && image.contains("{{") {
            template = Some(format!("{path} is a template, `{}`", shown(image)));
        }
    });
    if let Some(message) = template {
        return Err(Box::new(at(codes::TEMPLATE, message, source, root).with_help("render it first")));
    }
    Ok((reference, manifest.object))
}

/// The text of a field that an object must have, by its path.
fn text<'t>(owner: Node<'t>, path: &str, source: Source<'_>) -> Result<(String, Node<'t>), Box<Diagnostic>> {
    let no = |message: String, node: Node<'_>| Err(Box::new(at(codes::NO_OBJECT, message, source, node)));
    let Some(value) = owner.get(path.rsplit('.').next().unwrap_or(path)) else {
        return no(format!("the object has no {path}"), owner);
    };
    match value.as_text() {
        Some("") => no(format!("{path} is empty"), value),
        Some(text) if text.contains("{{") => {
            let template = at(codes::TEMPLATE, format!("{path} is a template, `{}`", shown(text)), source, value);
            Err(Box::new(template.with_help("render it first, and pack the result")))
        }
        Some(text) => Ok((text.to_owned(), value)),
        None => no(format!("{path} is {}, but must be a string", value.describe()), value),
    }
}

/// A name becomes part of a path at the API server: it must not lead elsewhere.
fn in_path(name: &str) -> Result<(), &'static str> {
    if name == "." || name == ".." || name.contains(['/', '%']) {
        Err("leads out of its directory as a path")
    } else if name.len() > 253 || name.chars().any(|letter| letter.is_control() || letter.is_whitespace()) {
        Err("is not one that an API server accepts")
    } else {
        Ok(())
    }
}

/// Keys that stand twice: the last one is taken, and the person who wrote the first one does not know.
fn repeated_keys(root: Node<'_>, source: Source<'_>, reading: &mut Reading) {
    let mut open = vec![root];
    while let Some(node) = open.pop() {
        let mut keys: Vec<Node<'_>> = node.fields().map(|(key, _)| key).collect();
        // In the order of reading behind equal ones, so the second of two is the one that is named.
        keys.sort_by_key(|key| key.raw());
        for pair in keys.windows(2) {
            if let [one, other] = pair
                && one.raw() == other.raw()
            {
                reading.findings.report(Severity::Warning, || {
                    let message = format!("the key `{}` is set twice; the last value is used", shown(other.raw()));
                    at(codes::REPEATED_KEY, message, source, *other)
                });
            }
        }
        open.extend(node.fields().map(|(_, value)| value));
        open.extend(node.items());
    }
}

fn duplicates(reading: &mut Reading) {
    let mut seen: BTreeMap<&ObjectId, &Manifest> = BTreeMap::new();
    let mut found = Vec::new();
    for manifest in &reading.manifests {
        if let Some(first) = seen.get(&manifest.id) {
            let Position { line, column } = first.position;
            let message = format!("{} is in the release twice: also in {}:{line}:{column}", manifest.id, first.file);
            let place = Place {
                file: Some(manifest.file.clone()),
                position: Some(manifest.position),
                object: Some(manifest.id.to_string()),
                path: None,
            };
            let finding = Diagnostic::new(codes::DUPLICATE, Severity::Error, message).at(place);
            found.push(finding.with_help("remove one of them"));
        } else {
            seen.insert(&manifest.id, manifest);
        }
    }
    for finding in found {
        reading.add(finding);
    }
}

fn position(node: Node<'_>) -> Position {
    node.span().map_or(Position { line: 1, column: 1 }, |span| Position { line: span.line, column: span.column })
}

fn at(code: &'static str, message: String, source: Source<'_>, node: Node<'_>) -> Diagnostic {
    Diagnostic::new(code, Severity::Error, message).at(source.place(node)).with_excerpt(source.excerpt(node))
}

fn in_file(code: &'static str, severity: Severity, message: &str, file: &str) -> Diagnostic {
    let place = Place { file: Some(file.to_owned()), ..Place::default() };
    Diagnostic::new(code, severity, format!("{file}: {message}")).at(place)
}

fn template_file(file: &str) -> Diagnostic {
    in_file(codes::TEMPLATE, Severity::Error, "templates are not supported", file)
        .with_help("render it first, and pack the result")
}

fn passed_over(file: &str) -> Diagnostic {
    let message = "skipped: it is not a .yaml, .yml or .json file directly in release-manifests";
    in_file(codes::PASSED_OVER, Severity::Info, message, file)
}

fn odd_name(file: &str) -> Diagnostic {
    let message = "the name begins like one with a run level, but has none; it is at level 50";
    in_file(codes::ODD_NAME, Severity::Warning, message, file).with_help("name it 0000_NN_component_name.yaml")
}

fn shown(text: &str) -> String {
    text.chars().filter(|letter| !letter.is_control()).take(100).collect()
}

#[cfg(test)]
mod tests;
