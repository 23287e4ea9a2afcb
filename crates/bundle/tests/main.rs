//! Bundles of CRDs: read, built, compared, and judged before they are installed.
//!
//! One program: each file of its own would be compiled, linted and linked with all dependencies once more.

mod any_text;
mod bad_input;
mod build;
mod gateway_releases;
mod judge;
mod preflight;
mod rules;
