//! What an expression may cost at most, before it is evaluated.
//!
//! The API server refuses rules of a CRD by this estimate. It follows cel-go's checker and the API server's own functions
//! part by part; sizes come from literals and, along paths that start at `self`, from the schema.

mod calls;
mod range;

use crate::check::Checked;
use crate::cost::limits::Budget;
use crate::decl::{Decl, DeclKind, MAX_REQUEST};
use crate::environment::Environment;
use crate::error::{CelError, ErrorClass};
use crate::program::Program;
use crate::syntax::ast::Range;
use crate::tree::{Constant, Loop, SelectMode, TreeId, TreeKind};
use crate::types::TypeKind;
use crate::value::char_count;

pub use range::CostRange;
use range::Size;

/// Estimates the cost of a checked expression.
pub(crate) fn estimate(checked: &Checked, environment: &Environment) -> CostRange {
    let count = checked.tree.nodes.len();
    let mut estimator = Estimator {
        checked,
        environment,
        decl: environment.decl.as_deref().filter(|_| environment.variables.iter().any(|known| *known.name == *"self")),
        parts: Vec::with_capacity(count),
        locals: vec![Local::default(); checked.tree.slots as usize],
    };
    for id in 0..count {
        let part = estimator.part(u32::try_from(id).unwrap_or(u32::MAX));
        estimator.parts.push(part);
    }
    estimator.parts.last().map_or(CostRange::default(), |part| part.cost)
}

impl Program {
    /// Refuses a rule of a CRD whose estimate exceeds what the API server accepts for one rule.
    ///
    /// The rule runs once for each value that its place in the schema has: the product of `maxItems` and
    /// `maxProperties` above it, or nothing if one of them has no limit. Then as many values as fit into a request count.
    /// Gives the estimated cost of all runs together.
    pub fn check_estimate(&self, values: Option<u64>) -> Result<u64, CelError> {
        let fitting = || {
            let least = self.environment.decl.as_ref().map_or(0, |decl| decl.min_bytes);
            MAX_REQUEST / least.saturating_add(1)
        };
        let cost = self.estimate().max.saturating_mul(values.unwrap_or_else(fitting));
        let limit = Budget::ESTIMATE_PER_RULE;
        if cost <= limit {
            return Ok(cost);
        }
        let factor = match cost / (limit / 10) {
            tenths if tenths >= 1_000 => "more than 100x".to_owned(),
            tenths => format!("{}.{}x", tenths / 10, tenths % 10),
        };
        let detail = format!(
            "the estimated cost exceeds the limit of {limit} by a factor of {factor}: limit lists with maxItems, maps with maxProperties and strings with maxLength"
        );
        Err(CelError::with(ErrorClass::EstimatedCost, self.checked.tree.span(self.checked.tree.root()), detail))
    }
}

/// Where a value comes from.
#[derive(Debug, Clone, Copy, Default)]
enum Path<'a> {
    /// Not from a variable.
    #[default]
    None,
    /// A place in the schema, so many steps from its root.
    At(&'a Decl, usize),
    /// The key of a map.
    Key(usize),
    /// A place that the schema does not describe.
    Lost(usize),
}

/// The sizes of the keys and values of a list or map.
#[derive(Debug, Clone, Copy)]
struct Entries {
    list: bool,
    key: Size,
    value: Size,
}

/// What is known of a part.
#[derive(Debug, Clone, Copy, Default)]
struct Part<'a> {
    cost: CostRange,
    size: Option<Size>,
    entries: Option<Entries>,
    path: Path<'a>,
}

/// What is known of a variable of a loop.
#[derive(Debug, Clone, Copy, Default)]
struct Local<'a> {
    path: Path<'a>,
    size: Option<Size>,
    entries: Option<Entries>,
}

struct Estimator<'a> {
    checked: &'a Checked,
    environment: &'a Environment,
    decl: Option<&'a Decl>,
    parts: Vec<Part<'a>>,
    locals: Vec<Local<'a>>,
}

impl<'a> Estimator<'a> {
    fn known(&self, id: TreeId) -> Part<'a> {
        self.parts.get(id as usize).copied().unwrap_or_default()
    }

    fn part(&mut self, id: TreeId) -> Part<'a> {
        let tree = &self.checked.tree;
        match tree.kind(id) {
            TreeKind::Global(_) | TreeKind::TypeName(_) => {
                let path = self.first_step();
                Part { cost: CostRange::fixed(1), path, ..Part::default() }
            }
            TreeKind::Local(slot) => {
                let local = self.locals.get(slot as usize).copied().unwrap_or_default();
                Part { cost: CostRange::fixed(1), path: local.path, ..Part::default() }
            }
            TreeKind::Select { operand, field, mode } => self.select(operand, self.checked.ast.text(field), mode),
            TreeKind::Call { arguments, member, function } => self.call(id, function, member, arguments),
            TreeKind::And(terms) | TreeKind::Or(terms) => self.logic(terms),
            TreeKind::List(elements) => self.list(elements),
            TreeKind::Map(entries) => self.map(entries),
            TreeKind::EnterLoop(number) => {
                if let Some(entry) = tree.get_loop(number).copied() {
                    self.enter_loop(&entry);
                }
                Part::default()
            }
            TreeKind::Loop(number) => match tree.get_loop(number).copied() {
                Some(entry) if entry.binding => {
                    let (range, init, result) = (entry.range, entry.init, entry.result);
                    let cost = self.known(range).cost.plus(self.known(init).cost).plus(self.known(result).cost);
                    Part { cost, size: self.size(result), entries: self.entries(result), path: Path::None }
                }
                Some(entry) => self.end_loop(&entry),
                None => Part::default(),
            },
            _ => Part::default(),
        }
    }

    /// The size of a part, if anything is known of it.
    fn size(&self, id: TreeId) -> Option<Size> {
        let part = self.known(id);
        let tree = &self.checked.tree;
        part.size
            .or_else(|| self.literal_size(tree.kind(id)))
            .or_else(|| Estimator::size_at(part.path))
            .or_else(|| self.is_scalar(self.checked.kind_of(id)).then_some(Size::fixed(1)))
            .or_else(|| match tree.kind(id) {
                TreeKind::Local(slot) => self.locals.get(slot as usize).and_then(|local| local.size),
                _ => None,
            })
    }

    fn size_or_unknown(&self, id: TreeId) -> Size {
        self.size(id).unwrap_or(Size::UNKNOWN)
    }

    fn size_at(path: Path<'_>) -> Option<Size> {
        match path {
            Path::At(decl, _) => Some(Size { min: 0, max: decl.max_size }),
            Path::Key(_) => Some(Size { min: 0, max: 0 }),
            Path::None | Path::Lost(_) => None,
        }
    }

    fn literal_size(&self, kind: TreeKind) -> Option<Size> {
        let count = |count: usize| Some(Size::fixed(u64::try_from(count).unwrap_or(u64::MAX)));
        match kind {
            TreeKind::Constant(Constant::String(text)) => count(char_count(self.checked.ast.text(text))),
            TreeKind::Constant(Constant::Bytes(bytes)) => count(self.checked.ast.blob(bytes).len()),
            TreeKind::Constant(_) => Some(Size::fixed(1)),
            TreeKind::List(elements) => count(self.checked.tree.children(elements).len()),
            TreeKind::Map(entries) => count(self.checked.tree.children(entries).len() / 2),
            _ => None,
        }
    }

    fn is_scalar(&self, kind: TypeKind) -> bool {
        match kind {
            TypeKind::Bool
            | TypeKind::Double
            | TypeKind::Duration
            | TypeKind::Int
            | TypeKind::Timestamp
            | TypeKind::Uint => true,
            TypeKind::Optional(inner) => {
                matches!(
                    self.checked.table.kind(inner),
                    TypeKind::Bool
                        | TypeKind::Double
                        | TypeKind::Duration
                        | TypeKind::Int
                        | TypeKind::Timestamp
                        | TypeKind::Uint
                )
            }
            _ => false,
        }
    }

    fn entries(&self, id: TreeId) -> Option<Entries> {
        self.known(id).entries.or_else(|| match self.checked.tree.kind(id) {
            TreeKind::Local(slot) => self.locals.get(slot as usize).and_then(|local| local.entries),
            _ => None,
        })
    }

    fn select(&self, operand: TreeId, field: &str, mode: SelectMode) -> Part<'a> {
        let before = self.known(operand);
        match mode {
            SelectMode::Test => Part { cost: before.cost, ..Part::default() },
            SelectMode::Optional => Part { cost: before.cost.plus(CostRange::fixed(1)), ..Part::default() },
            SelectMode::Value => {
                let charged = matches!(
                    self.checked.kind_of(operand),
                    TypeKind::Map(..) | TypeKind::Object(_) | TypeKind::Variables | TypeKind::Named(_)
                );
                let cost = before.cost.plus(CostRange::fixed(u64::from(charged)));
                let path = match before.path {
                    Path::None => self.first_step(),
                    Path::At(decl, steps) => match decl.field(field, false) {
                        Some(field) => Path::At(field, steps.saturating_add(1)),
                        None => Path::Lost(steps.saturating_add(1)),
                    },
                    Path::Key(steps) | Path::Lost(steps) => Path::Lost(steps.saturating_add(1)),
                };
                Part { cost, path, ..Part::default() }
            }
        }
    }

    /// The first step of a path is taken for the name of a variable, whatever it is.
    fn first_step(&self) -> Path<'a> {
        self.decl.map_or(Path::Lost(1), |decl| Path::At(decl, 1))
    }

    /// The path of an element of a list, or of a value of a map.
    fn element_path(&self, path: Path<'a>) -> Path<'a> {
        match path {
            Path::None => self.first_step(),
            Path::At(decl, steps) => match decl.element().filter(|_| decl.exposed) {
                Some(element) => Path::At(element, steps.saturating_add(1)),
                None => Path::Lost(steps.saturating_add(1)),
            },
            Path::Key(steps) | Path::Lost(steps) => Path::Lost(steps.saturating_add(1)),
        }
    }

    fn logic(&self, terms: Range) -> Part<'a> {
        let mut cost: Option<CostRange> = None;
        for term in self.checked.tree.children(terms) {
            let next = self.known(term.node).cost;
            cost = Some(match cost {
                None => next,
                Some(before) => CostRange { min: before.min, max: before.plus(next).max },
            });
        }
        Part { cost: cost.unwrap_or_default(), ..Part::default() }
    }

    fn list(&self, elements: Range) -> Part<'a> {
        let children = self.checked.tree.children(elements);
        let mut cost = CostRange::fixed(10);
        let mut value = Size { min: if children.is_empty() { 0 } else { u64::MAX }, max: 0 };
        for child in children {
            cost = cost.plus(self.known(child.node).cost);
            value = value.union(self.size_or_unknown(child.node));
        }
        let entries = Some(Entries { list: true, key: Size::fixed(1), value });
        Part { cost, entries, ..Part::default() }
    }

    fn map(&self, entries: Range) -> Part<'a> {
        let children = self.checked.tree.children(entries);
        let mut cost = CostRange::fixed(30);
        let nothing = Size { min: if children.is_empty() { 0 } else { u64::MAX }, max: 0 };
        let (mut key, mut value) = (nothing, nothing);
        for (index, child) in children.iter().enumerate() {
            cost = cost.plus(self.known(child.node).cost);
            let size = self.size_or_unknown(child.node);
            let part = if index % 2 == 0 { &mut key } else { &mut value };
            *part = part.union(size);
        }
        Part { cost, entries: Some(Entries { list: false, key, value }), ..Part::default() }
    }

    fn enter_loop(&mut self, entry: &Loop) {
        let accumulator =
            Local { path: self.known(entry.init).path, size: self.size(entry.init), entries: self.entries(entry.init) };
        let entries = self.entries(entry.range);
        let list =
            entries.map_or(matches!(self.checked.kind_of(entry.range), TypeKind::List(_)), |entries| entries.list);
        let path = self.known(entry.range).path;
        let key_path = match path {
            Path::None => self.first_step(),
            Path::At(decl, steps) if !list && matches!(decl.kind, DeclKind::Map(_)) => {
                Path::Key(steps.saturating_add(1))
            }
            path => Path::Lost(steps_of(path).saturating_add(1)),
        };
        let key = Local { path: key_path, size: entries.map(|entries| entries.key), entries: None };
        let value = Local { path: self.element_path(path), size: entries.map(|entries| entries.value), entries: None };
        let set = |locals: &mut Vec<Local<'a>>, slot: u32, local: Local<'a>| {
            if let Some(known) = locals.get_mut(slot as usize) {
                *known = local;
            }
        };
        set(&mut self.locals, entry.accumulator, accumulator);
        match entry.second {
            Some(second) => {
                // cel-go writes both paths into one array where that has room for them, and the second one stays.
                let shared = matches!(steps_of(path), 3 | 5..=7 | 9..=15);
                let first = if shared { Local { path: value.path, ..key } } else { key };
                set(&mut self.locals, entry.variable, first);
                set(&mut self.locals, second, value);
            }
            None => set(&mut self.locals, entry.variable, if list { value } else { key }),
        }
    }

    fn end_loop(&mut self, entry: &Loop) -> Part<'a> {
        let cost_of = |id: TreeId| self.known(id).cost;
        let each = cost_of(entry.step).plus(cost_of(entry.condition));
        let count = self.size_or_unknown(entry.range);
        let cost =
            cost_of(entry.range).plus(cost_of(entry.init)).plus(cost_of(entry.result)).plus(count.times_cost(each));
        let (size, entries) = match self.checked.tree.kind(entry.init) {
            TreeKind::Constant(_) => (self.size(entry.init), None),
            TreeKind::List(_) | TreeKind::Map(_) => (Some(count), self.entries(entry.step)),
            _ => (None, None),
        };
        Part { cost, size, entries, path: Path::None }
    }
}

fn steps_of(path: Path<'_>) -> usize {
    match path {
        Path::None => 0,
        Path::At(_, steps) | Path::Key(steps) | Path::Lost(steps) => steps,
    }
}
