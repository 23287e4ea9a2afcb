//! Graph-data whose texts are odd: nested deeply, endless, full of aliases, keys or documents.

use std::fmt::Write as _;

use clearway_core::GraphLimits;

use super::{Files, around, chain, named, release, risk};

pub(super) fn deep(_: &GraphLimits) -> Files {
    let nested = format!("{}{}", "[".repeat(1_000_000), "]".repeat(1_000_000));
    let mut files = around(&[release("1.0.0", "amd64", "", &format!(r#","kind":{nested}"#))], 1);
    files.push(named("raw/metadata.json", format!(r#"{{"1.0.0":{nested}}}"#)));
    files.push(named("blocked-edges/1.0.0.yaml", format!("to: 1.0.0\nfrom: {nested}\n")));
    files.push(named(
        "channels/d.yaml",
        format!(
            "name: d\nversions:\n{}",
            (0..20_000)
                .fold(String::new(), |mut out, depth| {
                    let _ = writeln!(out, "{}-", " ".repeat(depth));
                    out
                })
                .chars()
                .take(10_000_000)
                .collect::<String>()
        ),
    ));
    files
}

pub(super) fn giant_text(limits: &GraphLimits) -> Files {
    let bytes = usize::try_from(limits.data_bytes).unwrap_or(0) / 5;
    let giant = "x".repeat(bytes);
    let mut files = around(&[release("1.0.0", "amd64", "", &format!(r#","metadata":{{"a":"{giant}"}}"#))], 1);
    files.push(named("blocked-edges/1.0.0-x.yaml", format!("to: 1.0.0\nfrom: '{giant}'\n")));
    files.push(named("blocked-edges/1.0.0-y.yaml", format!("to: 1.0.0\nfrom: .*\n{giant}: 1\n{}", risk("R", 10))));
    files.push(named("blocked-edges/1.0.0-z.yaml", format!("to: 1.0.0\nfrom: .*\n{}", risk(&giant, 10))));
    files
}

pub(super) fn blanks(limits: &GraphLimits) -> Files {
    let bytes = usize::try_from(limits.data_bytes).unwrap_or(0) / 4;
    let mut files = around(&[release("1.0.0", "amd64", "", "")], 1);
    files.push(named("blocked-edges/1.0.0-a.yaml", format!("{}to: 1.0.0\nfrom: .*\n", "\n".repeat(bytes))));
    files.push(named("blocked-edges/1.0.0-b.yaml", format!("{}{{to: 1.0.0, from: x}}", " ".repeat(bytes))));
    files.push(named("releases/b.json", format!("{}[]", "\n".repeat(bytes))));
    files
}

pub(super) fn aliases(_: &GraphLimits) -> Files {
    let mut laughs = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    for level in 1..12 {
        let one = format!("*a{}", level - 1);
        let _ = writeln!(laughs, "a{level}: &a{level} [{}]", vec![one; 10].join(", "));
    }
    let mut files = around(&chain(10, 10, "amd64"), 10);
    files.push(named("channels/d.yaml", format!("name: d\n{laughs}versions: *a11\n")));
    files
}

pub(super) fn text_aliases(limits: &GraphLimits) -> Files {
    let line = "  xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\n".repeat(16_000);
    let entries = "- *t\n".repeat(limits.channel_versions * 4);
    let mut files = around(&chain(10, 10, "amd64"), 10);
    files.push(named("channels/d.yaml", format!("name: d\nx: &t |\n{line}versions:\n{entries}")));
    files
}

pub(super) fn merges(limits: &GraphLimits) -> Files {
    let keys = limits.object_values / 6;
    let mut text = String::from("to: 1.0.9\nfrom: .*\nx: &x\n");
    for number in 0..keys {
        let _ = writeln!(text, "  k{number}: 1");
    }
    text.push_str("y:\n  <<: *x\n");
    for number in 0..keys {
        let _ = writeln!(text, "  l{number}: 1");
    }
    let mut files = around(&chain(10, 10, "amd64"), 10);
    files.push(named("blocked-edges/1.0.9.yaml", text));
    files
}

pub(super) fn unknown_keys(limits: &GraphLimits) -> Files {
    let mut files = around(&chain(10, 10, "amd64"), 10);
    for file in 0..8 {
        let mut text = String::from("to: 1.0.9\nfrom: .*\n");
        for number in 0..limits.object_values / 2 - 10 {
            let _ = writeln!(text, "k{number}: 1");
        }
        files.push(named(&format!("blocked-edges/1.0.9-{file}.yaml"), text));
    }
    files
}

pub(super) fn repeated_items(limits: &GraphLimits) -> Files {
    let mut files = around(&chain(10, 10, "amd64"), 10);
    let text = "items: []\n".repeat(limits.object_values / 2 - 10);
    files.push(named("blocked-edges/1.0.9.yaml", format!("to: 1.0.9\nfrom: .*\n{text}")));
    files
}

pub(super) fn documents(limits: &GraphLimits) -> Files {
    let mut files = around(&chain(10, 10, "amd64"), 10);
    let count = usize::try_from(limits.data_bytes).unwrap_or(0) / 8;
    files.push(named("blocked-edges/1.0.9.yaml", "a\n---\n".repeat(count)));
    files
}
