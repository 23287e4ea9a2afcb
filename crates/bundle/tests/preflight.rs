//! What a new bundle would do to stored objects, over small CRDs.

use clearway_bundle::{
    Bundle, BundleLimits, BundleReader, Preflight, PreflightFinding, PreflightProblem, PreflightSeverity,
};
use serde_json::{Value, json};

fn bundle(version: &str, channel: &str, versions: &Value, stored: &[&str]) -> Bundle {
    let mut reader = BundleReader::new(version, "a.io", BundleLimits::default());
    reader.add_object(&json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "things.a.io", "annotations": {"a.io/bundle-version": version, "a.io/channel": channel}},
        "spec": {"group": "a.io", "scope": "Namespaced", "names": {"kind": "Thing", "plural": "things"}, "versions": versions},
        "status": {"storedVersions": stored},
    }));
    reader.finish()
}

fn version(name: &str, storage: bool, spec: &Value) -> Value {
    json!({"name": name, "served": true, "storage": storage, "schema": {"openAPIV3Schema": {
        "type": "object", "properties": {"spec": {"type": "object", "properties": spec}},
    }}})
}

fn thing(name: &str, spec: &Value) -> Value {
    json!({"apiVersion": "a.io/v1", "kind": "Thing", "metadata": {"name": name, "namespace": "n"}, "spec": spec})
}

fn findings(old: &Bundle, new: &Bundle, objects: &[Value]) -> Vec<PreflightFinding> {
    let mut preflight = Preflight::new(old, new);
    for object in objects {
        preflight.check_object("things.a.io", object);
    }
    preflight.finish()
}

#[test]
fn fields_that_would_be_lost_and_values_that_would_be_refused_are_named() {
    let text = || json!({"type": "string"});
    let old = bundle("v1.1.0", "standard", &json!([version("v1", true, &json!({"a": text(), "b": text()}))]), &["v1"]);
    let new = bundle(
        "v1.2.0",
        "standard",
        &json!([version("v1", true, &json!({"a": {"type": "string", "maxLength": 3}}))]),
        &[],
    );
    assert_eq!(Preflight::new(&old, &new).needed_kinds()[0].1.to_string(), "Thing.a.io (v1)");
    let objects: Vec<Value> = (0..7)
        .map(|number| thing(&format!("t{number}"), &json!({"a": "long text", "b": "x"})))
        .chain([thing("fine", &json!({"a": "abc"}))])
        .collect();
    let found = findings(&old, &new, &objects);
    let gist: Vec<_> = found.iter().map(|one| (one.severity, one.problem, one.count, one.objects.len())).collect();
    let blocking = PreflightSeverity::Blocking;
    assert_eq!(
        gist,
        [(blocking, PreflightProblem::LostFields, 7, 5), (blocking, PreflightProblem::RefusedObjects, 7, 5)]
    );
    assert_eq!((found[0].objects[0].name.as_str(), &found[0].objects[0].fields), ("n/t0", &vec!["spec.b".to_owned()]));
    assert!(found[1].objects[0].fields[0].starts_with("spec.a: "), "{found:?}");
}

#[test]
fn what_is_not_valid_today_is_not_blamed_on_the_new_bundle() {
    let strict = || json!([version("v1", true, &json!({"a": {"type": "string", "maxLength": 3}}))]);
    let (old, new) = (bundle("v1.1.0", "standard", &strict(), &["v1"]), bundle("v1.2.0", "standard", &strict(), &[]));
    assert_eq!(findings(&old, &new, &[thing("t", &json!({"a": "long text"}))]), []);
}

#[test]
fn versions_channels_and_stored_versions_are_compared() {
    let both = || json!([version("v1", true, &json!({})), version("v1beta1", false, &json!({}))]);
    let one = || json!([version("v1", true, &json!({}))]);
    let problems = |old: (&str, &str, &[&str]), new: (&str, &str, Value)| -> Vec<PreflightProblem> {
        let old = bundle(old.0, old.1, &both(), old.2);
        let new = bundle(new.0, new.1, &new.2, &[]);
        findings(&old, &new, &[]).iter().map(|finding| finding.problem).collect()
    };
    for (old, new, want) in [
        (("v1.1.0", "standard", &["v1"][..]), ("v1.2.0", "standard", one()), vec![]),
        (
            ("v1.1.0", "standard", &["v1", "v1beta1"]),
            ("v1.2.0", "standard", one()),
            vec![PreflightProblem::OrphanedStoredVersion],
        ),
        (("v1.2.0", "standard", &["v1"]), ("v1.1.0", "standard", one()), vec![PreflightProblem::Rollback]),
        (("v1.1.0", "standard", &["v1"]), ("v1.1.0", "experimental", one()), vec![PreflightProblem::ChannelSwitch]),
        (("v1.1.0", "experimental", &["v1"]), ("v1.1.0", "standard", one()), vec![PreflightProblem::ChannelSwitch]),
        (("v1.1.0", "standard", &["v1"]), ("v1.4.0", "standard", one()), vec![PreflightProblem::SkippedMinor]),
    ] {
        let shown = format!("{old:?} {new:?}");
        assert_eq!(problems(old, new), want, "{shown}");
    }
}

#[test]
fn the_crds_of_a_release_are_compared_bundle_by_bundle() {
    let crd = |group: &str, version: Option<&str>, versions: Value, stored: &[&str]| {
        let annotations = version.map(|version| json!({"a.io/bundle-version": version, "a.io/channel": "standard"}));
        json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": format!("things.{group}"), "annotations": annotations},
            "spec": {"group": group, "scope": "Namespaced", "names": {"kind": "Thing", "plural": "things"}, "versions": versions},
            "status": {"storedVersions": stored},
        })
    };
    let text = || json!({"type": "string"});
    let both = || json!([version("v1", true, &json!({"a": text()})), version("v1beta1", false, &json!({"a": text()}))]);
    let one = || json!([version("v1", true, &json!({}))]);
    let installed = [
        crd("a.io", Some("v1.1.0"), both(), &["v1"]),
        crd("b.io", None, both(), &["v1beta1", "v1"]),
        crd("c.io", None, both(), &["v1beta1", "v1"]),
    ];
    let broken = crd("d.io", None, json!([{"name": 1}]), &[]);
    let release = [
        crd("a.io", Some("v1.0.0"), one(), &[]),
        crd("b.io", None, one(), &[]),
        // Objects are stored in the version that goes, so a migration does not help yet.
        crd("c.io", None, json!([version("v2", true, &json!({})), version("v1beta1", false, &json!({}))]), &[]),
        crd("new.io", None, one(), &[]),
        broken,
    ];
    let (installed, release) = (installed.iter().collect::<Vec<_>>(), release.iter().collect::<Vec<_>>());
    let mut preflight = Preflight::of_release(&installed, &release, &BundleLimits::default());
    let wanted: Vec<String> = preflight.needed_kinds().into_iter().map(|(crd, _)| crd).collect();
    assert_eq!(wanted, ["things.a.io", "things.b.io", "things.c.io"], "what is new has no objects yet");
    for number in 0..5 {
        preflight.check_object("things.b.io", &thing(&format!("t{number}"), &json!({"a": "x"})));
    }
    let found: Vec<String> = preflight.finish().iter().map(ToString::to_string).collect();
    let expected = [
        "things.b.io: objects may be stored in v1beta1, which the new CRD does not have; run `clearway bundle migrate \
         things.b.io` first (n/t0, n/t1, n/t2 and 2 more)",
        "things.c.io: objects may be stored in v1, which the new CRD does not have; install a version that stores them in \
         another one first",
        "a.io: v1.0.0 is older than v1.1.0: fields of newer versions would be dropped",
        "things.b.io: stored objects would lose spec.a (n/t0: spec.a, n/t1: spec.a, n/t2: spec.a and 2 more)",
        "things.d.io: the CRD of the release cannot be read: ",
    ];
    assert_eq!(found.len(), expected.len(), "{found:#?}");
    for (found, expected) in found.iter().zip(expected) {
        assert!(found.starts_with(expected), "{found}\n{expected}");
    }
}

/// What was taken out of an object may be anything: the object is neither valid nor refused because of it (U16).
#[test]
fn objects_of_which_values_were_removed_are_not_known_to_be_valid() {
    let text = || json!({"type": "string"});
    let env = |value: Value| json!({"type": "array", "items": {"type": "object", "properties": {"value": value}}});
    let old = version("v1", true, &json!({"a": text(), "b": text(), "env": env(text())}));
    let old = bundle("v1.1.0", "standard", &json!([old]), &["v1"]);
    let short = || json!({"type": "string", "maxLength": 3});
    let mut new = version("v1", true, &json!({"a": short(), "env": env(short())}));
    new["schema"]["openAPIV3Schema"]["properties"]["spec"]["x-kubernetes-validations"] =
        json!([{"rule": "self.env.all(one, one.value == 'x')", "fieldPath": ".a"}]);
    let new = bundle("v1.2.0", "standard", &json!([new]), &[]);
    let spec = json!({"a": "long text", "b": "x", "env": [{"value": "(removed)"}]});
    let objects = [thing("stripped", &spec), thing("plain", &json!({"a": "abc", "env": [{"value": "x"}]}))];
    let mut preflight = Preflight::new(&old, &new);
    for object in &objects {
        preflight.check_stripped_object("things.a.io", object, &|value| value == "(removed)");
    }
    let found = preflight.finish();
    let gist: Vec<_> = found.iter().map(|one| (one.severity, one.problem, one.count)).collect();
    let (blocking, warning) = (PreflightSeverity::Blocking, PreflightSeverity::Warning);
    assert_eq!(
        gist,
        [
            (blocking, PreflightProblem::LostFields, 1),
            (blocking, PreflightProblem::RefusedObjects, 1),
            (warning, PreflightProblem::NotChecked, 1),
        ],
        "{found:?}"
    );
    // What does not depend on the removed value is known; the rule in CEL is not.
    assert_eq!(found[1].objects[0].fields.len(), 1, "{found:?}");
    assert_eq!(found[2].objects[0].fields, ["spec.env[0].value"]);
    assert_eq!(found[2].objects[0].name, "n/stripped");
}

#[test]
fn a_crd_that_the_new_bundle_does_not_have_or_that_cannot_be_read_is_named() {
    let crd = |kind: &str, versions: &Value| {
        let plural = format!("{}s", kind.to_lowercase());
        json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": format!("{plural}.a.io"), "annotations": {"a.io/bundle-version": "v1.1.0"}},
            "spec": {"group": "a.io", "scope": "Namespaced", "names": {"kind": kind, "plural": plural}, "versions": versions},
        })
    };
    let read = |crds: &[Value]| {
        let mut reader = BundleReader::new("v1.1.0", "a.io", BundleLimits::default());
        for crd in crds {
            reader.add_object(crd);
        }
        reader.finish()
    };
    let versions = json!([version("v1", true, &json!({}))]);
    let [kept, removed, broken] = [crd("Thing", &versions), crd("Other", &versions), crd("Broken", &json!("v1"))];
    let found = Preflight::new(&read(&[kept.clone(), removed, broken]), &read(&[kept])).finish();
    let gist: Vec<_> = found.iter().map(|one| (one.problem, one.crd.as_deref())).collect();
    let (removed, unread) = (PreflightProblem::RemovedCrd, PreflightProblem::NotChecked);
    assert_eq!(gist, [(removed, Some("others.a.io")), (unread, None)], "{found:?}");
    assert!(found[1].message.contains("brokens.a.io has no versions"), "{found:?}");
    assert!(found.iter().all(|one| one.severity == PreflightSeverity::Warning));
}
