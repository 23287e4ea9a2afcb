//! The object of a command, as it is stored.

use std::fmt::Write as _;
use std::path::PathBuf;

use anyhow::{Result, anyhow, bail};
use clearway_core::{GroupVersionKind, ObjectReference};
use clearway_sources::store::{Store, StoreError};
use clearway_update::api::{self, ReadProblem, SINGLETON, Status, VersionObject};
use serde::ser::SerializeStruct as _;
use serde::{Serialize, Serializer};
use serde_json::Value;

use crate::arguments::UpgradeAccess;
use crate::output::{Document, printable};

/// Which object is meant.
#[derive(Debug, Clone)]
pub(crate) struct Subject {
    kind: api::Kind,
    name: String,
    /// The options that say where it is, as they were given.
    whereabouts: String,
}

/// An object that was read.
#[derive(Debug, Clone)]
pub(crate) struct FetchedObject {
    /// As it is stored.
    pub(crate) raw: Value,
    pub(crate) object: VersionObject,
    /// Its status; without one everything in it is empty.
    pub(crate) status: Status,
}

impl Subject {
    /// The one that the options name.
    pub(super) fn of(access: &UpgradeAccess) -> Self {
        let mut whereabouts = String::new();
        let path = |path: &PathBuf| path.display().to_string();
        let options = [
            ("component", access.component.clone()),
            ("state", access.state.as_ref().map(path)),
            ("kubeconfig", access.connection.kubeconfig.as_ref().map(path)),
            ("context", access.connection.context.clone()),
        ];
        for (option, value) in options {
            if let Some(value) = value {
                let _ = write!(whereabouts, " --{option} {}", quoted(&value));
            }
        }
        let (kind, name) = match &access.component {
            Some(name) => (api::Kind::ComponentVersion, name.clone()),
            None => (api::Kind::ClusterVersion, SINGLETON.to_owned()),
        };
        Subject { kind, name, whereabouts }
    }

    /// An object of the cluster that this process is connected to.
    pub(crate) fn named(kind: api::Kind, name: &str) -> Self {
        Subject { kind, name: name.to_owned(), whereabouts: String::new() }
    }

    pub(crate) fn kind(&self) -> api::Kind {
        self.kind
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// What it is called in sentences: `Cluster`, or `Component mesh`.
    pub(crate) fn noun(&self) -> String {
        match self.kind {
            api::Kind::ClusterVersion => "Cluster".to_owned(),
            api::Kind::ComponentVersion => format!("Component {}", printable(&self.name)),
        }
    }

    /// What it is called with `-o name`, as `kubectl` does.
    pub(super) fn resource(&self) -> String {
        format!("{}/{}", self.kind.plural().trim_end_matches('s'), self.name)
    }

    /// A sentence about it.
    pub(super) fn document(&self, sentence: String) -> Document {
        Document::from(sentence).named([self.resource()])
    }

    /// The command that works on the same object.
    pub(super) fn command(&self) -> String {
        format!("clearway upgrade{}", self.whereabouts)
    }

    /// How a store is asked for it.
    pub(crate) fn key(&self) -> ObjectReference {
        ObjectReference::cluster_scoped(GroupVersionKind::new(self.kind.api_version(), self.kind.as_str()), &self.name)
    }

    /// The object as it is stored. Fields that are invalid are printed on standard error.
    pub(super) async fn fetch(&self, store: &impl Store) -> Result<FetchedObject> {
        let (found, warnings) = self.read(store).await?;
        for warning in warnings {
            crate::output::print_problem!("warning: {warning}");
        }
        Ok(found)
    }

    /// The object as it is stored, and warnings about its fields that are invalid.
    pub(crate) async fn read(&self, store: &impl Store) -> Result<(FetchedObject, Vec<String>)> {
        let raw = match store.get(&self.key()).await {
            Ok(Some(raw)) => raw,
            Ok(None) => return Err(self.missing()),
            Err(StoreError::NoSuchKind { .. }) => bail!(
                "{kind} ({api}) not found: use a cluster that has this CRD, or install Clearway (`clearway install`)",
                kind = self.kind,
                api = self.kind.api_version()
            ),
            Err(error) => return Err(error.into()),
        };
        let (found, remarks) = FetchedObject::read(raw)?;
        let warning = |remark: ReadProblem| format!("{}; ignored", printable(&remark.to_string()));
        Ok((found, remarks.into_iter().map(warning).collect()))
    }

    /// Why nothing can be said.
    pub(super) fn missing(&self) -> anyhow::Error {
        let name = printable(&self.name);
        match self.kind {
            api::Kind::ClusterVersion => anyhow!(
                "no cluster version information available: ClusterVersion `{name}` not found; \
                 `clearway install --adopt VERSION` creates it"
            ),
            api::Kind::ComponentVersion => anyhow!("ComponentVersion `{name}` not found"),
        }
    }
}

impl FetchedObject {
    /// Reads an object, and says what of it could not be read.
    pub(crate) fn read(raw: Value) -> Result<(Self, Vec<ReadProblem>)> {
        let (object, remarks) = VersionObject::read(&raw)?;
        let status = object.status.clone().unwrap_or_default();
        Ok((FetchedObject { raw, object, status }, remarks))
    }
}

impl Serialize for Subject {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("Subject", 2)?;
        fields.serialize_field("kind", self.kind.as_str())?;
        fields.serialize_field("name", &self.name)?;
        fields.end()
    }
}

/// A word as a shell takes it.
fn quoted(word: &str) -> String {
    let word = printable(word);
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./:@".contains(letter);
    if !word.is_empty() && word.chars().all(plain) { word } else { format!("'{}'", word.replace('\'', "'\\''")) }
}
