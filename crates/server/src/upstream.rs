//! Answers of another update service, kept current and handed on.

pub(crate) mod kept_answers;
pub(crate) mod mirror;
