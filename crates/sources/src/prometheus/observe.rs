//! The value of a query as evidence: when it was seen, where, and how to see it again; or why it was not.

use std::time::Duration;

use clearway_advice::evidence::{Failure, FailureClass, Observation};
use clearway_advice::reproduce;
use clearway_core::Timestamp;
use clearway_promql::eval::Value;

use super::{Prometheus, PrometheusError, QUERY};

impl Prometheus {
    /// Asks for the value of a query at a time, or as of the moment it is answered, which is told by the clock.
    pub async fn observe(
        &self,
        query: &str,
        at: Option<Timestamp>,
        clock: impl Fn() -> Timestamp,
    ) -> Result<Observation<Value>, Failure> {
        let answer = self.instant(query, at).await;
        let observed_at = at.unwrap_or_else(clock);
        answer
            .map(|answer| Observation {
                value: answer.value,
                observed_at,
                source: self.base(),
                reproduce: Some(self.curl(query, at, observed_at)),
                warnings: Vec::new(),
            })
            .map_err(|error| Failure {
                observed_at: Some(observed_at),
                source: Some(self.base()),
                reproduce: Some(self.curl(query, at, observed_at)),
                ..Failure::new(error.class(), error.said())
            })
    }

    /// What stands before the API in the address.
    fn base(&self) -> String {
        self.shown().trim_end_matches(QUERY).to_owned()
    }

    /// The command that asks again. Times are whole seconds, so that of a moment ago would be before the newest sample.
    fn curl(&self, query: &str, at: Option<Timestamp>, observed_at: Timestamp) -> String {
        let time = at.unwrap_or_else(|| observed_at.plus(Duration::from_secs(1)));
        reproduce::curl(query, &self.base(), time)
    }
}

impl PrometheusError {
    /// What failed, for a rule that asked. An evaluation that fails does so wherever the samples are, and is said in the
    /// words of a snapshot.
    fn said(&self) -> String {
        match self {
            PrometheusError::Refused { error_type, why, .. } if error_type == "execution" => {
                format!("The evaluation failed: {why}")
            }
            other => other.to_string(),
        }
    }

    /// What kind of failure it is for a rule that asked.
    pub fn class(&self) -> FailureClass {
        match self {
            PrometheusError::Timeout { .. } => FailureClass::Timeout,
            PrometheusError::PartialResponse { .. } => FailureClass::Partial,
            PrometheusError::TooLarge { .. } => FailureClass::Budget,
            PrometheusError::Refused { status: 401 | 403, .. } | PrometheusError::Credentials { .. } => {
                FailureClass::Unauthorized
            }
            PrometheusError::Refused { error_type, .. } if error_type == "timeout" => FailureClass::Timeout,
            PrometheusError::Refused { error_type, .. } if matches!(error_type.as_str(), "execution" | "bad_data") => {
                FailureClass::Evaluation
            }
            PrometheusError::Address { .. }
            | PrometheusError::Http(_)
            | PrometheusError::Unreachable { .. }
            | PrometheusError::NotAnAnswer { .. }
            | PrometheusError::Refused { .. } => FailureClass::Unreachable,
        }
    }
}
