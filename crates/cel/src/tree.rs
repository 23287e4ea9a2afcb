//! An expression with names resolved and macros expanded: what is checked, estimated and compiled.
//!
//! Parts stand behind what they consist of, in the order in which they are checked; between them stand the points at
//! which the variables of a loop get their types.

pub(crate) mod resolve;

use crate::error::ErrorClass;
use crate::syntax::ast::{Range, Text};
use crate::syntax::span::Span;
use crate::types::Type;

/// The number of a part.
pub(crate) type TreeId = u32;

/// The expanded expression.
#[derive(Debug, Default)]
pub(crate) struct Tree {
    pub(crate) nodes: Vec<TreeNode>,
    pub(crate) children: Vec<TreeChild>,
    pub(crate) loops: Vec<Loop>,
    /// How many variables loops have, all together.
    pub(crate) slots: u32,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct TreeNode {
    pub(crate) kind: TreeKind,
    pub(crate) span: Span,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct TreeChild {
    pub(crate) node: TreeId,
    /// Whether a `?` stands before it.
    pub(crate) optional: bool,
}

/// A value that is written in the expression.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Constant {
    Null,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Double(f64),
    String(Text),
    Bytes(Text),
}

/// What a part is.
#[derive(Debug, Clone, Copy)]
pub(crate) enum TreeKind {
    Constant(Constant),
    /// The name of a type.
    TypeName(Type),
    /// A variable of the environment, by its number.
    Global(u32),
    /// A variable of a loop, by its slot.
    Local(u32),
    Select {
        operand: TreeId,
        field: Text,
        mode: SelectMode,
    },
    /// A call; the first argument of a method is what it is called on.
    Call {
        function: u32,
        member: bool,
        arguments: Range,
    },
    And(Range),
    Or(Range),
    List(Range),
    /// Keys and values in turn.
    Map(Range),
    Loop(u32),
    /// The variables of a loop have their types from here on.
    EnterLoop(u32),
    /// The condition of a loop is complete.
    CheckCondition(u32),
    /// The step of a loop is complete.
    CheckStep(u32),
    /// A name that an unchecked expression does not find.
    Failure(ErrorClass),
}

/// What is done with a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SelectMode {
    /// `a.b`.
    Value,
    /// `has(a.b)`.
    Test,
    /// `a.?b`.
    Optional,
}

/// A comprehension: what macros become.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Loop {
    /// The element, or the index or key; none of a binding.
    pub(crate) variable: u32,
    /// The element or value, of macros with two variables.
    pub(crate) second: Option<u32>,
    pub(crate) accumulator: u32,
    pub(crate) range: TreeId,
    pub(crate) init: TreeId,
    pub(crate) condition: TreeId,
    pub(crate) step: TreeId,
    pub(crate) result: TreeId,
    /// Whether it only gives a name to a value.
    pub(crate) binding: bool,
}

impl Tree {
    pub(crate) fn node(&self, id: TreeId) -> TreeNode {
        let nothing = TreeNode { kind: TreeKind::Constant(Constant::Null), span: Span::default() };
        self.nodes.get(id as usize).copied().unwrap_or(nothing)
    }

    pub(crate) fn kind(&self, id: TreeId) -> TreeKind {
        self.node(id).kind
    }

    pub(crate) fn span(&self, id: TreeId) -> Span {
        self.node(id).span
    }

    pub(crate) fn root(&self) -> TreeId {
        u32::try_from(self.nodes.len()).unwrap_or(u32::MAX).saturating_sub(1)
    }

    pub(crate) fn children(&self, range: Range) -> &[TreeChild] {
        let start = range.start as usize;
        self.children.get(start..start.saturating_add(range.len as usize)).unwrap_or_default()
    }

    pub(crate) fn child(&self, range: Range, index: usize) -> Option<TreeId> {
        self.children(range).get(index).map(|child| child.node)
    }

    pub(crate) fn get_loop(&self, id: u32) -> Option<&Loop> {
        self.loops.get(id as usize)
    }
}
