//! Operators between two vectors: which series belong together, and what comes of them.

use std::hash::BuildHasherDefault;

use super::arithmetic::{compares, scalars};
use crate::error::Error;
use crate::eval::binary::changes_metric;
use crate::eval::space::Key;
use crate::eval::{Evaluator, Point, failed, no_room};
use crate::series::hash::{IdMap, IdSet};
use crate::series::sets::SetId;
use crate::series::symbols::Symbol;
use crate::syntax::ast::{Binary, BinaryOp, Expr, Grouping, ManySide, Name};

impl Evaluator<'_> {
    /// The symbols of label names. A name no series has tells nothing apart, but the query may set it.
    pub(in crate::eval) fn symbols_of(&mut self, names: &[Name]) -> Result<Vec<Symbol>, Error> {
        let intern = |name: &Name| self.space.intern(&name.text).map_err(|full| no_room(full, name.span));
        names.iter().map(intern).collect()
    }

    pub(in crate::eval) fn key_of(&mut self, grouping: Option<&Grouping>) -> Result<Key, Error> {
        Ok(match grouping {
            None => Key::Without(Vec::new()),
            Some(grouping) if grouping.only && grouping.labels.is_empty() => Key::Nothing,
            Some(grouping) => {
                let names = self.symbols_of(&grouping.labels)?;
                if grouping.only { Key::Only(names) } else { Key::Without(names) }
            }
        })
    }

    fn signature(&mut self, point: &Point, key: &Key, binary: &Binary) -> Result<SetId, Error> {
        self.space.reduce(point.set, key).map_err(|full| no_room(full, binary.op_span))
    }

    /// `and`, `or`, `unless`.
    pub(in crate::eval) fn set_operator(
        &mut self,
        binary: &Binary,
        mut left: Vec<Point>,
        right: Vec<Point>,
    ) -> Result<Vec<Point>, Error> {
        if left.is_empty() || right.is_empty() {
            return Ok(match binary.op {
                BinaryOp::And => Vec::new(),
                BinaryOp::Unless => left,
                _ if left.is_empty() => right,
                _ => left,
            });
        }
        let key = self.key_of(binary.matching.as_ref().map(|matching| &matching.labels))?;
        let (known, tested) = if binary.op == BinaryOp::Or { (&left, &right) } else { (&right, &left) };
        let mut signatures = IdSet::with_capacity_and_hasher(known.len(), BuildHasherDefault::default());
        for point in known {
            signatures.insert(self.signature(point, &key, binary)?);
        }
        let wanted = binary.op == BinaryOp::And;
        let mut passed = Vec::with_capacity(tested.len());
        for point in tested {
            if signatures.contains(&self.signature(point, &key, binary)?) == wanted {
                passed.push(*point);
            }
        }
        if binary.op == BinaryOp::Or {
            left.append(&mut passed);
            return Ok(left);
        }
        Ok(passed)
    }

    /// Arithmetic and comparison between series that belong together.
    pub(in crate::eval) fn matched(
        &mut self,
        binary: &Binary,
        expr: &Expr,
        left: Vec<Point>,
        right: Vec<Point>,
    ) -> Result<Vec<Point>, Error> {
        if left.is_empty() && right.is_empty() {
            return Ok(Vec::new());
        }
        if (left.is_empty() || right.is_empty()) && binary.fill.is_empty() {
            return Ok(Vec::new());
        }
        let matching = binary.matching.as_ref();
        let many = matching.and_then(|matching| matching.many.as_ref());
        // The side with one series per match group is on the right from here on.
        let swapped = matches!(many, Some((ManySide::Right, _)));
        let (many_side, one_side) = if swapped { (right, left) } else { (left, right) };
        // What is filled in belongs to this order of the sides, too, as in Prometheus.
        let (fill_many, fill_one) = (binary.fill.left, binary.fill.right);
        let key = self.key_of(matching.map(|matching| &matching.labels))?;
        let mut ones: IdMap<SetId, Point> =
            IdMap::with_capacity_and_hasher(one_side.len(), BuildHasherDefault::default());
        let mut one_signatures = Vec::with_capacity(one_side.len());
        for point in &one_side {
            let signature = self.signature(point, &key, binary)?;
            one_signatures.push(signature);
            if let Some(other) = ones.insert(signature, *point) {
                return Err(self.many_to_many(binary, signature, [other.set, point.set], swapped));
            }
        }
        let include = match many {
            Some((_, names)) => self.symbols_of(names)?,
            None => Vec::new(),
        };
        let mut pairing = Pairing { key, include, grouped: many.is_some(), swapped, found: IdSet::default() };
        let mut matched = IdSet::default();
        let mut results = Vec::with_capacity(many_side.len());
        for point in &many_side {
            let signature = self.signature(point, &pairing.key, binary)?;
            let one = match (ones.get(&signature), fill_one) {
                (Some(one), _) => *one,
                (None, Some(value)) => Point { set: signature, drop_name: false, value },
                (None, None) => continue,
            };
            matched.insert(signature);
            results.extend(self.pair(binary, expr, &mut pairing, signature, *point, one)?);
        }
        if let Some(value) = fill_many {
            for (point, signature) in one_side.iter().zip(one_signatures) {
                if !matched.contains(&signature) {
                    let filled = Point { set: signature, drop_name: false, value };
                    results.extend(self.pair(binary, expr, &mut pairing, signature, filled, *point)?);
                }
            }
        }
        Ok(results)
    }

    /// What an operator makes of a series and its counterpart.
    fn pair(
        &mut self,
        binary: &Binary,
        expr: &Expr,
        pairing: &mut Pairing,
        signature: SetId,
        many: Point,
        one: Point,
    ) -> Result<Option<Point>, Error> {
        let (left, right) = if pairing.swapped { (one.value, many.value) } else { (many.value, one.value) };
        let filters = binary.op.is_comparison() && !binary.returns_bool;
        let (value, keep) =
            if filters { (left, compares(binary.op, left, right)) } else { (scalars(binary.op, left, right), true) };
        let set = self.result_labels(binary, pairing, many.set, one.set)?;
        // One to one, the match group may be met once; many to one, each result once in its group.
        let member = if pairing.grouped { set } else { signature };
        if !pairing.found.insert(u64::from(signature).wrapping_shl(32) | u64::from(member)) {
            let (message, help) = if pairing.grouped {
                (
                    "multiple matches for labels: grouping labels must ensure unique matches",
                    "Take fewer labels from the other side: the result has the same labels twice.",
                )
            } else {
                (
                    "multiple matches for labels: many-to-one matching must be explicit (group_left/group_right)",
                    "Say which side may have several series with `group_left` or `group_right`.",
                )
            };
            return Err(failed(expr.span, message, help));
        }
        Ok(keep.then_some(Point { set, drop_name: binary.returns_bool, value }))
    }

    fn result_labels(&mut self, binary: &Binary, pairing: &Pairing, many: SetId, one: SetId) -> Result<SetId, Error> {
        let full = |full| no_room(full, binary.op_span);
        let mut set = many;
        if changes_metric(binary.op) {
            set = self.space.without_metric_name(set).map_err(full)?;
        }
        if !pairing.grouped {
            set = match &pairing.key {
                Key::Nothing => self.space.empty,
                key @ Key::Only(_) => self.space.reduce(set, key).map_err(full)?,
                Key::Without(names) => {
                    let mut rest = set;
                    for name in names {
                        rest = self.space.unlabelled(rest, *name).map_err(full)?;
                    }
                    rest
                }
            };
        }
        for name in &pairing.include {
            let value = self.space.value(one, *name);
            set = self.space.labelled(set, *name, value).map_err(full)?;
        }
        Ok(set)
    }

    fn many_to_many(&self, binary: &Binary, signature: SetId, sets: [SetId; 2], swapped: bool) -> Error {
        let mut series = sets.map(|set| self.space.braces(set));
        series.sort();
        let side = if swapped { "left" } else { "right" };
        let message = format!(
            "found duplicate series for the match group {} on the {side} hand-side of the operation: [{}]\
             ;many-to-many matching not allowed: matching labels must be unique on one side",
            self.space.braces(signature),
            series.join(", "),
        );
        failed(binary.op_span, message, "Match by more labels, or aggregate that side first.")
    }
}

/// How series are paired, and which pairs there are.
struct Pairing {
    key: Key,
    /// The labels taken over from the side with one series.
    include: Vec<Symbol>,
    /// Whether one side may have many.
    grouped: bool,
    /// Whether the side that may have many stands on the right.
    swapped: bool,
    /// Match groups with what was found in them.
    found: IdSet<u64>,
}
