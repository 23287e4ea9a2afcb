//! What is read of an OCI registry.

use super::cap::caps;

caps! {
    /// The caps on what a registry sends.
    ///
    /// Above a cap on an image, that image is left out by name. Above one on the repository, the repository is refused,
    /// and what was read of it before stays.
    RegistryLimits {
        /// Tags of one repository: one for each release, and one for its signature
        tags: usize = 200_000, needs 11_478;
        /// Bytes of one page of tags
        page_bytes: u64 = 4 << 20, needs 0;
        /// Bytes of a manifest or a configuration
        manifest_bytes: u64 = 4 << 20, needs 0;
        /// Images of one index
        images: usize = 100, needs 4;
        /// Layers of one image
        layers: usize = 200, needs 0;
        /// Bytes of all layers of one image, compressed
        layer_bytes: u64 = 4 << 30, needs 0;
        /// Bytes of one layer, unpacked; they are streamed and not stored
        unpacked_bytes: u64 = 16 << 30, needs 0;
        /// Bytes of the metadata of one release
        metadata_bytes: u64 = 256 << 10, needs 1_989;
    }
}
