//! The web console as values: addresses, pages and assets. Nothing here reads, waits or listens.
//!
//! A request becomes a [`Route`]; a page is a function of a revision of the graph (`pages::graph`, [`pages::update`],
//! [`pages::risks`]), of the revisions before it ([`revision_history`]), or of the state of a cluster ([`pages::cluster`]).
//! A form that was sent becomes a [`Change`], which others make.
//! The same values give the same bytes, so that a page of a revision is rendered once and kept.
//!
//! Pages are complete without JavaScript: everything is a link or a form. The script only saves reloads. There are no
//! styles or scripts inside pages and nothing is requested from elsewhere, so [`CONTENT_SECURITY_POLICY`] forbids both.
//!
//! Names, messages and addresses of graph-data and of objects were written by others. They reach a page only through
//! [`foreign_text`], and the templates escape whatever they print.

#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, clippy::string_slice)
)]

pub mod address;
pub mod assets;
pub mod change;
pub mod foreign_text;
mod frame;
pub mod pages;
pub mod revision_history;

pub use address::{BadAddress, Route};
pub use change::{Change, ChangeAction, ChangeOutcome, ChangeResult};
pub use frame::Parts;
pub use pages::{Page, PageError};

/// The `Content-Security-Policy` of every page: files of the console itself, and nothing else.
pub const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; \
     connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";
