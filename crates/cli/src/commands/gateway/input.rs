//! Objects for the commands: from files, from a cluster, or from a snapshot.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use clearway_conditions as conditions;
use clearway_core::{Diagnostic, Limits, Severity};
use clearway_gateway::{Object, ObjectKey};
use clearway_sources::kubernetes::ClusterError;
use clearway_sources::snapshot;
use clearway_yaml::{ReadEvent, Source, Tape};
use serde_json::Value;

use crate::arguments::{ClusterConnection, GatewayInput};
use crate::commands::status::live_objects::{FetchResult, LiveObjects};
use crate::commands::status::{Repeats, read_files};
use crate::output;

/// The code of the finding that an object is among the input more than once.
const TWICE: &str = "IN010";
/// The code of the finding that objects of a cluster could not be read.
const NOT_SEEN: &str = "IN008";

/// The kinds that are read from a cluster, by group.
const KINDS: [(&str, &str); 16] = [
    ("gateway.networking.k8s.io", "GatewayClass"),
    ("gateway.networking.k8s.io", "Gateway"),
    ("gateway.networking.k8s.io", "ListenerSet"),
    ("gateway.networking.k8s.io", "HTTPRoute"),
    ("gateway.networking.k8s.io", "GRPCRoute"),
    ("gateway.networking.k8s.io", "TLSRoute"),
    ("gateway.networking.k8s.io", "TCPRoute"),
    ("gateway.networking.k8s.io", "UDPRoute"),
    ("gateway.networking.k8s.io", "ReferenceGrant"),
    ("gateway.networking.k8s.io", "BackendTLSPolicy"),
    ("", "Service"),
    ("discovery.k8s.io", "EndpointSlice"),
    ("", "Secret"),
    ("", "ConfigMap"),
    ("", "Namespace"),
    ("apiextensions.k8s.io", "CustomResourceDefinition"),
];

/// Objects, what is published of their status, and what could not be read.
#[derive(Debug, Default)]
pub(in crate::commands) struct GatewayObjects {
    pub(in crate::commands) objects: BTreeMap<ObjectKey, Object>,
    pub(super) published: BTreeMap<ObjectKey, Value>,
    pub(super) problems: Vec<Diagnostic>,
    /// Findings of the linter, where they are wanted.
    pub(super) findings: Vec<Diagnostic>,
    /// Whether the objects are those of a cluster, so that what is missing does not exist.
    pub(super) is_cluster: bool,
    /// Whether Secrets could not be read.
    pub(in crate::commands) without_secrets: bool,
    /// By which rules the status of objects is linted; none if it is not.
    pub(super) policy: Option<conditions::lint::Policy>,
}

impl GatewayObjects {
    /// Whether something could not be read.
    pub(in crate::commands) fn is_incomplete(&self) -> bool {
        self.problems.iter().any(|problem| problem.severity == Severity::Error)
    }

    /// Prints what could not be read.
    pub(in crate::commands) fn print_problems(&self) {
        self.problems.iter().for_each(output::print_diagnostic);
    }

    fn add(&mut self, object: &conditions::Object<'_>) {
        let read = Object::read(object);
        let of_gateway_api = object.group() == clearway_gateway::model::GATEWAY_GROUP;
        if let Some(policy) = self.policy.as_ref().filter(|_| of_gateway_api) {
            conditions::lint::lint(object, policy, &mut self.findings);
        }
        if let Some(status) = object.root.get("status").filter(|_| of_gateway_api) {
            self.published.insert(read.key.clone(), status.to_json());
        }
        if let Some(earlier) = self.objects.insert(read.key.clone(), read.clone())
            && earlier != read
        {
            let message = format!("{} is among the objects more than once, with different contents", read.key);
            let problem = Diagnostic::new(TWICE, Severity::Warning, message)
                .at(object.place(object.root, "metadata.name"))
                .with_help("the last one is used, as `kubectl apply` would; remove the others");
            self.problems.push(problem);
        }
    }

    fn add_value(&mut self, value: &Value) {
        let tape = Tape::from_json(value);
        let Some(root) = tape.root() else { return };
        match conditions::Object::new(root, Source::default(), None) {
            Ok(object) => self.add(&object),
            Err(problem) => self.problems.push(*problem),
        }
    }

    /// Reads the text of a file.
    pub(in crate::commands) fn read_text(&mut self, name: &str, text: &str) {
        clearway_yaml::read(text.as_bytes(), name, &Limits::default(), |found| match found {
            ReadEvent::Object { root, source, list } => match conditions::Object::new(root, source, list) {
                Ok(object) => self.add(&object),
                Err(problem) => self.problems.push(*problem),
            },
            ReadEvent::Problem(problem) => self.problems.push(problem),
        });
    }

    /// Reads files and directories.
    pub(super) fn read_files(&mut self, files: &[PathBuf], max_file_size: u64) -> Result<()> {
        let gathered = std::cell::RefCell::new(self);
        read_files(
            files,
            max_file_size,
            Repeats::Once,
            |_, _| true,
            |object| {
                gathered.borrow_mut().add(object);
                Ok(())
            },
            |problem| {
                gathered.borrow_mut().problems.push(problem);
                Ok(())
            },
        )
    }

    /// Reads the objects of a cluster.
    pub(in crate::commands) async fn read_cluster(&mut self, connection: &ClusterConnection) -> Result<()> {
        self.is_cluster = true;
        let live = LiveObjects::open(connection).await?;
        for (group, kind) in KINDS {
            let Some(group) = live.whole_kind(group, kind) else { continue };
            live.fetch(&[group], None, |fetched| {
                match fetched {
                    FetchResult::Object(object) => self.add_value(&object),
                    FetchResult::Missing { .. } => {}
                    // Who may not read Secrets does without; then nothing is known of certificates.
                    FetchResult::Failed(ClusterError::Forbidden { .. }) if kind == "Secret" => {
                        self.without_secrets = true;
                    }
                    FetchResult::Failed(error) => {
                        let problem = Diagnostic::new(NOT_SEEN, Severity::Error, error.to_string());
                        self.problems
                            .push(problem.with_help("what depends on these objects is judged as if there were none"));
                    }
                }
                Ok(())
            })
            .await?;
        }
        Ok(())
    }

    /// Reads the objects of a snapshot, which has no Secrets.
    pub(in crate::commands) fn read_snapshot(&mut self, path: &Path) -> Result<()> {
        self.is_cluster = true;
        self.without_secrets = true;
        let loaded = snapshot::read(path, &Limits::default())
            .with_context(|| format!("cannot read the snapshot in {}", path.display()))?;
        self.problems.extend(loaded.diagnostics);
        for (kind, part) in &loaded.snapshot.objects {
            match part.collected() {
                Ok(objects) => objects.items.iter().for_each(|object| self.add_value(object)),
                Err(why) if kind.group == clearway_gateway::model::GATEWAY_GROUP => {
                    let message = format!("{kind} is not in the snapshot: {why}");
                    self.problems.push(Diagnostic::new(NOT_SEEN, Severity::Warning, message));
                }
                Err(_) => {}
            }
        }
        Ok(())
    }
}

/// Reads the objects of a command.
pub(super) async fn read_objects(input: &GatewayInput) -> Result<GatewayObjects> {
    let mut gathered = GatewayObjects::default();
    if input.files.is_empty() {
        gathered.read_cluster(&input.connection).await?;
    } else {
        gathered.read_files(&input.files, input.max_file_size)?;
    }
    Ok(gathered)
}
