//! CRD bundles: from Rust types to the CRDs of each channel.
