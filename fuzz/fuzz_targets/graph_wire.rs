//! Any bytes as the answer of an update service: what is read is written and read back as the same, and offers no
//! update that does not lead forward.
#![no_main]

use clearway_core::Limits;
use clearway_graph::wire;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Some(graph) = wire::read(bytes, &Limits::default()).graph else { return };
    for (edge, _) in graph.updates() {
        let (from, to) = (graph.node(edge.from).unwrap(), graph.node(edge.to).unwrap());
        assert!(from.version().precedence(to.version()).is_lt());
    }
    let again = wire::read(&wire::write(&graph), &Limits::default());
    assert_eq!(again.graph.as_ref(), Some(&graph));
});
