//! The tree of a query. Every node knows the bytes it was read from.
//!
//! Parentheses are nodes, so that a tree prints as the text that made it (see `print`) and whoever changes a tree needs
//! no thought about precedence. Start at [`Expr`].

use crate::analysis::functions::Function;
use crate::syntax::duration::Millis;

/// A range of bytes in the text of a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Span {
    /// The first byte.
    pub start: usize,
    /// The byte behind the last one.
    pub end: usize,
}

impl Span {
    /// The range from `start` up to `end`.
    pub fn new(start: usize, end: usize) -> Self {
        Span { start, end }
    }

    /// From where this starts to where `other` ends.
    #[must_use]
    pub fn to(self, other: Span) -> Span {
        Span { start: self.start, end: other.end.max(self.end) }
    }
}

/// An expression and where it stands.
#[derive(Debug, Clone, PartialEq)]
pub struct Expr {
    /// What it is.
    pub kind: ExprKind,
    /// Where it stands.
    pub span: Span,
}

/// What an expression is.
#[derive(Debug, Clone, PartialEq)]
pub enum ExprKind {
    /// A number, or a duration that stands for its seconds. A sign in front is part of it.
    Number(f64),
    /// A string.
    String(String),
    /// An instant vector selector.
    Selector(Selector),
    /// A range vector selector, `x[5m]`.
    Range(Range),
    /// A subquery, `x[1h:5m]`.
    Subquery(Box<Subquery>),
    /// An expression in parentheses.
    Paren(Box<Expr>),
    /// An expression with a sign in front.
    Unary(Sign, Box<Expr>),
    /// Two expressions with an operator between.
    Binary(Box<Binary>),
    /// An aggregation over series.
    Aggregate(Box<Aggregate>),
    /// A function with its arguments.
    Call(Call),
}

/// A sign.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sign {
    /// `+`
    Plus,
    /// `-`
    Minus,
}

/// A name or label and where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Name {
    /// The name, without quotes.
    pub text: String,
    /// Where it stands, quotes included.
    pub span: Span,
}

/// Which series are asked for.
#[derive(Debug, Clone, PartialEq)]
pub struct Selector {
    /// The metric, if the selector names exactly one.
    pub metric: Option<Metric>,
    /// The conditions on labels, as written; the name of the metric is not among them.
    pub matchers: Vec<Matcher>,
    /// At which time.
    pub shift: Shift,
    /// Where the name and the braces stand.
    pub span: Span,
}

/// The metric of a selector.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Metric {
    /// Its name.
    pub name: Name,
    /// Whether the name was written within the braces.
    pub in_braces: bool,
}

/// A condition on one label.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Matcher {
    /// The label.
    pub label: Name,
    /// How it is compared.
    pub op: MatchOp,
    /// With what it is compared, without quotes.
    pub value: Name,
}

impl Matcher {
    /// Where the matcher stands.
    pub fn span(&self) -> Span {
        self.label.span.to(self.value.span)
    }
}

/// How a label is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MatchOp {
    /// `=`
    Equal,
    /// `!=`
    NotEqual,
    /// `=~`
    Matches,
    /// `!~`
    NotMatches,
}

/// At which time a selector or subquery looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Shift {
    /// `offset`: how much earlier.
    pub offset: Option<Millis>,
    /// `@`: at a fixed time.
    pub at: Option<AtModifier>,
}

/// A fixed time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AtModifier {
    /// A time since the epoch.
    Time(Millis),
    /// Where the evaluation starts.
    Start,
    /// Where the evaluation ends.
    End,
}

/// A selector with a range.
#[derive(Debug, Clone, PartialEq)]
pub struct Range {
    /// Which series.
    pub selector: Selector,
    /// How far back.
    pub range: Millis,
    /// Where the range stands, without its brackets.
    pub range_span: Span,
}

/// An expression evaluated over a range.
#[derive(Debug, Clone, PartialEq)]
pub struct Subquery {
    /// What is evaluated.
    pub expr: Expr,
    /// How far back.
    pub range: Millis,
    /// In which steps, if that is said.
    pub step: Option<Millis>,
    /// Where range and step stand, without their brackets.
    pub range_span: Span,
    /// At which time.
    pub shift: Shift,
}

/// Two expressions with an operator between.
#[derive(Debug, Clone, PartialEq)]
pub struct Binary {
    /// What is done.
    pub op: BinaryOp,
    /// Where the operator stands, its modifiers included.
    pub op_span: Span,
    /// Whether a comparison answers 0 or 1 instead of filtering.
    pub returns_bool: bool,
    /// Which series of both sides belong together, if that is said.
    pub matching: Option<Matching>,
    /// What stands in for a series without a counterpart.
    pub fill: Fill,
    /// The left side.
    pub left: Expr,
    /// The right side.
    pub right: Expr,
}

/// What stands in for a series without a counterpart; experimental in Prometheus.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Fill {
    /// The value of a series that is missing on the left.
    pub left: Option<f64>,
    /// The value of a series that is missing on the right.
    pub right: Option<f64>,
}

impl Fill {
    /// Whether nothing stands in.
    pub fn is_empty(&self) -> bool {
        self.left.is_none() && self.right.is_none()
    }
}

/// Which series of two sides belong together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Matching {
    /// By which labels.
    pub labels: Grouping,
    /// Whether one side may have many, and which labels it takes from the other.
    pub many: Option<(ManySide, Vec<Name>)>,
}

/// Which side may have many series.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ManySide {
    /// `group_left`
    Left,
    /// `group_right`
    Right,
}

/// A choice of labels.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grouping {
    /// Whether `labels` are the chosen ones (`by`, `on`) or those left out (`without`, `ignoring`).
    pub only: bool,
    /// The labels.
    pub labels: Vec<Name>,
}

/// An operator between two expressions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are the operators'")]
pub enum BinaryOp {
    Or,
    And,
    Unless,
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    Add,
    Subtract,
    Multiply,
    Divide,
    Modulo,
    Atan2,
    Power,
}

impl BinaryOp {
    /// The operator as it is written.
    pub fn as_str(self) -> &'static str {
        match self {
            BinaryOp::Or => "or",
            BinaryOp::And => "and",
            BinaryOp::Unless => "unless",
            BinaryOp::Equal => "==",
            BinaryOp::NotEqual => "!=",
            BinaryOp::Less => "<",
            BinaryOp::LessEqual => "<=",
            BinaryOp::Greater => ">",
            BinaryOp::GreaterEqual => ">=",
            BinaryOp::Add => "+",
            BinaryOp::Subtract => "-",
            BinaryOp::Multiply => "*",
            BinaryOp::Divide => "/",
            BinaryOp::Modulo => "%",
            BinaryOp::Atan2 => "atan2",
            BinaryOp::Power => "^",
        }
    }

    /// `and`, `or`, `unless`.
    pub fn is_set(self) -> bool {
        matches!(self, BinaryOp::Or | BinaryOp::And | BinaryOp::Unless)
    }

    /// `==`, `!=`, `<`, `<=`, `>`, `>=`.
    pub fn is_comparison(self) -> bool {
        matches!(
            self,
            BinaryOp::Equal
                | BinaryOp::NotEqual
                | BinaryOp::Less
                | BinaryOp::LessEqual
                | BinaryOp::Greater
                | BinaryOp::GreaterEqual
        )
    }

    /// How tightly it binds; a power binds tightest, and is the only one that binds to the right.
    pub(crate) fn precedence(self) -> u8 {
        match self {
            BinaryOp::Or => 1,
            BinaryOp::And | BinaryOp::Unless => 2,
            op if op.is_comparison() => 3,
            BinaryOp::Add | BinaryOp::Subtract => 4,
            BinaryOp::Power => 6,
            _ => 5,
        }
    }
}

/// An aggregation over series.
#[derive(Debug, Clone, PartialEq)]
pub struct Aggregate {
    /// What is computed.
    pub op: AggregateOp,
    /// Into which groups, if that is said.
    pub grouping: Option<Grouping>,
    /// The parameter, for the operators that have one.
    pub parameter: Option<Expr>,
    /// Over what.
    pub expr: Expr,
}

/// What an aggregation computes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are the operators'")]
pub enum AggregateOp {
    Sum,
    Avg,
    Count,
    Min,
    Max,
    Group,
    Stddev,
    Stdvar,
    Topk,
    Bottomk,
    CountValues,
    Quantile,
    Limitk,
    LimitRatio,
}

impl AggregateOp {
    /// The operator as it is written.
    pub fn as_str(self) -> &'static str {
        match self {
            AggregateOp::Sum => "sum",
            AggregateOp::Avg => "avg",
            AggregateOp::Count => "count",
            AggregateOp::Min => "min",
            AggregateOp::Max => "max",
            AggregateOp::Group => "group",
            AggregateOp::Stddev => "stddev",
            AggregateOp::Stdvar => "stdvar",
            AggregateOp::Topk => "topk",
            AggregateOp::Bottomk => "bottomk",
            AggregateOp::CountValues => "count_values",
            AggregateOp::Quantile => "quantile",
            AggregateOp::Limitk => "limitk",
            AggregateOp::LimitRatio => "limit_ratio",
        }
    }

    /// Whether the operator has a parameter in front of what it aggregates.
    pub fn has_parameter(self) -> bool {
        matches!(
            self,
            AggregateOp::Topk
                | AggregateOp::Bottomk
                | AggregateOp::CountValues
                | AggregateOp::Quantile
                | AggregateOp::Limitk
                | AggregateOp::LimitRatio
        )
    }

    /// Whether Prometheus has it behind a feature flag.
    pub fn is_experimental(self) -> bool {
        matches!(self, AggregateOp::Limitk | AggregateOp::LimitRatio)
    }
}

/// A function with its arguments.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    /// Which function.
    pub function: &'static Function,
    /// Where its name stands.
    pub name_span: Span,
    /// Its arguments.
    pub arguments: Vec<Expr>,
}
