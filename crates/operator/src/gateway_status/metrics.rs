//! Metrics of the status that is written, as `OpenMetrics` has them.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Numbers of writes since the start, shared by the controller and the listener of /metrics.
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
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let rows = [
            ("writes", "Status writes", count(&self.written)),
            ("conflicts", "Status writes that lost to another writer", count(&self.conflicts)),
            ("refused", "Status writes that the API server refused", count(&self.refused)),
        ];
        let mut text = String::new();
        for (name, help, value) in rows {
            let name = format!("clearway_gateway_status_{name}");
            let _ = writeln!(text, "# HELP {name} {help}.\n# TYPE {name} counter\n{name}_total {value}");
        }
        let name = "clearway_gateway_status_leader";
        let leads = u8::from(self.leads.load(Ordering::Relaxed));
        let _ =
            writeln!(text, "# HELP {name} Whether this replica writes.\n# TYPE {name} gauge\n{name} {leads}\n# EOF");
        text
    }
}
