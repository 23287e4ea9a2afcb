//! The memory of a scrape does not follow the size of layers. A process of its own is measured: this one holds the layers
//! that it pushes.

use std::path::Path;
use std::process::Command;

use clearway_sources::oci::Cache;
use clearway_testbed::images::{Family, Pusher, gzip, release_layer, tar};
use clearway_testbed::registry;
use serde_json::json;

use crate::scrape;

/// The repository that the process of its own is to read.
const REPOSITORY: &str = "CLEARWAY_TEST_REPOSITORY";
/// What every layer of the large repositories has, unpacked; the first of them is sent as it is.
const LAYER: usize = 64 << 20;
/// What a scrape of them may take beyond that of a small one. A layer that is held would take eight times as much.
const MORE_KILOBYTES: u64 = 8 << 10;

#[tokio::test]
#[ignore = "run by the other test, in a process of its own"]
async fn a_scrape_that_is_measured() {
    let Ok(repository) = std::env::var(REPOSITORY) else { return };
    let (host, path) = repository.split_once('/').unwrap();
    assert_eq!(scrape(host, path, &Cache::none()).await.unwrap().releases, 1);
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    println!("{}", status.lines().find(|line| line.starts_with("VmHWM:")).unwrap());
}

/// The most memory, in kilobytes, that a process had which reads a repository.
async fn peak(host: &str, repository: &str) -> u64 {
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", "memory::a_scrape_that_is_measured", "--ignored", "--nocapture"]);
    child.env(REPOSITORY, format!("{host}/{repository}"));
    let output = tokio::task::spawn_blocking(move || child.output()).await.unwrap().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}");
    let line = text.lines().find_map(|line| line.split_once("VmHWM:")).unwrap().1;
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

/// Bytes that do not get smaller when packed.
fn noise(length: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut bytes = Vec::with_capacity(length);
    while bytes.len() < length {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        bytes.extend_from_slice(&state.to_le_bytes());
    }
    bytes
}

#[tokio::test]
async fn a_large_layer_takes_no_more_memory_than_a_small_one() {
    if !Path::new("/proc/self/status").exists() {
        println!("not measured, because this system has no /proc");
        return;
    }
    let Some(registry) = registry().await else { return };
    let below = release_layer("1.0.0", &json!({}));
    // The release is below, so all of what is above has to be looked at.
    for (repository, above) in [
        ("small", tar(&[("x", b"x")])),
        ("packed", gzip(&tar(&[("zeros", &vec![0; LAYER])]))),
        ("plain", tar(&[("noise", &noise(LAYER))])),
    ] {
        let push = Pusher::new(&registry.base_url(), repository);
        push.image(Family::Oci, Some("1"), "amd64", vec![below.clone(), above]).await;
    }
    let small = peak(&registry.host(), "small").await;
    for repository in ["packed", "plain"] {
        let large = peak(&registry.host(), repository).await;
        println!("{repository}: {large} kB, small: {small} kB");
        assert!(large < small + MORE_KILOBYTES, "{repository}: {large} kB, small: {small} kB");
    }
}
