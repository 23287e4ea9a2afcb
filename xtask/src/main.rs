//! The project's own checks, run as `cargo xtask <check>`.

fn main() {}
