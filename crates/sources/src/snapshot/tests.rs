//! Writing and reading back, damage, limits, archives from strangers, and names that are gone.

use std::fs;
use std::io::Write as _;
use std::path::Path;

use clearway_core::Limits;
use clearway_promql::read::{ReadLimits, snapshot as read_series};
use flate2::{Compression, write::GzEncoder};
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::files::confined::{ConfinedDirectory, ReadHooks};

fn series(lines: &[&str]) -> Series {
    let end = format!("# end {}\n", lines.len());
    let text = [&["# clearway-series 1"], lines, &[&end]].concat().join("\n");
    read_series(text.as_bytes(), &ReadLimits::default()).unwrap()
}

fn window(selector: &str) -> Window {
    Window { selector: selector.to_owned(), end: 1_700_000_000_000, width: 300_000, instant: true }
}

fn kind(group: &str, kind: &str) -> GroupKind {
    GroupKind { group: group.to_owned(), kind: kind.to_owned() }
}

fn deployment(name: &str) -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {
            "name": name, "namespace": "acme-shop", "uid": "7e1c-uid", "labels": {"team": "falcon", "kubernetes.io/arch": "amd64"},
            "annotations": {"owner": "jane.doe@acme.example", "clearway.dev/channel": "standard"},
        },
        "spec": {"replicas": 3, "ip": "10.1.2.3", "host": format!("{name}.acme-shop.svc")},
        "status": {"message": format!("pod {name}. is up in acme-shop/{name}")},
    })
}

fn sample() -> Snapshot {
    let mut snapshot = Snapshot::new(Timestamp::from_seconds(1_700_000_000).unwrap());
    snapshot.cluster = ClusterFacts {
        id: Some("b5f9-cluster-id".to_owned()),
        version: Some("4.14.1".parse().unwrap()),
        arch: Some("amd64".parse().unwrap()),
        channel: Some("stable-4.14".to_owned()),
        kubernetes_version: Some("v1.27.6".to_owned()),
    };
    snapshot.sources = vec!["https://prometheus.acme.example/".to_owned()];
    snapshot.series = Part::Collected(SeriesEvidence {
        series: series(&[
            "kube_pod_info{namespace=\"acme-shop\",pod=\"storefront-1\"} 1700000000000:1",
            "kube_pod_info{namespace=\"acme-registry\",pod=\"cache-7\"} 1700000000000:1",
            "up{_id=\"b5f9-cluster-id\",type=\"VSphere\"} 1700000000000:1 +1:stale",
        ]),
        windows: vec![window("up{_id=\"b5f9-cluster-id\"}"), window("kube_pod_info{namespace=\"acme-registry\"}")],
        whole: false,
    });
    let items = vec![deployment("storefront"), deployment("backoffice")];
    let objects = Objects {
        selection: Selection { namespace: Some("acme-shop".to_owned()), ..Selection::default() },
        items,
        not_served: false,
    };
    snapshot.objects.insert(kind("apps", "Deployment"), Part::Collected(objects));
    snapshot
        .objects
        .insert(kind("", "Node"), Part::NotCollected { why: "not allowed to list nodes of acme-shop".to_owned() });
    let crd = json!({
        "metadata": {"name": "things.example.com", "annotations": {"example.com/bundle-version": "v1.2.3", "x": "y"}},
        "spec": {"group": "example.com", "names": {"kind": "Thing"}, "versions": [{"name": "v1", "served": true, "storage": true}]},
        "status": {"storedVersions": ["v1"]},
    });
    snapshot.crds = Part::Collected(vec![Crd::of(&crd).unwrap()]);
    snapshot.left_out = vec![Omission { what: "x[5m] in acme-shop".to_owned(), why: "too large".to_owned() }];
    snapshot
}

fn loaded(files: Files) -> LoadedSnapshot {
    assemble(files, &Limits::default()).unwrap()
}

fn codes(loaded: &LoadedSnapshot) -> Vec<&str> {
    loaded.diagnostics.iter().map(|found| found.code.as_ref()).collect()
}

#[test]
fn what_is_written_is_read_back_from_everywhere() {
    let snapshot = sample();
    let files = to_files(&snapshot).unwrap();
    let names: Vec<&str> = files.keys().map(String::as_str).collect();
    assert_eq!(names, ["crds.json", "objects/Deployment.apps.json", "series.snap", "snapshot.json"]);
    let root = tempfile::tempdir().unwrap();
    let directory = root.path().join("deep/snap");
    write(&snapshot, &directory).unwrap();
    let archive = to_archive(&snapshot).unwrap();
    assert_eq!(archive, to_archive(&snapshot).unwrap());
    fs::write(root.path().join("snap.tgz"), &archive).unwrap();
    for from in [directory.clone(), root.path().join("snap.tgz")] {
        let read = read(&from, &Limits::default()).unwrap();
        assert!(read.diagnostics.is_empty(), "{:?}", read.diagnostics);
        assert_eq!(to_files(&read.snapshot).unwrap(), files);
        let node = read.snapshot.objects_of("", "Node");
        assert_eq!(node.unwrap_err(), "not allowed to list nodes of acme-shop");
        assert_eq!(read.snapshot.objects_of("", "Pod").unwrap_err(), UNASKED);
        assert_eq!(read.snapshot.objects_of("apps", "Deployment").unwrap().items.len(), 2);
        assert_eq!(read.snapshot.cluster, snapshot.cluster);
    }
    // Nothing is written over, and nothing else is left behind.
    assert!(matches!(write(&snapshot, &directory), Err(SnapshotError::Exists { .. })));
    assert_eq!(fs::read_dir(root.path().join("deep")).unwrap().count(), 1);
}

#[test]
fn the_order_of_what_was_collected_makes_no_difference() {
    let (one, mut other) = (sample(), sample());
    let Some(Part::Collected(objects)) = other.objects.get_mut(&kind("apps", "Deployment")) else { panic!() };
    objects.items.reverse();
    let Part::Collected(evidence) = &mut other.series else { panic!() };
    evidence.windows.reverse();
    assert_eq!(to_files(&one).unwrap(), to_files(&other).unwrap());
}

#[test]
fn a_damaged_or_missing_part_is_not_known_and_never_empty() {
    let files = to_files(&sample()).unwrap();
    for name in ["series.snap", "objects/Deployment.apps.json", "crds.json"] {
        for change in [None, Some(&b""[..]), Some(b"{\"items\":[]}"), Some(b"\xff\x00")] {
            let mut files = files.clone();
            match change {
                None => drop(files.remove(name)),
                Some(bytes) => drop(files.insert(name.to_owned(), bytes.to_vec())),
            }
            let loaded = loaded(files);
            assert_eq!(codes(&loaded), [if change.is_none() { "SN003" } else { "SN002" }], "{name}");
            let snapshot = &loaded.snapshot;
            let unknown = match name {
                "series.snap" => snapshot.series.collected().err(),
                "crds.json" => snapshot.crds.collected().err(),
                _ => snapshot.objects_of("apps", "Deployment").err(),
            };
            assert!(unknown.unwrap().starts_with(name), "{unknown:?}");
        }
    }
}

#[test]
fn a_part_written_by_hand_needs_no_digest_but_has_to_be_right() {
    let manifest =
        |objects: Value| json!({"schema": "1.0", "takenAt": "2024-05-01T12:00:00Z", "objects": [objects]}).to_string();
    let deployments = json!({"group": "apps", "kind": "Deployment"});
    for (items, want) in [
        (json!({"items": []}), None),
        (json!({"items": [{"apiVersion": "apps/v1", "kind": "Deployment"}]}), None),
        (json!({"items": [{"apiVersion": "v1", "kind": "Deployment"}]}), Some("is not a Deployment.apps")),
        (json!({"items": [{"apiVersion": "apps/v1", "kind": "Secret"}]}), Some("is not a Deployment.apps")),
        (json!({"items": [1]}), Some("is not a Deployment.apps")),
        (json!({}), Some("missing field `items`")),
    ] {
        let mut files = Files::from([("snapshot.json".to_owned(), manifest(deployments.clone()).into_bytes())]);
        files.insert("objects/Deployment.apps.json".to_owned(), items.to_string().into_bytes());
        let loaded = loaded(files);
        let why = loaded.snapshot.objects_of("apps", "Deployment").err();
        assert_eq!(why.is_some(), want.is_some(), "{items} {why:?}");
        assert!(want.is_none_or(|want| why.unwrap().contains(want)), "{why:?}");
        assert!(loaded.snapshot.series.collected().is_err());
    }
    let secrets = manifest(json!({"kind": "Secret"}));
    let mut files = Files::from([("snapshot.json".to_owned(), secrets.into_bytes())]);
    let items = json!({"items": [{"apiVersion": "v1", "kind": "Secret", "data": {"a": "b"}}]});
    files.insert("objects/Secret.json".to_owned(), items.to_string().into_bytes());
    assert!(loaded(files).snapshot.objects_of("", "Secret").unwrap_err().contains("it contains secrets"));
}

#[test]
fn schemas_are_told_apart() {
    let with = |schema: &str| {
        let manifest = json!({"schema": schema, "takenAt": "2024-05-01T12:00:00Z", "new": {"x": 1}});
        assemble(Files::from([("snapshot.json".to_owned(), manifest.to_string().into_bytes())]), &Limits::default())
    };
    assert!(with("1.0").unwrap().diagnostics.is_empty());
    assert_eq!(codes(&with("1.7").unwrap()), ["SN001"]);
    for schema in ["2.0", "0.9", "1", "one.two", "", "1.-1", "+1.0"] {
        assert!(matches!(with(schema), Err(SnapshotError::Schema { .. })), "{schema}");
    }
    for manifest in
        ["", "[]", "{}", "{\"schema\":\"1.0\"}", "{\"schema\":\"1.0\",\"takenAt\":\"now\"}", "{\"schema\":1}"]
    {
        let files = Files::from([("snapshot.json".to_owned(), manifest.into())]);
        assert!(matches!(assemble(files, &Limits::default()), Err(SnapshotError::Manifest { .. })), "{manifest}");
    }
    assert!(matches!(assemble(Files::new(), &Limits::default()), Err(SnapshotError::NotASnapshot)));
}

#[test]
fn a_manifest_names_no_file_elsewhere() {
    for name in ["../../etc/passwd", "a/b", "", ".hidden", "A.b", "a\u{0}", "a\\b"] {
        let manifest = json!({"schema": "1.0", "takenAt": "2024-05-01T12:00:00Z", "objects": [{"kind": name}]});
        let files = Files::from([("snapshot.json".to_owned(), manifest.to_string().into_bytes())]);
        assert!(matches!(assemble(files, &Limits::default()), Err(SnapshotError::Kind { .. })), "{name:?}");
    }
}

#[test]
fn a_kind_that_cannot_be_the_name_of_a_file_costs_only_itself() {
    let others = to_files(&sample()).unwrap();
    for name in ["../../etc/passwd", "a/b", "", ".hidden", "A.b", "a\u{0}", "a\\b"] {
        let mut snapshot = sample();
        snapshot.objects.insert(kind("", name), Part::unasked());
        let files = to_files(&snapshot).unwrap();
        assert_eq!(files.keys().collect::<Vec<_>>(), others.keys().collect::<Vec<_>>(), "{name:?}");
        let left_out = assemble(files, &Limits::default()).unwrap().snapshot.left_out;
        assert!(left_out.iter().any(|omission| omission.why.contains("not a kind")), "{name:?}: {left_out:?}");
    }
}

#[test]
fn limits_hold() {
    let root = tempfile::tempdir().unwrap();
    let (directory, archive) = (root.path().join("snap"), root.path().join("snap.tgz"));
    write(&sample(), &directory).unwrap();
    fs::write(&archive, to_archive(&sample()).unwrap()).unwrap();
    let small = Limits { file_bytes: 1000, ..Limits::default() };
    for path in [&directory, &archive] {
        assert!(matches!(read(path, &small), Err(SnapshotError::TooLarge { limit: 1000 })), "{path:?}");
    }
    let files = to_files(&sample()).unwrap();
    let short = Limits { document_bytes: 300, ..Limits::default() };
    let cut = assemble(files.clone(), &short).unwrap();
    assert!(cut.snapshot.objects_of("apps", "Deployment").unwrap_err().contains("larger than 300 bytes"));
    let few = Limits { nodes: 5, ..Limits::default() };
    let cut = assemble(files, &few).unwrap();
    assert!(cut.snapshot.objects_of("apps", "Deployment").unwrap_err().contains("more than 5 values"));
    assert!(matches!(read(Path::new("/nonexistent"), &few), Err(SnapshotError::Io { .. })));
    assert!(matches!(read(root.path(), &few), Err(SnapshotError::NotASnapshot)));
}

/// Puts another snapshot in the place of the first ones, after each of so many readings.
struct Replaced<'d> {
    directory: &'d Path,
    times: usize,
    readings: usize,
}

impl ReadHooks for Replaced<'_> {
    fn after_reading(&mut self, reading: usize) {
        self.readings += 1;
        if reading < self.times {
            let mut next = sample();
            next.taken_at = next.taken_at.plus(std::time::Duration::from_secs(1 + reading as u64));
            fs::remove_dir_all(self.directory).unwrap();
            write(&next, self.directory).unwrap();
        }
    }

    fn before_next(&mut self, _: usize) {}
}

#[test]
fn a_directory_that_is_replaced_is_read_again() {
    for times in [0, 1, READS - 1, READS] {
        let root = tempfile::tempdir().unwrap();
        let directory = root.path().join("snap");
        write(&sample(), &directory).unwrap();
        let mut hooks = Replaced { directory: &directory, times, readings: 0 };
        let open = || ConfinedDirectory::open(&directory);
        let found = super::read::read_directory(&directory, open, &Limits::default(), &mut hooks);
        assert_eq!(hooks.readings, (times + 1).min(READS));
        match found {
            Ok(found) => {
                assert!(times < READS && found.diagnostics.is_empty(), "{times}: {:?}", found.diagnostics);
                let seconds = found.snapshot.taken_at.since(sample().taken_at).as_secs();
                assert_eq!(seconds, times as u64);
            }
            Err(error) => {
                assert!(times == READS && matches!(error, SnapshotError::Changing { .. }), "{times}: {error}");
            }
        }
    }
}

#[test]
fn what_is_no_file_inside_of_it_is_not_known() {
    use rustix::fs::{CWD, FileType, Mode, mknodat};
    use std::os::unix::fs::symlink;
    type Row<'r> = (&'r str, &'r str, &'r dyn Fn(&Path));
    let root = tempfile::tempdir().unwrap();
    let objects = "objects/Deployment.apps.json";
    let rows: [Row<'_>; 5] = [
        (objects, "it links to `/etc/passwd`, outside", &|path| symlink("/etc/passwd", path).unwrap()),
        (objects, "it links to `gone`, which does not exist", &|path| symlink("gone", path).unwrap()),
        (objects, "it is a named pipe", &|path| mknodat(CWD, path, FileType::Fifo, Mode::RUSR, 0).unwrap()),
        (objects, "it is a directory", &|path| fs::create_dir(path).unwrap()),
        ("objects", "it links to `/etc`, outside", &|path| symlink("/etc", path).unwrap()),
    ];
    for (number, (name, want, make)) in rows.into_iter().enumerate() {
        let directory = root.path().join(number.to_string());
        write(&sample(), &directory).unwrap();
        let path = directory.join(name);
        if path.is_dir() {
            fs::remove_dir_all(&path).unwrap();
        } else {
            fs::remove_file(&path).unwrap();
        }
        make(&path);
        let loaded = read(&directory, &Limits::default()).unwrap();
        let why = loaded.snapshot.objects_of("apps", "Deployment").unwrap_err();
        assert!(why.contains(want), "{want}: {why}");
        assert!(loaded.snapshot.series.collected().is_ok(), "the rest is known");
        assert_eq!(codes(&loaded), ["SN002"], "{want}");
    }
    // A link inside is followed, also where the whole is named by one.
    let directory = root.path().join("linked");
    write(&sample(), &directory).unwrap();
    fs::rename(directory.join(objects), directory.join("kept.json")).unwrap();
    symlink("../kept.json", directory.join(objects)).unwrap();
    let link = root.path().join("link");
    symlink(&directory, &link).unwrap();
    assert!(read(&link, &Limits::default()).unwrap().snapshot.objects_of("apps", "Deployment").is_ok());
    fs::remove_file(directory.join("snapshot.json")).unwrap();
    symlink("/etc/passwd", directory.join("snapshot.json")).unwrap();
    let error = read(&directory, &Limits::default()).unwrap_err().to_string();
    assert!(error.starts_with("snapshot.json: cannot be read: it links to"), "{error}");
}

#[test]
fn objects_that_would_take_much_memory_are_not_read_and_not_written() {
    // Four megabytes, and 280 of them in memory.
    let many = format!("[{}0]", "{\"a\":0},".repeat(400_000));
    let item = format!(r#"{{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"x"}},"spec":{many}}}"#);
    let manifest =
        json!({"schema": "1.0", "takenAt": "2024-05-01T12:00:00Z", "objects": [{"kind": "Pod"}, {"kind": "Node"}]});
    let files = Files::from([
        ("snapshot.json".to_owned(), manifest.to_string().into_bytes()),
        ("objects/Pod.json".to_owned(), format!("{{\"items\":[{item}]}}").into_bytes()),
        ("objects/Node.json".to_owned(), b"{\"items\":[]}".to_vec()),
    ]);
    let loaded = assemble(files, &Limits::default()).unwrap();
    let why = loaded.snapshot.objects_of("", "Pod").unwrap_err();
    assert!(why.contains("more than 256 MiB of memory"), "{why}");
    assert!(loaded.snapshot.objects_of("", "Node").is_ok(), "the rest is known");

    for (bytes, memory, want) in [(usize::MAX, 1000, "MiB of memory"), (100, usize::MAX, "larger than 67108864 bytes")]
    {
        let files = write::files_within(&sample(), bytes, budget::Budget::of(memory)).unwrap();
        assert!(!files.contains_key("objects/Deployment.apps.json"));
        let again = assemble(files, &Limits::default()).unwrap();
        assert!(again.snapshot.objects_of("apps", "Deployment").unwrap_err().contains(want));
        assert!(again.snapshot.series.collected().is_ok() && again.diagnostics.is_empty(), "{:?}", again.diagnostics);
    }
}

fn tar(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    for (path, content) in files {
        let mut header = tar::Header::new_gnu();
        // Past the checks of the writer: foreign archives hold what they like.
        header.as_old_mut().name[..path.len()].copy_from_slice(path.as_bytes());
        header.set_size(content.len() as u64);
        header.set_cksum();
        builder.append(&header, *content).unwrap();
    }
    builder.into_inner().unwrap()
}

#[test]
fn archives_of_strangers_are_read_with_care() {
    let manifest = b"{\"schema\":\"1.0\",\"takenAt\":\"2024-05-01T12:00:00Z\",\"crds\":{}}";
    let crds = b"{\"items\":[]}";
    let from = |files: &[(&str, &[u8])]| read_archive(tar(files).as_slice(), &Limits::default());
    for prefix in ["", "./", "/", "must-gather/a/"] {
        let (one, two) = (format!("{prefix}snapshot.json"), format!("{prefix}crds.json"));
        assert!(from(&[("README", b"x"), (&one, manifest), (&two, crds)]).unwrap().snapshot.crds.collected().is_ok());
    }
    // Two readers could take it for two different files.
    for path in ["../crds.json", "x/../crds.json"] {
        let error = from(&[("snapshot.json", manifest), (path, crds)]).unwrap_err().to_string();
        assert!(error.contains("a name in it has `..`"), "{error}");
    }
    let elsewhere = from(&[("snapshot.json", manifest), ("other/crds.json", crds)]).unwrap();
    assert!(elsewhere.snapshot.crds.collected().is_err());
    let linked = {
        let mut bytes = tar(&[("snapshot.json", manifest)]);
        bytes.truncate(bytes.len() - 1024);
        let mut header = tar::Header::new_gnu();
        header.set_entry_type(tar::EntryType::Symlink);
        header.set_path("crds.json").unwrap();
        header.set_link_name("/etc/passwd").unwrap();
        header.set_size(0);
        header.set_cksum();
        [bytes.as_slice(), header.as_bytes(), &[0; 1024]].concat()
    };
    let linked = read_archive(linked.as_slice(), &Limits::default()).unwrap();
    assert_eq!(linked.snapshot.crds.collected(), Err("crds.json: it is a symbolic link, not a file"));
    let twice = from(&[("snapshot.json", manifest), ("./snapshot.json", manifest)]).unwrap_err().to_string();
    assert!(twice.contains("it contains ") && twice.ends_with(" twice"), "{twice}");
    assert!(matches!(from(&[("README", b"x")]), Err(SnapshotError::NotASnapshot)));
    let unlisted = from(&[("snapshot.json", manifest), ("crds.json", crds), ("objects/Node.json", crds)]).unwrap();
    assert_eq!(codes(&unlisted), ["SN004"]);
    let good = to_archive(&sample()).unwrap();
    for bytes in [&b""[..], b"<html>", &good[..10]] {
        assert!(read_archive(bytes, &Limits::default()).is_err());
    }
    let half = read_archive(&good[..good.len() / 2], &Limits::default()).unwrap_err();
    assert!(matches!(half, SnapshotError::Damaged { .. }), "{half}");
    let mut bomb = GzEncoder::new(Vec::new(), Compression::fast());
    bomb.write_all(&tar(&[("other", &vec![0; 1 << 20])])).unwrap();
    let small = Limits { file_bytes: 1 << 16, ..Limits::default() };
    let bomb = bomb.finish().unwrap();
    assert!(matches!(read_archive(bomb.as_slice(), &small), Err(SnapshotError::TooLarge { .. })));
}

#[test]
fn a_selector_is_covered_by_a_window_that_is_as_wide() {
    let Part::Collected(mut evidence) = sample().series else { panic!() };
    evidence.windows = vec![Window { selector: "a".to_owned(), end: 1_000, width: 500, instant: true }];
    for (selector, end, width, instant, want) in [
        ("a", 1_000, 500, true, true),
        ("a", 1_000, 400, true, true),
        ("a", 1_000, 501, false, false),
        ("a", 900, 400, false, true),
        ("a", 900, 400, true, false),
        ("a", 1_001, 100, false, false),
        ("b", 1_000, 500, true, false),
    ] {
        let wanted = Window { selector: selector.to_owned(), end, width, instant };
        assert_eq!(evidence.covers(&wanted), want, "{wanted:?}");
    }
    evidence.whole = true;
    assert!(evidence.covers(&window("b")));
}

#[test]
fn secrets_are_never_written() {
    let mut snapshot = sample();
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "data": {"a": "hunter2"}});
    let mut dirty = deployment("d");
    dirty["data"] = json!({"a": "hunter2"});
    dirty["spec"]["password"] = json!("hunter2");
    let objects = |items| Part::Collected(Objects { items, ..Objects::default() });
    snapshot.sources.push("https://me:hunter2@prometheus/".to_owned());
    snapshot.left_out.push(Omission { what: "x".to_owned(), why: "http://me:hunter2@p says no".to_owned() });
    snapshot.crds = Part::NotCollected { why: "http://me:hunter2@p says no".to_owned() };
    snapshot.objects.insert(kind("", "Secret"), objects(vec![secret.clone()]));
    snapshot.objects.insert(kind("apps", "Deployment"), objects(vec![dirty, secret]));
    let files = to_files(&snapshot).unwrap();
    assert!(!files.contains_key("objects/Secret.json"));
    for (name, bytes) in files {
        assert!(!String::from_utf8(bytes).unwrap().contains("hunter2"), "{name}");
    }
}

#[test]
fn no_name_is_left_after_redaction_and_rules_see_the_same() {
    let redacted = redact(&sample(), &RedactOptions::default()).unwrap();
    let files = to_files(&redacted).unwrap();
    let text: String = files.values().map(|bytes| String::from_utf8(bytes.clone()).unwrap()).collect();
    for name in [
        "acme-shop",
        "storefront",
        "backoffice",
        "falcon",
        "jane",
        "b5f9",
        "cache-7",
        "7e1c",
        "prometheus.acme",
        "10.1.2.3",
    ] {
        assert!(!text.contains(name), "{name}: {text}");
    }
    // Kept: what a selector asks for, words of the API, what every cluster has.
    for name in
        ["acme-registry", "VSphere", "amd64", "Deployment", "4.14.1", "\"clearway.dev/channel\":\"standard\"", "stale"]
    {
        assert!(text.contains(name), "{name}: {text}");
    }
    // Equal names stay equal, in series and objects alike.
    let Part::Collected(evidence) = &redacted.series else { panic!() };
    let pod = evidence
        .series
        .iter()
        .find(|(labels, _)| !labels.get("pod").is_empty() && labels.get("namespace").starts_with("r-"));
    let namespace = pod.unwrap().0.get("namespace").to_owned();
    let item = &redacted.objects_of("apps", "Deployment").unwrap().items[0];
    assert_eq!(item["metadata"]["namespace"], namespace.as_str());
    let name = item["metadata"]["name"].as_str().unwrap();
    assert_eq!(item["spec"]["host"], format!("{name}.{namespace}.svc"));
    assert_eq!(item["status"]["message"], format!("pod {name}. is up in {namespace}/{name}"));
    // The id is another one, the same everywhere.
    let id = redacted.cluster.id.clone().unwrap();
    assert!(evidence.windows.iter().any(|window| window.selector == format!("up{{_id=\"{id}\"}}")));
    assert!(evidence.series.iter().any(|(labels, _)| labels.get("_id") == id));
    assert!(loaded(files.clone()).snapshot.redacted);
    // What cannot be read may ask for anything.
    let mut odd = sample();
    odd.series = Part::Collected(SeriesEvidence { series: series(&[]), windows: vec![window("a{")], whole: false });
    assert!(matches!(redact(&odd, &RedactOptions::default()), Err(SnapshotError::Series { .. })));
    // Stable, and another with another key.
    assert_eq!(to_files(&redact(&sample(), &RedactOptions::default()).unwrap()).unwrap(), files);
    let other = RedactOptions { key: Some("k".to_owned()), ..RedactOptions::default() };
    assert_ne!(redact(&sample(), &other).unwrap().cluster.id, redacted.cluster.id);
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "(?s).{0,12}".prop_map(Value::from)
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[a-zA-Z/.]{0,8}", inner, 0..4).prop_map(Value::from_iter),
        ]
    })
}

proptest! {
    /// What is written is read back, and written the same again; redacted or not.
    #[test]
    fn a_snapshot_reads_back(
        specs in prop::collection::vec(any_json(), 0..5),
        id in prop::option::of("(?s).{0,8}"),
        value in "(?s).{0,6}",
        hide in any::<bool>(),
    ) {
        let mut snapshot = sample();
        snapshot.cluster.id = id;
        snapshot.left_out.push(Omission { what: value.clone(), why: value });
        let item = |spec| json!({"apiVersion": "example.com/v1", "kind": "Thing", "metadata": spec, "spec": spec});
        let items = specs.into_iter().map(item).collect();
        snapshot.objects.insert(kind("example.com", "Thing"), Part::Collected(Objects { items, ..Objects::default() }));
        if hide {
            snapshot = redact(&snapshot, &RedactOptions::default()).unwrap();
        }
        let files = to_files(&snapshot).unwrap();
        let read = loaded(files.clone());
        prop_assert!(read.diagnostics.is_empty(), "{:?}", read.diagnostics);
        prop_assert_eq!(to_files(&read.snapshot).unwrap(), files);
    }

    /// No bytes panic the reader, whichever file they stand in.
    #[test]
    fn foreign_bytes_are_survived(at in 0_usize..4, position in any::<prop::sample::Index>(), bytes in prop::collection::vec(any::<u8>(), 0..20)) {
        let mut files = to_files(&sample()).unwrap();
        let content = files.values_mut().nth(at).unwrap();
        let start = position.index(content.len());
        content.splice(start.., bytes.clone());
        let _ = assemble(files, &Limits::default());
        let _ = read_archive(bytes.as_slice(), &Limits::default());
    }
}
