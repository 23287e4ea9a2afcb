//! Text becomes words, in one pass. Numbers and strings are only delimited here; `literal` reads them.

use crate::cost::limits::Limits;
use crate::error::{CelError, ErrorClass};
use crate::syntax::span::Span;
use crate::syntax::token::{Token, TokenKind};

/// Splits a text into words; the last one is [`TokenKind::End`].
pub(crate) fn tokens(source: &str, limits: &Limits) -> Result<Vec<Token>, CelError> {
    let too_long = source.len() > limits.code_points && source.chars().nth(limits.code_points).is_some();
    if too_long || u32::try_from(source.len()).is_err() {
        let detail = format!("the expression has more than {} characters", limits.code_points);
        return Err(CelError::with(ErrorClass::TooLarge, Span::default(), detail));
    }
    let mut lexer = Lexer { source, bytes: source.as_bytes(), at: 0 };
    let mut tokens = Vec::with_capacity(source.len() / 3);
    loop {
        let token = lexer.next()?;
        tokens.push(token);
        if token.kind == TokenKind::End {
            return Ok(tokens);
        }
    }
}

struct Lexer<'s> {
    source: &'s str,
    bytes: &'s [u8],
    at: usize,
}

impl Lexer<'_> {
    fn peek(&self, ahead: usize) -> u8 {
        // A zero byte begins no word, so that it can stand for the end.
        self.bytes.get(self.at.saturating_add(ahead)).copied().unwrap_or(0)
    }

    fn advance(&mut self, count: usize) {
        self.at = self.at.saturating_add(count);
    }

    fn span_from(&self, start: usize) -> Span {
        let position = |at: usize| u32::try_from(at.min(self.bytes.len())).unwrap_or(u32::MAX);
        Span::new(position(start), position(self.at))
    }

    fn error(&self, start: usize, detail: &str) -> CelError {
        CelError::with(ErrorClass::Syntax, self.span_from(start), detail)
    }

    fn skip_blanks(&mut self) {
        loop {
            match self.peek(0) {
                b'\t' | b'\n' | 0x0c | b'\r' | b' ' => self.advance(1),
                b'/' if self.peek(1) == b'/' => {
                    let rest = self.bytes.get(self.at..).unwrap_or_default();
                    self.advance(rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len()));
                }
                _ => return,
            }
        }
    }

    fn next(&mut self) -> Result<Token, CelError> {
        self.skip_blanks();
        let start = self.at;
        if self.at >= self.bytes.len() {
            return Ok(Token { kind: TokenKind::End, span: self.span_from(start) });
        }
        let kind = match self.peek(0) {
            b'0'..=b'9' => self.number(),
            b'.' if self.peek(1).is_ascii_digit() => self.number(),
            b'"' | b'\'' => self.string(start, false, TokenKind::String)?,
            b'r' | b'R' if is_quote(self.peek(1)) => {
                self.advance(1);
                self.string(start, true, TokenKind::String)?
            }
            b'b' | b'B' if is_quote(self.peek(1)) => {
                self.advance(1);
                self.string(start, false, TokenKind::Bytes)?
            }
            b'b' | b'B' if matches!(self.peek(1), b'r' | b'R') && is_quote(self.peek(2)) => {
                self.advance(2);
                self.string(start, true, TokenKind::Bytes)?
            }
            b'a'..=b'z' | b'A'..=b'Z' | b'_' => self.word(start),
            b'`' => self.quoted_identifier(start)?,
            _ => self.symbol(start)?,
        };
        Ok(Token { kind, span: self.span_from(start) })
    }

    fn word(&mut self, start: usize) -> TokenKind {
        while self.peek(0).is_ascii_alphanumeric() || self.peek(0) == b'_' {
            self.advance(1);
        }
        match self.source.get(start..self.at) {
            Some("true") => TokenKind::True,
            Some("false") => TokenKind::False,
            Some("null") => TokenKind::Null,
            Some("in") => TokenKind::In,
            _ => TokenKind::Identifier,
        }
    }

    fn quoted_identifier(&mut self, start: usize) -> Result<TokenKind, CelError> {
        self.advance(1);
        let first = self.at;
        while self.peek(0).is_ascii_alphanumeric() || matches!(self.peek(0), b'_' | b'.' | b'-' | b'/' | b' ') {
            self.advance(1);
        }
        if self.peek(0) != b'`' || self.at == first {
            return Err(self.error(
                start,
                "a quoted name has letters, digits, `_`, `.`, `-`, `/` and spaces, and ends with a backtick",
            ));
        }
        self.advance(1);
        Ok(TokenKind::QuotedIdentifier)
    }

    fn digits(&mut self) {
        while self.peek(0).is_ascii_digit() {
            self.advance(1);
        }
    }

    fn number(&mut self) -> TokenKind {
        if self.peek(0) == b'0' && self.peek(1) == b'x' && self.peek(2).is_ascii_hexdigit() {
            self.advance(2);
            while self.peek(0).is_ascii_hexdigit() {
                self.advance(1);
            }
            return self.unsigned_or(TokenKind::Int);
        }
        self.digits();
        let mut kind = TokenKind::Int;
        if self.peek(0) == b'.' && self.peek(1).is_ascii_digit() {
            self.advance(1);
            self.digits();
            kind = TokenKind::Double;
        }
        if matches!(self.peek(0), b'e' | b'E') {
            let sign = usize::from(matches!(self.peek(1), b'+' | b'-'));
            if self.peek(1_usize.saturating_add(sign)).is_ascii_digit() {
                self.advance(1_usize.saturating_add(sign));
                self.digits();
                kind = TokenKind::Double;
            }
        }
        if kind == TokenKind::Int { self.unsigned_or(kind) } else { kind }
    }

    fn unsigned_or(&mut self, kind: TokenKind) -> TokenKind {
        if matches!(self.peek(0), b'u' | b'U') {
            self.advance(1);
            return TokenKind::Uint;
        }
        kind
    }

    /// Finds the end of a string whose opening quote is next.
    fn string(&mut self, start: usize, raw: bool, kind: TokenKind) -> Result<TokenKind, CelError> {
        let quote = self.peek(0);
        let triple = self.peek(1) == quote && self.peek(2) == quote;
        self.advance(if triple { 3 } else { 1 });
        loop {
            if self.at >= self.bytes.len() {
                return Err(self.error(start, "the string has no end"));
            }
            match self.peek(0) {
                byte if byte == quote && !triple => {
                    self.advance(1);
                    return Ok(kind);
                }
                byte if byte == quote && self.peek(1) == quote && self.peek(2) == quote => {
                    self.advance(3);
                    return Ok(kind);
                }
                b'\n' | b'\r' if !triple => {
                    return Err(
                        self.error(start, "the string has no end in its line; `'''` and `\"\"\"` may span lines")
                    );
                }
                b'\\' if !raw => self.advance(2),
                _ => self.advance(1),
            }
        }
    }

    fn symbol(&mut self, start: usize) -> Result<TokenKind, CelError> {
        let (kind, length) = match (self.peek(0), self.peek(1)) {
            (b'=', b'=') => (TokenKind::Equal, 2),
            (b'!', b'=') => (TokenKind::NotEqual, 2),
            (b'<', b'=') => (TokenKind::LessEqual, 2),
            (b'>', b'=') => (TokenKind::GreaterEqual, 2),
            (b'&', b'&') => (TokenKind::And, 2),
            (b'|', b'|') => (TokenKind::Or, 2),
            (b'<', _) => (TokenKind::Less, 1),
            (b'>', _) => (TokenKind::Greater, 1),
            (b'[', _) => (TokenKind::LeftBracket, 1),
            (b']', _) => (TokenKind::RightBracket, 1),
            (b'{', _) => (TokenKind::LeftBrace, 1),
            (b'}', _) => (TokenKind::RightBrace, 1),
            (b'(', _) => (TokenKind::LeftParen, 1),
            (b')', _) => (TokenKind::RightParen, 1),
            (b'.', _) => (TokenKind::Dot, 1),
            (b',', _) => (TokenKind::Comma, 1),
            (b'-', _) => (TokenKind::Minus, 1),
            (b'!', _) => (TokenKind::Not, 1),
            (b'?', _) => (TokenKind::Question, 1),
            (b':', _) => (TokenKind::Colon, 1),
            (b'+', _) => (TokenKind::Plus, 1),
            (b'*', _) => (TokenKind::Star, 1),
            (b'/', _) => (TokenKind::Slash, 1),
            (b'%', _) => (TokenKind::Percent, 1),
            _ => {
                let rest = self.source.get(start..).unwrap_or_default();
                self.advance(rest.chars().next().map_or(1, char::len_utf8));
                return Err(self.error(start, "this character is not part of CEL outside strings"));
            }
        };
        self.advance(length);
        Ok(kind)
    }
}

fn is_quote(byte: u8) -> bool {
    matches!(byte, b'"' | b'\'')
}
