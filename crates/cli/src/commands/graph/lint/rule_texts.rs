//! Checks of the PromQL and CEL texts of rules, for the linter of the graph.

use clearway_advice::check_expression;
use clearway_cel::ErrorClass;
use clearway_core::Severity;
use clearway_graph::lint::{ExpressionFault, ExpressionFinding, QueryFault, QueryFinding, RuleTexts};
use clearway_promql::{Fence, Limits, Query, Span, shape};

/// Reads queries and asks the fence about them, and compiles expressions.
#[derive(Debug)]
pub(super) struct TextReader {
    limits: Limits,
    fence: Fence,
}

impl TextReader {
    /// Reads queries with this fence.
    pub(super) fn with(fence: Fence) -> Self {
        TextReader { limits: Limits::default(), fence }
    }
}

impl RuleTexts for TextReader {
    fn check_query(&self, query: &str) -> Vec<QueryFinding> {
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
            let help = format!("Change the query, or raise the limit `{}`.", refusal.limit.as_str());
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

    fn check_expression(&self, expression: &str) -> Option<ExpressionFinding> {
        let error = check_expression(expression).err()?;
        let fault = match error.class {
            ErrorClass::TooLarge | ErrorClass::EstimatedCost => ExpressionFault::Limit,
            _ => ExpressionFault::Invalid,
        };
        let span = error.span.start as usize..error.span.end as usize;
        Some(ExpressionFinding { fault, message: error.to_string(), span })
    }
}

fn finding(fault: QueryFault, severity: Severity, message: &str, help: &str, span: Span) -> QueryFinding {
    let (message, help) = (message.to_owned(), help.to_owned());
    QueryFinding { fault, severity, message, help, span: span.start..span.end }
}
