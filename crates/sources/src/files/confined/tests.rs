//! Directories as a stranger may make them, and directories that change while they are read.

use super::*;
use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;

use rustix::fs::{CWD, mknodat};

fn place() -> tempfile::TempDir {
    let place = tempfile::tempdir().unwrap();
    fs::create_dir(place.path().join("root")).unwrap();
    fs::write(place.path().join("secret"), "secret").unwrap();
    fs::write(place.path().join("root/file"), "content").unwrap();
    place
}

fn pipe(path: &Path) {
    mknodat(CWD, path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
}

#[test]
fn only_files_inside_are_read_and_nothing_is_waited_for() {
    let place = place();
    let root = place.path().join("root");
    fs::create_dir(root.join("sub")).unwrap();
    pipe(&root.join("pipe"));
    let _socket = UnixListener::bind(root.join("socket")).unwrap();
    symlink("/dev/zero", root.join("device")).unwrap();
    symlink("../secret", root.join("out")).unwrap();
    symlink(place.path().join("secret"), root.join("absolute-out")).unwrap();
    symlink(root.join("file"), root.join("absolute")).unwrap();
    symlink("../file", root.join("sub/up")).unwrap();
    symlink("pipe", root.join("to-pipe")).unwrap();
    symlink("/proc/self/environ", root.join("environ")).unwrap();
    // The directory itself may be named by a link.
    let link = place.path().join("link");
    symlink(&root, &link).unwrap();
    for named in [&root, &link] {
        let mut directory = ConfinedDirectory::open(named).unwrap();
        let mut content = |path: &str| match directory.content(path.as_bytes(), 100) {
            Ok(Some(content)) => String::from_utf8(content).unwrap(),
            Ok(None) => "missing".to_owned(),
            Err(ReadError::TooLarge) => "too large".to_owned(),
            Err(ReadError::Refused(why)) => why,
        };
        for path in ["file", "sub/up", "absolute", "sub/../file"] {
            assert_eq!(content(path), "content", "{path}");
        }
        for (path, want) in [
            ("nowhere", "missing"),
            ("sub", "it is a directory, not a file"),
            ("pipe", "it is a named pipe, not a file"),
            ("to-pipe", "it is a named pipe, not a file"),
            ("socket", "it is a socket, not a file"),
            ("device", "it links to `/dev/zero`, outside the directory"),
            ("out", "it links to `../secret`, outside the directory"),
            ("environ", "it links to `/proc/self/environ`, outside the directory"),
            ("../secret", "it links to `../secret`, outside the directory"),
        ] {
            assert_eq!(content(path), want, "{path}");
        }
        assert!(content("absolute-out").contains("outside the directory"), "{}", content("absolute-out"));
        assert_eq!(directory.content(b"file", 6), Err(ReadError::TooLarge));
        assert_eq!(directory.content(b"file", 7), Ok(Some(b"content".to_vec())));
    }
}

#[test]
fn what_is_replaced_between_a_look_and_the_opening_is_not_read() {
    let place = place();
    let (root, file) = (place.path().join("root"), place.path().join("root/file"));
    let replacements: [(&str, &dyn Fn()); 3] = [
        ("a link", &|| symlink(place.path().join("secret"), &file).unwrap()),
        ("a named pipe", &|| pipe(&file)),
        ("nothing", &|| {}),
    ];
    for (what, replace) in replacements {
        fs::write(&file, "content").unwrap();
        let mut directory = ConfinedDirectory::open(&root).unwrap();
        assert_eq!(directory.node(b"file"), Ok(Node::File));
        fs::remove_file(&file).unwrap();
        replace();
        assert!(matches!(directory.read(b"file", 100), Err(ReadError::Refused(_))), "{what}");
        assert!(!directory.is_unchanged(ConfinedDirectory::open(&root).unwrap()).unwrap(), "{what}");
        let _ = fs::remove_file(&file);
    }
    // A directory on the way that becomes a link out of the root.
    fs::create_dir(root.join("sub")).unwrap();
    fs::write(root.join("sub/secret"), "x").unwrap();
    let mut directory = ConfinedDirectory::open(&root).unwrap();
    assert_eq!(directory.node(b"sub"), Ok(Node::Directory));
    fs::remove_dir_all(root.join("sub")).unwrap();
    symlink("..", root.join("sub")).unwrap();
    assert!(matches!(directory.read(b"sub/secret", 100), Err(ReadError::Refused(_))));
}

#[test]
fn names_are_listed_with_all_their_bytes() {
    let place = place();
    let root = place.path().join("root");
    fs::write(root.join(OsStr::from_bytes(b"\xff.yaml")), "x").unwrap();
    let mut directory = ConfinedDirectory::open(&root).unwrap();
    assert_eq!(directory.names(b""), Ok(vec![b"file".to_vec(), b"\xff.yaml".to_vec()]));
    assert!(directory.names(b"nowhere").is_err());
}

/// Changes a directory after each of the first readings.
struct Changes<'c> {
    times: usize,
    change: &'c mut dyn FnMut(usize),
    again: usize,
}

impl ReadHooks for Changes<'_> {
    fn after_reading(&mut self, reading: usize) {
        if reading < self.times {
            (self.change)(reading);
        }
    }

    fn before_next(&mut self, reading: usize) {
        assert_eq!(reading, self.again);
        self.again += 1;
    }
}

/// Reads `a`, `..data/b` and the names of a directory that changes, and says how often it was read.
fn read(path: &Path, times: usize, change: &mut dyn FnMut(usize)) -> (Result<Vec<String>, String>, usize) {
    let mut readings = 0;
    let mut hooks = Changes { times, change, again: 0 };
    let outcome = read_settled(path, &mut hooks, |directory| {
        readings += 1;
        let names = directory.names(b"")?;
        let mut contents = vec![format!("{} names", names.len())];
        for path in [&b"a"[..], b"..data/b"] {
            let content = directory.content(path, 100).map_err(|error| format!("{error:?}"))?;
            contents.push(content.map_or("-".to_owned(), |content| String::from_utf8(content).unwrap()));
        }
        Ok::<_, String>(contents)
    });
    let outcome = outcome.map_err(|error| match error {
        DirectoryError::Open(error) => error.to_string(),
        DirectoryError::Changing => "changing".to_owned(),
        DirectoryError::Read(why) => why,
    });
    (outcome, readings)
}

#[test]
fn a_directory_that_changes_is_read_again_at_most_five_times() {
    let place = tempfile::tempdir().unwrap();
    let root = place.path().join("root");
    for version in ["1", "2"] {
        fs::create_dir_all(root.join(format!("..{version}"))).unwrap();
        fs::write(root.join(format!("..{version}/b")), version).unwrap();
    }
    fs::write(root.join("a"), "a").unwrap();
    symlink("..1", root.join("..data")).unwrap();
    let swap = |to: &str, link: &Path| {
        let next = place.path().join("next");
        symlink(to, &next).unwrap();
        fs::rename(next, link).unwrap();
    };
    let want = |names: usize, a: &str, b: &str| Ok(vec![format!("{names} names"), a.to_owned(), b.to_owned()]);

    assert_eq!(read(&root, 0, &mut |_| unreachable!()), (want(4, "a", "1"), 1), "at rest it is read once");
    // As Kubernetes replaces a ConfigMap: the files are where they were, only the link leads elsewhere.
    assert_eq!(read(&root, 1, &mut |_| swap("..2", &root.join("..data"))), (want(4, "a", "2"), 2));
    // A file is written in place; another one takes its place, with the same size.
    assert_eq!(read(&root, 2, &mut |reading| fs::write(root.join("a"), vec![b'x'; reading + 2]).unwrap()).1, 3);
    let mut replace = |_| {
        fs::write(root.join("..2/other"), "yyy").unwrap();
        fs::rename(root.join("..2/other"), root.join("a")).unwrap();
    };
    assert_eq!(read(&root, 1, &mut replace), (want(4, "yyy", "2"), 2));
    assert_eq!(read(&root, 1, &mut |_| fs::write(root.join("new"), "").unwrap()), (want(5, "yyy", "2"), 2));
    assert_eq!(read(&root, 1, &mut |_| fs::remove_file(root.join("new")).unwrap()), (want(4, "yyy", "2"), 2));
    assert_eq!(read(&root, 1, &mut |_| fs::remove_file(root.join("a")).unwrap()), (want(3, "-", "2"), 2));
    // Files that nobody looked at have no say.
    fs::create_dir(root.join("other")).unwrap();
    assert_eq!(read(&root, 1, &mut |_| fs::write(root.join("other/x"), "x").unwrap()).1, 1);

    let mut number = 0;
    let always = read(&root, usize::MAX, &mut |_| {
        number += 1;
        fs::write(root.join(format!("n{number}")), "").unwrap();
    });
    assert_eq!(always, (Err("changing".to_owned()), READS));
    // Four changes are survived.
    let mut grow = |reading| fs::write(root.join("a"), vec![b'x'; reading + 1]).unwrap();
    assert_eq!(read(&root, READS - 1, &mut grow).1, READS);
}

#[test]
fn a_link_to_a_directory_that_is_moved_while_it_is_read_leads_to_the_new_one() {
    let place = tempfile::tempdir().unwrap();
    for version in ["one", "two"] {
        fs::create_dir(place.path().join(version)).unwrap();
        fs::write(place.path().join(version).join("a"), version).unwrap();
    }
    let link = place.path().join("current");
    symlink("one", &link).unwrap();
    let (outcome, readings) = read(&link, 1, &mut |_| {
        symlink("two", place.path().join("next")).unwrap();
        fs::rename(place.path().join("next"), &link).unwrap();
        fs::remove_dir_all(place.path().join("one")).unwrap();
    });
    assert_eq!((outcome.unwrap()[1].as_str(), readings), ("two", 2));
    let (outcome, _) = read(&link, 1, &mut |_| fs::remove_file(&link).unwrap());
    assert!(outcome.unwrap_err().contains("No such file"));
}

#[test]
fn a_failure_counts_only_if_nothing_changed() {
    let place = place();
    let root = place.path().join("root");
    let tries = std::cell::Cell::new(0);
    let mut fix = |_| fs::write(root.join("file"), "good").unwrap();
    let mut hooks = Changes { times: 1, change: &mut fix, again: 0 };
    let outcome: Result<(), _> = read_settled(&root, &mut hooks, |directory| {
        tries.set(tries.get() + 1);
        let content = directory.content(b"file", 100).unwrap();
        if content.as_deref() == Some(b"good") { Ok(()) } else { Err("bad") }
    });
    assert!(outcome.is_ok() && tries.get() == 2);
    let failed: Result<(), _> = read_settled(&root, &mut Pauses, |_| Err("bad"));
    assert!(matches!(failed, Err(DirectoryError::Read("bad"))));
}

#[test]
fn a_regular_file_is_read_and_nothing_else_is_opened() {
    let place = place();
    let path = |name: &str| place.path().join(name);
    pipe(&path("pipe"));
    symlink("secret", path("link")).unwrap();
    assert_eq!(read_regular_file(&path("link"), 6).unwrap(), b"secret");
    let error = |name: &str, limit| read_regular_file(&path(name), limit).unwrap_err().to_string();
    assert_eq!(error("secret", 5), "it is larger than 5 bytes");
    assert_eq!(error("pipe", 5), "it is a named pipe, not a file");
    assert_eq!(error("root", 5), "it is a directory, not a file");
}

#[test]
fn what_a_file_of_a_stranger_refers_to_is_found_inside_only() {
    let place = place();
    let root = place.path().join("root");
    fs::create_dir(root.join("tests")).unwrap();
    fs::write(root.join("tests/a"), "a").unwrap();
    let mut directory = ConfinedDirectory::open(&root).unwrap();
    let absolute = root.join("file").display().to_string();
    let mut read = |path: &str| {
        let read = directory.read_file(Path::new("tests"), Path::new(path), 10);
        read.map_or_else(|error| error.to_string(), |content| String::from_utf8(content).unwrap())
    };
    for (path, want) in [
        ("a", "a"),
        ("./a", "a"),
        ("../file", "content"),
        (absolute.as_str(), "content"),
        ("..", "it is a directory, not a file"),
        ("gone", "entity not found"),
    ] {
        assert_eq!(read(path), want, "{path}");
    }
    for path in ["../../secret", "/etc/passwd", "a/../../../secret"] {
        assert!(read(path).contains("outside the directory") || read(path).contains("not found"), "{path}");
    }
    assert_eq!(directory.list_names(Path::new("tests")).unwrap(), Some(vec!["a".into()]));
    assert_eq!(directory.list_names(Path::new("gone")).unwrap(), None);
    assert!(directory.list_names(Path::new("file")).is_err());
    let mut below = directory.below(b"tests").unwrap();
    assert!(below.read_file(Path::new(""), Path::new("../file"), 10).is_err());
}

#[test]
fn a_directory_with_too_many_names_is_refused_with_the_cap() {
    let place = tempfile::tempdir().unwrap();
    for number in 0..=NAMES {
        // A link has no content, and leads nowhere.
        symlink("x", place.path().join(number.to_string())).unwrap();
    }
    let mut directory = ConfinedDirectory::open(place.path()).unwrap();
    let error = directory.names(b"").unwrap_err();
    assert_eq!(error, "more than 100000 names in one directory (the cap `names`)");
    fs::remove_file(place.path().join("0")).unwrap();
    assert_eq!(directory.names(b"").unwrap().len(), NAMES);
}

/// As in a container, where each process has the same id.
#[test]
fn what_a_killed_process_left_behind_does_not_prevent_writing() {
    let place = tempfile::tempdir().unwrap();
    let next = WRITTEN.load(Ordering::Relaxed);
    for number in next..next + 200 {
        fs::write(place.path().join(format!(".new-{}-{number}", std::process::id())), "half of").unwrap();
    }
    let mut directory = ConfinedDirectory::open(place.path()).unwrap();
    directory.write_file(b"object", b"all of it").unwrap();
    assert_eq!(fs::read_to_string(place.path().join("object")).unwrap(), "all of it");
}
