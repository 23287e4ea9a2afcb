//! The commands: one module per noun of the command line, each with `run`.

pub(crate) mod assess;
pub(crate) mod bundle;
pub(crate) mod catalog;
pub(crate) mod cel;
pub(crate) mod demo;
pub(crate) mod explain;
pub(crate) mod fleet;
pub(crate) mod gateway;
pub(crate) mod graph;
pub(crate) mod install;
pub(crate) mod manual;
pub(crate) mod operator;
pub(crate) mod policy;
pub(crate) mod promql;
pub(crate) mod release;
pub(crate) mod risk;
pub(crate) mod serve;
pub(crate) mod snapshot;
pub(crate) mod status;
pub(crate) mod upgrade;
pub(crate) mod version;
