//! What the Prometheus operator takes: how to scrape, and when to call somebody.

use serde_json::{Value, json};

use super::{NAME, Settings, alerts, metadata, selector};

pub(super) fn monitoring(settings: &Settings) -> Vec<Value> {
    vec![
        json!({
            "apiVersion": "monitoring.coreos.com/v1",
            "kind": "ServiceMonitor",
            "metadata": metadata(settings, NAME),
            "spec": {
                "selector": {"matchLabels": selector()},
                "endpoints": [{"port": "metrics", "path": "/metrics", "interval": "30s"}],
            },
        }),
        json!({
            "apiVersion": "monitoring.coreos.com/v1",
            "kind": "PrometheusRule",
            "metadata": metadata(settings, NAME),
            "spec": alerts::rules(),
        }),
    ]
}
