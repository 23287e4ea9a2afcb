//! The words of CEL.

use crate::syntax::span::Span;

/// Words that are literals and operators.
const KEYWORDS: &[&str] = &["true", "false", "null", "in"];

/// Words that are no names of variables and functions, but may be names of fields and methods.
const RESERVED: &[&str] = &[
    "as",
    "break",
    "const",
    "continue",
    "else",
    "for",
    "function",
    "if",
    "import",
    "let",
    "loop",
    "package",
    "namespace",
    "return",
    "var",
    "void",
    "while",
];

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

/// Whether a word is a literal or an operator, and so no name of anything.
pub(crate) fn is_keyword(word: &str) -> bool {
    KEYWORDS.contains(&word)
}

/// Whether a word must not be the name of a variable or function although it is no keyword.
pub(crate) fn is_reserved(word: &str) -> bool {
    RESERVED.contains(&word)
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
