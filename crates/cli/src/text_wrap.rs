//! Sentences on lines of limited width.

/// Words on lines of at most `width` columns. The first line begins with `first`, all others with `margin`; a word that is
/// longer than a line has a line of its own.
pub(crate) fn wrap(first: &str, margin: &str, width: usize, text: &str) -> String {
    let mut lines = String::new();
    let mut line = first.to_owned();
    let mut empty = true;
    for word in text.split_whitespace() {
        if !empty && line.chars().count() + 1 + word.chars().count() > width {
            lines.push_str(line.trim_end());
            lines.push('\n');
            margin.clone_into(&mut line);
            empty = true;
        }
        if !empty {
            line.push(' ');
        }
        line.push_str(word);
        empty = false;
    }
    lines + line.trim_end() + "\n"
}

/// The same for several paragraphs and list items of Markdown: each begins on a line of its own.
pub(crate) fn wrap_paragraphs(margin: &str, width: usize, text: &str) -> String {
    let mut wrapped = String::new();
    for paragraph in text.trim().split("\n\n") {
        if !wrapped.is_empty() {
            wrapped.push('\n');
        }
        // Items of a list stay apart; other line breaks are only those of the source.
        let mut item = String::new();
        for line in paragraph.lines() {
            if line.trim_start().starts_with("- ") && !item.is_empty() {
                wrapped += &wrap(margin, margin, width, &item);
                item.clear();
            }
            item.push_str(line);
            item.push('\n');
        }
        wrapped += &wrap(margin, margin, width, &item);
    }
    wrapped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_fit_the_width() {
        let text = "one two ".repeat(30) + &"x".repeat(70) + " end";
        let wrapped = wrap("  1.0s  ", "        ", 60, &text);
        let mut lines = wrapped.lines();
        assert!(lines.next().unwrap().starts_with("  1.0s  one two"));
        for line in lines {
            assert!(line.starts_with("        ") && (line.len() <= 60 || line.trim().len() == 70), "{line:?}");
        }
        assert_eq!(wrap("", "", 60, ""), "\n");
    }

    #[test]
    fn items_of_a_list_stay_apart() {
        assert_eq!(wrap_paragraphs("  ", 12, "a b\nc\n\n- d\n- e"), "  a b c\n\n  - d\n  - e\n");
    }
}
