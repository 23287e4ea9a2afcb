//! The update service: the graph of one revision, served to any number of clients.
//!
//! A [`Publication`] holds every body that can be asked for, in every coding, made once. A [`Service`] serves one of them
//! at a time; [`Refresher`] puts the next one in its place when it is complete and good. [`Listener`] brings the
//! requests, [`Status`] tells how all of it is doing. With a [`Mirror`] the service also hands on the answers of an
//! upstream service.
//!
//! | path (below the prefix) | what is there |
//! |---|---|
//! | `/graph`, `/v1/graph` | the graph of a `channel` for an `arch` |
//! | `/openapi`, `/v1/openapi` | the description of all of this |
//! | `/graph-data` | the files behind the graph, for mirrors |
//! | `/signatures/ALGORITHM=DIGEST/NAME` | signatures of releases (schema 1.2.0) |

#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, clippy::string_slice)
)]

mod answer_body;
mod archive;
mod body;
mod cors;
mod feed;
mod kept_answers;
mod last_good;
mod listen;
mod metrics;
mod mirror;
mod negotiate;
mod openapi;
mod publication;
mod query;
mod refresh;
mod refusal;
mod respond;
mod run;
mod service;
mod status;
mod watch;

pub use answer_body::AnswerBody;
pub use feed::{Feed, FeedError, GraphData};
pub use kept_answers::KeptAnswers;
pub use last_good::LastGood;
pub use listen::{ListenOptions, Listener, Respond};
pub use metrics::{Findings, Metrics, Refreshed};
pub use mirror::{Mirror, MirrorOptions, Scope, ScopeError};
pub use publication::Publication;
pub use refresh::Refresher;
pub use respond::Answer;
pub use run::{Config, Running};
pub use service::{Service, ServiceOptions};
pub use status::{Admission, MetricsGuard, Probed, Shows, Status};
