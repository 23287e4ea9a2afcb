//! How tables look for given widths.

use super::*;

const NARROW: Layout = Layout { width: Some(40), headers: true, colour: false };

fn cells(rows: &[&[&str]]) -> Vec<Vec<String>> {
    rows.iter().map(|row| row.iter().map(ToString::to_string).collect()).collect()
}

fn sample() -> Table {
    let message = "the rollout of checkout has failed: its newest pod crashes";
    Table::new(
        &["OBJECT", "HEALTH", "MESSAGE"],
        cells(&[&["Deployment/checkout", "Failed", message], &["Deployment/cart", "Current", ""]]),
    )
}

#[test]
fn a_table_keeps_foreign_text_on_its_line() {
    let table = Table::new(&["A", "B"], cells(&[&["x\ny", "\u{1b}[2Jz"]]));
    assert_eq!(table.to_string(), "A    B\nx y  \\x1b[2Jz\n");
}

#[test]
fn without_a_width_every_cell_is_complete() {
    assert_eq!(
        sample().to_string(),
        "OBJECT               HEALTH   MESSAGE\n\
         Deployment/checkout  Failed   the rollout of checkout has failed: its newest pod crashes\n\
         Deployment/cart      Current\n"
    );
}

#[test]
fn a_table_fits_the_terminal_and_names_stay_whole_while_they_can() {
    assert_eq!(
        sample().render(Layout { width: Some(60), ..NARROW }),
        "OBJECT               HEALTH   MESSAGE\n\
         Deployment/checkout  Failed   the rollout of checkout has f…\n\
         Deployment/cart      Current\n"
    );
    for width in 12..100 {
        let text = sample().render(Layout { width: Some(width), ..NARROW });
        assert!(text.lines().all(|line| line.width() <= width.max(13)), "{width}:\n{text}");
    }
}

#[test]
fn wide_letters_count_as_two_columns() {
    assert_eq!(truncated("日本語日本語", 5), "日本…");
    assert_eq!(truncated("日本", 4), "日本");
    assert_eq!(truncated("abc", 0), "…");
}

#[test]
fn a_cell_of_megabytes_is_cut_at_once() {
    let table = Table::new(&["A", "B"], cells(&[&[&"x".repeat(2_000_000), &"y".repeat(3_000_000)]]));
    let text = table.render(NARROW);
    assert!(text.lines().all(|line| line.width() <= 40), "{text}");
}

#[test]
fn without_headers_only_rows_are_left() {
    let text = sample().render(Layout { headers: false, width: Some(60), colour: false });
    assert!(text.starts_with("Deployment/checkout") && text.lines().count() == 2, "{text}");
}

#[test]
fn states_are_coloured_and_take_no_room() {
    let plain = sample().to_string();
    let coloured = sample().render(Layout { colour: true, ..Layout::PLAIN });
    assert!(
        coloured.contains("\u{1b}[31mFailed\u{1b}[0m") && coloured.contains("\u{1b}[32mCurrent\u{1b}[0m"),
        "{coloured}"
    );
    assert_eq!(anstream::adapter::strip_str(&coloured).to_string(), plain);
}

#[test]
fn names_are_those_of_the_first_column_or_of_another() {
    assert_eq!(sample().names().collect::<Vec<_>>(), ["Deployment/checkout", "Deployment/cart"]);
    assert_eq!(sample().named_by(1).names().collect::<Vec<_>>(), ["Failed", "Current"]);
}
