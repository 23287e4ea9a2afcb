//! From a request to its answer: parameters, headers, routes, refusals, and the bytes that go out.

pub(crate) mod answer_body;
pub(crate) mod cors;
pub(crate) mod negotiate;
pub(crate) mod openapi;
pub(crate) mod query;
pub(crate) mod refusal;
pub(crate) mod respond;
