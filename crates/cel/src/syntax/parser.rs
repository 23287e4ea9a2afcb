//! Words become a tree, with one loop and a stack of what is open: no text makes it recurse, and its time is linear.
//!
//! Nesting is counted as Kubernetes' parser counts it (cel-go: each rule of the grammar at most 250 levels deep, and at
//! most 250 operators, selections and calls within each other), so that both refuse the same expressions.

mod build;
mod frame;

use crate::cost::limits::Limits;
use crate::error::{CelError, ErrorClass};
use crate::syntax::ast::{Ast, BinaryOp, NodeId, NodeKind, Text};
use crate::syntax::lexer;
use crate::syntax::literal;
use crate::syntax::span::Span;
use crate::syntax::token::{Token, TokenKind, is_reserved};

use frame::{Depth, Frame};

/// Parses an expression.
pub fn parse(source: &str, limits: &Limits) -> Result<Ast, CelError> {
    let tokens = lexer::tokens(source, limits)?;
    let mut parser = Parser::new(source, tokens, limits);
    parser.run()?;
    Ok(parser.ast)
}

struct Parser<'s> {
    source: &'s str,
    tokens: Vec<Token>,
    at: usize,
    ast: Ast,
    /// How many counted levels are below each node.
    heights: Vec<u16>,
    frames: Vec<Frame>,
    /// Elements of the lists, maps, calls and chains that are open.
    pending: Vec<crate::syntax::ast::Child>,
    depth: Depth,
    limits: Limits,
}

impl Parser<'_> {
    fn peek(&self) -> Token {
        self.peek_at(0)
    }

    fn peek_at(&self, ahead: usize) -> Token {
        let last = self.tokens.last().copied();
        let end = Token { kind: TokenKind::End, span: last.map_or(Span::default(), |token| token.span) };
        self.tokens.get(self.at.saturating_add(ahead)).copied().unwrap_or(end)
    }

    fn advance(&mut self) -> Token {
        let token = self.peek();
        self.at = self.at.saturating_add(1);
        token
    }

    fn eat(&mut self, kind: TokenKind) -> bool {
        let found = self.peek().kind == kind;
        if found {
            self.at = self.at.saturating_add(1);
        }
        found
    }

    fn unexpected(&self, wanted: &str) -> CelError {
        let token = self.peek();
        let detail = format!("expected {wanted}, found {}", token.kind.describe());
        CelError::with(ErrorClass::Syntax, token.span, detail)
    }

    fn run(&mut self) -> Result<(), CelError> {
        loop {
            let Some(mut value) = self.operand()? else { continue };
            // A value is complete: what follows it belongs to it, closes something, or joins it to what comes next.
            while let Some(complete) = self.postfix(value)? {
                match self.join(complete)? {
                    Joined::Value(closed) => value = closed,
                    Joined::Operand => break,
                    Joined::End => return Ok(()),
                }
            }
        }
    }

    /// Reads the start of an operand. A bracket that was opened gives nothing: its content comes next.
    fn operand(&mut self) -> Result<Option<NodeId>, CelError> {
        self.unary();
        let token = self.peek();
        match token.kind {
            TokenKind::Minus if is_number(self.peek_at(1).kind) => {
                self.advance();
                let number = self.advance();
                self.number(number, token.span.to(number.span), true).map(Some)
            }
            TokenKind::Int | TokenKind::Uint | TokenKind::Double => {
                self.advance();
                self.number(token, token.span, false).map(Some)
            }
            TokenKind::String | TokenKind::Bytes => {
                self.advance();
                self.string(token).map(Some)
            }
            TokenKind::True | TokenKind::False => {
                self.advance();
                self.leaf(NodeKind::Bool(token.kind == TokenKind::True), token.span).map(Some)
            }
            TokenKind::Null => {
                self.advance();
                self.leaf(NodeKind::Null, token.span).map(Some)
            }
            TokenKind::Identifier | TokenKind::Dot => self.name(),
            TokenKind::LeftParen => {
                self.advance();
                self.open(Frame::Paren)?;
                Ok(None)
            }
            TokenKind::LeftBracket => {
                self.advance();
                let base = self.pending.len();
                if self.eat_closing(TokenKind::RightBracket) {
                    let span = token.span.to(self.previous_span());
                    return self.sequence(NodeKind::List, base, span).map(Some);
                }
                let optional = self.eat(TokenKind::Question);
                self.open(Frame::List { start: token.span, base, optional })?;
                Ok(None)
            }
            TokenKind::LeftBrace => {
                self.advance();
                let base = self.pending.len();
                if self.eat_closing(TokenKind::RightBrace) {
                    let span = token.span.to(self.previous_span());
                    return self.sequence(NodeKind::Map, base, span).map(Some);
                }
                let optional = self.eat(TokenKind::Question);
                self.open(Frame::MapKey { start: token.span, base, optional })?;
                Ok(None)
            }
            _ => Err(self.unexpected("a value")),
        }
    }

    /// A closing bracket right behind the opening one, perhaps with a comma between, which literals may have.
    fn eat_closing(&mut self, closing: TokenKind) -> bool {
        if self.peek().kind == TokenKind::Comma && self.peek_at(1).kind == closing {
            self.advance();
        }
        self.eat(closing)
    }

    fn previous_span(&self) -> Span {
        self.tokens.get(self.at.saturating_sub(1)).map_or(Span::default(), |token| token.span)
    }

    /// A run of `!` or of `-`: an even number of them is none. A single minus before a number belongs to the number.
    fn unary(&mut self) {
        let first = self.peek();
        if !matches!(first.kind, TokenKind::Not | TokenKind::Minus) {
            return;
        }
        if first.kind == TokenKind::Minus && is_number(self.peek_at(1).kind) {
            return;
        }
        let mut count = 0_usize;
        while self.eat(first.kind) {
            count = count.saturating_add(1);
        }
        if count % 2 == 1 {
            self.frames.push(Frame::Unary { negate: first.kind == TokenKind::Minus, start: first.span });
        }
    }

    fn number(&mut self, token: Token, span: Span, negative: bool) -> Result<NodeId, CelError> {
        let text = token.span.of(self.source);
        let kind = match token.kind {
            TokenKind::Int => literal::int(text, negative).map(NodeKind::Int),
            TokenKind::Uint if !negative => literal::uint(text).map(NodeKind::Uint),
            TokenKind::Double => literal::double(text, negative).map(NodeKind::Double),
            _ => None,
        };
        let Some(kind) = kind else {
            return Err(CelError::with(ErrorClass::Syntax, span, "the number is out of range"));
        };
        self.leaf(kind, span)
    }

    fn string(&mut self, token: Token) -> Result<NodeId, CelError> {
        let text = token.span.of(self.source);
        let quoted = literal::unquoted(text, token.span.start);
        let bad = |bad: literal::BadString| CelError::with(ErrorClass::Syntax, bad.span, bad.detail);
        let kind = if token.kind == TokenKind::Bytes {
            let start = self.ast.blobs.len();
            quoted.push_bytes(&mut self.ast.blobs).map_err(bad)?;
            NodeKind::Bytes(build::text(start, self.ast.blobs.len()))
        } else if quoted.has_escapes() {
            let start = self.ast.pool.len();
            quoted.push_text(&mut self.ast.pool).map_err(bad)?;
            NodeKind::String(build::text(start, self.ast.pool.len()))
        } else {
            let end = u32::try_from(quoted.content.len()).unwrap_or(u32::MAX).saturating_add(quoted.start);
            NodeKind::String(Text { start: quoted.start, end })
        };
        self.leaf(kind, token.span)
    }

    /// A name: of a variable, of a function, or of a message.
    fn name(&mut self) -> Result<Option<NodeId>, CelError> {
        let start = self.peek().span;
        let root = self.eat(TokenKind::Dot);
        let token = self.peek();
        if token.kind != TokenKind::Identifier {
            return Err(self.unexpected("a name"));
        }
        if let Some(length) = self.message_name() {
            let last = self.peek_at(length.saturating_sub(1));
            self.at = self.at.saturating_add(length);
            return self.message(start, token.span.to(last.span), root);
        }
        self.advance();
        let text = token.span.of(self.source);
        if is_reserved(text) {
            return Err(CelError::with(ErrorClass::Syntax, token.span, format!("`{text}` is a reserved word")));
        }
        let name = build::span_text(token.span);
        if self.eat(TokenKind::LeftParen) {
            return self.call(Frame::Call { start, name, root, target: None, base: self.pending.len() });
        }
        self.leaf(NodeKind::Ident { name, root }, start.to(token.span)).map(Some)
    }

    /// How many words the name of a message literal takes, if one follows: names and dots up to a brace.
    fn message_name(&self) -> Option<usize> {
        let mut length = 1_usize;
        loop {
            match (self.peek_at(length).kind, self.peek_at(length.saturating_add(1)).kind) {
                (TokenKind::LeftBrace, _) => return Some(length),
                (TokenKind::Dot, TokenKind::Identifier) => length = length.saturating_add(2),
                _ => return None,
            }
        }
    }

    fn message(&mut self, start: Span, name: Span, root: bool) -> Result<Option<NodeId>, CelError> {
        let name = build::span_text(name);
        let base = self.pending.len();
        self.advance();
        if self.eat_closing(TokenKind::RightBrace) {
            let span = start.to(self.previous_span());
            return self.sequence(|fields| NodeKind::Message { name, root, fields }, base, span).map(Some);
        }
        let (field, optional) = self.field_name()?;
        self.open(Frame::Field { start, name, root, base, field, optional })?;
        Ok(None)
    }

    /// `?field:`, of a message.
    fn field_name(&mut self) -> Result<(Text, bool), CelError> {
        let optional = self.eat(TokenKind::Question);
        let field = self.selector("the name of a field")?;
        if !self.eat(TokenKind::Colon) {
            return Err(self.unexpected("`:`"));
        }
        Ok((field, optional))
    }

    /// A name behind a dot, perhaps between backticks.
    fn selector(&mut self, wanted: &str) -> Result<Text, CelError> {
        let token = self.peek();
        let name = match token.kind {
            TokenKind::Identifier => build::span_text(token.span),
            TokenKind::QuotedIdentifier => {
                build::span_text(Span::new(token.span.start.saturating_add(1), token.span.end.saturating_sub(1)))
            }
            _ => return Err(self.unexpected(wanted)),
        };
        self.advance();
        Ok(name)
    }

    /// Arguments are next. A call without any is complete.
    fn call(&mut self, frame: Frame) -> Result<Option<NodeId>, CelError> {
        if self.eat(TokenKind::RightParen) {
            return self.close_call(&frame, self.previous_span()).map(Some);
        }
        self.open(frame)?;
        Ok(None)
    }
}

/// What became of a value and the word behind it.
enum Joined {
    /// A bracket was closed, and this is its value.
    Value(NodeId),
    /// An operand is next.
    Operand,
    /// The expression is complete.
    End,
}

fn is_number(kind: TokenKind) -> bool {
    matches!(kind, TokenKind::Int | TokenKind::Double)
}

fn binary_op(kind: TokenKind) -> Option<BinaryOp> {
    Some(match kind {
        TokenKind::Plus => BinaryOp::Add,
        TokenKind::Minus => BinaryOp::Subtract,
        TokenKind::Star => BinaryOp::Multiply,
        TokenKind::Slash => BinaryOp::Divide,
        TokenKind::Percent => BinaryOp::Modulo,
        TokenKind::Less => BinaryOp::Less,
        TokenKind::LessEqual => BinaryOp::LessEqual,
        TokenKind::Greater => BinaryOp::Greater,
        TokenKind::GreaterEqual => BinaryOp::GreaterEqual,
        TokenKind::Equal => BinaryOp::Equal,
        TokenKind::NotEqual => BinaryOp::NotEqual,
        TokenKind::In => BinaryOp::In,
        _ => return None,
    })
}

#[cfg(test)]
mod tests;
