//! Tests of every risk with broken evidence, which must not be evaluated as "does not apply".
//!
//! Each is really evaluated: queries over series that are made from their selectors, rules about objects on objects that
//! are made from their parameters, and staged rollouts at other times.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result};
use clearway_advice::evidence::{
    Evidence, Failure, FailureClass, ObjectRequest, Objects, Question, Record, RecordedEvidence, Snapshot,
};
use clearway_advice::{RiskProof, Settings, Verdict};
use clearway_core::Timestamp;
use clearway_graph::{Risk, Rule};
use clearway_promql::Series;
use serde_json::{Map, Value, json};

use super::generated_series;
use super::parameters::{find, own, word};

/// The time of cases that do not depend on it: 2026-01-01.
const NOW: i64 = 1_767_225_600;
/// Who is assessed where an id is needed.
const CLUSTER: &str = "00000000-0000-4000-8000-000000000000";

/// What came of a case.
pub(super) enum CaseOutcome {
    /// The proof, and what is wrong with it, if something is.
    Judged(Arc<RiskProof>, Option<&'static str>),
    /// Why it was not tried.
    Skipped(&'static str),
}

/// A case and what came of it.
pub(super) type CaseResult = (&'static str, CaseOutcome);

const TAKEN: &str = "evaluated as `does not apply`";

/// Tries all cases that make sense for the rules of a risk.
pub(super) fn run_cases(risk: &Arc<Risk>, settings: &Settings) -> Result<Vec<CaseResult>> {
    let now = Timestamp::from_seconds(NOW).context("invalid time")?;
    let tests = Tests { risk, now, settings: settings.clone() };
    let plan = super::plan_of(risk, &tests.settings)?;
    let mut tried = Vec::new();
    if !plan.questions().is_empty() {
        tried.extend(tests.metrics(&plan.questions())?);
    }
    if !plan.object_requests().is_empty() {
        tried.extend(tests.objects(&plan.object_requests())?);
    }
    if let Some(rollout) = reached(risk).find(|rule| rule.kind == "Rollout") {
        tried.extend(tests.rollout(rollout)?);
    }
    Ok(tried)
}

/// The rules that something may be left to.
fn reached(risk: &Risk) -> impl Iterator<Item = &Rule> {
    risk.rules().iter().take_while(|rule| rule.kind != Rule::ALWAYS)
}

/// Makes the status of the object that a rule with these parameters looks at.
type Status<'s> = dyn Fn(&Map<String, Value>) -> Value + 's;

struct Tests<'r> {
    risk: &'r Arc<Risk>,
    now: Timestamp,
    settings: Settings,
}

impl Tests<'_> {
    fn evaluate(&self, evidence: &dyn Evidence, now: Timestamp) -> Result<Arc<RiskProof>> {
        super::evaluate(self.risk, evidence, now, &self.settings)
    }

    /// A case in which nothing says that the risk does not apply.
    fn never(&self, case: &'static str, evidence: &dyn Evidence) -> Result<CaseResult> {
        self.unless(case, evidence, |_| false)
    }

    /// A case in which nothing says that the risk does not apply, unless the rule that decides means it.
    fn unless(&self, case: &'static str, evidence: &dyn Evidence, meant: impl Fn(&Rule) -> bool) -> Result<CaseResult> {
        let proof = self.evaluate(evidence, self.now)?;
        let decider = proof.decided_by.and_then(|at| self.risk.rules().get(at));
        let wrong = proof.verdict == Verdict::NoMatch && !decider.is_some_and(meant);
        Ok((case, CaseOutcome::Judged(proof, wrong.then_some(TAKEN))))
    }

    fn metrics(&self, questions: &[&Question]) -> Result<Vec<CaseResult>> {
        let away = Record::failed(FailureClass::Unreachable, "The source is unreachable.");
        let queries = questions.iter().map(|question| (question.text().to_owned(), away.clone()));
        let store_away =
            RecordedEvidence { queries: queries.collect(), configured: true, ..RecordedEvidence::default() };
        let mut tried = vec![self.never("the metrics store is unreachable", &store_away)?];
        for (case, series) in [
            ("the metrics are missing", self.made(questions, &[], 0.0)?),
            ("every metric has two series", self.made(questions, &["one", "two"], 1.0)?),
            ("every metric is 2", self.made(questions, &["one"], 2.0)?),
        ] {
            let Some(series) = series else {
                tried
                    .push((case, CaseOutcome::Skipped("cannot generate a series that matches a pattern of the query")));
                continue;
            };
            let evidence = Snapshot::new(&series, self.now, "generated series");
            // A query that found its metrics may say that the risk does not apply; nothing else may.
            tried.push(self.unless(case, &evidence, |rule| rule.kind == Rule::PROMQL && !series.is_empty())?);
        }
        Ok(tried)
    }

    fn made(&self, questions: &[&Question], names: &[&str], value: f64) -> Result<Option<Series>> {
        let at = self.now.as_seconds().saturating_mul(1_000);
        generated_series::series(questions.iter().map(|question| question.query()), at, names, value)
    }

    fn objects(&self, requests: &[&ObjectRequest]) -> Result<Vec<CaseResult>> {
        let mut away = Objects::new(self.now, "an unreachable source");
        for request in requests {
            away.fail(request.kind.clone(), Failure::new(FailureClass::Unreachable, "The source is unreachable."));
        }
        let mut tried = vec![self.never("the API server is unreachable", &with(&away, self.now))?];
        let says = |rule: &Rule, key: &str| own(rule).and_then(|own| word(own, key)).unwrap_or_default().to_owned();
        let absent_is_meant = |rule: &Rule| says(rule, "whenAbsent") == "NoMatch";
        let none = self.objects_of(requests, None);
        tried.push(self.unless("the objects are missing", &with(&none, self.now), absent_is_meant)?);
        let bare = self.objects_of(requests, Some(&|_| json!({})));
        // Who asks with `has()`, or about what every object has, means it.
        let is_meant = |rule: &Rule| {
            let asks = says(rule, "expression");
            absent_is_meant(rule) || asks.contains("has(") || asks.contains("metadata")
        };
        tried.push(self.unless("the objects have no fields", &with(&bare, self.now), is_meant)?);
        if reached(self.risk).any(|rule| rule.kind == Rule::BUNDLE) {
            tried.extend(self.bundles(requests)?);
        }
        if reached(self.risk).any(|rule| rule.kind == Rule::POLICY) {
            tried.extend(self.audits(requests)?);
        }
        if reached(self.risk).any(|rule| rule.kind == "Condition") {
            for (case, observed, status) in
                [("the condition has an earlier generation", 1, None), ("the condition is Unknown", 2, Some("Unknown"))]
            {
                let conditions = |rule: &Map<String, Value>| {
                    let asked = word(rule, "status").unwrap_or_default();
                    // The opposite of what is asked for, which would be "does not apply".
                    let status = status.unwrap_or(if asked == "True" { "False" } else { "True" });
                    let type_ = word(rule, "type").unwrap_or_default();
                    json!({"conditions": [{"type": type_, "status": status, "observedGeneration": observed}]})
                };
                let objects = self.objects_of(requests, Some(&conditions));
                tried.push(self.unless(case, &with(&objects, self.now), |rule| rule.kind != "Condition")?);
            }
        }
        Ok(tried)
    }

    /// Bundles that are not whole: no rule about one may say that the risk does not apply.
    fn bundles(&self, requests: &[&ObjectRequest]) -> Result<Vec<CaseResult>> {
        let groups: Vec<&str> = reached(self.risk)
            .filter(|rule| rule.kind == Rule::BUNDLE)
            .filter_map(|rule| own(rule).and_then(|own| word(own, "group")))
            .collect();
        let mut tried = Vec::new();
        for (case, versions) in [
            ("the CRDs of the bundle have two versions", &[Some("v0.0.1"), Some("v999.0.0")][..]),
            ("the CRDs of the bundle have no annotations", &[None]),
        ] {
            let mut objects = self.objects_of(requests, None);
            for (group, (number, version)) in
                groups.iter().flat_map(|group| versions.iter().enumerate().map(move |version| (group, version)))
            {
                objects.insert(generated_crd(group, number, *version));
            }
            tried.push(self.unless(case, &with(&objects, self.now), |rule| rule.kind != Rule::BUNDLE)?);
        }
        Ok(tried)
    }

    /// Constraints without a recent audit: no rule about one may say that the risk does not apply.
    fn audits(&self, requests: &[&ObjectRequest]) -> Result<Vec<CaseResult>> {
        let old = self.now.minus(Duration::from_hours(24 * 365)).to_string();
        let mut tried = Vec::new();
        for (case, status) in [
            ("the constraint was never audited", json!({})),
            ("the audit of the constraint is old", json!({"auditTimestamp": old, "totalViolations": 0})),
        ] {
            let mut objects = self.objects_of(requests, None);
            // Results about releases are not made of audits, and are absent here.
            for own in reached(self.risk).filter(|rule| rule.kind == Rule::POLICY).filter_map(own) {
                let text = |key: &str| word(own, key).unwrap_or_default();
                objects.insert(json!({
                    "apiVersion": "constraints.gatekeeper.sh/v1beta1", "kind": text("kind"),
                    "metadata": {"name": text("name")}, "status": status,
                }));
            }
            tried.push(self.unless(case, &with(&objects, self.now), |rule| rule.kind != Rule::POLICY)?);
        }
        Ok(tried)
    }

    /// The parameters of rules about objects.
    fn parameters(&self) -> impl Iterator<Item = &Map<String, Value>> {
        reached(self.risk).filter(|rule| matches!(rule.kind.as_str(), "Resource" | "Condition")).filter_map(own)
    }

    /// All that is wanted was looked for. With a status, there is an object for every rule, which the rule selects.
    fn objects_of(&self, requests: &[&ObjectRequest], status: Option<&Status<'_>>) -> Objects {
        let mut objects = Objects::new(self.now, "generated objects");
        for request in requests {
            objects.mark_read(request.kind.clone());
        }
        for rule in self.parameters() {
            let Some(status) = status.map(|status| status(rule)) else { continue };
            let owned = |key: &str| word(rule, key).map(str::to_owned);
            let mut metadata = json!({"name": owned("name").unwrap_or_else(|| "made-up".to_owned()), "generation": 2});
            if let (Some(namespace), Some(fields)) = (owned("namespace"), metadata.as_object_mut()) {
                fields.insert("namespace".to_owned(), namespace.into());
            }
            if let (Some(labels), Some(fields)) = (find(rule, "labelSelector"), metadata.as_object_mut()) {
                fields.insert("labels".to_owned(), labels_of(labels));
            }
            objects.insert(json!({
                "apiVersion": owned("apiVersion"), "kind": owned("kind"), "metadata": metadata, "status": status,
            }));
        }
        objects
    }

    fn rollout(&self, rule: &Rule) -> Result<Vec<CaseResult>> {
        let start = own(rule).and_then(|own| word(own, "start")).and_then(|start| start.parse::<Timestamp>().ok());
        let Some(start) = start else { return Ok(Vec::new()) };
        let known = Snapshot { cluster_id: Some(CLUSTER), ..Snapshot::empty(start, "a generated cluster") };
        let before = self.evaluate(&known, start.minus(Duration::from_secs(1)))?;
        let wrong =
            (before.verdict != Verdict::Match).then_some("the rollout has not started, but the risk does not apply");
        Ok(vec![
            ("the time is before the start", CaseOutcome::Judged(before, wrong)),
            self.never("the cluster id is unknown", &Snapshot::empty(self.now, "a generated cluster"))?,
        ])
    }
}

fn with(objects: &Objects, now: Timestamp) -> Snapshot<'_> {
    Snapshot { objects: Some(objects), ..Snapshot::empty(now, "") }
}

/// A CRD of a bundle.
fn generated_crd(group: &str, number: usize, version: Option<&str>) -> Value {
    let plural = format!("generated{number}");
    let annotations = version.map_or_else(
        || json!({}),
        |version| json!({format!("{group}/bundle-version"): version, format!("{group}/channel"): "standard"}),
    );
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.{group}"), "annotations": annotations},
        "spec": {
            "group": group, "scope": "Namespaced", "names": {"kind": format!("Generated{number}"), "plural": plural},
            "versions": [{"name": "v1", "served": true, "storage": true}],
        },
        "status": {"storedVersions": ["v1"]},
    })
}

/// Labels that a selector selects, as far as it names any.
fn labels_of(selector: &Value) -> Value {
    let mut labels = selector.get("matchLabels").and_then(Value::as_object).cloned().unwrap_or_default();
    let expressions = selector.get("matchExpressions").and_then(Value::as_array).into_iter().flatten();
    for expression in expressions {
        let (key, operator) = (expression["key"].as_str(), expression["operator"].as_str());
        if let (Some(key), Some("In" | "Exists")) = (key, operator) {
            let value = expression["values"].get(0).cloned().unwrap_or_else(|| "made-up".into());
            labels.insert(key.to_owned(), value);
        }
    }
    Value::Object(labels)
}
