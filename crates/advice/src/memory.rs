//! How much memory a plan takes, and what comes of it for one cluster.
//!
//! Rules come from strangers, and a few letters of a rule can take a thousand times their size once they are compiled.
//! [`RuleMemory`] bounds the rules of one plan while they are read, and what compiling their regular expressions takes; [`Plan::memory`] tells who keeps plans of several
//! publishers how much each of them takes. Both are estimates from above.

use std::cell::Cell;
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use clearway_core::JsonSize;
use clearway_graph::Risk;

use crate::assess::walk::Candidate;
use crate::assess::{Plan, Target};
use crate::evidence::{Failure, FailureClass, MAX_SERIES, ObjectQuestion, Question};
use crate::proof::RuleProof;
use crate::rules::{Entry, Reading};

/// Bytes of memory that the rules of one plan may take, and those of a path besides. A rule that does not fit fails, and no
/// other one.
pub const RULE_MEMORY: usize = 32 << 20;

/// Bytes that are written and read to compile the regular expressions of the rules of one plan, and those of a path besides. A
/// rule for which there are not as many left fails, and no other one.
pub const RULE_PATTERNS: usize = 64 << 20;

/// What a query takes for each byte of its text while it is asked again and again: its text as a key, in the round that is
/// open and in the command that shows it again, with quotes around quotes.
const QUERY_COPIES: usize = 8;
/// What the text of a query takes for each of its bytes only because it is being asked: in the round, and while it is sent.
const ASKED_COPIES: usize = 3;
/// What queries that no risk needs any more may take at least, so that few small ones are always kept while they rest.
const LEAST_UNWANTED: usize = 64 << 10;
/// What takes the place of an empty `_id`, where a metrics store holds several clusters: a UUID.
const STORE_ID: usize = 36;
/// The empty `_id` in the text of a query.
const PLACEHOLDER: &str = "_id=\"\"";
/// What the answers to a query take beside: the numbers, the address, and why there is none.
const QUERY_ANSWERS: usize = (MAX_SERIES + 1) * size_of::<clearway_promql::eval::Row>() + 1024;
/// The same of a question about objects.
const QUESTION_COPIES: usize = 8;
/// What the answer of objects to one question may take: it names some of them.
const OBJECT_ANSWER: usize = 8 << 10;
/// What all answers may take above that, where some are about bundles and name all their CRDs.
const BUNDLE_ANSWERS: usize = 256 << 10;
/// What a rule takes in a proof for each byte of its parameters: these, and the command.
const PROOF_COPIES: usize = 5;
/// What a rule adds to the text of each recommendation, and to a proof: the address, and why there is no answer.
const PROOF_TEXT: usize = 512;

/// What the rules of a plan may still take. Half of it is divided among all rules, so that what one takes is not missing
/// for another; larger rules take from the other half.
#[derive(Debug)]
pub(crate) struct RuleMemory {
    share: usize,
    pool: usize,
    /// The same for [`RULE_PATTERNS`].
    pattern_share: usize,
    pattern_pool: usize,
}

impl RuleMemory {
    /// For the rules of some risks, each of which may be there several times.
    pub(crate) fn for_rules_of<'r>(risks: impl Iterator<Item = &'r Arc<Risk>>) -> Self {
        let mut counted: HashSet<*const Risk> = HashSet::new();
        let distinct = risks.filter(|risk| counted.insert(Arc::as_ptr(risk)));
        let rules = distinct.map(|risk| risk.rules().len()).fold(0, usize::saturating_add);
        let (half, patterns) = (RULE_MEMORY / 2, RULE_PATTERNS / 2);
        RuleMemory {
            share: half.checked_div(rules).unwrap_or(half),
            pool: half,
            pattern_share: patterns.checked_div(rules).unwrap_or(patterns),
            pattern_pool: patterns,
        }
    }

    /// What is there for one rule, and for nothing else. A rule that is read several times has it once.
    pub(crate) fn share(&self) -> RuleShare {
        RuleShare { memory: self.share, patterns: self.pattern_share }
    }

    /// What the regular expressions of a rule may take that has this share.
    pub(crate) fn pattern_work(&self, share: &RuleShare) -> PatternWork {
        PatternWork(Cell::new(share.patterns.saturating_add(self.pattern_pool)))
    }

    /// Takes what they took, also of a rule that is refused.
    pub(crate) fn take_patterns(&mut self, work: &PatternWork, share: &mut RuleShare) {
        let used = share.patterns.saturating_add(self.pattern_pool).saturating_sub(work.left());
        self.pattern_pool = self.pattern_pool.saturating_sub(used.saturating_sub(share.patterns));
        share.patterns = share.patterns.saturating_sub(used);
    }

    /// The entry; an error with one that fails, because there is no memory for its rule.
    pub(crate) fn admit(&mut self, entry: Entry, share: &mut RuleShare) -> Result<Arc<Entry>, Arc<Entry>> {
        let bytes = entry.memory();
        for source in [&mut share.memory, &mut self.pool] {
            if let Some(left) = source.checked_sub(bytes) {
                *source = left;
                return Ok(Arc::new(entry));
            }
        }
        let message = format!("The rules take more than {RULE_MEMORY} bytes of memory (the cap \"rule_memory\").");
        Err(Arc::new(entry.refused(Failure::new(FailureClass::Budget, message))))
    }
}

/// What the answers of objects to the questions of a plan may still take. Each has a share, so that what one takes is not
/// missing for another; what larger ones take above that comes from a pool.
#[derive(Debug)]
pub struct ObjectAnswerMemory<'p> {
    /// By the text of the question.
    shares: BTreeMap<&'p str, usize>,
    pool: usize,
}

impl ObjectAnswerMemory<'_> {
    /// Whether the plan has a question with this text.
    pub fn is_for(&self, question: &str) -> bool {
        self.shares.contains_key(question)
    }

    /// Whether there is room for the answer to a question, which takes so many bytes; then it is taken.
    pub fn take(&mut self, question: &str, bytes: usize) -> bool {
        let Some(share) = self.shares.get_mut(question) else { return false };
        let Some(pool) = self.pool.checked_sub(bytes.saturating_sub(*share)) else { return false };
        (*share, self.pool) = (share.saturating_sub(bytes), pool);
        true
    }
}

/// What is left of a rule's share of the memory, and of what its regular expressions may take.
#[derive(Debug)]
pub(crate) struct RuleShare {
    memory: usize,
    patterns: usize,
}

/// What compiling the regular expressions of one rule may still take of [`RULE_PATTERNS`].
#[derive(Debug)]
pub(crate) struct PatternWork(Cell<usize>);

impl PatternWork {
    /// The bytes that are left.
    pub(crate) fn left(&self) -> usize {
        self.0.get()
    }

    /// Some were used.
    pub(crate) fn take(&self, bytes: usize) {
        self.0.set(self.left().saturating_sub(bytes));
    }

    /// That there were not enough.
    pub(crate) fn exceeded() -> Failure {
        let message = format!(
            "Compiling the regular expressions of the rules takes more than {RULE_PATTERNS} bytes (the cap \"rule_patterns\")."
        );
        Failure::new(FailureClass::Budget, message)
    }

    /// As much as there is for an expression that stands alone.
    #[cfg(test)]
    pub(crate) fn alone() -> Self {
        PatternWork(Cell::new(RULE_PATTERNS))
    }
}

impl Plan {
    /// Bytes of memory that the plan takes together with what is asked and answered for it and the assessment of one
    /// cluster, however these turn out.
    pub fn memory(&self) -> usize {
        let risks = self.risks.iter().map(candidate_memory).chain([self.rules_memory()]);
        let targets = self.targets.iter().map(target_memory);
        let (wanted, unwanted) = (self.queries_memory(), self.unwanted_queries_memory());
        let objects = self.object_questions_memory();
        sum([sum(risks), sum(targets), wanted, unwanted, objects, self.message_bytes()].into_iter())
    }

    /// Bytes of memory for the queries, also where they are asked about one cluster of several
    /// ([`Plan::questions_for`]).
    fn queries_memory(&self) -> usize {
        let memory = |question: &Question| {
            let ids = question.text().matches(PLACEHOLDER).count().saturating_mul(STORE_ID);
            query_memory(question.text()).saturating_add(ids.saturating_mul(QUERY_COPIES))
        };
        sum(self.questions().into_iter().map(memory))
    }

    /// The part of [`Plan::memory`] for queries of earlier plans, which
    /// [`Rounds`](crate::rounds::Rounds) keeps while they rest.
    pub fn unwanted_queries_memory(&self) -> usize {
        unwanted_limit(self.queries_memory())
    }

    /// Bytes of memory that the rules take, each counted once however many risks have it.
    fn rules_memory(&self) -> usize {
        let mut counted: HashSet<*const Entry> = HashSet::new();
        let entries = self.risks.iter().flat_map(|candidate| &candidate.entries);
        sum(entries.filter(|entry| counted.insert(Arc::as_ptr(entry))).map(|entry| entry.memory()))
    }

    /// Bytes of the texts of all recommendations, at most.
    pub fn message_bytes(&self) -> usize {
        let message = |place: &usize| self.risks.get(*place).map_or(0, message_bytes);
        sum(self.targets.iter().flat_map(|target| target.risks.iter().flatten()).map(message))
    }

    /// Bytes of memory that the answers of objects may take, with the texts of the questions.
    pub fn object_answers_memory(&self) -> usize {
        let memory = self.object_answer_memory();
        let answers = memory.shares.iter().map(|(question, share)| question.len().saturating_add(*share));
        sum(answers).saturating_add(memory.pool)
    }

    /// What each answer of objects may take.
    pub fn object_answer_memory(&self) -> ObjectAnswerMemory<'_> {
        let questions = || self.object_questions().into_iter().chain(self.release_questions());
        let pool = if questions().any(|(question, _)| question.is_about_bundle()) { BUNDLE_ANSWERS } else { 0 };
        let shares = questions().map(|(question, _)| (question.text(), OBJECT_ANSWER)).collect();
        ObjectAnswerMemory { shares, pool }
    }

    fn object_questions_memory(&self) -> usize {
        let texts = self.object_questions().into_iter().chain(self.release_questions());
        let texts = texts.map(|(question, _)| ObjectQuestion::text(question).len().saturating_mul(QUESTION_COPIES));
        sum(texts).saturating_add(self.object_answers_memory())
    }
}

/// A risk and its proof, without the rules.
fn candidate_memory(candidate: &Candidate) -> usize {
    let json = candidate.risk.json();
    // The risk has its JSON besides what was read of it, the key has it again, and the proof has its texts.
    let risk = JsonSize::of_text(json.as_bytes()).memory.saturating_add(json.len().saturating_mul(3));
    let proof = |entry: &Arc<Entry>| {
        let texts = entry.parameters().len().saturating_mul(PROOF_COPIES).saturating_add(PROOF_TEXT * 2);
        texts.saturating_add(size_of::<RuleProof>()).saturating_add(size_of::<Arc<Entry>>())
    };
    let proofs = sum(candidate.entries.iter().map(proof));
    sum([risk, proofs, size_of::<Candidate>(), size_of::<Risk>()].into_iter())
}

/// An update in a plan and in an assessment, without the texts of its recommendation.
fn target_memory(target: &Target) -> usize {
    let places = target.risks.as_ref().map_or(0, Vec::len).saturating_mul(size_of::<usize>() * 3);
    let texts = target.release.payload.len().saturating_mul(2);
    sum([places, texts, size_of::<crate::Update>(), size_of::<Target>(), PROOF_TEXT].into_iter())
}

/// What a risk adds to the text of a recommendation, at most.
fn message_bytes(candidate: &Candidate) -> usize {
    let why = |entry: &Arc<Entry>| match &entry.reading {
        Reading::Failed { failure, .. } => failure.message.len(),
        Reading::Check(_) | Reading::NotRecognised { .. } => PROOF_TEXT,
    };
    let risk = &candidate.risk;
    let texts = [risk.name().len().saturating_mul(2), risk.url().len(), risk.message().len(), PROOF_TEXT];
    sum(texts.into_iter().chain(candidate.entries.iter().map(why)))
}

/// A query with what is answered to it, while it is asked again and again.
pub(crate) fn query_memory(text: &str) -> usize {
    text.len().saturating_mul(QUERY_COPIES).saturating_add(QUERY_ANSWERS)
}

/// A query of which nothing is kept but what its asking needs.
pub(crate) fn asked_query_memory(text: &str) -> usize {
    text.len().saturating_mul(ASKED_COPIES)
}

/// What queries that no risk needs any more may take, beside those that are wanted.
pub(crate) fn unwanted_limit(wanted: usize) -> usize {
    wanted.max(LEAST_UNWANTED)
}

fn sum(bytes: impl Iterator<Item = usize>) -> usize {
    bytes.fold(0, usize::saturating_add)
}
