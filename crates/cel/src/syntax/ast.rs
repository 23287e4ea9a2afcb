//! An expression as it was written: macros are calls, parentheses are gone.
//!
//! The parts stand in one vector, each behind what it consists of, so that every pass over a tree is a loop: no text
//! makes the engine recurse.

use crate::syntax::span::Span;

/// A parsed expression.
#[derive(Debug, Clone)]
pub struct Ast {
    /// The text, followed by the values of strings that are not written as they are.
    pub(crate) pool: String,
    pub(crate) source_bytes: usize,
    pub(crate) blobs: Vec<u8>,
    pub(crate) nodes: Vec<Node>,
    pub(crate) children: Vec<Child>,
}

/// The number of a part.
pub(crate) type NodeId = u32;

/// A part of the expression.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Node {
    pub(crate) kind: NodeKind,
    pub(crate) span: Span,
}

/// A text in the pool.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Text {
    pub(crate) start: u32,
    pub(crate) end: u32,
}

/// A run of children.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Range {
    pub(crate) start: u32,
    pub(crate) len: u32,
}

/// An element, entry or argument.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Child {
    pub(crate) node: NodeId,
    /// Whether a `?` stands before it.
    pub(crate) optional: bool,
    /// The field of a message; empty elsewhere.
    pub(crate) field: Text,
}

/// What a part is.
#[derive(Debug, Clone, Copy)]
pub(crate) enum NodeKind {
    Null,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Double(f64),
    String(Text),
    /// A part of the blobs.
    Bytes(Text),
    /// A name; `root` if a dot stands before it.
    Ident {
        name: Text,
        root: bool,
    },
    Select {
        operand: NodeId,
        field: Text,
        optional: bool,
    },
    Index {
        operand: NodeId,
        index: NodeId,
        optional: bool,
    },
    Call {
        name: Text,
        root: bool,
        arguments: Range,
    },
    MemberCall {
        target: NodeId,
        name: Text,
        arguments: Range,
    },
    Not(NodeId),
    Negate(NodeId),
    Binary {
        op: BinaryOp,
        left: NodeId,
        right: NodeId,
    },
    And(Range),
    Or(Range),
    Conditional {
        condition: NodeId,
        then: NodeId,
        otherwise: NodeId,
    },
    List(Range),
    /// Keys and values in turn; the key says whether the entry is optional.
    Map(Range),
    Message {
        name: Text,
        root: bool,
        fields: Range,
    },
}

/// An operator between two operands, the logical ones apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BinaryOp {
    Add,
    Subtract,
    Multiply,
    Divide,
    Modulo,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    Equal,
    NotEqual,
    In,
}

impl BinaryOp {
    /// How it is written.
    pub(crate) const fn symbol(self) -> &'static str {
        match self {
            BinaryOp::Add => "+",
            BinaryOp::Subtract => "-",
            BinaryOp::Multiply => "*",
            BinaryOp::Divide => "/",
            BinaryOp::Modulo => "%",
            BinaryOp::Less => "<",
            BinaryOp::LessEqual => "<=",
            BinaryOp::Greater => ">",
            BinaryOp::GreaterEqual => ">=",
            BinaryOp::Equal => "==",
            BinaryOp::NotEqual => "!=",
            BinaryOp::In => "in",
        }
    }

    /// The function that it calls.
    pub(crate) const fn function(self) -> &'static str {
        match self {
            BinaryOp::Add => "_+_",
            BinaryOp::Subtract => "_-_",
            BinaryOp::Multiply => "_*_",
            BinaryOp::Divide => "_/_",
            BinaryOp::Modulo => "_%_",
            BinaryOp::Less => "_<_",
            BinaryOp::LessEqual => "_<=_",
            BinaryOp::Greater => "_>_",
            BinaryOp::GreaterEqual => "_>=_",
            BinaryOp::Equal => "_==_",
            BinaryOp::NotEqual => "_!=_",
            BinaryOp::In => "@in",
        }
    }

    /// How tight it binds: 3 is tightest.
    pub(crate) const fn precedence(self) -> u8 {
        match self {
            BinaryOp::Multiply | BinaryOp::Divide | BinaryOp::Modulo => 3,
            BinaryOp::Add | BinaryOp::Subtract => 2,
            _ => 1,
        }
    }
}

impl Ast {
    /// The text that was parsed.
    pub fn source(&self) -> &str {
        self.pool.get(..self.source_bytes).unwrap_or_default()
    }

    /// How many parts the expression has.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether there is no part at all, which no parsed text has.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    pub(crate) fn root(&self) -> NodeId {
        u32::try_from(self.nodes.len()).unwrap_or(u32::MAX).saturating_sub(1)
    }

    pub(crate) fn node(&self, id: NodeId) -> Node {
        let nothing = Node { kind: NodeKind::Null, span: Span::default() };
        self.nodes.get(id as usize).copied().unwrap_or(nothing)
    }

    pub(crate) fn text(&self, text: Text) -> &str {
        self.pool.get(text.start as usize..text.end as usize).unwrap_or_default()
    }

    pub(crate) fn blob(&self, text: Text) -> &[u8] {
        self.blobs.get(text.start as usize..text.end as usize).unwrap_or_default()
    }

    pub(crate) fn children(&self, range: Range) -> &[Child] {
        let start = range.start as usize;
        self.children.get(start..start.saturating_add(range.len as usize)).unwrap_or_default()
    }

    /// Whether two expressions are the same tree, wherever their parts stand in the text.
    pub fn same_tree(&self, other: &Ast) -> bool {
        self.nodes.len() == other.nodes.len()
            && self.nodes.iter().zip(&other.nodes).all(|(one, two)| self.same_node(one.kind, other, two.kind))
    }

    #[expect(clippy::many_single_char_names, reason = "pairs of the same parts of two trees")]
    fn same_node(&self, one: NodeKind, other: &Ast, two: NodeKind) -> bool {
        use NodeKind as K;
        let text = |a: Text, b: Text| self.text(a) == other.text(b);
        let run = |a: Range, b: Range| {
            let (a, b) = (self.children(a), other.children(b));
            let same = |(a, b): (&Child, &Child)| {
                a.node == b.node && a.optional == b.optional && self.text(a.field) == other.text(b.field)
            };
            a.len() == b.len() && a.iter().zip(b).all(same)
        };
        match (one, two) {
            (K::Null, K::Null) => true,
            (K::Bool(a), K::Bool(b)) => a == b,
            (K::Int(a), K::Int(b)) => a == b,
            (K::Uint(a), K::Uint(b)) => a == b,
            (K::Double(a), K::Double(b)) => a.to_bits() == b.to_bits(),
            (K::String(a), K::String(b)) => text(a, b),
            (K::Bytes(a), K::Bytes(b)) => self.blob(a) == other.blob(b),
            (K::Ident { name: a, root: c }, K::Ident { name: b, root: d }) => text(a, b) && c == d,
            (K::Select { operand: a, field: c, optional: e }, K::Select { operand: b, field: d, optional: f }) => {
                a == b && text(c, d) && e == f
            }
            (K::Index { operand: a, index: c, optional: e }, K::Index { operand: b, index: d, optional: f }) => {
                a == b && c == d && e == f
            }
            (K::Call { name: a, root: c, arguments: e }, K::Call { name: b, root: d, arguments: f })
            | (K::Message { name: a, root: c, fields: e }, K::Message { name: b, root: d, fields: f }) => {
                text(a, b) && c == d && run(e, f)
            }
            (
                K::MemberCall { target: a, name: c, arguments: e },
                K::MemberCall { target: b, name: d, arguments: f },
            ) => a == b && text(c, d) && run(e, f),
            (K::Not(a), K::Not(b)) | (K::Negate(a), K::Negate(b)) => a == b,
            (K::Binary { op: a, left: c, right: e }, K::Binary { op: b, left: d, right: f }) => {
                a == b && c == d && e == f
            }
            (
                K::Conditional { condition: a, then: c, otherwise: e },
                K::Conditional { condition: b, then: d, otherwise: f },
            ) => a == b && c == d && e == f,
            (K::And(a), K::And(b)) | (K::Or(a), K::Or(b)) | (K::List(a), K::List(b)) | (K::Map(a), K::Map(b)) => {
                run(a, b)
            }
            _ => false,
        }
    }
}
