//! Attacks by whoever publishes graph-data: as a directory, an archive, a git revision, and an image in a registry.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use clearway_testbed::Registry;
use clearway_testbed::images::{Family, Pusher, gzip};
use serde::Deserialize;

use crate::attack::{self, Content, Odd};
use crate::evidence;
use crate::operator::{Operator, advice, is_recommended};
use crate::program::{COMMAND, Service, get, run, shortened};

/// What an attack puts into graph-data, and what becomes of it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Attack {
    /// What somebody tries.
    pub(crate) title: String,
    /// Files beside the good ones, or in place of one.
    pub(crate) files: BTreeMap<String, Content>,
    /// The revision is refused, and this is said.
    pub(crate) refused: Option<String>,
    /// It is published, and the update to 1.1.0 is not judged, saying this.
    pub(crate) unknown: Option<String>,
    /// It is published, and the risk on the update to 1.1.0 applies.
    #[serde(default)]
    pub(crate) applies: bool,
    /// It is published, and the update to 1.1.0 is not offered.
    #[serde(default)]
    pub(crate) closed: bool,
    /// It is published, and nothing comes of it.
    #[serde(default)]
    pub(crate) harmless: bool,
    /// A text that must not be on any terminal, log or answer.
    pub(crate) never: Option<String>,
}

impl Attack {
    /// Whether an archive or a layer of an image can hold it.
    pub(crate) fn fits_archives(&self) -> bool {
        !self.files.values().any(|content| matches!(content, Content::Odd { odd: Odd::Socket }))
    }

    /// Whether a git revision can hold it.
    fn fits_git(&self) -> bool {
        !self.files.values().any(|content| matches!(content, Content::Odd { .. }))
    }

    /// Fails unless this is what is advised about the update to 1.1.0.
    pub(crate) fn judges(&self, what: &str, touched: Option<(String, String)>) {
        let text = format!("{what}: {touched:?}");
        match (&self.unknown, touched) {
            (Some(words), Some((status, message))) => {
                assert!(status == "Unknown" && message.contains(words), "{text}");
            }
            (None, Some((status, _))) if self.applies => assert_eq!(status, "False", "{text}"),
            (None, None) => assert!(self.closed, "{text}"),
            (None, Some((status, _))) => assert!(self.harmless && status == "True", "{text}"),
            (Some(_), None) => panic!("{text}"),
        }
    }
}

/// Three releases: the update to 1.1.0 is what attacks touch, that to 1.2.0 has a rule which must be evaluated all the same.
const GOOD: [(&str, &str); 4] = [
    ("version", "1.2.0\n"),
    ("channels/c.yaml", "name: c\nversions: [1.0.0, 1.1.0, 1.2.0]\n"),
    (
        "releases/r.yaml",
        "- {version: 1.0.0, arch: amd64, payload: 'r.example.com/p:1.0.0'}\n\
         - {version: 1.1.0, arch: amd64, payload: 'r.example.com/p:1.1.0', previous: [1.0.0]}\n\
         - {version: 1.2.0, arch: amd64, payload: 'r.example.com/p:1.2.0', previous: [1.0.0]}\n",
    ),
    (
        "risks/watched.yaml",
        "name: Watched\nurl: https://example.com/w\nmessage: It breaks.\nto: 1.2.0\nfrom: '*'\n\
         matchingRules: [{type: PromQL, promql: {promql: max(broken)}}]\n",
    ),
];

/// Writes the good files, and those of an attack.
pub(crate) fn write(root: &Path, files: &BTreeMap<String, Content>) {
    for (name, text) in GOOD {
        let path = root.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    attack::write(root, files);
}

pub(crate) fn archive(root: &Path, below: &str) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    builder.follow_symlinks(false);
    builder.append_dir_all(below, root).unwrap();
    builder.into_inner().unwrap()
}

fn git(root: &Path, arguments: &[&str]) {
    let identity = ["-c", "user.name=t", "-c", "user.email=t@example.com"];
    let done = Command::new("git").arg("-C").arg(root).args(identity).args(arguments).output().unwrap();
    assert!(done.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&done.stderr));
}

/// The sources that can hold an attack, each as the arguments that name it.
async fn sources(
    name: &str,
    attack: &Attack,
    place: &Path,
    registry: Option<&Registry>,
) -> Vec<(&'static str, Vec<String>)> {
    let root = place.join("data");
    write(&root, &attack.files);
    let mut sources = vec![("directory", vec!["data".to_owned()])];
    if attack.fits_archives() {
        fs::write(place.join("data.tar.gz"), gzip(&archive(&root, "data"))).unwrap();
        sources.push(("archive", vec!["data.tar.gz".to_owned()]));
    }
    if let Some(registry) = registry.filter(|_| attack.fits_archives()) {
        let layer = gzip(&archive(&root, "var/lib/graph-data"));
        Pusher::new(&registry.base_url(), "hostile").image(Family::Oci, Some(name), "amd64", vec![layer]).await;
        sources.push(("image", vec![format!("oci://{}/hostile:{name}", registry.host())]));
    }
    if attack.fits_git() {
        git(&root, &["init", "-q"]);
        git(&root, &["add", "-A"]);
        git(&root, &["commit", "-q", "-m", "all"]);
        sources.push(("git", vec!["data".to_owned(), "--rev".to_owned(), "HEAD".to_owned()]));
    }
    sources
}

/// Every command that reads graph-data, on every source that can hold the attack.
#[tokio::test]
async fn graph_data_for_commands() {
    let registry = clearway_testbed::registry().await;
    for (name, attack) in attack::all::<Attack>("graph-data") {
        let place = tempfile::tempdir().unwrap();
        evidence::write(&place.path().join("evidence"));
        for (source, graph) in sources(&name, &attack, place.path(), registry.as_ref()).await {
            let graph: Vec<&str> = ["--graph"].into_iter().chain(graph.iter().map(String::as_str)).collect();
            commands(&name, &attack, source, place.path(), &graph);
        }
    }
}

/// The commands on one source.
fn commands(name: &str, attack: &Attack, source: &str, place: &Path, graph: &[&str]) {
    let assess = [
        "assess",
        "--version",
        "1.0.0",
        "--channel",
        "c",
        "--snapshot",
        "evidence",
        "--as-of",
        "snapshot",
        "-o",
        "json",
    ];
    // Shown when a command itself fails.
    println!("{name} from {source}");
    let lint = run(place, &[&["graph", "lint"][..], graph].concat());
    let show = run(place, &[&["graph", "show", "c"][..], graph].concat());
    let assessed = run(place, &[&assess[..], graph].concat());
    let what = format!("{name} ({}) from {source}", attack.title);
    for (command, ended) in [("lint", &lint), ("show", &show), ("assess", &assessed)] {
        let text = shortened(&ended.text);
        if let Some(never) = &attack.never {
            assert!(!ended.text.contains(never.as_str()), "{what}: {command} prints {never:?}");
        }
        if let Some(words) = &attack.refused {
            assert!(
                ended.code != 0 && ended.text.contains(words),
                "{what}: {command} ends with {}: {text}",
                ended.code
            );
        } else if command == "show" {
            assert!(ended.text.contains("1.2.0"), "{what}: {command} ends with {}: {text}", ended.code);
        }
    }
    if attack.refused.is_none() {
        let advice = |version: &str| evidence::advice(&assessed, version);
        let status = |version: &str| advice(version).map(|(status, _)| status);
        assert_eq!(status("1.2.0").as_deref(), Some("True"), "{what}: the other update: {}", shortened(&assessed.text));
        attack.judges(&what, advice("1.1.0"));
    }
}

/// The service and the operator live through all attacks, one after the other: what was good before stays, and what is
/// good afterwards is taken up.
#[test]
fn graph_data_for_services() {
    let place = tempfile::tempdir().unwrap();
    let current = place.path().join("current");
    let mut revisions = 0_usize;
    // A revision of its own each time, so that taking it up can be seen; published by renaming a link.
    let mut publish = |files: &BTreeMap<String, Content>| -> PathBuf {
        revisions += 1;
        let (data, link) = (place.path().join(format!("data-{revisions}")), place.path().join("next"));
        write(&data, files);
        fs::write(data.join("channels/number.yaml"), format!("name: number-{revisions}\nversions: [1.0.0]\n")).unwrap();
        symlink(&data, &link).unwrap();
        fs::rename(link, &current).unwrap();
        data
    };
    publish(&BTreeMap::new());
    let arguments = ["--listen", "127.0.0.1:0", "--status-listen", "127.0.0.1:0", "--refresh", "1s", "--log", "info"];
    let mut service = Service::start(place.path(), &[&["serve", "--graph-data", "current"][..], &arguments].concat());
    let line = service.line_with(&["serving on http://127.0.0.1:"]);
    let port = line.split("127.0.0.1:").nth(1).unwrap().split('/').next().unwrap();
    let upstream = format!("http://127.0.0.1:{port}/api/upgrades_info");
    let mut operator = Operator::start(place.path(), &["--upstream", &upstream]);
    let both = |status: &serde_json::Value| is_recommended(status, "1.1.0") && is_recommended(status, "1.2.0");
    operator.until("both updates are recommended", both);
    service.forget();
    for (name, attack) in attack::all::<Attack>("graph-data") {
        let what = format!("{name} ({})", attack.title);
        let data = publish(&attack.files);
        let line = service.line_with(&["graph-data refused", "published", "cannot be read"]);
        if attack.refused.is_some() {
            assert!(!line.contains("published"), "{what}: {line}");
            assert!(both(&operator.status()), "{what}: what was good stays");
        } else if let Some(words) = &attack.unknown {
            assert!(line.contains("published"), "{what}: {line}");
            let status =
                operator.until(&what, |status| advice(status, "1.1.0").is_some_and(|(status, _)| status == "Unknown"));
            let (_, message) = advice(&status, "1.1.0").unwrap();
            assert!(message.contains(words), "{what}: {message}");
            operator
                .until(&format!("{what}: the other update is recommended"), |status| is_recommended(status, "1.2.0"));
        } else if attack.applies {
            assert!(line.contains("published"), "{what}: {line}");
            let judged =
                |status: &serde_json::Value| advice(status, "1.1.0").is_some_and(|(status, _)| status == "False");
            operator.until(&what, |status| judged(status) && is_recommended(status, "1.2.0"));
        } else if attack.closed {
            assert!(line.contains("published"), "{what}: {line}");
            operator.until(&what, |status| advice(status, "1.1.0").is_none() && is_recommended(status, "1.2.0"));
        } else {
            assert!(attack.harmless && line.contains("published"), "{what}: {line}");
            operator.until(&what, both);
        }
        publish(&BTreeMap::new());
        service.line_with(&["published"]);
        operator.until(&format!("after {what}, both updates are recommended"), both);
        fs::remove_dir_all(data).unwrap();
    }
    operator.end();
    service.end(COMMAND);
}

/// The service reads an archive that is replaced: what was good before stays, and what is good afterwards is taken up.
#[test]
fn archives_for_the_service() {
    let place = tempfile::tempdir().unwrap();
    let mut revisions = 0_usize;
    let mut publish = |files: &BTreeMap<String, Content>| {
        revisions += 1;
        let (data, next) = (place.path().join("data"), place.path().join("next.tar.gz"));
        write(&data, files);
        fs::write(data.join("channels/number.yaml"), format!("name: number-{revisions}\nversions: [1.0.0]\n")).unwrap();
        fs::write(&next, gzip(&archive(&data, "data"))).unwrap();
        fs::rename(next, place.path().join("current.tar.gz")).unwrap();
        fs::remove_dir_all(data).unwrap();
    };
    publish(&BTreeMap::new());
    let arguments = ["--listen", "127.0.0.1:0", "--status-listen", "127.0.0.1:0", "--refresh", "24h", "--log", "info"];
    let mut service = Service::start(place.path(), &[&["serve", "--graph", "current.tar.gz"][..], &arguments].concat());
    let line = service.line_with(&["serving on http://127.0.0.1:"]);
    let address = line.split("http://").nth(1).unwrap().split('/').next().unwrap();
    let graph = format!("http://{address}/api/upgrades_info/graph?channel=c&arch=amd64");
    service.line_with(&["published"]);
    let attacks = attack::all::<Attack>("graph-data").into_iter();
    for (name, attack) in attacks.filter(|(_, attack)| attack.fits_archives()) {
        let what = format!("{name} ({}) from an archive", attack.title);
        publish(&attack.files);
        service.hang_up();
        let line = service.line_with(&["graph-data refused", "published", "cannot be read"]);
        assert_eq!(attack.refused.is_none(), line.contains("published"), "{what}: {line}");
        if attack.refused.is_some() {
            let shown = run(place.path(), &["graph", "show", "c", "--arch", "amd64", "--graph", &graph]);
            assert!(shown.code == 0 && shown.text.contains("1.1.0"), "{what}: what was good stays: {}", shown.text);
        }
        publish(&BTreeMap::new());
        service.hang_up();
        service.line_with(&["published"]);
    }
    service.end(COMMAND);
}

/// The service reads an image whose tag is moved.
#[tokio::test]
async fn images_for_the_service() {
    let Some(registry) = clearway_testbed::registry().await else { return };
    let push = Pusher::new(&registry.base_url(), "served");
    let place = tempfile::tempdir().unwrap();
    let mut revisions = 0_usize;
    let mut publish = async |files: &BTreeMap<String, Content>| {
        revisions += 1;
        let data = place.path().join("data");
        write(&data, files);
        fs::write(data.join("channels/number.yaml"), format!("name: number-{revisions}\nversions: [1.0.0]\n")).unwrap();
        let layer = gzip(&archive(&data, "var/lib/graph-data"));
        push.image(Family::Oci, Some("current"), "amd64", vec![layer]).await;
        fs::remove_dir_all(data).unwrap();
    };
    publish(&BTreeMap::new()).await;
    let image = format!("oci://{}/served:current", registry.host());
    let arguments = ["--listen", "127.0.0.1:0", "--status-listen", "127.0.0.1:0", "--refresh", "24h", "--log", "info"];
    let mut service = Service::start(place.path(), &[&["serve", "--graph-data", &image][..], &arguments].concat());
    let line = service.line_with(&["serving on http://127.0.0.1:"]);
    let address = line.split("http://").nth(1).unwrap().split('/').next().unwrap().to_owned();
    service.line_with(&["published"]);
    let attacks = attack::all::<Attack>("graph-data").into_iter();
    for (name, attack) in attacks.filter(|(_, attack)| attack.fits_archives()) {
        let what = format!("{name} ({}) from an image", attack.title);
        publish(&attack.files).await;
        service.hang_up();
        let line = service.line_with(&["graph-data refused", "published", "cannot be read"]);
        assert_eq!(attack.refused.is_none(), line.contains("published"), "{what}: {line}");
        let answer = get(&address, "/api/upgrades_info/graph?channel=c&arch=amd64");
        assert!(answer.contains("1.2.0"), "{what}: {}", shortened(&answer));
        publish(&BTreeMap::new()).await;
        service.hang_up();
        service.line_with(&["published"]);
    }
    service.end(COMMAND);
}
