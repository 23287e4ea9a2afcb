//! What is open while a parser reads on, and how deep that is.

use crate::syntax::ast::{BinaryOp, NodeId, Text};
use crate::syntax::span::Span;

/// Something that waits for the rest of its parts.
#[derive(Debug, Clone, Copy)]
pub(super) enum Frame {
    /// `!` or `-`.
    Unary {
        negate: bool,
        start: Span,
    },
    /// A left operand and its operator.
    Binary {
        op: BinaryOp,
        left: NodeId,
    },
    /// `&&` or `||`, whose terms are pending from `base` on.
    Logic {
        and: bool,
        base: usize,
    },
    /// A condition and `?`.
    Then {
        condition: NodeId,
    },
    /// The same, and the first alternative with `:`.
    Else {
        condition: NodeId,
        then: NodeId,
    },
    Paren,
    Index {
        operand: NodeId,
        optional: bool,
    },
    /// The arguments of a function, or of a method of `target`.
    Call {
        start: Span,
        name: Text,
        root: bool,
        target: Option<NodeId>,
        base: usize,
    },
    List {
        start: Span,
        base: usize,
        optional: bool,
    },
    MapKey {
        start: Span,
        base: usize,
        optional: bool,
    },
    MapValue {
        start: Span,
        base: usize,
    },
    /// The value of a field of a message.
    Field {
        start: Span,
        name: Text,
        root: bool,
        base: usize,
        field: Text,
        optional: bool,
    },
}

impl Frame {
    /// How tight it binds; brackets do not bind at all.
    pub(super) fn binding(&self) -> Option<u8> {
        match self {
            Frame::Unary { .. } => Some(UNARY),
            Frame::Binary { op, .. } => Some(binding(*op)),
            Frame::Logic { and, .. } => Some(if *and { AND } else { OR }),
            Frame::Else { .. } => Some(CONDITIONAL),
            _ => None,
        }
    }
}

pub(super) const CONDITIONAL: u8 = 0;
pub(super) const OR: u8 = 1;
pub(super) const AND: u8 = 2;
pub(super) const RELATION: u8 = 3;
const UNARY: u8 = 6;

/// How tight an operator binds.
pub(super) fn binding(op: BinaryOp) -> u8 {
    op.precedence().saturating_add(2)
}

/// How many rules of the grammar are open, each by itself.
#[derive(Debug, Clone, Copy)]
pub(super) struct Depth {
    pub(super) expressions: usize,
    pub(super) relations: usize,
    pub(super) calculations: usize,
}

impl Depth {
    /// The start of an expression.
    pub(super) const START: Depth = Depth { expressions: 1, relations: 1, calculations: 1 };

    /// A bracket was opened.
    pub(super) fn enter(&mut self) {
        self.expressions = self.expressions.saturating_add(1);
        self.relations = self.relations.saturating_add(1);
        self.calculations = self.calculations.saturating_add(1);
    }

    /// A bracket was closed.
    pub(super) fn exit(&mut self) {
        self.expressions = self.expressions.saturating_sub(1);
        self.relations = self.relations.saturating_sub(1);
        self.calculations = self.calculations.saturating_sub(1);
    }

    /// The right operand of an operator was begun, or is complete.
    pub(super) fn operator(&mut self, op: BinaryOp, begun: bool) {
        let counter = if binding(op) == RELATION { &mut self.relations } else { &mut self.calculations };
        *counter = if begun { counter.saturating_add(1) } else { counter.saturating_sub(1) };
    }

    /// The deepest of them.
    pub(super) fn deepest(&self) -> usize {
        self.expressions.max(self.relations).max(self.calculations)
    }
}
