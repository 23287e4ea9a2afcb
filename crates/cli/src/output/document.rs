//! What a command answers for a person: paragraphs and tables, as values that are laid out when they are printed.

use std::fmt;

use clearway_core::terminal_text::{escape, escape_line};

use super::table::{Layout, Table};

/// Paragraphs and tables in their order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Document {
    blocks: Vec<Block>,
    /// What `-o name` prints, if it is not the names of the rows.
    names: Option<Vec<String>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Block {
    Text(String),
    Table(Table),
}

impl Document {
    /// Adds a table below what is there.
    pub(crate) fn push_table(&mut self, table: Table) {
        self.blocks.push(Block::Table(table));
    }

    /// Adds text as it is; it may hold foreign text and line breaks.
    pub(crate) fn push_text(&mut self, text: &str) {
        match self.blocks.last_mut() {
            Some(Block::Text(before)) => before.push_str(text),
            _ => self.blocks.push(Block::Text(text.to_owned())),
        }
    }

    /// The same document below some text.
    pub(crate) fn below(mut self, text: &str) -> Self {
        self.blocks.insert(0, Block::Text(text.to_owned()));
        self
    }

    /// The same document about what has these names, for `-o name`.
    pub(crate) fn named(mut self, names: impl IntoIterator<Item = String>) -> Self {
        self.names = Some(names.into_iter().map(|name| escape_line(&name).into_owned()).collect());
        self
    }

    /// Documents with an empty line between them.
    pub(crate) fn join(parts: impl IntoIterator<Item = Document>) -> Self {
        let mut all = Document::default();
        for part in parts {
            if !all.blocks.is_empty() {
                all.push_text("\n");
            }
            all.blocks.extend(part.blocks);
        }
        all
    }

    /// The document as lines, escaped for a terminal.
    pub(crate) fn render(&self, layout: Layout) -> String {
        let block = |block: &Block| match block {
            Block::Text(text) => escape(text).into_owned(),
            Block::Table(table) => table.render(layout),
        };
        self.blocks.iter().map(block).collect()
    }

    /// Its names, one a line: those of the rows of its tables, unless others were given. `None` if it has neither.
    pub(super) fn names(&self) -> Option<String> {
        let lines = |names: &[&str]| names.iter().flat_map(|name| [escape_line(name), "\n".into()]).collect();
        if let Some(names) = &self.names {
            return Some(lines(&names.iter().map(String::as_str).collect::<Vec<_>>()));
        }
        let mut tables = self.blocks.iter().filter_map(|block| match block {
            Block::Table(table) => Some(table),
            Block::Text(_) => None,
        });
        let first = tables.next()?;
        let mut names: Vec<&str> = Vec::new();
        for name in std::iter::once(first).chain(tables).flat_map(Table::names) {
            // One object may have several rows below each other.
            if names.last() != Some(&name) {
                names.push(name);
            }
        }
        Some(lines(&names))
    }
}

impl From<Table> for Document {
    fn from(table: Table) -> Self {
        Document { blocks: vec![Block::Table(table)], names: None }
    }
}

impl From<String> for Document {
    fn from(text: String) -> Self {
        Document { blocks: vec![Block::Text(text)], names: None }
    }
}

/// As in a file: complete and without colours.
impl fmt::Display for Document {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.render(Layout::PLAIN))
    }
}

impl fmt::Write for Document {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.push_text(text);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(names: &[&str]) -> Table {
        Table::new(&["NAME"], names.iter().map(|name| vec![(*name).to_owned()]))
    }

    #[test]
    fn text_and_tables_are_shown_in_their_order() {
        let mut document = Document::from("head\n\n".to_owned());
        document.push_table(table(&["a"]));
        document.push_text("foot\u{1b}\n");
        assert_eq!(document.to_string(), "head\n\nNAME\na\nfoot\\x1b\n");
    }

    #[test]
    fn names_are_those_of_all_tables() {
        let both = Document::join([table(&["a", "a", "b"]).into(), table(&["c"]).into()]);
        assert_eq!(both.names().as_deref(), Some("a\nb\nc\n"));
        assert_eq!(both.to_string(), "NAME\na\na\nb\n\nNAME\nc\n");
        assert_eq!(Document::from(table(&[])).names().as_deref(), Some(""));
        assert_eq!(Document::from("text".to_owned()).names(), None);
        let named = Document::from("text".to_owned()).named(["x\ny".to_owned()]);
        assert_eq!(named.names().as_deref(), Some("x y\n"));
    }
}
