//! Arithmetic in durations, `[step() + 1m]` and its like: experimental in Prometheus, and read only if that is wanted.
//!
//! Durations are numbers by the time a tree stands, so what is written here is computed while it is read. `step()` and
//! `range()` are those of the range the query is read for; see [`crate::Query::parse_for_range`].

use super::Parser;
use crate::error::{Code, Error};
use crate::syntax::ast::{BinaryOp, Span};
use crate::syntax::duration::Millis;
use crate::syntax::token::Kind;

/// The range a query is evaluated over, as durations see it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Context {
    pub(crate) step: Millis,
    pub(crate) range: Millis,
}

impl Parser<'_> {
    /// A computed duration within brackets, which is longer than nothing.
    pub(super) fn computed(&mut self) -> Result<Millis, Error> {
        let start = self.span();
        let seconds = self.sum(0)?;
        let millis = self.truncated(seconds, start)?;
        if millis.0 > 0 {
            return Ok(millis);
        }
        let help = "Write at least one millisecond.";
        Err(Error::new(Code::Number, start, "A range or step must be greater than zero.", help))
    }

    /// A computed duration behind `offset`: one operand, with a sign or without.
    pub(super) fn computed_offset(&mut self) -> Result<Millis, Error> {
        let start = self.span();
        let seconds = match self.kind() {
            Kind::Operator(BinaryOp::Subtract) => {
                self.advance();
                -self.term()?
            }
            Kind::Operator(BinaryOp::Add) => {
                self.advance();
                self.term()?
            }
            _ => self.term()?,
        };
        self.truncated(seconds, start)
    }

    fn truncated(&self, seconds: f64, start: Span) -> Result<Millis, Error> {
        // A sum of decimals may miss its millisecond by a last bit.
        let millis = seconds * 1_000.0;
        let nearest = millis.round();
        let whole = if (millis - nearest).abs() < 1e-6 { nearest } else { millis.trunc() };
        Millis::from_seconds(whole / 1_000.0).ok_or_else(|| {
            let message = "The duration is out of range.";
            Error::new(Code::Number, start.to(self.span()), message, "The longest duration is about 292 years.")
        })
    }

    /// Operands with operators that bind at least as tightly as `least`, in seconds.
    fn sum(&mut self, least: u8) -> Result<f64, Error> {
        self.depth = self.depth.saturating_add(1);
        if self.depth > self.levels {
            return Err(self.too_deep(self.span()));
        }
        let mut left = match self.kind() {
            // A sign binds less tightly than a power.
            Kind::Operator(BinaryOp::Subtract) => {
                self.advance();
                -self.sum(3)?
            }
            Kind::Operator(BinaryOp::Add) => {
                self.advance();
                self.sum(3)?
            }
            _ => self.term()?,
        };
        while let Kind::Operator(op) = self.kind() {
            let precedence = match op {
                BinaryOp::Add | BinaryOp::Subtract => 1,
                BinaryOp::Multiply | BinaryOp::Divide | BinaryOp::Modulo => 2,
                BinaryOp::Power => 3,
                _ => break,
            };
            if precedence < least {
                break;
            }
            let span = self.advance();
            let right = self.sum(if precedence == 3 { 3 } else { precedence.saturating_add(1) })?;
            left = match op {
                BinaryOp::Add => left + right,
                BinaryOp::Subtract => left - right,
                BinaryOp::Multiply => left * right,
                BinaryOp::Power => left.powf(right),
                _ if right == 0.0 => {
                    return Err(Error::new(Code::Number, span, "A duration is divided by zero.", "Divide by more."));
                }
                BinaryOp::Divide => left / right,
                _ => left % right,
            };
        }
        self.depth = self.depth.saturating_sub(1);
        Ok(left)
    }

    /// A number, a duration, `step()`, `range()`, `min_of(…)`, `max_of(…)` or something in parentheses, in seconds.
    fn term(&mut self) -> Result<f64, Error> {
        match self.kind() {
            Kind::Number(seconds) => {
                self.advance();
                Ok(*seconds)
            }
            Kind::Duration(duration) => {
                self.advance();
                Ok(duration.as_seconds())
            }
            Kind::LeftParen => {
                let open = self.advance();
                let value = self.sum(0)?;
                self.close(&Kind::RightParen, open, "an operator or `)`")?;
                Ok(value)
            }
            Kind::Word(word) => {
                let name = word.to_ascii_lowercase();
                match name.as_str() {
                    "step" | "range" => {
                        self.advance();
                        let Some(open) = self.eat(&Kind::LeftParen) else { return Err(self.unexpected("`()`")) };
                        self.close(&Kind::RightParen, open, "`)`")?;
                        self.timed = true;
                        let context = self.context;
                        Ok(if name == "step" { context.step } else { context.range }.as_seconds())
                    }
                    "min_of" | "max_of" => {
                        self.advance();
                        let Some(open) = self.eat(&Kind::LeftParen) else { return Err(self.unexpected("`(`")) };
                        let one = self.sum(0)?;
                        if self.eat(&Kind::Comma).is_none() {
                            return Err(self.unexpected("`,` and another duration"));
                        }
                        let other = self.sum(0)?;
                        self.close(&Kind::RightParen, open, "`)`")?;
                        Ok(if name == "min_of" { one.min(other) } else { one.max(other) })
                    }
                    _ => Err(self.unexpected("a duration such as `5m`")),
                }
            }
            _ => Err(self.unexpected("a duration such as `5m`")),
        }
    }
}
