//! How values are joined, closed and put into the tree.

use super::frame::{self, Depth, Frame};
use super::{Joined, Parser, binary_op};
use crate::cost::limits::Limits;
use crate::error::{CelError, ErrorClass};
use crate::syntax::ast::{Ast, Child, Node, NodeId, NodeKind, Range, Text};
use crate::syntax::span::Span;
use crate::syntax::token::{Token, TokenKind};

impl<'s> Parser<'s> {
    pub(super) fn new(source: &'s str, tokens: Vec<Token>, limits: &Limits) -> Self {
        let ast = Ast {
            pool: source.to_owned(),
            source_bytes: source.len(),
            blobs: Vec::new(),
            nodes: Vec::with_capacity(tokens.len()),
            children: Vec::new(),
        };
        Parser {
            source,
            tokens,
            at: 0,
            ast,
            heights: Vec::new(),
            frames: Vec::new(),
            pending: Vec::new(),
            depth: Depth::START,
            limits: limits.clone(),
        }
    }

    /// Puts a bracket on the stack.
    pub(super) fn open(&mut self, frame: Frame) -> Result<(), CelError> {
        self.depth.enter();
        self.frames.push(frame);
        self.check_depth()
    }

    fn check_depth(&self) -> Result<(), CelError> {
        if self.depth.deepest() > self.limits.nesting {
            return Err(self.too_deep(self.peek().span));
        }
        Ok(())
    }

    fn too_deep(&self, span: Span) -> CelError {
        let detail = format!("the expression is nested more than {} levels deep", self.limits.nesting);
        CelError::with(ErrorClass::TooLarge, span, detail)
    }

    /// A part without parts.
    pub(super) fn leaf(&mut self, kind: NodeKind, span: Span) -> Result<NodeId, CelError> {
        self.push(kind, span, 0, &[])
    }

    /// A part whose height is that of its highest part and `counted`.
    fn push(&mut self, kind: NodeKind, span: Span, counted: u16, parts: &[NodeId]) -> Result<NodeId, CelError> {
        let below = parts.iter().map(|part| self.height(*part)).max().unwrap_or(0);
        self.push_at(kind, span, below.saturating_add(counted))
    }

    fn push_at(&mut self, kind: NodeKind, span: Span, height: u16) -> Result<NodeId, CelError> {
        if usize::from(height) > self.limits.nesting {
            return Err(self.too_deep(span));
        }
        let id = u32::try_from(self.ast.nodes.len()).unwrap_or(u32::MAX);
        self.ast.nodes.push(Node { kind, span });
        self.heights.push(height);
        Ok(id)
    }

    fn height(&self, id: NodeId) -> u16 {
        self.heights.get(id as usize).copied().unwrap_or(0)
    }

    fn span(&self, id: NodeId) -> Span {
        self.ast.node(id).span
    }

    /// Takes what is pending from `base` on as the parts of a new one.
    pub(super) fn sequence(
        &mut self,
        kind: impl FnOnce(Range) -> NodeKind,
        base: usize,
        span: Span,
    ) -> Result<NodeId, CelError> {
        let (range, height) = self.take_pending(base);
        self.push_at(kind(range), span, height)
    }

    fn take_pending(&mut self, base: usize) -> (Range, u16) {
        let base = base.min(self.pending.len());
        let taken = self.pending.get(base..).unwrap_or_default();
        let height = taken.iter().map(|child| self.height(child.node)).max().unwrap_or(0);
        let start = u32::try_from(self.ast.children.len()).unwrap_or(u32::MAX);
        let len = u32::try_from(taken.len()).unwrap_or(u32::MAX);
        self.ast.children.extend_from_slice(taken);
        self.pending.truncate(base);
        (Range { start, len }, height)
    }

    /// A call whose arguments are pending.
    pub(super) fn close_call(&mut self, call: &Frame, end: Span) -> Result<NodeId, CelError> {
        let Frame::Call { start, name, root, target, base } = *call else {
            return Err(self.unexpected("a call"));
        };
        let (arguments, height) = self.take_pending(base);
        let span = start.to(end);
        match target {
            None => self.push_at(NodeKind::Call { name, root, arguments }, span, height),
            Some(target) => {
                let height = height.max(self.height(target)).saturating_add(1);
                self.push_at(NodeKind::MemberCall { target, name, arguments }, span, height)
            }
        }
    }

    /// Selections, calls and indexes behind a value; nothing if one of them was opened and waits for its content.
    pub(super) fn postfix(&mut self, mut value: NodeId) -> Result<Option<NodeId>, CelError> {
        loop {
            let start = self.span(value);
            if self.eat(TokenKind::Dot) {
                let optional = self.eat(TokenKind::Question);
                let token = self.peek();
                let name = self.selector("a name")?;
                let callable = token.kind == TokenKind::Identifier && !optional;
                if callable && self.eat(TokenKind::LeftParen) {
                    let base = self.pending.len();
                    let call = Frame::Call { start, name, root: false, target: Some(value), base };
                    match self.call(call)? {
                        Some(closed) => value = closed,
                        None => return Ok(None),
                    }
                } else {
                    let kind = NodeKind::Select { operand: value, field: name, optional };
                    value = self.push(kind, start.to(token.span), 1, &[value])?;
                }
            } else if self.eat(TokenKind::LeftBracket) {
                let optional = self.eat(TokenKind::Question);
                self.open(Frame::Index { operand: value, optional })?;
                return Ok(None);
            } else {
                return Ok(Some(value));
            }
        }
    }

    /// Joins a value with the word behind it.
    pub(super) fn join(&mut self, value: NodeId) -> Result<Joined, CelError> {
        let token = self.peek();
        if let Some(op) = binary_op(token.kind) {
            self.advance();
            let left = self.reduce(value, frame::binding(op))?;
            self.frames.push(Frame::Binary { op, left });
            self.depth.operator(op, true);
            self.check_depth()?;
            return Ok(Joined::Operand);
        }
        match token.kind {
            TokenKind::And | TokenKind::Or => {
                self.advance();
                let and = token.kind == TokenKind::And;
                let term = self.reduce(value, if and { frame::RELATION } else { frame::AND })?;
                if !matches!(self.frames.last(), Some(Frame::Logic { and: open, .. }) if *open == and) {
                    self.frames.push(Frame::Logic { and, base: self.pending.len() });
                }
                self.pending.push(child(term));
                Ok(Joined::Operand)
            }
            TokenKind::Question => {
                let condition = self.reduce(value, frame::OR)?;
                if matches!(self.frames.last(), Some(Frame::Then { .. })) {
                    return Err(self.unexpected("`:`; write a conditional within a conditional in parentheses"));
                }
                self.advance();
                self.frames.push(Frame::Then { condition });
                Ok(Joined::Operand)
            }
            TokenKind::Colon => {
                let then = self.reduce(value, frame::OR)?;
                if let Some(Frame::Then { condition }) = self.frames.last().copied() {
                    self.advance();
                    self.frames.pop();
                    self.frames.push(Frame::Else { condition, then });
                    self.depth.expressions = self.depth.expressions.saturating_add(1);
                    self.check_depth()?;
                    return Ok(Joined::Operand);
                }
                self.close(then)
            }
            _ => self.close(value),
        }
    }

    /// Builds everything on the stack that binds at least as tight.
    fn reduce(&mut self, mut value: NodeId, binding: u8) -> Result<NodeId, CelError> {
        while let Some(frame) = self.frames.last().copied() {
            if frame.binding().is_none_or(|other| other < binding) {
                break;
            }
            self.frames.pop();
            let end = self.span(value);
            value = match frame {
                Frame::Unary { negate, start } => {
                    let kind = if negate { NodeKind::Negate(value) } else { NodeKind::Not(value) };
                    self.push(kind, start.to(end), 0, &[value])?
                }
                Frame::Binary { op, left } => {
                    self.depth.operator(op, false);
                    let span = self.span(left).to(end);
                    self.push(NodeKind::Binary { op, left, right: value }, span, 1, &[left, value])?
                }
                Frame::Logic { and, base } => {
                    self.pending.push(child(value));
                    let first = self.pending.get(base).map_or(end, |first| self.span(first.node));
                    let kind = if and { NodeKind::And } else { NodeKind::Or };
                    self.sequence(kind, base, first.to(end))?
                }
                Frame::Else { condition, then } => {
                    self.depth.expressions = self.depth.expressions.saturating_sub(1);
                    let span = self.span(condition).to(end);
                    let kind = NodeKind::Conditional { condition, then, otherwise: value };
                    self.push(kind, span, 1, &[condition, then, value])?
                }
                _ => value,
            };
        }
        Ok(value)
    }

    /// The end of an element, of a bracket, or of the expression.
    fn close(&mut self, value: NodeId) -> Result<Joined, CelError> {
        let value = self.reduce(value, frame::CONDITIONAL)?;
        let token = self.peek();
        let Some(frame) = self.frames.pop() else {
            if token.kind == TokenKind::End {
                return Ok(Joined::End);
            }
            return Err(self.unexpected("an operator or the end of the expression"));
        };
        match (frame, token.kind) {
            (Frame::Paren, TokenKind::RightParen) => {
                self.leave();
                Ok(Joined::Value(value))
            }
            (Frame::Index { operand, optional }, TokenKind::RightBracket) => {
                self.leave();
                let span = self.span(operand).to(token.span);
                let kind = NodeKind::Index { operand, index: value, optional };
                self.push(kind, span, 1, &[operand, value]).map(Joined::Value)
            }
            (Frame::Call { .. }, TokenKind::Comma) => {
                self.advance();
                self.pending.push(child(value));
                self.frames.push(frame);
                Ok(Joined::Operand)
            }
            (Frame::Call { .. }, TokenKind::RightParen) => {
                self.leave();
                self.pending.push(child(value));
                self.close_call(&frame, token.span).map(Joined::Value)
            }
            (Frame::List { start, base, optional }, TokenKind::Comma | TokenKind::RightBracket) => {
                self.pending.push(Child { optional, ..child(value) });
                if self.eat_closing(TokenKind::RightBracket) {
                    self.depth.exit();
                    let span = start.to(self.previous_span());
                    return self.sequence(NodeKind::List, base, span).map(Joined::Value);
                }
                self.advance();
                let optional = self.eat(TokenKind::Question);
                self.frames.push(Frame::List { start, base, optional });
                Ok(Joined::Operand)
            }
            (Frame::MapKey { start, base, optional }, TokenKind::Colon) => {
                self.advance();
                self.pending.push(Child { optional, ..child(value) });
                self.frames.push(Frame::MapValue { start, base });
                Ok(Joined::Operand)
            }
            (Frame::MapValue { start, base }, TokenKind::Comma | TokenKind::RightBrace) => {
                self.pending.push(child(value));
                if self.eat_closing(TokenKind::RightBrace) {
                    self.depth.exit();
                    let span = start.to(self.previous_span());
                    return self.sequence(NodeKind::Map, base, span).map(Joined::Value);
                }
                self.advance();
                let optional = self.eat(TokenKind::Question);
                self.frames.push(Frame::MapKey { start, base, optional });
                Ok(Joined::Operand)
            }
            (Frame::Field { start, name, root, base, field, optional }, TokenKind::Comma | TokenKind::RightBrace) => {
                self.pending.push(Child { node: value, optional, field });
                if self.eat_closing(TokenKind::RightBrace) {
                    self.depth.exit();
                    let span = start.to(self.previous_span());
                    let kind = |fields| NodeKind::Message { name, root, fields };
                    return self.sequence(kind, base, span).map(Joined::Value);
                }
                self.advance();
                let (field, optional) = self.field_name()?;
                self.frames.push(Frame::Field { start, name, root, base, field, optional });
                Ok(Joined::Operand)
            }
            (open, _) => Err(self.unexpected(wanted(&open))),
        }
    }

    fn leave(&mut self) {
        self.advance();
        self.depth.exit();
    }
}

/// What would close a bracket, or go on in it.
fn wanted(open: &Frame) -> &'static str {
    match open {
        Frame::Paren => "an operator or `)`",
        Frame::Index { .. } => "an operator or `]`",
        Frame::Call { .. } => "an operator, `,` or `)`",
        Frame::List { .. } => "an operator, `,` or `]`",
        Frame::MapValue { .. } | Frame::Field { .. } => "an operator, `,` or `}`",
        Frame::MapKey { .. } | Frame::Then { .. } => "an operator or `:`",
        _ => "an operator",
    }
}

fn child(node: NodeId) -> Child {
    Child { node, optional: false, field: Text::default() }
}

/// A part of a pool.
pub(super) fn text(start: usize, end: usize) -> Text {
    let position = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
    Text { start: position(start), end: position(end) }
}

/// A part of the text of the expression.
pub(super) fn span_text(span: Span) -> Text {
    Text { start: span.start, end: span.end }
}
