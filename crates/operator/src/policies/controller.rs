//! Keeps the evaluators loaded with what the cluster has: templates, constraints, expansion templates and the inventory.
//!
//! Events change what is known and loaded, one after the other; [`Controller::settle`] writes the statuses that are different
//! and publishes what is loaded to the webhook and the audit. A template becomes a CRD as soon as it is loaded, and
//! the constraints of its kind are watched from then on, so that constraints may be created before or right after it.

mod constraints;
mod inventory;
mod statuses;
mod templates;
mod watches;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use clearway_policy::{Constraint, ExcludedNamespaces, Expander, Process};
use clearway_sources::kubernetes::{Cluster, KindEvent, ObjectPart};
use serde_json::Value;
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, MissedTickBehavior};

use self::constraints::ConstraintState;
use self::inventory::SyncedObjects;
use self::statuses::StatusKey;
use self::templates::TemplateState;
use self::watches::{Report, ReportContent, Subject, Watches};
use super::evaluation::{Change, Evaluators, LoadError};
use super::excluded_namespaces::Exemptions;
use super::kinds::{self, NOT_HANDLED};
use super::metrics::{LoadState, Metrics};
use super::status::Reporter;

/// After how much time what could not be written is tried again.
const RETRY: Duration = Duration::from_secs(2);
/// How often pods that are gone, and kinds that are not handled, are looked for.
const LOOK_AROUND: Duration = Duration::from_mins(1);

/// What the controller is told.
#[derive(Debug, Clone)]
pub(super) struct ControllerSettings {
    /// The namespace of this pod.
    pub(super) namespace: String,
    /// The namespace of the Config.
    pub(super) gatekeeper_namespace: String,
    /// Who reports statuses.
    pub(super) reporter: Reporter,
    /// The most bytes of the objects of the inventory.
    pub(super) inventory_bytes: usize,
    /// What exempts namespaces besides the Config.
    pub(super) exemptions: Exemptions,
}

/// What is loaded, for the audit.
#[derive(Debug, Clone, Default)]
pub(super) struct LoadedPolicies {
    /// The constraints that are enforced somewhere.
    pub(super) constraints: Vec<Arc<Constraint>>,
    /// The expansion templates.
    pub(super) expander: Arc<Expander>,
    /// The namespaces that audits leave out.
    pub(super) excluded: ExcludedNamespaces,
}

/// What others see of the controller.
#[derive(Debug)]
pub(super) struct Published {
    /// What is loaded.
    pub(super) policies: watch::Sender<Arc<LoadedPolicies>>,
    /// What the webhook leaves out.
    pub(super) exemptions: watch::Sender<Exemptions>,
    /// What is not loaded yet; nothing once all that was there at the start is loaded (P7).
    pub(super) not_loaded: watch::Sender<Option<String>>,
}

/// An expansion template.
struct ExpansionState {
    object: Value,
    error: Option<LoadError>,
}

/// Loads what the cluster has.
pub(super) struct Controller {
    cluster: Cluster,
    evaluators: Evaluators,
    settings: ControllerSettings,
    metrics: Arc<Metrics>,
    published: Published,
    watches: Watches,
    /// What the watches report.
    seen: mpsc::Receiver<Report>,
    templates: BTreeMap<String, TemplateState>,
    constraints: BTreeMap<(String, String), ConstraintState>,
    expansions: BTreeMap<String, ExpansionState>,
    config: Option<Value>,
    sync_sets: BTreeMap<String, Value>,
    inventory: SyncedObjects,
    /// Templates that were set aside, with the reason.
    set_aside: BTreeMap<String, String>,
    /// What was there at the start and is not loaded yet; none once everything was.
    waiting: Option<BTreeSet<Subject>>,
    /// Objects whose status may have to be written.
    due: BTreeSet<StatusKey>,
    /// Pods that are gone, and have entries in statuses.
    gone: BTreeSet<String>,
    /// Kinds that are not handled and were reported.
    reported: BTreeSet<&'static str>,
    /// Whether what is loaded has to be published.
    is_changed: bool,
    /// Objects whose status could not be written, until it is tried again.
    later: BTreeSet<StatusKey>,
    /// When what failed is tried again.
    retry_at: Option<Instant>,
}

impl Controller {
    /// A controller that knows of nothing yet.
    pub(super) fn new(
        cluster: Cluster,
        evaluators: Evaluators,
        settings: ControllerSettings,
        metrics: Arc<Metrics>,
        published: Published,
    ) -> Self {
        let (mut watches, seen) = Watches::new(cluster.clone());
        for (subject, kind, part) in [
            (Subject::Templates, (kinds::TEMPLATES, "ConstraintTemplate"), ObjectPart::Whole),
            (Subject::Definitions, (kinds::CRDS, "CustomResourceDefinition"), ObjectPart::Metadata),
            (Subject::Configs, (kinds::CONFIG, "Config"), ObjectPart::Whole),
            (Subject::SyncSets, (kinds::SYNC_SETS, "SyncSet"), ObjectPart::Whole),
            (Subject::Expansions, (kinds::EXPANSIONS, "ExpansionTemplate"), ObjectPart::Whole),
        ] {
            watches.watch_served(subject, kind, None, part);
        }
        let waiting = Some(watches.subjects().cloned().collect());
        Controller {
            cluster,
            evaluators,
            settings,
            metrics,
            published,
            watches,
            seen,
            templates: BTreeMap::new(),
            constraints: BTreeMap::new(),
            expansions: BTreeMap::new(),
            config: None,
            sync_sets: BTreeMap::new(),
            inventory: SyncedObjects::default(),
            set_aside: BTreeMap::new(),
            waiting,
            due: BTreeSet::new(),
            gone: BTreeSet::new(),
            reported: BTreeSet::new(),
            is_changed: true,
            later: BTreeSet::new(),
            retry_at: None,
        }
    }

    /// Works until the future is dropped.
    pub(super) async fn run(mut self) {
        let mut set_aside = self.evaluators.set_aside();
        let mut look_around = tokio::time::interval(LOOK_AROUND);
        let mut is_loaded = false;
        look_around.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let again = self.retry_at;
            tokio::select! {
                report = self.seen.recv() => {
                    // The watches live as long as this controller, so there is always a report to come.
                    let Some(report) = report else { return };
                    self.observe(report).await;
                    // What arrived together is settled together.
                    while let Ok(more) = self.seen.try_recv() {
                        self.observe(more).await;
                    }
                }
                changed = set_aside.changed() => {
                    if changed.is_err() {
                        return;
                    }
                    let templates = set_aside.borrow_and_update().clone();
                    self.set_aside(templates);
                }
                // Events must not put off what is due.
                () = sleep_until(again) => self.try_again().await,
                _ = look_around.tick() => {
                    self.find_gone_pods().await;
                    self.report_kinds_not_handled().await;
                }
            }
            self.settle().await;
            if self.waiting.is_none() && !std::mem::replace(&mut is_loaded, true) {
                // Now entries of all pods are known.
                look_around.reset_immediately();
            }
        }
    }

    /// Acts on a report.
    async fn observe(&mut self, Report { subject, content }: Report) {
        // A watch that was ended may have left something behind.
        if !self.watches.has(&subject) {
            return;
        }
        match content {
            ReportContent::Event(KindEvent::Trouble { error }) => {
                tracing::warn!(%error, "cannot watch {subject}");
                // One kind that cannot be watched does not keep everything else from starting.
                if let Subject::Synced(kind) = &subject {
                    self.inventory.set_failed(kind);
                    self.end_wait(&subject);
                }
            }
            ReportContent::NotServed => {
                self.list(&subject, Vec::new()).await;
                self.end_wait(&subject);
            }
            ReportContent::Event(KindEvent::Listed(objects)) => {
                self.list(&subject, objects).await;
                self.end_wait(&subject);
            }
            ReportContent::Event(KindEvent::Changed(object)) => self.put(&subject, *object).await,
            ReportContent::Event(KindEvent::Deleted { namespace, name }) => {
                self.remove(&subject, &namespace, &name).await;
            }
        }
    }

    /// All objects of a subject: those that are not among them are gone.
    async fn list(&mut self, subject: &Subject, objects: Vec<Value>) {
        let listed: BTreeSet<(String, String)> = objects.iter().map(place).collect();
        let known: Vec<(String, String)> = match subject {
            Subject::Templates => self.templates.keys().map(|name| (String::new(), name.clone())).collect(),
            Subject::Constraints(kind) => {
                let own = self.constraints.keys().filter(|(one, _)| one == kind);
                own.map(|(_, name)| (String::new(), name.clone())).collect()
            }
            Subject::Expansions => self.expansions.keys().map(|name| (String::new(), name.clone())).collect(),
            Subject::SyncSets => self.sync_sets.keys().map(|name| (String::new(), name.clone())).collect(),
            Subject::Configs => self.config.iter().map(place).collect(),
            Subject::Synced(kind) => self.inventory.places(kind),
            Subject::Definitions => {
                let kinds = self.watches.subjects().filter_map(|subject| match subject {
                    Subject::Constraints(kind) => Some(kind),
                    _ => None,
                });
                kinds.map(|kind| (String::new(), definition_name(kind))).collect()
            }
        };
        for (namespace, name) in known.iter().filter(|place| !listed.contains(*place)) {
            self.remove(subject, namespace, name).await;
        }
        for object in objects {
            self.put(subject, object).await;
        }
    }

    async fn put(&mut self, subject: &Subject, object: Value) {
        match subject {
            Subject::Templates => self.put_template(object).await,
            Subject::Definitions => self.put_definition(&object).await,
            Subject::Constraints(kind) => self.put_constraint(kind, object).await,
            Subject::Expansions => self.put_expansion(object).await,
            Subject::Configs => {
                let is_ours =
                    place(&object) == (self.settings.gatekeeper_namespace.clone(), kinds::CONFIG_NAME.to_owned());
                if is_ours {
                    self.due.insert(StatusKey::Config);
                    let before = self.config.replace(object);
                    // Statuses that other pods write change nothing.
                    if !is_unchanged(before.as_ref(), self.config.as_ref()) {
                        self.follow_configuration().await;
                    }
                }
            }
            Subject::SyncSets => {
                let name = place(&object).1;
                self.due.insert(StatusKey::SyncSet(name.clone()));
                let before = self.sync_sets.insert(name.clone(), object);
                if !is_unchanged(before.as_ref(), self.sync_sets.get(&name)) {
                    self.follow_configuration().await;
                }
            }
            Subject::Synced(kind) => self.put_synced(kind, object).await,
        }
    }

    async fn remove(&mut self, subject: &Subject, namespace: &str, name: &str) {
        match subject {
            Subject::Templates => self.remove_template(name).await,
            Subject::Definitions => self.remove_definition(name).await,
            Subject::Constraints(kind) => self.remove_constraint(kind, name).await,
            Subject::Expansions => self.remove_expansion(name).await,
            Subject::Configs => {
                let is_ours = namespace == self.settings.gatekeeper_namespace && name == kinds::CONFIG_NAME;
                if is_ours && self.config.take().is_some() {
                    self.follow_configuration().await;
                }
            }
            Subject::SyncSets => {
                if self.sync_sets.remove(name).is_some() {
                    self.follow_configuration().await;
                }
            }
            Subject::Synced(kind) => self.remove_synced(kind, namespace, name).await,
        }
    }

    async fn put_expansion(&mut self, object: Value) {
        let name = place(&object).1;
        self.due.insert(StatusKey::Expansion(name.clone()));
        if let Some(known) = self.expansions.get_mut(&name).filter(|known| known.object["spec"] == object["spec"]) {
            known.object = object;
            return;
        }
        let loaded = self.evaluators.apply(Change::PutExpansion(Arc::new(object.clone()))).await;
        if let Some(error) = &loaded.error {
            tracing::warn!("ExpansionTemplate {name} is not used: {}", error.message);
        }
        self.expansions.insert(name, ExpansionState { object, error: loaded.error });
        self.is_changed = true;
    }

    async fn remove_expansion(&mut self, name: &str) {
        if self.expansions.remove(name).is_some() {
            self.evaluators.apply(Change::RemoveExpansion { name: name.to_owned() }).await;
            self.is_changed = true;
        }
    }

    /// Waits for something that was there at the start; nothing later on.
    fn wait_for(&mut self, subject: &Subject) {
        if let Some(waiting) = &mut self.waiting {
            waiting.insert(subject.clone());
        }
    }

    /// Notes that something is loaded, or cannot be waited for.
    fn end_wait(&mut self, subject: &Subject) {
        let Some(waiting) = &mut self.waiting else { return };
        waiting.remove(subject);
        if waiting.is_empty() {
            self.waiting = None;
            tracing::info!("all templates, constraints and synced objects are loaded");
        }
    }

    /// Does again what failed.
    async fn try_again(&mut self) {
        self.retry_at = None;
        self.due.append(&mut self.later);
        self.apply_due_definitions().await;
    }

    /// Tells others what is loaded.
    fn publish(&mut self) {
        let reason = self.waiting.as_ref().map(|waiting| {
            let names: Vec<String> = waiting.iter().map(Subject::to_string).collect();
            format!("not loaded yet: {}", names.join(", "))
        });
        self.published.not_loaded.send_if_modified(|current| std::mem::replace(current, reason.clone()) != reason);
        if !std::mem::take(&mut self.is_changed) {
            return;
        }
        let objects = self.expansions.values().filter(|state| state.error.is_none()).map(|state| &state.object);
        let expander = Expander::read(objects).unwrap_or_else(|error| {
            tracing::warn!(%error, "cannot use the expansion templates");
            Expander::default()
        });
        let config = self.config.as_ref().unwrap_or(&Value::Null);
        let constraints = self.constraints.values().filter_map(|state| state.constraint.clone()).collect();
        let excluded = ExcludedNamespaces::read(config, Process::Audit);
        let policies = LoadedPolicies { constraints, expander: Arc::new(expander), excluded };
        self.published.policies.send_replace(Arc::new(policies));
        let exemptions = Exemptions {
            excluded: ExcludedNamespaces::read(config, Process::Webhook),
            ..self.settings.exemptions.clone()
        };
        self.published
            .exemptions
            .send_if_modified(|current| std::mem::replace(current, exemptions.clone()) != exemptions);
        self.count();
    }

    fn count(&self) {
        let states = self.templates.values().map(|state| LoadState::of(state.errors.first()));
        self.metrics.set_templates(states, self.templates.values().filter(|state| state.is_cel).count());
        self.metrics.set_expansions(self.expansions.values().map(|state| LoadState::of(state.error.as_ref())));
        let constraint = |state: &ConstraintState| (state.action_label(), LoadState::of(state.errors.first()));
        self.metrics.set_constraints(self.constraints.values().map(constraint));
        let dynamic = |subject: &&Subject| matches!(subject, Subject::Constraints(_) | Subject::Synced(_));
        let intended = self.watches.subjects().filter(dynamic).count();
        let failed = self.inventory.failed().count();
        self.metrics.set_watched(intended, intended.saturating_sub(failed));
    }

    /// Reports objects of kinds that Gatekeeper has and Clearway does not handle, once for each kind.
    async fn report_kinds_not_handled(&mut self) {
        let Ok(catalog) = self.cluster.catalog().await else { return };
        for (group, kind, meaning) in NOT_HANDLED {
            let Some(resource) = catalog.of(group, kind).filter(|_| !self.reported.contains(kind)) else { continue };
            if self.cluster.page(resource, None, 1).await.is_ok_and(|page| !page.items.is_empty()) {
                tracing::warn!("{kind} ({group}) is not handled: {meaning}");
                self.reported.insert(kind);
            }
        }
    }
}

/// Waits for a time; for ever if there is none.
async fn sleep_until(time: Option<Instant>) {
    match time {
        Some(time) => tokio::time::sleep_until(time).await,
        None => std::future::pending().await,
    }
}

/// The namespace and name of an object.
fn place(object: &Value) -> (String, String) {
    let text = |field: &str| object["metadata"][field].as_str().unwrap_or_default().to_owned();
    (text("namespace"), text("name"))
}

/// The name of the CRD of constraints of a kind.
fn definition_name(kind: &str) -> String {
    format!("{}.{}", kind.to_lowercase(), kinds::CONSTRAINTS)
}

/// Whether an object is what it was before, but for its status.
fn is_unchanged(before: Option<&Value>, now: Option<&Value>) -> bool {
    matches!((before, now), (Some(before), Some(now)) if is_same(before, now))
}

/// Whether two versions of an object mean the same, whatever their statuses are.
fn is_same(one: &Value, other: &Value) -> bool {
    let metadata = |field: &str| one["metadata"][field] == other["metadata"][field];
    one["spec"] == other["spec"] && ["uid", "labels", "annotations"].into_iter().all(metadata)
}

/// Whether one version of an object is older than another. Versions of the API server are numbers that grow.
fn is_older(object: &Value, than: &Value) -> bool {
    let version = |object: &Value| object["metadata"]["resourceVersion"].as_str()?.parse::<u64>().ok();
    let same = object["metadata"]["uid"] == than["metadata"]["uid"];
    same && matches!((version(object), version(than)), (Some(version), Some(than)) if version < than)
}
