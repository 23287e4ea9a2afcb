//! Texts of labels, each stored once and known by a number.

use super::hash::{self, Table};

/// The number of a text.
pub(crate) type Symbol = u32;

/// The empty text.
pub(crate) const EMPTY: Symbol = 0;
/// The label that holds the name of the metric.
pub(crate) const NAME: Symbol = 1;
/// The label that holds the type of the metric.
pub(crate) const TYPE: Symbol = 2;
/// The label that holds the unit of the metric.
pub(crate) const UNIT: Symbol = 3;

/// Texts, each stored once.
#[derive(Debug, Clone)]
pub(crate) struct Symbols {
    text: String,
    ends: Vec<u32>,
    table: Table,
}

impl Symbols {
    /// Those every store knows: [`EMPTY`], [`NAME`], [`TYPE`] and [`UNIT`].
    pub(crate) fn known() -> Self {
        let mut symbols = Symbols::empty();
        symbols.add_known();
        symbols
    }

    fn add_known(&mut self) {
        for text in ["", "__name__", "__type__", "__unit__"] {
            self.add(text, hash::of_bytes(text.as_bytes()));
        }
    }

    /// None at all.
    pub(crate) fn empty() -> Self {
        Symbols { text: String::new(), ends: Vec::new(), table: Table::default() }
    }

    /// Makes room for so many texts of so many bytes.
    pub(crate) fn expecting(texts: usize, bytes: usize) -> Self {
        let mut symbols = Symbols::empty();
        symbols.text.reserve(bytes);
        symbols.ends.reserve(texts);
        symbols.table.reserve(texts);
        symbols.add_known();
        symbols
    }

    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    /// How many bytes all texts have.
    pub(crate) fn bytes(&self) -> usize {
        self.text.len()
    }

    /// The text of a symbol; empty if there is no such symbol.
    pub(crate) fn text(&self, symbol: Symbol) -> &str {
        let index = symbol as usize;
        let start = match index.checked_sub(1) {
            None => 0,
            Some(before) => self.ends.get(before).copied().unwrap_or_default(),
        };
        let end = self.ends.get(index).copied().unwrap_or_default();
        self.text.get(start as usize..end as usize).unwrap_or_default()
    }

    pub(crate) fn find(&self, text: &str) -> Option<Symbol> {
        self.find_hashed(text, hash::of_bytes(text.as_bytes()))
    }

    pub(crate) fn find_hashed(&self, text: &str, hash: u64) -> Option<Symbol> {
        self.table.find(hash, |symbol| self.text(symbol) == text)
    }

    /// The symbol of a text, which is added if it is new. Nothing if there is no room: four gigabytes.
    pub(crate) fn intern(&mut self, text: &str) -> Option<Symbol> {
        let hash = hash::of_bytes(text.as_bytes());
        if let Some(symbol) = self.find_hashed(text, hash) {
            return Some(symbol);
        }
        self.add(text, hash)
    }

    /// Adds a text that is not there yet.
    pub(crate) fn add(&mut self, text: &str, hash: u64) -> Option<Symbol> {
        let end = u32::try_from(self.text.len().checked_add(text.len())?).ok()?;
        let symbol = u32::try_from(self.ends.len()).ok()?;
        self.text.push_str(text);
        self.ends.push(end);
        self.table.insert(hash, symbol);
        Some(symbol)
    }
}
