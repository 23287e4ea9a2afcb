//! Selectors: the name of a metric, and what its labels must be.

use super::{Parser, Tree};
use crate::error::Error;
use crate::syntax::ast::{ExprKind, MatchOp, Matcher, Metric, Name, Selector, Shift};
use crate::syntax::token::Kind;

/// The label that holds the name of the metric.
pub(crate) const METRIC_NAME: &str = "__name__";

impl Parser<'_> {
    /// A selector; the name in front of the braces, if there is one, was taken already.
    pub(super) fn selector(&mut self, name: Option<Name>) -> Result<Tree, Error> {
        let mut span = name.as_ref().map_or(self.span(), |name| name.span);
        let mut metric = name.map(|name| Metric { name, in_braces: false });
        let mut matchers = Vec::new();
        if let Some(open) = self.eat(&Kind::LeftBrace) {
            while *self.kind() != Kind::RightBrace {
                let matcher = self.matcher()?;
                // The first name of a metric within braces is the selector's; a further one matches nothing, or all.
                let names = matcher.label.text == METRIC_NAME && matcher.op == MatchOp::Equal;
                if names && metric.is_none() && !matcher.value.text.is_empty() {
                    metric = Some(Metric { name: matcher.value, in_braces: true });
                } else {
                    matchers.push(matcher);
                }
                if self.eat(&Kind::Comma).is_none() {
                    break;
                }
            }
            let close = self.close(&Kind::RightBrace, open, "`,` or `}`")?;
            span = span.to(close);
        }
        self.node(ExprKind::Selector(Selector { metric, matchers, shift: Shift::default(), span }), span, [])
    }

    /// `label="value"`, or the quoted name of a metric on its own.
    fn matcher(&mut self) -> Result<Matcher, Error> {
        let (text, quoted) = match self.kind() {
            Kind::Word(word) => ((*word).to_owned(), false),
            Kind::String(text) => (text.clone(), true),
            _ => return Err(self.unexpected("a label or a quoted metric name")),
        };
        let label = Name { text, span: self.advance() };
        let Kind::Match(op) = self.kind() else {
            if quoted && matches!(self.kind(), Kind::Comma | Kind::RightBrace) {
                let name = Name { text: METRIC_NAME.to_owned(), span: label.span };
                return Ok(Matcher { label: name, op: MatchOp::Equal, value: label });
            }
            return Err(self.unexpected("`=`, `!=`, `=~` or `!~`"));
        };
        self.advance();
        let Kind::String(value) = self.kind() else { return Err(self.unexpected("a quoted value")) };
        let value = Name { text: value.clone(), span: self.advance() };
        Ok(Matcher { label, op: *op, value })
    }
}
