//! CEL beside the specification, the API server and its packages, and on malformed input.
//!
//! One program: each file of its own would be compiled, linted and linked with all dependencies once more.

mod api_server;
mod bad_input;
mod bounded_work;
mod conformance;
mod differential;
mod generate;
mod properties;
