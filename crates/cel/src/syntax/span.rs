//! Places in the text of an expression.

use clearway_core::diagnostic::Position;

/// A part of the text, in bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span {
    /// The first byte.
    pub start: u32,
    /// The byte behind the last one.
    pub end: u32,
}

impl Span {
    /// From one byte to another.
    pub const fn new(start: u32, end: u32) -> Self {
        Span { start, end }
    }

    /// From the start of one part to the end of another.
    #[must_use]
    pub fn to(self, end: Span) -> Self {
        Span { start: self.start, end: end.end.max(self.start) }
    }

    /// The text of this part; empty if it lies outside.
    pub fn of(self, source: &str) -> &str {
        source.get(self.start as usize..self.end as usize).unwrap_or_default()
    }

    /// The line and column where it starts, counted from 1; nothing if it lies outside the text.
    pub fn position(self, source: &str) -> Option<Position> {
        let before = source.get(..self.start as usize)?;
        let line_start = before.rfind('\n').map_or(0, |newline| newline.saturating_add(1));
        let line = before.matches('\n').count().saturating_add(1);
        let column = before.get(line_start..)?.chars().count().saturating_add(1);
        Some(Position { line, column })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_count_lines_and_characters() {
        let source = "a\n é+b";
        assert_eq!(Span::new(5, 6).position(source), Some(Position { line: 2, column: 3 }));
        assert_eq!(Span::new(6, 7).of(source), "b");
        assert_eq!(Span::new(90, 91).position(source), None);
    }
}
