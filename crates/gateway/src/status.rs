//! The status that an object should have, with the causes of what is wrong.
//!
//! Times are no part of it: they are decided when a status is published.

use std::borrow::Cow;
use std::fmt::{self, Write as _};

use clearway_conditions::Status;

use crate::model::{Address, Name, ObjectKey, ParentRef, RouteKind};
use crate::words::{ConditionType, Reason};

/// A condition that an object should have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Condition {
    /// Its type.
    pub kind: ConditionType,
    /// Its status.
    pub status: Status,
    /// Its reason.
    pub reason: Reason,
    /// Its message.
    pub message: Cow<'static, str>,
    /// Why it is not as it should be; empty for a healthy one.
    pub causes: Vec<Cause>,
}

/// Why something is not as it should be: a chain of objects, and what is wrong with the last one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cause {
    /// From the object of the condition (which is not repeated) to the one that is at fault.
    pub path: Vec<String>,
    /// What is wrong there.
    pub problem: String,
}

/// The status of a listener.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListenerStatus {
    /// Its name.
    pub name: Name,
    /// Kinds of routes that may attach.
    pub supported_kinds: Vec<RouteKind>,
    /// How many routes are attached.
    pub attached_routes: u32,
    /// Its conditions.
    pub conditions: Vec<Condition>,
}

/// What a route is at one of its parents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParentStatus {
    /// The parent as the route names it.
    pub parent: ParentRef,
    /// The controller of the parent.
    pub controller: Name,
    /// Its conditions.
    pub conditions: Vec<Condition>,
}

/// What a policy is at one Gateway.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AncestorStatus {
    /// The Gateway.
    pub gateway: ObjectKey,
    /// Its controller.
    pub controller: Name,
    /// Its conditions.
    pub conditions: Vec<Condition>,
}

/// The status of an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ObjectStatus {
    /// Of a GatewayClass.
    GatewayClass {
        /// Its conditions.
        conditions: Vec<Condition>,
    },
    /// Of a Gateway.
    Gateway {
        /// Addresses that it has.
        addresses: Vec<Address>,
        /// Its conditions.
        conditions: Vec<Condition>,
        /// Its listeners.
        listeners: Vec<ListenerStatus>,
        /// How many ListenerSets are attached.
        attached_listener_sets: usize,
    },
    /// Of a ListenerSet.
    ListenerSet {
        /// Its conditions.
        conditions: Vec<Condition>,
        /// Its listeners.
        listeners: Vec<ListenerStatus>,
    },
    /// Of a route.
    Route {
        /// One entry for each parent that is ours.
        parents: Vec<ParentStatus>,
    },
    /// Of a BackendTLSPolicy.
    Policy {
        /// One entry for each Gateway that uses it.
        ancestors: Vec<AncestorStatus>,
    },
}

impl Condition {
    /// A condition that is as it should be.
    pub(crate) fn good(kind: ConditionType) -> Self {
        let (reason, message) = match kind {
            ConditionType::Accepted => (Reason::Accepted, "The configuration is valid"),
            ConditionType::ResolvedRefs => (Reason::ResolvedRefs, "All references are resolved"),
            ConditionType::Programmed => (Reason::Programmed, "The configuration was sent to the data plane"),
            ConditionType::Ready => (Reason::Ready, "Traffic flows"),
            _ => (Reason::SupportedVersion, "The version of the CRDs is supported"),
        };
        Condition { kind, status: Status::True, reason, message: Cow::Borrowed(message), causes: Vec::new() }
    }

    /// A condition that is not as it should be, for these causes.
    pub(crate) fn bad(kind: ConditionType, reason: Reason, causes: Vec<Cause>) -> Self {
        Condition { kind, status: Status::False, reason, message: Cow::Owned(message(&causes)), causes }
    }

    /// The same condition with another status.
    #[must_use]
    pub(crate) fn with_status(self, status: Status) -> Self {
        Condition { status, ..self }
    }

    /// A condition that is not known yet.
    pub(crate) fn pending(kind: ConditionType, why: impl Into<Cow<'static, str>>) -> Self {
        let message = why.into();
        Condition { kind, status: Status::Unknown, reason: Reason::Pending, message, causes: Vec::new() }
    }

    /// Whether it says that all is well: True, or True of a condition that reports trouble never.
    pub fn is_healthy(&self) -> bool {
        match self.kind {
            ConditionType::Conflicted
            | ConditionType::OverlappingTlsConfig
            | ConditionType::InsecureFrontendValidationMode
            | ConditionType::PartiallyInvalid => self.status == Status::False,
            _ => self.status == Status::True,
        }
    }
}

impl Cause {
    /// What is wrong with the object of the condition itself.
    pub(crate) fn own(problem: impl Into<String>) -> Self {
        Cause { path: Vec::new(), problem: problem.into() }
    }

    /// What is wrong with something that the object of the condition leads to.
    pub(crate) fn at(what: impl fmt::Display, problem: impl Into<String>) -> Self {
        Cause { path: vec![what.to_string()], problem: problem.into() }
    }

    /// The same cause, reached through something else first.
    #[must_use]
    pub(crate) fn through(mut self, what: impl fmt::Display) -> Self {
        self.path.insert(0, what.to_string());
        self
    }
}

impl fmt::Display for Cause {
    /// `Service c/d: no ReferenceGrant in c allows HTTPRoute from a`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.path.is_empty() {
            return f.write_str(&self.problem);
        }
        write!(f, "{}: {}", self.path.join(" → "), self.problem)
    }
}

/// Causes that a message repeats; the others are counted.
const SHOWN: usize = 3;

fn message(causes: &[Cause]) -> String {
    let shown: Vec<String> = causes.iter().take(SHOWN).map(ToString::to_string).collect();
    let more = causes.len().saturating_sub(SHOWN);
    let shown = shown.join("; ");
    if more > 0 { format!("{shown}; and {more} more") } else { shown }
}

impl ObjectStatus {
    /// Every list of conditions, with what it is about; empty for the object itself.
    pub fn condition_lists(&self) -> Vec<(String, &[Condition])> {
        let of_listeners = |listeners: &'_ [ListenerStatus]| -> Vec<(String, usize)> {
            listeners.iter().enumerate().map(|(index, one)| (format!("listener {}", one.name), index)).collect()
        };
        match self {
            ObjectStatus::GatewayClass { conditions } => vec![(String::new(), conditions)],
            ObjectStatus::Gateway { conditions, listeners, .. }
            | ObjectStatus::ListenerSet { conditions, listeners } => {
                let mut lists = vec![(String::new(), conditions.as_slice())];
                for (about, index) in of_listeners(listeners) {
                    lists.extend(listeners.get(index).map(|one| (about, one.conditions.as_slice())));
                }
                lists
            }
            ObjectStatus::Route { parents } => {
                parents.iter().map(|one| (parent_words(&one.parent), one.conditions.as_slice())).collect()
            }
            ObjectStatus::Policy { ancestors } => {
                ancestors.iter().map(|one| (one.gateway.to_string(), one.conditions.as_slice())).collect()
            }
        }
    }

    /// Whether a condition `Accepted` anywhere in it is not True.
    pub fn is_rejected(&self) -> bool {
        let lists = self.condition_lists();
        let mut conditions = lists.iter().flat_map(|(_, list)| list.iter());
        conditions.any(|condition| condition.kind == ConditionType::Accepted && condition.status != Status::True)
    }
}

/// A parent in words: `Gateway infra/public, section https`.
pub fn parent_words(parent: &ParentRef) -> String {
    let mut words = parent.target.to_string();
    if let Some(section) = &parent.section {
        words.push_str(", section ");
        words.push_str(section);
    }
    if let Some(port) = parent.port {
        let _ = write!(words, ", port {port}");
    }
    words
}
