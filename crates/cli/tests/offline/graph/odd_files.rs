//! What strangers may put where a file is expected: it is named, refuses the revision, and nothing waits for it (U4).

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use crate::{Answer, Place};

const SAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/graph-data");

fn run(place: &Place, line: &str) -> Answer {
    place.run(&line.split_whitespace().collect::<Vec<_>>())
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// The sample product in a git repository, with a risk that is a link to nowhere.
fn product() -> Place {
    let place = Place::new();
    copy(Path::new(SAMPLE), &place.path().join("data"));
    let git = |arguments: &[&str]| {
        let mut git = Command::new("git");
        git.arg("-C").arg(place.path()).args(["-c", "user.name=t", "-c", "user.email=t@example.com"]);
        assert!(git.args(arguments).output().unwrap().status.success());
    };
    git(&["init", "-q"]);
    git(&["add", "-A"]);
    git(&["commit", "-q", "-m", "good"]);
    let risk = fs::read_dir(place.path().join("data/risks")).unwrap().next().unwrap().unwrap().path();
    fs::remove_file(&risk).unwrap();
    symlink("gone.yaml", place.path().join("data/risks/Hidden.yaml")).unwrap();
    git(&["add", "-A"]);
    git(&["commit", "-q", "-m", "bad"]);
    let tar = |arguments: &[&str]| {
        assert!(Command::new("tar").current_dir(place.path()).args(arguments).status().unwrap().success());
    };
    tar(&["cf", "data.tar", "data"]);
    tar(&["czf", "data.tar.gz", "data"]);
    place
}

#[test]
fn lint_names_a_risk_that_cannot_be_read_wherever_it_comes_from_and_nobody_answers_without_it() {
    let place = product();
    for source in ["--graph data", "--graph data.tar", "--graph data.tar.gz", "--graph data --rev HEAD"] {
        let lint = run(&place, &format!("graph lint {source} -o json"));
        assert_eq!(lint.code, 3, "{source}: {lint:?}");
        assert!(lint.places().contains(&"GD008 risks/Hidden.yaml".to_owned()), "{source}: {lint:?}");
        assert!(lint.err.contains("the graph-data is refused"), "{source}: {lint:?}");
        for line in ["graph show stable-1.5", "graph explain 1.4.2 1.5.0", "graph build --channel stable-1.5"] {
            let answer = run(&place, &format!("{line} {source}"));
            assert_eq!((answer.code, answer.out.as_str()), (3, ""), "{line} {source}: {answer:?}");
            assert!(answer.err.contains("cannot read risks/Hidden.yaml"), "{line} {source}: {answer:?}");
        }
    }
    let good = run(&place, "graph show stable-1.5 --graph data --rev HEAD~1");
    assert_eq!(good.code, 0, "{good:?}");
    let new = run(&place, "graph lint --graph data --new-since HEAD~1 -o json");
    assert!(new.code == 3 && new.places().contains(&"GD008 risks/Hidden.yaml".to_owned()), "{new:?}");
    let diff = run(&place, "graph diff HEAD~1 HEAD --graph data");
    assert!(diff.code == 3 && diff.err.contains("cannot read risks/Hidden.yaml"), "{diff:?}");
}

#[test]
fn tests_of_risks_see_nothing_outside_of_graph_data() {
    let place = Place::new();
    copy(Path::new(SAMPLE), &place.path().join("data"));
    place.write("secret.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: hunter2}\n");
    place.write("secret/snapshot.json", "{}");
    let risk = fs::read_dir(place.path().join("data/risks")).unwrap().next().unwrap().unwrap().path();
    let risk = fs::read_to_string(risk).unwrap();
    let risk = risk.lines().find_map(|line| line.strip_prefix("name: ")).unwrap();
    let beside = place.path().join("data/risk-tests");
    fs::create_dir_all(&beside).unwrap();
    symlink("../../secret.yaml", beside.join("link")).unwrap();
    symlink("../../secret", beside.join("out")).unwrap();
    assert!(Command::new("mkfifo").arg(beside.join("pipe")).status().unwrap().success());
    let secret = place.path().join("secret.yaml").display().to_string();
    let case = |rest: &str| {
        let text = format!("risk: {risk}\ncases:\n- name: a\n  expect: unknown\n  {rest}\n");
        place.write("data/risk-tests/hostile.yaml", text);
        run(&place, "risk test --graph data")
    };
    for (rest, want) in [
        ("objects: [{file: ../../secret.yaml}]", "outside the directory"),
        (&format!("objects: [{{file: {secret}}}]"), "outside the directory"),
        ("objects: [{file: link}]", "outside the directory"),
        ("objects: [{file: pipe}]", "it is a named pipe"),
        ("snapshot: ../../secret", "outside the directory"),
        ("snapshot: out", "outside the directory"),
        ("snapshot: pipe", "it is a named pipe"),
    ] {
        let answer = case(rest);
        assert_eq!(answer.code, 3, "{rest}: {answer:?}");
        assert!(answer.err.contains(want) && !answer.err.contains("hunter2"), "{rest}: {answer:?}");
    }
    // The files of tests themselves, too.
    fs::remove_file(beside.join("hostile.yaml")).unwrap();
    symlink("../../secret.yaml", beside.join("other.yaml")).unwrap();
    let answer = run(&place, "risk test --graph data");
    assert!(answer.code == 3 && answer.err.contains("outside the directory"), "{answer:?}");
}

#[test]
fn a_small_archive_cannot_take_much_memory() {
    // A name of sixty million parts, which packs to 60 kB.
    let place = Place::new();
    let mut long = tar::Header::new_gnu();
    long.set_entry_type(tar::EntryType::GNULongName);
    long.set_size(120 << 20);
    long.set_cksum();
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut packed, long.as_bytes()).unwrap();
    for _ in 0..120 {
        std::io::Write::write_all(&mut packed, &b"a/".repeat(1 << 19)).unwrap();
    }
    place.write("bomb.tar.gz", packed.finish().unwrap());
    // The limit is of address space, which is more than what is used.
    let line = format!("ulimit -v {}; exec {} graph lint --graph bomb.tar.gz", 1 << 20, env!("CARGO_BIN_EXE_clearway"));
    let answer = crate::answer(Command::new("sh").args(["-c", &line]).current_dir(place.path()).output().unwrap());
    assert_eq!(answer.code, 3, "{answer:?}");
    assert!(answer.err.contains("more than 1048576 bytes in the attributes of a file"), "{answer:?}");
}
