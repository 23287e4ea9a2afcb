//! From an update graph and a cluster's evidence to recommendations that a person can check.
//!
//! [`assess`] is a function of values: a graph, the version a cluster runs, what is known of the cluster
//! ([`Evidence`]), and the time. It gives an [`Assessment`]: every update with a recommendation of True, False or
//! Unknown in the words that clients of update services know (see [`mod@recommend`]), and a proof for each risk: the
//! rules that were tried in order, the value each saw, when and where, the command that shows it again, and what is
//! missing where nothing could be told. [`render`] prints that for people. Who assesses many clusters against one graph
//! makes a [`Plan`] once, and may leave the words out ([`Plan::summarize`]); [`fleet`] sums that up, under one graph or
//! two. Several updates in a row are assessed by [`assess_path`].
//!
//! ```
//! use clearway_advice::{Settings, Status, assess, evidence::Snapshot};
//! use clearway_core::{Limits, Timestamp, Version};
//! use clearway_graph::wire;
//! use clearway_promql::{Millis, read};
//!
//! let answer = br#"{
//!     "nodes": [{"version": "1.0.0", "payload": "a"}, {"version": "1.0.1", "payload": "b"}],
//!     "conditionalEdges": [{"edges": [{"from": "1.0.0", "to": "1.0.1"}], "risks": [{
//!         "name": "SlowProxy", "url": "https://example.com/1", "message": "Updates take long behind a proxy.",
//!         "matchingRules": [{"type": "PromQL", "promql": {"promql": "max(proxy_enabled)"}}]
//!     }]}]
//! }"#;
//! let graph = wire::read(answer, &Limits::default()).graph.ok_or("no graph")?;
//! let taken_at: Timestamp = "2026-05-04T09:00:00Z".parse()?;
//! let time = Millis(taken_at.as_seconds() * 1_000);
//! let series = read::text(b"proxy_enabled 1\n", time, &Default::default())?;
//! let evidence = Snapshot::new(&series, taken_at, "cluster.series");
//!
//! let assessment = assess(&graph, &Version::new(1, 0, 0), &evidence, taken_at, &Settings::default())?;
//! let update = &assessment.updates[0];
//! assert_eq!(update.recommended.status, Status::False);
//! assert_eq!(update.recommended.reason, "SlowProxy");
//! assert_eq!(update.recommended.message, "Updates take long behind a proxy. https://example.com/1");
//! assert_eq!(update.risks[0].rules[0].value.as_deref(), Some("1"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A rule gives one of three outcomes, match, no match or failure, or is still pending. The walk over a risk's rules
//! passes over what is not recognised or fails, and the first that evaluates decides (U2); what is pending ends the
//! walk without a decision, because "not yet" is no failure. The rule types are in the registry of `rules/`:
//!
//! | type | parameters | match | fails |
//! |---|---|---|---|
//! | `Always` | | always | never |
//! | `PromQL` | `promql.promql` | one series with 1; one with 0 is no match | everything else, also a query that the fence refuses |
//! | `Condition` | `condition.{apiVersion, kind, namespace, name, labelSelector, type, status, quantifier, whenAbsent}` | a selected object's condition has the status | nothing selected, a condition of another generation |
//! | `Resource` | `resource.{apiVersion, kind, namespace, name, labelSelector, expression, quantifier, whenAbsent}` | the CEL expression is true of a selected object | nothing selected, the expression fails, is refused, or is neither true nor false |
//! | `Bundle` | `bundle.{group, version, channel, servedVersion, storedVersion, usedField, whenAbsent}` | the bundle of CRDs that is installed has all of them | not installed, mixed, partial or not annotated, objects that cannot be listed |
//! | `Rollout` | `rollout.{start, duration or percentage}` | it is not the cluster's turn yet | the cluster's id is not known |
//!
//! When queries are asked of a metrics store, and when again, is decided by [`rounds`].
//!
//! # The JSON of an assessment
//!
//! Fields that say nothing are left out. The same inputs give the same bytes, whatever order they came in.
//!
//! ```text
//! graphRevision   text   the revision of the graph
//! cluster         {id, version}
//! time            RFC 3339
//! updates[]              by decreasing version
//!   version, payload
//!   conditional   bool   whether it carries risks
//!   evaluating    {status, reason, message}, if it does
//!   recommended   {status: True|False|Unknown, reason, message}
//!   risks[]              by name
//!     name, url, message
//!     verdict     match|noMatch|unknown|pending
//!     decidedBy   number the rule that decided, from 0
//!     rules[]            in order of precedence
//!       type, parameters
//!       outcome   match|noMatch|failed|pending|notRecognised|notReached
//!       value, observedAt, ageSeconds, source, reproduce
//!       explanation {name, parts[]: {expression, level, value, times}}, of objects in files only
//!       failure   malformed|refused|unsupported|notConfigured|unreachable|unauthorized|timeout|budget|evaluation|partial|stale|
//!                 ambiguous|absent
//!       why, missing     sentences
//!       due       RFC 3339, of what is pending, or is tried again after it failed
//!       warnings[]
//! diagnostics[]          what was wrong with the graph
//! ```

#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, clippy::string_slice)
)]

mod assess;
mod budget;
pub mod evidence;
mod expression;
pub mod fleet;
pub mod gateway_preflight;
mod memory;
mod proof;
pub mod recommend;
pub mod render;
pub mod reproduce;
pub mod rounds;
mod rules;
mod settings;

pub use assess::path::{HopAssessment, PathAssessment, assess_path};
pub use assess::{Assessment, AssessmentSummary, Cluster, NotInGraph, Plan, Update, assess};
pub use budget::{Budget, EvaluationBudget};
pub use evidence::Evidence;
pub use expression::{EXPRESSION_CAPS, check_expression};
pub use memory::{ObjectAnswerMemory, RULE_MEMORY, RULE_PATTERNS};
pub use proof::{Outcome, RiskProof, RuleProof, Statement, Status, Verdict};
pub use rules::bundle::{BUNDLE_PARAMETERS, ParameterFault, check_bundle_rule};
pub use rules::policy::{POLICY_PARAMETERS, check_policy_rule};
pub use rules::recognised;
pub use settings::Settings;
