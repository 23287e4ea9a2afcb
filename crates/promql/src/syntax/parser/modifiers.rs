//! What follows an operand and says at which time it is meant: ranges, subqueries, `offset` and `@`.

use super::{Parser, Tree};
use crate::error::{Code, Error};
use crate::syntax::ast::{At, BinaryOp, ExprKind, Range, Shift, Span, Subquery};
use crate::syntax::duration::Millis;
use crate::syntax::lexer::experimental;
use crate::syntax::token::{Keyword, Kind};

impl Parser<'_> {
    /// The operand with everything that follows it.
    pub(super) fn modifiers(&mut self, mut tree: Tree) -> Result<Tree, Error> {
        loop {
            tree = match (self.kind(), self.keyword()) {
                (Kind::LeftBracket, _) => self.bracket(tree)?,
                (Kind::At, _) => self.at(tree)?,
                (_, Some(Keyword::Offset)) => self.offset(tree)?,
                (Kind::Word(word), Some(Keyword::Extended)) => {
                    return Err(experimental(self.span(), &format!("`{word}` after a selector")));
                }
                _ => return Ok(tree),
            };
        }
    }

    /// `[5m]` makes a range of a selector, `[1h:5m]` a subquery of anything.
    fn bracket(&mut self, tree: Tree) -> Result<Tree, Error> {
        let open = self.advance();
        let range_start = self.span();
        let range = self.positive()?;
        let colon = self.eat(&Kind::Colon);
        let step = match self.kind() {
            Kind::RightBracket => None,
            _ if colon.is_none() => return Err(self.unexpected("`:` or `]`")),
            _ => Some(self.positive()?),
        };
        let range_end = self.tokens.get(self.at.saturating_sub(1)).map_or(range_start, |token| token.span);
        let close = self.close(&Kind::RightBracket, open, "`]`")?;
        let range_span = range_start.to(range_end);
        let span = tree.expr.span.to(close);
        if colon.is_some() {
            let subquery = Subquery { expr: tree.expr, range, step, range_span, shift: Shift::default() };
            return self.node(ExprKind::Subquery(Box::new(subquery)), span, [tree.height]);
        }
        let refused = |message: &str, help: &str| Err(Error::new(Code::Modifier, open.to(close), message, help));
        match tree.expr.kind {
            ExprKind::Selector(selector) if selector.shift.offset.is_some() => {
                refused("A range follows `offset`.", "Write the range first: `metric[5m] offset 1h`.")
            }
            ExprKind::Selector(selector) if selector.shift.at.is_some() => {
                refused("A range follows `@`.", "Write the range first: `metric[5m] @ 1700000000`.")
            }
            ExprKind::Selector(selector) => {
                self.node(ExprKind::Range(Range { selector, range, range_span }), span, [tree.height])
            }
            _ => refused(
                "A range follows an expression that is not a selector.",
                "A range must directly follow a selector; for other expressions write a subquery: `[5m:]`.",
            ),
        }
    }

    /// A duration that is longer than nothing.
    fn positive(&mut self) -> Result<Millis, Error> {
        if self.experimental && !self.is_plain_duration() {
            return self.computed();
        }
        let span = self.span();
        let duration = self.duration()?;
        if duration.0 > 0 {
            return Ok(duration);
        }
        let help = "Write at least one millisecond.";
        Err(Error::new(Code::Number, span, "A range or step must be greater than zero.", help))
    }

    /// Whether a duration stands alone up to its end.
    fn is_plain_duration(&self) -> bool {
        matches!(self.kind(), Kind::Number(_) | Kind::Duration(_))
            && matches!(self.next_kind(), Kind::Colon | Kind::RightBracket)
    }

    /// A duration, or a number of seconds.
    fn duration(&mut self) -> Result<Millis, Error> {
        match self.kind() {
            Kind::Duration(duration) => {
                self.advance();
                Ok(*duration)
            }
            Kind::Number(seconds) => {
                let span = self.advance();
                Millis::from_seconds(*seconds).ok_or_else(|| {
                    let message = "The duration is out of range.";
                    Error::new(Code::Number, span, message, "The longest duration is about 292 years.")
                })
            }
            Kind::LeftParen => Err(experimental(self.span(), "arithmetic in a duration")),
            _ if self.keyword() == Some(Keyword::Query) => {
                Err(experimental(self.span(), "`step()` or `range()` as a duration"))
            }
            Kind::Word("min_of" | "max_of") => Err(experimental(self.span(), "arithmetic in a duration")),
            _ => Err(self.unexpected("a duration such as `5m`")),
        }
    }

    fn sign(&mut self) -> i64 {
        let sign = match self.kind() {
            Kind::Operator(BinaryOp::Subtract) => -1,
            Kind::Operator(BinaryOp::Add) => 1,
            _ => return 1,
        };
        self.advance();
        sign
    }

    fn offset(&mut self, mut tree: Tree) -> Result<Tree, Error> {
        let start = self.advance();
        let starts = |kind: &Kind<'_>| matches!(kind, Kind::LeftParen | Kind::Word(_));
        let signed = matches!(self.kind(), Kind::Operator(_));
        let arithmetic = self.experimental && starts(if signed { self.next_kind() } else { self.kind() });
        let (offset, span) = if arithmetic {
            let offset = self.computed_offset()?;
            (offset, self.tokens.get(self.at.saturating_sub(1)).map_or(start, |token| token.span))
        } else {
            let sign = self.sign();
            let span = self.span();
            (Millis(self.duration()?.0.saturating_mul(sign)), span)
        };
        let shift = shift_of(&mut tree, start.to(span), "`offset`")?;
        if shift.offset.replace(offset).is_some() {
            return Err(twice(start.to(span), "`offset`"));
        }
        tree.expr.span = tree.expr.span.to(span);
        Ok(tree)
    }

    fn at(&mut self, mut tree: Tree) -> Result<Tree, Error> {
        let start = self.advance();
        let (at, end) = if let Some(keyword @ (Keyword::Start | Keyword::End)) = self.keyword() {
            self.advance();
            let Some(open) = self.eat(&Kind::LeftParen) else { return Err(self.unexpected("`()`")) };
            let end = self.close(&Kind::RightParen, open, "`)`")?;
            (if keyword == Keyword::Start { At::Start } else { At::End }, end)
        } else {
            let sign = self.sign();
            let seconds = match self.kind() {
                Kind::Number(seconds) => *seconds,
                Kind::Duration(duration) => duration.as_seconds(),
                _ => return Err(self.unexpected("a time in seconds, `start()` or `end()`")),
            };
            let span = self.advance();
            let Some(time) = milliseconds(seconds) else {
                let message = "The time is out of range.";
                return Err(Error::new(Code::Number, span, message, "Write the seconds since 1970."));
            };
            (At::Time(Millis(time.saturating_mul(sign))), span)
        };
        let shift = shift_of(&mut tree, start.to(end), "`@`")?;
        if shift.at.replace(at).is_some() {
            return Err(twice(start.to(end), "`@`"));
        }
        tree.expr.span = tree.expr.span.to(end);
        Ok(tree)
    }
}

/// The milliseconds of a time, if it is within some 35,000 years of 1970: so far a float is exact to the millisecond.
fn milliseconds(seconds: f64) -> Option<i64> {
    let millis = (seconds * 1_000.0).round();
    #[expect(clippy::cast_possible_truncation, reason = "the range of i64 was just checked")]
    (millis.abs() < 1.0e15).then_some(millis as i64)
}

/// Where the time of a selector, range or subquery is kept; nothing else has one.
fn shift_of<'n>(tree: &'n mut Tree, span: Span, what: &str) -> Result<&'n mut Shift, Error> {
    match &mut tree.expr.kind {
        ExprKind::Selector(selector) => Ok(&mut selector.shift),
        ExprKind::Range(range) => Ok(&mut range.selector.shift),
        ExprKind::Subquery(subquery) => Ok(&mut subquery.shift),
        _ => {
            let message = format!("{what} follows an expression that has no time.");
            let help = format!("{what} must directly follow a selector, a range or a subquery.");
            Err(Error::new(Code::Modifier, span, message, help))
        }
    }
}

fn twice(span: Span, what: &str) -> Error {
    Error::new(Code::Modifier, span, format!("{what} is set twice."), "Keep one of them.")
}
