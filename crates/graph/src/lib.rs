//! The update graph: which release may follow which, and what is known to go wrong on the way.
//!
//! Graph-data files go in as bytes ([`Inputs`]); [`load`] makes of them one immutable [`Revision`], from which every
//! answer is cut: [`Revision::graph`] for a channel and an architecture, [`Revision::explain`] for one edge and
//! everything that had a say in it. A [`Graph`] goes over the wire as Cincinnati's JSON and comes back ([`wire`]).
//! Of a graph one asks for ways over several updates ([`paths()`]), for versions that only a risk leads out of
//! ([`stranded()`]), for what changed since another one ([`mod@diff`]), and for a drawing ([`mod@render`]).
//!
//! What reading alone cannot see in the files, [`mod@lint`] finds.
//!
//! What is wrong in the files is a diagnostic with a code of [`codes`], and never opens an edge:
//!
//! | in the files | what is served |
//! |---|---|
//! | several blocks without a risk on one edge | the edge is gone if any of them matches |
//! | a block without a risk and one with a risk on one edge | the edge is gone |
//! | several risks on one edge | one group with all of them, each once, by name |
//! | a block `to` one architecture's release | that architecture only |
//! | a risk declared in `risks/` | as its blocks would be: one for each known release in its `to` |
//! | an unreadable `from` | every source is blocked |
//! | texts without `matchingRules`, or rules that cannot be read or have a key twice | the risk applies to every cluster (`Always`) |
//! | rules or texts without all of `url`, `name`, `message` | the edge is gone |
//! | an unknown rule type | carried through unchanged with its parameters |
//! | a tombstoned version that a channel still lists | served: taking it away would strand clusters |
//! | an unreadable release, one with a key twice, or two different ones of one name | not served |
//! | a release above a cap of [`GraphLimits`](clearway_core::GraphLimits) | not served |
//! | a risk above one | the edge is gone |
//! | an expression above one | every source is blocked |
//! | a file that exists and cannot be read ([`Inputs::unreadable`]) | nothing: the revision is refused |
//! | an unreadable `to`, channel file, `risks/` target, `releases/` file or `raw/metadata.json`; another major `version`; the whole above a cap | nothing: the revision is refused, and the caller keeps its last good one |

#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, clippy::string_slice)
)]

pub mod codes;
mod files;
pub mod lint;
mod model;
mod query;
pub mod wire;

pub use files::block::{Block, Effect, Sources};
pub use files::channel::Channel;
pub use files::declaration::{Declaration, DeclaredEdges};
pub use files::inputs::Inputs;
pub use files::load::{Outcome, load};
pub use lint::lint;
pub use model::graph::{Edge, Graph, Group, Node};
pub use model::metadata::Metadata;
pub use model::range;
pub use model::revision::{Release, Revision};
pub use model::risk::{Risk, Rule};
pub use query::diff::{Diff, diff};
pub use query::explain::{Explanation, Statement, Verdict};
pub use query::paths::{FewestRisks, Hop, NoPath, Path, Paths, paths};
pub use query::render::render;
pub use query::stranded::{
    Goal, MissingPath, RiskyPath, Stranded, StrandedBudget, SupportedVersions, stranded, stranded_versions,
};
pub use query::{convert, diff, render};
