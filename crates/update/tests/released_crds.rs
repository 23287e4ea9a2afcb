//! Clearway's own CRDs beside the bundles that were released: what changed since the last one must fit the version (V3), no
//! name that was removed is used again (V4), and the standard channel is part of the experimental one (V2).
//!
//! `crds/released/VERSION/{standard,experimental}.yaml` are the released bundles, `crds/released/names.txt` is the ledger of
//! their names, and `crds/released/waivers.yaml`, where there is one, holds the exceptions. `make released-crds` runs this
//! test with `CLEARWAY_WRITE_RELEASED` set: then it first keeps the present CRDs as the bundle of their version.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use clearway_bundle::{
    Bundle, BundleLimits, BundleReader, Channel, Comparison, NameLedger, Verdict, Waivers, compare_channels, to_yaml,
};
use clearway_core::{Timestamp, Version};
use clearway_update::api;
use serde_json::{Value, json};

const DOMAIN: &str = "clearway.dev";

fn directory() -> PathBuf {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../crds/released")).to_owned()
}

/// The two channels of one version, as text.
#[derive(Clone, PartialEq)]
struct Release {
    version: Version,
    texts: BTreeMap<&'static str, String>,
}

impl Release {
    /// The CRDs as the types have them.
    fn present() -> Release {
        let mut texts = BTreeMap::new();
        for channel in Channel::ALL {
            let crds = api::crds(channel).unwrap();
            texts.insert(channel.as_str(), crds.iter().map(|crd| to_yaml(crd).unwrap()).collect());
        }
        Release { version: api::bundle_version(), texts }
    }

    fn read(version: Version) -> Release {
        let directory = directory().join(version.to_string());
        let text = |channel: Channel| fs::read_to_string(directory.join(format!("{}.yaml", channel.as_str()))).unwrap();
        let texts = Channel::ALL.map(|channel| (channel.as_str(), text(channel)));
        Release { version, texts: texts.into() }
    }

    /// The released bundles, oldest first.
    fn all() -> Vec<Release> {
        let entries = fs::read_dir(directory()).unwrap().map(|entry| entry.unwrap());
        let names = entries.filter(|entry| entry.path().is_dir()).map(|entry| entry.file_name());
        let mut versions: Vec<Version> = names.map(|name| name.to_str().unwrap().parse().unwrap()).collect();
        versions.sort_by(Version::precedence);
        versions.into_iter().map(Release::read).collect()
    }

    fn bundle(&self, channel: Channel) -> Bundle {
        let name = format!("{} {}", self.version, channel.as_str());
        let mut reader = BundleReader::new(&name, DOMAIN, BundleLimits::default());
        reader.add_file(&format!("{name}.yaml"), self.texts[channel.as_str()].as_bytes());
        let bundle = reader.finish();
        assert!(bundle.problems.is_empty(), "{:?}", bundle.problems);
        bundle
    }

    fn bundles(&self) -> [Bundle; 2] {
        [self.bundle(Channel::Standard), self.bundle(Channel::Experimental)]
    }
}

fn ledger(releases: &[Release]) -> NameLedger {
    NameLedger::of_bundles(releases.iter().flat_map(Release::bundles).collect::<Vec<_>>().iter())
}

/// Why the second bundle must not be released after the first; empty if it may be.
fn objections(last: &Release, next: &Release, ledger: &NameLedger, waivers: &str, now: Timestamp) -> Vec<String> {
    let ([old, old_experimental], [new, new_experimental]) = (last.bundles(), next.bundles());
    let pairs = [
        Comparison {
            old_experimental: Some(&old_experimental),
            new_experimental: Some(&new_experimental),
            ..Comparison::new(&old, &new)
        },
        Comparison::new(&old_experimental, &new_experimental),
    ];
    let mut objections = Vec::new();
    for comparison in pairs {
        let comparison = Comparison { ledger: Some(ledger), ..comparison };
        let mut waivers = Waivers::read("crds/released/waivers.yaml", waivers).between(comparison.old, comparison.new);
        let judgement = comparison.judge().with_waivers(&mut waivers, now);
        assert!(!judgement.incomplete && judgement.left_out == 0);
        let refused = |verdict| matches!(verdict, Verdict::Violation | Verdict::NeedsReview);
        for finding in judgement.findings.iter().filter(|finding| refused(finding.verdict)) {
            let channel = comparison.new.channel.map_or("", Channel::as_str);
            let (rule, path) = (finding.rule, &finding.path);
            let needs = format!("needs {}, and the versions allow {}", finding.needed, judgement.allowed);
            objections.push(format!("{channel}: {rule} {path}: {} ({needs})", finding.message));
        }
    }
    let channels = compare_channels(&new, &new_experimental).violations;
    objections.extend(channels.iter().map(|finding| format!("{} {}: {}", finding.rule, finding.path, finding.message)));
    objections
}

fn now() -> Timestamp {
    let seconds = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs();
    Timestamp::from_seconds(i64::try_from(seconds).unwrap()).unwrap()
}

/// Keeps the present CRDs as a released bundle. What was released stays as it is.
fn keep_present() {
    let present = Release::present();
    let directory = directory().join(present.version.to_string());
    if directory.exists() {
        let is_same = Release::read(present.version.clone()) == present;
        assert!(is_same, "{} was released with other CRDs; raise `bundle_version` first", present.version);
    }
    fs::create_dir_all(&directory).unwrap();
    for (channel, text) in &present.texts {
        fs::write(directory.join(format!("{channel}.yaml")), text).unwrap();
    }
    fs::write(self::directory().join("names.txt"), ledger(&Release::all()).to_string()).unwrap();
}

#[test]
fn v3_v4_the_crds_may_be_released_after_the_last_bundle() {
    if std::env::var_os("CLEARWAY_WRITE_RELEASED").is_some() {
        keep_present();
    }
    let (present, releases) = (Release::present(), Release::all());
    let last = releases.last().expect("at least one bundle was released");
    let names = fs::read_to_string(directory().join("names.txt")).unwrap();
    let (kept, problems) = NameLedger::read("crds/released/names.txt", &names);
    assert!(problems.is_empty(), "{problems:?}");
    assert!(kept == ledger(&releases), "crds/released/names.txt is not as the released bundles have it");
    if present.version == last.version {
        assert!(
            present == *last,
            "the CRDs differ from those of the released bundle {}; raise `bundle_version` in \
             crates/update/src/api/definitions.rs, run `make crds`, and see this test for what that version may change",
            last.version
        );
        return;
    }
    let waivers = fs::read_to_string(directory().join("waivers.yaml")).unwrap_or_else(|_| "waivers: []\n".to_owned());
    let objections = objections(last, &present, &kept, &waivers, now());
    assert!(
        objections.is_empty(),
        "the CRDs may not be released as {} after {}:\n{}\nSee `clearway bundle explain RULE`, and \"Changes of the API\" \
         in CONTRIBUTING.md.",
        present.version,
        last.version,
        objections.join("\n")
    );
}

/// Every released bundle was allowed after the one before it, with the waivers of its time.
#[test]
fn v3_each_released_bundle_is_newer_than_the_one_before() {
    let releases = Release::all();
    for pair in releases.windows(2) {
        let [old, new] = [&pair[0], &pair[1]].map(|release| release.bundle(Channel::Standard));
        assert!(!old.version.unwrap().is_rollback_to(&new.version.unwrap()));
    }
    for release in releases {
        for bundle in release.bundles() {
            let version = bundle.version.as_ref().and_then(|version| version.release());
            assert_eq!(version, Some(&release.version), "the annotations of {}", bundle.name);
        }
    }
}

/// A field that only the experimental channel has, and one that both have.
const EXPERIMENTAL_FIELD: &str = "acceptedRisks";
const FIELD: &str = "channel";
const SPEC: &str = "/spec/versions/0/schema/openAPIV3Schema/properties/spec";

fn edited(from: &Release, version: &str, edit: impl Fn(Channel, &mut Value)) -> Release {
    let mut texts = BTreeMap::new();
    for channel in Channel::ALL {
        let mut text = String::new();
        for mut crd in api::crds(channel).unwrap() {
            crd["metadata"]["annotations"]["clearway.dev/bundle-version"] = version.into();
            // The other CRD is the same in all of these cases.
            if crd["spec"]["names"]["kind"] == "ClusterVersion" {
                edit(channel, crd.pointer_mut(SPEC).unwrap());
            }
            text.push_str(&to_yaml(&crd).unwrap());
        }
        texts.insert(channel.as_str(), text);
    }
    assert!(texts.keys().eq(from.texts.keys()));
    Release { version: version.parse().unwrap(), texts }
}

/// A name and what it does to the schema of `spec` in a channel.
type Edit = (&'static str, fn(Channel, &mut Value));

const EDITS: &[Edit] = &[
    ("nothing", |_, _| ()),
    ("a description", |_, spec| spec["properties"][FIELD]["description"] = "channel is a name.".into()),
    ("an experimental field", |channel, spec| {
        if channel == Channel::Experimental {
            spec["properties"]["pause"] = json!({"type": "boolean"});
        }
    }),
    ("a field in both channels at once", |_, spec| spec["properties"]["pause"] = json!({"type": "boolean"})),
    ("a required field becomes optional", |_, spec| _ = spec.as_object_mut().unwrap().remove("required")),
    ("a field becomes required", |_, spec| spec["required"] = json!(["channel", "clusterID"])),
    ("a field is removed", |_, spec| _ = spec["properties"].as_object_mut().unwrap().remove(FIELD)),
    ("an experimental field is removed", |_, spec| {
        _ = spec["properties"].as_object_mut().unwrap().remove(EXPERIMENTAL_FIELD);
    }),
    ("a field only in the standard channel", |channel, spec| {
        if channel == Channel::Experimental {
            _ = spec["properties"].as_object_mut().unwrap().remove(FIELD);
        }
    }),
    ("a limit is lowered", |_, spec| spec["properties"][FIELD]["maxLength"] = 10.into()),
];

/// The smallest step that may bring each change; none if no step may.
#[test]
fn v3_a_change_that_the_version_does_not_allow_is_refused() {
    let last = edited(&Release::present(), "0.1.0", |_, _| ());
    let ledger = ledger(std::slice::from_ref(&last));
    // What is lowered, or only in the standard channel, no version allows.
    let allowed_from = |edit: &str| match edit {
        "nothing" => Some("0.1.0"),
        "a description" => Some("0.1.1"),
        "an experimental field"
        | "a field in both channels at once"
        | "a required field becomes optional"
        | "an experimental field is removed" => Some("0.2.0"),
        // A major version promises nothing but what every bundle must be.
        "a field becomes required" | "a field is removed" => Some("1.0.0"),
        _ => None,
    };
    for (name, edit) in EDITS {
        let first = allowed_from(name);
        let mut allowed = false;
        for version in ["0.1.0", "0.1.1", "0.2.0", "1.0.0"] {
            allowed |= first == Some(version);
            let next = edited(&last, version, edit);
            let objections = objections(&last, &next, &ledger, "waivers: []\n", Timestamp::EPOCH);
            assert_eq!(objections.is_empty(), allowed, "{name} at {version}: {objections:#?}");
        }
    }
    let older = edited(&last, "0.0.9", |_, _| ());
    assert_ne!(objections(&last, &older, &ledger, "waivers: []\n", Timestamp::EPOCH), [] as [String; 0]);
}

#[test]
fn v3_a_waiver_allows_one_finding_until_it_ends() {
    let last = edited(&Release::present(), "0.1.0", |_, _| ());
    let ledger = ledger(std::slice::from_ref(&last));
    let lowered = EDITS.iter().find(|(name, _)| *name == "a limit is lowered").unwrap().1;
    let next = edited(&last, "0.2.0", lowered);
    let waivers = "waivers:\n- {rule: R15, path: 'clusterversions v1 spec.channel', reason: longer ones never worked, \
                   expires: 2026-06-30}\n";
    let at = |time: &str| objections(&last, &next, &ledger, waivers, time.parse().unwrap());
    assert_eq!(at("2026-06-30T00:00:00Z"), [] as [String; 0]);
    assert_ne!(at("2026-07-01T00:00:00Z"), [] as [String; 0]);
}

#[test]
fn v4_a_name_that_was_removed_does_not_come_back() {
    let removed = EDITS.iter().find(|(name, _)| *name == "an experimental field is removed").unwrap().1;
    let first = edited(&Release::present(), "0.1.0", |_, _| ());
    let second = edited(&first, "0.2.0", removed);
    let third = edited(&first, "0.3.0", |_, _| ());
    let ledger = ledger(&[first, second.clone()]);
    let objections = objections(&second, &third, &ledger, "waivers: []\n", Timestamp::EPOCH);
    assert!(objections.iter().any(|objection| objection.contains("V4") && objection.contains(EXPERIMENTAL_FIELD)));
}
