//! The words of CEL.

use crate::span::Span;

/// A word and where it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Token {
    pub(crate) kind: TokenKind,
    pub(crate) span: Span,
}

/// The kind of a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TokenKind {
    Identifier,
    /// An identifier between backticks.
    QuotedIdentifier,
    Int,
    Uint,
    Double,
    String,
    Bytes,
    True,
    False,
    Null,
    In,
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    And,
    Or,
    LeftBracket,
    RightBracket,
    LeftBrace,
    RightBrace,
    LeftParen,
    RightParen,
    Dot,
    Comma,
    Minus,
    Not,
    Question,
    Colon,
    Plus,
    Star,
    Slash,
    Percent,
    End,
}

impl TokenKind {
    /// How a message names it.
    pub(crate) const fn describe(self) -> &'static str {
        match self {
            TokenKind::Identifier => "a name",
            TokenKind::QuotedIdentifier => "a quoted name",
            TokenKind::Int | TokenKind::Uint | TokenKind::Double => "a number",
            TokenKind::String => "a string",
            TokenKind::Bytes => "bytes",
            TokenKind::True => "`true`",
            TokenKind::False => "`false`",
            TokenKind::Null => "`null`",
            TokenKind::In => "`in`",
            TokenKind::Equal => "`==`",
            TokenKind::NotEqual => "`!=`",
            TokenKind::Less => "`<`",
            TokenKind::LessEqual => "`<=`",
            TokenKind::Greater => "`>`",
            TokenKind::GreaterEqual => "`>=`",
            TokenKind::And => "`&&`",
            TokenKind::Or => "`||`",
            TokenKind::LeftBracket => "`[`",
            TokenKind::RightBracket => "`]`",
            TokenKind::LeftBrace => "`{`",
            TokenKind::RightBrace => "`}`",
            TokenKind::LeftParen => "`(`",
            TokenKind::RightParen => "`)`",
            TokenKind::Dot => "`.`",
            TokenKind::Comma => "`,`",
            TokenKind::Minus => "`-`",
            TokenKind::Not => "`!`",
            TokenKind::Question => "`?`",
            TokenKind::Colon => "`:`",
            TokenKind::Plus => "`+`",
            TokenKind::Star => "`*`",
            TokenKind::Slash => "`/`",
            TokenKind::Percent => "`%`",
            TokenKind::End => "the end of the expression",
        }
    }
}
