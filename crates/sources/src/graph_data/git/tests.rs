//! Repositories of strangers, and a git that does not answer.

use super::*;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use rustix::fs::{CWD, FileType, Mode, mknodat};

/// A repository with graph-data in it.
struct Repository(tempfile::TempDir);

impl Repository {
    fn new() -> Self {
        let repository = Repository(tempfile::tempdir().unwrap());
        repository.git(&["init", "-q"]);
        repository.write("version", "1.1.0\n");
        repository.write("channels/a.yaml", "name: a\nversions: [1.0.0]\n");
        repository.write("risks/r.yaml", "r");
        repository
    }

    fn path(&self) -> PathBuf {
        self.0.path().to_owned()
    }

    fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.0.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    fn git(&self, arguments: &[&str]) -> String {
        self.git_with(arguments, b"")
    }

    fn git_with(&self, arguments: &[&str], input: &[u8]) -> String {
        use std::io::Write as _;
        let mut child = Command::new("git")
            .arg("-C")
            .arg(self.0.path())
            .args(["-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "core.fsmonitor=false"])
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

    fn commit(&self) {
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "--no-verify", "-m", "x"]);
    }

    fn read(&self, revision: &str) -> Result<Vec<String>, String> {
        let inputs = git_revision(&self.path(), revision, &Limits::default()).map_err(|error| error.to_string())?;
        let unreadable: Vec<String> = inputs.unreadable().map(|(path, why)| format!("{path}: {why}")).collect();
        if unreadable.is_empty() {
            Ok(inputs.iter().map(|(path, _)| path.to_owned()).collect())
        } else {
            Err(unreadable.join("; "))
        }
    }
}

const ALL: [&str; 3] = ["channels/a.yaml", "risks/r.yaml", "version"];

#[test]
fn a_git_revision_is_the_directory_as_it_was() {
    let repository = Repository::new();
    repository.write("sub/version", "1.2.0\n");
    repository.write("sub/channels/b.yaml", "b");
    repository.commit();
    let before = super::super::directory(&repository.path(), &Limits::default()).unwrap();
    repository.write("channels/a.yaml", "changed");
    assert_eq!(git_revision(&repository.path(), "HEAD", &Limits::default()).unwrap(), before);
    assert_eq!(git_revision(&repository.path(), "HEAD^{/x}", &Limits::default()).unwrap(), before);
    // Of a directory below the root of the repository, also by another name of it.
    let sub = git_revision(&repository.path().join("sub"), "HEAD", &Limits::default()).unwrap();
    assert_eq!(sub.get("channels/b.yaml"), Some(&b"b"[..]));
    assert_eq!(git_revision(&repository.path(), "HEAD:sub", &Limits::default()).unwrap(), sub);
    let link = repository.path().join("../link-to-sub");
    std::os::unix::fs::symlink(repository.path().join("sub"), &link).unwrap();
    assert_eq!(git_revision(&link, "HEAD", &Limits::default()).unwrap(), sub);
    fs::remove_file(link).unwrap();
    // In a bare repository, and with object ids of another length.
    let bare = tempfile::tempdir().unwrap();
    repository.git(&["clone", "-q", "--bare", ".", bare.path().to_str().unwrap()]);
    assert_eq!(git_revision(bare.path(), "HEAD", &Limits::default()).unwrap(), before);
    let long = Repository(tempfile::tempdir().unwrap());
    long.git(&["init", "-q", "--object-format=sha256"]);
    long.write("version", "1.1.0");
    long.write("channels/a.yaml", "a");
    long.commit();
    assert_eq!(long.read("HEAD").unwrap(), ["channels/a.yaml", "version"]);
}

#[test]
fn what_cannot_be_had_is_said_and_the_reason_is_never_empty() {
    let repository = Repository::new();
    repository.commit();
    fs::create_dir(repository.path().join("new")).unwrap();
    let nowhere = tempfile::tempdir().unwrap();
    let small = Limits { file_bytes: 8, ..Limits::default() };
    let error =
        |path: &Path, revision: &str, limits: &Limits| git_revision(path, revision, limits).unwrap_err().to_string();
    for (error, want) in [
        (error(&repository.path(), "nowhere", &Limits::default()), "at nowhere: git does not know this revision"),
        (error(&repository.path(), "HEAD:version", &Limits::default()), "git does not know this revision"),
        (error(&repository.path(), "HEAD:nowhere", &Limits::default()), "git does not know this revision"),
        (error(&repository.path(), "HEAD:channels", &Limits::default()), "not graph-data"),
        (error(&repository.path(), "--output=x", &Limits::default()), "cannot begin with a dash"),
        (error(&repository.path(), "HEAD\nHEAD", &Limits::default()), "contain control characters"),
        (
            error(&repository.path().join("new"), "HEAD", &Limits::default()),
            "the directory `new/` does not exist at this revision",
        ),
        (error(nowhere.path(), "HEAD", &Limits::default()), "not a git repository"),
        (error(&nowhere.path().join("x"), "HEAD", &Limits::default()), "No such file or directory"),
        (error(&repository.path(), "HEAD", &small), "larger than 8 bytes"),
    ] {
        assert!(error.contains(want), "{want}: {error}");
        assert!(!error.ends_with(": "), "{error}");
    }
}

#[test]
fn much_behind_the_files_that_are_read_ends_no_run() {
    // `git archive` was ended by a signal when it wrote more than anybody read.
    let repository = Repository::new();
    repository.write("zzz/large.bin", vec![7; 4 << 20]);
    repository.commit();
    for run in 0..50 {
        assert_eq!(repository.read("HEAD").as_deref(), Ok(&ALL.map(str::to_owned)[..]), "{run}");
    }
}

#[test]
fn attributes_hide_and_change_nothing() {
    let repository = Repository::new();
    repository.write("risks/r.yaml", "$Format:%H$ $Id$\n");
    repository.write(
        ".gitattributes",
        "risks/** export-ignore export-subst ident filter=evil diff=evil working-tree-encoding=UTF-16\n",
    );
    repository.git(&["config", "core.attributesFile", "/dev/null"]);
    let id = repository.git_with(&["hash-object", "-w", "--stdin", "--no-filters"], b"$Format:%H$ $Id$\n");
    repository.git(&["add", "version", "channels", ".gitattributes"]);
    repository.git(&["update-index", "--add", "--cacheinfo", &format!("100644,{id},risks/r.yaml")]);
    repository.git(&["commit", "-q", "-m", "x"]);
    let inputs = git_revision(&repository.path(), "HEAD", &Limits::default()).unwrap();
    assert_eq!(inputs.get("risks/r.yaml"), Some(&b"$Format:%H$ $Id$\n"[..]));
}

#[test]
fn nothing_that_a_repository_names_is_run_or_fetched() {
    let repository = Repository::new();
    repository.commit();
    let mark = repository.path().join("mark");
    let program = repository.path().join("program");
    fs::write(&program, format!("#!/bin/sh\ntouch {}\n", mark.display())).unwrap();
    rustix::fs::chmod(&program, Mode::RWXU).unwrap();
    let program = program.to_str().unwrap();
    // An object that is not there, and a place to fetch it from.
    let id = repository.git(&["rev-parse", "HEAD:risks/r.yaml"]);
    fs::remove_file(repository.path().join(format!(".git/objects/{}/{}", &id[..2], &id[2..]))).unwrap();
    for (key, value) in [
        ("core.repositoryFormatVersion", "1"),
        ("extensions.partialClone", "evil"),
        ("remote.evil.promisor", "true"),
        ("remote.evil.url", &format!("ext::{program}")),
        ("remote.evil.uploadpack", program),
        ("protocol.ext.allow", "always"),
        ("core.fsmonitor", program),
        ("core.sshCommand", program),
        ("core.pager", program),
        ("core.editor", program),
        ("core.askPass", program),
        ("credential.helper", program),
        ("core.hooksPath", repository.path().to_str().unwrap()),
        ("core.alternateRefsCommand", program),
        ("diff.external", program),
        ("diff.evil.textconv", program),
        ("filter.evil.smudge", program),
        ("filter.evil.process", program),
        ("alias.cat-file", &format!("!{program}")),
        ("alias.rev-parse", &format!("!{program}")),
    ] {
        let config = repository.path().join(".git/config");
        let done = Command::new("git").arg("config").arg("-f").arg(&config).args([key, value]).status().unwrap();
        assert!(done.success(), "{key}");
    }
    let error = repository.read("HEAD").unwrap_err();
    assert!(error.contains("risks/r.yaml: its object is missing") || error.contains("git"), "{error}");
    assert!(!mark.exists(), "{error}");
    // Another repository may stand in for objects of this one.
    let other = repository.git_with(&["hash-object", "-w", "--stdin"], b"other");
    let a = repository.git(&["--no-replace-objects", "rev-parse", "HEAD:channels/a.yaml"]);
    repository.git(&["replace", &a, &other]);
    fs::remove_dir_all(repository.path().join("risks")).unwrap();
    repository.git(&["rm", "-rq", "--cached", "risks"]);
    repository.git(&["commit", "-q", "--no-verify", "-m", "y"]);
    let inputs = git_revision(&repository.path(), "HEAD", &Limits::default()).unwrap();
    assert_eq!(inputs.get("channels/a.yaml"), Some(&b"name: a\nversions: [1.0.0]\n"[..]));
    assert!(!mark.exists());
}

#[test]
fn a_git_that_waits_for_ever_is_ended() {
    let repository = Repository::new();
    repository.commit();
    let head = repository.path().join(".git/HEAD");
    fs::remove_file(&head).unwrap();
    mknodat(CWD, &head, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    let of_git = GitLimits { patience: Duration::from_millis(200), ..LIMITS };
    let error = read_revision(&repository.path(), "HEAD", &Limits::default(), of_git).unwrap_err().to_string();
    assert!(error.contains("git did not finish within 0.2 seconds"), "{error}");
}

#[test]
fn a_commit_that_takes_much_memory_ends_git_and_not_more() {
    let repository = Repository::new();
    repository.commit();
    // Git reads a commit as a whole before its directory is known. All of one letter, it takes little room in a repository.
    let message = vec![b'x'; 64 << 20];
    let commit = repository.git_with(&["commit-tree", "HEAD^{tree}"], &message);
    let read =
        |memory: u64| read_revision(&repository.path(), &commit, &Limits::default(), GitLimits { memory, ..LIMITS });
    let error = read(48 << 20).unwrap_err().to_string();
    assert!(error.contains("git may use at most 48 MiB"), "{error}");
    assert_eq!(read(MEMORY).unwrap(), git_revision(&repository.path(), "HEAD", &Limits::default()).unwrap());
}

#[test]
fn directories_above_their_caps_refuse_a_revision() {
    let repository = Repository::new();
    for number in 0..20 {
        repository.write(&format!("risks/r{number}.yaml"), "r");
    }
    repository.commit();
    let read = |of_git: GitLimits| {
        let read = read_revision(&repository.path(), "HEAD", &Limits::default(), of_git);
        read.map(|inputs| inputs.iter().count()).map_err(|error| error.to_string())
    };
    // The root has three entries, `channels` one and `risks` twenty-one; each has about forty bytes.
    assert_eq!(read(GitLimits { entries: 25, tree_bytes: 900, ..LIMITS }), Ok(23));
    for (of_git, want) in [
        (GitLimits { entries: 24, ..LIMITS }, "its directories have more than 24 entries"),
        (GitLimits { entries: 2, ..LIMITS }, "its directories have more than 2 entries"),
        (GitLimits { tree_bytes: 200, ..LIMITS }, "an object of it is larger than 200 bytes"),
        (GitLimits { tree_bytes: 20, ..LIMITS }, "a directory in it is larger than 20 bytes"),
    ] {
        let error = read(of_git).unwrap_err();
        assert!(error.ends_with(want), "{want}: {error}");
    }
}

#[test]
fn objects_are_read_from_packs_and_in_other_working_trees() {
    let repository = Repository::new();
    repository.write("risks/large.yaml", vec![b'#'; 8 << 20]);
    repository.commit();
    repository.write("risks/large.yaml", [vec![b'#'; 8 << 20], b"more".to_vec()].concat());
    repository.commit();
    repository.git(&["gc", "-q"]);
    let all = ["channels/a.yaml", "risks/large.yaml", "risks/r.yaml", "version"];
    assert_eq!(repository.read("HEAD").unwrap(), all);
    assert_eq!(repository.read("HEAD~1").unwrap(), all);
    let tree = tempfile::tempdir().unwrap();
    let tree = tree.path().join("tree");
    repository.git(&["worktree", "add", "-q", tree.to_str().unwrap()]);
    let inputs = git_revision(&tree, "HEAD", &Limits::default()).unwrap();
    assert_eq!(inputs.iter().map(|(path, _)| path).collect::<Vec<_>>(), all);
}

#[test]
fn objects_of_another_repository_are_not_read() {
    let secret = Repository::new();
    secret.write("risks/r.yaml", "secret");
    secret.commit();
    let id = secret.git(&["rev-parse", "HEAD"]);
    for file in ["objects/info/alternates", "objects/info/http-alternates"] {
        let repository = Repository::new();
        repository.commit();
        repository.write(&format!(".git/{file}"), format!("{}\n", secret.path().join(".git/objects").display()));
        let error = repository.read(&id).unwrap_err();
        assert!(error.contains(file) && error.contains("names another repository"), "{error}");
    }
    let linked = [
        ("objects", ".git/objects"),
        ("refs/heads/x", ".git/refs/heads"),
        ("packed-refs", ".git/HEAD"),
        ("commondir", ".git"),
    ];
    for (file, target) in linked {
        let repository = Repository::new();
        repository.commit();
        let (file, target) = (repository.path().join(".git").join(file), secret.path().join(target));
        if file.ends_with("commondir") {
            fs::write(&file, format!("{}\n", target.display())).unwrap();
        } else {
            let _ = fs::remove_dir_all(&file);
            std::os::unix::fs::symlink(target, &file).unwrap();
        }
        let error = repository.read(&id).unwrap_err();
        assert!(error.contains(file.to_str().unwrap()), "{}: {error}", file.display());
    }
}

/// A `.git` that leads to a repository which does not know of it.
#[test]
fn a_directory_has_git_read_only_the_repository_that_it_stands_in() {
    use std::os::unix::fs::symlink;
    let secret = Repository::new();
    secret.write("risks/r.yaml", "secret");
    secret.commit();
    let id = secret.git(&["rev-parse", "HEAD"]);
    let tree = tempfile::tempdir().unwrap();
    let tree = tree.path().join("tree");
    secret.git(&["worktree", "add", "-q", tree.to_str().unwrap()]);
    let (own, of_tree) = (secret.path().join(".git"), secret.path().join(".git/worktrees/tree"));
    fs::create_dir_all(own.join("modules")).unwrap();
    let done = Command::new("git").args(["clone", "-q", "--bare"]).arg(&own).arg(own.join("modules/m")).status();
    assert!(done.unwrap().success());
    let file = |path: &Path| format!("gitdir: {}\n", path.display());
    let stranger = || {
        let stranger = tempfile::tempdir().unwrap();
        fs::create_dir(stranger.path().join("channels")).unwrap();
        stranger
    };
    let refused = |stranger: &Path, want: &str| {
        for directory in [stranger.to_owned(), stranger.join("channels")] {
            let error = git_revision(&directory, &id, &Limits::default()).unwrap_err().to_string();
            let dot_git = stranger.join(".git").display().to_string();
            assert!(error.contains(want) && error.contains(&dot_git), "{want}: {error}");
        }
    };
    for (text, want) in [
        (file(&own), "does not name it as a working tree"),
        (file(&of_tree), "does not name it as a working tree"),
        (file(&own.join("modules/m")), "is not that of a submodule"),
    ] {
        let stranger = stranger();
        fs::write(stranger.path().join(".git"), text).unwrap();
        refused(stranger.path(), want);
    }
    for target in [&own, &of_tree, &own.join("modules/m"), &tree.join(".git")] {
        let stranger = stranger();
        symlink(target, stranger.path().join(".git")).unwrap();
        refused(stranger.path(), "is a link that leads out of its directory");
    }
    // By a link inside to a file that leads out.
    let stranger = stranger();
    fs::write(stranger.path().join("file"), file(&of_tree)).unwrap();
    symlink("file", stranger.path().join(".git")).unwrap();
    refused(stranger.path(), "is a link that leads out of its directory");
}

#[test]
fn working_trees_and_submodules_are_read_in_the_repositories_that_know_of_them() {
    let part = Repository::new();
    part.commit();
    let whole = Repository::new();
    let add = ["-c", "protocol.file.allow=always", "submodule", "add", "-q", part.0.path().to_str().unwrap(), "a/part"];
    whole.git(&add);
    whole.commit();
    let read = |path: &Path| {
        let inputs = git_revision(path, "HEAD", &Limits::default()).map_err(|error| error.to_string())?;
        Ok::<_, String>(inputs.iter().map(|(path, _)| path.to_owned()).collect::<Vec<_>>())
    };
    let all = Ok(ALL.map(str::to_owned).to_vec());
    assert!(whole.path().join("a/part/.git").is_file());
    assert_eq!(read(&whole.path().join("a/part")), all);
    // A working tree of its own, and the submodule in that.
    let tree = tempfile::tempdir().unwrap();
    let tree = tree.path().join("tree");
    whole.git(&["worktree", "add", "-q", tree.to_str().unwrap()]);
    assert_eq!(read(&tree), all);
    let update =
        ["-C", tree.to_str().unwrap(), "-c", "protocol.file.allow=always", "submodule", "update", "-q", "--init"];
    whole.git(&update);
    assert_eq!(read(&tree.join("a/part")), all);
    // Where the path back is relative.
    let back = whole.path().join(".git/worktrees/tree/gitdir");
    let levels = "../".repeat(back.parent().unwrap().components().count() - 1);
    fs::write(&back, format!("{levels}{}\n", tree.join(".git").display().to_string().trim_start_matches('/'))).unwrap();
    assert_eq!(read(&tree), all);
    // A repository beside its files, named by a file and by a link.
    for name in ["file", "link"] {
        fs::rename(part.path().join(".git"), part.path().join(".kept")).unwrap();
        match name {
            "file" => fs::write(part.path().join(".git"), "gitdir: .kept\n").unwrap(),
            _ => std::os::unix::fs::symlink(".kept", part.path().join(".git")).unwrap(),
        }
        assert_eq!(read(&part.path()), all, "{name}");
        fs::remove_file(part.path().join(".git")).unwrap();
        fs::rename(part.path().join(".kept"), part.path().join(".git")).unwrap();
    }
    // Inside of a repository, and in one without a working tree.
    assert!(read(&part.path().join(".git")).is_ok());
    assert!(read(&whole.path().join(".git/modules/a/part")).is_ok());
}

#[test]
fn trees_made_by_hand_hide_nothing() {
    let repository = Repository::new();
    repository.commit();
    let blob = repository.git_with(&["hash-object", "-w", "--stdin"], b"x");
    let bytes: Vec<u8> = (0..20).map(|at| u8::from_str_radix(&blob[2 * at..2 * at + 2], 16).unwrap()).collect();
    let entry = |mode: &str, name: &[u8]| [mode.as_bytes(), b" ", name, b"\0", &bytes].concat();
    for (entries, want) in [
        (vec![entry("100644", b"..")], Some("risks/..: its name is not a valid file name")),
        (vec![entry("100644", b".")], Some("risks/.: its name is not a valid file name")),
        (vec![entry("100644", b"a/b.yaml")], Some("risks/a/b.yaml: its name is not a valid file name")),
        (vec![entry("100644", b"\xff.yaml")], Some("risks/\\xff.yaml: its name is not UTF-8")),
        (
            vec![entry("100644", b"r.yaml"), entry("120000", b"r.yaml")],
            Some("risks/r.yaml: it is twice in its directory, not a file"),
        ),
        (vec![entry("160000", b"r.yaml")], Some("risks/r.yaml: it is a submodule, not a file")),
        (vec![entry("60000", b"r.yaml")], Some("risks/r.yaml: it is of an unsupported type, not a file")),
        (vec![entry("40000", b"r.yaml")], Some("risks/r.yaml: it is a directory, not a file")),
        (vec![entry("100755", b"r.yaml")], None),
        (vec![entry("100664", b"r.yaml")], None),
    ] {
        let risks =
            repository.git_with(&["hash-object", "-w", "-t", "tree", "--literally", "--stdin"], &entries.concat());
        let list =
            format!("{}\n040000 tree {risks}\trisks\n", repository.git(&["ls-tree", "HEAD", "version", "channels"]));
        let root = repository.git_with(&["mktree", "--missing"], list.as_bytes());
        match want {
            Some(want) => assert_eq!(repository.read(&root).unwrap_err(), want),
            None => assert_eq!(repository.read(&root).unwrap(), ALL),
        }
    }
}

/// What follows a broken entry may be the block that somebody wants to hide.
#[test]
fn a_damaged_directory_is_refused() {
    let good = [b"100644 a\0".as_slice(), &[1; 20], b"40000 b\0", &[2; 20]].concat();
    assert_eq!(entries(&good, 20).unwrap().len(), 2);
    assert!(entries(b"", 20).unwrap().is_empty());
    for damaged in [&good[..good.len() - 1], &good[..30], b"x", &[good.as_slice(), b"100644 c"].concat()] {
        assert_eq!(entries(damaged, 20), Err("a directory object is damaged".to_owned()));
    }
}
