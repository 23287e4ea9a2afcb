//! What the PromQL reader knows of queries, for the linter of the graph.

use clearway_core::Severity;
use clearway_graph::lint::{Queries, QueryFault, QueryFinding};
use clearway_promql::{Fence, Limits, Query, Span, shape};

/// Reads queries, and asks the fence about them.
#[derive(Debug)]
pub(super) struct PromQl {
    limits: Limits,
    fence: Fence,
}

impl PromQl {
    /// Reads queries, and asks this fence about them.
    pub(super) fn with(fence: Fence) -> Self {
        PromQl { limits: Limits::default(), fence }
    }
}

impl Queries for PromQl {
    fn check(&self, query: &str) -> Vec<QueryFinding> {
        let query = match Query::parse(query, &self.limits) {
            Ok(query) => query,
            Err(errors) => {
                let finding = |error: &clearway_promql::Error| {
                    let span = error.span;
                    finding(QueryFault::Unreadable, Severity::Error, &error.message, &error.help, span)
                };
                return errors.0.iter().map(finding).collect();
            }
        };
        let refused = self.fence.check(&query).err().map(|refusal| {
            let help = format!("Change the query, or the limit `{}` of the fence.", refusal.limit.as_str());
            finding(QueryFault::Refused, Severity::Error, &refusal.to_string(), &help, refusal.span)
        });
        let shape = shape::findings(&query)
            .into_iter()
            .map(|found| finding(QueryFault::Shape, found.severity, &found.message(), found.help(), found.span));
        refused.into_iter().chain(shape).collect()
    }

    fn metrics(&self, query: &str) -> Vec<String> {
        Query::parse(query, &self.limits)
            .map(|query| query.metrics().into_iter().map(str::to_owned).collect())
            .unwrap_or_default()
    }
}

fn finding(fault: QueryFault, severity: Severity, message: &str, help: &str, span: Span) -> QueryFinding {
    let (message, help) = (message.to_owned(), help.to_owned());
    QueryFinding { fault, severity, message, help, span: span.start..span.end }
}
