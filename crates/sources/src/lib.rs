//! Where values come from: files, standard input, update services, a Kubernetes cluster, the clock.
//!
//! This is the edge: everything above decides on values, everything here fetches them. Start at [`files::inputs`] for
//! what a person names on the command line and at [`kubernetes::Cluster`] for what lives in a cluster.

pub mod clock;
pub mod files;
pub mod graph_data;
pub mod http;
pub mod kubernetes;
pub mod service;
