//! Estimates of calls: what they cost, and how large their results are.

use super::range::{CostRange, Size};
use super::{Estimator, Part, Path};
use crate::syntax::ast::Range;
use crate::tree::{Constant, TreeId, TreeKind};
use crate::types::{Named, TypeKind};

/// What a call costs without its arguments, and the size of its result.
struct Call {
    cost: CostRange,
    size: Option<Size>,
}

#[expect(clippy::unnecessary_wraps, reason = "an arm of a table of calls of which some are not known")]
fn cost(cost: CostRange) -> Option<Call> {
    Some(Call { cost, size: None })
}

const TENTH: f64 = 0.1;
const QUARTER: f64 = 0.25;

/// The length of the longest pattern of a named format.
const FORMAT_PATTERN: f64 = 128.0;
/// The length of the longest name of one.
const FORMAT_NAME: u64 = 64;

impl<'a> Estimator<'a> {
    pub(super) fn call(&mut self, id: TreeId, function: u32, member: bool, arguments: Range) -> Part<'a> {
        let children: Vec<TreeId> = self.checked.tree.children(arguments).iter().map(|child| child.node).collect();
        let (target, arguments) = match children.split_first() {
            Some((first, rest)) if member => (Some(*first), rest),
            _ => (None, children.as_slice()),
        };
        let functions = &self.environment.base.functions;
        let Some(function) = functions.get(function as usize) else { return Part::default() };
        let sum = arguments.iter().fold(CostRange::default(), |sum, id| sum.plus(self.known(*id).cost));
        if function.name == "dyn"
            && let [value] = arguments
        {
            let cost = sum.plus(CostRange::fixed(1));
            return Part { cost, size: self.size(*value), entries: self.entries(*value), path: Path::None };
        }
        let overloads = self.checked.overloads_of(id);
        if overloads.is_empty() {
            return Part::default();
        }
        let mut part = Part::default();
        let mut total = CostRange { min: u64::MAX, max: 0 };
        let mut size: Option<Size> = None;
        for number in overloads {
            let Some(overload) = function.overloads.get(usize::from(*number)) else { continue };
            let (cost, result) = self.overload(&mut part, &function.name, overload.id, target, arguments, sum);
            total = total.union(cost);
            size = match (size, result) {
                (Some(one), Some(two)) => Some(one.union(two)),
                (one, two) => two.or(one),
            };
            if matches!(overload.id, "index_list" | "index_map")
                && let Some(container) = arguments.first()
            {
                size = self.entries(*container).map(|entries| entries.value);
                part.path = self.element_path(self.known(*container).path);
            }
            if size.is_none() {
                size = Estimator::size_at(part.path);
                let kind = self.checked.kind_of(id);
                size = size.or_else(|| self.is_scalar(kind).then_some(Size::fixed(1)));
            }
        }
        let own = target.map_or(CostRange::default(), |target| self.known(target).cost);
        part.cost = own.plus(total);
        part.size = size;
        part
    }

    fn overload(
        &self,
        part: &mut Part<'a>,
        function: &str,
        overload: &str,
        target: Option<TreeId>,
        arguments: &[TreeId],
        sum: CostRange,
    ) -> (CostRange, Option<Size>) {
        let call = self.extension(overload, target, arguments);
        let call = call.or_else(|| self.kubernetes(function, overload, target, arguments));
        if let Some(call) = call {
            return (call.cost.plus(sum), call.size);
        }
        let size = |id: TreeId| self.size_or_unknown(id);
        match (overload, target, arguments) {
            ("conditional", None, [condition, then, otherwise]) => {
                let branches = self.known(*then).cost.union(self.known(*otherwise).cost);
                let both = self.entries(*then).zip(self.entries(*otherwise));
                part.entries = both.map(|(one, two)| join_entries(one, two)).or(part.entries);
                (self.known(*condition).cost.plus(branches), Some(size(*then).union(size(*otherwise))))
            }
            ("add_string" | "add_bytes" | "add_list", None, [one, two]) => {
                let result = size(*one).plus(size(*two));
                let both = self.entries(*one).zip(self.entries(*two));
                part.entries = both.map(|(one, two)| join_entries(one, two)).or(part.entries);
                let cost = if overload == "add_list" { CostRange::fixed(1) } else { result.scaled(TENTH) };
                (cost.plus(sum), Some(result))
            }
            _ => {
                let call = self.standard(overload, target, arguments);
                let call = call.unwrap_or(Call { cost: CostRange::fixed(1), size: None });
                (call.cost.plus(sum), call.size)
            }
        }
    }

    /// Functions of CEL itself.
    fn standard(&self, overload: &str, target: Option<TreeId>, arguments: &[TreeId]) -> Option<Call> {
        let size = |id: TreeId| self.size_or_unknown(id);
        match (overload, target, arguments) {
            ("string_format", Some(target), _) => cost(size(target).scaled(TENTH)),
            ("string_to_bytes", None, [text]) => {
                let text = size(*text);
                let result = Size { min: text.min, max: text.max.wrapping_mul(4) };
                Some(Call { cost: text.scaled(TENTH), size: Some(result) })
            }
            ("bytes_to_string", None, [bytes]) => {
                let bytes = size(*bytes);
                Some(Call { cost: bytes.scaled(TENTH), size: Some(Size { min: bytes.min / 4, max: bytes.max }) })
            }
            ("strings_quote", None, [text]) => {
                let text = size(*text);
                let result = Size { min: text.min.wrapping_add(2), max: text.max.wrapping_mul(2).wrapping_add(2) };
                Some(Call { cost: text.scaled(TENTH), size: Some(result) })
            }
            ("starts_with_string" | "ends_with_string", _, [part]) => cost(size(*part).scaled(TENTH)),
            ("in_list", None, [_, list]) => cost(size(*list).scaled(1.0)),
            ("matches_string", Some(text), [pattern]) => cost(self.regex(text, *pattern)),
            ("contains_string", Some(text), [part]) => cost(size(text).scaled(TENTH).times(size(*part).scaled(TENTH))),
            (
                "less_string"
                | "greater_string"
                | "less_equals_string"
                | "greater_equals_string"
                | "less_bytes"
                | "greater_bytes"
                | "less_equals_bytes"
                | "greater_equals_bytes"
                | "equals"
                | "not_equals",
                None,
                [one, two],
            ) => {
                let max = size(*one).max.min(size(*two).max);
                cost(CostRange { min: u64::from(max > 0), max }.scaled(TENTH))
            }
            _ => None,
        }
    }

    fn regex(&self, text: TreeId, pattern: TreeId) -> CostRange {
        let text = self.size_or_unknown(text).plus(Size::fixed(1)).scaled(TENTH);
        text.times(self.size_or_unknown(pattern).scaled(QUARTER))
    }

    /// Functions of lists and sets that say themselves what they cost.
    #[expect(clippy::cast_precision_loss, reason = "as in cel-go")]
    fn extension(&self, overload: &str, target: Option<TreeId>, arguments: &[TreeId]) -> Option<Call> {
        let size = |id: TreeId| self.size_or_unknown(id);
        let allocating = |factor: f64, size: Size| {
            Some(Call { cost: size.scaled(factor).plus(CostRange::fixed(11)), size: Some(size) })
        };
        let text_factor = |name: &str| if name.contains("string") || name.contains("bytes") { 2.1 } else { 2.0 };
        match (overload, target, arguments) {
            ("list_slice", Some(list), [start, end]) => {
                let (start, end) = (self.integer(*start, 0), self.integer(*end, size(list).max));
                allocating(1.0, Size::fixed(end.wrapping_sub(start)))
            }
            ("lists_range", None, [count]) => allocating(1.0, Size::fixed(self.integer(*count, u64::MAX))),
            ("list_reverse" | "list_flatten", Some(list), []) => allocating(1.0, size(list)),
            ("list_flatten_int", Some(list), [depth]) => allocating(self.integer(*depth, u64::MAX) as f64, size(list)),
            ("list_distinct", Some(list), []) => allocating(2.0, size(list).times(size(list))),
            (name, Some(list), []) if name.starts_with("list_") && name.ends_with("_sort") => {
                allocating(text_factor(name), size(list).times(size(list)))
            }
            (name, Some(_), [keys]) if name.ends_with("_sortByAssociatedKeys") => {
                allocating(text_factor(name), size(*keys).times(size(*keys)))
            }
            (
                "list_sets_contains_list" | "list_sets_intersects_list" | "list_sets_equivalent_list",
                None,
                [one, two],
            ) => {
                let factor = if overload == "list_sets_equivalent_list" { 2.0 } else { 1.0 };
                cost(size(*one).times(size(*two)).scaled(factor).plus(CostRange::fixed(1)))
            }
            _ => None,
        }
    }

    /// The value of an integer literal.
    fn integer(&self, id: TreeId, otherwise: u64) -> u64 {
        match self.checked.tree.kind(id) {
            TreeKind::Constant(Constant::Int(number)) => u64::try_from(number).unwrap_or(0),
            _ => otherwise,
        }
    }

    /// Functions of Kubernetes.
    fn kubernetes(&self, function: &str, overload: &str, target: Option<TreeId>, arguments: &[TreeId]) -> Option<Call> {
        let size = |id: TreeId| self.size_or_unknown(id);
        match (function, target, arguments) {
            ("isSorted" | "sum" | "max" | "min" | "indexOf" | "lastIndexOf", Some(target), _) => self.traversal(target),
            ("url", _, [text]) => Some(Call { cost: size(*text).scaled(TENTH), size: Some(size(*text)) }),
            ("lowerAscii" | "upperAscii" | "substring" | "trim", Some(text), _) => {
                Some(Call { cost: size(text).scaled(TENTH), size: Some(size(text)) })
            }
            ("replace", Some(text), [old, new, ..]) => {
                let text = size(text);
                let result = replaced(text, size(*old), size(*new));
                Some(Call { cost: text.scaled(2.0 * TENTH), size: Some(result) })
            }
            ("split", Some(text), arguments) => {
                let text = size(text);
                let max = match arguments.get(1).map(|id| self.checked.tree.kind(*id)) {
                    Some(TreeKind::Constant(Constant::Int(number))) => number.cast_unsigned(),
                    _ => text.max,
                };
                Some(Call { cost: text.scaled(2.0 * TENTH), size: Some(Size { min: 0, max }) })
            }
            ("join", Some(list), arguments) => Some(self.join(list, arguments)),
            ("find" | "findAll", Some(text), [pattern, ..]) => {
                let result = Size { min: 0, max: size(text).max };
                Some(Call { cost: self.regex(text, *pattern), size: Some(result) })
            }
            ("ip" | "masked" | "prefixLength", _, _) if overload == "cidr_ip" || function != "ip" => {
                cost(CostRange::fixed(1))
            }
            ("cidr" | "isIP" | "isCIDR" | "ip" | "quantity" | "isQuantity" | "semver" | "isSemver", _, [text, ..]) => {
                cost(size(*text).scaled(TENTH))
            }
            ("ip.isCanonical", _, [text, ..]) => cost(size(*text).scaled(2.0 * TENTH)),
            ("containsIP" | "containsCIDR", _, [other, ..]) => {
                let address = Size { min: 4, max: 16 };
                let mut total = address.plus(address).scaled(TENTH);
                if function == "containsCIDR" {
                    total = total.plus(address.scaled(TENTH)).plus(CostRange::fixed(1));
                }
                if overload.ends_with("_string") {
                    total = total.plus(size(*other).scaled(TENTH));
                }
                cost(total)
            }
            ("validate", _, [text, ..]) => cost(size(*text).scaled(TENTH).scaled(FORMAT_PATTERN * QUARTER)),
            (
                "family"
                | "isUnspecified"
                | "isLoopback"
                | "isLinkLocalMulticast"
                | "isLinkLocalUnicast"
                | "isGlobalUnicast"
                | "format.named"
                | "sign"
                | "asInteger"
                | "isInteger"
                | "asApproximateFloat"
                | "isGreaterThan"
                | "isLessThan"
                | "compareTo"
                | "add"
                | "sub"
                | "major"
                | "minor"
                | "patch"
                | "getScheme"
                | "getHostname"
                | "getHost"
                | "getPort"
                | "getEscapedPath"
                | "getQuery",
                _,
                _,
            ) => cost(CostRange::fixed(1)),
            ("_==_", _, [one, two]) => self.equality(*one, *two),
            _ => None,
        }
    }

    fn equality(&self, one: TreeId, two: TreeId) -> Option<Call> {
        match (self.checked.kind_of(one), self.checked.kind_of(two)) {
            (TypeKind::Named(left), TypeKind::Named(right)) if left == right => match left {
                Named::Format => cost(CostRange { min: 1, max: FORMAT_NAME }.scaled(TENTH)),
                Named::Url => {
                    let size = self.size(two).unwrap_or(Size::fixed(1));
                    cost(CostRange { min: 1, max: size.max }.scaled(TENTH))
                }
                _ => cost(CostRange::fixed(1)),
            },
            _ => None,
        }
    }

    /// The type of a list's elements and their size; nothing if the part is no list.
    fn element(&self, list: TreeId) -> Option<(TypeKind, Size)> {
        let TypeKind::List(element) = self.checked.kind_of(list) else { return None };
        let path = self.known(list).path;
        let size = match path {
            Path::None => None,
            path => Estimator::size_at(self.element_path(path)),
        };
        Some((self.checked.table.kind(element), size.unwrap_or(Size::UNKNOWN)))
    }

    fn traversal(&self, target: TreeId) -> Option<Call> {
        let size = self.size_or_unknown(target);
        match self.element(target) {
            Some((kind, element)) => {
                let mut each = CostRange::fixed(1);
                if matches!(kind, TypeKind::String | TypeKind::Bytes) {
                    each = each.plus(element.scaled(TENTH));
                }
                cost(size.times_cost(each))
            }
            None => cost(size.scaled(TENTH)),
        }
    }

    fn join(&self, list: TreeId, arguments: &[TreeId]) -> Call {
        let count = self.size_or_unknown(list);
        let mut size = match self.element(list) {
            Some((_, element)) => count.times(element),
            None => Size { min: 0, max: 0 },
        };
        if let Some(separator) = arguments.first() {
            let separators = Size { min: count.min.saturating_sub(1), max: count.max.saturating_sub(1) };
            size = size.plus(self.size_or_unknown(*separator).times(separators));
        }
        Call { cost: size.scaled(TENTH), size: Some(size) }
    }
}

fn join_entries(one: super::Entries, two: super::Entries) -> super::Entries {
    super::Entries { list: one.list, key: one.key.union(two.key), value: one.value.union(two.value) }
}

/// How long a text with replacements may be.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "as in the API server"
)]
fn replaced(text: Size, old: Size, new: Size) -> Size {
    let quotient = |size: u64, by: u64| (size as f64 / by as f64).ceil() as u64;
    let (mut count, mut kept) = (Size { min: 0, max: 0 }, Size { min: 0, max: 0 });
    if old.min == 0 {
        count.max = text.max.saturating_add(1);
        kept.max = text.max;
    } else if new.max <= old.min {
        kept.max = text.max;
    } else {
        count.max = quotient(text.max, old.min);
    }
    if old.max == 0 {
        count.min = text.min.saturating_add(1);
        kept.min = text.min;
    } else if old.max <= new.min {
        kept.min = text.min;
    } else {
        count.min = quotient(text.min, old.max);
    }
    count.times(new).plus(kept)
}
