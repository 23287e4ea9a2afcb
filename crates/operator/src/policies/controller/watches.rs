//! One watch for each kind of objects. Kinds of constraints and of the inventory come and go.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use clearway_core::GroupVersionKind;
use clearway_sources::kubernetes::{Cluster, ClusterError, KindEvent, ObjectPart, Resource};
use tokio::sync::mpsc;
use tokio::task::AbortHandle;

/// How often a kind that is not served is looked for again.
const AGAIN: Duration = Duration::from_secs(10);
/// The same for a kind whose CRD exists, so that it is about to be served.
const SOON: Duration = Duration::from_millis(200);

/// What a watch is about.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Subject {
    Templates,
    /// CRDs, of which those of constraints count.
    Definitions,
    Configs,
    SyncSets,
    Expansions,
    /// The constraints of a kind.
    Constraints(String),
    /// Objects of the inventory.
    Synced(GroupVersionKind),
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Subject::Templates => f.write_str("ConstraintTemplates"),
            Subject::Definitions => f.write_str("CRDs"),
            Subject::Configs => f.write_str("the Config"),
            Subject::SyncSets => f.write_str("SyncSets"),
            Subject::Expansions => f.write_str("ExpansionTemplates"),
            Subject::Constraints(kind) => write!(f, "constraints of kind {kind}"),
            Subject::Synced(kind) => write!(f, "objects of {kind} for the inventory"),
        }
    }
}

/// Where the objects are.
#[derive(Debug, Clone)]
enum Target {
    /// Of a kind that the cluster may serve, in this version or the one it prefers.
    Served { group: String, kind: String, version: Option<String> },
    /// Of a kind whose CRD exists.
    Defined(Resource),
}

/// A report about one subject.
#[derive(Debug)]
pub(in crate::policies) struct Report {
    pub(super) subject: Subject,
    pub(super) content: ReportContent,
}

/// What a report says.
#[derive(Debug)]
pub(super) enum ReportContent {
    /// Objects of the kind.
    Event(KindEvent),
    /// The cluster does not serve the kind, so that there are no objects.
    NotServed,
}

/// A task that ends with this value.
#[derive(Debug)]
struct Task(AbortHandle);

impl Drop for Task {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// The watches at work; all end with this value.
pub(super) struct Watches {
    cluster: Cluster,
    report: mpsc::Sender<Report>,
    running: BTreeMap<Subject, Task>,
}

impl Watches {
    /// No watch yet, and the place where reports arrive.
    pub(super) fn new(cluster: Cluster) -> (Self, mpsc::Receiver<Report>) {
        let (report, seen) = mpsc::channel(1024);
        (Watches { cluster, report, running: BTreeMap::new() }, seen)
    }

    /// Watches a kind that may be served, in some version or the preferred one.
    pub(super) fn watch_served(
        &mut self,
        subject: Subject,
        (group, kind): (&str, &str),
        version: Option<&str>,
        part: ObjectPart,
    ) {
        let version = version.map(str::to_owned);
        self.start(subject, Target::Served { group: group.to_owned(), kind: kind.to_owned(), version }, part);
    }

    /// Watches a kind whose CRD exists.
    pub(super) fn watch_defined(&mut self, subject: Subject, resource: Resource) {
        self.start(subject, Target::Defined(resource), ObjectPart::Whole);
    }

    fn start(&mut self, subject: Subject, target: Target, part: ObjectPart) {
        let (cluster, report) = (self.cluster.clone(), self.report.clone());
        let task = tokio::spawn({
            let subject = subject.clone();
            async move { watch(&cluster, &subject, &target, part, &report).await }
        });
        self.running.insert(subject, Task(task.abort_handle()));
    }

    /// Ends a watch. Reports that are on their way have to be ignored.
    pub(super) fn stop(&mut self, subject: &Subject) {
        self.running.remove(subject);
    }

    /// Whether something is watched.
    pub(super) fn has(&self, subject: &Subject) -> bool {
        self.running.contains_key(subject)
    }

    /// Everything that is watched.
    pub(super) fn subjects(&self) -> impl Iterator<Item = &Subject> {
        self.running.keys()
    }
}

async fn watch(cluster: &Cluster, subject: &Subject, target: &Target, part: ObjectPart, report: &mpsc::Sender<Report>) {
    let send = async |content| report.send(Report { subject: subject.clone(), content }).await.is_ok();
    let mut was_served = true;
    loop {
        match resource(cluster, target).await {
            Ok(Some(resource)) => {
                let mut events = cluster.watch_kind(&resource, part);
                while let Some(event) = events.recv().await {
                    if matches!(&event, KindEvent::Trouble { error: ClusterError::NoSuchKind { .. } }) {
                        break;
                    }
                    was_served = true;
                    if !send(ReportContent::Event(event)).await {
                        return;
                    }
                }
                if was_served && !send(ReportContent::NotServed).await {
                    return;
                }
                was_served = false;
            }
            Ok(None) => {
                if was_served && !send(ReportContent::NotServed).await {
                    return;
                }
                was_served = false;
            }
            Err(error) => tracing::warn!(%error, "cannot find out whether {subject} can be watched"),
        }
        tokio::time::sleep(if matches!(target, Target::Defined(_)) { SOON } else { AGAIN }).await;
    }
}

async fn resource(cluster: &Cluster, target: &Target) -> Result<Option<Resource>, ClusterError> {
    let (group, kind, version) = match target {
        Target::Defined(resource) => return Ok(Some(resource.clone())),
        Target::Served { group, kind, version } => (group, kind, version),
    };
    let mut found = cluster.catalog().await?.of(group, kind).cloned();
    if let (Some(resource), Some(version)) = (&mut found, version) {
        resource.kind.version.clone_from(version);
    }
    Ok(found)
}
