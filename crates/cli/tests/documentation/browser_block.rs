//! Blocks of the language `browser`: what a person does and sees in a browser, a line for each step.

use std::fmt;
use std::path::Path;

use clearway_testbed::{Browser, IN_TIME, wait_until};
use serde_json::json;

/// A code block of the language `browser`.
#[derive(Debug, Default)]
pub(crate) struct BrowserBlock {
    /// Each with the number of its line in the page, from 1.
    pub(crate) steps: Vec<(usize, Step)>,
    /// The name of the picture that follows the block: it shows where the block ends.
    pub(crate) picture: Option<String>,
}

/// One line.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// `open ADDRESS`: a page is loaded.
    Open(String),
    /// `click "NAME"`: the first link, button or other control with this text is clicked.
    Click(String),
    /// `type "TEXT" into "LABEL"`: a field is filled in, and Enter pressed.
    Type { text: String, label: String },
    /// `see "TEXT"`: the page shows the text.
    See(String),
    /// `wait for "TEXT"`: the page is loaded again until it shows the text, as by a person who waits for it.
    WaitFor(String),
}

impl Step {
    /// Nothing for a line that is none.
    pub(crate) fn parse(line: &str) -> Option<Self> {
        if let Some(address) = line.strip_prefix("open ") {
            return address.starts_with("http://").then(|| Step::Open(address.to_owned()));
        }
        if let Some(rest) = line.strip_prefix("type ") {
            let (text, label) = rest.split_once(" into ")?;
            return Some(Step::Type { text: quoted(text)?, label: quoted(label)? });
        }
        if let Some(text) = line.strip_prefix("wait for ") {
            return quoted(text).map(Step::WaitFor);
        }
        let (verb, text) = line.split_once(' ')?;
        match verb {
            "click" => quoted(text).map(Step::Click),
            "see" => quoted(text).map(Step::See),
            _ => None,
        }
    }
}

fn quoted(text: &str) -> Option<String> {
    let text = text.strip_prefix('"')?.strip_suffix('"')?;
    (!text.is_empty() && !text.contains('"')).then(|| text.to_owned())
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Step::Open(address) => write!(f, "open {address}"),
            Step::Click(name) => write!(f, "click \"{name}\""),
            Step::Type { text, label } => write!(f, "type \"{text}\" into \"{label}\""),
            Step::See(text) => write!(f, "see \"{text}\""),
            Step::WaitFor(text) => write!(f, "wait for \"{text}\""),
        }
    }
}

/// The text that the page shows, without differences of space.
const SHOWN: &str = "document.body.innerText.replace(/\\s+/g, ' ')";
/// The attribute of the element that a step is about.
const MARK: &str = "data-step";

/// Does what a block says; fails at the first step that cannot be done, with what the page shows. `address` gives the
/// real address for one of the documentation.
pub(crate) async fn execute(browser: &Browser, page: &str, block: &BrowserBlock, address: impl Fn(&str) -> String) {
    for (line, step) in &block.steps {
        if let Err(error) = run(browser, step, &address).await {
            let shown = browser.run(&format!("return location.href + '\\n' + {SHOWN}")).await.unwrap_or_default();
            panic!("{page}:{line}: {step}: {error}\n{}", shown.as_str().unwrap_or_default());
        }
    }
    // As the tests of the console do it: the pictures of the documentation are made by its tests.
    if let (Some(name), Some(directory)) = (&block.picture, std::env::var_os("CLEARWAY_SCREENSHOTS")) {
        let picture = browser.screenshot().await.unwrap();
        std::fs::write(Path::new(&directory).join(name), picture).unwrap();
    }
}

async fn run(browser: &Browser, step: &Step, address: impl Fn(&str) -> String) -> clearway_testbed::Result<()> {
    match step {
        Step::Open(page) => browser.open(&address(page)).await,
        Step::See(text) => browser.wait_for("the page shows it", &shows(text)).await,
        Step::WaitFor(text) => {
            let url = browser.url().await?;
            wait_until(IN_TIME, "the page shows it", async || {
                browser.open(&url).await.is_ok() && browser.run(&shows(text)).await.is_ok_and(|shown| shown == true)
            })
            .await
        }
        Step::Click(name) => {
            // A drawing's title is what its tooltip says, and not its text.
            let found = format!(
                "[...document.querySelectorAll('a, button, summary')].find(one => {{ const copy = one.cloneNode(true); \
                 copy.querySelectorAll('title').forEach(title => title.remove()); \
                 return copy.textContent.trim() === {} }})",
                json!(name)
            );
            mark(browser, "there is something of this name to click", &found).await?;
            browser.click(&format!("[{MARK}]")).await
        }
        Step::Type { text, label } => {
            let label = json!(label);
            let found = format!(
                "[...document.querySelectorAll('label')].find(one => one.textContent.trim() === {label})?.control"
            );
            mark(browser, "there is a field with this label", &found).await?;
            // WebDriver's name of Enter.
            browser.type_into(&format!("[{MARK}]"), &format!("{text}\u{e007}")).await
        }
    }
}

/// A script that says whether the page shows a text.
fn shows(text: &str) -> String {
    format!("return {SHOWN}.includes({})", json!(text))
}

/// Marks the element that an expression finds, as soon as it does, and no other.
async fn mark(browser: &Browser, what: &str, found: &str) -> clearway_testbed::Result<()> {
    let script = format!(
        "document.querySelector('[{MARK}]')?.removeAttribute('{MARK}'); const found = {found}; \
         found?.setAttribute('{MARK}', ''); return Boolean(found)"
    );
    browser.wait_for(what, &script).await
}

#[test]
fn steps_are_read_as_they_are_written() {
    for line in [
        "open http://127.0.0.1:8081/console/",
        "click \"1.5.0\"",
        "type \"1.4\" into \"Find a version\"",
        "see \"Known issue\"",
        "wait for \"Recommended\"",
    ] {
        assert_eq!(Step::parse(line).expect(line).to_string(), line);
    }
    for line in ["", "open", "open page", "click 1.5.0", "see \"\"", "see", "hover \"x\"", "type \"x\" in \"y\""] {
        assert_eq!(Step::parse(line), None, "{line}");
    }
}
