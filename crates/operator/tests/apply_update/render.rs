//! The objects of a release as files.

use std::collections::BTreeSet;
use std::fs;

use clearway_core::{ObjectId, ObjectReference};
use clearway_operator::apply_update::{Appliers, PRUNE, RENDERED, RenderError, orphans, render, write_rendered};
use clearway_update::owner::Owner;

use crate::interrupted::{named, releases};
use crate::world::{World, annotated, config, read, release, request, settings, task, update};

fn names(directory: &std::path::Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[tokio::test(start_paused = true)]
async fn files_are_in_order_and_those_of_another_release_go() {
    let (world, root, settings) = (World::new(), tempfile::tempdir().unwrap(), settings());
    let [one, mut two] = releases("render");
    two.push((
        "0000_70_old_00".to_owned(),
        annotated(config("render-shop", "old", ""), "release.openshift.io/delete", "true"),
    ));
    let paths = [release(root.path(), "1.0.0", &named(&one)), release(root.path(), "2.0.0", &named(&two))];
    let owner = Owner::new("ClusterVersion", "version");
    let out = root.path().join("out");

    let first = render(&read(&paths[0], &settings), &owner, &BTreeSet::new()).unwrap();
    assert_eq!(first, render(&read(&paths[0], &settings), &owner, &BTreeSet::new()).unwrap());
    write_rendered(&out, &first, None).unwrap();
    let written = names(&out);
    assert_eq!(written.len(), one.len() + 1, "{written:?}");
    assert_eq!(written[..2], [RENDERED, "00001-namespace-render-shop.yaml"]);
    assert!(first.files[0].1.starts_with("---\n"), "{}", first.files[0].1);
    assert!(first.files[0].1.contains("clearway.dev/owner: ClusterVersion.version"), "{}", first.files[0].1);

    update(&world, &settings, &task(request(&paths[0], "1.0.0"))).await;
    let payload = read(&paths[1], &settings);
    let second = render(&payload, &owner, &BTreeSet::new()).unwrap();
    let stays: BTreeSet<ObjectId> = payload.manifests.iter().map(|manifest| manifest.id.clone()).collect();
    let gone = orphans(&world, &owner, &stays, Appliers::Anybody, 8).await.unwrap();
    let gone: Vec<ObjectId> = gone.iter().map(|object| ObjectReference::of(object).unwrap().id()).collect();
    write_rendered(&out, &second, Some(&gone)).unwrap();
    let written = names(&out);
    assert_eq!(written.len(), 50 + 2, "{written:?}");
    let prune = fs::read_to_string(out.join(PRUNE)).unwrap();
    assert_eq!(prune.lines().count(), 13, "ten, a namespace and what was in it, and what the release deletes: {prune}");
    assert!(prune.contains("ConfigMap render-shop/c3\n") && prune.contains("ConfigMap render-shop/old\n"), "{prune}");
    assert!(!written.iter().any(|name| name.ends_with("c3.yaml")), "{written:?}");
}

#[test]
fn a_directory_with_something_else_in_it_is_not_touched() {
    let root = tempfile::tempdir().unwrap();
    fs::write(root.path().join("kustomization.yaml"), "mine").unwrap();
    let rendered = clearway_operator::apply_update::RenderedRelease { files: Vec::new(), deletes: Vec::new() };
    let refused = write_rendered(root.path(), &rendered, None);
    assert!(matches!(refused, Err(RenderError::Occupied { .. })), "{refused:?}");
    assert_eq!(names(root.path()), ["kustomization.yaml"]);
}
