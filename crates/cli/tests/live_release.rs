//! `clearway release` with the real registry: what is packed is served, shown and verified (U22).

use std::path::Path;
use std::process::{Command, Output};

use clearway_release::{Manifest, ReleaseLimits, Selection};
use clearway_sources::release;
use clearway_testbed::{cluster, registry, wait_until};
use kube::api::{ApiResource, DynamicObject, GroupVersionKind, ListParams, Patch, PatchParams};
use kube::{Api, Client};
use serde_json::Value;

fn run(directory: &Path, line: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_clearway"));
    command.args(line.split_whitespace()).current_dir(directory).env("HOME", directory);
    command.output().unwrap()
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap().trim()
}

#[tokio::test]
async fn a_release_goes_through_a_registry_and_comes_out_the_same() {
    let Some(registry) = registry().await else { return };
    let place = tempfile::tempdir().unwrap();
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/releases/1.5.2");
    let repository = format!("oci://{}/platform", registry.host());
    let pushed = run(
        place.path(),
        &format!("release pack {source}/release-manifests --version 1.5.2 --previous 1.4.2,1.4.3 --push {repository}"),
    );
    assert!(pushed.status.success(), "{pushed:?}");
    let digest = text(&pushed.stdout).to_owned();
    // The version is the tag.
    let shown = run(place.path(), &format!("release show {repository}:1.5.2 -o json --cache kept"));
    let shown: Value = serde_json::from_slice(&shown.stdout).unwrap();
    assert_eq!(shown["digest"], digest);
    let beside = run(place.path(), &format!("release show {source} -o json"));
    let beside: Value = serde_json::from_slice(&beside.stdout).unwrap();
    for field in ["version", "stages", "images"] {
        assert_eq!(shown[field], beside[field], "{field}");
    }
    let verified = run(place.path(), &format!("release verify {repository}@{digest} --digest {digest}"));
    assert_eq!(verified.status.code(), Some(0), "{verified:?}");
    let wrong = run(place.path(), &format!("release verify {repository}:1.5.2 --arch arm64"));
    assert_eq!(wrong.status.code(), Some(1), "{wrong:?}");
    assert!(text(&wrong.stdout).contains("no image for arm64"), "{wrong:?}");
    let missing = run(place.path(), &format!("release verify {repository}:9.9.9"));
    assert_eq!(missing.status.code(), Some(3), "{missing:?}");

    // What was read is there when the registry is not.
    drop(registry);
    let kept = run(place.path(), &format!("release show {repository}@{digest} --digest --cache kept"));
    assert_eq!((kept.status.code(), text(&kept.stdout)), (Some(0), digest.as_str()), "{kept:?}");
}

/// The resource of a manifest's objects, as a client names it.
fn api(client: &Client, manifest: &Manifest) -> Api<DynamicObject> {
    let resource =
        ApiResource::from_gvk(&GroupVersionKind::gvk(&manifest.id.group, &manifest.version, &manifest.id.kind));
    match manifest.id.namespace.as_str() {
        "" => Api::all_with(client.clone(), &resource),
        namespace => Api::namespaced_with(client.clone(), namespace, &resource),
    }
}

/// The order of the stages is enough: nothing has to be tried twice, but for kinds that are not served yet.
#[tokio::test]
async fn an_api_server_takes_the_sample_releases_in_the_order_of_their_stages() {
    let Some(cluster) = cluster().await else { return };
    let client = cluster.client().await.unwrap();
    let apply = PatchParams::apply("test").force();
    for version in ["1.4.2", "1.4.3", "1.5.2"] {
        let directory = format!("{}/../../examples/releases/{version}", env!("CARGO_MANIFEST_DIR"));
        let fetched = release::directory(Path::new(&directory), &ReleaseLimits::default()).unwrap();
        let payload = fetched.payload(&Selection::default(), &ReleaseLimits::default()).unwrap();
        for stage in payload.stages() {
            for manifest in stage.lanes.iter().flat_map(|lane| &lane.manifests) {
                let patch = Patch::Apply(&manifest.object);
                let applied = api(&client, manifest).patch(&manifest.id.name, &apply, &patch).await;
                assert!(applied.is_ok(), "{version}: {}: {applied:?}", manifest.id);
            }
            for definition in &stage.defines {
                let resource = ApiResource {
                    group: definition.kind.group.clone(),
                    version: definition.versions[0].clone(),
                    api_version: format!("{}/{}", definition.kind.group, definition.versions[0]),
                    kind: definition.kind.kind.clone(),
                    plural: definition.plural.clone(),
                };
                let api: Api<DynamicObject> = Api::all_with(client.clone(), &resource);
                let served = async || api.list(&ListParams::default()).await.is_ok();
                wait_until(clearway_testbed::IN_TIME, "the custom kind is served", served).await.unwrap();
            }
        }
    }
}
