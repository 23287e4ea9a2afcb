//! Clearway's vocabulary: the few words every other crate speaks.
