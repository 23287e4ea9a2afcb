//! Findings as rules report them: levels and verdicts are decided here, the same for all rules.

use std::collections::{BTreeMap, BTreeSet};

use clearway_core::{Place, Position};
use clearway_schema::excerpt;
use serde_json::Value;

use crate::finding::{Finding, RuleId, Verdict};
use crate::model::{ApiVersion, Bundle, Crd, Level, Segment, render_path};
use crate::patterns::PatternComparer;
use crate::rules::Rule;

/// Findings of one comparison. More are counted and left out, the least grave ones first.
const FINDINGS: usize = 20_000;
/// Characters of a value in a finding.
const VALUE_CHARACTERS: usize = 300;

/// Characters of the path of a field in a finding.
const PATH_CHARACTERS: usize = 500;

/// The CRD, version or bundle that a finding is about.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Site<'s> {
    /// How it is called in paths: the plural of a CRD, the kind and name of a policy.
    object: &'s str,
    crd: Option<&'s str>,
    version: Option<&'s str>,
    place: Option<&'s Place>,
}

/// A change that a rule reports.
#[derive(Debug, Clone)]
pub(crate) struct Change {
    rule: RuleId,
    message: String,
    old: Option<Value>,
    new: Option<Value>,
    needed: Option<(Level, Level)>,
    doubt: Option<Verdict>,
    stored_objects: Option<String>,
    position: Option<Position>,
}

/// What rules report to.
#[derive(Debug)]
pub(crate) struct Collector {
    experimental: bool,
    allowed: Level,
    /// By verdict, so that a graver finding takes the place of a less grave one when there are too many.
    findings: BTreeMap<Verdict, Vec<Finding>>,
    left_out: usize,
    pub(crate) patterns: PatternComparer,
}

impl<'s> Site<'s> {
    pub(crate) fn bundle(bundle: &'s Bundle) -> Self {
        Site {
            object: if bundle.name.is_empty() { "bundle" } else { &bundle.name },
            crd: None,
            version: None,
            place: None,
        }
    }

    pub(crate) fn object(name: &'s str, place: &'s Place) -> Self {
        Site { object: name, crd: None, version: None, place: Some(place) }
    }

    pub(crate) fn crd(crd: &'s Crd) -> Self {
        Site { object: &crd.plural, crd: Some(&crd.name), version: None, place: Some(&crd.place) }
    }

    pub(crate) fn version(crd: &'s Crd, version: &'s ApiVersion) -> Self {
        Site { version: Some(&version.name), place: Some(&version.place), ..Site::crd(crd) }
    }
}

impl Change {
    pub(crate) fn new(rule: RuleId, message: impl Into<String>) -> Self {
        Change {
            rule,
            message: message.into(),
            old: None,
            new: None,
            needed: None,
            doubt: None,
            stored_objects: None,
            position: None,
        }
    }

    /// The values before and after.
    pub(crate) fn values(mut self, old: Option<Value>, new: Option<Value>) -> Self {
        (self.old, self.new) = (old.map(cut), new.map(cut));
        self
    }

    /// Other levels than those of the rule: of the standard channel, and of the experimental one.
    pub(crate) fn needs(mut self, standard: Level, experimental: Level) -> Self {
        self.needed = Some((standard, experimental));
        self
    }

    /// Where the versions allow it, a person has to look at it all the same.
    pub(crate) fn needs_review(mut self) -> Self {
        self.doubt = Some(Verdict::NeedsReview);
        self
    }

    /// Where the versions allow it, users should know of it.
    pub(crate) fn warns(mut self) -> Self {
        self.doubt = Some(Verdict::Warning);
        self
    }

    /// Another sentence about stored objects than that of the rule.
    pub(crate) fn stored(mut self, sentence: impl Into<String>) -> Self {
        self.stored_objects = Some(sentence.into());
        self
    }

    /// Where it stands in the file.
    pub(crate) fn at(mut self, position: Option<Position>) -> Self {
        self.position = position;
        self
    }
}

impl Collector {
    pub(crate) fn new(experimental: bool, allowed: Level) -> Self {
        let patterns = PatternComparer::default();
        Collector { experimental, allowed, findings: BTreeMap::new(), left_out: 0, patterns }
    }

    /// Whether the rules of the experimental channel hold.
    pub(crate) fn is_experimental(&self) -> bool {
        self.experimental
    }

    /// Makes a finding of a change.
    pub(crate) fn report(&mut self, site: &Site<'_>, path: &[Segment<'_>], change: Change) {
        let Some(rule) = Rule::find(change.rule.as_str()) else { return };
        let (standard, experimental) = change.needed.unwrap_or((rule.standard, rule.experimental));
        let needed = if self.experimental { experimental } else { standard };
        let verdict = match change.doubt {
            _ if needed > self.allowed => Verdict::Violation,
            None => Verdict::Allowed,
            Some(doubt) => doubt,
        };
        if !self.make_room(verdict) {
            return;
        }
        let field = cut_text(render_path(path), PATH_CHARACTERS);
        let parts = [excerpt(site.object), site.version.map(excerpt).unwrap_or_default(), field.clone()];
        let mut place = site.place.cloned().unwrap_or_default();
        if change.position.is_some() {
            place.position = change.position;
        }
        if !field.is_empty() {
            place.path = Some(field.clone());
        }
        self.findings.entry(verdict).or_default().push(Finding {
            rule: change.rule,
            path: parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" "),
            crd: site.crd.map(excerpt),
            version: site.version.map(excerpt),
            field,
            message: change.message,
            old: change.old,
            new: change.new,
            needed,
            allowed: self.allowed,
            verdict,
            stored_objects: change.stored_objects.unwrap_or_else(|| rule.stored_objects.to_owned()),
            place,
            waiver: None,
        });
    }

    /// Whether there is room for a finding with this verdict: if there are too many, one that weighs less goes.
    fn make_room(&mut self, verdict: Verdict) -> bool {
        if self.findings.values().map(Vec::len).sum::<usize>() < FINDINGS {
            return true;
        }
        self.left_out = self.left_out.saturating_add(1);
        let lighter = self.findings.range_mut(..verdict).find(|(_, findings)| !findings.is_empty());
        lighter.is_some_and(|(_, findings)| findings.pop().is_some())
    }

    /// The findings in order, and how many were left out.
    pub(crate) fn finish(self) -> (Vec<Finding>, usize) {
        let mut findings: Vec<Finding> = self.findings.into_values().flatten().collect();
        findings.sort_by(|one, two| (&one.path, one.rule, &one.message).cmp(&(&two.path, two.rule, &two.message)));
        (findings, self.left_out)
    }
}

/// A value that is short enough for a finding.
fn cut(value: Value) -> Value {
    let text = match &value {
        Value::String(text) => text.clone(),
        Value::Array(_) | Value::Object(_) => value.to_string(),
        _ => return value,
    };
    let short = cut_text(text.clone(), VALUE_CHARACTERS);
    if short == text { value } else { Value::String(short) }
}

fn cut_text(text: String, most: usize) -> String {
    if text.chars().count() <= most { text } else { text.chars().take(most).chain(['…']).collect() }
}

/// Some names for a message: at most five, and how many more there are.
pub(crate) fn name_list<'n>(names: impl IntoIterator<Item = &'n str>) -> String {
    let names: BTreeSet<&str> = names.into_iter().collect();
    let shown: Vec<String> = names.iter().take(5).map(|name| format!("`{}`", excerpt(name))).collect();
    let more = names.len().saturating_sub(shown.len());
    let shown = shown.join(", ");
    if more == 0 { shown } else { format!("{shown} and {more} more") }
}
