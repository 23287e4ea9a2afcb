//! Gatekeeper's policies: templates and constraints are read, matched and evaluated as Gatekeeper does it, and its test
//! suites run unchanged (P1, P2).
//!
//! - [`Template`] is a `ConstraintTemplate` of any version: the kind of its constraints, their schema, and its code in
//!   Rego or CEL. [`ConstraintDefinition`] is what it says about its constraints, with their CRD; reading it compiles
//!   nothing.
//! - [`Constraint`] is an instance of a template: what it matches ([`Match`]), its parameters with defaults, and what
//!   happens to violations ([`EnforcementAction`], P3).
//! - [`PolicySet`] holds compiled templates and their constraints. It is immutable while it is evaluated;
//!   [`Evaluator`] holds what one thread needs to evaluate it. [`PolicySet::review`] looks only at constraints that may
//!   match the kind of the object.
//! - [`Review`] is what Rego sees as `input.review`, from an object or from an `AdmissionReview`; [`Inventory`] is
//!   `data.inventory`.
//! - [`Suite`] is a test suite of `gator`, [`Expander`] makes the objects that `ExpansionTemplate`s imply, and
//!   [`lint`] reports what loading alone does not refuse.
//! - [`audit`] collects what existing objects violate, and makes the status of constraints of it (P6).
//!   [`ExcludedNamespaces`] and [`synced_kinds`] are what Gatekeeper's `Config` says.
//!
//! Templates come from strangers. [`rego`] says what it refuses when a template is loaded, and how evaluations are
//! bounded, and what the process around it has to bound.

#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, clippy::string_slice)
)]

pub mod audit;
mod cel_code;
mod config;
mod constraint;
mod constraint_crd;
mod constraint_definition;
mod documents;
mod enforcement;
mod expansion;
mod explain;
mod inventory;
pub mod lint;
mod matching;
mod policy_set;
pub mod rego;
mod review;
mod selector;
mod suite;
mod template;

pub use cel_code::{CelCode, CelCodeError, FailurePolicy};
pub use config::{ExcludedNamespaces, Process, is_config, is_sync_set, synced_kinds};
pub use constraint::{Constraint, ConstraintError};
pub use constraint_definition::ConstraintDefinition;
pub use documents::{DocumentError, read_document, read_documents};
pub use enforcement::{EnforcementAction, EnforcementPoint, ScopedAction, enforced_at};
pub use expansion::{ExpandedObject, Expander, ExpansionError};
pub use explain::{ConstraintExplanation, MatchCheck, Outcome};
pub use inventory::{Inventory, InventoryError};
pub use matching::{Glob, Match, MatchError, MatchFailure, Source};
pub use policy_set::{Evaluator, Observer, PolicySet, PolicySetError, ReviewResult, Reviewer, sort_results};
pub use review::{ObjectKind, Review, ReviewError};
pub use selector::{LabelSelector, SelectorError};
pub use suite::run;
pub use suite::{Assertion, Case, Filter, FilterError, Suite, SuiteError, SuiteTest, WantedViolations};
pub use template::{Code, Template, TemplateError, TemplateVersion};
