//! Starts the control plane of the tests for a person, until Ctrl-C.

use std::process::ExitCode;
use std::time::Instant;

use clearway_testbed::{Cluster, ClusterOptions};
use tokio::signal::unix::{SignalKind, signal};

const HELP: &str = "Starts a Kubernetes control plane on this machine, as the tests use it, and stops it at Ctrl-C.

Usage: cluster [--nodes N] [--api-only]

  --nodes N    how many simulated nodes; default: 3
  --api-only   only etcd and kube-apiserver: no controllers, no nodes
";

#[tokio::main]
async fn main() -> ExitCode {
    let options = match options(std::env::args().skip(1)) {
        Ok(Some(options)) => options,
        Ok(None) => {
            print!("{HELP}");
            return ExitCode::SUCCESS;
        }
        Err(error) => {
            eprint!("{error}\n\n{HELP}");
            return ExitCode::from(2);
        }
    };
    match run(&options).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// What the arguments say; nothing when help is wanted.
fn options(mut args: impl Iterator<Item = String>) -> Result<Option<ClusterOptions>, String> {
    let mut options = ClusterOptions { nodes: 3, ..ClusterOptions::default() };
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--help" | "-h" => return Ok(None),
            "--api-only" => options = ClusterOptions::api_only(),
            "--nodes" => {
                let number = args.next().and_then(|value| value.parse().ok());
                options.nodes = number.ok_or("--nodes needs a number")?;
            }
            _ => return Err(format!("unknown argument: {arg}")),
        }
    }
    Ok(Some(options))
}

async fn run(options: &ClusterOptions) -> Result<(), Box<dyn std::error::Error>> {
    // Listened to from the start, so that no signal is lost between the start and the wait.
    let mut interrupted = signal(SignalKind::interrupt())?;
    let mut terminated = signal(SignalKind::terminate())?;
    let begun = Instant::now();
    eprintln!("starting a control plane ...");
    let cluster = tokio::select! {
        cluster = Cluster::start_with(options) => cluster?,
        _ = interrupted.recv() => return Ok(()),
        _ = terminated.recv() => return Ok(()),
    };
    eprintln!(
        "ready after {:.1} s at {}; logs in {}",
        begun.elapsed().as_secs_f32(),
        cluster.url(),
        cluster.dir().display()
    );
    println!("export KUBECONFIG={}", cluster.kubeconfig().display());
    eprintln!("Ctrl-C stops it and leaves nothing behind.");
    tokio::select! {
        _ = interrupted.recv() => {}
        _ = terminated.recv() => {}
    }
    let begun = Instant::now();
    drop(cluster);
    eprintln!("stopped in {:.1} s", begun.elapsed().as_secs_f32());
    Ok(())
}
