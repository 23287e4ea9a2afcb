//! What to do about each code of graph-data, with an example of it and one without it.
//!
//! A code without an example is about something that a few lines cannot show, such as a file that cannot be opened.

use clearway_core::diagnostic::CodePage;

use super::{CODES, Code};

/// The pages of all codes, in their order.
pub fn pages() -> Vec<CodePage> {
    CODES.iter().zip(ADVICE).map(|(entry, advice)| page(entry, *advice)).collect()
}

fn page(entry: &Code, (_, action, wrong, right): Advice) -> CodePage {
    CodePage::new(entry.code, Some(entry.severity), entry.title, entry.text, action).with_example(wrong, right)
}

/// A code, what to do, what has it, and what does not.
type Advice = (&'static str, &'static str, &'static str, &'static str);

/// One for each code, in the same order.
const ADVICE: &[Advice] = &[
    (
        "GD001",
        "Write the version of the format into the file `version`, as one line.",
        "# the directory has no file `version`",
        "1.2.0",
    ),
    ("GD002", "Use a program that supports the other major version, or convert the files.", "2.0.0", "1.2.0"),
    ("GD003", "Update Clearway to read the additions of the newer version.", "1.9.0", "1.2.0"),
    (
        "GD004",
        "Rename the file so that it ends in `.yaml`.",
        "blocked-edges/1.5.0-SlowEtcd.yml",
        "blocked-edges/1.5.0-SlowEtcd.yaml",
    ),
    ("GD005", "Correct the spelling, or remove the key.", "to: 1.5.0\nform: 1[.]4[.].*", "to: 1.5.0\nfrom: 1[.]4[.].*"),
    (
        "GD006",
        "Remove all but one of them.",
        "to: 1.5.0\nfrom: 1[.]4[.]0[+].*\nfrom: 1[.]4[.]1[+].*",
        "to: 1.5.0\nfrom: 1[.]4[.][01][+].*",
    ),
    (
        "GD007",
        "Put each object into a file of its own.",
        "to: 1.5.0\nfrom: .*\n---\nto: 1.5.1\nfrom: .*",
        "to: 1.5.0\nfrom: .*",
    ),
    (
        "GD008",
        "Remove the file, or make it a regular file in the directory that the reader may read.",
        "blocked-edges/1.5.0.yaml -> /somewhere/else.yaml",
        "blocked-edges/1.5.0.yaml",
    ),
    (
        "GD010",
        "Write the channel as an object with `name` and a list `versions`.",
        "name: stable-1.5\nversions: 1.5.0",
        "name: stable-1.5\nversions:\n- 1.5.0",
    ),
    ("GD011", "Write a semantic version, or remove the entry.", "versions:\n- \"1.5\"", "versions:\n- 1.5.0"),
    (
        "GD012",
        "Merge the two files, or give one of the channels another name.",
        "# channels/stable-1.5.yaml and channels/stable.yaml\nname: stable-1.5",
        "# only channels/stable-1.5.yaml\nname: stable-1.5",
    ),
    ("GD013", "Nothing, while clusters run the version. Afterwards remove it from the channel.", "", ""),
    ("GD014", "Rename the channel.", "name: Stable 1.5", "name: stable-1.5"),
    ("GD020", "Write the version that is blocked under `to`.", "to: latest\nfrom: .*", "to: 1.5.0\nfrom: .*"),
    (
        "GD021",
        "Correct the regular expression.",
        "to: 1.5.0\nfrom: 1[.]4[.](0|1",
        "to: 1.5.0\nfrom: 1[.]4[.](0|1)[+].*",
    ),
    (
        "GD022",
        "Add the missing texts, or remove all of them to block the edges for every cluster.",
        "to: 1.5.0\nfrom: .*\nname: SlowEtcd\nmessage: etcd may lose its leader.",
        "to: 1.5.0\nfrom: .*\nname: SlowEtcd\nurl: https://example.com/issues/398\nmessage: etcd may lose its leader.\n\
         matchingRules:\n- type: Always",
    ),
    (
        "GD023",
        "Say which clusters have the risk, or write `type: Always` to say that all have it.",
        "to: 1.5.0\nfrom: .*\nname: SlowEtcd\nurl: https://example.com/issues/398\nmessage: etcd may lose its leader.",
        "to: 1.5.0\nfrom: .*\nname: SlowEtcd\nurl: https://example.com/issues/398\nmessage: etcd may lose its leader.\n\
         matchingRules:\n- type: Always",
    ),
    (
        "GD024",
        "Write `matchingRules` as a list of objects that each have a `type`.",
        "matchingRules:\n  type: Always",
        "matchingRules:\n- type: Always",
    ),
    (
        "GD025",
        "Correct the type (Always, PromQL, Resource, Condition, Bundle, Policy, Rollout), or ignore this if newer clusters support it.",
        "matchingRules:\n- type: PromQl",
        "matchingRules:\n- type: PromQL",
    ),
    ("GD026", "Write the release that has the correction.", "fixedIn: '1.5'", "fixedIn: 1.5.2"),
    (
        "GD027",
        "Give the risks different names, or make url, message and rules the same.",
        "# 1.5.0-SlowEtcd.yaml\nmessage: etcd may lose its leader.\n# 1.5.1-SlowEtcd.yaml\nmessage: etcd is slow.",
        "# both files\nmessage: etcd may lose its leader.",
    ),
    ("GD028", "Write the URL of the issue.", "autoExtend: ISSUE-398", "autoExtend: https://example.com/issues/398"),
    (
        "GD030",
        "Correct the file, or remove it.",
        "{\"1.5.0\": [\"previous\"]}",
        "{\"1.5.0\": {\"io.openshift.upgrades.graph.previous.remove\": \"1.4.0\"}}",
    ),
    (
        "GD031",
        "Write versions, separated by commas, or a regular expression where the key ends in `_regex`.",
        "\"io.openshift.upgrades.graph.previous.remove_regex\": \"1[.]4[.](\"",
        "\"io.openshift.upgrades.graph.previous.remove_regex\": \"1[.]4[.].*\"",
    ),
    (
        "GD040",
        "Write a list of releases.",
        "1.5.0: registry.example.com/platform",
        "- version: 1.5.0\n  payload: registry.example.com/platform@sha256:…",
    ),
    (
        "GD041",
        "Give the release a `version` and a `payload`.",
        "- version: '1.5'",
        "- version: 1.5.0\n  payload: registry.example.com/platform@sha256:…",
    ),
    ("GD042", "Write whole versions.", "previous: ['1.4']", "previous: [1.4.2]"),
    (
        "GD043",
        "Swap `previous` and `next`, or correct the version.",
        "- version: 1.5.0\n  previous: [1.5.1]",
        "- version: 1.5.0\n  previous: [1.4.2]",
    ),
    (
        "GD044",
        "Remove one entry. If the payloads differ, find out which one was released.",
        "- version: 1.5.0\n  payload: registry.example.com/a\n- version: 1.5.0\n  payload: registry.example.com/b",
        "- version: 1.5.0\n  payload: registry.example.com/a",
    ),
    ("GD045", "Write the value in quotes.", "metadata:\n  build: 5", "metadata:\n  build: '5'"),
    (
        "GD050",
        "Write a version, a range such as `1.5.0 - 1.5.2`, or `1.5.x`.",
        "to: 1.5.0 to 1.5.2",
        "to: 1.5.0 - 1.5.2",
    ),
    ("GD051", "Write a version, a range, `1.4.x` or `*`.", "from: 1.4", "from: 1.4.x"),
    (
        "GD060",
        "Ask the service for the graph of one channel, and check that the file is its whole answer.",
        "<html>…",
        "{\"nodes\": […], \"edges\": […]}",
    ),
    (
        "GD061",
        "Report it to the administrators of the service: a node has a version and a payload.",
        "{\"version\": \"latest\", \"payload\": \"…\"}",
        "{\"version\": \"1.5.0\", \"payload\": \"…\"}",
    ),
    (
        "GD062",
        "Report it to the administrators of the service: an edge is a pair of indices of nodes.",
        "[[0, 7]]",
        "[[0, 1]]",
    ),
    (
        "GD063",
        "Report it to the administrators of the service: a risk has url, name, message and matchingRules.",
        "{\"name\": \"SlowEtcd\"}",
        "{\"url\": \"…\", \"name\": \"SlowEtcd\", \"message\": \"…\", \"matchingRules\": [{\"type\": \"Always\"}]}",
    ),
    ("GD064", "Report it to the administrators of the service.", "", ""),
    (
        "GD065",
        "Report it to the administrators of the service: one of the two is wrong, and the cautious one is used.",
        "",
        "",
    ),
    ("GD066", "Report it to the administrators of the service.", "", ""),
    ("GD067", "Use a service with smaller channels, or raise the cap where the limits are configured.", "", ""),
    ("GD068", "Report it to the administrators of the service.", "", ""),
    ("GD070", "Remove old releases, channels or blocks, or split the graph-data by product.", "", ""),
    ("GD071", "Shorten the text, the list or the expression that the message names.", "", ""),
    ("GD100", "Correct the expression, or remove the block.", "from: 1[.]4[.]99[+].*", "from: 1[.]4[.]2[+].*"),
    ("GD101", "End the version with `[+]` and no `$`.", "from: ^1[.]4[.]2$", "from: ^1[.]4[.]2[+].*$"),
    ("GD102", "Write `[+]` after the version.", "from: ^1[.]4[.]3", "from: ^1[.]4[.]3[+]"),
    ("GD103", "Write each dot of a version as `[.]`.", "from: ^1.4.2[+]", "from: ^1[.]4[.]2[+]"),
    ("GD104", "Write `^` before the version.", "from: 4[.]18[.]1[+]", "from: ^4[.]18[.]1[+]"),
    (
        "GD105",
        "Remove the alternative, unless the release is still to come.",
        "from: ^1[.]4[.](2|99)[+]",
        "from: ^1[.]4[.]2[+]",
    ),
    ("GD106", "Simplify the expressions, or lint fewer files at once.", "", ""),
    (
        "GD110",
        "Correct the query; `clearway promql check QUERY` shows the place.",
        "promql: max(cluster_proxy_enabled",
        "promql: max(cluster_proxy_enabled)",
    ),
    (
        "GD111",
        "Make the query smaller: name the metric, shorten ranges, use fewer selectors.",
        "promql: max({job=\"node\"})",
        "promql: max(node_ready{job=\"node\"})",
    ),
    (
        "GD112",
        "Aggregate to one series, and add a branch that gives 0 when the risk does not apply.",
        "promql: cluster_proxy_enabled == 1",
        "promql: max(cluster_proxy_enabled) or 0 * group(cluster_version)",
    ),
    (
        "GD113",
        "Write the query under `promql.promql`.",
        "- type: PromQL\n  promql: up",
        "- type: PromQL\n  promql:\n    promql: max(up)",
    ),
    (
        "GD114",
        "Check the name of the metric on a cluster.",
        "promql: max(cluster_proxy_enable)",
        "promql: max(cluster_proxy_enabled)",
    ),
    (
        "GD115",
        "Correct the expression; `clearway cel check EXPRESSION` shows the place.",
        "expression: object.spec.mode = 'slow'",
        "expression: object.spec.mode == 'slow'",
    ),
    ("GD116", "Look at fewer objects or fields, and avoid nested loops over lists.", "", ""),
    (
        "GD117",
        "Write the expression under `resource.expression`.",
        "- type: Resource\n  resource: {kind: Node}",
        "- type: Resource\n  resource:\n    apiVersion: v1\n    kind: Node\n    expression: object.spec.unschedulable",
    ),
    (
        "GD118",
        "Correct the parameter; docs/rules.md lists them.",
        "- type: Bundle\n  bundle: {version: v1.2}",
        "- type: Bundle\n  bundle:\n    group: gateway.networking.k8s.io\n    version: <1.2.0",
    ),
    (
        "GD119",
        "Correct the spelling, or remove the parameter; docs/rules.md lists them.",
        "bundle:\n  group: gateway.networking.k8s.io\n  versions: <1.2.0",
        "bundle:\n  group: gateway.networking.k8s.io\n  version: <1.2.0",
    ),
    ("GD120", "Correct `to`, or remove the block if the release will never be listed.", "", ""),
    (
        "GD121",
        "Declare the risk for the release in between, or set `fixedIn` where it was fixed.",
        "to: 1.5.0\n# and\nto: 1.5.2",
        "to: 1.5.0 - 1.5.2",
    ),
    ("GD122", "Keep one of the two files.", "", ""),
    (
        "GD123",
        "Write the first release of the same minor version without the problem.",
        "to: 1.5.1\nfixedIn: 1.5.0",
        "to: 1.5.1\nfixedIn: 1.5.2",
    ),
    (
        "GD124",
        "Add `fixedIn` if the next release is fixed; otherwise declare the risk for it.",
        "to: 1.5.1",
        "to: 1.5.1\nfixedIn: 1.5.2",
    ),
    ("GD125", "Write the same `fixedIn` in all files of the risk for one minor version.", "", ""),
    (
        "GD126",
        "Add `name`, `url` and `message`, so that administrators learn why.",
        "to: 1.5.0\nfrom: .*",
        "to: 1.5.0\nfrom: .*\nname: SlowEtcd\nurl: https://example.com/issues/398\nmessage: etcd may lose its leader.\n\
         matchingRules:\n- type: Always",
    ),
    ("GD127", "Remove the block if the risk says enough, or the risk if no cluster should update.", "", ""),
    (
        "GD128",
        "Name the kind and the name of a constraint; write `objects` as Cluster or Release, and `whenAbsent` as the rule's page says.",
        "type: Policy\npolicy: {kind: RequiredLabels}",
        "type: Policy\npolicy: {kind: RequiredLabels, name: owner}",
    ),
    ("GD129", "Remove the parameter, or correct its name; `docs/rules.md` lists those of `Policy` rules.", "", ""),
    (
        "GD130",
        "Rename the file, or correct `to`.",
        "# 1.5.0-SlowEtcd.yaml\nto: 1.5.1",
        "# 1.5.1-SlowEtcd.yaml\nto: 1.5.1",
    ),
    ("GD131", "Rename the file.", "# 1.5.1-etcd.yaml\nname: SlowEtcd", "# 1.5.1-SlowEtcd.yaml\nname: SlowEtcd"),
    (
        "GD132",
        "Correct the name or the url.",
        "name: slow etcd\nurl: issues/398",
        "name: SlowEtcd\nurl: https://example.com/issues/398",
    ),
    ("GD133", "Shorten the message, and put the details behind the url.", "", ""),
    (
        "GD134",
        "Join the two rules, or remove one.",
        "- type: PromQL\n  promql: {promql: max(a)}\n- type: PromQL\n  promql: {promql: max(b)}",
        "- type: PromQL\n  promql: {promql: max(a or b)}",
    ),
    (
        "GD135",
        "Remove the parameters, or use the rule type that they are for.",
        "- type: Always\n  promql: {promql: max(a)}",
        "- type: PromQL\n  promql: {promql: max(a)}",
    ),
    ("GD136", "Run `clearway graph convert -o blocks --keep --output-dir DIR`, and publish its files.", "", ""),
    ("GD140", "Remove one of the entries.", "versions:\n- 1.5.0\n- 1.5.0", "versions:\n- 1.5.0"),
    ("GD141", "Sort the list.", "versions:\n- 1.5.1\n- 1.5.0", "versions:\n- 1.5.0\n- 1.5.1"),
    (
        "GD142",
        "Add the version to the preceding channel, or remove it from this one.",
        "# stable-1.5 lists 1.5.2, fast-1.5 does not",
        "# both list 1.5.2",
    ),
    ("GD143", "Nothing for the graph. Make the channels smaller to have them checked.", "", ""),
    ("GD150", "Look at the risks of its updates: narrow their rules, or publish a release without them.", "", ""),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_has_its_page() {
        let codes: Vec<&str> = CODES.iter().map(|entry| entry.code).collect();
        assert_eq!(ADVICE.iter().map(|(code, ..)| *code).collect::<Vec<_>>(), codes);
        let pages = pages();
        assert!(pages.iter().all(|page| !page.action.is_empty() && page.wrong.is_empty() == page.right.is_empty()));
    }
}
