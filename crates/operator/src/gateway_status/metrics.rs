//! Metrics of the status that is written, in the text format of Prometheus.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// What was done so far. Shared between who writes and who shows it.
#[derive(Debug, Default)]
pub struct Counters {
    /// Status writes that the API server took.
    pub written: AtomicU64,
    /// Status writes that had to be computed again, because another writer was faster.
    pub conflicts: AtomicU64,
    /// Status writes that the API server refused.
    pub refused: AtomicU64,
    /// Whether this replica leads.
    pub leads: AtomicBool,
}

impl Counters {
    /// Adds one.
    pub(super) fn add(counter: &AtomicU64) {
        counter.fetch_add(1, Ordering::Relaxed);
    }

    /// The text that a scrape gets.
    pub fn text(&self) -> String {
        let mut text = String::new();
        let rows = [
            ("writes_total", "counter", "Status writes", self.written.load(Ordering::Relaxed)),
            ("conflicts_total", "counter", "Status writes that lost to another writer", self.conflicts.load(Ordering::Relaxed)),
            ("refused_total", "counter", "Status writes that the API server refused", self.refused.load(Ordering::Relaxed)),
            ("leader", "gauge", "Whether this replica writes", u64::from(self.leads.load(Ordering::Relaxed))),
        ];
        for (name, kind, help, value) in rows {
            let name = format!("clearway_gateway_status_{name}");
            let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}\n{name} {value}");
        }
        text
    }
}
