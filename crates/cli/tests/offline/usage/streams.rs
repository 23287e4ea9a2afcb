//! Where the output goes: pipes that close early, terminals, colour.

use std::process::{Command, Stdio};

use crate::{MORNING, Place};

const COMMANDS: [&[&str]; 8] = [
    &["demo", "--once"],
    &["status", "lint", "-f", "samples"],
    &["status", "lint", "-f", "samples", "-o", "sarif"],
    &["status", "show", "-f", "samples", "-f", "nope.yaml"],
    &["status", "explain"],
    &["completions", "bash"],
    &["man"],
    &["--help"],
];

#[test]
fn a_pipe_that_closes_early_is_no_error_and_no_yes_of_a_check() {
    let place = Place::with_samples();
    for arguments in COMMANDS {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let mut command = place.command(arguments);
        let output = command.stdout(writer).stderr(Stdio::piped()).spawn().unwrap().wait_with_output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{arguments:?}");
        let code = output.status.code();
        assert!(matches!(code, Some(0 | 2)), "{arguments:?}: {code:?}");
        if arguments.contains(&"lint") {
            assert_eq!(code, Some(2), "the findings did not arrive, so nothing is known");
        }
    }
}

#[test]
fn both_streams_may_close_early() {
    let place = Place::with_samples();
    let more: [&[&str]; 3] = [&["nope"], &["status", "lint", "-f", "nope.yaml"], &["status", "explain", "nope"]];
    for arguments in COMMANDS.into_iter().chain(more) {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let mut command = place.command(arguments);
        command.stdout(writer.try_clone().unwrap()).stderr(writer);
        // A panic would end it with 101.
        let code = command.status().unwrap().code();
        assert!(matches!(code, Some(0 | 2 | 3)), "{arguments:?}: {code:?}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_an_error() {
    let place = Place::with_samples();
    for arguments in
        [&["demo", "--once"][..], &["status", "lint", "-f", "samples"], &["status", "show", "-f", "samples"]]
    {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let output = place.command(arguments).stdout(full).stderr(Stdio::piped()).spawn().unwrap();
        let output = output.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(3), "{arguments:?}");
        assert!(String::from_utf8_lossy(&output.stderr).starts_with("error: "), "{output:?}");
    }
}

#[test]
fn no_colour_where_there_is_no_terminal() {
    let place = Place::with_samples();
    for arguments in
        COMMANDS.into_iter().chain([&["--nope"][..], &["status", "lint", "--suppressions", "x", "-f", "x"]])
    {
        let answer = place.run(arguments);
        assert!(!answer.out.contains('\u{1b}') && !answer.err.contains('\u{1b}'), "{arguments:?}");
    }
}

/// What a command writes to a pseudo-terminal, both streams; nothing where there is no `script` to make one.
fn on_a_terminal(place: &Place, arguments: &str, no_color: bool) -> Option<String> {
    let mut script = Command::new("script");
    let line = format!("'{}' {arguments}", env!("CARGO_BIN_EXE_clearway"));
    script.args(["-qec", &line, "/dev/null"]).current_dir(place.path()).stdin(Stdio::null());
    script.env("TERM", "xterm").env_remove("NO_COLOR").env_remove("CI").env("HOME", place.path());
    if no_color {
        script.env("NO_COLOR", "1");
    }
    match script.output() {
        Ok(output) => Some(String::from_utf8_lossy(&output.stdout).into_owned()),
        Err(error) => {
            eprintln!("not checked, no script: {error}");
            None
        }
    }
}

#[test]
fn colour_on_a_terminal_unless_it_is_not_wanted() {
    let place = Place::with_samples();
    let samples = format!("-f samples --now {MORNING}");
    for arguments in [&format!("status lint {samples}"), "demo --once", "--help"] {
        let Some(shown) = on_a_terminal(&place, arguments, false) else { return };
        assert!(shown.contains('\u{1b}'), "{arguments}: {shown}");
        let plain = on_a_terminal(&place, arguments, true).unwrap();
        assert!(!plain.contains("\u{1b}[3") && !plain.contains("\u{1b}[9"), "{arguments}: {plain}");
    }
    let json = on_a_terminal(&place, &format!("status lint -o json {samples} 2>/dev/null"), false).unwrap();
    assert!(!json.contains('\u{1b}'), "{json}");
    let file = on_a_terminal(&place, &format!("status lint {samples} > out.txt"), false).unwrap();
    assert!(file.contains("7 objects checked"), "{file}");
    let written = std::fs::read_to_string(place.path().join("out.txt")).unwrap();
    assert!(written.contains("SC011") && !written.contains('\u{1b}'), "{written}");
}
