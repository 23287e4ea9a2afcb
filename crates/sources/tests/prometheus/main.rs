//! Values and samples from the real Prometheus, and from a server on this machine that plays what the real one cannot
//! (U3, U9, U16).

mod faults;
mod real;
mod rounds;
mod server;
mod tls;

use std::time::Duration;

use clearway_sources::prometheus::{Prometheus, PrometheusError, PrometheusOptions};

/// An endpoint that is asked without options.
fn at(url: &str) -> Prometheus {
    Prometheus::new(url, &PrometheusOptions::default()).unwrap()
}

/// Options with which a test does not wait for a server that never answers.
fn quick() -> PrometheusOptions {
    PrometheusOptions { timeout: Duration::from_millis(300), ..PrometheusOptions::default() }
}

/// Options with which a test gives up some answers and gets the others, however busy the machine is.
fn patient() -> PrometheusOptions {
    PrometheusOptions { timeout: Duration::from_secs(20), ..PrometheusOptions::default() }
}

async fn refused(prometheus: &Prometheus) -> PrometheusError {
    prometheus.instant("up", None).await.unwrap_err()
}
