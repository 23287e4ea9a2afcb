//! One table: what may stand where a file of graph-data is expected, and every source that could hold it. Whatever cannot
//! be read refuses the revision, is named, and is named alike, wherever it comes from (U4).
//!
//! A directory and a git revision keep links and are read in any order, so a link inside of them is followed. An archive and
//! the layers of an image are read once and hold the files themselves; a link in place of one is refused.

use std::ffi::OsStr;
use std::fs;
use std::io::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::os::unix::net::UnixListener;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use clearway_core::Limits;
use clearway_graph::{Inputs, load};
use clearway_sources::graph_data;
use clearway_sources::oci::{self, Cache, Image, Registry, RegistryOptions};
use clearway_testbed::images::{Family, Pusher, gzip};
use rustix::fs::{CWD, FileType, Mode, mknodat};

/// Graph-data that is good: one risk, one block, one signature.
const GOOD: [(&str, &str); 6] = [
    ("version", "1.1.0\n"),
    ("channels/c.yaml", "name: c\nversions: [1.0.0, 1.1.0]\n"),
    (
        "releases/r.yaml",
        "- {version: 1.0.0, arch: amd64, payload: 'r.io/p@sha256:0000000000000000000000000000000000000000000000000000000000000000'}\n\
         - {version: 1.1.0, arch: amd64, payload: 'r.io/p@sha256:0000000000000000000000000000000000000000000000000000000000000001', previous: [1.0.0]}\n",
    ),
    (
        "risks/r.yaml",
        "name: R\nurl: https://example.com/r\nmessage: It breaks.\nto: 1.1.0\nfrom: '*'\nmatchingRules: [{type: Always}]\n",
    ),
    ("blocked-edges/b.yaml", "to: 1.1.0\nfrom: 1[.]0[.]0\n"),
    ("signatures/sha256/ab12/signature-1", "signed"),
];

/// What stands at a path.
#[derive(Debug, Clone, Copy)]
enum Thing {
    File(&'static str),
    Link(&'static str),
    HardLink(&'static str),
    Pipe,
    Socket,
    Device,
    BlockDevice,
    Directory,
    Submodule,
    /// A file that nobody may read.
    Locked,
    /// A file whose content has holes.
    Sparse,
}

/// A source that graph-data may come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Source {
    Directory,
    Tar,
    TarGz,
    Git,
    Image,
}

/// What becomes of the revision.
#[derive(Debug, Clone, Copy)]
enum Verdict {
    /// It is good.
    Good,
    /// It is refused, and this path is named.
    Refused(&'static str),
    /// A link is followed in a directory and a git revision; elsewhere the revision is refused, and this path is named.
    Followed(&'static str),
}
use Thing::{BlockDevice, Device, Directory, File, HardLink, Link, Locked, Pipe, Socket, Sparse, Submodule};
use Verdict::{Followed, Good, Refused};

const YAML: &str = "to: 1.1.0\nfrom: 1[.]0[.]0\n";

/// What is put beside the good files, or in place of one: a path (bytes in Latin-1), the thing, and the verdict.
const ROWS: &[(&str, Thing, Verdict)] = &[
    // Nothing odd.
    ("blocked-edges/other.yaml", File(YAML), Good),
    ("README.md", File("x"), Good),
    // Links that lead nowhere, out, or in a circle.
    ("risks/x.yaml", Link("gone.yaml"), Refused("risks/x.yaml")),
    ("risks/r.yaml", Link("gone.yaml"), Refused("risks/r.yaml")),
    ("blocked-edges/x.yaml", Link("/etc/passwd"), Refused("blocked-edges/x.yaml")),
    ("blocked-edges/x.yaml", Link("../../../etc/passwd"), Refused("blocked-edges/x.yaml")),
    ("channels/x.yaml", Link("x.yaml"), Refused("channels/x.yaml")),
    ("releases/x.json", Link("/dev/zero"), Refused("releases/x.json")),
    ("raw/metadata.json", Link("/dev/null"), Refused("raw/metadata.json")),
    ("version", Link("/proc/version"), Refused("version")),
    ("signatures/sha256/ab12/signature-2", Link("/proc/self/environ"), Refused("signatures/sha256/ab12/signature-2")),
    ("signatures/sha256/cd34", Link("/proc/self"), Refused("signatures/sha256/cd34")),
    ("signatures/sha512", Link("/etc"), Refused("signatures/sha512")),
    // The directories themselves.
    ("risks", Link("gone"), Refused("risks")),
    ("risks", Link("/etc"), Refused("risks")),
    ("risks", Pipe, Refused("risks")),
    ("risks", File("x"), Refused("risks")),
    ("signatures", File("x"), Refused("signatures")),
    ("channels", Socket, Refused("channels")),
    // Links inside.
    ("blocked-edges/x.yaml", Link("b.yaml"), Followed("blocked-edges/x.yaml")),
    ("blocked-edges/x.yaml", Link("../blocked-edges/./b.yaml"), Followed("blocked-edges/x.yaml")),
    ("blocked-edges/x.yaml", HardLink("blocked-edges/b.yaml"), Followed("blocked-edges/x.yaml")),
    // What is no file at all.
    ("risks/x.yaml", Pipe, Refused("risks/x.yaml")),
    ("risks/x.yaml", Socket, Refused("risks/x.yaml")),
    ("risks/x.yaml", Device, Refused("risks/x.yaml")),
    ("risks/x.yaml", BlockDevice, Refused("risks/x.yaml")),
    ("risks/x.yaml", Sparse, Refused("risks/x.yaml")),
    ("risks/notes", Pipe, Refused("risks/notes")),
    ("risks/x.yaml", Directory, Refused("risks/x.yaml")),
    ("risks/r.yaml", Directory, Refused("risks/r.yaml")),
    ("channels/c.json", Directory, Refused("channels/c.json")),
    ("version", Directory, Refused("version")),
    ("signatures/sha256/ab12/signature-2", Directory, Refused("signatures/sha256/ab12/signature-2")),
    ("risks/x.yaml", Submodule, Refused("risks/x.yaml")),
    ("risks", Submodule, Refused("risks")),
    ("risks/x.yaml", Locked, Refused("risks/x.yaml")),
    ("risks/\u{ff}.yaml", File("x"), Refused("risks/\\xff.yaml")),
    ("signatures/sha256/ab12/\u{ff}", File("x"), Refused("signatures/sha256/ab12/\\xff")),
    // What is not read anyway.
    ("docs/x.yaml", Link("/etc/passwd"), Good),
    ("docs/pipe", Pipe, Good),
    ("\u{ff}", File("x"), Good),
    ("channels/old", Directory, Good),
    ("channels/old", Submodule, Refused("channels/old")),
    ("channels/..2026_01_01", Directory, Good),
    ("signatures/README", File("x"), Good),
    ("signatures/sha256/README", File("x"), Good),
];

/// The bytes of a path in the table.
fn bytes(path: &str) -> Vec<u8> {
    path.chars().map(|letter| u8::try_from(u32::from(letter)).unwrap()).collect()
}

/// The good files, without what a row puts something else in place of.
fn good_without(path: &str) -> Vec<(&'static str, &'static str)> {
    let below = format!("{path}/");
    GOOD.into_iter().filter(|(name, _)| *name != path && !name.starts_with(&below)).collect()
}

/// Whether a revision is good, or which files it is refused for.
fn judged(inputs: &Inputs) -> Result<(), Vec<String>> {
    let outcome = load(inputs, &Limits::default());
    if outcome.revision.is_some() {
        return Ok(());
    }
    let named = outcome.diagnostics.iter().filter(|finding| finding.code == "GD008");
    Err(named.filter_map(|finding| finding.place.file.clone()).collect())
}

fn check(source: Source, row: &(&str, Thing, Verdict), outcome: &Result<(), Vec<String>>) {
    let (path, thing, verdict) = row;
    let (verdict, keeps_links) = (*verdict, matches!(source, Source::Directory | Source::Git));
    let want = match verdict {
        Good => Ok(()),
        Followed(_) if keeps_links => Ok(()),
        Followed(named) | Refused(named) => Err(vec![named.to_owned()]),
    };
    assert_eq!(*outcome, want, "{source:?}: {path} as {thing:?}");
}

/// Puts a row into a directory; says whether this system and this user can.
fn put(root: &Path, path: &str, thing: Thing) -> bool {
    let name = bytes(path);
    let place = root.join(OsStr::from_bytes(&name));
    fs::create_dir_all(place.parent().unwrap()).unwrap();
    match thing {
        File(content) => fs::write(place, content).unwrap(),
        Link(target) => symlink(target, place).unwrap(),
        HardLink(target) => fs::hard_link(root.join(target), place).unwrap(),
        Pipe => mknodat(CWD, place, FileType::Fifo, Mode::RUSR, 0).unwrap(),
        Socket => drop(UnixListener::bind(place).unwrap()),
        Device => return put_device(&place, FileType::CharacterDevice),
        BlockDevice => return put_device(&place, FileType::BlockDevice),
        Directory => {
            fs::create_dir(&place).unwrap();
            fs::write(place.join("inner"), "x").unwrap();
        }
        Locked => {
            fs::write(&place, YAML).unwrap();
            fs::set_permissions(&place, fs::Permissions::from_mode(0o000)).unwrap();
            // Who may read everything cannot be locked out.
            return fs::File::open(place).is_err();
        }
        Submodule | Sparse => return false,
    }
    true
}

/// Makes a device, which many users and containers may not; where that is so, it is listed as not run.
fn put_device(place: &Path, kind: FileType) -> bool {
    let made = mknodat(CWD, place, kind, Mode::RUSR, rustix::fs::makedev(1, 5));
    if let Err(error) = made {
        clearway_testbed::note_not_run(&clearway_testbed::MissingComponent {
            component: "a device in place of a file",
            why: format!("{kind:?} cannot be made: {error}"),
            how: "run the tests as root with the capability CAP_MKNOD".to_owned(),
        });
    }
    made.is_ok()
}

#[test]
fn in_a_directory() {
    for row in ROWS.iter().filter(|row| !matches!(row.1, Locked)) {
        let root = tempfile::tempdir().unwrap();
        for (name, content) in good_without(row.0) {
            assert!(put(root.path(), name, File(content)));
        }
        if put(root.path(), row.0, row.1) {
            check(Source::Directory, row, &judged(&graph_data::directory(root.path(), &Limits::default()).unwrap()));
        }
    }
}

/// The user root may read every file, so that this test runs itself once more as a user who may not.
#[test]
fn in_a_directory_without_permission() {
    if rustix::process::geteuid().is_root() {
        return as_another_user("in_a_directory_without_permission");
    }
    for row in ROWS.iter().filter(|row| matches!(row.1, Locked)) {
        let root = tempfile::tempdir().unwrap();
        for (name, content) in good_without(row.0) {
            assert!(put(root.path(), name, File(content)));
        }
        assert!(put(root.path(), row.0, row.1), "{} can be read", row.0);
        check(Source::Directory, row, &judged(&graph_data::directory(root.path(), &Limits::default()).unwrap()));
    }
}

/// Runs a test of this program as the user with no rights. The program may be where that user cannot go, so a copy is run.
fn as_another_user(test: &str) {
    const NOBODY: u32 = 65534;
    let place = tempfile::tempdir().unwrap();
    let (program, scratch) = (place.path().join("odd_files"), place.path().join("scratch"));
    fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    fs::create_dir(&scratch).unwrap();
    for (path, mode) in [(place.path(), 0o755), (program.as_path(), 0o755), (scratch.as_path(), 0o777)] {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }
    let mut command = Command::new(&program);
    command.args(["--exact", test]).env("TMPDIR", &scratch).current_dir(&scratch).uid(NOBODY).gid(NOBODY);
    match command.output() {
        Ok(done) => {
            let said = String::from_utf8_lossy(&done.stdout);
            let complaints = String::from_utf8_lossy(&done.stderr);
            assert!(done.status.success() && said.contains("1 passed"), "{said}{complaints}");
        }
        // Some containers have no other user, or run no program from there.
        Err(error) => clearway_testbed::note_not_run(&clearway_testbed::MissingComponent {
            component: "a user other than root",
            why: format!("the test cannot run as user {NOBODY}: {error}"),
            how: "run the tests as a user other than root".to_owned(),
        }),
    }
}

/// A row as an archive; nothing if archives have no such thing.
fn tar_of(root: &str, row: &(&str, Thing, Verdict)) -> Option<Vec<u8>> {
    use tar::EntryType;
    let mut archive = Vec::new();
    let mut add = |name: &[u8], kind: EntryType, target: &str, content: &str| {
        let mut header = tar::Header::new_gnu();
        let name = [root.as_bytes(), name].concat();
        header.as_old_mut().name[..name.len()].copy_from_slice(&name);
        header.as_old_mut().linkname[..target.len()].copy_from_slice(target.as_bytes());
        header.set_entry_type(kind);
        header.set_mode(0o644);
        header.set_size(content.len() as u64);
        header.set_cksum();
        archive.extend_from_slice(header.as_bytes());
        archive.extend_from_slice(content.as_bytes());
        archive.resize(archive.len().next_multiple_of(512), 0);
    };
    for (name, content) in good_without(row.0) {
        add(name.as_bytes(), EntryType::Regular, "", content);
    }
    let name = bytes(row.0);
    match row.1 {
        File(content) => add(&name, EntryType::Regular, "", content),
        Link(target) => add(&name, EntryType::Symlink, target, ""),
        HardLink(target) => add(&name, EntryType::Link, &format!("{root}{target}"), ""),
        Pipe => add(&name, EntryType::Fifo, "", ""),
        Device => add(&name, EntryType::Char, "", ""),
        BlockDevice => add(&name, EntryType::Block, "", ""),
        Sparse => add(&name, EntryType::GNUSparse, "", ""),
        // With an entry of its own, and by what is in it.
        Directory => {
            add(&[&name[..], b"/"].concat(), EntryType::Directory, "", "");
            add(&[&name[..], b"/inner"].concat(), EntryType::Regular, "", "x");
        }
        Socket | Submodule | Locked => return None,
    }
    archive.extend([0; 1024]);
    Some(archive)
}

/// Archives and images have to say where graph-data is, and that is where its `version` and `channels` are.
fn hides_the_root(row: &(&str, Thing, Verdict)) -> bool {
    matches!(row, ("version", Directory, _))
}

#[test]
fn in_an_archive_packed_or_not() {
    for row in ROWS {
        for root in ["", "graph-data-main/"] {
            let Some(archive) = tar_of(root, row) else { continue };
            for (source, archive) in [(Source::Tar, archive.clone()), (Source::TarGz, gzip(&archive))] {
                let read = graph_data::archive(archive.as_slice(), &Limits::default());
                if hides_the_root(row) {
                    assert!(read.unwrap_err().to_string().contains("not graph-data"));
                } else {
                    check(source, row, &judged(&read.unwrap()));
                }
            }
        }
    }
}

/// Git in a directory.
fn git(root: &Path, arguments: &[&str], input: &[u8]) -> String {
    let mut child = Command::new("git")
        .arg("-C")
        .arg(root)
        .args(["-c", "user.name=t", "-c", "user.email=t@example.com"])
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input).unwrap();
    let done = child.wait_with_output().unwrap();
    assert!(done.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8(done.stdout).unwrap().trim().to_owned()
}

#[test]
fn in_a_git_revision() {
    let root = tempfile::tempdir().unwrap();
    git(root.path(), &["init", "-q"], b"");
    let commit = "1111111111111111111111111111111111111111";
    for row in ROWS {
        let mut index = Vec::new();
        let mut add = |mode: &str, object: &str, name: &[u8]| {
            index.extend(format!("{mode} {object}\t").into_bytes());
            index.extend_from_slice(name);
            index.push(0);
        };
        let blob = |content: &str| git(root.path(), &["hash-object", "-w", "--stdin"], content.as_bytes());
        for (name, content) in good_without(row.0) {
            add("100644", &blob(content), name.as_bytes());
        }
        let name = bytes(row.0);
        match row.1 {
            File(content) => add("100644", &blob(content), &name),
            Link(target) => add("120000", &blob(target), &name),
            Directory => add("100644", &blob("x"), &[&name[..], b"/inner"].concat()),
            Submodule => add("160000", commit, &name),
            // Git knows no such things.
            HardLink(_) | Pipe | Socket | Device | BlockDevice | Locked | Sparse => continue,
        }
        git(root.path(), &["read-tree", "--empty"], b"");
        git(root.path(), &["update-index", "-z", "--index-info"], &index);
        let tree = git(root.path(), &["write-tree"], b"");
        check(Source::Git, row, &judged(&graph_data::git_revision(root.path(), &tree, &Limits::default()).unwrap()));
    }
}

#[tokio::test]
async fn in_the_layers_of_an_image() {
    let Some(registry) = clearway_testbed::registry().await else { return };
    let push = Pusher::new(&registry.base_url(), "graph-data");
    let client = Registry::new(RegistryOptions::default()).unwrap();
    for (number, row) in ROWS.iter().enumerate() {
        let Some(layer) = tar_of("var/lib/graph-data/", row) else { continue };
        let tag = format!("row-{number}");
        push.image(Family::Oci, Some(&tag), "amd64", vec![gzip(&layer)]).await;
        let image: Image = format!("oci://{}/graph-data:{tag}", registry.host()).parse().unwrap();
        let kept = tempfile::tempdir().unwrap();
        let cache = Cache::directory(kept.path()).unwrap();
        // What was kept of it the first time is as bad as it was.
        for _ in 0..2 {
            let read = oci::graph_data(&client, &image, &cache, &Limits::default(), &[]).await;
            if hides_the_root(row) {
                assert!(read.unwrap_err().to_string().contains("no graph-data"));
            } else {
                check(Source::Image, row, &judged(&read.unwrap().0));
            }
        }
    }
    // What an upper layer takes away is gone, whatever it was.
    let bad = tar_of("g/", &("risks/x.yaml", Link("/etc/passwd"), Refused(""))).unwrap();
    let mut removal = tar::Builder::new(Vec::new());
    let mut header = tar::Header::new_gnu();
    header.set_size(0);
    removal.append_data(&mut header, "g/risks/.wh.x.yaml", &b""[..]).unwrap();
    push.image(Family::Oci, Some("gone"), "amd64", vec![gzip(&bad), gzip(&removal.into_inner().unwrap())]).await;
    let image: Image = format!("oci://{}/graph-data:gone", registry.host()).parse().unwrap();
    let (inputs, _) = oci::graph_data(&client, &image, &Cache::none(), &Limits::default(), &[]).await.unwrap();
    assert_eq!(judged(&inputs), Ok(()));
}
