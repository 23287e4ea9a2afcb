//! Lines and columns of bytes in a text, counted from one byte to the next.
//!
//! A list of releases is often one line of megabytes: counting from its start for each release would take the square of
//! its length.

use clearway_core::Position;

/// The byte at which `part` stands in `text`, if it is a piece of it and no copy.
pub(super) fn offset(text: &str, part: &str) -> Option<usize> {
    let at = part.as_ptr().addr().checked_sub(text.as_ptr().addr())?;
    (at < text.len()).then_some(at)
}

/// Counts lines and columns on the way through a text.
#[derive(Clone)]
pub(super) struct Lines<'t> {
    text: &'t str,
    at: usize,
    here: Position,
    /// Where counting starts again for a byte that was passed.
    start: (usize, Position),
}

impl<'t> Lines<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        let here = Position { line: 1, column: 1 };
        Lines { text, at: 0, here, start: (0, here) }
    }

    /// The line and column of a byte. Bytes come in increasing order; where they do not, counting starts again where a
    /// clone was taken, or at the beginning.
    pub(super) fn position(&mut self, byte: usize) -> Position {
        if byte < self.at {
            (self.at, self.here) = self.start;
        }
        if byte < self.at {
            (self.at, self.here) = (0, Position { line: 1, column: 1 });
        }
        let between = self.text.get(self.at..byte).unwrap_or("");
        match between.rfind('\n') {
            None => self.here.column += between.chars().count(),
            Some(newline) => {
                self.here.line += between.bytes().filter(|byte| *byte == b'\n').count();
                self.here.column = between.get(newline + 1..).map_or(0, |line| line.chars().count()) + 1;
            }
        }
        self.at = byte;
        self.here
    }

    /// The same from here on: a byte that was passed is counted from here again.
    pub(super) fn fork(&self) -> Self {
        Lines { start: (self.at, self.here), ..self.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_are_those_of_counting_from_the_start_in_any_order() {
        let text = "aé\n\nbcd\ne";
        let want = |byte: usize| {
            let before = &text[..byte];
            let line = before.matches('\n').count() + 1;
            (line, before.rsplit('\n').next().unwrap().chars().count() + 1)
        };
        let bytes: Vec<usize> = text.char_indices().map(|(byte, _)| byte).collect();
        for first in &bytes {
            for second in &bytes {
                let mut lines = Lines::new(text);
                lines.position(*first);
                let mut fork = lines.fork();
                for byte in [second, first, second] {
                    for found in [lines.position(*byte), fork.position(*byte)] {
                        assert_eq!((found.line, found.column), want(*byte), "{first} {second}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_piece_of_a_text_has_an_offset_and_a_copy_has_none() {
        let (text, copy) = ("abc", String::from("bc"));
        assert_eq!((offset(text, &text[1..]), offset(text, &copy)), (Some(1), None));
    }
}
