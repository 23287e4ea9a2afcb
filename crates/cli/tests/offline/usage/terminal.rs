//! How commands print: formats, colours, widths and the pager, in pipes and on a terminal.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::{Answer, Place};

/// Graph-data of the sample product.
fn graph() -> String {
    let graph = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/graph-data");
    graph.canonicalize().unwrap().display().to_string()
}

fn show(more: &[&str]) -> Answer {
    Place::new().run(&[&["graph", "show", "stable-1.5", "--graph", &graph()][..], more].concat())
}

#[test]
fn names_and_rows_without_a_head_are_for_scripts() {
    let table = show(&[]);
    let names = show(&["-o", "name"]);
    let rows: Vec<&str> = table.out.lines().skip(1).map(|line| line.split_whitespace().next().unwrap()).collect();
    assert!(table.out.starts_with("VERSION  UPDATES") && rows.len() > 3, "{table:?}");
    assert_eq!(names.out.lines().collect::<Vec<_>>(), rows);
    let bare = show(&["--no-headers"]);
    assert_eq!(bare.out.lines().count(), rows.len());
    assert!(!bare.out.contains("VERSION"), "{bare:?}");
    // In a pipe nothing is cut, so that is what `-o wide` shows, too.
    assert_eq!(show(&["-o", "wide"]).out, table.out);
}

#[test]
fn an_answer_in_sentences_has_no_names() {
    let answer = Place::new().run(&["graph", "explain", "1.4.2", "1.5.0", "--graph", &graph(), "-o", "name"]);
    assert_eq!(answer.code, 3);
    assert!(answer.err.contains("[possible values: table, json, yaml]"), "{answer:?}");
}

#[test]
fn quiet_leaves_the_result_and_what_is_wrong() {
    let place = Place::new();
    place.write("w.yaml", crate::WIDGET);
    let line = ["status", "lint", "-f", "w.yaml"];
    let (usual, quiet) = (place.run(&line), place.run(&[&line[..], &["-q"]].concat()));
    assert_eq!((usual.out.as_str(), usual.code), (quiet.out.as_str(), quiet.code));
    assert!(!usual.err.is_empty() && quiet.err.is_empty(), "{usual:?} {quiet:?}");
    let missing = place.run(&["-q", "graph", "show", "x", "--graph", "nowhere"]);
    assert!(missing.err.starts_with("error: nowhere not found"), "{missing:?}");
}

#[test]
fn colours_can_be_asked_for_and_states_have_them() {
    let place = Place::new();
    place.write("d.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: fine}\n");
    let line = ["status", "show", "-f", "d.yaml"];
    let coloured = place.run(&[&line[..], &["--color", "always"]].concat());
    assert!(coloured.out.contains("\u{1b}[32mCurrent\u{1b}[0m"), "{coloured:?}");
    for never in [&line[..], &[&line[..], &["--color", "never"]].concat()] {
        assert!(!place.run(never).out.contains('\u{1b}'));
    }
}

/// What a command writes to a terminal of 60 columns and 8 rows; nothing where there is no `script` to make one.
fn on_a_terminal(pager: Option<&str>, arguments: &str) -> Option<String> {
    let mut script = Command::new("script");
    let program = env!("CARGO_BIN_EXE_clearway");
    let line = format!("stty cols 60 rows 8; '{program}' {arguments}");
    script.args(["-qec", &line, "/dev/null"]).stdin(Stdio::null()).env("TERM", "xterm").env("PAGER", "cat");
    for name in ["NO_COLOR", "COLUMNS", "CLEARWAY_PAGER"] {
        script.env_remove(name);
    }
    if let Some(pager) = pager {
        script.env("CLEARWAY_PAGER", pager);
    }
    match script.output() {
        Ok(output) => Some(String::from_utf8_lossy(&output.stdout).replace('\r', "")),
        Err(error) => {
            eprintln!("not checked, no script: {error}");
            None
        }
    }
}

#[test]
fn tables_fit_the_terminal_and_wide_ones_are_complete() {
    let line = format!("graph lint --severity info --graph {}", graph());
    let Some(shown) = on_a_terminal(None, &format!("{line} 2>/dev/null")) else { return };
    let plain = anstream::adapter::strip_str(&shown).to_string();
    let summary: Vec<&str> = plain.lines().skip_while(|line| !line.starts_with("CODE ")).collect();
    assert!(summary.len() > 2 && summary.iter().all(|line| line.chars().count() <= 60), "{shown}");
    assert!(summary.iter().any(|line| line.ends_with('…')), "{shown}");
    let explain = "status explain";
    let cut = on_a_terminal(None, explain).unwrap();
    let wide = on_a_terminal(None, &format!("{explain} -o wide")).unwrap();
    assert!(cut.contains('…') && !wide.contains('…'), "{cut}\n{wide}");
    let piped = Place::new().run(&["status", "explain"]);
    assert_eq!(anstream::adapter::strip_str(&wide).to_string(), piped.out);
}

#[test]
fn long_output_goes_through_a_pager_on_a_terminal_only() {
    let pager = Some("sed s/^/PAGED:/");
    let Some(printed) = on_a_terminal(pager, "status explain") else { return };
    assert!(printed.lines().all(|line| line.starts_with("PAGED:")) && printed.lines().count() > 8, "{printed}");
    for line in ["status explain --no-pager", "status explain | cat", "graph explain 1.4.2 1.4.3 -q", "--version"] {
        let shown = on_a_terminal(pager, line).unwrap();
        assert!(!shown.contains("PAGED:"), "{line}: {shown}");
    }
    // A pager that does not exist is no reason to show nothing.
    let shown = on_a_terminal(Some("no-such-pager-anywhere 2>/dev/null"), "status explain").unwrap();
    assert!(shown.contains("SC011"), "{shown}");
}
