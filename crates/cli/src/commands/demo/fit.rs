//! Text of any width on lines of a small terminal.
//!
//! Sentences and proofs are wrapped, tables keep their columns, and a command is broken so that a shell still reads it as
//! one. Styles of a terminal count as nothing.

use crate::text_wrap::wrap;

/// Columns of a line.
pub(super) const WIDTH: usize = 80;
/// Columns that lines are moved to the right by, where they continue another one.
const CONTINUED: usize = 4;
/// Columns that a table's last column has at least, for its text to be wrapped there.
const LAST_COLUMN: usize = 20;

/// Lines as they are, or wrapped where they are too long.
pub(super) fn text(text: &str) -> String {
    let mut fitted = String::new();
    for line in text.lines() {
        let line = short_digests(&line.replace('\t', "  "));
        if visible(&line) <= WIDTH {
            fitted += line.trim_end();
            fitted.push('\n');
            continue;
        }
        let indent = line.chars().take_while(|letter| *letter == ' ').count();
        let margin = " ".repeat(indent + CONTINUED);
        fitted += &wrap(&" ".repeat(indent), &margin, WIDTH, &line);
    }
    fitted
}

/// A table: the text of its last column is wrapped within it, or stands below the row where there is no room for it.
pub(super) fn table(text: &str) -> String {
    let mut lines = text.lines();
    let Some(head) = lines.next() else { return String::new() };
    let column = head.rfind("  ").map_or(0, |at| at + 2);
    let mut fitted = format!("{}\n", cut(head));
    for line in lines {
        let room = WIDTH.saturating_sub(column);
        let split = line.char_indices().nth(column).map(|(at, _)| line.split_at(at));
        match split.filter(|_| line.chars().count() > WIDTH) {
            Some((first, last)) if room >= LAST_COLUMN && longest_word(last) <= room => {
                fitted += &wrap(first, &" ".repeat(column), WIDTH, last);
            }
            Some((first, last)) => {
                let margin = " ".repeat(CONTINUED);
                fitted.extend([cut(first.trim_end()), "\n".to_owned(), wrap(&margin, &margin, WIDTH, last)]);
            }
            None => fitted.extend([cut(line), "\n".to_owned()]),
        }
    }
    fitted
}

fn longest_word(text: &str) -> usize {
    text.split_whitespace().map(|word| word.chars().count()).max().unwrap_or_default()
}

/// A command behind a prompt, on several lines that a shell reads as one.
pub(super) fn command(text: &str) -> String {
    let mut lines: Vec<String> = Vec::new();
    let mut line = "$".to_owned();
    for word in words(text) {
        // Room for the backslash.
        if line.chars().count() + 1 + word.chars().count() > WIDTH - 2 {
            lines.push(std::mem::replace(&mut line, " ".repeat(CONTINUED - 1)));
        }
        line.push(' ');
        line += &word;
    }
    lines.push(line);
    lines.join(" \\\n") + "\n"
}

/// The words of a command; what is quoted stays together.
fn words(text: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quoted = false;
    for letter in text.chars() {
        match letter {
            '\'' => quoted = !quoted,
            ' ' if !quoted => {
                words.push(String::new());
                continue;
            }
            _ => {}
        }
        if let Some(word) = words.last_mut() {
            word.push(letter);
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

fn cut(line: &str) -> String {
    if line.chars().count() <= WIDTH {
        return line.to_owned();
    }
    let shown: String = line.chars().take(WIDTH - 1).collect();
    format!("{}…", shown.trim_end())
}

/// Letters that are seen: all but styles, which begin with an escape and end with `m`.
fn visible(line: &str) -> usize {
    let mut count = 0;
    let mut in_style = false;
    for letter in line.chars() {
        match letter {
            '\u{1b}' => in_style = true,
            'm' if in_style => in_style = false,
            _ if !in_style => count += 1,
            _ => {}
        }
    }
    count
}

/// The text with twelve digits of each digest: enough to tell them apart.
fn short_digests(text: &str) -> String {
    const MARK: &str = "sha256:";
    let mut parts = text.split(MARK);
    let mut short = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let digits = part.chars().take_while(char::is_ascii_hexdigit).count();
        let shown = if digits == 64 { 12 } else { digits };
        short += MARK;
        short.extend(part.chars().take(shown));
        short += if shown < digits { "…" } else { "" };
        short.extend(part.chars().skip(digits));
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_are_wrapped_and_digests_shortened() {
        let digest = "a".repeat(64);
        assert_eq!(text(&format!("  Image: x@sha256:{digest}\n")), "  Image: x@sha256:aaaaaaaaaaaa…\n");
        let long = format!("  {}", "word ".repeat(30));
        assert!(text(&long).lines().all(|line| line.chars().count() <= WIDTH && line.starts_with("  ")));
        assert_eq!(visible("\u{1b}[1mab\u{1b}[0m"), 2);
    }

    #[test]
    fn a_table_keeps_its_columns() {
        let row = format!("a    {}", "risk, ".repeat(30));
        let fitted = table(&format!("ONE  TWO\n{row}\n"));
        assert!(fitted.lines().all(|line| line.chars().count() <= WIDTH), "{fitted}");
        assert!(fitted.lines().skip(2).all(|line| line.starts_with("     risk")), "{fitted}");
        assert!(table(&format!("{}  B\nx\n", "A".repeat(90))).starts_with(&"A".repeat(79)));
    }

    #[test]
    fn a_long_command_is_still_one_command() {
        let line = format!("clearway assess --graph 'a b' {}--why", "--snapshot examples/cluster ".repeat(4));
        let fitted = command(&line);
        assert!(fitted.lines().all(|line| line.chars().count() <= WIDTH), "{fitted}");
        assert_eq!(fitted.replace(" \\\n   ", "").trim_start_matches("$ ").trim_end(), line);
    }
}
