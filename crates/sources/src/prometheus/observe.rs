//! The value of a query as evidence: when it was seen, where, and how to see it again; or why it was not.
//!
//! The query is a stranger's and the metrics are the cluster's, so neither labels nor texts of Prometheus become evidence:
//! numbers, how many series there are, and the class of an error do.

use std::path::PathBuf;
use std::time::Duration;

use clearway_advice::evidence::{Failure, FailureClass, Observation, numbers_only};
use clearway_advice::reproduce::{self, HttpAccess};
use clearway_core::{Timestamp, humanize};
use clearway_promql::eval::Value;

use super::{Prometheus, PrometheusError, PrometheusOptions, QUERY};

/// Bytes of the answer to the query of a rule, which means one number. Several queries are asked at one time, and all of them
/// together must not take the memory of a container.
const RULE_BYTES: u64 = 1 << 20;

impl Prometheus {
    /// Asks for the value of a query at a time, or as of the moment it is answered, which is told by the clock.
    pub async fn observe(
        &self,
        query: &str,
        at: Option<Timestamp>,
        clock: impl Fn() -> Timestamp,
    ) -> Result<Observation<Value>, Failure> {
        let answer = self.instant_within(query, at, RULE_BYTES, &clock).await;
        let observed_at = at.unwrap_or_else(clock);
        let failure = |failure: Failure| Failure {
            observed_at: Some(observed_at),
            source: Some(self.base()),
            reproduce: Some(self.curl(query, at, observed_at)),
            ..failure
        };
        match answer {
            Ok(answer) => Ok(Observation {
                value: numbers_only(answer.value),
                observed_at,
                source: self.base(),
                reproduce: Some(self.curl(query, at, observed_at)),
                warnings: Vec::new(),
            }),
            Err(error) => {
                tracing::debug!(%error, query, "a query of a rule failed");
                Err(failure(error.failure()))
            }
        }
    }

    /// What stands before the API in the address.
    fn base(&self) -> String {
        self.shown().trim_end_matches(QUERY).to_owned()
    }

    /// The command that asks again. Times are whole seconds, so that of a moment ago would be before the newest sample.
    fn curl(&self, query: &str, at: Option<Timestamp>, observed_at: Timestamp) -> String {
        let time = at.unwrap_or_else(|| observed_at.plus(Duration::from_secs(1)));
        let shown = |path: &PathBuf| path.display().to_string();
        let PrometheusOptions { token_file, ca_file, identity, .. } = &self.options;
        let is_tls = self.url.expose().scheme() == "https";
        let access = HttpAccess {
            token_file: token_file.as_ref().map(shown),
            ca_file: ca_file.as_ref().filter(|_| is_tls).map(shown),
            identity: identity.as_ref().filter(|_| is_tls).map(|files| (shown(&files.certificate), shown(&files.key))),
            hides_parts: self.url.expose().query().is_some() || (self.user.is_some() && token_file.is_none()),
        };
        reproduce::curl(query, &self.base(), time, &access)
    }
}

impl PrometheusError {
    /// The failure of a rule that asked. What Prometheus says may quote labels, so only its class is repeated; an
    /// evaluation that fails does so wherever the samples are, and is described in the words of a snapshot.
    pub fn failure(&self) -> Failure {
        let class = self.class();
        let message = match self {
            PrometheusError::Refused { .. } if class == FailureClass::Evaluation => {
                return Failure::of_evaluation(class);
            }
            PrometheusError::Refused { url, status, .. } => format!("{url} answered with status {status}."),
            PrometheusError::PartialResponse { url, warnings } => {
                format!("{url}: the answer has {} warning(s) and may be partial.", warnings.len())
            }
            PrometheusError::OtherTime { difference, .. } => {
                let difference = humanize(*difference);
                format!("The answer is for another time than requested (difference: {difference}).")
            }
            PrometheusError::NotAnAnswer { url, .. } => format!("{url}: it is not an answer of the Prometheus API."),
            PrometheusError::Address { .. }
            | PrometheusError::Http(_)
            | PrometheusError::Credentials { .. }
            | PrometheusError::Unreachable { .. }
            | PrometheusError::Timeout { .. }
            | PrometheusError::TooLarge { .. } => format!("{self}."),
        };
        Failure::new(class, message)
    }

    /// What kind of failure it is for a rule that asked.
    pub fn class(&self) -> FailureClass {
        match self {
            PrometheusError::Timeout { .. } => FailureClass::Timeout,
            PrometheusError::PartialResponse { .. } => FailureClass::Partial,
            PrometheusError::OtherTime { .. } => FailureClass::Stale,
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
