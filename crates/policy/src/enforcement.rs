//! What happens to violations, and where (P3, P4).

use serde_json::Value;

/// What happens to violations of a constraint. The value is open: a value that is not known is kept, and ignored by
/// whoever enforces it (P3).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum EnforcementAction {
    /// The request is denied.
    Deny,
    /// The request is admitted with a warning.
    Warn,
    /// Violations are recorded.
    Dryrun,
    /// Each enforcement point has its own actions.
    Scoped,
    /// A value that is not known.
    Unknown(String),
}

impl EnforcementAction {
    /// Reads a value. Letters count: `Deny` is not known.
    pub fn of(text: &str) -> Self {
        match text {
            "deny" => EnforcementAction::Deny,
            "warn" => EnforcementAction::Warn,
            "dryrun" => EnforcementAction::Dryrun,
            "scoped" => EnforcementAction::Scoped,
            other => EnforcementAction::Unknown(other.to_owned()),
        }
    }

    /// As it is written in constraints.
    pub fn as_str(&self) -> &str {
        match self {
            EnforcementAction::Deny => "deny",
            EnforcementAction::Warn => "warn",
            EnforcementAction::Dryrun => "dryrun",
            EnforcementAction::Scoped => "scoped",
            EnforcementAction::Unknown(text) => text,
        }
    }

    /// Whether violations have an effect somewhere.
    pub fn is_known(&self) -> bool {
        !matches!(self, EnforcementAction::Unknown(_))
    }
}

/// Where policies are enforced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum EnforcementPoint {
    /// The admission webhook.
    Webhook,
    /// The audit of objects that exist.
    Audit,
    /// Commands that evaluate files.
    Gator,
    /// Policies of the API server.
    AdmissionPolicy,
}

impl EnforcementPoint {
    /// As it is written in constraints.
    pub fn name(self) -> &'static str {
        match self {
            EnforcementPoint::Webhook => "validation.gatekeeper.sh",
            EnforcementPoint::Audit => "audit.gatekeeper.sh",
            EnforcementPoint::Gator => "gator.gatekeeper.sh",
            EnforcementPoint::AdmissionPolicy => "vap.k8s.io",
        }
    }

    /// Whether some text names a point, or all of them.
    pub fn is_known(name: &str) -> bool {
        let points = [Self::Webhook, Self::Audit, Self::Gator, Self::AdmissionPolicy];
        name == "*" || points.iter().any(|point| point.name() == name)
    }
}

/// An action at some enforcement points.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScopedAction {
    /// The action.
    pub action: String,
    /// The names of points; `*` stands for all.
    pub points: Vec<String>,
}

impl ScopedAction {
    /// Reads `spec.scopedEnforcementActions`, whose form the schema has checked.
    pub(crate) fn read_list(value: &Value) -> Vec<ScopedAction> {
        let text = |value: &Value, name: &str| value.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        let points = |value: &Value| {
            let points = value.get("enforcementPoints").and_then(Value::as_array);
            points.into_iter().flatten().map(|point| text(point, "name")).collect()
        };
        let entries = value.as_array().into_iter().flatten();
        entries.map(|entry| ScopedAction { action: text(entry, "action"), points: points(entry) }).collect()
    }

    /// Whether it applies at a point.
    pub fn applies_at(&self, point: EnforcementPoint) -> bool {
        self.points.iter().any(|name| name == "*" || name == point.name())
    }
}

/// Whether a constraint is evaluated at a point where unknown actions are not enforced: its action is known, and is one for
/// the point. The form of the constraint need not have been checked.
pub fn enforced_at(constraint: &Value, point: EnforcementPoint) -> bool {
    let spec = constraint.get("spec");
    let field = |name: &str| spec.and_then(|spec| spec.get(name));
    let action = match field("enforcementAction").and_then(Value::as_str) {
        None | Some("") => EnforcementAction::Deny,
        Some(text) => EnforcementAction::of(text),
    };
    match action {
        EnforcementAction::Unknown(_) => false,
        EnforcementAction::Scoped => {
            let scoped = field("scopedEnforcementActions").map(ScopedAction::read_list).unwrap_or_default();
            scoped.iter().any(|entry| entry.applies_at(point))
        }
        EnforcementAction::Deny | EnforcementAction::Warn | EnforcementAction::Dryrun => true,
    }
}

/// What Gatekeeper refuses about the actions of a constraint; nothing if it accepts them.
pub(crate) fn refusal(action: &EnforcementAction, scoped: &[ScopedAction]) -> Option<String> {
    let unknown = |action: &str| {
        format!("unrecognized enforcementAction: {action:?} is not within the supported list [deny dryrun warn scoped]")
    };
    match action {
        EnforcementAction::Unknown(text) => Some(unknown(text)),
        EnforcementAction::Scoped => {
            let mut points: Vec<&str> = Vec::new();
            for entry in scoped {
                let listed = entry.points.iter().map(String::as_str).filter(|point| !EnforcementPoint::is_known(point));
                points.extend(listed);
                if entry.points.is_empty() {
                    points.push("");
                }
                if !EnforcementAction::of(&entry.action).is_known() {
                    return Some(unknown(&entry.action));
                }
            }
            (!points.is_empty()).then(|| {
                format!(
                    "unrecognized enforcement points: constraint will not be enforced for enforcement points [{}]",
                    points.join(" ")
                )
            })
        }
        _ => None,
    }
}
