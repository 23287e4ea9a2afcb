//! Where values come from: files, update services, registries of images, a Kubernetes cluster, the clock.
//!
//! This is the edge: everything above decides on values, everything here fetches them. Start at [`files::inputs`] for
//! what a person names on the command line, at [`kubernetes::Cluster`] for what lives in a cluster, and at
//! [`oci::releases`] for what is in a registry.

pub mod clock;
pub mod files;
pub mod graph_data;
pub mod http;
pub mod kubernetes;
pub mod oci;
pub mod service;
