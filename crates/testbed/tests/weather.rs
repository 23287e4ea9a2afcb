//! Bad weather: servers that restart, hang and die, and test processes that are killed.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use clearway_testbed::{Cluster, ClusterOptions, Component, have, own_cluster, unique_name, wait_until};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{ObjectMeta, PostParams};
use kube::{Api, Client};
use tokio::time::timeout;

const SOON: Duration = clearway_testbed::IN_TIME;

fn config_map(name: &str) -> ConfigMap {
    let metadata = ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() };
    ConfigMap { metadata, ..ConfigMap::default() }
}

async fn maps(cluster: &Cluster) -> Api<ConfigMap> {
    let client: Client = cluster.client().await.unwrap();
    Api::namespaced(client, "default")
}

#[tokio::test]
async fn an_api_server_hangs_dies_and_comes_back() {
    let Some(cluster) = own_cluster(&ClusterOptions::api_only()).await else { return };
    let maps = maps(&cluster).await;
    let name = unique_name("kept");
    maps.create(&PostParams::default(), &config_map(&name)).await.unwrap();

    // Paused, it takes connections and answers nothing.
    cluster.apiserver().pause().await.unwrap();
    let hanging = timeout(Duration::from_millis(500), maps.get(&name)).await;
    assert!(hanging.is_err(), "a paused server answered: {hanging:?}");
    cluster.apiserver().resume().unwrap();
    timeout(SOON, maps.get(&name)).await.expect("an answer after the pause").unwrap();

    // Killed, it refuses connections.
    cluster.apiserver().kill();
    assert!(!cluster.apiserver().is_running());
    timeout(SOON, maps.get(&name)).await.expect("a refusal at once").unwrap_err();
    cluster.apiserver().start().await.unwrap();
    maps.get(&name).await.unwrap();

    // Restarted, it has the same address and objects, and is another process.
    let pid = cluster.apiserver().pid();
    cluster.apiserver().restart().await.unwrap();
    assert_ne!(cluster.apiserver().pid(), pid);
    maps.get(&name).await.unwrap();

    // So has etcd.
    cluster.etcd().restart().await.unwrap();
    wait_until(SOON, "the objects are there again", async || maps.get(&name).await.is_ok()).await.unwrap();
}

/// The processes whose command line contains the path.
fn processes_of(dir: &str) -> Vec<u32> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    entries
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter(|pid| {
            fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|line| String::from_utf8_lossy(&line).contains(dir))
        })
        .collect()
}

#[tokio::test]
async fn nothing_outlives_a_killed_process() {
    if !have(&[Component::Etcd, Component::KubeApiserver]) {
        return;
    }
    let mut program = Command::new(env!("CARGO_BIN_EXE_cluster"))
        .arg("--api-only")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(program.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let kubeconfig = line.trim().strip_prefix("export KUBECONFIG=").expect("a line for the shell");
    let dir = Path::new(kubeconfig).ancestors().nth(2).unwrap().to_str().unwrap();
    assert!(processes_of(dir).len() >= 2, "etcd and kube-apiserver run: {line}");

    program.kill().unwrap();
    program.wait().unwrap();
    wait_until(clearway_testbed::IN_TIME, "all its processes are gone", async || processes_of(dir).is_empty())
        .await
        .unwrap();
    wait_until(clearway_testbed::IN_TIME, "its directory is gone", async || !Path::new(dir).exists()).await.unwrap();
}

#[tokio::test]
async fn ctrl_c_leaves_nothing_behind() {
    if !have(&[Component::Etcd, Component::KubeApiserver]) {
        return;
    }
    let mut program = tokio::process::Command::new(env!("CARGO_BIN_EXE_cluster"))
        .arg("--api-only")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut line = String::new();
    let stdout = tokio::io::BufReader::new(program.stdout.take().unwrap());
    tokio::io::AsyncBufReadExt::read_line(&mut { stdout }, &mut line).await.unwrap();
    let kubeconfig = line.trim().strip_prefix("export KUBECONFIG=").expect("a line for the shell");
    let dir = Path::new(kubeconfig).ancestors().nth(2).unwrap().to_str().unwrap();

    let pid = program.id().and_then(|id| rustix::process::Pid::from_raw(id.try_into().ok()?)).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let status = timeout(SOON, program.wait()).await.expect("an end").unwrap();
    assert!(status.success(), "{status}");
    assert_eq!(processes_of(dir), Vec::<u32>::new());
    assert!(!Path::new(dir).exists());
}
