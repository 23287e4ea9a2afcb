//! Evaluates policies in child processes.
//!
//! Templates come from strangers, and the engine can neither be stopped within a step nor bound its memory. So they are
//! compiled and evaluated only in children ([`Evaluators`]): the same program with a hidden command, a limit on its
//! memory, a large stack, and a time limit for each review. A child that ends or hangs is replaced, and what was loaded
//! is loaded again. The template that it was evaluating counts as failed for that review: each of its constraints that
//! match has one violation that says so, as Gatekeeper reports errors of evaluations. After [`MAX_ENDS`] such ends the
//! template is set aside until it is changed: it fails without being evaluated.
//!
//! A review is evaluated by one child from its beginning to its end, so it sees one version of every template, and a
//! change that was applied before the review began is part of it.

mod child;
mod load_error;
mod loaded_state;
mod pool;
mod process;
mod protocol;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clearway_core::GroupVersionKind;
use serde_json::Value;

pub use child::{ALLOCATOR_ENVIRONMENT, limit_cpu_time, limit_memory, run as run_child};
pub use load_error::LoadError;
pub use pool::Evaluators;

/// How often the evaluation of a template may end a child before the template is set aside.
pub const MAX_ENDS: u32 = 3;
/// The most bytes of one message between the operator and a child: two objects of the size that the API server accepts,
/// with room for a namespace and for escapes.
pub const MAX_MESSAGE_BYTES: u32 = 32 << 20;
/// The most bytes of the results of one review. What denies comes first, and what does not fit is left out.
pub const MAX_RESULT_BYTES: usize = 1 << 20;

/// How children are started, and what they may use.
#[derive(Debug, Clone)]
pub struct EvaluatorSettings {
    /// The program with the hidden command: the running one.
    pub program: PathBuf,
    /// The arguments of the hidden command.
    pub arguments: Vec<String>,
    /// How many children there are; reviews beyond that wait.
    pub processes: usize,
    /// The memory that templates and inventory may use in each child, in bytes. The program itself and its stack come on
    /// top.
    pub memory: u64,
    /// How long the evaluation of one object may take, and how long a template may take to compile.
    pub time_limit: Duration,
    /// Steps that one evaluation of a template in Rego may take.
    pub steps: u64,
    /// Whether constraints with unknown enforcement actions are refused (P3).
    pub reject_unknown_actions: bool,
}

/// The number of children, where nothing else is wanted: one for each core, at least two so that a template that hangs
/// does not stop the others, and at most four because each holds the inventory.
pub fn default_processes() -> usize {
    std::thread::available_parallelism().map_or(2, usize::from).clamp(2, 4)
}

/// A change of what is loaded. Objects are whole Kubernetes objects.
#[derive(Debug, Clone)]
pub enum Change {
    /// Adds or replaces a `ConstraintTemplate`.
    PutTemplate(Arc<Value>),
    /// Removes a template and its constraints.
    RemoveTemplate {
        /// Its name.
        name: String,
    },
    /// Adds or replaces a constraint, whose template must be loaded.
    PutConstraint(Arc<Value>),
    /// Removes a constraint.
    RemoveConstraint {
        /// Its kind.
        kind: String,
        /// Its name.
        name: String,
    },
    /// Adds or replaces an `ExpansionTemplate`.
    PutExpansion(Arc<Value>),
    /// Removes an `ExpansionTemplate`.
    RemoveExpansion {
        /// Its name.
        name: String,
    },
    /// Adds or replaces an object of the inventory.
    PutInventory(Arc<Value>),
    /// Removes an object from the inventory.
    RemoveInventory {
        /// Its kind.
        kind: GroupVersionKind,
        /// Its namespace; empty if it has none.
        namespace: String,
        /// Its name.
        name: String,
    },
}

/// What became of a change.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LoadResult {
    /// Why the change was refused; what was loaded before stays.
    pub error: Option<LoadError>,
    /// Why a constraint that was loaded is not enforced (P4).
    pub warning: Option<String>,
    /// Constraints, by name, that the new version of their template refuses. They are not loaded any more, and have to be
    /// applied again once they or the template are corrected.
    pub refused_constraints: Vec<(String, LoadError)>,
}

/// An object of an audit, and its namespace if that is known.
#[derive(Debug, Clone)]
pub struct AuditObject {
    /// The object.
    pub object: Arc<Value>,
    /// The namespace it is in.
    pub namespace: Option<Arc<Value>>,
}

/// Why nothing was evaluated.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EvaluatorError {
    /// A child cannot be started.
    #[error("cannot start a process that evaluates policies: {0}")]
    Start(String),
    /// No child was free in time, or the evaluation was not finished in time.
    #[error("the request was not evaluated before its deadline; {0}")]
    Deadline(&'static str),
    /// Something is larger than a message may be.
    #[error("the object is too large to be evaluated: {bytes} bytes, at most {limit} are read")]
    TooLarge {
        /// Its bytes.
        bytes: usize,
        /// The limit.
        limit: usize,
    },
    /// The review cannot be evaluated, for example because `msg` of a violation is not a text.
    #[error("{0}")]
    Review(String),
    /// Children ended again and again, whatever was left out.
    #[error("the processes that evaluate policies ended {0} times during one review")]
    Ends(u32),
}
