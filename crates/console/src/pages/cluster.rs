//! A cluster, or a component of one: what is recommended to it, and the proof of each recommendation.

use std::sync::Arc;

use askama::Template;
use clearway_advice::{Assessment, Outcome, RiskProof, RuleProof, Statement, Status, Update, Verdict};
use clearway_core::{Address, Timestamp, Version, humanize};
use serde_json::Value;

use super::change::{AcceptForm, FormOptions, RequestState, StartForm};
use super::{Page, PageError, TextLink, page};
use crate::address::Route;
use crate::foreign_text::{self, ForeignAddress};
use crate::frame::{Frame, Parts};

/// What is known about a cluster, or a component of one.
#[derive(Debug, Clone)]
pub struct ClusterState {
    /// The kind of the object that describes it, such as `ClusterVersion`.
    pub kind: String,
    /// The name of the object.
    pub name: String,
    /// The object as it was stored last.
    pub object: Arc<Value>,
    /// When the update service answered last.
    pub retrieved_at: Option<Timestamp>,
    /// The last assessment.
    pub assessment: Option<Arc<Assessment>>,
    /// What the object says about requests.
    pub requests: RequestState,
}

impl ClusterState {
    fn text(&self, pointer: &str) -> String {
        self.object.pointer(pointer).and_then(Value::as_str).map_or(String::new(), foreign_text::line)
    }
}

/// A cluster on the first page.
pub(crate) struct ClusterCard {
    pub(crate) title: String,
    pub(crate) version: String,
    pub(crate) channel: String,
    pub(crate) upstream: String,
    pub(crate) graph_age: String,
    pub(crate) evidence_age: String,
    pub(crate) recommended: usize,
    pub(crate) known_issues: usize,
    pub(crate) unknown: usize,
    pub(crate) is_assessed: bool,
    pub(crate) updates: Vec<UpdateRow>,
    pub(crate) conditions: Vec<ConditionRow>,
}

/// An update of a cluster in the list.
pub(crate) struct UpdateRow {
    pub(crate) version: TextLink,
    pub(crate) class: &'static str,
    pub(crate) word: &'static str,
    pub(crate) reason: String,
    pub(crate) message: String,
}

/// A condition of the object.
pub(crate) struct ConditionRow {
    pub(crate) kind: String,
    pub(crate) status: String,
    pub(crate) reason: String,
    pub(crate) message: String,
    pub(crate) since: String,
}

/// A cluster as it stands on the first page.
pub(crate) fn card(cluster: &ClusterState, now: Timestamp) -> ClusterCard {
    let updates = cluster.assessment.as_ref().map_or(&[][..], |assessment| &assessment.updates);
    let count = |status: Status| updates.iter().filter(|update| update.recommended.status == status).count();
    let evidence = updates.iter().filter_map(Update::evidence_age).max();
    let assessed = cluster.assessment.as_ref().map(|assessment| now.since(assessment.time));
    // Evidence was that old when it was assessed, and has grown older since.
    let evidence = evidence.and_then(|age| Some(age + assessed?));
    let version = cluster.assessment.as_ref().map(|assessment| assessment.cluster.version.to_string());
    ClusterCard {
        title: title(cluster),
        version: version.unwrap_or_else(|| cluster.text("/status/desired/version")),
        channel: cluster.text("/spec/channel"),
        // It may have a password or a token in it, and whoever sees the page need not be who may read the object.
        upstream: Address::from(cluster.text("/spec/upstream").as_str()).to_string(),
        graph_age: cluster.retrieved_at.map_or(String::new(), |time| humanize(now.since(time))),
        evidence_age: evidence.map_or(String::new(), humanize),
        recommended: count(Status::True),
        known_issues: count(Status::False),
        unknown: count(Status::Unknown),
        is_assessed: cluster.assessment.is_some(),
        updates: updates.iter().map(|update| update_row(cluster, update)).collect(),
        conditions: conditions(&cluster.object),
    }
}

pub(super) fn title(cluster: &ClusterState) -> String {
    format!("{} {}", foreign_text::line(&cluster.kind), foreign_text::line(&cluster.name))
}

fn update_row(cluster: &ClusterState, update: &Update) -> UpdateRow {
    let (class, word) = recommendation(&update.recommended);
    let route = Route::ClusterUpdate {
        kind: cluster.kind.clone(),
        name: cluster.name.clone(),
        version: update.version.clone(),
    };
    UpdateRow {
        version: TextLink { text: update.version.to_string(), link: route.link() },
        class,
        word,
        reason: foreign_text::line(&update.recommended.reason),
        message: foreign_text::line(&update.recommended.message),
    }
}

fn recommendation(statement: &Statement) -> (&'static str, &'static str) {
    match statement.status {
        Status::True => ("good", "Recommended"),
        Status::False => ("bad", "Known issue"),
        Status::Unknown => ("unknown", "Unknown"),
    }
}

fn conditions(object: &Value) -> Vec<ConditionRow> {
    let list = object.pointer("/status/conditions").and_then(Value::as_array);
    let row = |condition: &Value| {
        let text = |key: &str| condition.get(key).and_then(Value::as_str).map_or(String::new(), foreign_text::line);
        ConditionRow {
            kind: text("type"),
            status: text("status"),
            reason: text("reason"),
            message: text("message"),
            since: text("lastTransitionTime"),
        }
    };
    list.into_iter().flatten().map(row).collect()
}

#[derive(Template)]
#[template(path = "cluster_update.html")]
struct ClusterUpdatePage {
    frame: Frame,
    title: String,
    from: String,
    to: String,
    payload: String,
    class: &'static str,
    word: &'static str,
    reason: String,
    message: String,
    /// Whether it is recommended because risks were accepted.
    is_accepted: bool,
    assessed: String,
    graph_revision: String,
    risks: Vec<RiskProofText>,
    /// None if the console cannot change anything.
    start: Option<StartForm>,
    command: String,
}

/// A risk and its proof, as text.
struct RiskProofText {
    name: String,
    message: String,
    url: ForeignAddress,
    class: &'static str,
    word: &'static str,
    /// That it was accepted, until when and why; empty if it was not.
    accepted: String,
    form: Option<AcceptForm>,
    rules: Vec<RuleProofText>,
}

/// A rule and its result, as text.
struct RuleProofText {
    kind: String,
    parameters: String,
    class: &'static str,
    word: &'static str,
    decided: bool,
    value: String,
    observed: String,
    source: String,
    reproduce: String,
    why: String,
    missing: String,
    due: String,
    warnings: Vec<String>,
}

/// The page of an update of a cluster, with its proof, and with forms if the console can change something.
pub fn render_update(
    clusters: &[ClusterState],
    (kind, name): (&str, &str),
    version: &Version,
    now: Timestamp,
    parts: Parts,
    forms: Option<FormOptions>,
) -> Result<Page, PageError> {
    let shown = || format!("{} {}", foreign_text::line(kind), foreign_text::line(name));
    let cluster = clusters
        .iter()
        .find(|cluster| cluster.kind == kind && cluster.name == name)
        .ok_or_else(|| PageError::NotFound(format!("There is no {}.", shown())))?;
    let assessment = cluster
        .assessment
        .as_ref()
        .ok_or_else(|| PageError::NotReady(format!("{} has not been assessed yet.", shown())))?;
    let update = assessment.updates.iter().find(|update| update.version == *version).ok_or_else(|| {
        PageError::NotFound(format!(
            "{version} is not an update of {}, which runs {}.",
            shown(),
            assessment.cluster.version
        ))
    })?;
    let (class, word) = recommendation(&update.recommended);
    let risk_text = |place: usize, risk: &RiskProof| RiskProofText {
        accepted: cluster.requests.accepted_text(&risk.name),
        form: forms.and_then(|options| AcceptForm::new(cluster, update, place, options)),
        ..risk_proof(risk)
    };
    page(&ClusterUpdatePage {
        frame: Frame::new(format!("Update to {version}"), parts, &Route::Overview),
        title: title(cluster),
        from: assessment.cluster.version.to_string(),
        to: update.version.to_string(),
        payload: foreign_text::line(&update.payload),
        class,
        word,
        reason: foreign_text::line(&update.recommended.reason),
        message: foreign_text::lines(&update.recommended.message),
        is_accepted: update.recommended.status != Status::True
            && cluster.requests.recommended.contains(&update.version.to_string()),
        assessed: format!("{} ago", humanize(now.since(assessment.time))),
        graph_revision: assessment.graph_revision.as_deref().map_or(String::new(), foreign_text::line),
        risks: update.risks.iter().enumerate().map(|(place, risk)| risk_text(place, risk)).collect(),
        start: forms.map(|options| StartForm::new(cluster, update, options)),
        command: format!("clearway upgrade --to {}", update.version),
    })
}

pub(super) fn verdict(verdict: Verdict) -> (&'static str, &'static str) {
    match verdict {
        Verdict::Match => ("bad", "Applies to this cluster"),
        Verdict::NoMatch => ("good", "Does not apply to this cluster"),
        Verdict::Unknown => ("unknown", "Unknown"),
        Verdict::Pending => ("unknown", "Not evaluated yet"),
    }
}

fn risk_proof(risk: &RiskProof) -> RiskProofText {
    let (class, word) = verdict(risk.verdict);
    let rules = risk.rules.iter().enumerate();
    RiskProofText {
        name: foreign_text::line(&risk.name),
        message: foreign_text::lines(&risk.message),
        url: ForeignAddress::new(&risk.url),
        class,
        word,
        accepted: String::new(),
        form: None,
        rules: rules.map(|(place, rule)| rule_proof(rule, risk.decided_by == Some(place))).collect(),
    }
}

fn rule_proof(rule: &RuleProof, decided: bool) -> RuleProofText {
    let (class, word) = match rule.outcome {
        Outcome::Match => ("bad", "Match"),
        Outcome::NoMatch => ("good", "No match"),
        Outcome::Failed => ("unknown", "Could not be evaluated"),
        Outcome::Pending => ("unknown", "Not evaluated yet"),
        Outcome::NotRecognised => ("unknown", "Type not supported"),
        Outcome::NotReached => ("unknown", "Not needed: a rule before it decided"),
    };
    let text = |text: &Option<String>| text.as_deref().map_or(String::new(), foreign_text::lines);
    let age = rule.age_seconds.map(|seconds| humanize(std::time::Duration::from_secs(seconds)));
    RuleProofText {
        kind: foreign_text::line(&rule.kind),
        parameters: foreign_text::lines(&rule.parameters),
        class,
        word,
        decided,
        value: text(&rule.value),
        observed: match (rule.observed_at, age) {
            (Some(time), Some(age)) => format!("{time}, {age} before the assessment"),
            (Some(time), None) => time.to_string(),
            _ => String::new(),
        },
        source: text(&rule.source),
        reproduce: text(&rule.reproduce),
        why: text(&rule.why),
        missing: text(&rule.missing),
        due: rule.due.map_or(String::new(), |time| time.to_string()),
        warnings: rule.warnings.iter().map(|warning| foreign_text::line(warning)).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn credentials_of_the_update_service_are_not_shown() {
        let upstream = "https://ann:hunter2@updates.example.com/graph?token=hunter2";
        let cluster = ClusterState {
            kind: "ClusterVersion".to_owned(),
            name: "version".to_owned(),
            object: Arc::new(json!({"spec": {"upstream": upstream}})),
            retrieved_at: None,
            assessment: None,
            requests: RequestState::default(),
        };
        let card = card(&cluster, Timestamp::EPOCH);
        assert!(
            card.upstream.contains("updates.example.com") && !card.upstream.contains("hunter2"),
            "{}",
            card.upstream
        );
    }
}
