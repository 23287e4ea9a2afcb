//! Graph-data of a publisher who wants to use up memory or time.
//!
//! Each is as large as the caps of [`GraphLimits`] let it be, or goes above one of them: it is read within the documented
//! memory, or refused by name. Versions are `1.MINOR.PATCH`; the channel of everything is `c`.

#[path = "hostile_texts.rs"]
mod texts;

use std::fmt::Write as _;

use clearway_core::GraphLimits;

/// Files by path.
pub(crate) type Files = Vec<(String, Vec<u8>)>;

/// What makes graph-data under some caps.
type Make = fn(&GraphLimits) -> Files;

/// Graph-data by name.
pub(crate) const GRAPH_DATA: &[(&str, Make)] = &[
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
    ("deep nesting", texts::deep),
    ("a giant text", texts::giant_text),
    ("a giant line of blanks", texts::blanks),
    ("aliases of aliases", texts::aliases),
    ("aliases of a long text", texts::text_aliases),
    ("merged objects", texts::merges),
    ("unknown keys", texts::unknown_keys),
    ("repeated lists of items", texts::repeated_items),
    ("many documents in one file", texts::documents),
    ("channel entries that are no versions", bad_entries),
    ("updates that metadata adds", added_updates),
    ("large signatures", signatures),
    ("releases that are none, on one line", texts::no_releases),
    ("aliases of a quoted text", texts::quoted_aliases),
    ("aliases in every release", texts::aliases_in_releases),
];

fn named(path: &str, content: impl Into<Vec<u8>>) -> (String, Vec<u8>) {
    (path.to_owned(), content.into())
}

/// A release as JSON; `rest` is more of its fields.
fn release(version: &str, arch: &str, previous: &str, rest: &str) -> String {
    format!(
        r#"{{"version":"{version}","arch":"{arch}","payload":"r.example.com/p:{version}","previous":[{previous}]{rest}}}"#
    )
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
    (0..count)
        .map(|number| release(&version(number), arch, &listed(number.saturating_sub(window)..number), ""))
        .collect()
}

fn block(files: &mut Files, number: usize, to: &str, from: &str, risk: &str) {
    let name = to.get(..40).unwrap_or(to);
    files.push(named(&format!("blocked-edges/{name}-{number}.yaml"), format!("to: {to}\nfrom: '{from}'\n{risk}")));
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
        out.extend(state.to_le_bytes().map(|byte| char::from(LETTERS[usize::from(byte % 64)])));
    }
    out.truncate(length);
    out
}

fn everything(limits: &GraphLimits) -> Files {
    let arches: Vec<String> = (0..12).map(|number| format!("arch{number}")).collect();
    let count = limits.releases / arches.len();
    let window = (limits.edges / limits.releases).min(58);
    let mut releases = Vec::new();
    for (seed, arch) in (0_u64..).zip(&arches) {
        for number in 0..count {
            let rest = format!(r#","metadata":{{"url":"{}"}}"#, random(100, seed << 32 | number as u64));
            let previous = listed(number.saturating_sub(window)..number);
            releases.push(release(&version(number), arch, &previous, &rest));
        }
    }
    let mut files = around(&releases, limits.channel_versions.min(count));
    for number in 0..limits.blocks {
        let to = format!("{}+arch0", version(number % count));
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
        block(
            &mut files,
            number,
            &version(count - 1 - number % 50),
            ".*",
            &risk(&format!("R{}", number % limits.risks), 10),
        );
    }
    files
}

fn large_expressions(limits: &GraphLimits) -> Files {
    let mut files = around(&chain(1_000, 500, "amd64"), 1_000);
    for number in 0..limits.patterns {
        let from = format!("([0-9a-z]{{{}}}[.]?){{90}}|x{number}", limits.pattern_positions / 400);
        block(&mut files, number, &version(999 - number % 300), &from, &risk("R", 10));
    }
    files
}

fn repetitions(_: &GraphLimits) -> Files {
    let mut files = around(&chain(100, 100, "amd64"), 100);
    for (number, from) in
        ["(a{1000}){1000}", "((a{100}){100}){100}", "(?:(?:\\w{50}){50}){50}", "[a-z]{1,1000}[0-9]{1,1000}"]
            .iter()
            .enumerate()
    {
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
    let mut files = around(&chain(2_000, 60, "amd64"), 2_000);
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
        files.push(named(
            &format!("channels/c{number}.yaml"),
            format!("name: c{number}\nversions: [{}]\n", versions.join(", ")),
        ));
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
    for number in 0..8 {
        let versions: Vec<String> = (0..1_000).map(|at| version((number * 91 + at) % count)).collect();
        files.push(named(
            &format!("channels/n{number}.yaml"),
            format!("name: n{number}\nversions: [{}]\n", versions.join(", ")),
        ));
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
    let others =
        (1..3_000).map(|number| release(&version(number), "amd64", "", &format!(r#","metadata":{{{fewer}}}"#)));
    let releases: Vec<String> = std::iter::once(one).chain(others).collect();
    let mut files = around(&releases, 10);
    files.push(named("releases/two.yaml", format!("- {{version: 1.0.1, payload: x, metadata: {{{pairs}}}}}\n")));
    files.push(named("raw/metadata.json", format!(r#"{{"1.0.0":{{{pairs}}}}}"#)));
    files
}

fn raw_metadata(limits: &GraphLimits) -> Files {
    let releases: Vec<String> = (0..limits.arches)
        .flat_map(|arch| (0..100).map(move |number| release(&version(number), &format!("a{arch}"), "", "")))
        .collect();
    let mut files = around(&releases, 100);
    let count = limits.release_texts / limits.release_bytes / limits.arches;
    let raw: Vec<String> = (0..count)
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
            let previous: Vec<String> =
                (number.saturating_sub(25)..number).map(|at| format!("\"{}\"", long(at))).collect();
            release(&long(number), "amd64", &previous.join(","), "")
        })
        .collect();
    let mut files = around(&releases, 1);
    let versions: Vec<String> = (0..limits.channel_versions).map(long).collect();
    files.push(named("channels/long.yaml", format!("name: long\nversions:\n- {}\n", versions.join("\n- "))));
    for number in 0..200 {
        block(
            &mut files,
            number,
            &long(limits.releases / 10 - 1 - number),
            &format!("(a[.]){{100}}[0-9]*{number}"),
            &risk("R", 10),
        );
    }
    files
}

fn architectures(limits: &GraphLimits) -> Files {
    let releases: Vec<String> =
        (0..=limits.arches).map(|number| release("1.0.0", &format!("a{number}"), "", "")).collect();
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
    let each = limits.ranges / 2;
    let ranges: Vec<String> = (0..each).map(|number| format!("'{}'", version(number * 9))).collect();
    for number in 0..limits.blocks / each {
        let (to, name) = (ranges.join(", "), format!("R{number}"));
        files.push(named(&format!("risks/{name}.yaml"), format!("to: [{to}]\nfrom: [{to}]\n{}", risk(&name, 10))));
    }
    files
}

fn small_values(_: &GraphLimits) -> Files {
    let mut files = around(&chain(100, 100, "amd64"), 100);
    let values = "0,".repeat(900);
    for number in 0..1_000 {
        let text =
            format!("name: R{number}\nurl: https://e\nmessage: m\nmatchingRules: [{{type: T, a: [{values}0]}}]\n");
        block(&mut files, number, &version(number % 100), ".*", &text);
    }
    files
}

fn same_name(limits: &GraphLimits) -> Files {
    let mut files = around(&chain(100, 100, "amd64"), 100);
    for number in 0..limits.blocks {
        let text = format!(
            "name: R\nurl: https://e/{}\nmessage: m\nmatchingRules: [{{type: Always}}]\n",
            number % limits.risks
        );
        block(&mut files, number, "1.0.99", &format!("^1[.]0[.]{}[+]", number % limits.patterns), &text);
    }
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
            let add = list(number.saturating_sub(100)..number);
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
