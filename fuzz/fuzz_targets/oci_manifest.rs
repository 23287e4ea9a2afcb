//! Any bytes as a manifest of a registry: reading ends, within the caps, and says what it is or why it is none.
#![no_main]

use clearway_core::RegistryLimits;
use clearway_sources::oci::read_manifest;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let limits = RegistryLimits { images: 3, layers: 3, layer_bytes: 1_000, ..RegistryLimits::default() };
    match read_manifest(bytes, &limits) {
        Ok((images, layers)) => assert!(images <= 3 && layers <= 3),
        Err(why) => assert!(!why.is_empty()),
    }
});
