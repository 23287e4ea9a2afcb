//! What the Prometheus operator takes: how to scrape, and when to call somebody. Only for metrics that can be reached.

use serde_json::{Value, json};

use super::workload::METRICS_PORT;
use super::{MetricsExposure, NAME, Settings, alerts, metadata, selector};

/// Where Prometheus finds the token of its own service account.
const SCRAPER_TOKEN: &str = "/var/run/secrets/kubernetes.io/serviceaccount/token";

/// The Service by which the metrics are reached; nothing while they are on loopback.
pub(super) fn service(settings: &Settings) -> Vec<Value> {
    if settings.metrics == MetricsExposure::Loopback {
        return Vec::new();
    }
    vec![json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": metadata(settings, NAME),
        "spec": {
            "selector": selector(),
            "ports": [{"name": "metrics", "port": METRICS_PORT, "targetPort": "metrics"}],
        },
    })]
}

/// Scraping and alerts; nothing while the metrics are on loopback: an alert about their absence would be a false one.
pub(super) fn monitoring(settings: &Settings) -> Vec<Value> {
    if settings.metrics == MetricsExposure::Loopback {
        return Vec::new();
    }
    vec![
        json!({
            "apiVersion": "monitoring.coreos.com/v1",
            "kind": "ServiceMonitor",
            "metadata": metadata(settings, NAME),
            "spec": {
                "selector": {"matchLabels": selector()},
                "endpoints": [{
                    "port": "metrics", "path": "/metrics", "interval": "30s", "bearerTokenFile": SCRAPER_TOKEN,
                }],
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
