//! The violations that the objects of a release would have: what is asked, and the object in which evidence holds the
//! answer.
//!
//! Templates are programs, so nobody evaluates them here. Who can evaluates the constraint in a process of its own and
//! makes an object of the result ([`ReleaseConstraint::to_object`]): counts and names of objects, and nothing else. A
//! snapshot keeps these objects beside those of the cluster, and rules read them in one way wherever they come from.

use clearway_core::{Digest, GroupKind, ObjectName, Version};
use serde_json::{Value, json};

use super::object_answer::short_text;
use super::violation_answer::{ViolationAnswer, first_names};
use super::{Failure, FailureClass, ObjectRequest};

/// The group and kind of the objects that hold results. No cluster serves it.
const GROUP: &str = "clearway.dev";
const KIND: &str = "ReleaseViolations";
/// Objects that a result names.
const NAMED: usize = 20;
/// The longest host with a port that a message repeats.
const LONGEST_HOST: usize = 260;

/// The release that an update leads to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TargetRelease {
    /// Its version.
    pub version: Version,
    /// Its image or artifact.
    pub payload: String,
}

/// A constraint of the cluster that is asked about the objects of a release.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReleaseConstraint {
    /// The kind of the constraint.
    pub kind: String,
    /// Its name.
    pub name: String,
    /// The release.
    pub release: TargetRelease,
}

/// What came of evaluating a constraint over the objects of a release.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReleaseEvaluation {
    /// The cluster has no such constraint.
    Absent,
    /// Admission does not evaluate the constraint: its action is for other points, or unknown.
    NotEnforced,
    /// All objects were evaluated.
    Evaluated {
        /// How many violations there are.
        total: u64,
        /// Kind and name of the objects that violate it; a result names the first of them.
        objects: Vec<(String, ObjectName)>,
    },
    /// It could not be found out.
    Unknown(UnevaluatedReason),
}

/// Why it is unknown whether the objects of a release violate a constraint, in the same fixed words in proofs and
/// snapshots.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnevaluatedReason {
    /// The release cannot be fetched or read.
    ReleaseUnreadable,
    /// The graph names the release by something else than the digest of an image.
    ReleaseWithoutDigest,
    /// The release is in another registry than the one of the release that the cluster runs.
    OtherRegistry,
    /// More releases would have to be fetched than is allowed.
    TooManyReleases,
    /// The identity that reads evidence may not read the policies of the cluster, or what they look at.
    Forbidden,
    /// The API server did not answer.
    Unreachable,
    /// Fetching the release and evaluating its objects took too long.
    TimedOut,
    /// The policies could not be evaluated over all objects of the release.
    NotEvaluated,
    /// Releases are not fetched, or policies are not evaluated, here.
    NotConfigured,
}

impl UnevaluatedReason {
    const ALL: [UnevaluatedReason; 9] = [
        UnevaluatedReason::ReleaseUnreadable,
        UnevaluatedReason::ReleaseWithoutDigest,
        UnevaluatedReason::OtherRegistry,
        UnevaluatedReason::TooManyReleases,
        UnevaluatedReason::Forbidden,
        UnevaluatedReason::Unreachable,
        UnevaluatedReason::TimedOut,
        UnevaluatedReason::NotEvaluated,
        UnevaluatedReason::NotConfigured,
    ];

    /// The words, as the end of a sentence.
    pub const fn as_str(self) -> &'static str {
        match self {
            UnevaluatedReason::ReleaseUnreadable => "the release cannot be read",
            UnevaluatedReason::ReleaseWithoutDigest => "the graph does not name the release by the digest of an image",
            UnevaluatedReason::OtherRegistry => "the release is in another registry than the one that the cluster runs",
            UnevaluatedReason::TooManyReleases => "too many releases would have to be fetched",
            UnevaluatedReason::Forbidden => "permission denied to read policies, namespaces or the inventory",
            UnevaluatedReason::Unreachable => "the API server did not answer",
            UnevaluatedReason::TimedOut => "fetching the release and evaluating its objects took too long",
            UnevaluatedReason::NotEvaluated => {
                "not everything could be evaluated; `clearway policy preview` shows the reason"
            }
            UnevaluatedReason::NotConfigured => "this command does not fetch releases",
        }
    }

    fn class(self) -> FailureClass {
        match self {
            UnevaluatedReason::ReleaseUnreadable | UnevaluatedReason::Unreachable => FailureClass::Unreachable,
            UnevaluatedReason::ReleaseWithoutDigest | UnevaluatedReason::OtherRegistry => FailureClass::Unsupported,
            UnevaluatedReason::TooManyReleases => FailureClass::Budget,
            UnevaluatedReason::Forbidden => FailureClass::Unauthorized,
            UnevaluatedReason::TimedOut => FailureClass::Timeout,
            UnevaluatedReason::NotEvaluated => FailureClass::Evaluation,
            UnevaluatedReason::NotConfigured => FailureClass::NotConfigured,
        }
    }
}

impl ReleaseConstraint {
    /// The kind of the objects that hold results.
    pub fn group_kind() -> GroupKind {
        GroupKind { group: GROUP.to_owned(), kind: KIND.to_owned() }
    }

    /// What tells questions apart.
    pub(crate) fn text(&self) -> String {
        let ReleaseConstraint { kind, name, release: TargetRelease { version, payload } } = self;
        format!("Policy {kind} {name} over the objects of {version} {payload}")
    }

    /// The name of the object that holds the result: a word without a meaning, the same for the same question.
    pub fn object_name(&self) -> String {
        let hex = Digest::sha256(self.text().as_bytes()).hex().to_owned();
        format!("release-violations-{}", hex.chars().take(24).collect::<String>())
    }

    /// The object that holds the result.
    pub(crate) fn request(&self) -> ObjectRequest {
        ObjectRequest { kind: Self::group_kind(), namespace: None, name: Some(self.object_name()) }
    }

    /// A result as an object.
    pub fn to_object(&self, evaluation: &ReleaseEvaluation) -> Value {
        let status = match evaluation {
            ReleaseEvaluation::Absent => json!({"constraintFound": false}),
            ReleaseEvaluation::NotEnforced => json!({"constraintFound": true, "enforced": false}),
            ReleaseEvaluation::Evaluated { total, objects } => {
                let mut objects: Vec<_> = objects.iter().collect();
                objects.sort();
                objects.dedup();
                let named = objects.into_iter().take(NAMED).map(|(kind, ObjectName { namespace, name })| {
                    json!({"kind": short_text(kind), "namespace": short_text(namespace), "name": short_text(name)})
                });
                let violations: Vec<Value> = named.collect();
                json!({
                    "constraintFound": true, "enforced": true, "totalViolations": total, "violations": violations,
                })
            }
            ReleaseEvaluation::Unknown(reason) => json!({"notEvaluated": reason.as_str()}),
        };
        json!({
            "apiVersion": format!("{GROUP}/v1alpha1"), "kind": KIND, "metadata": {"name": self.object_name()},
            "constraint": {"kind": self.kind, "name": self.name},
            "release": {"version": self.release.version.to_string(), "payload": self.release.payload},
            "status": status,
        })
    }

    /// Why an object that holds a result has none, as the end of a sentence; nothing if it has one.
    pub fn unevaluated_reason(&self, object: &Value) -> Option<String> {
        object.pointer("/status/notEvaluated").map(|words| self.explain(known_reason(words)))
    }

    /// What an object says that holds a result: nothing if the cluster has no such constraint.
    pub(crate) fn read(&self, object: &Value) -> Result<Option<ViolationAnswer>, Failure> {
        let status = object.get("status");
        let field = |name: &str| status.and_then(|status| status.get(name));
        let is_true = |name: &str| field(name).and_then(Value::as_bool);
        let answer = |total, objects, is_audited| ViolationAnswer { audited_at: None, total, objects, is_audited };
        if let Some(words) = field("notEvaluated") {
            return Err(self.failure(known_reason(words)));
        }
        match (is_true("constraintFound"), is_true("enforced"), field("totalViolations").and_then(Value::as_u64)) {
            (Some(false), ..) => Ok(None),
            (Some(true), Some(false), _) => Ok(Some(answer(0, Vec::new(), false))),
            (Some(true), Some(true), Some(total)) => {
                Ok(Some(answer(total, status.map(first_names).unwrap_or_default(), true)))
            }
            _ => Err(self.failure(UnevaluatedReason::NotEvaluated)),
        }
    }

    /// The failure of the rule that asks.
    fn failure(&self, reason: UnevaluatedReason) -> Failure {
        let ReleaseConstraint { kind, name, release } = self;
        let message = format!(
            "The violations of {kind} {name} by the objects of {} are unknown: {}.",
            release.version,
            self.explain(reason)
        );
        Failure::new(reason.class(), message)
    }

    /// The words of a reason; those about a registry name it, and how it is allowed.
    fn explain(&self, reason: UnevaluatedReason) -> String {
        let words = reason.as_str();
        match self.release.registry_host().filter(|_| reason == UnevaluatedReason::OtherRegistry) {
            Some(host) => format!("{words}: {host}; commands fetch it with --allow-releases-from {host}"),
            None => words.to_owned(),
        }
    }
}

impl TargetRelease {
    /// The host of the registry in the name of the payload, with its port; nothing if a host cannot be written so.
    fn registry_host(&self) -> Option<String> {
        let name = self.payload.strip_prefix("oci://").unwrap_or(&self.payload);
        let (host, _) = name.split_once('/')?;
        let is_letter = |letter: char| letter.is_ascii_alphanumeric() || ".-:[]".contains(letter);
        ((1..=LONGEST_HOST).contains(&host.len()) && host.chars().all(is_letter)).then(|| host.to_ascii_lowercase())
    }
}

/// The reason that an object names. Other words come from a stranger, and are not repeated.
fn known_reason(words: &Value) -> UnevaluatedReason {
    let known = UnevaluatedReason::ALL.into_iter().find(|reason| *words == reason.as_str());
    known.unwrap_or(UnevaluatedReason::NotEvaluated)
}
