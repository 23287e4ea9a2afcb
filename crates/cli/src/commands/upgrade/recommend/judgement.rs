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
    let risks = conditional.map_or(&[][..], |update| &update.risks);
    for (risk, verdict) in risks.iter().zip(verdicts(risks, &known.recommended)) {
        match verdict {
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

/// Which risks of an update apply, by what its status says; nothing for one that does not. The message has paragraphs for each
/// risk that applies or could not be evaluated, and their texts come from whoever publishes the graph. So a risk does not
/// apply only if everything in the message is about others (U16).
fn verdicts(risks: &[ConditionalUpdateRisk], said: &Statement) -> Vec<Option<IssueVerdict>> {
    let own = match said.status {
        Word::True => return vec![None; risks.len()],
        Word::False => IssueVerdict::Applies,
        Word::Unknown => IssueVerdict::Unknown,
    };
    if risks.len() == 1 {
        return vec![Some(own)];
    }
    let bounded = |text: &str| format!("\n\n{text}\n\n");
    let message = bounded(&said.message);
    let mut rest = message.clone();
    let mut found: Vec<Option<IssueVerdict>> = Vec::new();
    for risk in risks {
        let full = format!("{} {}", risk.message, risk.url);
        let texts = [full.as_str(), full.trim(), risk.message.as_str(), risk.message.trim()];
        let text = texts.into_iter().filter(|text| !text.is_empty()).find(|text| message.contains(&bounded(text)));
        if let Some(text) = text {
            rest = rest.replace(&bounded(text), "\n\n");
        }
        let is_reason = said.reason == risk.name;
        found.push(if is_reason { Some(own) } else { text.map(|_| IssueVerdict::Applies) });
    }
    // A reason that is the name of a risk says that it is the only one.
    let mut is_about_others = risks.iter().any(|risk| said.reason == risk.name);
    if !is_about_others {
        let mut paragraphs = rest.split("\n\n").map(str::trim).filter(|paragraph| !paragraph.is_empty());
        is_about_others = paragraphs.all(|paragraph| risks.iter().any(|risk| mentions(paragraph, &risk.name)));
    }
    let or_unknown = |(risk, found): (&ConditionalUpdateRisk, Option<IssueVerdict>)| {
        let may_apply = !is_about_others || mentions(&rest, &risk.name);
        found.or(may_apply.then_some(IssueVerdict::Unknown))
    };
    risks.iter().zip(found).map(or_unknown).collect()
}

/// Whether a text has a name as a word of its own, or as several.
fn mentions(text: &str, name: &str) -> bool {
    let is_word = |letter: char| letter.is_alphanumeric() || letter == '_';
    text.match_indices(name).any(|(at, found)| {
        let (before, after) = (text.get(..at).unwrap_or_default(), text.get(at + found.len()..).unwrap_or_default());
        !before.ends_with(is_word) && !after.starts_with(is_word)
    })
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
        let (applies, unknown) = (Some(IssueVerdict::Applies), Some(IssueVerdict::Unknown));
        assert_eq!(verdicts(&[risk("A"), risk("B"), risk("C")], &said), [applies, unknown, None]);
        // A name of several words, as a publisher may choose it.
        let message = message.replace("by B.", "by a b-c.");
        let said = Statement { message, ..said };
        assert_eq!(verdicts(&[risk("A"), risk("a b-c"), risk("C")], &said), [applies, unknown, None]);
        // The reason names the only one.
        let said = Statement { status: Word::False, reason: "A".into(), message: "Other words.".into() };
        assert_eq!(verdicts(&[risk("A"), risk("B")], &said), [applies, None]);
    }

    /// Otherwise whoever accepts another risk would be recommended the update.
    #[test]
    fn a_risk_does_not_hide_behind_its_own_text() {
        let risk = |name: &str, message: &str| ConditionalUpdateRisk {
            name: name.into(),
            url: "https://example.com".into(),
            message: message.into(),
            ..ConditionalUpdateRisk::default()
        };
        let (first, second) = (risk("A", "A breaks."), risk("B", "Nodes are lost.\n\n\nSee below. "));
        let text = |risk: &ConditionalUpdateRisk| format!("{} {}", risk.message, risk.url);
        let said = |message: String| Statement { status: Word::False, reason: "MultipleReasons".into(), message };
        let both = said(format!("{}\n\n{}", text(&first), text(&second)));
        let applies = Some(IssueVerdict::Applies);
        assert_eq!(verdicts(&[first.clone(), second.clone()], &both), [applies, applies]);
        // Of a text that is about something else nobody knows what it is about.
        let other = said(format!("{}\n\nSomething is wrong.", text(&first)));
        assert_eq!(verdicts(&[first, second], &other), [applies, Some(IssueVerdict::Unknown)]);
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
