//! Tests of the linter.
