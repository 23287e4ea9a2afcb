//! `clearway explain`: what a code means and what to do about it, or the list of all codes.

use std::fmt::Write as _;

use anyhow::{Result, bail};
use clearway_core::diagnostic::CodePage;
use clearway_core::suggestion::did_you_mean;
use serde_json::{Value, json};

use crate::arguments::Explain;
use crate::code_pages::{CodeFamily, families};
use crate::exit::Exit;
use crate::output::{self, Table};
use crate::text_wrap::wrap_paragraphs;

/// Columns of the text.
const WIDTH: usize = 80;

/// Runs the command.
pub(crate) fn run(options: &Explain) -> Result<Exit> {
    let families = families();
    let format = options.output.format;
    let Some(code) = &options.code else {
        let data: Vec<Value> =
            families.iter().flat_map(|family| family.pages.iter().map(move |page| data(family, page))).collect();
        output::print_data(format, &data, || list(&families))?;
        return Ok(Exit::Yes);
    };
    let found: Vec<(&CodeFamily, &CodePage)> = families
        .iter()
        .flat_map(|family| family.pages.iter().map(move |page| (family, page)))
        .filter(|(_, page)| is_meant(&page.code, code))
        .collect();
    if found.is_empty() {
        let all = families.iter().flat_map(|family| &family.pages).map(|page| page.code.as_ref());
        let hint = did_you_mean(code, all);
        let hint = if hint.is_empty() { ";".to_owned() } else { hint };
        bail!("code `{code}` not found{hint} `clearway explain` lists all codes");
    }
    let data: Vec<Value> = found.iter().map(|(family, page)| data(family, page)).collect();
    output::print_data(format, &data, || {
        found.iter().map(|(family, page)| text(family, page)).collect::<Vec<_>>().join("\n")
    })?;
    Ok(Exit::Yes)
}

/// The page of a code as text; nothing if there is no such code.
pub(crate) fn page_text(code: &str) -> Option<String> {
    let families = families();
    let mut all = families.iter().flat_map(|family| family.pages.iter().map(move |page| (family, page)));
    all.find(|(_, page)| page.code == code).map(|(family, page)| text(family, page))
}

/// Whether a page is meant: by its code in any case, or by the condition or the reason of a `Condition/Reason`.
fn is_meant(code: &str, written: &str) -> bool {
    let same = |name: &str| name.eq_ignore_ascii_case(written.trim());
    same(code) || code.split_once('/').is_some_and(|(condition, reason)| same(condition) || same(reason))
}

fn data(family: &CodeFamily, page: &CodePage) -> Value {
    let mut data = json!(page);
    if let Some(data) = data.as_object_mut() {
        data.insert("subject".to_owned(), json!(family.title));
        data.insert("reportedBy".to_owned(), json!(family.reported_by));
    }
    data
}

fn list(families: &[CodeFamily]) -> Table {
    let rows = families.iter().flat_map(|family| &family.pages).map(|page| {
        let severity = page.severity.map_or("-", clearway_core::Severity::as_str);
        vec![page.code.to_string(), severity.to_owned(), page.title.to_string()]
    });
    output::table(&["CODE", "SEVERITY", "MEANING"], rows)
}

fn text(family: &CodeFamily, page: &CodePage) -> String {
    let mut text = format!("{}: {}\n", page.code, page.title);
    if let Some(severity) = page.severity {
        // Writing into a text cannot fail.
        let _ = writeln!(text, "Severity: {}", severity.as_str());
    }
    let _ = writeln!(text, "Reported by: {}\n", family.reported_by);
    text += &wrap_paragraphs("  ", WIDTH, &page.meaning);
    if !page.action.is_empty() {
        let _ = write!(text, "\nWhat to do:\n{}", wrap_paragraphs("  ", WIDTH, &page.action));
    }
    for (heading, example) in [("Wrong:", &page.wrong), ("Right:", &page.right)] {
        if !example.is_empty() {
            let lines: String = example.trim_end().lines().flat_map(|line| ["    ", line, "\n"]).collect();
            let _ = write!(text, "\n{heading}\n{lines}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_unique_and_have_pages() {
        let mut seen = std::collections::BTreeSet::new();
        for family in families() {
            assert!(!family.pages.is_empty(), "{}", family.title);
            for page in family.pages {
                assert!(!page.title.is_empty() && !page.meaning.is_empty(), "{}", page.code);
                assert!(seen.insert(page.code.to_string()), "{} has two pages", page.code);
            }
        }
    }
}
