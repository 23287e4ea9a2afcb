//! `clearway demo`: needs nothing, says the same every time, and its commands work.

use std::fs;

use snapbox::{assert_data_eq, file};

use super::Place;

#[test]
fn the_demo_is_the_same_every_time() {
    let place = Place::new();
    let answer = place.run(&["demo"]);
    let told = without_ports(&answer.out);
    assert_data_eq!(&told, file!["golden/demo.txt"].raw());
    assert_eq!((answer.code, answer.err.as_str()), (0, ""));
    assert_eq!(without_ports(&place.run(&["demo", "--once"]).out), told);
    assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0, "it leaves nothing behind");
}

/// Which ports are free is another matter each time.
fn without_ports(text: &str) -> String {
    let mut parts = text.split("127.0.0.1:");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |told, part| {
        told + "127.0.0.1:PORT" + part.trim_start_matches(|letter: char| letter.is_ascii_digit())
    })
}

#[test]
fn the_printed_commands_work_on_the_kept_files() {
    let place = Place::new();
    for directory in ["samples", "a directory/it's here"] {
        let demo = place.run(&["demo", "--keep", directory]);
        assert_eq!(demo.code, 0);
        let commands: Vec<&str> = demo.out.lines().filter(|line| line.contains(" -f ")).map(str::trim).collect();
        assert_eq!(commands.len(), 2, "{}", demo.out);
        for command in commands {
            // As a shell reads it: the program's name is the only word that is replaced.
            let line = command.replacen("clearway", env!("CARGO_BIN_EXE_clearway"), 1);
            let output =
                std::process::Command::new("sh").arg("-c").arg(line).current_dir(place.path()).output().unwrap();
            assert_eq!(output.status.code(), Some(1), "{command}: {output:?}");
            let shown = String::from_utf8(output.stdout).unwrap();
            let first = shown.lines().next().unwrap();
            assert!(demo.out.contains(first), "{first}");
        }
    }
}
