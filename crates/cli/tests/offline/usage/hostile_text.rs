//! Texts of strangers in every command: what could drive a terminal or deceive its reader is shown as an escape.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::process::Command;

/// A carriage return, an escape sequence, its eight-bit form, a bidirectional override, and an invisible character.
const HOSTILE: &str = "a\r\u{1b}[2J\u{9b}31m\u{202e}\u{200b}\u{7f}z";

fn is_hostile(letter: char) -> bool {
    (letter.is_control() && letter != '\n' && letter != '\t') || matches!(letter, '\u{202e}' | '\u{200b}')
}

/// Files in which every text that a stranger chooses is hostile, as far as the format has room for it.
fn furnish(place: &Path) {
    let json = serde_json::to_string(HOSTILE).unwrap().replace('\u{7f}', "\\u007f");
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
    for (path, text) in TEMPLATES {
        write(path, &text.replace("HOSTILE", &json));
    }
}

/// Files of bundles, Gateways, policies, catalogues, releases, snapshots and tests; `HOSTILE` is the text, quoted.
const TEMPLATES: [(&str, &str); 18] = [
    ("crds.yaml", CRD),
    (
        "thing.yaml",
        "{apiVersion: a.io/v1, kind: Thing, metadata: {name: HOSTILE, namespace: HOSTILE}, spec: {HOSTILE: HOSTILE}}\n",
    ),
    (
        "gateway.yaml",
        "apiVersion: gateway.networking.k8s.io/v1\nkind: Gateway\nmetadata: {name: HOSTILE, namespace: HOSTILE}\n\
         spec: {gatewayClassName: HOSTILE, listeners: [{name: HOSTILE, protocol: HOSTILE, port: 80, hostname: HOSTILE}]}\n\
         ---\napiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {name: HOSTILE, namespace: HOSTILE}\n\
         spec: {parentRefs: [{name: HOSTILE}], hostnames: [HOSTILE], rules: [{backendRefs: [{name: HOSTILE, port: 80}]}]}\n",
    ),
    ("tested/version", "1.1.0\n"),
    ("tested/channels/c.yaml", "name: c\nversions: [1.0.0, 1.0.1]\n"),
    (
        "tested/releases/r.yaml",
        "- {version: 1.0.0, arch: amd64, payload: p}\n- {version: 1.0.1, arch: amd64, payload: q, previous: [1.0.0]}\n",
    ),
    (
        "tested/blocked-edges/x.yaml",
        "{to: 1.0.1, from: .*, name: Odd, url: HOSTILE, message: HOSTILE, matchingRules: [{type: Always}]}\n",
    ),
    ("tested/risk-tests/Odd.yaml", "{risk: Odd, cases: [{name: HOSTILE, expect: no match, reason: HOSTILE}]}\n"),
    (
        "policies/template.yaml",
        "apiVersion: templates.gatekeeper.sh/v1\nkind: ConstraintTemplate\nmetadata: {name: odd}\n\
         spec:\n  crd: {spec: {names: {kind: Odd}}}\n  targets:\n  - target: admission.k8s.gatekeeper.sh\n    rego: |\n      \
         package odd\n      violation[{\"msg\": msg}] { msg := input.review.object.metadata.annotations.note }\n",
    ),
    (
        "policies/constraint.yaml",
        "apiVersion: constraints.gatekeeper.sh/v1beta1\nkind: Odd\nmetadata: {name: odd, annotations: {HOSTILE: HOSTILE}}\n\
         spec: {match: {kinds: [{apiGroups: [''], kinds: [ConfigMap]}]}}\n",
    ),
    (
        "policies/object.yaml",
        "{apiVersion: v1, kind: ConfigMap, metadata: {name: HOSTILE, namespace: HOSTILE, annotations: {note: HOSTILE}}}\n",
    ),
    (
        "suite.yaml",
        "apiVersion: test.gatekeeper.sh/v1alpha1\nkind: Suite\nmetadata: {name: HOSTILE}\n\
         tests:\n- name: HOSTILE\n  template: policies/template.yaml\n  constraint: policies/constraint.yaml\n  \
         cases: [{name: HOSTILE, object: policies/object.yaml, assertions: [{violations: no, message: HOSTILE}]}]\n",
    ),
    (
        "catalog/odd/product.yaml",
        "{name: odd, title: HOSTILE, url: HOSTILE, summary: HOSTILE, channel: HOSTILE, HOSTILE: HOSTILE, \
         detect: [{objects: {apiVersion: v1, kind: HOSTILE, name: HOSTILE}, label: HOSTILE}]}\n",
    ),
    ("cel.textproto", "name: HOSTILE\nsection { name: HOSTILE test { name: HOSTILE expr: HOSTILE } }\n"),
    ("promql.test", "load 1m\n  HOSTILE 1\neval instant at 1m HOSTILE\n"),
    (
        "release/release-manifests/release-metadata",
        "{\"kind\": \"cincinnati-metadata-v0\", \"version\": \"1.0.1\", \"metadata\": {\"url\": HOSTILE, HOSTILE: HOSTILE}}",
    ),
    (
        "release/release-manifests/0000_10_x.yaml",
        "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: b, annotations: {note: HOSTILE, odd: \"a\\u202ez\"}}, data: {HOSTILE: HOSTILE}}\n",
    ),
    (
        "kept/snapshot.json",
        "{\"schema\": \"1.0\", \"takenAt\": \"2026-05-04T09:00:00Z\", \"redacted\": false, \"cluster\": {\"id\": HOSTILE, \
         \"version\": \"1.0.0\", \"channel\": HOSTILE}, \"sources\": [HOSTILE], \"series\": {\"notCollected\": HOSTILE}, \
         \"objects\": [], \"crds\": {\"notCollected\": HOSTILE}, \"leftOut\": [HOSTILE]}",
    ),
];

const CRD: &str = "apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.a.io, annotations: {a.io/bundle-version: HOSTILE, a.io/channel: HOSTILE, HOSTILE: HOSTILE}}
spec:
  group: a.io
  scope: Namespaced
  names: {kind: Thing, plural: things, shortNames: [HOSTILE]}
  versions:
  - name: HOSTILE
    served: true
    storage: true
    deprecationWarning: HOSTILE
    schema:
      openAPIV3Schema:
        type: object
        description: HOSTILE
        properties:
          spec:
            type: object
            properties: {HOSTILE: {type: string, enum: [HOSTILE], pattern: HOSTILE}}
            x-kubernetes-validations: [{rule: HOSTILE, message: HOSTILE}]
";

/// Commands that write a report into a file.
const REPORTS: [(&str, &str); 4] = [
    ("policy verify suite.yaml --junit policy.xml", "policy.xml"),
    ("cel test cel.textproto --junit cel.xml", "cel.xml"),
    ("risk test --graph tested --junit risk.xml", "risk.xml"),
    ("graph render --graph answer.json --output drawing.mmd", "drawing.mmd"),
];

/// Commands that are not in the table, and why.
const EXEMPT: &[(&str, &str)] = &[
    ("bundle build", "reads no file"),
    ("bundle explain", "prints what is in the program"),
    ("bundle installed", "reads a cluster only: `live_bundle/hostile_text.rs` has it"),
    ("bundle migrate", "reads a cluster only: `live_bundle/hostile_text.rs` has it"),
    ("catalog publish", "needs a registry; it reads what `catalog list` reads"),
    ("cel explain", "prints what is in the program"),
    ("completions", "prints what is in the program"),
    ("demo", "shows samples that are in the program"),
    ("explain", "prints what is in the program"),
    ("gateway explain", "prints what is in the program"),
    ("graph init", "writes a sample that is in the program"),
    ("graph publish", "needs a registry; it reads what `graph lint` reads"),
    ("install update-service", "prints what is in the program"),
    ("man", "prints what is in the program"),
    ("operator", "logs through the sanitiser of records: `tests/hostile` has forged records"),
    ("serve", "logs through the sanitiser of records: `tests/hostile` has forged records"),
    ("snapshot collect", "reads a cluster or Prometheus only: `live_bundle/hostile_text.rs` has it"),
    ("status explain", "prints what is in the program"),
    ("status wait", "reads a cluster only: `live_bundle/hostile_text.rs` has it"),
    ("uninstall update-service", "prints what is in the program"),
    ("version", "prints what is in the program"),
];

/// The commands that do something, from the pages that are written of the definition of the command line.
fn leaf_commands(place: &Path) -> Vec<String> {
    let pages = place.join("pages");
    let written = Command::new(env!("CARGO_BIN_EXE_clearway")).args(["man", "--output-dir"]).arg(&pages).status();
    assert!(written.unwrap().success());
    let name = |file: fs::DirEntry| file.file_name().into_string().unwrap();
    let names: Vec<String> = fs::read_dir(pages).unwrap().map(|file| name(file.unwrap())).collect();
    let mut names: Vec<&str> =
        names.iter().filter_map(|name| name.strip_prefix("clearway-")?.strip_suffix(".1")).collect();
    names.sort_unstable();
    assert!(names.len() > 60, "{names:?}");
    let groups = |name: &str| names.iter().any(|other| other.starts_with(&format!("{name}-")));
    names.iter().filter(|name| !groups(name)).map(|name| (*name).to_owned()).collect()
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
    for format in ["", " -o json"] {
        for command in [
            "graph list --graph data",
            "graph stranded c --graph data",
            "risk list --graph data",
            "bundle show crds.yaml",
            "bundle diff crds.yaml crds.yaml",
            "bundle check crds.yaml crds.yaml",
            "bundle preflight crds.yaml --snapshot kept",
            "catalog list --catalog catalog",
            "catalog show odd --catalog catalog",
            "cel check object.x --schema crds.yaml",
            "cel eval object.spec --object thing.yaml",
            "cel test cel.textproto",
            "fleet assess --graph answer.json --snapshots kept",
            "fleet diff --graph answer.json --against answer.json --snapshots kept",
            "gateway audit -f gateway.yaml",
            "gateway diff -f gateway.yaml --base objects.yaml",
            "gateway status -f gateway.yaml",
            "policy audit -f policies --snapshot kept",
            "policy bench -f policies --iterations 1",
            "policy explain -f policies policies/object.yaml",
            "policy test -f policies",
            "policy lint -f policies",
            "policy preview --release release -f policies",
            "promql test promql.test",
            "release show release",
            "release verify release",
            "snapshot show kept",
        ] {
            commands.push(format!("{command}{format}"));
        }
    }
    for command in [
        "assess --graph answer.json --version 1.0.0 --why",
        "assess --graph data --version 1.0.0 --channel c --why",
        "graph render c --graph data -o dot",
        "graph render c --graph data -o mermaid",
        "graph render c --graph data -o svg",
        "graph build --channel c --graph data",
        "graph build --graph answer.json",
        "graph lint --graph data -o sarif",
        "graph lint --graph data -o wide",
        "status show -f objects.yaml -o name",
        "status show -f objects.yaml -o wide",
        "risk list --graph data -o name",
        "gateway status -f gateway.yaml -o name",
        "gateway audit -f gateway.yaml -o yaml",
        "bundle check crds.yaml crds.yaml -o junit",
        "bundle check crds.yaml crds.yaml -o sarif",
        "bundle convert thing.yaml --to v1 --crds crds.yaml -o json",
        "bundle preflight crds.yaml --snapshot kept -o yaml",
        "policy preview --release release -f policies -o sarif",
        "policy preview --release release -f policies -o policyreport",
        "snapshot show kept -o yaml",
        "release show release -o yaml",
        "upgrade status --state state -o name",
        "risk explain x --graph data",
        "upgrade --to 1.0.1 --state state",
        "upgrade channel x --state state",
        "release show objects.yaml",
        "release verify data",
        "snapshot show data",
        "status lint -f broken.yaml -o sarif",
        "bundle convert thing.yaml --to v1 --crds crds.yaml -o yaml",
        "bundle guard crds.yaml",
        "bundle ledger crds.yaml",
        "gateway render -f gateway.yaml",
        "graph build --graph data --output-dir built",
        "graph convert --graph data -o risks --output-dir converted",
        "graph convert --graph tested -o risks --output-dir converted",
        "policy verify suite.yaml",
        "promql check up{a=\"\u{1b}[2J\u{202e}\"}",
        "release pack policies --version 1.0.0 --output-dir packed",
        "release render release --output-dir rendered",
        "upgrade accept x --reason y --state state",
        "upgrade recommend --state state",
    ] {
        commands.push(command.to_owned());
    }
    let leaves = leaf_commands(place.path());
    let stale = EXEMPT.iter().find(|(command, _)| !leaves.contains(&command.replace(' ', "-")));
    assert_eq!(stale, None, "there is no such command");
    for leaf in leaves {
        let is_in_table = commands.iter().any(|command| command.replace(' ', "-").starts_with(&format!("{leaf}-")));
        let is_exempt = EXEMPT.iter().any(|(command, _)| command.replace(' ', "-") == leaf);
        assert!(is_in_table != is_exempt, "`{leaf}` is in the table: {is_in_table}; exempt: {is_exempt}");
    }
    // Reports in files are looked at, too.
    for (command, _) in REPORTS {
        commands.push(command.to_string());
    }
    let mut shown = 0;
    for command in commands {
        let output = Command::new(env!("CARGO_BIN_EXE_clearway"))
            .args(command.split(' '))
            .current_dir(place.path())
            .env_remove("CLEARWAY_STATE")
            .env_remove("KUBECONFIG")
            .env("HOME", place.path())
            .output()
            .unwrap();
        let printed = [output.stdout, output.stderr].concat();
        let printed = String::from_utf8(printed).unwrap();
        assert!(!printed.is_empty(), "{command}");
        // This is a pipe: what a terminal must not get is not in data either, because somebody looks at it later.
        assert_eq!(printed.chars().find(|letter| is_hostile(*letter)), None, "{command}: {printed:?}");
        shown +=
            usize::from(["\\u{202e}", "\\u202e", "\\x1b", "\\u001b"].iter().any(|escape| printed.contains(escape)));
    }
    assert!(shown >= 50, "only {shown} commands printed any of it");
    // So is what is written for others.
    for directory in ["converted", "rendered"] {
        let mut texts = String::new();
        let mut open = vec![place.path().join(directory)];
        while let Some(path) = open.pop() {
            if path.is_dir() {
                open.extend(fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()));
            } else {
                texts.push_str(&fs::read_to_string(path).unwrap());
            }
        }
        assert!(texts.contains("a\\u202ez") || texts.contains("\\u202e\\u200b"), "{directory}: {texts:?}");
        assert_eq!(texts.chars().find(|letter| is_hostile(*letter)), None, "{directory}: {texts:?}");
    }
    for (command, file) in REPORTS {
        let text = fs::read_to_string(place.path().join(file)).unwrap_or_else(|error| panic!("{command}: {error}"));
        assert_eq!(text.chars().find(|letter| is_hostile(*letter)), None, "{command}: {text:?}");
    }
}

/// Words of the command line that clap refuses and repeats: files whose names others chose, and addresses with credentials.
#[test]
fn words_that_are_refused_are_escaped_and_redacted() {
    const ADDRESS: &str = "https://me:hunter2@h.example/graph?token=hunter3";
    let place = tempfile::tempdir().unwrap();
    let run = |words: &[&OsStr]| {
        let output = Command::new(env!("CARGO_BIN_EXE_clearway"))
            .args(words)
            .current_dir(place.path())
            .env_remove("CLEARWAY_STATE")
            .output()
            .unwrap();
        let printed = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
        assert_eq!(output.status.code(), Some(3), "{words:?}: {printed}");
        // What our own styles are does not depend on foreign text.
        assert_eq!(printed.chars().find(|letter| is_hostile(*letter)), None, "{words:?}: {printed:?}");
        assert!(!printed.contains("hunter"), "{words:?}: {printed}");
        printed
    };
    let no_utf8 = OsStr::from_bytes(b"a\xff\x1b[2Jb");
    for color in [&[][..], &["--color", "always"]] {
        for before in [&["graph", "lint"][..], &["graph"], &["assess"], &["graph", "lint", "-o"], &["version"], &[]] {
            for word in [OsStr::new(HOSTILE), OsStr::new(ADDRESS), no_utf8] {
                let words: Vec<&OsStr> = color.iter().chain(before).map(OsStr::new).chain([word]).collect();
                let printed = run(&words);
                let shows = if word == ADDRESS { "h.example/graph" } else { "\\x1b[2J" };
                assert!(printed.contains(shows), "{words:?}: {printed}");
            }
            // A word that looks like another one is suggested.
            let words = color.iter().chain(before).map(OsStr::new);
            let option = format!("--{HOSTILE}");
            run(&words.clone().chain([OsStr::new(&option)]).collect::<Vec<_>>());
            let option = format!("--graph-{ADDRESS}");
            run(&words.chain([OsStr::new(&option)]).collect::<Vec<_>>());
        }
    }
}
