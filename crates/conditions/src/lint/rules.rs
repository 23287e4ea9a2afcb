//! The rules, by subject. Each file checks one list of conditions (or one object) and reports to [`super::out::Out`].

pub(crate) mod fields;
pub(crate) mod generation;
pub(crate) mod naming;
pub(crate) mod ownership;
pub(crate) mod polarity;
pub(crate) mod presence;
pub(crate) mod schema;
pub(crate) mod summary;
pub(crate) mod times;
pub(crate) mod words;
