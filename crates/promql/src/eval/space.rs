//! The labels of an evaluation: those of the store, and those that the query makes.
//!
//! Ids below the store's count are the store's; the others are this evaluation's own. Equal label sets have equal ids,
//! so that grouping and matching compare numbers.

mod xxhash;

use crate::series::sets::{Pair, SetId, Sets, hash_of};
use crate::series::symbols::{EMPTY, NAME, Symbol, Symbols, TYPE, UNIT};
use crate::series::{Labels, Series, hash, push_label, value_in};

/// The longest value a query may make for a label.
pub(crate) const LONGEST_VALUE: usize = 64 << 10;

/// The set without labels, if no series is without: an id no other set has, since there is never room for so many.
const NO_LABELS: SetId = SetId::MAX;

/// There is no room for more labels.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Full;

/// Which labels tell groups or pairs of series apart.
#[derive(Debug, Clone)]
pub(crate) enum Key {
    /// None: all series belong together.
    Nothing,
    /// These.
    Only(Vec<Symbol>),
    /// All but these and the name of the metric.
    Without(Vec<Symbol>),
}

pub(crate) struct Space<'a> {
    base: &'a Series,
    symbols: Symbols,
    sets: Sets,
    base_symbols: u32,
    base_sets: u32,
    scratch: Vec<Pair>,
    /// The set that was made last: series in order are often left with the same labels as the one before.
    last: Option<SetId>,
    /// The set without labels.
    pub(crate) empty: SetId,
}

impl<'a> Space<'a> {
    pub(crate) fn new(base: &'a Series) -> Self {
        let count = |length: usize| u32::try_from(length).unwrap_or(u32::MAX);
        let mut space = Space {
            base,
            symbols: Symbols::empty(),
            sets: Sets::default(),
            base_symbols: count(base.symbols.len()),
            base_sets: count(base.sets.len()),
            scratch: Vec::new(),
            last: None,
            empty: NO_LABELS,
        };
        if base.nameless {
            space.empty = base.sets.find_hashed(&[], hash_of(&[])).unwrap_or(NO_LABELS);
        }
        space
    }

    /// How many bytes of text the query has made.
    pub(crate) fn bytes(&self) -> usize {
        self.symbols.bytes()
    }

    pub(crate) fn text(&self, symbol: Symbol) -> &str {
        match symbol.checked_sub(self.base_symbols) {
            None => self.base.symbols.text(symbol),
            Some(own) => self.symbols.text(own),
        }
    }

    /// The symbol of a text, if any series or the query has it.
    pub(crate) fn find(&self, text: &str) -> Option<Symbol> {
        let hash = hash::of_bytes(text.as_bytes());
        self.base
            .symbols
            .find_hashed(text, hash)
            .or_else(|| self.symbols.find_hashed(text, hash).and_then(|own| own.checked_add(self.base_symbols)))
    }

    pub(crate) fn intern(&mut self, text: &str) -> Result<Symbol, Full> {
        let hash = hash::of_bytes(text.as_bytes());
        if let Some(known) = self.base.symbols.find_hashed(text, hash) {
            return Ok(known);
        }
        let own = self.symbols.find_hashed(text, hash).or_else(|| self.symbols.add(text, hash));
        own.and_then(|own| own.checked_add(self.base_symbols)).ok_or(Full)
    }

    pub(crate) fn pairs(&self, set: SetId) -> &[Pair] {
        match set.checked_sub(self.base_sets) {
            None => self.base.sets.pairs(set),
            Some(own) => self.sets.pairs(own),
        }
    }

    pub(crate) fn value(&self, set: SetId, name: Symbol) -> Symbol {
        value_in(self.pairs(set), name)
    }

    /// The text of a label; empty if it is missing.
    pub(crate) fn value_text(&self, set: SetId, name: &str) -> &str {
        self.find(name).map_or("", |name| self.text(self.value(set, name)))
    }

    pub(crate) fn metric(&self, set: SetId) -> &str {
        self.text(self.value(set, NAME))
    }

    fn intern_pairs(&mut self, pairs: &[Pair]) -> Result<SetId, Full> {
        if pairs.is_empty() {
            return Ok(self.empty);
        }
        let hash = hash_of(pairs);
        // A store whose series all have names need not be asked for a set without one.
        if (self.base.nameless || value_in(pairs, NAME) != EMPTY)
            && let Some(known) = self.base.sets.find_hashed(pairs, hash)
        {
            return Ok(known);
        }
        let own = self.sets.find_hashed(pairs, hash).or_else(|| self.sets.add(pairs, hash));
        own.and_then(|own| own.checked_add(self.base_sets)).filter(|set| *set != NO_LABELS).ok_or(Full)
    }

    /// The set of those labels of `set` that `keep` says.
    fn filtered(&mut self, set: SetId, keep: impl Fn(&Pair) -> bool) -> Result<SetId, Full> {
        let mut scratch = std::mem::take(&mut self.scratch);
        scratch.clear();
        let pairs = self.pairs(set);
        scratch.extend(pairs.iter().filter(|pair| keep(pair)));
        let made = if scratch.len() == pairs.len() {
            Ok(set)
        } else if let Some(last) = self.last.filter(|last| self.pairs(*last) == scratch) {
            Ok(last)
        } else {
            self.intern_pairs(&scratch).inspect(|made| self.last = Some(*made))
        };
        self.scratch = scratch;
        made
    }

    /// What `key` leaves of a set.
    pub(crate) fn reduce(&mut self, set: SetId, key: &Key) -> Result<SetId, Full> {
        match key {
            Key::Nothing => Ok(self.empty),
            Key::Only(names) => self.filtered(set, |pair| names.contains(&pair.name)),
            Key::Without(names) => self.filtered(set, |pair| pair.name != NAME && !names.contains(&pair.name)),
        }
    }

    /// The set without the name of the metric, and without its type and unit if they are labels.
    pub(crate) fn without_metric_name(&mut self, set: SetId) -> Result<SetId, Full> {
        self.filtered(set, |pair| !matches!(pair.name, NAME | TYPE | UNIT))
    }

    /// The set without one label.
    pub(crate) fn unlabelled(&mut self, set: SetId, name: Symbol) -> Result<SetId, Full> {
        self.filtered(set, |pair| pair.name != name)
    }

    /// The set with another value for one label; an empty value removes it.
    pub(crate) fn labelled(&mut self, set: SetId, name: Symbol, value: Symbol) -> Result<SetId, Full> {
        if value == EMPTY {
            return self.unlabelled(set, name);
        }
        let mut scratch = std::mem::take(&mut self.scratch);
        scratch.clear();
        scratch.extend_from_slice(self.pairs(set));
        if let Some(pair) = scratch.iter_mut().find(|pair| pair.name == name) {
            pair.value = value;
        } else {
            let at = scratch.partition_point(|pair| self.text(pair.name) < self.text(name));
            scratch.insert(at, Pair { name, value });
        }
        let made = self.intern_pairs(&scratch);
        self.scratch = scratch;
        made
    }

    pub(crate) fn labels(&self, set: SetId) -> Labels {
        let text = |symbol| self.text(symbol).to_owned();
        Labels::sorted(self.pairs(set).iter().map(|pair| (text(pair.name), text(pair.value))).collect())
    }

    /// The labels in braces, the name of the metric among them: as messages of Prometheus have them.
    pub(crate) fn braces(&self, set: SetId) -> String {
        let mut out = String::from("{");
        for (index, pair) in self.pairs(set).iter().enumerate() {
            if index > 0 {
                out.push_str(", ");
            }
            push_label(self.text(pair.name), self.text(pair.value), &mut out);
        }
        out.push('}');
        out
    }

    /// Where a set stands between 0 and 1, by the hash of its labels: as Prometheus chooses a share of series.
    #[expect(clippy::cast_precision_loss, reason = "Prometheus divides as floats, too")]
    pub(crate) fn share_of(&self, set: SetId) -> f64 {
        let mut bytes = Vec::new();
        for pair in self.pairs(set) {
            for symbol in [pair.name, pair.value] {
                let text = self.text(symbol);
                // The length in one byte, or a mark and three bytes.
                match u8::try_from(text.len()) {
                    Ok(length) if length < u8::MAX => bytes.push(length),
                    _ => {
                        bytes.push(u8::MAX);
                        bytes.extend(text.len().to_le_bytes().iter().take(3));
                    }
                }
                bytes.extend_from_slice(text.as_bytes());
            }
        }
        xxhash::xxh64(&bytes) as f64 / u64::MAX as f64
    }

    /// The order of label sets: label by label, the name of each before its value.
    pub(crate) fn compare(&self, one: SetId, other: SetId) -> std::cmp::Ordering {
        let text = |pair: &Pair| (self.text(pair.name), self.text(pair.value));
        self.pairs(one).iter().map(text).cmp(self.pairs(other).iter().map(text))
    }
}
