//! Answers of another update service, kept current and handed on.

pub(crate) mod mirror;
pub(crate) mod stored_answers;
pub(crate) mod turns;
