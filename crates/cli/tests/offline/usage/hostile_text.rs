//! Texts of strangers in every command: what could drive a terminal or deceive its reader is shown as an escape.

use std::fs;
use std::path::Path;
use std::process::Command;

/// A carriage return, an escape sequence, its eight-bit form, a bidirectional override, and an invisible character.
const HOSTILE: &str = "a\r\u{1b}[2J\u{9b}31m\u{202e}\u{200b}z";

fn is_hostile(letter: char) -> bool {
    (letter.is_control() && letter != '\n' && letter != '\t') || matches!(letter, '\u{202e}' | '\u{200b}')
}

/// Files in which every text that a stranger chooses is hostile, as far as the format has room for it.
fn furnish(place: &Path) {
    let json = serde_json::to_string(HOSTILE).unwrap();
    let write = |path: &str, text: &str| {
        let path = place.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    write("data/version", "1.1.0\n");
    write("data/channels/c.yaml", "name: c\nversions: [1.0.0, 1.0.1, 1.0.2]\n");
    write(
        "data/releases/r.yaml",
        &format!(
            "- {{version: 1.0.0, arch: amd64, payload: p, metadata: {{url: {json}}}}}\n\
             - {{version: 1.0.1, arch: amd64, payload: {json}, previous: [1.0.0], metadata: {{{json}: {json}}}}}\n\
             - {{version: 1.0.2, arch: amd64, payload: q, previous: [1.0.0]}}\n"
        ),
    );
    for (to, rules) in [
        ("1.0.1", format!("- {{type: PromQL, promql: {{promql: {json}}}}}\n- {{type: {json}, x: {json}}}")),
        (
            "1.0.2",
            format!(
                "- {{type: Resource, resource: {{apiVersion: v1, kind: {json}, name: {json}, expression: {json}}}}}"
            ),
        ),
    ] {
        let head = format!("to: {to}\nfrom: .*\nname: {json}\nurl: {json}\nmessage: {json}\nmatchingRules:\n");
        write(&format!("data/blocked-edges/{to}-x.yaml"), &(head + &rules + "\n"));
    }
    write(&format!("data/blocked-edges/odd {}.yaml", HOSTILE.replace('/', "")), &format!("to: {json}\nfrom: {json}\n"));
    write(
        "objects.yaml",
        &format!(
            "apiVersion: example.com/v1\nkind: Thing\nmetadata: {{name: {json}, namespace: {json}}}\n\
             status:\n  conditions:\n  - {{type: Ready, status: 'False', reason: {json}, message: {json}}}\n"
        ),
    );
    write("broken.yaml", &format!("a: {HOSTILE}\nb: [\n"));
    write("series.prom", "up{a=\"\u{1b}[2J\u{202e}\"} 1\n");
    let risk = format!(
        "{{\"name\": {json}, \"url\": {json}, \"message\": {json}, \"matchingRules\": [{{\"type\": \"Always\"}}]}}"
    );
    write(
        "answer.json",
        &format!(
            "{{\"version\": 1, \"nodes\": [{{\"version\": \"1.0.0\", \"payload\": {json}, \"metadata\": {{{json}: {json}}}}}, \
             {{\"version\": \"1.0.1\", \"payload\": \"p\"}}], \"edges\": [], \"conditionalEdges\": [{{\"edges\": \
             [{{\"from\": \"1.0.0\", \"to\": \"1.0.1\"}}], \"risks\": [{risk}]}}]}}"
        ),
    );
    // YAML has no raw control characters, and a file with one is not used.
    let json = json.replace('\u{9b}', "\\u009b");
    let condition = format!("{{type: Recommended, status: 'False', reason: R, message: {json}}}");
    write(
        "state/objects/config.openshift.io/ClusterVersion/_/version.yaml",
        &format!(
            "apiVersion: config.openshift.io/v1\nkind: ClusterVersion\nmetadata: {{name: version, generation: 1, resourceVersion: '1'}}\n\
             spec: {{clusterID: 8d3c9d26-95cf-4b4e-8d0d-0a1f4e6b7c11, channel: {json}}}\n\
             status:\n  observedGeneration: 1\n  desired: {{version: 1.0.0, image: {json}, url: {json}, channels: [{json}]}}\n\
             \x20 history: [{{state: Completed, version: 1.0.0, image: {json}, startedTime: '2026-01-01T00:00:00Z', completionTime: '2026-01-01T00:00:00Z', verified: false, acceptedRisks: {json}}}]\n\
             \x20 conditions: [{{type: Ready, status: 'False', reason: R, message: {json}}}, {{type: RetrievedUpdates, status: 'False', reason: R, message: {json}}}, {{type: Failing, status: 'True', reason: R, message: {json}}}]\n\
             \x20 availableUpdates: [{{version: 1.0.2, image: {json}}}]\n\
             \x20 conditionalUpdates: [{{release: {{version: 1.0.1, image: p, url: {json}}}, risks: [{{name: R, url: {json}, message: {json}, matchingRules: [{{type: Always}}]}}], conditions: [{condition}]}}]\n"
        ),
    );
}

#[test]
fn no_command_lets_foreign_text_drive_the_terminal() {
    let place = tempfile::tempdir().unwrap();
    furnish(place.path());
    let mut commands: Vec<String> = Vec::new();
    for format in ["", " -o json", " -o yaml"] {
        for command in [
            "graph lint --graph data",
            "graph show c --graph data",
            "graph explain 1.0.0 1.0.1 --graph data",
            "graph explain 1.0.0 1.0.1 --graph answer.json",
            "graph paths 1.0.0 1.0.1 --graph answer.json",
            "graph diff answer.json answer.json",
            "assess --graph answer.json --version 1.0.0",
            "risk test --graph data",
            "status show -f objects.yaml",
            "status lint -f objects.yaml",
            "status show -f broken.yaml",
            "promql query up --series series.prom",
            "upgrade --state state --include-not-recommended",
            "upgrade status --state state",
            "upgrade history --details --state state",
            "upgrade plan --to 1.0.1 --state state",
        ] {
            commands.push(format!("{command}{format}"));
        }
    }
    for command in [
        "assess --graph answer.json --version 1.0.0 --why",
        "assess --graph data --version 1.0.0 --channel c --why",
        "graph render c --graph data -o dot",
        "risk explain x --graph data",
        "upgrade --to 1.0.1 --state state",
        "upgrade channel x --state state",
        "release show objects.yaml",
        "release verify data",
        "snapshot show data",
        "status lint -f broken.yaml -o sarif",
    ] {
        commands.push(command.to_owned());
    }
    let mut shown = 0;
    for command in commands {
        let output = Command::new(env!("CARGO_BIN_EXE_clearway"))
            .args(command.split(' '))
            .current_dir(place.path())
            .env_remove("CLEARWAY_STATE")
            .output()
            .unwrap();
        let printed = [output.stdout, output.stderr].concat();
        let printed = String::from_utf8(printed).unwrap();
        assert!(!printed.is_empty(), "{command}");
        // YAML for a file or a pipe is data, and escapes what YAML has to; for a terminal all of it is escaped.
        let yaml = command.ends_with("-o yaml") || command.contains("-o dot");
        let found = printed.chars().find(|letter| (letter.is_ascii() || !yaml) && is_hostile(*letter));
        assert_eq!(found, None, "{command}: {printed:?}");
        shown +=
            usize::from(["\\u{202e}", "\\u202e", "\\x1b", "\\u001b"].iter().any(|escape| printed.contains(escape)));
    }
    assert!(shown >= 35, "only {shown} commands printed any of it");
}
