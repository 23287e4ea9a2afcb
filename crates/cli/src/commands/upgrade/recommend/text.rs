//! The recommendation for a person.

use std::fmt::Write as _;

use clearway_conditions::Status as Word;
use clearway_core::Version;

use super::Recommendation;
use super::judgement::{Issue, IssueVerdict, JudgedUpdate};
use super::prechecks::{Precheck, PrecheckResult};
use crate::arguments::UpgradeRecommend;
use crate::commands::upgrade::condition_text::clean;
use crate::commands::upgrade::object::Subject;
use crate::commands::upgrade::show::list::channel_line;
use crate::output::printable;
use crate::text_wrap::wrap;

/// Columns of sentences.
const WIDTH: usize = 80;
/// Updates of one minor version that are shown without `--show-outdated-releases`.
const NEWEST: usize = 2;
/// What is said of an update without issues, in the words of `oc`.
const NO_ISSUES: &str = "no known issues relevant to this cluster";

/// The whole text.
pub(super) fn render(data: &Recommendation<'_>, subject: &Subject, options: &UpgradeRecommend) -> String {
    let mut out = String::from("Checks of this cluster:\n");
    data.prechecks.iter().for_each(|precheck| out += &precheck_line(precheck));
    out.push('\n');
    if let Some(channel) = data.channel {
        let upstream = match &data.upstream {
            Some(url) => format!("Upstream update service: {}", printable(&url.to_string())),
            None => "Upstream update service is unset, so the cluster will use an appropriate default.".to_owned(),
        };
        // Writing into a text cannot fail.
        let _ = writeln!(out, "{upstream}\n{}\n", channel_line(channel, data.channels));
    }
    match (&options.version, data.updates.as_slice()) {
        (Some(_), updates) => updates.iter().for_each(|update| out += &whole_update(update, data, subject)),
        (None, []) => {
            let current = printable(data.version);
            let _ = writeln!(out, "No updates are available: {current} is the newest version in the channel.");
        }
        (None, updates) => {
            out += &best(data, subject);
            out += &lists(updates, options.show_outdated_releases);
        }
    }
    out
}

fn precheck_line(precheck: &Precheck) -> String {
    let result = match (precheck.result, precheck.accepted) {
        (PrecheckResult::Concern | PrecheckResult::Unknown, true) => "accepted",
        (PrecheckResult::Passed, _) => "passed",
        (PrecheckResult::Concern, false) => "concern",
        (PrecheckResult::Unknown, false) => "unknown",
        (PrecheckResult::NotChecked, _) => "not checked",
    };
    let reason = if precheck.reason.is_empty() { String::new() } else { format!("{}: ", precheck.reason) };
    let first = format!("  {:<24} {result:<12}", printable(&precheck.name));
    wrap(&format!("{first} "), &" ".repeat(40), WIDTH, &printable(&format!("{reason}{}", precheck.message)))
}

/// Which update is recommended, and the command that requests it.
fn best(data: &Recommendation<'_>, subject: &Subject) -> String {
    let Some(update) = data.updates.iter().find(|update| update.status == Word::True) else {
        return "No update is recommended for this cluster now.\n".to_owned();
    };
    let command = subject.command();
    format!(
        "Recommended: update to {}: {}.\n  Request it with `{command} --to {}{}`.\n",
        printable(update.version),
        why(update),
        printable(update.version),
        allow(update)
    )
}

/// The option without which the update would be refused although all of its issues were accepted here.
fn allow(update: &JudgedUpdate<'_>) -> &'static str {
    if update.recommended.status == Word::True { "" } else { " --allow-not-recommended" }
}

/// Updates by minor version, newest first.
fn lists(updates: &[JudgedUpdate<'_>], all: bool) -> String {
    let minor = |update: &JudgedUpdate<'_>| {
        let version = update.version.parse::<Version>().ok();
        version
            .map_or_else(|| "other versions".to_owned(), |version| format!("{}.{}", version.major(), version.minor()))
    };
    let longest = updates.iter().map(|update| printable(update.version).chars().count()).max().unwrap_or_default();
    let width = longest.max("VERSION".len());
    let mut out = String::new();
    for of_minor in updates.chunk_by(|one, other| minor(one) == minor(other)) {
        let Some(name) = of_minor.first().map(minor) else { continue };
        let _ = writeln!(out, "\nUpdates to {name}:\n  {:<width$}  RECOMMENDED  WHY", "VERSION");
        let shown = if all { of_minor.len() } else { NEWEST };
        for update in of_minor.iter().take(shown) {
            let first = format!("  {:<width$}  {:<11}  ", printable(update.version), word(update.status));
            out += &wrap(&first, &" ".repeat(width + 17), WIDTH, &why(update));
        }
        let left = of_minor.len().saturating_sub(shown);
        if left > 0 {
            let s = if left == 1 { "" } else { "s" };
            let _ =
                writeln!(out, "  And {left} older {name} update{s}: --show-outdated-releases or --version VERSION.");
        }
    }
    out
}

fn word(status: Word) -> &'static str {
    match status {
        Word::True => "yes",
        Word::False => "no",
        Word::Unknown => "unknown",
    }
}

/// Why an update is recommended or not, in one line.
fn why(update: &JudgedUpdate<'_>) -> String {
    let open: Vec<&Issue> = update.issues.iter().filter(|issue| !issue.accepted).collect();
    let accepted: Vec<String> =
        update.issues.iter().filter(|issue| issue.accepted).map(|issue| printable(&issue.name)).collect();
    let accepted = match accepted.as_slice() {
        [] => String::new(),
        some => format!("{} accepted", some.join(", ")),
    };
    match open.as_slice() {
        [] if accepted.is_empty() => NO_ISSUES.to_owned(),
        [] => format!("{NO_ISSUES} other than the {}", accepted.replace(" accepted", ", which you accept")),
        [one] => {
            let unknown = if one.verdict == IssueVerdict::Unknown { " (unknown whether it applies)" } else { "" };
            format!("{}{unknown}: {}", printable(&one.name), first_sentence(&one.message))
        }
        some => {
            let names: Vec<String> = some.iter().map(|issue| printable(&issue.name)).collect();
            format!("{} issues: {}", some.len(), names.join(", "))
        }
    }
}

fn first_sentence(message: &str) -> String {
    let line = clean(message).lines().next().unwrap_or_default().to_owned();
    match line.split_once(". ") {
        Some((first, _)) => format!("{first}."),
        None => line,
    }
}

/// One update with everything that is known about it.
fn whole_update(update: &JudgedUpdate<'_>, data: &Recommendation<'_>, subject: &Subject) -> String {
    let words = match update.status {
        Word::True => "recommended",
        Word::False => "not recommended",
        Word::Unknown => "unknown whether it is safe for this cluster",
    };
    let version = printable(update.version);
    let mut out = format!("Update to {version}: {words}\n  Image: {}\n", printable(update.image));
    if let Some(url) = update.url {
        let _ = writeln!(out, "  Release URL: {}", printable(url));
    }
    if !update.recommended.reason.is_empty() {
        let _ = writeln!(out, "  Reason: {}", printable(&update.recommended.reason));
    }
    if update.issues.is_empty() {
        let _ = writeln!(out, "  Issues: {NO_ISSUES}");
    }
    for issue in &update.issues {
        let verdict = match (issue.verdict, issue.accepted) {
            (IssueVerdict::Applies, true) => "applies to this cluster; accepted",
            (IssueVerdict::Applies, false) => "applies to this cluster",
            (IssueVerdict::Unknown, _) => "unknown whether it applies to this cluster",
        };
        let _ = writeln!(out, "\n  {}: {verdict}", printable(&issue.name));
        let text = format!("{} {}", printable(&clean(&issue.message)), printable(&issue.url));
        out += &wrap("    ", "    ", WIDTH, &text);
    }
    if !update.does_not_apply.is_empty() {
        let _ = writeln!(out, "\n  Does not apply to this cluster: {}", printable(&update.does_not_apply.join(", ")));
    }
    out.push('\n');
    let mut open: Vec<&str> =
        update.issues.iter().filter(|issue| !issue.accepted).map(|issue| issue.name.as_str()).collect();
    let concerns = |precheck: &&Precheck| {
        matches!(precheck.result, PrecheckResult::Concern | PrecheckResult::Unknown)
            && !precheck.accepted
            && precheck.concerns_all
    };
    open.extend(data.prechecks.iter().filter(concerns).map(|precheck| precheck.name.as_str()));
    open.sort_unstable();
    open.dedup();
    if open.is_empty() {
        let _ = writeln!(out, "Request it with `{} --to {version}{}`.", subject.command(), allow(update));
    } else {
        let _ = writeln!(out, "Issues that were not included in --accept: {}", printable(&open.join(",")));
        out.push_str("Issues that could not be evaluated cannot be accepted, except for checks of the cluster.\n");
    }
    out
}

/// That a version is not among the updates, and how to find a path to it.
pub(super) fn no_such_update(target: &Version, any: bool, subject: &Subject) -> String {
    let what = if any {
        format!("no update to {target} is available from the current version")
    } else {
        "no updates are available".to_owned()
    };
    format!("{what}; `{} plan --to {target}` looks for a path over several updates", subject.command())
}
