//! The update service: the graph of one revision, served to any number of clients.
//!
//! A [`Publication`] holds every body that can be asked for, in every coding, made once. A [`Service`] serves one of them
//! at a time; [`Refresher`] puts the next one in its place when it is complete and good. [`Listener`] brings the
//! requests, [`Status`] tells how all of it is doing. With a [`Mirror`] the service also hands on the answers of an
//! upstream service. [`console`] shows all of it to people, on a listener of its own.
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

pub mod console;
mod data;
mod listen;
mod metrics;
mod request;
mod run;
mod service;
mod status;
mod upstream;

pub use data::feed::{Feed, FeedError, GraphData};
pub use data::last_good::LastGoodData;
pub use data::publication::Publication;
pub use data::refresh::Refresher;
pub use listen::{AboveLimit, ListenOptions, Listener, RequestHandler};
pub use metrics::{Findings, Metrics, RefreshResult};
pub use request::answer_body::AnswerBody;
pub use request::respond::Answer;
pub use run::{Config, RunningService};
pub use service::{Service, ServiceOptions};
pub use status::{Admission, HealthProbe, MetricsGuard, Status, StatusEndpoints};
pub use upstream::mirror::{Mirror, MirrorOptions, Scope, ScopeError};
pub use upstream::stored_answers::StoredAnswers;
