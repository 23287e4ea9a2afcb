//! The words of the language.

use crate::syntax::ast::{AggregateOp, BinaryOp, MatchOp, Span};
use crate::syntax::duration::Millis;

/// A word and where it stands.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Token<'t> {
    pub(crate) kind: Kind<'t>,
    pub(crate) span: Span,
}

/// What a word is.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Kind<'t> {
    /// A name or keyword; between braces never a keyword. May hold colons.
    Word(&'t str),
    Number(f64),
    Duration(Millis),
    String(String),
    /// An operator that is no word.
    Operator(BinaryOp),
    /// An operator between braces. The `=` outside of them is none.
    Match(MatchOp),
    LeftParen,
    RightParen,
    LeftBrace,
    RightBrace,
    LeftBracket,
    RightBracket,
    Comma,
    Colon,
    At,
    End,
}

/// A name with a meaning of its own. Case does not matter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Keyword {
    Operator(BinaryOp),
    Aggregate(AggregateOp),
    Offset,
    By,
    Without,
    On,
    Ignoring,
    GroupLeft,
    GroupRight,
    Bool,
    Start,
    End,
    /// Experimental: `step()` and `range()`.
    Query,
    /// Experimental: `anchored` and `smoothed`.
    Extended,
}

impl Keyword {
    pub(crate) fn of(word: &str) -> Option<Keyword> {
        // The longest keyword is "count_values"; a name of a kilobyte need not be copied to know that it is none.
        if word.len() > 12 {
            return None;
        }
        Some(match word.to_ascii_lowercase().as_str() {
            "and" => Keyword::Operator(BinaryOp::And),
            "or" => Keyword::Operator(BinaryOp::Or),
            "unless" => Keyword::Operator(BinaryOp::Unless),
            "atan2" => Keyword::Operator(BinaryOp::Atan2),
            "sum" => Keyword::Aggregate(AggregateOp::Sum),
            "avg" => Keyword::Aggregate(AggregateOp::Avg),
            "count" => Keyword::Aggregate(AggregateOp::Count),
            "min" => Keyword::Aggregate(AggregateOp::Min),
            "max" => Keyword::Aggregate(AggregateOp::Max),
            "group" => Keyword::Aggregate(AggregateOp::Group),
            "stddev" => Keyword::Aggregate(AggregateOp::Stddev),
            "stdvar" => Keyword::Aggregate(AggregateOp::Stdvar),
            "topk" => Keyword::Aggregate(AggregateOp::Topk),
            "bottomk" => Keyword::Aggregate(AggregateOp::Bottomk),
            "count_values" => Keyword::Aggregate(AggregateOp::CountValues),
            "quantile" => Keyword::Aggregate(AggregateOp::Quantile),
            "limitk" => Keyword::Aggregate(AggregateOp::Limitk),
            "limit_ratio" => Keyword::Aggregate(AggregateOp::LimitRatio),
            "offset" => Keyword::Offset,
            "by" => Keyword::By,
            "without" => Keyword::Without,
            "on" => Keyword::On,
            "ignoring" => Keyword::Ignoring,
            "group_left" => Keyword::GroupLeft,
            "group_right" => Keyword::GroupRight,
            "bool" => Keyword::Bool,
            "start" => Keyword::Start,
            "end" => Keyword::End,
            "step" | "range" => Keyword::Query,
            "anchored" | "smoothed" => Keyword::Extended,
            _ => return None,
        })
    }

    /// Whether the word may be the name of a metric where no keyword is expected.
    pub(crate) fn may_name_metric(self) -> bool {
        !matches!(
            self,
            Keyword::On
                | Keyword::Ignoring
                | Keyword::GroupLeft
                | Keyword::GroupRight
                | Keyword::Bool
                | Keyword::Operator(BinaryOp::Atan2)
        )
    }

    /// Whether the word may be a label in a list of labels.
    pub(crate) fn may_be_label(self) -> bool {
        self != Keyword::Without
    }
}

impl Kind<'_> {
    /// The word for a message.
    pub(crate) fn describe(&self) -> String {
        match self {
            Kind::Word(word) => match Keyword::of(word) {
                Some(_) => format!("the keyword `{}`", shorten(word)),
                None => format!("`{}`", shorten(word)),
            },
            Kind::Number(_) => "a number".to_owned(),
            Kind::Duration(_) => "a duration".to_owned(),
            Kind::String(text) => format!("the string \"{}\"", shorten(text)),
            Kind::Operator(op) => format!("`{}`", op.as_str()),
            Kind::Match(MatchOp::Equal) => "`=`".to_owned(),
            Kind::Match(MatchOp::NotEqual) => "`!=`".to_owned(),
            Kind::Match(MatchOp::Matches) => "`=~`".to_owned(),
            Kind::Match(MatchOp::NotMatches) => "`!~`".to_owned(),
            Kind::LeftParen => "`(`".to_owned(),
            Kind::RightParen => "`)`".to_owned(),
            Kind::LeftBrace => "`{`".to_owned(),
            Kind::RightBrace => "`}`".to_owned(),
            Kind::LeftBracket => "`[`".to_owned(),
            Kind::RightBracket => "`]`".to_owned(),
            Kind::Comma => "`,`".to_owned(),
            Kind::Colon => "`:`".to_owned(),
            Kind::At => "`@`".to_owned(),
            Kind::End => "the end of the query".to_owned(),
        }
    }
}

/// The start of a text that may be long.
pub(crate) fn shorten(text: &str) -> String {
    match text.char_indices().nth(40) {
        Some((at, _)) => format!("{}…", text.get(..at).unwrap_or_default()),
        None => text.to_owned(),
    }
}
