//! Arguments that several commands have. Each is defined once and flattened, so that one flag has one meaning.

mod access;
mod graph_name;
mod operator_settings;
mod query_limits;

pub(crate) use access::*;
pub(crate) use graph_name::*;
pub(crate) use operator_settings::*;
pub(crate) use query_limits::*;
