//! The files of graph-data: each kind of file with its reader, and all of them as one revision.

pub(crate) mod block;
pub(crate) mod channel;
pub(crate) mod declaration;
pub(crate) mod findings;
pub(crate) mod inputs;
pub(crate) mod load;
pub(crate) mod raw;
pub(crate) mod record;
pub(crate) mod releases;
pub(crate) mod schema;
