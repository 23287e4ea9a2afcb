//! Metrics of policies, under the names that Gatekeeper gives them, so that its dashboards and alerts go on working.
//!
//! Counters have the ending `_total`, which Gatekeeper's exporter adds as well. What is not handled here (mutation,
//! providers, policies of the API server, export) has no metrics.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicI64, AtomicU64};
use std::time::Duration;

use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::{Family, MetricConstructor};
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

/// Labels of a series.
type Labels = Vec<(&'static str, String)>;
type Gauges = Family<Labels, Gauge<i64, AtomicI64>>;
type Seconds = Gauge<f64, AtomicU64>;
type Histograms = Family<Labels, Histogram, Buckets>;

/// What something is in: `active` once it is loaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum LoadState {
    /// It is loaded.
    Active,
    /// It could not be loaded.
    Error,
}

impl LoadState {
    const ALL: [LoadState; 2] = [LoadState::Active, LoadState::Error];

    /// The value of the label `status`.
    pub fn as_str(self) -> &'static str {
        match self {
            LoadState::Active => "active",
            LoadState::Error => "error",
        }
    }

    /// Active unless there is an error.
    pub fn of<T>(error: Option<&T>) -> Self {
        if error.is_some() { LoadState::Error } else { LoadState::Active }
    }
}

/// What became of an admission request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AdmissionStatus {
    /// It was allowed.
    Allow,
    /// It was denied.
    Deny,
    /// It could not be decided.
    Error,
}

impl AdmissionStatus {
    /// The value of the label `admission_status`.
    pub fn as_str(self) -> &'static str {
        match self {
            AdmissionStatus::Allow => "allow",
            AdmissionStatus::Deny => "deny",
            AdmissionStatus::Error => "error",
        }
    }
}

/// The values of the label `enforcement_action`.
pub const ENFORCEMENT_ACTIONS: [&str; 5] = ["deny", "dryrun", "scoped", "unrecognized", "warn"];

/// The label of an action: Gatekeeper's four, or `unrecognized`.
pub fn action_label(action: &str) -> &'static str {
    ENFORCEMENT_ACTIONS.into_iter().find(|known| *known == action).unwrap_or("unrecognized")
}

/// Upper bounds of a histogram, in seconds.
#[derive(Debug, Clone, Copy)]
struct Buckets(&'static [f64]);

impl MetricConstructor<Histogram> for Buckets {
    fn new_metric(&self) -> Histogram {
        Histogram::new(self.0.iter().copied())
    }
}

const INGESTION: Buckets =
    Buckets(&[0.01, 0.02, 0.03, 0.04, 0.05, 0.06, 0.07, 0.08, 0.09, 0.1, 0.2, 0.3, 0.4, 0.5, 1.0, 2.0, 3.0, 4.0, 5.0]);
const REQUEST: Buckets = Buckets(&[
    0.001, 0.002, 0.003, 0.004, 0.005, 0.006, 0.007, 0.008, 0.009, 0.01, 0.02, 0.03, 0.04, 0.05, 0.06, 0.07, 0.08,
    0.09, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.5, 2.0, 2.5, 3.0,
]);
const SYNC: Buckets = Buckets(&[
    0.0001, 0.0002, 0.0003, 0.0004, 0.0005, 0.0006, 0.0007, 0.0008, 0.0009, 0.001, 0.002, 0.003, 0.004, 0.005, 0.01,
    0.02, 0.03, 0.04, 0.05,
]);
const AUDIT: &[f64] = &[60.0, 180.0, 300.0, 600.0, 900.0, 1200.0, 2400.0, 4800.0, 9600.0, 19200.0];

/// All metrics, shared by what counts and by the listener of `/metrics`.
#[derive(Debug)]
pub struct Metrics {
    registry: Registry,
    constraints: Gauges,
    templates: Gauges,
    templates_with_cel: Gauge,
    ingestions: Family<Labels, Counter>,
    ingestion_durations: Histograms,
    expansions: Gauges,
    requests: Family<Labels, Counter>,
    request_durations: Histograms,
    violations: Gauges,
    audit_duration: Histogram,
    audit_started: Seconds,
    audit_ended: Seconds,
    synced: Gauges,
    sync_duration: Histogram,
    sync_time: Seconds,
    watched: Gauge,
    intended: Gauge,
    inventory_bytes: Gauge,
    leads: Gauge,
    gatekeeper: Gauge,
}

impl Default for Metrics {
    fn default() -> Self {
        let mut metrics = Metrics {
            registry: Registry::default(),
            constraints: Gauges::default(),
            templates: Gauges::default(),
            templates_with_cel: Gauge::default(),
            ingestions: Family::default(),
            ingestion_durations: Family::new_with_constructor(INGESTION),
            expansions: Gauges::default(),
            requests: Family::default(),
            request_durations: Family::new_with_constructor(REQUEST),
            violations: Gauges::default(),
            audit_duration: Histogram::new(AUDIT.iter().copied()),
            audit_started: Seconds::default(),
            audit_ended: Seconds::default(),
            synced: Gauges::default(),
            sync_duration: SYNC.new_metric(),
            sync_time: Seconds::default(),
            watched: Gauge::default(),
            intended: Gauge::default(),
            inventory_bytes: Gauge::default(),
            leads: Gauge::default(),
            gatekeeper: Gauge::default(),
        };
        metrics.register();
        metrics
    }
}

impl Metrics {
    fn register(&mut self) {
        let gatekeeper = self.registry.sub_registry_with_prefix("gatekeeper");
        let mut add = |name: &str, help: &str, metric: Box<dyn Registered>| metric.register(gatekeeper, name, help);
        add("constraints", "Constraints by action and state", Box::new(self.constraints.clone()));
        add("constraint_templates", "Templates by state", Box::new(self.templates.clone()));
        add("constraint_templates_with_cel", "Templates in CEL", Box::new(self.templates_with_cel.clone()));
        add("constraint_template_ingestion_count", "Loads of templates", Box::new(self.ingestions.clone()));
        add(
            "constraint_template_ingestion_duration_seconds",
            "How long templates took to load",
            Box::new(self.ingestion_durations.clone()),
        );
        add("expansion_templates", "Expansion templates by state", Box::new(self.expansions.clone()));
        add("validation_request_count", "Admission requests", Box::new(self.requests.clone()));
        add(
            "validation_request_duration_seconds",
            "How long admission requests took",
            Box::new(self.request_durations.clone()),
        );
        add("violations", "Violations that the last audit found", Box::new(self.violations.clone()));
        add("audit_duration_seconds", "How long audits took", Box::new(self.audit_duration.clone()));
        add("audit_last_run_time", "When the last audit started", Box::new(self.audit_started.clone()));
        add("audit_last_run_end_time", "When the last audit ended", Box::new(self.audit_ended.clone()));
        add("sync", "Objects of the inventory", Box::new(self.synced.clone()));
        add("sync_duration_seconds", "How long an object took to be synced", Box::new(self.sync_duration.clone()));
        add("sync_last_run_time", "When an object was last synced", Box::new(self.sync_time.clone()));
        add("watch_manager_watched_gvk", "Kinds that are watched", Box::new(self.watched.clone()));
        add("watch_manager_intended_watch_gvk", "Kinds that are to be watched", Box::new(self.intended.clone()));
        let own = self.registry.sub_registry_with_prefix("clearway_policies");
        let mut add = |name: &str, help: &str, metric: &Gauge| own.register(name, help, metric.clone());
        add("inventory_bytes", "Bytes of the objects of the inventory as JSON", &self.inventory_bytes);
        add("leader", "Whether this replica audits", &self.leads);
        add("gatekeeper_present", "Whether Gatekeeper is installed, so that nothing is written", &self.gatekeeper);
    }

    /// The text that a scrape gets.
    pub fn text(&self) -> String {
        let mut text = String::new();
        // Writing to a text fails only if there is no memory.
        let _ = encode(&mut text, &self.registry);
        text
    }

    /// Counts an admission request.
    pub fn count_request(&self, status: AdmissionStatus, dry_run: bool, duration: Duration) {
        let status = ("admission_status", status.as_str().to_owned());
        self.requests.get_or_create(&vec![status.clone(), ("admission_dryrun", dry_run.to_string())]).inc();
        self.request_durations.get_or_create(&vec![status]).observe(duration.as_secs_f64());
    }

    /// Counts the load of a template.
    pub(super) fn count_ingestion(&self, state: LoadState, duration: Duration) {
        let labels = vec![("status", state.as_str().to_owned())];
        self.ingestions.get_or_create(&labels).inc();
        self.ingestion_durations.get_or_create(&labels).observe(duration.as_secs_f64());
    }

    /// The templates by state, and how many of them are in CEL.
    pub(super) fn set_templates(&self, states: impl Iterator<Item = LoadState>, with_cel: usize) {
        set_states(&self.templates, states);
        self.templates_with_cel.set(signed(with_cel));
    }

    /// The expansion templates by state.
    pub(super) fn set_expansions(&self, states: impl Iterator<Item = LoadState>) {
        set_states(&self.expansions, states);
    }

    /// The constraints by action and state.
    pub(super) fn set_constraints(&self, constraints: impl Iterator<Item = (&'static str, LoadState)>) {
        let every = ENFORCEMENT_ACTIONS.into_iter().flat_map(|action| LoadState::ALL.map(|state| (action, state)));
        let mut counts: BTreeMap<(&str, LoadState), i64> = every.map(|key| (key, 0)).collect();
        for key in constraints {
            let count = counts.entry(key).or_default();
            *count = count.saturating_add(1);
        }
        for ((action, state), count) in counts {
            let labels = vec![("enforcement_action", action.to_owned()), ("status", state.as_str().to_owned())];
            self.constraints.get_or_create(&labels).set(count);
        }
    }

    /// Objects of the inventory of one kind; none of a kind that is not synced any more.
    pub(super) fn set_synced(&self, kind: &str, active: usize, failed: usize) {
        for (state, count) in [(LoadState::Active, active), (LoadState::Error, failed)] {
            let labels = vec![("status", state.as_str().to_owned()), ("kind", kind.to_owned())];
            self.synced.get_or_create(&labels).set(signed(count));
        }
    }

    /// An object was synced.
    pub(super) fn count_sync(&self, duration: Duration, now: f64) {
        self.sync_duration.observe(duration.as_secs_f64());
        self.sync_time.set(now);
    }

    /// The size of the inventory.
    pub(super) fn set_inventory_bytes(&self, bytes: usize) {
        self.inventory_bytes.set(signed(bytes));
    }

    /// The kinds that are to be watched, and those of them that are.
    pub(super) fn set_watched(&self, intended: usize, watched: usize) {
        self.intended.set(signed(intended));
        self.watched.set(signed(watched));
    }

    /// An audit started.
    pub(super) fn start_audit(&self, now: f64) {
        self.audit_started.set(now);
    }

    /// An audit ended, with so many violations by action.
    pub(super) fn end_audit(&self, now: f64, duration: Duration, violations: &BTreeMap<&'static str, u64>) {
        self.audit_ended.set(now);
        self.audit_duration.observe(duration.as_secs_f64());
        for action in ENFORCEMENT_ACTIONS {
            let count = violations.get(action).copied().unwrap_or(0);
            let labels = vec![("enforcement_action", action.to_owned())];
            self.violations.get_or_create(&labels).set(i64::try_from(count).unwrap_or(i64::MAX));
        }
    }

    /// Whether this replica leads.
    pub fn set_leads(&self, leads: bool) {
        self.leads.set(i64::from(leads));
    }

    /// Whether Gatekeeper is installed.
    pub fn set_gatekeeper(&self, present: bool) {
        self.gatekeeper.set(i64::from(present));
    }
}

fn signed(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

fn set_states(gauges: &Gauges, states: impl Iterator<Item = LoadState>) {
    let mut counts: BTreeMap<LoadState, i64> = LoadState::ALL.into_iter().map(|state| (state, 0)).collect();
    for state in states {
        let count = counts.entry(state).or_default();
        *count = count.saturating_add(1);
    }
    for (state, count) in counts {
        gauges.get_or_create(&vec![("status", state.as_str().to_owned())]).set(count);
    }
}

/// A metric that a registry takes.
trait Registered {
    fn register(self: Box<Self>, registry: &mut Registry, name: &str, help: &str);
}

impl<M: prometheus_client::registry::Metric> Registered for M {
    fn register(self: Box<Self>, registry: &mut Registry, name: &str, help: &str) {
        registry.register(name, help, *self);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Dashboards read these names.
    #[test]
    fn metrics_have_the_names_and_labels_of_gatekeeper() {
        let metrics = Metrics::default();
        metrics.count_request(AdmissionStatus::Deny, false, Duration::from_millis(4));
        metrics.count_ingestion(LoadState::Error, Duration::from_millis(15));
        metrics.set_templates([LoadState::Active, LoadState::Active].into_iter(), 1);
        metrics.set_expansions([LoadState::Error].into_iter());
        metrics.set_constraints([("deny", LoadState::Active), (action_label("shout"), LoadState::Error)].into_iter());
        metrics.set_synced("Pod", 3, 0);
        metrics.count_sync(Duration::from_micros(50), 5.5);
        metrics.set_watched(4, 3);
        metrics.start_audit(7.25);
        metrics.end_audit(9.5, Duration::from_secs(2), &BTreeMap::from([("warn", 6)]));
        let text = metrics.text();
        for line in [
            "gatekeeper_constraints{enforcement_action=\"deny\",status=\"active\"} 1",
            "gatekeeper_constraints{enforcement_action=\"unrecognized\",status=\"error\"} 1",
            "gatekeeper_constraints{enforcement_action=\"scoped\",status=\"active\"} 0",
            "gatekeeper_constraint_templates{status=\"active\"} 2",
            "gatekeeper_constraint_templates{status=\"error\"} 0",
            "gatekeeper_constraint_templates_with_cel 1",
            "gatekeeper_constraint_template_ingestion_count_total{status=\"error\"} 1",
            "gatekeeper_constraint_template_ingestion_duration_seconds_bucket{le=\"0.02\",status=\"error\"} 1",
            "gatekeeper_expansion_templates{status=\"error\"} 1",
            "gatekeeper_validation_request_count_total{admission_status=\"deny\",admission_dryrun=\"false\"} 1",
            "gatekeeper_validation_request_duration_seconds_count{admission_status=\"deny\"} 1",
            "gatekeeper_violations{enforcement_action=\"warn\"} 6",
            "gatekeeper_violations{enforcement_action=\"deny\"} 0",
            "gatekeeper_audit_duration_seconds_count 1",
            "gatekeeper_audit_last_run_time 7.25",
            "gatekeeper_audit_last_run_end_time 9.5",
            "gatekeeper_sync{status=\"active\",kind=\"Pod\"} 3",
            "gatekeeper_sync_duration_seconds_count 1",
            "gatekeeper_sync_last_run_time 5.5",
            "gatekeeper_watch_manager_watched_gvk 3",
            "gatekeeper_watch_manager_intended_watch_gvk 4",
        ] {
            assert!(text.lines().any(|one| one == line), "{line}\n{text}");
        }
    }
}
