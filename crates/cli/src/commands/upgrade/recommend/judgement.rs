//! One update: what its risks and the conditions of the object come to, after those that were accepted by name.

use std::collections::BTreeSet;

use clearway_conditions::Status as Word;
use clearway_core::Version;
use clearway_update::api::{ConditionalUpdate, ConditionalUpdateRisk, same_image};
use serde::Serialize;

use crate::commands::upgrade::condition_text::Statement;
use crate::commands::upgrade::object::FetchedObject;
use crate::commands::upgrade::updates::KnownUpdate;

/// The issue that the cluster is not ready for another minor version.
pub(super) const UPGRADEABLE: &str = "UpgradeableFalse";
/// Accepts every risk of the graph that applies, as `oc adm upgrade recommend` has it.
pub(super) const ALL_RISKS: &str = "ConditionalUpdateRisk";

/// An update, and what speaks against it.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct JudgedUpdate<'a> {
    pub(super) version: &'a str,
    pub(super) image: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) url: Option<&'a str>,
    /// Whether it is recommended once the accepted issues do not count.
    pub(super) status: Word,
    /// What the status of the object says.
    pub(super) recommended: Statement,
    pub(super) issues: Vec<Issue>,
    /// The names of risks that do not apply to this cluster.
    pub(super) does_not_apply: Vec<&'a str>,
}

/// Something that speaks against an update, or may.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Issue {
    pub(super) name: String,
    pub(super) verdict: IssueVerdict,
    pub(super) message: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) url: String,
    pub(super) accepted: bool,
}

/// Whether an issue is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum IssueVerdict {
    Applies,
    Unknown,
}

/// Judges an update. An issue that could not be evaluated is not accepted by its name: nobody knows what would be (U16).
pub(super) fn judge<'a>(
    found: &'a FetchedObject,
    known: &KnownUpdate<'a>,
    accepted: &BTreeSet<&str>,
) -> JudgedUpdate<'a> {
    let release = known.release;
    let is_it = |update: &&ConditionalUpdate| {
        update.release.version == release.version && same_image(&update.release.image, &release.image)
    };
    let conditional = found.status.conditional_updates.iter().find(is_it);
    let (mut issues, mut does_not_apply) = (Vec::new(), Vec::new());
    for risk in conditional.into_iter().flat_map(|update| &update.risks) {
        match verdict(risk, &known.recommended, known.risks.len()) {
            Some(verdict) => issues.push(Issue {
                name: risk.name.clone(),
                verdict,
                message: risk.message.clone(),
                url: risk.url.clone(),
                accepted: false,
            }),
            None => does_not_apply.push(risk.name.as_str()),
        }
    }
    // What the status says counts, also where no single risk can be named for it.
    let missing = match known.recommended.status {
        Word::True => None,
        Word::False => Some(IssueVerdict::Applies),
        Word::Unknown => Some(IssueVerdict::Unknown),
    };
    if let Some(verdict) = missing.filter(|verdict| !issues.iter().any(|issue| issue.verdict == *verdict)) {
        let Statement { reason, message, .. } = &known.recommended;
        let (name, message) = (reason.clone(), message.clone());
        issues.push(Issue { name, verdict, message, url: String::new(), accepted: false });
        does_not_apply.clear();
    }
    let condition = found.status.conditions.get("Upgradeable").filter(|condition| condition.status == Word::False);
    if let Some(condition) = condition.filter(|_| is_next_minor(&found.status.desired.version, &release.version)) {
        let (name, message) = (UPGRADEABLE.to_owned(), format!("{}: {}", condition.reason, condition.message));
        issues.push(Issue { name, verdict: IssueVerdict::Applies, message, url: String::new(), accepted: false });
    }
    for issue in &mut issues {
        let by_name = accepted.contains(issue.name.as_str());
        let as_risk = issue.name != UPGRADEABLE && accepted.contains(ALL_RISKS);
        issue.accepted = issue.verdict == IssueVerdict::Applies && (by_name || as_risk);
    }
    let open = |verdict: IssueVerdict| issues.iter().any(|issue| issue.verdict == verdict && !issue.accepted);
    let status = match (open(IssueVerdict::Applies), open(IssueVerdict::Unknown)) {
        (true, _) => Word::False,
        (false, true) => Word::Unknown,
        (false, false) => Word::True,
    };
    JudgedUpdate {
        version: &release.version,
        image: &release.image,
        url: release.url.as_deref(),
        status,
        recommended: known.recommended.clone(),
        issues,
        does_not_apply,
    }
}

/// Whether a risk applies, by what the status says about its update; nothing if it does not. The message has a
/// paragraph for each risk that applies or could not be evaluated.
fn verdict(risk: &ConditionalUpdateRisk, said: &Statement, risks: usize) -> Option<IssueVerdict> {
    let own = match said.status {
        Word::True => return None,
        Word::False => IssueVerdict::Applies,
        Word::Unknown => IssueVerdict::Unknown,
    };
    if risks == 1 || said.reason == risk.name {
        return Some(own);
    }
    let full = format!("{} {}", risk.message, risk.url);
    let mut paragraphs = said.message.split("\n\n").map(str::trim);
    if paragraphs.clone().any(|paragraph| paragraph == full || paragraph == risk.message) {
        return Some(IssueVerdict::Applies);
    }
    paragraphs.any(|paragraph| mentions(paragraph, &risk.name)).then_some(IssueVerdict::Unknown)
}

/// Whether a text has a name as a word of its own.
fn mentions(text: &str, name: &str) -> bool {
    let is_word = |letter: char| letter.is_alphanumeric() || letter == '_';
    text.split(|letter: char| !is_word(letter)).any(|word| word == name)
}

fn is_next_minor(from: &str, to: &str) -> bool {
    let minor = |text: &str| text.parse::<Version>().ok().map(|version| (version.major(), version.minor()));
    matches!((minor(from), minor(to)), (Some(from), Some(to)) if to > from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_risk_is_found_in_the_message_of_its_update() {
        let risk = |name: &str| ConditionalUpdateRisk {
            name: name.into(),
            url: format!("https://example.com/{name}"),
            message: format!("{name} breaks."),
            ..ConditionalUpdateRisk::default()
        };
        let message = "A breaks. https://example.com/A\n\nUnable to evaluate PromQL to determine if the cluster is impacted by B. timeout";
        let said = Statement { status: Word::False, reason: "MultipleReasons".into(), message: message.into() };
        assert_eq!(verdict(&risk("A"), &said, 3), Some(IssueVerdict::Applies));
        assert_eq!(verdict(&risk("B"), &said, 3), Some(IssueVerdict::Unknown));
        assert_eq!(verdict(&risk("C"), &said, 3), None);
    }

    #[test]
    fn only_another_minor_version_needs_an_upgradeable_cluster() {
        for (from, to, next) in
            [("4.6.1", "4.7.0", true), ("4.6.1", "4.6.9", false), ("4.6.1", "5.0.0", true), ("4.6.1", "x", false)]
        {
            assert_eq!(is_next_minor(from, to), next, "{from} {to}");
        }
    }
}
