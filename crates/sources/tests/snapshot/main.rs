//! Objects of the real API server, taken into a snapshot (U16).

use std::time::Duration;

use clearway_sources::kubernetes::{Cluster, Connection};
use clearway_sources::snapshot::{
    ObjectLimits, ObjectName, Part, Selection, Snapshot, assemble, crds, objects, to_files,
};
use clearway_testbed::{ClusterOptions, own_cluster, wait_until};

fn names(part: &Part<clearway_sources::snapshot::Objects>) -> Result<Vec<String>, String> {
    let text = |item: &serde_json::Value| item["metadata"]["name"].as_str().unwrap().to_owned();
    part.known().map(|objects| objects.items.iter().map(text).collect()).map_err(str::to_owned)
}

fn check<T: Send>(_: T) {}

#[tokio::test]
async fn what_is_there_what_is_not_and_what_may_not_be_seen() {
    let Some(bed) = own_cluster(&ClusterOptions::api_only()).await else { return };
    let connect = async |kubeconfig: &std::path::Path| {
        let connection = Connection { kubeconfig: Some(kubeconfig.to_owned()), context: None };
        Cluster::connect(&connection).await.unwrap()
    };
    let cluster = connect(bed.kubeconfig()).await;
    let catalog = cluster.catalog().await.unwrap();
    let kind = |name: &str| catalog.find(name).unwrap();
    let (all, limits) = (Selection::default(), ObjectLimits::default());
    let named = |name: &str, namespace: Option<&str>| Selection {
        name: Some(name.to_owned()),
        namespace: namespace.map(str::to_owned),
        ..Selection::default()
    };

    // Both can be waited for by whoever has several threads.
    check(objects(&cluster, kind("namespaces"), &all, &limits));
    check(crds(&cluster, kind("customresourcedefinitions"), &limits));
    let (key, namespaces) = objects(&cluster, kind("namespaces"), &all, &limits).await;
    assert_eq!(key.to_string(), "Namespace");
    assert!(names(&namespaces).unwrap().contains(&"kube-system".to_owned()));
    assert!(!format!("{namespaces:?}").contains("managedFields"));
    let mut snapshot = Snapshot::new(clearway_sources::clock::now());
    snapshot.objects.insert(key, namespaces);

    // The API server makes this service a moment after it is ready.
    let there = named("kubernetes", Some("default"));
    wait_until(Duration::from_secs(20), "the service is there", async || {
        let (_, services) = objects(&cluster, kind("services"), &there, &limits).await;
        names(&services).is_ok_and(|names| !names.is_empty())
    })
    .await
    .unwrap();
    // What is not there is a fact.
    for (selection, want) in [
        (named("kubernetes", Some("default")), vec!["kubernetes".to_owned()]),
        (named("kubernetes", None), vec!["kubernetes".to_owned()]),
        (named("nothing", Some("default")), vec![]),
    ] {
        let (_, services) = objects(&cluster, kind("services"), &selection, &limits).await;
        assert_eq!(names(&services), Ok(want), "{selection:?}");
    }
    // Of several names each is looked for, and what two of them mean is taken once.
    let one = |namespace: Option<&str>, name: &str| ObjectName {
        namespace: namespace.map(str::to_owned),
        name: name.to_owned(),
    };
    let only = vec![one(Some("default"), "kubernetes"), one(Some("default"), "nothing"), one(None, "kubernetes")];
    let several = Selection { only, ..Selection::default() };
    let (_, services) = objects(&cluster, kind("services"), &several, &limits).await;
    assert_eq!(names(&services), Ok(vec!["kubernetes".to_owned()]));
    assert_eq!(crds(&cluster, kind("customresourcedefinitions"), &limits).await, Part::Collected(vec![]));

    // What may not be seen, is too much, or is a secret is not known.
    let stranger = connect(&bed.kubeconfig_for("stranger", None).unwrap()).await;
    let (_, hidden) = objects(&stranger, kind("namespaces"), &all, &limits).await;
    assert!(names(&hidden).unwrap_err().contains("not allowed to list namespaces"));
    assert!(crds(&stranger, kind("customresourcedefinitions"), &limits).await.known().is_err());
    for few in [ObjectLimits { count: 1, ..limits.clone() }, ObjectLimits { bytes: 100, ..limits.clone() }] {
        let (_, cut) = objects(&cluster, kind("namespaces"), &all, &few).await;
        assert!(names(&cut).unwrap_err().contains("more than"), "{cut:?}");
    }
    let (key, secrets) = objects(&cluster, kind("secrets"), &all, &limits).await;
    assert_eq!(names(&secrets).unwrap_err(), "secrets are never collected");
    snapshot.objects.insert(key, secrets);

    let files = to_files(&snapshot).unwrap();
    let loaded = assemble(files.clone(), &clearway_core::Limits::default()).unwrap();
    assert!(loaded.diagnostics.is_empty());
    assert_eq!(to_files(&loaded.snapshot).unwrap(), files);
    bed.apiserver().kill();
    let (_, gone) = objects(&cluster, kind("namespaces"), &all, &limits).await;
    assert!(names(&gone).unwrap_err().contains("cannot reach the API server"));
}
