//! Test results in `JUnit` format.

use std::fmt::Write as _;

use clearway_core::terminal_text;

/// What came of one test.
pub(crate) struct Case {
    pub(crate) name: String,
    pub(crate) result: Outcome,
}

/// Whether a test passed.
pub(crate) enum Outcome {
    Passed,
    /// What was wanted and what came.
    Failed(String),
    /// Why it was not run.
    Skipped(String),
}

/// The tests of one file, as XML in `JUnit`'s form.
pub(crate) fn write<'s>(suites: impl IntoIterator<Item = (&'s str, Vec<Case>)>) -> String {
    let mut text = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n");
    for (name, cases) in suites {
        let count = |wanted: fn(&Outcome) -> bool| cases.iter().filter(|case| wanted(&case.result)).count();
        let failed = count(|result| matches!(result, Outcome::Failed(_)));
        let skipped = count(|result| matches!(result, Outcome::Skipped(_)));
        let (name, tests) = (escaped(name), cases.len());
        // Writing into a text cannot fail.
        let _ = writeln!(
            text,
            "  <testsuite name=\"{name}\" tests=\"{tests}\" failures=\"{failed}\" skipped=\"{skipped}\">"
        );
        for case in &cases {
            let _ = write!(text, "    <testcase classname=\"{name}\" name=\"{}\"", escaped(&case.name));
            let _ = match &case.result {
                Outcome::Passed => writeln!(text, "/>"),
                Outcome::Failed(message) => writeln!(text, "><failure>{}</failure></testcase>", escaped(message)),
                Outcome::Skipped(message) => {
                    writeln!(text, "><skipped message=\"{}\"/></testcase>", escaped(message))
                }
            };
        }
        text.push_str("  </testsuite>\n");
    }
    text + "</testsuites>\n"
}

/// A text for XML, in which what could deceive a reader is shown as an escape.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in terminal_text::escape(text).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\n' => out.push_str("&#10;"),
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out
}
