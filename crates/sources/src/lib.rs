//! Where values come from: files, update services, registries of images, a Kubernetes cluster, a Prometheus, the clock.
//!
//! This is the edge: everything above decides on values, everything here fetches them. Start at [`files::inputs`] for
//! what a person names on the command line, at [`kubernetes::Cluster`] for what lives in a cluster, at
//! [`prometheus::Prometheus`] for what is measured there, at [`oci::releases`] for what is in a registry, and at
//! [`release`] for what a release is made of. [`collector`] reads the objects that rules ask about. [`rounds`] asks the queries of a
//! round; [`metrics_directory`] reads metrics from files; [`snapshot`] keeps what was seen of a cluster, to be judged again without it. [`object_stream`]
//! reads all objects of a cluster. [`catalog`] reads catalogues of products and looks for installed ones; [`publish`] puts
//! graph-data and catalogues into a registry. [`store`] is where objects are changed:
//! in a cluster, or in a directory.

pub mod bundle_files;
pub mod catalog;
pub mod clock;
pub mod code_pages;
pub mod collector;
pub mod file_caps;
pub mod files;
pub mod graph_data;
pub mod http;
pub mod kubernetes;
pub mod metrics_directory;
pub mod object_stream;
pub mod oci;
pub mod prometheus;
pub mod publish;
pub mod release;
pub mod rounds;
pub mod service;
pub mod snapshot;
pub mod store;
pub mod waiting;
