//! Checks of the PromQL and CEL texts of rules and of the parameters of `Bundle` and `Policy` rules, for the linter of the
//! graph.

use clearway_advice::{BUNDLE_PARAMETERS, POLICY_PARAMETERS, check_bundle_rule, check_expression, check_policy_rule};
use clearway_cel::ErrorClass;
use clearway_core::Severity;
use clearway_graph::Rule;
use clearway_graph::lint::{ExpressionFault, ExpressionFinding, ParameterFinding, QueryFault, QueryFinding, RuleTexts};
use clearway_promql::{Fence, Limits, Query, Span, shape};

/// Unknown parameters that are reported for one rule.
const UNKNOWN_PARAMETERS: usize = 5;

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

    fn check_parameters(&self, rule: &Rule) -> Vec<ParameterFinding> {
        // Keys are read in any case.
        let of_type = |name: &str| {
            let own = rule.parameters.iter().find(|(key, _)| key.eq_ignore_ascii_case(name));
            own.and_then(|(_, own)| own.as_object())
        };
        let (own, first, known, fault) = if rule.kind == Rule::POLICY {
            (of_type(Rule::POLICY), "kind", &POLICY_PARAMETERS[..], check_policy_rule(rule))
        } else {
            (of_type(Rule::BUNDLE), "group", &BUNDLE_PARAMETERS[..], check_bundle_rule(rule))
        };
        let Some(own) = own else {
            let message = format!("without parameters: `{}` is missing or not an object", rule.kind.to_lowercase());
            return vec![ParameterFinding { key: first, message, span: 0..0, known: true }];
        };
        let wrong = fault.map(|fault| ParameterFinding {
            key: fault.key,
            message: format!("whose `{}` cannot be read: {}", fault.key, fault.why),
            span: fault.span,
            known: true,
        });
        let is_known = |key: &&String| known.iter().any(|known| key.eq_ignore_ascii_case(known));
        let unknown = own.keys().filter(|key| !is_known(key)).map(|key| {
            let key: String = key.chars().take(64).collect();
            let message = format!("with the parameter `{key}`, which the type does not have");
            ParameterFinding { key: "", message, span: 0..0, known: false }
        });
        wrong.into_iter().chain(unknown.take(UNKNOWN_PARAMETERS)).collect()
    }
}

fn finding(fault: QueryFault, severity: Severity, message: &str, help: &str, span: Span) -> QueryFinding {
    let (message, help) = (message.to_owned(), help.to_owned());
    QueryFinding { fault, severity, message, help, span: span.start..span.end }
}
