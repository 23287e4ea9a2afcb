//! `clearway gateway` and `clearway operator --gateway-class` on a real API server.
//!
//! The CRDs here have the kinds, versions and status subresources of Gateway API, and no schema: the real ones come with
//! the conformance tests (`make conformance`).

mod commands;
mod installed;
mod lab;
mod operator;
