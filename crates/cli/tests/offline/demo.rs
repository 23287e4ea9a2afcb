//! `clearway demo`: needs nothing, says the same every time, and its commands work.

use std::fs;

use snapbox::{assert_data_eq, file};

use super::Place;

#[test]
fn the_demo_is_the_same_every_time() {
    let place = Place::new();
    let answer = place.run(&["demo"]);
    assert_data_eq!(&answer.out, file!["golden/demo.txt"].raw());
    assert_eq!((answer.code, answer.err.as_str()), (0, ""));
    assert_eq!(place.run(&["demo"]), answer);
    assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0, "it leaves nothing behind");
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
