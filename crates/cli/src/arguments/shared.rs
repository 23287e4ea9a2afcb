//! Arguments that several commands have. Each is defined once and flattened, so that one flag has one meaning.

mod connections;
mod evidence;
mod graph_name;
mod graph_source;
mod logging;
mod operator_settings;
mod output_format;
mod product_selection;
mod query_limits;
mod units;

pub(crate) use connections::*;
pub(crate) use evidence::*;
pub(crate) use graph_name::*;
pub(crate) use graph_source::*;
pub(crate) use logging::*;
pub(crate) use operator_settings::*;
pub(crate) use output_format::*;
pub(crate) use product_selection::*;
pub(crate) use query_limits::*;
pub(crate) use units::*;
