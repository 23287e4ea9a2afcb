//! Assessments for people: plain text, one fact a line, no colour.

use std::fmt::Write;
use std::time::Duration;

use clearway_core::humanize;

use crate::assess::path::PathAssessment;
use crate::assess::{Assessment, Update};
use crate::evidence::{ObjectExplanation, PartValue};
use crate::proof::{Outcome, RiskProof, RuleProof, Statement, Status, Verdict};

/// The whole assessment: every update with its proof.
pub fn assessment(assessment: &Assessment) -> String {
    let mut out = String::new();
    let id = assessment.cluster.id.as_ref().map(|id| format!(" {id}")).unwrap_or_default();
    line(&mut out, 0, &format!("Cluster{id} at {}, assessed for {}", assessment.cluster.version, assessment.time));
    for diagnostic in &assessment.diagnostics {
        line(&mut out, 0, &format!("{}: {} [{}]", diagnostic.severity.as_str(), diagnostic.message, diagnostic.code));
    }
    if assessment.updates.is_empty() {
        line(&mut out, 0, "No updates are known.");
    }
    for one in &assessment.updates {
        out.push('\n');
        out.push_str(&update(one));
    }
    out
}

/// One update with its proof.
pub fn update(update: &Update) -> String {
    let mut out = String::new();
    line(&mut out, 0, &heading(&update.version.to_string(), &update.recommended));
    if update.risks.is_empty() {
        line(&mut out, 2, &update.recommended.message);
    }
    if let Some(evaluating) = update.evaluating.as_ref().filter(|statement| statement.status != Status::True) {
        line(&mut out, 2, &evaluating.message);
    }
    for risk in &update.risks {
        push_risk(&mut out, 2, risk);
    }
    out
}

/// A way over several updates.
pub fn path(path: &PathAssessment) -> String {
    let mut out = String::new();
    for (at, hop) in path.hops.iter().enumerate() {
        if at > 0 {
            out.push('\n');
        }
        line(&mut out, 0, &heading(&format!("{} -> {}", hop.from, hop.to), &hop.recommended));
        if hop.provisional {
            line(&mut out, 2, &format!("by today's evidence; to be assessed again once the cluster runs {}", hop.from));
        }
        if hop.risks.is_empty() {
            line(&mut out, 2, &hop.recommended.message);
        }
        for risk in &hop.risks {
            push_risk(&mut out, 2, risk);
        }
    }
    out
}

/// One risk with its proof.
pub fn risk(risk: &RiskProof) -> String {
    let mut out = String::new();
    push_risk(&mut out, 0, risk);
    out
}

fn heading(what: &str, recommended: &Statement) -> String {
    let words = match recommended.status {
        Status::True => "recommended",
        Status::False => "not recommended",
        Status::Unknown => "not known to be safe",
    };
    format!("{what}  {words} ({})", recommended.reason)
}

fn push_risk(out: &mut String, indent: usize, risk: &RiskProof) {
    let verdict = match risk.verdict {
        Verdict::Match => "applies to this cluster",
        Verdict::NoMatch => "does not apply",
        Verdict::Unknown => "unknown",
        Verdict::Pending => "not evaluated yet",
    };
    line(out, indent, &format!("{}: {verdict}", risk.name));
    let inner = indent.saturating_add(2);
    line(out, inner, &risk.message);
    if !risk.url.is_empty() {
        line(out, inner, &risk.url);
    }
    if risk.rules.is_empty() {
        line(out, inner, "no rules: it applies to every cluster");
    }
    for (number, rule) in (1..).zip(&risk.rules) {
        push_rule(out, inner, number, rule);
    }
}

fn push_rule(out: &mut String, indent: usize, number: usize, rule: &RuleProof) {
    let outcome = match rule.outcome {
        Outcome::Match => "match",
        Outcome::NoMatch => "no match",
        Outcome::Failed => "could not be evaluated",
        Outcome::Pending => "pending",
        Outcome::NotRecognised => "unsupported rule type",
        Outcome::NotReached => "not reached",
    };
    let kind = if rule.kind.is_empty() { "(no type)" } else { rule.kind.as_str() };
    line(out, indent, &format!("{number}. {kind}: {outcome}"));
    let mut fact = |name: &str, text: &str| {
        let mut lines = text.lines();
        line(out, indent.saturating_add(3), &format!("{name:<8} {}", lines.next().unwrap_or_default()));
        lines.for_each(|rest| line(out, indent.saturating_add(12), rest));
    };
    if !rule.parameters.is_empty() {
        fact(if rule.kind == "PromQL" { "query" } else { "asks" }, &rule.parameters);
    }
    if let Some(why) = &rule.why {
        fact("why", why);
    }
    if let Some(value) = &rule.value {
        fact("value", value);
    }
    if let Some(explanation) = &rule.explanation {
        fact("parts", &parts(explanation));
    }
    if let Some(at) = rule.observed_at {
        let age = match rule.age_seconds {
            // Not "just now": a snapshot may be judged as of the time it was taken, however long ago that is.
            None | Some(0) => "at the time of the assessment".to_owned(),
            Some(seconds) => format!("{} ago", humanize(Duration::from_secs(seconds))),
        };
        let source = rule.source.as_ref().map(|source| format!(", from {source}")).unwrap_or_default();
        fact(if rule.value.is_some() { "seen" } else { "tried" }, &format!("{at}, {age}{source}"));
    }
    if let Some(missing) = &rule.missing {
        fact("missing", missing);
    }
    if let (Outcome::Failed, Some(due)) = (rule.outcome, rule.due) {
        fact("again", &due.to_string());
    }
    for warning in &rule.warnings {
        fact("warning", warning);
    }
    if let Some(command) = &rule.reproduce {
        fact("check", command);
    }
}

/// Each part of an expression with its value, on a line of its own.
fn parts(explanation: &ObjectExplanation) -> String {
    let mut text = format!("of {}", explanation.name);
    for PartValue { expression, level, value, times } in &explanation.parts {
        let last = if *times > 1 { format!(" (last of {times} evaluations)") } else { String::new() };
        let indent = level.saturating_mul(2);
        // Writing into a text cannot fail.
        let _ = write!(text, "\n{:indent$}{expression} = {value}{last}", "");
    }
    text
}

/// Appends a text, indented; what stands on several lines stays on several.
fn line(out: &mut String, indent: usize, text: &str) {
    if text.is_empty() {
        out.push('\n');
    }
    for text in text.lines() {
        // Writing into a text cannot fail.
        let _ = writeln!(out, "{:indent$}{}", "", text.trim_end());
    }
}
