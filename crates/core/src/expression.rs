//! How large a regular expression is, told from its parsed form before anything is compiled.
//!
//! A few letters can stand for millions of states: `(a{1000}){1000}`. The size of the compiled automaton, the time to
//! compile it, and the time to search with it all grow with the positions counted here.

use regex_syntax::hir::{Class, Hir, HirKind};

/// The positions of an expression with its repetitions written out: about the states of its automaton.
///
/// The parser bounds how deep expressions nest, and so does this function's recursion.
pub fn positions(expression: &Hir) -> usize {
    match expression.kind() {
        HirKind::Empty => 0,
        HirKind::Look(_) => 1,
        HirKind::Literal(literal) => literal.0.len(),
        HirKind::Class(Class::Bytes(class)) => class.ranges().len().max(1),
        // A range of characters becomes up to four sequences of byte ranges.
        HirKind::Class(Class::Unicode(class)) => class.ranges().len().max(1).saturating_mul(2),
        HirKind::Repetition(repetition) => {
            let times = repetition.max.unwrap_or(repetition.min.saturating_add(1)).max(1);
            let times = usize::try_from(times).unwrap_or(usize::MAX);
            positions(&repetition.sub).saturating_add(1).saturating_mul(times)
        }
        HirKind::Capture(capture) => positions(&capture.sub).saturating_add(2),
        HirKind::Concat(parts) => sum(parts),
        HirKind::Alternation(parts) => sum(parts).saturating_add(parts.len()),
    }
}

fn sum(parts: &[Hir]) -> usize {
    parts.iter().map(positions).fold(0, usize::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_are_those_of_the_expression_written_out() {
        for (text, want) in [
            ("", 0),
            ("abc", 3),
            ("a|bc", 5),
            ("[a-z]", 2),
            ("^a$", 3),
            ("a*", 2),
            ("a{3}", 6),
            ("a{2,5}", 10),
            ("a{4,}", 10),
            ("(a)", 3),
            ("(?:a{10}){10}", 210),
            ("(a{1000}){1000}", 2_003_000),
        ] {
            assert_eq!(positions(&regex_syntax::parse(text).unwrap()), want, "{text}");
        }
        let nested = "(?:(?:(?:(?:(?:(?:(?:a{1000}){1000}){1000}){1000}){1000}){1000}){1000}){1000}";
        assert_eq!(positions(&regex_syntax::parse(nested).unwrap()), usize::MAX, "more than a number can hold");
    }
}
