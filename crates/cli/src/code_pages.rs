//! The documentation of every code of the product, collected from the crates that report them.
//!
//! `clearway explain` shows the pages, and docs/codes.md is generated from them.

use std::borrow::Cow;
use std::collections::BTreeSet;

use clearway_core::Severity;
use clearway_core::diagnostic::{CodePage, suppressions};

/// Codes of one subject.
pub(crate) struct CodeFamily {
    /// What the codes are about.
    pub(crate) title: &'static str,
    /// What reports them.
    pub(crate) reported_by: &'static str,
    pub(crate) pages: Vec<CodePage>,
}

/// All codes.
pub(crate) fn families() -> Vec<CodeFamily> {
    let family = |title, reported_by, pages| CodeFamily { title, reported_by, pages };
    let mut families = vec![
        family("Exit codes", "every command", exit_codes()),
        family("Graph-data and answers of update services", "clearway graph lint", clearway_graph::codes::pages()),
        family("PromQL of risks", "clearway promql check, clearway graph lint", clearway_promql::code_pages()),
        family("CEL expressions", "clearway cel check, clearway graph lint", clearway_cel::code_pages()),
        family("Status conditions of objects", "clearway status lint", clearway_conditions::lint::code_pages()),
        family(
            "Published status of Gateway API objects",
            "clearway gateway audit",
            clearway_gateway::pages::audit_pages(),
        ),
        family("Changes of CRDs", "clearway bundle check", clearway_bundle::codes::change_pages()),
        family("Files of a bundle of CRDs", "clearway bundle commands", clearway_bundle::codes::pages()),
        family("Releases", "clearway release verify", clearway_release::codes::pages()),
        family("Policies", "clearway policy lint", clearway_policy::lint::codes::pages()),
        family("Input files and streams", "every command that reads objects", input_pages()),
        family("Suppressions of findings", "clearway graph lint, status lint and policy lint", suppression_pages()),
        family("Snapshots", "commands with --snapshot", clearway_sources::code_pages::snapshot_pages()),
        family("State directories", "commands with --state", clearway_sources::code_pages::state_pages()),
        family(
            "Reasons of recommendations",
            "clearway assess, clearway upgrade, status.conditionalUpdates",
            recommendation_pages(),
        ),
        family(
            "Reasons of conditions and Events of a ClusterVersion",
            "the operator",
            clearway_update::status::reason_pages::reason_pages(),
        ),
        family(
            "Checks before an update",
            "the operator, clearway upgrade",
            clearway_update::status::reason_pages::check_pages(),
        ),
        family(
            "Reasons why an object of a release cannot be applied",
            "the operator, in the condition Failing",
            clearway_operator::apply_update::failure_pages::failure_pages(),
        ),
        family(
            "Conditions of Gateway API",
            "clearway gateway status, the operator",
            clearway_gateway::pages::condition_pages(),
        ),
    ];
    let documented: BTreeSet<Cow<'static, str>> =
        families.iter().flat_map(|family| &family.pages).map(|page| page.code.clone()).collect();
    let cited = requirement_pages().into_iter().filter(|page| !documented.contains(&page.code)).collect();
    families.push(family("Requirements and conventions that findings cite", "notes of findings", cited));
    families
}

/// The reasons of recommendations, and the names that `upgrade recommend` has for what is not a risk of the graph.
fn recommendation_pages() -> Vec<CodePage> {
    let page = |code, title, meaning, action| CodePage::new(code, None, title, meaning, action);
    let mut pages = clearway_advice::recommend::reason_pages();
    pages.extend([
        page(
            "NotEvaluated",
            "Unknown: the update has no recommendation yet",
            "The status lists the update with risks, but without the condition `Recommended`.",
            "Wait for the operator; if it stays, check that it runs.",
        ),
        page(
            "UpgradeableFalse",
            "Not recommended: the cluster is not ready for another minor version",
            "The condition `Upgradeable` is False. Updates within the minor version are not concerned.",
            "Do what the message of the condition asks for.",
        ),
        page(
            "CannotRetrieveUpdates",
            "Unknown: the list of updates may be out of date",
            "The condition `RetrievedUpdates` is not True, so risks that were published since are not known.",
            "Read the reason of the condition, and `clearway explain` it.",
        ),
        page(
            "FailedToCompletePrecheck",
            "Unknown: alerts could not be read",
            "The metrics store did not answer, so it is unknown whether alerts that speak against an update are firing.",
            "Check the address and the credentials of --prometheus.",
        ),
        page(
            "ConditionalUpdateRisk",
            "All risks of an update that apply",
            "A name that `upgrade recommend --accept` takes, as `oc adm upgrade recommend` has it.",
            "Accept risks by their own names instead, so that a new one is noticed.",
        ),
    ]);
    pages
}

/// The codes of what is wrong with a suppression of findings.
fn suppression_pages() -> Vec<CodePage> {
    let page = |code, severity, title, meaning, action| CodePage::new(code, Some(severity), title, meaning, action);
    vec![
        page(
            suppressions::EXPIRED,
            Severity::Warning,
            "A suppression whose end has passed",
            "It is not applied, so its findings are shown again.",
            "Correct what it was written for, or renew it with a reason.",
        ),
        page(
            suppressions::UNUSED,
            Severity::Warning,
            "A suppression that covers nothing",
            "What it was written for is gone, or its code or path is wrong.",
            "Remove it, or correct it.",
        ),
        page(
            suppressions::INVALID,
            Severity::Error,
            "A suppression that cannot be read",
            "It is not applied.",
            "Give it a code, a reason and an end.",
        ),
    ]
}

/// What each exit code means.
fn exit_codes() -> Vec<CodePage> {
    let page = |code, title, meaning, action| CodePage::new(code, None, title, meaning, action);
    vec![
        page("0", "Exit code 0: yes", "The answer is yes: recommended, clean, healthy, current, done.", ""),
        page(
            "1",
            "Exit code 1: no",
            "The answer is no: not recommended, findings, failed, refused.",
            "Read what was printed; each finding has a code to explain.",
        ),
        page(
            "2",
            "Exit code 2: unknown, or not yet",
            "The question could not be answered: evidence is missing or old, or something is still in progress. It is never to be taken as a yes.",
            "Make the evidence available, or ask again later.",
        ),
        page(
            "3",
            "Exit code 3: could not run",
            "The command could not run: wrong usage, unreadable input, an unreachable server.",
            "Read the last line on standard error: it says what is wrong, and what to do.",
        ),
    ]
}

/// The codes of input: of streams, of objects, and of clusters that are read like files.
fn input_pages() -> Vec<CodePage> {
    let mut pages = clearway_yaml::codes::pages();
    pages.extend([
        CodePage::new(
            clearway_conditions::NOT_AN_OBJECT,
            Some(Severity::Error),
            "Something that is not a Kubernetes object",
            "It has no `apiVersion`, `kind` or `metadata.name`, and is skipped, so the result is incomplete.",
            "Correct the object, or leave the file out.",
        )
        .with_example("kind: ConfigMap", "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a"),
        CodePage::new(
            "IN008",
            Some(Severity::Error),
            "Objects that could not be read from the cluster",
            "The API server refused or did not answer, so the result is incomplete.",
            "Check your rights with `kubectl auth can-i list KIND -A`, and the connection.",
        ),
        CodePage::new(
            "IN010",
            Some(Severity::Warning),
            "An object that is given twice, with different contents",
            "The last one is used, as `kubectl apply` would.",
            "Remove the others.",
        ),
    ]);
    pages.sort_by(|one, other| one.code.cmp(&other.code));
    pages
}

/// The requirements of docs/requirements.md, which the notes of findings cite by id.
fn requirement_pages() -> Vec<CodePage> {
    const DOCUMENT: &str = include_str!("../../../docs/requirements.md");
    let mut section = "";
    let mut pages = Vec::new();
    for line in DOCUMENT.lines() {
        if let Some(heading) = line.strip_prefix("## ") {
            section = heading.split_once(": ").map_or(heading, |(_, title)| title);
        }
        let Some((id, text)) = line.strip_prefix("| ").and_then(|row| row.split_once(" | ")) else { continue };
        if id.ends_with(|letter: char| letter.is_ascii_digit()) {
            let text = text.trim_end_matches('|').trim();
            pages.push(CodePage::new(id, None, section, text, ""));
        }
    }
    pages
}
