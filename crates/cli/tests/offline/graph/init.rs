//! `clearway graph init`: what it creates is valid, and it overwrites nothing.

use std::fs;

use super::{Place, run};

#[test]
fn what_it_creates_has_no_finding_and_its_tests_pass() {
    let place = Place::new();
    let made = run(&place, "graph init new/graph-data");
    assert_eq!((made.code, made.err.as_str()), (0, ""), "{made:?}");
    let lint = run(&place, "graph lint --graph new/graph-data -o json");
    assert_eq!((lint.code, lint.out.trim()), (0, "[]"), "not even a note: {lint:?}");
    let tested = run(&place, "risk test --graph new/graph-data");
    assert_eq!(tested.code, 0, "{tested:?}");
    assert!(tested.out.contains("ok   SlowDisks: one slow disk is enough: match"), "{tested:?}");
    // Every command that it names works, but the one that serves.
    let commands = made.out.lines().filter_map(|line| line.trim().strip_prefix("clearway "));
    let commands: Vec<&str> = commands.filter(|command| !command.starts_with("serve")).collect();
    assert_eq!(commands.len(), 5, "{}", made.out);
    for command in commands {
        assert!(run(&place, command).code < 3, "{command}");
    }
    let explained = run(&place, "graph explain 1.0.1 1.1.0 --graph new/graph-data");
    assert_eq!(explained.code, 2, "it depends on the cluster: {explained:?}");
    assert_eq!(run(&place, "graph stranded --graph new/graph-data").code, 0);
}

#[test]
fn a_directory_with_content_is_refused_and_stays_as_it_is() {
    let place = Place::new();
    place.write("data/mine", "x");
    let refused = run(&place, "graph init data");
    assert!(refused.code == 3 && refused.err.contains("data is not empty; name a directory"), "{refused:?}");
    assert_eq!(fs::read_dir(place.path().join("data")).unwrap().count(), 1);
    fs::create_dir(place.path().join("empty")).unwrap();
    assert_eq!(run(&place, "graph init empty").code, 0);
    assert_eq!(run(&place, "graph init empty").code, 3, "it is not empty any more");
    let file = run(&place, "graph init data/mine");
    assert!(file.code == 3 && file.err.contains("cannot read data/mine"), "{file:?}");
}
