//! Any bytes as a file of a state directory, where an object is expected: reading, listing, following and changing end in
//! the object or in words, the other object of its kind is there, and a file that is no object stays as it is.
#![no_main]

use std::fs;
use std::path::PathBuf;
use std::sync::LazyLock;

use clearway_core::{GroupVersionKind, ObjectReference};
use clearway_sources::store::{Apply, Part, StateDirectory, Store as _, parse_object_file};
use libfuzzer_sys::fuzz_target;
use serde_json::json;

/// One directory for the whole run: what is fuzzed is one file in it.
static ROOT: LazyLock<PathBuf> = LazyLock::new(|| {
    let root = std::env::temp_dir().join(format!("clearway-fuzz-state-{}", std::process::id()));
    let directory = root.join("objects/core/ConfigMap/default");
    fs::create_dir_all(&directory).expect("a temporary directory");
    let good = "{apiVersion: v1, kind: ConfigMap, metadata: {name: good, namespace: default}}";
    fs::write(directory.join("good.yaml"), good).expect("a temporary file");
    root
});

const OURS: Apply<'_> = Apply { manager: "fuzz", force: true, dry_run: false };

fuzz_target!(|bytes: &[u8]| {
    let parsed = parse_object_file(bytes);
    match &parsed {
        Ok(object) => assert!(object.is_object()),
        Err(why) => assert!(!why.is_empty()),
    }
    let file = ROOT.join("objects/core/ConfigMap/default/one.yaml");
    fs::write(&file, bytes).expect("a temporary file");
    let state = StateDirectory::open(&ROOT).expect("it is there");
    let kind = GroupVersionKind::new("v1", "ConfigMap");
    let key =
        |name: &str| ObjectReference { kind: kind.clone(), namespace: "default".to_owned(), name: name.to_owned() };
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    runtime.block_on(async {
        assert!(state.get(&key("good")).await.expect("it is good").is_some());
        let found = state.get(&key("one")).await;
        let (objects, errors) = state.readable(&kind).expect("the directory can be listed");
        assert_eq!((objects.len(), errors.len()), if found.is_ok() { (2, 0) } else { (1, 1) });
        assert_eq!(state.list(&kind, "").await.is_ok(), found.is_ok());
        assert_eq!(state.check().len(), errors.len());
        assert!(state.kinds().await.expect("kinds are directories").iter().any(|one| one.kind == "ConfigMap"));
        let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"a": "1"},
            "metadata": {"name": "one", "namespace": "default"}});
        if found.is_ok() {
            // What can be read can be changed, unless it grows too large or is no such object in its parts.
            let _ = state.apply(&object, &OURS).await;
            let _ = state.patch(&key("one"), Part::Status, &json!({"status": {"b": [1]}})).await;
            assert!(state.get(&key("one")).await.is_ok(), "what is written is read again");
            let _ = state.delete(&key("one"), "").await;
        } else {
            assert!(state.apply(&object, &OURS).await.is_err());
            assert!(state.delete(&key("one"), "").await.is_err());
            assert_eq!(fs::read(&file).expect("it is still there"), bytes);
        }
    });
});
