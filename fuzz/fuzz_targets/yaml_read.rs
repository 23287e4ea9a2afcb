//! Any bytes through the YAML reader, with limits small enough to be met: nothing panics, every value can be walked,
//! places lie in the text, and leaving fields out changes neither how many objects there are nor what was kept.
#![no_main]

use clearway_core::Limits;
use clearway_yaml::{Node, ReadEvent, Source, read, read_fields};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let limits = Limits {
        file_bytes: 1 << 16,
        document_bytes: 1 << 12,
        depth: 32,
        nodes: 2_000,
        list_items: 8,
        ..Limits::default()
    };
    let mut whole = Vec::new();
    let summary = read(bytes, "fuzz", &limits, |found| match found {
        ReadEvent::Object { root, source, list } => {
            let values = walk(root, source, 0);
            assert!(values <= limits.nodes, "{values} values");
            list.into_iter().for_each(|list| _ = walk(list, source, 0));
            whole.push(root.get("kind").map(Node::to_json));
            _ = root.to_json();
        }
        ReadEvent::Problem(problem) => assert!(problem.place.file.is_some()),
    });
    assert_eq!(summary.objects, whole.len());
    let mut kept = Vec::new();
    read_fields(
        bytes,
        "fuzz",
        &limits,
        |_, field| field == "kind",
        |found| {
            if let ReadEvent::Object { root, .. } = found {
                kept.push(root.get("kind").map(Node::to_json));
            }
        },
    );
    // What is passed over does not count as values, so more can be read than before, but never less.
    assert!(kept.len() >= whole.len());
    if summary.problems == 0 {
        assert_eq!(kept, whole);
    }
});

fn walk(node: Node<'_>, source: Source<'_>, depth: usize) -> usize {
    assert!(depth < 3_000);
    let span = node.span().expect("a text has places");
    assert!(span.start <= span.end && span.line > 0 && span.column > 0);
    _ = (source.excerpt(node), source.place(node), node.describe(), node.raw(), node.value());
    let items: usize = node.items().map(|item| walk(item, source, depth + 1)).sum();
    let fields: usize = node.fields().map(|(_, value)| 1 + walk(value, source, depth + 1)).sum();
    1 + items + fields
}
