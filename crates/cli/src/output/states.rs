//! Colours of states: green for good, yellow for not known or not yet, red for bad.

use anstyle::{AnsiColor, Style};

/// Columns in which `True` is good. In other columns it depends on the row: `Failing` is good if `False`.
const GOOD_IF_TRUE: [&str; 4] = ["RECOMMENDED", "ACCEPTED", "RESOLVEDREFS", "PROGRAMMED"];

/// The colour of a cell that is a state, by the name of its column.
pub(crate) fn style(column: &str, cell: &str) -> Option<Style> {
    let colour = match cell {
        "True" | "False" if !GOOD_IF_TRUE.contains(&column) => return None,
        "True" | "Recommended" | "recommended" | "newest" | "Current" | "Completed" | "whole" | "migrated"
        | "complete" | "passed" | "allowed" => AnsiColor::Green,
        "Unknown" | "unknown" | "InProgress" | "Partial" | "Progressing" | "Terminating" | "NotFound" | "warning"
        | "warn" | "needs review" | "to be rewritten" | "conditional" => AnsiColor::Yellow,
        "False" | "NotRecommended" | "not recommended" | "Failed" | "Failing" | "stranded" | "absent" | "violation"
        | "error" | "blocking" | "blocked" | "dropped" | "refused" | "failed" | "deny" => AnsiColor::Red,
        _ => return None,
    };
    Some(Style::new().fg_color(Some(colour.into())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_coloured_only_where_it_is_a_state() {
        let colour = |column, cell| style(column, cell).and_then(anstyle::Style::get_fg_color);
        assert_eq!(colour("RECOMMENDED", "True"), Some(AnsiColor::Green.into()));
        assert_eq!(colour("RECOMMENDED", "False"), Some(AnsiColor::Red.into()));
        assert_eq!(colour("RECOMMENDED", "Unknown"), Some(AnsiColor::Yellow.into()));
        // A condition such as Failing is good if it is False.
        assert_eq!(colour("STATUS", "False"), None);
        assert_eq!(colour("NAME", "anything else"), None);
    }
}
