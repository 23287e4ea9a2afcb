//! Reads an expression: a precedence climber over the words of the lexer.
//!
//! Nesting is counted twice, on the way down (parentheses, signs, powers) and on the way up (a chain of operators makes
//! a tree as deep as it is long), so that neither this parser nor anything that walks its trees recurses without bound.

mod calls;
mod durations;
mod modifiers;
mod selectors;

pub(crate) use durations::Context;
pub(crate) use selectors::METRIC_NAME;

use crate::error::{Code, Error};
use crate::syntax::ast::{Binary, BinaryOp, Expr, ExprKind, Fill, Many, Matching, Sign, Span};
use crate::syntax::lexer::{self, experimental};
use crate::syntax::limits::Limits;
use crate::syntax::token::{Keyword, Kind, Token};

/// Reads the text of a query. The tree is well-formed, but not yet well-typed.
pub(crate) fn parse(text: &str, limits: &Limits) -> Result<Expr, Error> {
    parse_for(text, limits, Context::default()).map(|(expr, _)| expr)
}

/// The same for a query over a range. Says whether the range makes a difference.
pub(crate) fn parse_for(text: &str, limits: &Limits, context: Context) -> Result<(Expr, bool), Error> {
    if text.len() > limits.bytes {
        let message = format!("The query has {} bytes; the limit is {}.", text.len(), limits.bytes);
        return Err(Error::new(Code::TooLong, Span::new(0, 0), message, "Shorten the query."));
    }
    let words = lexer::words(text, limits.experimental);
    let mut parser = Parser {
        tokens: &words.tokens,
        stopped: words.stopped,
        at: 0,
        depth: 0,
        levels: limits.levels(),
        experimental: limits.experimental,
        context,
        timed: false,
    };
    if *parser.kind() == Kind::End && parser.stopped.is_none() {
        let help = "Write an expression; comments alone are not a query.";
        return Err(Error::new(Code::Syntax, parser.span(), "There is no query.", help));
    }
    let tree = parser.expression(0)?;
    match parser.kind() {
        Kind::End if parser.stopped.is_none() => Ok((tree.expr, parser.timed)),
        Kind::RightParen => {
            let help = "Remove it, or add the opening one.";
            Err(Error::new(Code::Syntax, parser.span(), "This closing parenthesis has no opening one.", help))
        }
        _ => Err(parser.unexpected("an operator or the end of the query")),
    }
}

/// An expression and how many levels it has.
struct Tree {
    expr: Expr,
    height: usize,
}

struct Parser<'t> {
    tokens: &'t [Token<'t>],
    stopped: Option<Error>,
    at: usize,
    depth: usize,
    levels: usize,
    /// Whether syntax behind a feature flag is read.
    experimental: bool,
    context: Context,
    /// Whether some duration depends on the context.
    timed: bool,
}

impl<'t> Parser<'t> {
    fn kind(&self) -> &'t Kind<'t> {
        self.tokens.get(self.at).map_or(&Kind::End, |token| &token.kind)
    }

    fn next_kind(&self) -> &'t Kind<'t> {
        self.tokens.get(self.at.saturating_add(1)).map_or(&Kind::End, |token| &token.kind)
    }

    /// Where the current word stands.
    fn span(&self) -> Span {
        self.tokens.get(self.at).map_or(Span::default(), |token| token.span)
    }

    /// Takes the current word and says where it stood.
    fn advance(&mut self) -> Span {
        let span = self.span();
        if self.at.saturating_add(1) < self.tokens.len() {
            self.at = self.at.saturating_add(1);
        }
        span
    }

    fn eat(&mut self, kind: &Kind<'_>) -> Option<Span> {
        (self.kind() == kind).then(|| self.advance())
    }

    fn keyword(&self) -> Option<Keyword> {
        match self.kind() {
            Kind::Word(word) => Keyword::of(word),
            _ => None,
        }
    }

    fn eat_keyword(&mut self, keyword: Keyword) -> Option<Span> {
        (self.keyword() == Some(keyword)).then(|| self.advance())
    }

    /// The error that something else stands where `wanted` should; what stopped the lexer goes first.
    fn unexpected(&mut self, wanted: &str) -> Error {
        if *self.kind() == Kind::End
            && let Some(error) = self.stopped.take()
        {
            return error;
        }
        let message = format!("Expected {wanted}, found {}.", self.kind().describe());
        Error::new(Code::Syntax, self.span(), message, "Check the PromQL syntax here.")
    }

    /// The closing counterpart of what was opened at `open`.
    fn close(&mut self, kind: &Kind<'_>, open: Span, wanted: &str) -> Result<Span, Error> {
        if let Some(span) = self.eat(kind) {
            return Ok(span);
        }
        if *self.kind() == Kind::End && self.stopped.is_none() {
            let message = format!("This is opened and never closed: {} is missing.", kind.describe());
            return Err(Error::new(Code::Syntax, open, message, format!("Close it with {}.", kind.describe())));
        }
        Err(self.unexpected(wanted))
    }

    fn too_deep(&self, span: Span) -> Error {
        let message = format!("The query is nested more than {} levels deep.", self.levels);
        Error::new(Code::TooDeep, span, message, "Use fewer parentheses and shorter chains of operators.")
    }

    /// Wraps trees into a node one level higher.
    fn node(&self, kind: ExprKind, span: Span, heights: impl IntoIterator<Item = usize>) -> Result<Tree, Error> {
        let height = heights.into_iter().max().unwrap_or(0).saturating_add(1);
        if height > self.levels {
            return Err(self.too_deep(span));
        }
        Ok(Tree { expr: Expr { kind, span }, height })
    }

    /// An expression whose operators bind at least as tightly as `least`.
    fn expression(&mut self, least: u8) -> Result<Tree, Error> {
        self.depth = self.depth.saturating_add(1);
        if self.depth > self.levels {
            return Err(self.too_deep(self.span()));
        }
        let mut left = self.signed()?;
        while let Some(op) = self.operator() {
            let precedence = op.precedence();
            if precedence < least {
                break;
            }
            left = self.binary(left, op, precedence)?;
        }
        self.depth = self.depth.saturating_sub(1);
        Ok(left)
    }

    fn operator(&self) -> Option<BinaryOp> {
        match self.kind() {
            Kind::Operator(op) => Some(*op),
            _ => match self.keyword() {
                Some(Keyword::Operator(op)) => Some(op),
                _ => None,
            },
        }
    }

    fn binary(&mut self, left: Tree, op: BinaryOp, precedence: u8) -> Result<Tree, Error> {
        let mut op_span = self.advance();
        let bool_span = self.eat_keyword(Keyword::Bool);
        let matching = self.matching(op_span)?;
        if let Some(last) = self.tokens.get(self.at.saturating_sub(1)) {
            op_span = op_span.to(last.span);
        }
        let fill = self.fill()?;
        // Only a power binds to the right.
        let least = if op == BinaryOp::Power { precedence } else { precedence.saturating_add(1) };
        let right = self.expression(least)?;
        let span = left.expr.span.to(right.expr.span);
        let heights = [left.height, right.height];
        let returns_bool = bool_span.is_some();
        let binary = Binary { op, op_span, returns_bool, matching, fill, left: left.expr, right: right.expr };
        self.node(ExprKind::Binary(Box::new(binary)), span, heights)
    }

    /// `fill (0)`, `fill_left (0)`, `fill_right (0)`, or the last two together.
    fn fill(&mut self) -> Result<Fill, Error> {
        let mut fill = Fill::default();
        while let (Kind::Word(word @ ("fill" | "fill_left" | "fill_right")), Kind::LeftParen) =
            (self.kind(), self.next_kind())
        {
            if !self.experimental {
                return Err(experimental(self.span(), &format!("`{word}` after an operator")));
            }
            let span = self.advance();
            let open = self.advance();
            let negative = match self.kind() {
                Kind::Operator(BinaryOp::Subtract) => Some(self.advance()),
                _ => self.eat(&Kind::Operator(BinaryOp::Add)).and(None),
            };
            let value = match self.kind() {
                Kind::Number(number) => *number,
                Kind::Duration(duration) => duration.as_seconds(),
                _ => return Err(self.unexpected("a number")),
            };
            self.advance();
            self.close(&Kind::RightParen, open, "`)`")?;
            let value = Some(if negative.is_some() { -value } else { value });
            let taken = match *word {
                "fill" => fill.left.is_some() || fill.right.is_some(),
                "fill_left" => fill.left.is_some(),
                _ => fill.right.is_some(),
            };
            if taken {
                let help = "Keep one of them.";
                return Err(Error::new(Code::Matching, span, "`fill` is set twice for one side.", help));
            }
            if *word != "fill_right" {
                fill.left = value;
            }
            if *word != "fill_left" {
                fill.right = value;
            }
        }
        Ok(fill)
    }

    /// `on (…)` or `ignoring (…)`, and `group_left` or `group_right` behind it.
    fn matching(&mut self, op_span: Span) -> Result<Option<Matching>, Error> {
        let only = match self.keyword() {
            Some(Keyword::On) => true,
            Some(Keyword::Ignoring) => false,
            Some(Keyword::GroupLeft | Keyword::GroupRight) => {
                let help = "Say which labels match first: `on (label) group_left`.";
                let message = "`group_left` and `group_right` need `on (…)` or `ignoring (…)` before them.";
                return Err(Error::new(Code::Matching, op_span.to(self.span()), message, help));
            }
            _ => return Ok(None),
        };
        self.advance();
        let labels = self.grouping(only)?;
        let side = match self.keyword() {
            Some(Keyword::GroupLeft) => Many::Left,
            Some(Keyword::GroupRight) => Many::Right,
            _ => return Ok(Some(Matching { labels, many: None })),
        };
        self.advance();
        let include = if *self.kind() == Kind::LeftParen { self.grouping(true)?.labels } else { Vec::new() };
        Ok(Some(Matching { labels, many: Some((side, include)) }))
    }

    /// An operand with the signs in front of it. A sign binds like a multiplication: `-x ^ 2` is `-(x ^ 2)`.
    fn signed(&mut self) -> Result<Tree, Error> {
        let sign = match self.kind() {
            Kind::Operator(BinaryOp::Add) => Sign::Plus,
            Kind::Operator(BinaryOp::Subtract) => Sign::Minus,
            _ => return self.operand(),
        };
        let start = self.advance();
        let inner = self.expression(BinaryOp::Power.precedence())?;
        let span = start.to(inner.expr.span);
        if let ExprKind::Number(number) = inner.expr.kind {
            let number = if sign == Sign::Minus { -number } else { number };
            return Ok(Tree { expr: Expr { kind: ExprKind::Number(number), span }, height: inner.height });
        }
        self.node(ExprKind::Unary(sign, Box::new(inner.expr)), span, [inner.height])
    }

    fn operand(&mut self) -> Result<Tree, Error> {
        let tree = match self.kind() {
            Kind::LeftParen => self.parenthesis()?,
            Kind::LeftBrace => self.selector(None)?,
            Kind::Word(word) => self.named(word, self.span())?,
            _ => self.literal()?,
        };
        self.modifiers(tree)
    }

    fn parenthesis(&mut self) -> Result<Tree, Error> {
        let open = self.advance();
        let inner = self.expression(0)?;
        let close = self.close(&Kind::RightParen, open, "an operator or `)`")?;
        self.node(ExprKind::Paren(Box::new(inner.expr)), open.to(close), [inner.height])
    }

    fn literal(&mut self) -> Result<Tree, Error> {
        let kind = match self.kind() {
            Kind::Number(number) => ExprKind::Number(*number),
            Kind::Duration(duration) => ExprKind::Number(duration.as_seconds()),
            Kind::String(text) => ExprKind::String(text.clone()),
            _ => return Err(self.unexpected("an expression")),
        };
        let span = self.advance();
        self.node(kind, span, [])
    }
}

#[cfg(test)]
mod tests;
