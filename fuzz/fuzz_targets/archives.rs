//! Any bytes as what others publish: an archive of graph-data or an answer, and any text as the name of an
//! image or repository. Reading ends, and a name is read as what it is printed as.
#![no_main]

use clearway_core::Limits;
use clearway_graph::{load, wire};
use clearway_sources::graph_data::{Content, content};
use clearway_sources::oci::{Image, Repository};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let limits = Limits { file_bytes: 1 << 20, document_bytes: 1 << 18, depth: 64, nodes: 20_000, ..Limits::default() };
    match content(bytes, &limits) {
        Ok(Content::Files(inputs)) => _ = load(&inputs, &limits),
        Ok(Content::Answer(answer)) => _ = wire::read(&answer, &limits),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
    let Ok(text) = str::from_utf8(bytes) else { return };
    if let Ok(image) = text.parse::<Image>() {
        assert_eq!(image.to_string().parse::<Image>().as_ref(), Ok(&image));
    }
    if let Ok(repository) = text.parse::<Repository>() {
        assert_eq!(repository.to_string().parse::<Repository>().as_ref(), Ok(&repository));
    }
});
