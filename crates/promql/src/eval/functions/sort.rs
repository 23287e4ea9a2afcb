//! The order of the series in a result.

use std::cmp::Ordering;

use super::super::kahan::nan_first;
use super::super::{EvalTime, Evaluator, Level, Point, misplaced};
use crate::error::Error;
use crate::syntax::ast::Expr;

impl<'a> Evaluator<'a> {
    pub(super) fn sort(
        &mut self,
        name: &str,
        arguments: &'a [Expr],
        expr: &'a Expr,
        at: EvalTime,
    ) -> Result<Vec<Point>, Error> {
        let [vector, labels @ ..] = arguments else { return Err(misplaced(expr)) };
        if at.ranged {
            let message = "sort is ineffective for range queries since results are always ordered by labels";
            self.note(Level::Warning, expr.span, message);
        }
        let mut points = self.vector(vector, at)?;
        match name {
            // NaN comes last both ways.
            "sort" => points.sort_by(|one, other| nan_first(-other.value, -one.value)),
            "sort_desc" => points.sort_by(|one, other| nan_first(other.value, one.value)),
            _ => {
                let mut names = Vec::with_capacity(labels.len());
                for label in labels {
                    names.push(self.text(label, at)?);
                }
                let falling = name == "sort_by_label_desc";
                points.sort_by(|one, other| {
                    let order = self.by_labels(&names, one, other);
                    if falling { order.reverse() } else { order }
                });
            }
        }
        Ok(points)
    }

    fn by_labels(&self, names: &[&str], one: &Point, other: &Point) -> Ordering {
        for name in names {
            let (one, other) = (self.space.value_text(one.set, name), self.space.value_text(other.set, name));
            if one != other {
                return natural(one, other);
            }
        }
        self.space.compare(one.set, other.set)
    }
}

/// The order in which people count: numbers within texts by their size.
fn natural(one: &str, other: &str) -> Ordering {
    let (mut ones, mut others) = (chunks(one), chunks(other));
    loop {
        let (one, other) = match (ones.next(), others.next()) {
            (None, None) => return Ordering::Equal,
            (None, Some(_)) => return Ordering::Less,
            (Some(_), None) => return Ordering::Greater,
            (Some(one), Some(other)) => (one, other),
        };
        let order = match (one.parse::<i64>(), other.parse::<i64>()) {
            (Ok(one), Ok(other)) => one.cmp(&other),
            _ => one.cmp(other),
        };
        if order != Ordering::Equal {
            return order;
        }
    }
}

/// A text in runs of digits and runs of others.
fn chunks(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let digit = rest.chars().next()?.is_ascii_digit();
        let end = rest.find(|c: char| c.is_ascii_digit() != digit).unwrap_or(rest.len());
        let (chunk, tail) = rest.split_at(end);
        rest = tail;
        Some(chunk)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_within_texts_are_compared_by_size() {
        for (one, other) in [("2", "10"), ("4m5", "4m600"), ("1.2.3", "1.11.3"), ("", "a"), ("a", "a1"), ("1", "a")] {
            assert_eq!(natural(one, other), Ordering::Less, "{one} {other}");
            assert_eq!(natural(other, one), Ordering::Greater, "{one} {other}");
        }
    }
}
