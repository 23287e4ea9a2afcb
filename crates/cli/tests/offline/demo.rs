//! `clearway demo`: needs nothing, says the same every time, and its commands work.

mod console;
mod running;

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read as _, Write as _};
use std::path::Path;

use clearway_advice::evidence::Question;
use clearway_advice::{Plan, Settings};
use clearway_core::Limits;
use clearway_sources::graph_data;
use clearway_sources::prometheus::windows;
use clearway_sources::snapshot::{self, ClusterFacts};
use snapbox::{assert_data_eq, file};

use super::{Answer, Place, answer};

/// The samples as they stand in the repository.
const EXAMPLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples");

/// The sentences of the story, as it tells them; paragraphs in the order of the risks' names.
const STORY: [&str; 5] = [
    "  Recommended: False
  Reason: MultipleReasons
  Message:
    On clusters with a Proxy configured, the authentication operator may keep many oauth-server connections open, resulting in high memory consumption by the authentication operator and router pods. https://bugzilla.redhat.com/show_bug.cgi?id=1941840#c33

    Clusters on vSphere Virtual Hardware Version 14 and later may experience cross-node networking issues. https://access.redhat.com/solutions/5896081

    vSphere clusters leveraging the vSphere cloud provider may lose node names which can have serious impacts on the stability of the control plane and workloads. https://bugzilla.redhat.com/show_bug.cgi?id=1942207#c3
",
    "  Recommended: Unknown
  Reason: PromQLError
  Message: Unable to evaluate PromQL to determine if the cluster is impacted by ExampleReason. https://example.com/ExampleReason",
    "  Version: 4.6.30
  Image: quay.io/openshift-release-dev/ocp-release@sha256:476588ee99a2…
  Recommended: False
  Reason: ThanosDNSUnmarshalError
  Message: The monitoring operator goes Degraded=True when the user monitoring workflow is enabled due to DNS changes. https://access.redhat.com/solutions/6092191
",
    "Recommended updates:

  VERSION\tIMAGE
  4.6.43\tquay.io/openshift-release-dev/ocp-release@sha256:2b8efb25c1c9…
  4.6.42\tquay.io/openshift-release-dev/ocp-release@sha256:59e2e85f5d1b…
",
    "4.7.4, started TIME:
  Updating from 4.6.23 to 4.7.4 is supported, but not recommended for this cluster.

  Reason: MultipleReasons

  On clusters with a Proxy configured,",
];

/// A scenario to its end: it says the same each time, and leaves nothing behind.
fn is_the_same(scenario: &str, golden: snapbox::Data) {
    let place = Place::new();
    let answer = run(&place, &[scenario, "--once"]);
    assert_eq!(answer.code, 0, "{answer:?}");
    assert_data_eq!(same(&place, &answer.out), golden.raw());
    assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0, "it leaves nothing behind");
}

#[test]
fn the_tour_is_the_same_every_time() {
    is_the_same("tour", file!["golden/demo.txt"]);
}

/// U9, U16.
#[test]
fn advice_is_unknown_in_an_outage_and_recovers() {
    is_the_same("outage", file!["golden/demo-outage.txt"]);
}

/// U10, U11.
#[test]
fn a_risk_that_is_published_is_seen() {
    is_the_same("publish", file!["golden/demo-publish.txt"]);
}

/// U12.
#[test]
fn updates_are_carried_out_and_recorded() {
    is_the_same("update", file!["golden/demo-update.txt"]);
}

/// Without a terminal it ends at its end, and begins with the tour.
#[test]
fn nobody_has_to_watch() {
    let place = Place::new();
    let (short, long) = (run(&place, &[]), run(&place, &["tour", "--once"]));
    assert_eq!((short.code, short.err.as_str()), (0, ""));
    assert_eq!(same(&place, &short.out), same(&place, &long.out));
}

/// A small terminal has eighty columns.
#[test]
fn every_line_of_every_scenario_fits_a_small_terminal() {
    let place = Place::new();
    for scenario in ["tour", "story", "outage", "publish", "update"] {
        let answer = run(&place, &[scenario, "--once"]);
        let lines = answer.out.lines().chain(answer.err.lines());
        let wide: Vec<&str> = lines.filter(|line| line.chars().count() > 80).collect();
        assert!(wide.is_empty(), "{scenario}: {wide:#?}");
    }
}

/// A person at a terminal turns the pages.
#[test]
fn at_a_terminal_pages_wait_for_enter() {
    let place = Place::new();
    let program = env!("CARGO_BIN_EXE_clearway");
    // The first Enter shows the second page; `q` shows the rest. Then the demo stays, until the terminal is closed.
    let line = format!("exec {program} demo outage --no-browser");
    let mut command = std::process::Command::new("script");
    command.args(["-qec", &line, "/dev/null"]).current_dir(place.path()).env("TMPDIR", place.path());
    command.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(error) => {
            eprintln!("not checked, no script(1): {error}");
            return;
        }
    };
    let mut keys = child.stdin.take().unwrap();
    let mut screen = std::io::BufReader::new(child.stdout.take().unwrap());
    let mut until = |text: &str| {
        let mut seen = Vec::new();
        while !String::from_utf8_lossy(&seen).contains(text) {
            let mut byte = [0];
            screen
                .read_exact(&mut byte)
                .unwrap_or_else(|error| panic!("{error}: {text} in {}", String::from_utf8_lossy(&seen)));
            seen.push(byte[0]);
        }
        String::from_utf8_lossy(&seen).into_owned()
    };
    let first = until("Press Enter for the next page");
    assert!(first.contains("What if the metrics are lost?") && !first.contains("What to try next"), "{first}");
    keys.write_all(b"\n").unwrap();
    until("What to try next");
    until("Ctrl-C stops the demo");
    keys.write_all(&[3]).unwrap();
    until("The demo has stopped.");
    assert!(child.wait().unwrap().success());
    assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0, "it leaves nothing behind");
}

/// The demo, with its own directory in the place.
fn run(place: &Place, arguments: &[&str]) -> Answer {
    answer(place.command(&[&["demo"], arguments].concat()).env("TMPDIR", place.path()).output().unwrap())
}

/// What is told, without what is another each time: ports, directories, and times in the history.
fn same(place: &Place, text: &str) -> String {
    let path = place.path().canonicalize().unwrap().display().to_string();
    let text = after_each(&text.replace(&path, "PLACE"), "127.0.0.1:", "PORT", |c| c.is_ascii_digit());
    let text = after_each(&text, "clearway-demo-", "ID", |c| c.is_ascii_alphanumeric());
    let line = |line: &str| {
        if !line.contains(" Completed ") && !line.contains(" STARTED ") && !line.contains(", started ") {
            return line.to_owned() + "\n";
        }
        let word = |word: &str| match word {
            word if word.ends_with("s)") => "(Ns)".to_owned(),
            word if word.contains('T') && word.contains('Z') && word.starts_with("20") => {
                format!("TIME{}", word.split('Z').nth(1).unwrap_or_default())
            }
            word => word.to_owned(),
        };
        line.split_whitespace().map(word).collect::<Vec<String>>().join(" ") + "\n"
    };
    text.lines().map(line).collect()
}

fn after_each(text: &str, mark: &str, name: &str, is_part: fn(char) -> bool) -> String {
    let mut parts = text.split(mark);
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |told, part| told + mark + name + part.trim_start_matches(is_part))
}

#[test]
fn the_printed_commands_work_on_the_kept_files() {
    let place = Place::new();
    for directory in ["samples", "a directory/it's here"] {
        let demo = place.run(&["demo", "--output-dir", directory]);
        assert_eq!(demo.code, 0, "{demo:?}");
        let commands: Vec<&str> = demo.out.lines().filter(|line| line.contains(" --now ")).map(str::trim).collect();
        assert_eq!(commands.len(), 2, "{}", demo.out);
        for command in commands {
            // As a shell reads it: the program's name is the only word that is replaced.
            let line = command.replacen("clearway", env!("CARGO_BIN_EXE_clearway"), 1);
            let output =
                std::process::Command::new("sh").arg("-c").arg(line).current_dir(place.path()).output().unwrap();
            assert_eq!(output.status.code(), Some(1), "{command}: {output:?}");
            let shown = String::from_utf8(output.stdout).unwrap();
            // The demo has fewer columns.
            let first = shown.split_whitespace().next().unwrap();
            assert!(demo.out.contains(first), "{first}");
        }
    }
}

/// U5, U10, U11, U14.
#[test]
fn the_story_is_told_in_its_own_words() {
    let place = Place::new();
    let answer = run(&place, &["story"]);
    assert_eq!(answer.code, 0, "{answer:?}");
    let warning = "warning: with --allow-not-recommended you have accepted the risks with 4.7.4";
    assert!(answer.err.starts_with(warning), "{answer:?}");
    let told = same(&place, &answer.out);
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    for sentence in STORY {
        assert!(words(&told).contains(&words(sentence)), "{sentence:?} in {told}");
    }
    assert_data_eq!(&told, file!["golden/demo-story.txt"].raw());
    assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0, "it leaves nothing behind");
    // The one that is recommended although it carries a risk, and how the conditions of all are worded.
    assert_eq!(place.run(&["demo", "story", "--output-dir", "kept"]).code, 0);
    let json =
        ["assess", "--graph", "kept/graph-data", "--snapshot", "kept/cluster", "--as-of", "snapshot", "-o", "json"];
    let json = place.run(&json).json();
    let updates = json["updates"].as_array().unwrap();
    let update = |version: &str| updates.iter().find(|update| update["version"] == version).unwrap();
    assert_eq!(
        update("4.6.40")["recommended"]["message"],
        "The update is recommended, because none of the conditional update risks apply to this cluster."
    );
    for update in updates.iter().filter(|update| update["conditional"] == true) {
        let evaluating = &update["evaluating"];
        assert_eq!(evaluating["status"], "True");
        assert_eq!(evaluating["message"], "Periodically evaluating risks associated with this update.");
    }
}

#[test]
fn the_commands_of_the_proofs_work_on_the_kept_files() {
    let place = Place::new();
    let shell = |command: &str| {
        let line = command.replacen("clearway", env!("CARGO_BIN_EXE_clearway"), 1);
        let output = std::process::Command::new("sh").arg("-c").arg(line).current_dir(place.path()).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{command}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    for scenario in ["tour", "story"] {
        let demo = place.run(&["demo", scenario, "--once", "--output-dir", "it's kept"]);
        assert_eq!(demo.code, 0, "{demo:?}");
        // A command may go on in the next line.
        let joined = demo.out.replace(" \\\n   ", "");
        let asked: Vec<&str> = joined.lines().filter_map(|line| line.strip_prefix("$ ")).collect();
        let asked: Vec<&str> = asked.into_iter().filter(|command| command.starts_with("clearway assess ")).collect();
        assert_eq!(asked.len(), 2, "{}", demo.out);
        let proofs: String = asked.iter().map(|command| shell(command)).collect();
        let checks: Vec<&str> = proofs.lines().filter_map(|line| line.trim().strip_prefix("check    ")).collect();
        assert!(checks.len() > 3, "{proofs}");
        for check in checks {
            shell(check);
        }
        fs::remove_dir_all(place.path().join("it's kept")).unwrap();
    }
}

#[test]
fn the_scenarios_are_listed() {
    let place = Place::new();
    let list = place.run(&["demo", "--list"]);
    assert_eq!((list.code, list.err.as_str()), (0, ""));
    let names: Vec<&str> = list.out.lines().skip(1).filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!(names, ["tour", "story", "outage", "publish", "update"]);
    let help = place.run(&["demo", "--help"]).out;
    for name in names {
        assert!(help.contains(&format!("- {name}:")), "{help}");
    }
    let unknown = place.run(&["demo", "stroy"]);
    assert!(unknown.code == 3 && unknown.err.contains("'story'"), "{unknown:?}");
}

/// Files by their names below a directory.
fn files_in(directory: &Path) -> BTreeMap<String, Vec<u8>> {
    let (mut files, mut open) = (BTreeMap::new(), vec![directory.to_owned()]);
    while let Some(next) = open.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else {
                let name = path.strip_prefix(directory).unwrap().to_str().unwrap().to_owned();
                files.insert(name, fs::read(path).unwrap());
            }
        }
    }
    files
}

#[test]
fn the_samples_are_those_of_the_repository_and_the_snapshots_what_collecting_writes() {
    let place = Place::new();
    for (scenario, home) in [("tour", Path::new(EXAMPLES).to_owned()), ("story", Path::new(EXAMPLES).join("story"))] {
        assert_eq!(place.run(&["demo", scenario, "--once", "--output-dir", scenario]).code, 0);
        let kept = place.path().join(scenario);
        let mut graph_data = files_in(&home.join("graph-data"));
        graph_data.retain(|name, _| name != "README.md" && !name.starts_with("risk-tests/"));
        let mut written = files_in(&kept.join("graph-data"));
        // Payloads that are made up are replaced by those that can be carried out.
        let mut replaced = 0;
        for (name, file) in written.iter_mut().filter(|(name, _)| name.starts_with("releases/")) {
            let (text, sample) = (String::from_utf8(file.clone()).unwrap(), &graph_data[name]);
            let sample = String::from_utf8(sample.clone()).unwrap();
            let lines = text.lines().zip(sample.lines()).map(|(line, sample)| {
                let is_replaced = line.starts_with("  payload: \"/") && sample.starts_with("  payload: ");
                replaced += usize::from(is_replaced);
                if is_replaced { sample.to_owned() + "\n" } else { line.to_owned() + "\n" }
            });
            *file = lines.collect::<String>().into_bytes();
        }
        assert_eq!(replaced, fs::read_dir(kept.join("releases")).unwrap().count(), "{scenario}");
        assert_eq!(written, graph_data, "{scenario}");
        for release in fs::read_dir(home.join("releases")).into_iter().flatten().map(|entry| entry.unwrap()) {
            if release.path().is_dir() {
                let of_demo = kept.join("releases").join(release.file_name());
                assert_eq!(files_in(&of_demo), files_in(&release.path()), "{scenario}");
            }
        }
        let cluster = files_in(&home.join("cluster"));
        assert_eq!(files_in(&kept.join("cluster")), cluster, "{scenario}");

        let loaded = snapshot::read(&home.join("cluster"), &Limits::default()).unwrap();
        assert!(loaded.diagnostics.is_empty(), "{:?}", loaded.diagnostics);
        let snapshot = loaded.snapshot;
        assert_eq!(snapshot::to_files(&snapshot).unwrap(), cluster, "{scenario}");
        let ClusterFacts { version, arch, channel, .. } = snapshot.cluster;
        let inputs = graph_data::directory(&home.join("graph-data"), &Limits::default()).unwrap();
        let revision = clearway_graph::load(&inputs, &Limits::default()).revision.unwrap();
        let graph = revision.graph(&channel.unwrap(), &arch.unwrap());
        let plan = Plan::new(&graph, &version.unwrap(), &Settings::default()).unwrap();
        let queries = plan.questions().into_iter().map(Question::query);
        let wanted = windows(queries, snapshot.taken_at.as_seconds() * 1_000);
        assert_eq!(snapshot.series.collected().unwrap().windows, wanted, "{scenario}");
    }
}
