//! Cuts the text of a query into words.
//!
//! What a character means depends on where it stands: between braces there are no keywords and no arithmetic, between
//! brackets a colon is no part of a name. The lexer knows that much, so that the parser need not. It stops at the first
//! thing that is no word; the parser gets there only if what stands before it is in order.

use crate::error::{Code, Error};
use crate::syntax::ast::{BinaryOp, MatchOp, Span};
use crate::syntax::duration::{DurationError, Millis};
use crate::syntax::number;
use crate::syntax::strings::{self, StringError};
use crate::syntax::token::{Kind, Token, shorten};

/// The words of a text, and what stopped the lexer, if anything did.
pub(crate) struct Words<'t> {
    pub(crate) tokens: Vec<Token<'t>>,
    pub(crate) stopped: Option<Error>,
}

/// Cuts a text into words. The last one is always [`Kind::End`].
pub(crate) fn words(text: &str, experimental: bool) -> Words<'_> {
    let mut lexer = Lexer { text, at: 0, within: Within::Nothing, experimental };
    let mut tokens = Vec::new();
    let stopped = loop {
        lexer.skip();
        let start = lexer.at;
        match lexer.next() {
            Ok(Some(kind)) => tokens.push(Token { kind, span: Span::new(start, lexer.at) }),
            Ok(None) => break None,
            Err(error) => break Some(error),
        }
    };
    tokens.push(Token { kind: Kind::End, span: Span::new(lexer.at, lexer.at) });
    Words { tokens, stopped }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Within {
    Nothing,
    Braces,
    Brackets,
}

struct Lexer<'t> {
    text: &'t str,
    at: usize,
    within: Within,
    /// Whether arithmetic in durations is read.
    experimental: bool,
}

impl<'t> Lexer<'t> {
    fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn advance(&mut self, bytes: usize) {
        self.at = self.at.saturating_add(bytes).min(self.text.len());
    }

    fn eat(&mut self, prefix: &str) -> bool {
        let found = self.rest().starts_with(prefix);
        if found {
            self.advance(prefix.len());
        }
        found
    }

    /// Takes the longest run of characters for which `belongs` holds.
    fn run(&mut self, belongs: impl Fn(char) -> bool) -> &'t str {
        let rest = self.rest();
        let length = rest.find(|c| !belongs(c)).unwrap_or(rest.len());
        self.advance(length);
        rest.get(..length).unwrap_or_default()
    }

    /// Skips spaces and comments.
    fn skip(&mut self) {
        loop {
            self.run(|c| matches!(c, ' ' | '\t' | '\n' | '\r'));
            if self.peek() != Some('#') {
                return;
            }
            self.run(|c| !matches!(c, '\n' | '\r'));
        }
    }

    fn next(&mut self) -> Result<Option<Kind<'t>>, Error> {
        let Some(c) = self.peek() else { return Ok(None) };
        if matches!(c, '"' | '\'' | '`') && self.within != Within::Brackets {
            return self.string(c).map(Some);
        }
        match self.within {
            Within::Nothing => self.plain(c),
            Within::Braces => self.in_braces(c),
            Within::Brackets => self.in_brackets(c),
        }
        .map(Some)
    }

    fn plain(&mut self, c: char) -> Result<Kind<'t>, Error> {
        if c.is_ascii_alphabetic() || matches!(c, '_' | ':') {
            let word = self.run(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | ':'));
            return Ok(if word.eq_ignore_ascii_case("inf") {
                Kind::Number(f64::INFINITY)
            } else if word.eq_ignore_ascii_case("nan") {
                Kind::Number(f64::NAN)
            } else {
                Kind::Word(word)
            });
        }
        if self.at_number(c) {
            return self.number();
        }
        for trim in ["</", ">/"] {
            if self.rest().starts_with(trim) {
                let span = Span::new(self.at, self.at.saturating_add(2));
                return Err(experimental(span, &format!("`{trim}` (trimming of histograms)")));
            }
        }
        // Longer operators first: "<=" is not "<" and "=".
        for (text, op) in [
            ("==", BinaryOp::Equal),
            ("!=", BinaryOp::NotEqual),
            ("<=", BinaryOp::LessEqual),
            (">=", BinaryOp::GreaterEqual),
            ("<", BinaryOp::Less),
            (">", BinaryOp::Greater),
            ("+", BinaryOp::Add),
            ("-", BinaryOp::Subtract),
            ("*", BinaryOp::Multiply),
            ("/", BinaryOp::Divide),
            ("%", BinaryOp::Modulo),
            ("^", BinaryOp::Power),
        ] {
            if self.eat(text) {
                return Ok(Kind::Operator(op));
            }
        }
        for text in ["=~", "!~", "="] {
            if self.rest().starts_with(text) {
                let help = if text == "=" {
                    "Values are compared with `==`; labels are compared within braces: `metric{label=\"value\"}`."
                } else {
                    "Labels are matched within braces: `metric{label=~\"pattern\"}`."
                };
                return Err(self.refuse(text.len(), format!("`{text}` is only allowed inside braces."), help));
            }
        }
        Ok(match c {
            '(' => self.take(Kind::LeftParen),
            ')' => self.take(Kind::RightParen),
            ',' => self.take(Kind::Comma),
            '@' => self.take(Kind::At),
            '{' => {
                self.within = Within::Braces;
                self.take(Kind::LeftBrace)
            }
            '[' => {
                self.within = Within::Brackets;
                self.take(Kind::LeftBracket)
            }
            ']' | '}' => {
                let help = "Remove it, or add the opening one.";
                return Err(self.refuse(1, format!("`{c}` has no opening one."), help));
            }
            _ => return Err(self.stray(c)),
        })
    }

    fn in_braces(&mut self, c: char) -> Result<Kind<'t>, Error> {
        if c.is_ascii_alphabetic() || c == '_' {
            return Ok(Kind::Word(self.run(|c| c.is_ascii_alphanumeric() || c == '_')));
        }
        for (text, op) in
            [("=~", MatchOp::Matches), ("!~", MatchOp::NotMatches), ("!=", MatchOp::NotEqual), ("=", MatchOp::Equal)]
        {
            if self.eat(text) {
                return Ok(Kind::Match(op));
            }
        }
        match c {
            ',' => Ok(self.take(Kind::Comma)),
            '}' => {
                self.within = Within::Nothing;
                Ok(self.take(Kind::RightBrace))
            }
            _ => Err(self.stray(c)),
        }
    }

    fn in_brackets(&mut self, c: char) -> Result<Kind<'t>, Error> {
        if self.at_number(c) {
            return self.number();
        }
        match c {
            ':' => Ok(self.take(Kind::Colon)),
            ']' => {
                self.within = Within::Nothing;
                Ok(self.take(Kind::RightBracket))
            }
            '+' | '-' | '*' | '/' | '%' | '^' | '(' | ')' | ',' if self.experimental => self.arithmetic(c),
            '+' | '-' | '*' | '/' | '%' | '^' | '(' | ')' | ',' => {
                let span = Span::new(self.at, self.at.saturating_add(1));
                Err(experimental(span, "arithmetic in a duration"))
            }
            _ if c.is_ascii_alphabetic() => {
                let start = self.at;
                let word = self.run(|c| c.is_ascii_alphanumeric() || c == '_');
                let span = Span::new(start, self.at);
                let known = ["step", "range", "min_of", "max_of"];
                if known.iter().any(|known| word.eq_ignore_ascii_case(known)) {
                    if self.experimental {
                        return Ok(Kind::Word(word));
                    }
                    return Err(experimental(span, &format!("`{word}` in a duration")));
                }
                let message = format!("`{}` is not a duration.", shorten(word));
                Err(Error::new(Code::Number, span, message, "A duration is a number and a unit, such as `5m`."))
            }
            _ => Err(self.stray(c)),
        }
    }

    /// A character of arithmetic in a duration.
    fn arithmetic(&mut self, c: char) -> Result<Kind<'t>, Error> {
        Ok(self.take(match c {
            '(' => Kind::LeftParen,
            ')' => Kind::RightParen,
            ',' => Kind::Comma,
            '+' => Kind::Operator(BinaryOp::Add),
            '-' => Kind::Operator(BinaryOp::Subtract),
            '*' => Kind::Operator(BinaryOp::Multiply),
            '/' => Kind::Operator(BinaryOp::Divide),
            '%' => Kind::Operator(BinaryOp::Modulo),
            '^' => Kind::Operator(BinaryOp::Power),
            _ => return Err(self.stray(c)),
        }))
    }

    fn take(&mut self, kind: Kind<'t>) -> Kind<'t> {
        self.advance(1);
        kind
    }

    fn at_number(&self, c: char) -> bool {
        c.is_ascii_digit() || (c == '.' && self.rest().chars().nth(1).is_some_and(|next| next.is_ascii_digit()))
    }

    fn number(&mut self) -> Result<Kind<'t>, Error> {
        let start = self.at;
        let belongs = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.');
        let mut text = self.run(belongs);
        // The sign of an exponent belongs to the number, if there is an exponent.
        if let Some(mantissa) = text.strip_suffix(['e', 'E'])
            && mantissa.chars().all(|c| c.is_ascii_digit() || matches!(c, '_' | '.'))
            && matches!(self.peek(), Some('+' | '-'))
        {
            self.advance(1);
            self.run(belongs);
            text = self.text.get(start..self.at).unwrap_or_default();
        }
        if let Some(number) = number::parse(text) {
            return Ok(Kind::Number(number));
        }
        let span = Span::new(start, self.at);
        match Millis::parse(text) {
            Ok(duration) => Ok(Kind::Duration(duration)),
            Err(DurationError::Range) => {
                let message = format!("The duration `{}` is too long.", shorten(text));
                Err(Error::new(Code::Number, span, message, "The longest duration is about 292 years."))
            }
            Err(DurationError::Form) => {
                let message = format!("`{}` is neither a number nor a duration.", shorten(text));
                let help =
                    "Numbers are written `1`, `0.5`, `1e3` or `0x1F`; durations `5m` or `1h30m`, largest unit first.";
                Err(Error::new(Code::Number, span, message, help))
            }
        }
    }

    fn string(&mut self, quote: char) -> Result<Kind<'t>, Error> {
        let start = self.at;
        self.advance(1);
        let body_at = self.at;
        let mut escaped = false;
        let mut length = None;
        for (at, c) in self.rest().char_indices() {
            match c {
                '\n' if quote != '`' => break,
                _ if escaped => escaped = false,
                '\\' if quote != '`' => escaped = true,
                c if c == quote => {
                    length = Some(at);
                    break;
                }
                _ => {}
            }
        }
        let Some(length) = length else {
            let span = Span::new(start, start.saturating_add(1));
            let help = format!("Close it with {quote} on the same line; backquotes may hold several lines.");
            return Err(Error::new(Code::Text, span, "The string does not end.", help));
        };
        let body = self.rest().get(..length).unwrap_or_default();
        self.advance(length.saturating_add(1));
        strings::unquote(body, quote).map(Kind::String).map_err(|error| match error {
            StringError::Escape(at) => {
                let from = body_at.saturating_add(at);
                let wide = body.get(at..).unwrap_or_default().chars().take(2).map(char::len_utf8).sum();
                let help = "Write `\\\\` for a backslash, or quote the string with backquotes.";
                let span = Span::new(from, from.saturating_add(wide));
                Error::new(Code::Text, span, "The string has an unknown escape.", help)
            }
            StringError::Utf8 => Error::new(
                Code::Text,
                Span::new(start, self.at),
                "The escapes of the string are not valid UTF-8.",
                "Names and values of labels are UTF-8; write the characters themselves.",
            ),
        })
    }

    fn stray(&mut self, c: char) -> Error {
        let (place, help) = match self.within {
            Within::Nothing => {
                ("", "Names have letters, digits, `_` and `:`; other names must be quoted, inside braces.")
            }
            Within::Braces => {
                (" within braces", "Inside braces, write matchers such as `label=\"value\"`, separated by commas.")
            }
            Within::Brackets => {
                (" within brackets", "Inside brackets, write a duration such as `5m`, or two as in `1h:5m`.")
            }
        };
        self.refuse(c.len_utf8(), format!("{c:?} is not allowed{place}."), help)
    }

    fn refuse(&self, bytes: usize, message: String, help: &str) -> Error {
        Error::new(Code::Character, Span::new(self.at, self.at.saturating_add(bytes)), message, help)
    }
}

/// The error for syntax that Prometheus has behind a feature flag.
pub(crate) fn experimental(span: Span, what: &str) -> Error {
    let message = format!("Experimental syntax is not supported: {what}.");
    Error::new(Code::Experimental, span, message, "Use the stable language: most clusters do not have this enabled.")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> Vec<Kind<'_>> {
        words(text, false).tokens.into_iter().map(|token| token.kind).collect()
    }

    #[test]
    fn a_colon_belongs_to_names_but_not_to_subqueries() {
        assert_eq!(kinds("a:b")[0], Kind::Word("a:b"));
        assert_eq!(kinds("x[5m:1m]")[3], Kind::Colon);
    }

    #[test]
    fn the_sign_of_an_exponent_belongs_to_the_number() {
        assert_eq!(kinds("1e-3"), [Kind::Number(0.001), Kind::End]);
        assert_eq!(kinds("5m-3")[0], Kind::Duration(Millis(300_000)));
        assert_eq!(kinds("0x1e+1")[0], Kind::Number(30.0));
    }

    #[test]
    fn what_is_no_word_is_named_with_its_place() {
        for (text, code, span) in [
            ("x ?", Code::Character, (2, 3)),
            ("x{a=5}", Code::Character, (4, 5)),
            ("x =~ 1", Code::Character, (2, 4)),
            ("x[5x]", Code::Number, (2, 4)),
            ("x[y]", Code::Number, (2, 3)),
            ("x[1+1]", Code::Experimental, (3, 4)),
            ("x[step()]", Code::Experimental, (2, 6)),
            ("x </ 1", Code::Experimental, (2, 4)),
            ("\"abc", Code::Text, (0, 1)),
            ("\"ab\\.c\"", Code::Text, (3, 5)),
            ("'a\nb'", Code::Text, (0, 1)),
            ("1e", Code::Number, (0, 2)),
            ("x]", Code::Character, (1, 2)),
        ] {
            let error = words(text, false).stopped.unwrap_or_else(|| panic!("{text} should stop the lexer"));
            assert_eq!((error.code, (error.span.start, error.span.end)), (code, span), "{text}");
        }
    }
}
