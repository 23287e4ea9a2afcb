//! Linting 10,000 objects next to only reading their YAML: the difference is what linting costs.
//!
//! `cargo bench -p clearway-conditions --bench lint_objects` prints both times; linting may add a quarter at most.

use std::fmt::Write as _;
use std::hint::black_box;

use clearway_conditions::Object;
use clearway_conditions::lint::{Policy, lint};
use clearway_core::{Diagnostic, Limits};
use clearway_yaml::{Found, read};

fn main() {
    divan::main();
}

/// 10,000 objects as controllers write them: spec, metadata, and one to three lists of sound conditions.
fn objects() -> String {
    let condition = |type_: &str, indent: &str| {
        format!(
            "{indent}- type: {type_}\n{indent}  status: \"True\"\n{indent}  reason: {type_}\n\
             {indent}  message: the object is as it should be\n\
             {indent}  lastTransitionTime: \"2025-06-01T08:05:00Z\"\n{indent}  observedGeneration: 3\n"
        )
    };
    let mut text = String::new();
    for number in 0..10_000 {
        let (api_version, kind) = match number % 3 {
            0 => ("example.com/v1", "Database"),
            1 => ("gateway.networking.k8s.io/v1", "HTTPRoute"),
            _ => ("apps/v1", "Deployment"),
        };
        _ = write!(
            text,
            "---\napiVersion: {api_version}\nkind: {kind}\nmetadata:\n  name: object-{number}\n  namespace: shop\n  \
             uid: 9b2c6c1e-5a1d-4a59-9f57-{number:012}\n  generation: 3\n  creationTimestamp: \"2025-06-01T08:00:00Z\"\n  \
             labels:\n    app: shop\nspec:\n  replicas: 3\n  template:\n    image: registry.example.com/shop:1.2.3\n\
             status:\n  observedGeneration: 3\n"
        );
        if kind == "HTTPRoute" {
            text.push_str("  parents:\n");
            for parent in ["a", "b"] {
                _ = write!(
                    text,
                    "  - controllerName: example.com/gateway\n    parentRef:\n      name: {parent}\n    conditions:\n"
                );
                text += &condition("Accepted", "    ");
                text += &condition("ResolvedRefs", "    ");
            }
        } else {
            text.push_str("  conditions:\n");
            for type_ in ["Ready", "Available", "Migrated"] {
                text += &condition(type_, "  ");
            }
        }
    }
    text
}

fn run(text: &str, mut each: impl FnMut(&Object<'_>)) {
    read(text.as_bytes(), "bench.yaml", &Limits::default(), |found| {
        if let Found::Object { root, source, list } = found
            && let Ok(object) = Object::new(root, source, list)
        {
            each(&object);
        }
    });
}

#[divan::bench(sample_count = 20)]
fn only_reading(bencher: divan::Bencher<'_, '_>) {
    let text = objects();
    bencher.bench_local(|| run(&text, |object| _ = black_box(object)));
}

#[divan::bench(sample_count = 20)]
fn reading_and_linting(bencher: divan::Bencher<'_, '_>) {
    let text = objects();
    let policy = Policy::new("2026-01-01T00:00:00Z".parse().expect("a time"));
    bencher.bench_local(|| {
        let mut findings: Vec<Diagnostic> = Vec::new();
        run(&text, |object| lint(object, &policy, &mut findings));
        assert!(findings.is_empty(), "{:?}", findings.first());
    });
}
