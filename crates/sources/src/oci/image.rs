//! What is in a registry: manifests, layers, the files of images and artifacts, and their signatures; read and written.

pub(super) mod artifact;
pub(super) mod content;
pub(super) mod layer;
pub(super) mod media;
pub(super) mod payload;
pub(super) mod push;
pub(super) mod signature;
pub(super) mod tree;
