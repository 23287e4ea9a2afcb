//! What starts with a name: aggregations, function calls, and selectors.

use super::{Parser, Tree};
use crate::analysis::functions::{FUNCTIONS, Function, function};
use crate::error::{Code, Error};
use crate::syntax::ast::{Aggregate, AggregateOp, Call, ExprKind, Grouping, Name, Span};
use crate::syntax::lexer::experimental;
use crate::syntax::token::{Keyword, Kind, shorten};

impl<'t> Parser<'t> {
    /// An expression that starts with `word`, which stands at `span`.
    pub(super) fn named(&mut self, word: &'t str, span: Span) -> Result<Tree, Error> {
        let keyword = Keyword::of(word);
        let called = *self.next_kind() == Kind::LeftParen;
        match keyword {
            Some(Keyword::Aggregate(op)) if called || self.next_is_grouping() => self.aggregate(op, span),
            Some(Keyword::Start | Keyword::End | Keyword::Query) | None if called => self.call(word, span),
            Some(keyword) if !keyword.may_name_metric() => Err(self.unexpected("an expression")),
            _ => {
                self.advance();
                self.selector(Some(Name { text: word.to_owned(), span }))
            }
        }
    }

    fn next_is_grouping(&self) -> bool {
        match self.next_kind() {
            Kind::Word(word) => matches!(Keyword::of(word), Some(Keyword::By | Keyword::Without)),
            _ => false,
        }
    }

    fn aggregate(&mut self, op: AggregateOp, start: Span) -> Result<Tree, Error> {
        self.advance();
        let mut grouping = self.maybe_grouping()?;
        if *self.kind() != Kind::LeftParen {
            return Err(self.unexpected("`(` and the expression to aggregate"));
        }
        let (arguments, mut end) = self.arguments()?;
        if grouping.is_none() {
            grouping = self.maybe_grouping()?;
            if let (Some(_), Some(last)) = (&grouping, self.tokens.get(self.at.saturating_sub(1))) {
                end = last.span;
            }
        }
        self.aggregated(op, grouping, arguments, start.to(end))
    }

    /// Puts an aggregation together. Apart from [`Parser::aggregate`], so that its frame is not on the stack while the
    /// arguments are read.
    fn aggregated(
        &self,
        op: AggregateOp,
        grouping: Option<Grouping>,
        arguments: Vec<Tree>,
        span: Span,
    ) -> Result<Tree, Error> {
        let heights: Vec<usize> = arguments.iter().map(|argument| argument.height).collect();
        let given = arguments.len();
        let mut arguments = arguments.into_iter().map(|argument| argument.expr);
        let wanted = if op.has_parameter() { 2 } else { 1 };
        let parameter = if op.has_parameter() { arguments.next() } else { None };
        if let (Some(expr), true) = (arguments.next(), given == wanted) {
            let aggregate = Aggregate { op, grouping, parameter, expr };
            return self.node(ExprKind::Aggregate(Box::new(aggregate)), span, heights);
        }
        let name = op.as_str();
        let message = format!("`{name}` takes {}, not {given}.", count(wanted, Some(wanted)));
        let form = if op.has_parameter() { "parameter, vector" } else { "vector" };
        Err(Error::new(Code::Function, span, message, format!("Write `{name}({form})`.")))
    }

    fn maybe_grouping(&mut self) -> Result<Option<Grouping>, Error> {
        let only = match self.keyword() {
            Some(Keyword::By) => true,
            Some(Keyword::Without) => false,
            _ => return Ok(None),
        };
        self.advance();
        self.grouping(only).map(Some)
    }

    /// Labels in parentheses; a comma may follow the last one.
    pub(super) fn grouping(&mut self, only: bool) -> Result<Grouping, Error> {
        let Some(open) = self.eat(&Kind::LeftParen) else { return Err(self.unexpected("`(` with labels")) };
        let mut labels = Vec::new();
        while *self.kind() != Kind::RightParen {
            let text = match self.kind() {
                Kind::Word(word) if Keyword::of(word).is_none_or(Keyword::may_be_label) => (*word).to_owned(),
                Kind::String(text) if !text.is_empty() => text.clone(),
                _ => return Err(self.unexpected("a label")),
            };
            let span = self.advance();
            labels.push(Name { text, span });
            if self.eat(&Kind::Comma).is_none() {
                break;
            }
        }
        self.close(&Kind::RightParen, open, "`,` or `)`")?;
        Ok(Grouping { only, labels })
    }

    fn call(&mut self, word: &'t str, name_span: Span) -> Result<Tree, Error> {
        let function = known_function(word, name_span)?;
        self.advance();
        let (arguments, end) = self.arguments()?;
        self.called(function, arguments, name_span, name_span.to(end))
    }

    /// Puts a call together; apart from [`Parser::call`] for the same reason.
    fn called(
        &self,
        function: &'static Function,
        arguments: Vec<Tree>,
        name_span: Span,
        span: Span,
    ) -> Result<Tree, Error> {
        let (name, least, most) = (function.name, function.arity.least, function.arity.most);
        if arguments.len() < least || most.is_some_and(|most| arguments.len() > most) {
            let message = format!("`{name}` takes {}, not {}.", count(least, most), arguments.len());
            let types: Vec<&str> = function.arguments.iter().map(|argument| argument.as_str()).collect();
            let help = format!("Write `{name}({})`.", types.join(", "));
            return Err(Error::new(Code::Function, span, message, help));
        }
        let heights: Vec<usize> = arguments.iter().map(|argument| argument.height).collect();
        let arguments = arguments.into_iter().map(|argument| argument.expr).collect();
        self.node(ExprKind::Call(Call { function, name_span, arguments }), span, heights)
    }

    /// Expressions in parentheses with commas between, and where the closing one stands.
    fn arguments(&mut self) -> Result<(Vec<Tree>, Span), Error> {
        let open = self.advance();
        let mut arguments = Vec::new();
        if let Some(close) = self.eat(&Kind::RightParen) {
            return Ok((arguments, close));
        }
        loop {
            arguments.push(self.expression(0)?);
            let Some(comma) = self.eat(&Kind::Comma) else { break };
            if *self.kind() == Kind::RightParen {
                return Err(trailing_comma(comma));
            }
        }
        let close = self.close(&Kind::RightParen, open, "an operator, `,` or `)`")?;
        Ok((arguments, close))
    }
}

fn trailing_comma(comma: Span) -> Error {
    Error::new(Code::Syntax, comma, "No argument follows this comma.", "Remove the comma.")
}

fn known_function(word: &str, span: Span) -> Result<&'static Function, Error> {
    let lower = word.to_ascii_lowercase();
    // Names of functions are case-sensitive, but for those that are keywords as well.
    if let Some(function) = function(if Keyword::of(word).is_some() { &lower } else { word }) {
        return Ok(function);
    }
    if matches!(lower.as_str(), "fill" | "fill_left" | "fill_right") {
        return Err(experimental(span, &format!("`{word}`")));
    }
    let message = format!("There is no function `{}`.", shorten(word));
    Err(Error::new(Code::Function, span, message, suggestion(&lower)))
}

/// "one argument", "1 to 2 arguments", "at least 3 arguments".
fn count(least: usize, most: Option<usize>) -> String {
    match most {
        Some(1) if least == 1 => "one argument".to_owned(),
        Some(0) => "no arguments".to_owned(),
        Some(most) if most == least => format!("{most} arguments"),
        Some(most) => format!("{least} to {most} arguments"),
        None => format!("at least {least} arguments"),
    }
}

/// The function whose name shares the most with `name`, if that is enough to guess.
fn suggestion(name: &str) -> String {
    let shared = |known: &str| known.chars().zip(name.chars()).take_while(|(a, b)| a == b).count();
    match FUNCTIONS.iter().map(|function| (shared(function.name), function.name)).max_by_key(|(shared, _)| *shared) {
        Some((shared, known)) if shared >= 4 || known == name => format!("Did you mean `{known}`?"),
        _ => "Names of functions are case-sensitive; see the list in the Prometheus manual.".to_owned(),
    }
}
