//! Tables: cells as values, laid out for a width.
//!
//! What a table looks like depends only on its cells and a [`Layout`], so the same table is golden text in a file, fits a
//! terminal, or is complete with `-o wide`.

use std::fmt;

use clearway_core::terminal_text::escape_line;
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

use super::states;

/// Spaces between two columns.
const GAP: usize = 2;

/// Widths that columns are not narrowed below, in the order in which they are tried. Names are what a reader copies, so
/// the first step leaves them whole.
const FLOORS: [Floor; 3] = [
    Floor { width: 12, names: false, heads: true },
    Floor { width: 8, names: true, heads: false },
    Floor { width: 3, names: true, heads: false },
];

/// How narrow columns may become in one step.
struct Floor {
    width: usize,
    /// Whether the column of names is narrowed, too.
    names: bool,
    /// Whether heads stay whole.
    heads: bool,
}

/// What decides about the look of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Layout {
    /// Columns of the terminal; `None` shows every cell completely.
    pub(crate) width: Option<usize>,
    /// Whether tables have a head.
    pub(crate) headers: bool,
    /// Whether states are coloured.
    pub(crate) colour: bool,
}

impl Layout {
    /// Complete, with heads and without colours: for files and pipes.
    pub(crate) const PLAIN: Layout = Layout { width: None, headers: true, colour: false };
}

/// Rows below a head. Cells may hold foreign text; it is escaped, and stays on its line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Table {
    head: Vec<String>,
    rows: Vec<Vec<String>>,
    name_column: usize,
}

impl Table {
    /// A table whose first column names what a row is about.
    pub(crate) fn new(head: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> Self {
        let line = |row: Vec<String>| row.iter().map(|cell| escape_line(cell).into_owned()).collect();
        Table {
            head: head.iter().map(|&name| name.to_owned()).collect(),
            rows: rows.into_iter().map(line).collect(),
            name_column: 0,
        }
    }

    /// The same table with its names (`-o name`) in another column, counted from 0.
    pub(crate) fn named_by(mut self, column: usize) -> Self {
        self.name_column = column;
        self
    }

    /// The names of its rows, in their order.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.rows.iter().filter_map(|row| row.get(self.name_column)).map(String::as_str)
    }

    /// The table as lines.
    pub(crate) fn render(&self, layout: Layout) -> String {
        let mut widths = self.natural_widths(layout.headers);
        if let Some(available) = layout.width {
            self.narrow(&mut widths, available, layout.headers);
        }
        let mut text = String::new();
        if layout.headers {
            push_row(&mut text, &self.head, &widths, |_, _| None);
        }
        let style_of = |column: usize, cell: &str| {
            let name = self.head.get(column).map_or("", String::as_str);
            states::style(name, cell).filter(|_| layout.colour)
        };
        for row in &self.rows {
            push_row(&mut text, row, &widths, style_of);
        }
        text
    }

    fn natural_widths(&self, headers: bool) -> Vec<usize> {
        let mut widths: Vec<usize> = self.head.iter().map(|name| if headers { name.width() } else { 0 }).collect();
        for row in &self.rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(cell.width());
            }
        }
        widths
    }

    /// Takes from the widest columns until the lines fit. A table with very many columns stays wider than the terminal.
    fn narrow(&self, widths: &mut [usize], available: usize, headers: bool) {
        let gaps = GAP.saturating_mul(widths.len().saturating_sub(1));
        let available = available.saturating_sub(gaps);
        for floor in FLOORS {
            loop {
                let total: usize = widths.iter().sum();
                let excess = total.saturating_sub(available);
                if excess == 0 {
                    return;
                }
                let lowest = |column: usize| {
                    let head = self.head.get(column).filter(|_| headers && floor.heads);
                    floor.width.max(head.map_or(0, |name| name.width()))
                };
                let may = |column: usize| floor.names || column != self.name_column;
                let widest =
                    widths.iter_mut().enumerate().filter(|(column, width)| may(*column) && **width > lowest(*column));
                let Some((column, width)) = widest.max_by_key(|(column, width)| (**width, usize::MAX - column)) else {
                    break;
                };
                // One by one near the end, so that equal columns stay equal; a cell may be a megabyte long.
                let step = width.saturating_sub(available).clamp(1, width.saturating_sub(lowest(column)).max(1));
                *width = width.saturating_sub(step);
            }
        }
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.render(Layout::PLAIN))
    }
}

fn push_row(
    text: &mut String,
    row: &[String],
    widths: &[usize],
    style: impl Fn(usize, &str) -> Option<anstyle::Style>,
) {
    let last = row.iter().rposition(|cell| !cell.is_empty()).map_or(0, |at| at.saturating_add(1));
    for (column, (cell, &width)) in row.iter().zip(widths).enumerate().take(last) {
        let shown = truncated(cell, width);
        match style(column, cell) {
            Some(style) => {
                text.extend([style.render().to_string().as_str(), &shown, &style.render_reset().to_string()]);
            }
            None => text.push_str(&shown),
        }
        if column.saturating_add(1) < last {
            let padding = width.saturating_sub(shown.width()).saturating_add(GAP);
            text.extend(std::iter::repeat_n(' ', padding));
        }
    }
    text.truncate(text.trim_end_matches(' ').len());
    text.push('\n');
}

/// The text in at most this many columns of a terminal; what is cut off is replaced by an ellipsis.
pub(crate) fn truncated(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut left = width.saturating_sub(1);
    let mut short = String::new();
    for letter in text.chars() {
        let wide = letter.width().unwrap_or_default();
        if wide > left {
            break;
        }
        left = left.saturating_sub(wide);
        short.push(letter);
    }
    short.truncate(short.trim_end_matches(' ').len());
    short.push('…');
    short
}

#[cfg(test)]
mod tests;
