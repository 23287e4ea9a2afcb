//! Changes of a source text that keep its lines, so that every place in the changed text has one in the original.

/// A part of a text that is replaced. The replacement has as many line breaks as the part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Edit {
    /// Where the part begins, in bytes.
    pub(crate) start: usize,
    /// Where it ends.
    pub(crate) end: usize,
    /// What replaces it.
    pub(crate) text: String,
}

impl Edit {
    /// Text in front of a place.
    pub(crate) fn insert(at: usize, text: impl Into<String>) -> Self {
        Edit { start: at, end: at, text: text.into() }
    }
}

/// A text after some passes of edits.
#[derive(Debug, Clone)]
pub(crate) struct EditedText {
    text: String,
    /// For each pass, for each edit: the line, the column behind it in the changed text, and how much longer it made
    /// the line.
    passes: Vec<Vec<(u32, u32, i64)>>,
}

impl EditedText {
    pub(crate) fn new(text: &str) -> Self {
        EditedText { text: text.to_owned(), passes: Vec::new() }
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Applies edits, which must not overlap. Edits at the same place are applied in their order.
    pub(crate) fn apply(&mut self, mut edits: Vec<Edit>) {
        if edits.is_empty() {
            return;
        }
        edits.sort_by_key(|edit| edit.start);
        let mut text = String::with_capacity(self.text.len());
        let mut pass = Vec::with_capacity(edits.len());
        let mut done = 0;
        let (mut line, mut line_start) = (1_u32, 0_usize);
        for edit in &edits {
            let Some(between) = self.text.get(done..edit.start) else { continue };
            for (offset, _) in between.match_indices('\n') {
                line = line.saturating_add(1);
                line_start = text.len().saturating_add(offset).saturating_add(1);
            }
            text.push_str(between);
            for (offset, _) in edit.text.match_indices('\n') {
                line = line.saturating_add(1);
                line_start = text.len().saturating_add(offset).saturating_add(1);
            }
            text.push_str(&edit.text);
            let column = text.get(line_start..).map_or(0, |line| line.chars().count());
            let removed = self.text.get(edit.start..edit.end).map_or(0, |part| part.chars().count());
            let growth = signed(edit.text.chars().count()).saturating_sub(signed(removed));
            pass.push((line, u32::try_from(column).unwrap_or(u32::MAX), growth));
            done = edit.end;
        }
        text.push_str(self.text.get(done..).unwrap_or_default());
        self.text = text;
        self.passes.push(pass);
    }

    /// The place in the original text of a place in the changed one.
    pub(crate) fn original_place(&self, line: u32, column: u32) -> (u32, u32) {
        let mut column = i64::from(column);
        for pass in self.passes.iter().rev() {
            let before: i64 = pass
                .iter()
                .filter(|(of, behind, _)| *of == line && i64::from(*behind) < column)
                .map(|(_, _, growth)| *growth)
                .sum();
            column = column.saturating_sub(before).max(1);
        }
        (line, u32::try_from(column).unwrap_or(u32::MAX))
    }
}

fn signed(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_mapped_back_through_all_passes() {
        let mut text = EditedText::new("a\nbc not f(x.y) z\n");
        text.apply(vec![Edit::insert(5, "h := x.y; "), Edit { start: 11, end: 14, text: "h".into() }]);
        assert_eq!(text.text(), "a\nbc h := x.y; not f(h) z\n");
        text.apply(vec![Edit::insert(2, "q")]);
        assert_eq!(text.text(), "a\nqbc h := x.y; not f(h) z\n");
        for (changed, original) in [(2, 1), (15, 4), (24, 15)] {
            assert_eq!(text.original_place(2, changed), (2, original), "{changed}");
        }
        assert_eq!(text.original_place(1, 1), (1, 1));
    }
}
