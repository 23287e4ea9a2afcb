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

pub(super) fn no_releases(limits: &GraphLimits) -> Files {
    let mut files = around(&chain(10, 10, "amd64"), 10);
    let count = usize::try_from(limits.data_bytes).unwrap_or(0) / 3 - 2_000;
    files.push(named("releases/none.json", format!("[{}{{}}]", "{},".repeat(count))));
    files
}

/// A text that is only borrowed when it is read, and copied where its rule is kept.
pub(super) fn quoted_aliases(limits: &GraphLimits) -> Files {
    let mut files = around(&chain(10, 10, "amd64"), 10);
    let (text, aliases) = ("x".repeat(1 << 20), "*t, ".repeat(limits.object_values - 100));
    let rule = format!("{{type: T, t: &t \"{text}\", all: [{aliases}]}}");
    let risk = format!("name: R\nurl: https://e\nmessage: m\nmatchingRules: [{rule}]\n");
    files.push(named("blocked-edges/1.0.9.yaml", format!("to: 1.0.9\nfrom: .*\n{risk}")));
    files
}

/// Each release is small, and has a copy of what the first one says.
pub(super) fn aliases_in_releases(limits: &GraphLimits) -> Files {
    let mut files = around(&chain(10, 10, "amd64"), 10);
    let first = vec!["1.0.0"; limits.object_values / 2 - 100].join(", ");
    let count = usize::try_from(limits.data_bytes).unwrap_or(0) / 20 - 100_000;
    let items = format!("[{{previous: &p [{first}]}}{}]", ", {previous: *p}".repeat(count));
    files.push(named("releases/more.yaml", items));
    files
}
