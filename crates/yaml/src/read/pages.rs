//! The documentation of the codes of what is wrong with a stream as such.

use clearway_core::Severity;
use clearway_core::diagnostic::CodePage;

use super::codes;

/// The pages of all codes, in their order.
pub fn pages() -> Vec<CodePage> {
    let page = |(code, severity, texts): &(&'static str, Severity, [&'static str; 5])| {
        let [title, meaning, action, wrong, right] = *texts;
        CodePage::new(code, Some(*severity), title, meaning, action).with_example(wrong, right)
    };
    PAGES.iter().map(page).collect()
}

/// A code with its title, meaning, action, and examples.
#[rustfmt::skip]
const PAGES: &[(&str, Severity, [&str; 5])] = &[
    (codes::SYNTAX, Severity::Error, ["Text that is not YAML or JSON", "The document is skipped, so the result is incomplete.", "Correct the text at the place that is shown. A tab, or a wrong indentation, is the usual cause.", "metadata:\n\tname: a", "metadata:\n  name: a"]),
    (codes::ENCODING, Severity::Error, ["Bytes that are not UTF-8", "The document is skipped, so the result is incomplete.", "Save the file as UTF-8. A binary or compressed file is another usual cause.", "", ""]),
    (codes::SIZE, Severity::Error, ["A file or document above its size limit", "Reading it would take more memory than one input may use. docs/limits-files.md lists the limits.", "Split the file.", "", ""]),
    (codes::STRUCTURE, Severity::Error, ["A document above a limit of its structure", "It is nested too deep, has too many values, or uses anchors to grow. docs/limits-files.md lists the limits.", "Simplify the document.", "a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]", "c: [x, x]"]),
    (codes::LONG_LIST, Severity::Warning, ["A list that is unusually long", "It is read, but needs much memory.", "Write the items as separate documents.", "", ""]),
    (codes::UNREADABLE, Severity::Error, ["A file or stream that cannot be read", "It does not exist, permission is denied, or reading stopped early, so the result is incomplete.", "Check the path and its permissions.", "", ""]),
    (codes::EMPTY, Severity::Error, ["An input without an object", "Nothing was checked. A wrong path, or a pipe whose first command failed, is the usual cause.", "Check the path or the command before the pipe.", "", ""]),
];
