//! Arguments that several commands have. Each is defined once and flattened, so that one flag has one meaning.

mod connections;
mod evidence;
mod graph_name;
mod graph_source;
mod label_selector;
mod lint_options;
mod logging;
mod operator_settings;
mod output_format;
mod product_selection;
mod query_limits;
mod terminal_options;
mod units;

pub(crate) use connections::*;
pub(crate) use evidence::*;
pub(crate) use graph_name::*;
pub(crate) use graph_source::*;
pub(crate) use label_selector::*;
pub(crate) use lint_options::*;
pub(crate) use logging::*;
pub(crate) use operator_settings::*;
pub(crate) use output_format::*;
pub(crate) use product_selection::*;
pub(crate) use query_limits::*;
pub(crate) use terminal_options::*;
pub(crate) use units::*;
