//! `PromQL`: asks a metrics store; 1 matches, 0 does not, and everything else is an evaluation failure (U3).

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

use clearway_graph::Rule;
use clearway_promql::eval::Value;

use super::rule_result::MissingSource;
use super::{Case, Check, Finding, ReadContext, RuleOutcome, RuleResult};
use crate::evidence::{Failure, FailureClass, MAX_SERIES, ObjectAnswer, ObjectQuestion, Question, Reply};

/// What each question gave in one assessment, so that it is asked once however many risks have it.
#[derive(Default)]
pub(crate) struct Memo {
    tried: RefCell<BTreeMap<String, RuleResult>>,
    objects: RefCell<BTreeMap<String, Reply<ObjectAnswer>>>,
    told: RefCell<BTreeMap<Arc<str>, RuleOutcome>>,
}

impl Memo {
    /// What objects say to a question, asked once.
    pub(super) fn objects(
        &self,
        question: &ObjectQuestion,
        ask: impl FnOnce() -> Reply<ObjectAnswer>,
    ) -> Reply<ObjectAnswer> {
        if let Some(known) = self.objects.borrow().get(question.text()) {
            return known.clone();
        }
        let reply = ask();
        self.objects.borrow_mut().insert(question.text().to_owned(), reply.clone());
        reply
    }
}

#[derive(Debug)]
struct Promql(Question);

impl Promql {
    /// How many samples it may look at: by its text in the plan, whichever cluster it is asked for.
    fn samples(&self, case: &Case<'_>) -> u64 {
        case.shares.samples(self.0.text())
    }
}

/// Reads `promql.promql`.
pub(super) fn read(rule: &Rule, context: &ReadContext<'_>) -> Result<Box<dyn Check>, Failure> {
    let query = rule.promql().ok_or_else(|| {
        Failure::new(FailureClass::Malformed, "The rule has no query: `promql.promql` is missing or not a string.")
    })?;
    Ok(Box::new(Promql(Question::new(query, context.settings)?)))
}

impl Check for Promql {
    fn parameters(&self) -> &str {
        self.0.text()
    }

    fn question(&self) -> Option<&Question> {
        Some(&self.0)
    }

    fn check(&self, case: &Case<'_>) -> RuleResult {
        if let Some(known) = case.memo.tried.borrow().get(self.0.text()) {
            return known.clone();
        }
        let tried = match case.evidence.store_id() {
            None => ask(&self.0, self.samples(case), case),
            Some(id) => match self.0.for_cluster(id, case.settings) {
                Ok(question) => ask(&question, self.samples(case), case),
                Err(Failure { class, message, .. }) => {
                    RuleResult::without_evidence(Finding::failed(class, message, super::rule_result::remedy(class)))
                }
            },
        };
        case.memo.tried.borrow_mut().insert(self.0.text().to_owned(), tried.clone());
        tried
    }

    fn outcome(&self, case: &Case<'_>) -> RuleOutcome {
        if let Some(known) = case.memo.told.borrow().get(self.0.text()) {
            return *known;
        }
        let ask = |question: &Question| {
            RuleOutcome::of_reply(case, &case.evidence.promql_unshown(question, self.samples(case)), answer)
        };
        let told = match case.evidence.store_id() {
            None => ask(&self.0),
            Some(id) => self.0.for_cluster(id, case.settings).map_or(RuleOutcome::Failed, |question| ask(&question)),
        };
        case.memo.told.borrow_mut().insert(self.0.shared_text(), told);
        told
    }
}

fn ask(question: &Question, samples: u64, case: &Case<'_>) -> RuleResult {
    let nobody = MissingSource {
        message: "No metrics source is configured.".to_owned(),
        missing: "A Prometheus server, or a snapshot with series.".to_owned(),
    };
    let reply = case.evidence.promql(question, samples);
    let mut tried = RuleResult::of_reply(case, reply, &nobody, shown, |value| judge(value, question));
    if question.lacking() > 0 {
        let count = question.lacking();
        tried.warnings.push(format!(
            "{count} selector(s) of the query lack `_id=\"\"`, so the store returns series of all its clusters."
        ));
    }
    tried
}

/// What a value says: exactly one series with 0 or 1 is an answer. -0 is 0, and nothing else that is nearly 0 or 1 is.
fn answer(value: &Value) -> RuleOutcome {
    match value {
        Value::Vector(samples) => match samples.as_slice() {
            [one] if one.value == 0.0 => RuleOutcome::NoMatch,
            [one] if one.value.to_bits() == 1.0_f64.to_bits() => RuleOutcome::Match,
            _ => RuleOutcome::Failed,
        },
        _ => RuleOutcome::Failed,
    }
}

/// Whether a value says match or no match. One that does not is a failed evaluation (U9).
pub(crate) fn is_answer(value: &Value) -> bool {
    matches!(answer(value), RuleOutcome::Match | RuleOutcome::NoMatch)
}

/// Match or no match, if the value says either, and else why it does not.
fn judge(value: &Value, question: &Question) -> Finding {
    let ambiguous = |message: String| {
        Finding::failed(
            FailureClass::Ambiguous,
            message,
            "A query that returns exactly one series with the value 0 or 1.",
        )
    };
    match answer(value) {
        RuleOutcome::Match => return Finding::Match,
        RuleOutcome::NoMatch => return Finding::NoMatch,
        RuleOutcome::Failed | RuleOutcome::Pending => {}
    }
    match value {
        Value::Vector(samples) => match samples.as_slice() {
            [] => {
                let missing = match question.query().metrics().as_slice() {
                    [] => "A query that returns exactly one series with the value 0 or 1.".to_owned(),
                    metrics => format!("Current samples of {}.", listed(metrics)),
                };
                Finding::failed(FailureClass::Absent, "The query returned no series.", missing)
            }
            [one] => ambiguous(format!("The query returned {}; the value must be 0 or 1.", number(one.value))),
            several => ambiguous(format!("The query returned {}; exactly one is required.", counted(several.len()))),
        },
        Value::Scalar(_) => ambiguous("The query returned a scalar; an instant vector is required.".to_owned()),
        Value::String(_) => ambiguous("The query returned a string; an instant vector is required.".to_owned()),
        Value::Matrix(_) => ambiguous("The query returned a range vector; an instant vector is required.".to_owned()),
    }
}

/// `a`, `b` or `c`.
fn listed(metrics: &[&str]) -> String {
    let quoted: Vec<String> = metrics.iter().map(|metric| format!("`{metric}`")).collect();
    match quoted.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
        _ => quoted.concat(),
    }
}

/// A number as results of PromQL print it.
fn number(value: f64) -> String {
    Value::Scalar(value).to_string()
}

/// How many series there are, as far as they are counted.
fn counted(series: usize) -> String {
    if series > MAX_SERIES { format!("more than {MAX_SERIES} series") } else { format!("{series} series") }
}

/// A value in a proof: its number, or how many series there are. Labels and texts are not repeated: what they hold is the
/// cluster's, and the query is a stranger's.
fn shown(value: &Value) -> String {
    match value {
        Value::Vector(samples) => match samples.as_slice() {
            [] => "no series".to_owned(),
            [one] => number(one.value),
            several => counted(several.len()),
        },
        Value::Matrix(rows) => format!("a range vector of {}", counted(rows.len())),
        Value::String(_) => "a string".to_owned(),
        Value::Scalar(value) => number(*value),
    }
}

#[cfg(test)]
mod tests {
    use clearway_promql::eval::{Row, Sample};

    use super::*;
    use crate::evidence::numbers_only;

    /// A query that returns very many series takes no memory between two rounds, and the sentence is the same.
    #[test]
    fn only_so_many_series_are_kept_and_counted() {
        let labels = || clearway_promql::Labels::new([("a".to_owned(), "b".to_owned())]);
        let vector = |count: usize| Value::Vector(vec![Sample { labels: labels(), value: 1.0 }; count]);
        let matrix = |count: usize| Value::Matrix(vec![Row { labels: labels(), samples: vec![(0, 1.0)] }; count]);
        for (count, words) in [(2, "2 series"), (MAX_SERIES, "100 series"), (50_000, "more than 100 series")] {
            assert_eq!(shown(&vector(count)), words);
            let kept = numbers_only(vector(count));
            assert_eq!(shown(&kept), words);
            assert!(matches!(&kept, Value::Vector(kept) if kept.capacity() <= MAX_SERIES + 1), "{count}");
            let kept = numbers_only(matrix(count));
            assert_eq!(shown(&kept), format!("a range vector of {words}"));
            assert!(matches!(&kept, Value::Matrix(kept) if kept.iter().all(|row| row.samples.is_empty())), "{count}");
        }
    }

    #[test]
    fn metrics_are_listed_as_people_list_them() {
        assert_eq!(listed(&["a"]), "`a`");
        assert_eq!(listed(&["a", "b", "c"]), "`a`, `b` or `c`");
    }
}
