//! Graph-data and answers of a publisher who wants to use up memory or time.
//!
//! Each is as large as the caps of [`GraphLimits`] let it be, or goes above one of them: it is read within the documented
//! memory, or refused by name. Versions are `1.MINOR.PATCH`; the channel of everything is `c`.

use std::fmt::Write as _;

use clearway_core::GraphLimits;

/// Files by path.
pub(crate) type Files = Vec<(String, Vec<u8>)>;

/// Graph-data by name.
pub(crate) const GRAPH_DATA: &[(&str, fn(&GraphLimits) -> Files)] = &[
    ("everything at its cap", everything),
    ("many risks on every update", risks_on_updates),
    ("one expression for every source in many blocks", blocks_for_all),
    ("many large expressions", large_expressions),
    ("repetitions of repetitions", repetitions),
    ("an expression of its own in every release", remove_regex),
    ("alternatives in every expression", alternatives),
    ("channels that list the same versions", same_channels),
    ("as many channels as the cap allows", many_channels),
    ("every channel a different part of the releases", different_channels),
    ("texts that cannot be packed", noise),
    ("many files", many_files),
    ("empty neighbours", empty_neighbours),
    ("neighbours that are no versions", bad_neighbours),
    ("many metadata keys", metadata_keys),
    ("metadata for every architecture from outside", raw_metadata),
    ("one release again and again", same_release),
    ("long versions", long_versions),
    ("many architectures", architectures),
    ("declared risks for everything", declared),
    ("many ranges", many_ranges),
    ("rules with many small values", small_values),
    ("different risks of one name", same_name),
    ("deep nesting", deep),
    ("a giant text", giant_text),
    ("a giant line of blanks", blanks),
    ("aliases of aliases", aliases),
    ("aliases of a long text", text_aliases),
    ("merged objects", merges),
    ("unknown keys", unknown_keys),
    ("repeated lists of items", repeated_items),
    ("many documents in one file", documents),
    ("channel entries that are no versions", bad_entries),
    ("updates that metadata adds", added_updates),
    ("large signatures", signatures),
];

/// Answers by name.
pub(crate) const ANSWERS: &[(&str, fn(&GraphLimits) -> Vec<u8>)] = &[
    ("many risks on many updates of one group", answer_group),
    ("every update in many groups", answer_groups),
    ("many updates", answer_edges),
    ("many nodes with long metadata", answer_nodes),
    ("updates that are none", answer_bad_edges),
    ("nodes that are none", answer_bad_nodes),
    ("many risks with large expressions in their queries", answer_patterns),
    ("many different queries", answer_queries),
    ("rules with many small values", answer_values),
    ("many metadata keys", answer_keys),
    ("deep nesting", answer_deep),
    ("a giant text", answer_giant),
    ("escaped texts", answer_escapes),
    ("numbers where lists are expected", answer_numbers),
    ("one node again and again", answer_same_node),
];

fn named(path: &str, content: impl Into<Vec<u8>>) -> (String, Vec<u8>) {
    (path.to_owned(), content.into())
}

/// A release as JSON; `rest` is more of its fields.
fn release(version: &str, arch: &str, previous: &str, rest: &str) -> String {
    format!(r#"{{"version":"{version}","arch":"{arch}","payload":"r.example.com/p:{version}","previous":[{previous}]{rest}}}"#)
}

/// The version of a number: a hundred patches for each minor.
fn version(number: usize) -> String {
    format!("1.{}.{}", number / 100, number % 100)
}

/// `"a","b"` of the versions of some numbers.
fn listed(numbers: std::ops::Range<usize>) -> String {
    let mut out = String::new();
    for number in numbers {
        let _ = write!(out, "{}\"{}\"", if out.is_empty() { "" } else { "," }, version(number));
    }
    out
}

/// Files around some releases (as JSON), with the channel `c` of the first so many versions.
fn around(releases: &[String], in_channel: usize) -> Files {
    let mut versions = String::new();
    for number in 0..in_channel {
        let _ = writeln!(versions, "- {}", version(number));
    }
    let versions = if versions.is_empty() { "[]".to_owned() } else { format!("\n{versions}") };
    vec![
        named("version", "1.1.0\n"),
        named("channels/c.yaml", format!("name: c\nversions: {versions}\n")),
        named("releases/all.json", format!("[{}]", releases.join(","))),
    ]
}

/// Releases of which each can be reached from the `window` before it, for one architecture.
fn chain(count: usize, window: usize, arch: &str) -> Vec<String> {
    (0..count).map(|number| release(&version(number), arch, &listed(number.saturating_sub(window)..number), "")).collect()
}

fn block(files: &mut Files, number: usize, to: &str, from: &str, risk: &str) {
    files.push(named(&format!("blocked-edges/{to}-{number}.yaml"), format!("to: {to}\nfrom: '{from}'\n{risk}")));
}

/// A risk in YAML, of so many bytes at least.
fn risk(name: &str, bytes: usize) -> String {
    let message = "m".repeat(bytes);
    format!("name: {name}\nurl: https://e.example.com\nmessage: {message}\nmatchingRules: [{{type: Always}}]\n")
}

/// Letters and digits that do not repeat.
fn random(length: usize, seed: u64) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut out = String::with_capacity(length);
    while out.len() < length {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        for shift in (0..60).step_by(6) {
            out.push(char::from(LETTERS[(state >> shift) as usize % 64]));
        }
    }
    out.truncate(length);
    out
}

fn everything(limits: &GraphLimits) -> Files {
    let arches: Vec<String> = (0..12).map(|number| format!("arch{number}")).collect();
    let count = limits.releases / arches.len();
    let window = (limits.edges / limits.releases).min(58);
    let text = limits.release_texts / 3 / limits.releases;
    let mut releases = Vec::new();
    for (seed, arch) in (0_u64..).zip(&arches) {
        for number in 0..count {
            let rest = format!(r#","metadata":{{"url":"{}"}}"#, random(text, seed << 32 | number as u64));
            let previous = listed(number.saturating_sub(window)..number);
            releases.push(release(&version(number), arch, &previous, &rest));
        }
    }
    let mut files = around(&releases, limits.channel_versions.min(count));
    for number in 0..limits.blocks {
        let to = version(number % count);
        let risk = risk(&format!("R{}", number % limits.risks), 300);
        block(&mut files, number, &to, &format!("^1[.]{}[.]", number % limits.patterns), &risk);
    }
    files
}

fn risks_on_updates(limits: &GraphLimits) -> Files {
    let count = 400;
    let mut files = around(&chain(count, count, "amd64"), count);
    for number in 0..limits.blocks.min(limits.block_trials / (count / 2)) {
        let risk = risk(&format!("R{}", number % limits.risks), 300);
        block(&mut files, number, &version(number % count), &format!("[.]{}[+]", number % 97), &risk);
    }
    files
}

fn blocks_for_all(limits: &GraphLimits) -> Files {
    let count = 2_000;
    let mut files = around(&chain(count, 1_700, "amd64"), count);
    for number in 0..limits.block_trials / 1_700 {
        block(&mut files, number, &version(count - 1 - number % 50), ".*", &risk(&format!("R{}", number % limits.risks), 10));
    }
    files
}

fn large_expressions(limits: &GraphLimits) -> Files {
    let mut files = around(&chain(1_000, 500, "amd64"), 1_000);
    for number in 0..limits.patterns {
        let from = format!("([0-9a-z]{{{}}}[.]?){{90}}|x{number}", limits.pattern_positions / 200);
        block(&mut files, number, &version(999 - number % 300), &from, &risk("R", 10));
    }
    files
}

fn repetitions(_: &GraphLimits) -> Files {
    let mut files = around(&chain(100, 100, "amd64"), 100);
    for (number, from) in ["(a{1000}){1000}", "((a{100}){100}){100}", "(?:(?:\\w{50}){50}){50}", "[a-z]{1,1000}[0-9]{1,1000}"].iter().enumerate() {
        block(&mut files, number, &version(99 - number), from, &risk("R", 10));
    }
    files
}

fn remove_regex(limits: &GraphLimits) -> Files {
    let releases: Vec<String> = (0..limits.releases / 4)
        .map(|number| {
            let regex = format!("([0-9a-z]{{20}}[.]?){{90}}|x{number}");
            let rest = format!(r#","metadata":{{"io.openshift.upgrades.graph.previous.remove_regex":"{regex}"}}"#);
            release(&version(number), "amd64", &listed(number.saturating_sub(20)..number), &rest)
        })
        .collect();
    around(&releases, 1_000)
}

fn alternatives(limits: &GraphLimits) -> Files {
    let mut files = around(&chain(2_000, 100, "amd64"), 2_000);
    for number in 0..limits.patterns {
        let from: Vec<String> = (0..200).map(|at| format!("{at}[.]{number}")).collect();
        block(&mut files, number, &version(1_999 - number % 1_000), &from.join("|"), &risk("R", 10));
    }
    files
}

fn same_channels(limits: &GraphLimits) -> Files {
    let mut files = around(&chain(20, 20, "amd64"), 20);
    let versions: Vec<String> = (0..4).map(version).collect();
    for number in 0..limits.channels - 1 {
        let text = format!("name: c{number}\nversions: [{}]\n", versions.join(", "));
        files.push(named(&format!("channels/c{number}.yaml"), text));
    }
    files
}

fn many_channels(limits: &GraphLimits) -> Files {
    let count = 5_000;
    let mut files = around(&chain(count, 10, "amd64"), 100);
    for number in 0..limits.channels - 1 {
        let at = number % (count - 2);
        let text = format!("name: c{number}\nversions: [{}, {}]\n", version(at), version(at + 1));
        files.push(named(&format!("channels/c{number}.yaml"), text));
    }
    files
}

fn different_channels(limits: &GraphLimits) -> Files {
    let count = 3_000;
    let mut files = around(&chain(count, 60, "amd64"), 100);
    for number in 0..limits.channel_entries / 400 {
        let versions: Vec<String> = (0..400).map(|at| version((number * 17 + at * 7) % count)).collect();
        files.push(named(&format!("channels/c{number}.yaml"), format!("name: c{number}\nversions: [{}]\n", versions.join(", "))));
    }
    files
}

fn noise(limits: &GraphLimits) -> Files {
    let count = 4_000;
    let each = limits.release_texts / count - 200;
    let releases: Vec<String> = (0..count)
        .map(|number| {
            let rest = format!(r#","metadata":{{"url":"{}"}}"#, random(each, number as u64 + 1));
            release(&version(number), "amd64", &listed(number.saturating_sub(3)..number), &rest)
        })
        .collect();
    let mut files = around(&releases, 1_500);
    for number in 0..40 {
        let versions: Vec<String> = (0..1_000).map(|at| version((number * 91 + at) % count)).collect();
        files.push(named(&format!("channels/n{number}.yaml"), format!("name: n{number}\nversions: [{}]\n", versions.join(", "))));
    }
    files
}

fn many_files(limits: &GraphLimits) -> Files {
    let mut files = around(&chain(10, 10, "amd64"), 10);
    files.extend((0..limits.files + 100).map(|number| named(&format!("raw/{number}"), "")));
    files
}

fn empty_neighbours(limits: &GraphLimits) -> Files {
    let entries = usize::try_from(limits.data_bytes).unwrap_or(0) / 3 - 2_000;
    let mut list = "\"\",".repeat(entries);
    list.pop();
    around(&[release("1.0.0", "amd64", &list, "")], 1)
}

fn bad_neighbours(limits: &GraphLimits) -> Files {
    let each = limits.neighbours - 1;
    let mut list = "\"x\",".repeat(each);
    list.pop();
    let count = usize::try_from(limits.data_bytes).unwrap_or(0) / (list.len() + 200);
    let releases: Vec<String> = (0..count).map(|number| release(&version(number), "amd64", &list, "")).collect();
    around(&releases, 10)
}

fn metadata_keys(limits: &GraphLimits) -> Files {
    let mut pairs = String::new();
    for number in (0..1_000_000).rev() {
        let _ = write!(pairs, "\"{number:x}\":\"\",");
    }
    pairs.pop();
    let one = release("1.0.0", "amd64", "", &format!(r#","metadata":{{{pairs}}}"#));
    let fewer: String = pairs.split_inclusive(',').take(limits.metadata_keys - 10).collect();
    let fewer = fewer.trim_end_matches(',');
    let others = (1..3_000).map(|number| release(&version(number), "amd64", "", &format!(r#","metadata":{{{fewer}}}"#)));
    let releases: Vec<String> = std::iter::once(one).chain(others).collect();
    let mut files = around(&releases, 10);
    files.push(named("releases/two.yaml", format!("- {{version: 1.0.1, payload: x, metadata: {{{pairs}}}}}\n")));
    files.push(named("raw/metadata.json", format!(r#"{{"1.0.0":{{{pairs}}}}}"#)));
    files
}

fn raw_metadata(limits: &GraphLimits) -> Files {
    let releases: Vec<String> =
        (0..limits.arches).flat_map(|arch| (0..100).map(move |number| release(&version(number), &format!("a{arch}"), "", ""))).collect();
    let mut files = around(&releases, 100);
    let raw: Vec<String> = (0..100)
        .map(|number| format!(r#""{}":{{"url":"{}"}}"#, version(number), "x".repeat(limits.release_bytes - 500)))
        .collect();
    files.push(named("raw/metadata.json", format!("{{{}}}", raw.join(","))));
    files
}

fn same_release(limits: &GraphLimits) -> Files {
    let one = release("1.0.0", "amd64", "\"0.9.0\"", r#","metadata":{"url":"x"}"#);
    let count = usize::try_from(limits.data_bytes).unwrap_or(0) / (one.len() + 1) - 10;
    around(&vec![one; count.min(limits.releases)], 1)
}

fn long_versions(limits: &GraphLimits) -> Files {
    let long = |number: usize| format!("1.0.0-{}{number}", "a.".repeat(120));
    let releases: Vec<String> = (0..limits.releases / 10)
        .map(|number| {
            let previous: Vec<String> = (number.saturating_sub(25)..number).map(|at| format!("\"{}\"", long(at))).collect();
            release(&long(number), "amd64", &previous.join(","), "")
        })
        .collect();
    let mut files = around(&releases, 1);
    let versions: Vec<String> = (0..limits.channel_versions).map(long).collect();
    files.push(named("channels/long.yaml", format!("name: long\nversions:\n- {}\n", versions.join("\n- "))));
    for number in 0..200 {
        block(&mut files, number, &long(limits.releases / 10 - 1 - number), &format!("(a[.]){{100}}[0-9]*{number}"), &risk("R", 10));
    }
    files
}

fn architectures(limits: &GraphLimits) -> Files {
    let releases: Vec<String> = (0..limits.arches + 1).map(|number| release("1.0.0", &format!("a{number}"), "", "")).collect();
    around(&releases, 1)
}

fn declared(limits: &GraphLimits) -> Files {
    let count = 5_000;
    let mut files = around(&chain(count, 100, "amd64"), count);
    for number in 0..limits.blocks / count {
        let text = format!("to: '*'\nfrom: '*'\n{}", risk(&format!("R{number}"), limits.message_bytes - 10));
        files.push(named(&format!("risks/R{number}.yaml"), text));
    }
    files
}

fn many_ranges(limits: &GraphLimits) -> Files {
    let count = 5_000;
    let mut files = around(&chain(count, 100, "amd64"), count);
    let ranges: Vec<String> = (0..limits.ranges).map(|number| format!("'{}'", version(number * 5))).collect();
    for number in 0..limits.blocks / limits.ranges {
        let (to, name) = (ranges.join(", "), format!("R{number}"));
        files.push(named(&format!("risks/{name}.yaml"), format!("to: [{to}]\nfrom: [{to}]\n{}", risk(&name, 10))));
    }
    files
}

fn small_values(limits: &GraphLimits) -> Files {
    let mut files = around(&chain(100, 100, "amd64"), 100);
    let values = "0,".repeat(limits.risk_bytes / 64);
    for number in 0..1_000 {
        let text = format!("name: R{number}\nurl: https://e\nmessage: m\nmatchingRules: [{{type: T, a: [{values}0]}}]\n");
        block(&mut files, number, &version(number % 100), ".*", &text);
    }
    files
}

fn same_name(limits: &GraphLimits) -> Files {
    let mut files = around(&chain(100, 100, "amd64"), 100);
    for number in 0..limits.blocks {
        let text = format!("name: R\nurl: https://e/{number}\nmessage: m\nmatchingRules: [{{type: Always}}]\n");
        block(&mut files, number, "1.0.99", &format!("^1[.]0[.]{}[+]", number % limits.patterns), &text);
    }
    files
}

fn deep(_: &GraphLimits) -> Files {
    let nested = format!("{}{}", "[".repeat(1_000_000), "]".repeat(1_000_000));
    let mut files = around(&[release("1.0.0", "amd64", "", &format!(r#","kind":{nested}"#))], 1);
    files.push(named("raw/metadata.json", format!(r#"{{"1.0.0":{nested}}}"#)));
    files.push(named("blocked-edges/1.0.0.yaml", format!("to: 1.0.0\nfrom: {nested}\n")));
    files.push(named("channels/d.yaml", format!("name: d\nversions:\n{}", (0..20_000).fold(String::new(), |mut out, depth| {
        let _ = writeln!(out, "{}-", " ".repeat(depth));
        out
    }).chars().take(10_000_000).collect::<String>())));
    files
}

fn giant_text(limits: &GraphLimits) -> Files {
    let bytes = usize::try_from(limits.data_bytes).unwrap_or(0) / 5;
    let giant = "x".repeat(bytes);
    let mut files = around(&[release("1.0.0", "amd64", "", &format!(r#","metadata":{{"a":"{giant}"}}"#))], 1);
    files.push(named("blocked-edges/1.0.0-x.yaml", format!("to: 1.0.0\nfrom: '{giant}'\n")));
    files.push(named("blocked-edges/1.0.0-y.yaml", format!("to: 1.0.0\nfrom: .*\n{giant}: 1\n{}", risk("R", 10))));
    files.push(named("blocked-edges/1.0.0-z.yaml", format!("to: 1.0.0\nfrom: .*\n{}", risk(&giant, 10))));
    files
}

fn blanks(limits: &GraphLimits) -> Files {
    let bytes = usize::try_from(limits.data_bytes).unwrap_or(0) / 4;
    let mut files = around(&[release("1.0.0", "amd64", "", "")], 1);
    files.push(named("blocked-edges/1.0.0-a.yaml", format!("{}to: 1.0.0\nfrom: .*\n", "\n".repeat(bytes))));
    files.push(named("blocked-edges/1.0.0-b.yaml", format!("{}{{to: 1.0.0, from: x}}", " ".repeat(bytes))));
    files.push(named("releases/b.json", format!("{}[]", "\n".repeat(bytes))));
    files
}

fn aliases(_: &GraphLimits) -> Files {
    let mut laughs = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    for level in 1..12 {
        let one = format!("*a{}", level - 1);
        let _ = writeln!(laughs, "a{level}: &a{level} [{}]", vec![one; 10].join(", "));
    }
    let mut files = around(&chain(10, 10, "amd64"), 10);
    files.push(named("channels/d.yaml", format!("name: d\n{laughs}versions: *a11\n")));
    files
}

fn text_aliases(limits: &GraphLimits) -> Files {
    let line = "  xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\n".repeat(16_000);
    let entries = "- *t\n".repeat(limits.channel_versions * 4);
    let mut files = around(&chain(10, 10, "amd64"), 10);
    files.push(named("channels/d.yaml", format!("name: d\nx: &t |\n{line}versions:\n{entries}")));
    files
}

fn merges(limits: &GraphLimits) -> Files {
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

fn unknown_keys(limits: &GraphLimits) -> Files {
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

fn repeated_items(limits: &GraphLimits) -> Files {
    let mut files = around(&chain(10, 10, "amd64"), 10);
    let text = "items: []\n".repeat(limits.object_values / 2 - 10);
    files.push(named("blocked-edges/1.0.9.yaml", format!("to: 1.0.9\nfrom: .*\n{text}")));
    files
}

fn documents(limits: &GraphLimits) -> Files {
    let mut files = around(&chain(10, 10, "amd64"), 10);
    let count = usize::try_from(limits.data_bytes).unwrap_or(0) / 8;
    files.push(named("blocked-edges/1.0.9.yaml", "a\n---\n".repeat(count)));
    files
}

fn bad_entries(limits: &GraphLimits) -> Files {
    let mut files = around(&chain(10, 10, "amd64"), 10);
    for number in 0..limits.channel_entries / limits.channel_versions {
        let text = format!("name: b{number}\nversions:\n{}", "- x\n".repeat(limits.channel_versions));
        files.push(named(&format!("channels/b{number}.yaml"), text));
    }
    files
}

fn added_updates(limits: &GraphLimits) -> Files {
    let count = limits.releases / 4;
    let list = |numbers: std::ops::Range<usize>| listed(numbers).replace('"', "");
    let mut files = around(&chain(count, 0, "amd64"), 100);
    let raw: Vec<String> = (1..count)
        .map(|number| {
            let add = list(number.saturating_sub(250)..number);
            format!(r#""{}":{{"io.openshift.upgrades.graph.previous.add":"{add}","io.openshift.upgrades.graph.next.remove":"{add}"}}"#, version(number))
        })
        .collect();
    files.push(named("raw/metadata.json", format!("{{{}}}", raw.join(","))));
    files
}

fn signatures(limits: &GraphLimits) -> Files {
    let mut files = around(&chain(10, 10, "amd64"), 10);
    let bytes = usize::try_from(limits.data_bytes).unwrap_or(0) / 5;
    for number in 0..4 {
        files.push(named(&format!("signatures/sha256/a{number}/signature-1"), random(bytes, number + 1)));
    }
    files
}

/// An answer of parts that are JSON already.
fn answer(nodes: &str, edges: &str, conditional: &str) -> Vec<u8> {
    format!(r#"{{"version":1,"nodes":[{nodes}],"edges":[{edges}],"conditionalEdges":[{conditional}]}}"#).into_bytes()
}

fn nodes(count: usize, metadata: &str) -> String {
    let node = |number| format!(r#"{{"version":"{}","payload":"p","metadata":{{{metadata}}}}}"#, version(number));
    (0..count).map(node).collect::<Vec<_>>().join(",")
}

/// Updates by name from the first version to many others.
fn conditional_edges(from: std::ops::Range<usize>, to: std::ops::Range<usize>, most: usize) -> String {
    let mut out = String::new();
    let pairs = to.flat_map(|to| from.clone().filter(move |from| *from < to).map(move |from| (from, to)));
    for (from, to) in pairs.take(most) {
        let separator = if out.is_empty() { "" } else { "," };
        let _ = write!(out, r#"{separator}{{"from":"{}","to":"{}"}}"#, version(from), version(to));
    }
    out
}

fn json_risk(name: &str, rules: &str) -> String {
    format!(r#"{{"name":"{name}","url":"https://e","message":"m","matchingRules":[{rules}]}}"#)
}

fn promql(query: &str) -> String {
    format!(r#"{{"type":"PromQL","promql":{{"promql":"{query}"}}}}"#)
}

const ALWAYS: &str = r#"{"type":"Always"}"#;

fn answer_group(limits: &GraphLimits) -> Vec<u8> {
    let risks: Vec<String> = (0..limits.risks).map(|number| json_risk(&format!("R{number}"), ALWAYS)).collect();
    let edges = conditional_edges(0..1_000, 0..1_000, 300_000);
    answer(&nodes(1_000, ""), "", &format!(r#"{{"edges":[{edges}],"risks":[{}]}}"#, risks.join(",")))
}

fn answer_groups(limits: &GraphLimits) -> Vec<u8> {
    let mut groups = Vec::new();
    let edges = conditional_edges(0..60, 0..60, 1_000);
    for number in 0..400 {
        let risk = json_risk(&format!("R{}", number % limits.risks), ALWAYS);
        groups.push(format!(r#"{{"edges":[{edges}],"risks":[{risk}]}}"#));
    }
    answer(&nodes(60, ""), "", &groups.join(","))
}

fn answer_edges(limits: &GraphLimits) -> Vec<u8> {
    let mut edges = "[0,1],".repeat(limits.answer_bytes / 6 - 10_000);
    edges.pop();
    answer(&nodes(2, ""), &edges, "")
}

fn answer_nodes(limits: &GraphLimits) -> Vec<u8> {
    let each = limits.answer_bytes / limits.answer_nodes - 100;
    answer(&nodes(limits.answer_nodes, &format!(r#""a":"{}""#, "x".repeat(each))), "", "")
}

fn answer_bad_edges(limits: &GraphLimits) -> Vec<u8> {
    let mut edges = "0,".repeat(limits.answer_bytes / 2 - 10_000);
    edges.pop();
    answer(&nodes(2, ""), &edges, "")
}

fn answer_bad_nodes(limits: &GraphLimits) -> Vec<u8> {
    let mut bad = "0,".repeat(limits.answer_bytes / 2 - 10_000);
    bad.pop();
    answer(&bad, "", "")
}

/// One update that carries as many risks as there may be.
fn one_update(risks: &[String]) -> Vec<u8> {
    let group = format!(r#"{{"edges":[{}],"risks":[{}]}}"#, conditional_edges(0..1, 1..2, 1), risks.join(","));
    answer(&nodes(2, ""), "", &group)
}

fn answer_patterns(limits: &GraphLimits) -> Vec<u8> {
    let risks: Vec<String> = (0..limits.queries)
        .map(|number| {
            let query: Vec<String> = (0..20).map(|at| format!(r#"group(m{number}{{a=~\"(x{{30}}y?){{30}}{at}\"}})"#)).collect();
            json_risk(&format!("R{number}"), &promql(&query.join(" or ")))
        })
        .collect();
    one_update(&risks)
}

fn answer_queries(limits: &GraphLimits) -> Vec<u8> {
    let each = limits.risk_bytes / limits.queries - 200;
    let risks: Vec<String> = (0..limits.queries)
        .map(|number| {
            let matchers = r#"a=\"b\","#.repeat(each / 9);
            json_risk(&format!("R{number}"), &promql(&format!("max(m{number}{{{matchers}}})")))
        })
        .collect();
    one_update(&risks)
}

fn answer_values(limits: &GraphLimits) -> Vec<u8> {
    let values = "0,".repeat(limits.risk_bytes / 2 / 16 - 200);
    let risks: Vec<String> =
        (0..16).map(|number| json_risk(&format!("R{number}"), &format!(r#"{{"type":"T","a":[{values}0]}}"#))).collect();
    one_update(&risks)
}

fn answer_keys(limits: &GraphLimits) -> Vec<u8> {
    let mut pairs = String::new();
    for number in 0..limits.answer_bytes / 12 {
        let _ = write!(pairs, "\"{number:x}\":\"\",");
    }
    pairs.pop();
    answer(&nodes(1, &pairs), "", "")
}

fn answer_deep(limits: &GraphLimits) -> Vec<u8> {
    let half = limits.answer_bytes / 2 - 1_000;
    format!(r#"{{"nodes":[],"x":{}{}}}"#, "[".repeat(half), "]".repeat(half)).into_bytes()
}

fn answer_giant(limits: &GraphLimits) -> Vec<u8> {
    let giant = "x".repeat(limits.answer_bytes / 4);
    let risk = format!(r#"{{"name":"{giant}","url":"u","message":"{giant}","matchingRules":[{ALWAYS}]}}"#);
    let group = format!(r#"{{"edges":[{}],"risks":[{risk}]}}"#, conditional_edges(0..1, 1..2, 1));
    answer(&nodes(2, &format!(r#""a":"{giant}""#)), "", &group)
}

fn answer_escapes(limits: &GraphLimits) -> Vec<u8> {
    let each = limits.answer_bytes / 12 / 40;
    answer(&nodes(40, &format!(r#""a":"{}","b":"{}""#, "\\u0001".repeat(each), "\\u00e9".repeat(each))), "", "")
}

fn answer_numbers(limits: &GraphLimits) -> Vec<u8> {
    let mut groups = "{},".repeat(limits.answer_bytes / 3 - 10_000);
    groups.pop();
    answer(&nodes(2, ""), "", &groups)
}

fn answer_same_node(limits: &GraphLimits) -> Vec<u8> {
    let node = r#"{"version":"1.0.0","payload":"p"},"#;
    let mut all = node.repeat(limits.answer_bytes / node.len() - 10);
    all.pop();
    answer(&all, "", "")
}
