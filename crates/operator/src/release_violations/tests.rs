use std::io::{Read as _, Write as _};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use clearway_advice::evidence::TargetRelease;
use clearway_release::{Files, Metadata, pack};
use clearway_sources::oci::{Cache, Registry, RegistryOptions};
use clearway_sources::store::StateDirectory;

use super::*;
use crate::driver::COMPONENT_RELEASE_BYTES;

/// What an evaluator borrows.
struct Parts {
    registry: Registry,
    cache: Cache,
    selection: Selection,
    program: PolicyProgram,
}

impl Parts {
    fn new() -> Self {
        Parts {
            registry: Registry::new(RegistryOptions::default()).unwrap(),
            cache: Cache::none(),
            selection: Selection::default(),
            program: PolicyProgram::new(PathBuf::from("/none")),
        }
    }

    fn evaluator(&self, host: Option<&str>) -> ReleaseEvaluator<'_> {
        ReleaseEvaluator {
            registries: Some(Registries { registry: &self.registry, cache: &self.cache, arch: None }),
            hosts: host.map(str::to_owned).into_iter().collect(),
            selection: &self.selection,
            limits: ReleaseLimits::of_graph(),
            round_bytes: ROUND_BYTES,
            memory: MemoryPermit::default(),
            is_one_of_many: false,
            heartbeat: Heartbeat::default(),
            named: None,
            program: Some(&self.program),
        }
    }
}

fn constraint(host: &str, number: usize) -> ReleaseConstraint {
    let (version, payload) = (format!("1.{number}.0"), format!("{host}/platform@sha256:{number:064}"));
    ReleaseConstraint {
        kind: "RequiredLabels".to_owned(),
        name: "owner".to_owned(),
        release: TargetRelease { version: version.parse().unwrap(), payload },
    }
}

/// A registry that has nothing; its host, and the number of requests that it got.
fn empty_registry() -> (String, Arc<AtomicUsize>) {
    let empty = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let host = empty.local_addr().unwrap().to_string();
    let requests = Arc::new(AtomicUsize::new(0));
    let counted = requests.clone();
    std::thread::spawn(move || {
        for stream in empty.incoming() {
            let mut stream = stream.unwrap();
            let _ = stream.read(&mut [0; 4096]);
            counted.fetch_add(1, Ordering::SeqCst);
            let _ = stream.write_all(b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
        }
    });
    (host, requests)
}

/// The graph chooses the host, so nothing is sent to one that the cluster does not use.
#[tokio::test]
async fn a_release_is_fetched_only_from_the_registry_that_the_cluster_runs() {
    let (parts, (host, _)) = (Parts::new(), empty_registry());
    let digest = format!("sha256:{}", "0".repeat(64));
    for (running, want) in [
        (format!("{host}/platform@{digest}"), UnevaluatedReason::ReleaseUnreadable),
        (format!("registry.example.com/platform@{digest}"), UnevaluatedReason::OtherRegistry),
        ("/a/directory".to_owned(), UnevaluatedReason::OtherRegistry),
        (String::new(), UnevaluatedReason::OtherRegistry),
    ] {
        let evaluator = parts.evaluator(registry_host(&running).as_deref());
        let found = evaluator.fetch_release(&constraint(&host, 0), ROUND_BYTES).await;
        assert_eq!(found.err(), Some(want), "{running}");
    }
}

/// Fetching has no access to the cluster, so that what a registry sees does not depend on it.
#[tokio::test]
async fn all_releases_are_fetched_in_one_step() {
    let (parts, (host, requests)) = (Parts::new(), empty_registry());
    let asked: Vec<ReleaseConstraint> = (0..MAX_RELEASES + 2).map(|number| constraint(&host, number)).collect();
    let evaluator = parts.evaluator(Some(&host));
    let fetched = evaluator.fetch_all(asked.iter().map(|one| vec![one])).await;
    let reasons: Vec<_> = fetched.iter().map(|(_, release)| release.as_ref().err().copied()).collect();
    assert!(reasons.iter().take(MAX_RELEASES).all(|one| *one == Some(UnevaluatedReason::ReleaseUnreadable)));
    assert_eq!(reasons[MAX_RELEASES..], [Some(UnevaluatedReason::TooManyReleases); 2]);
    assert!(requests.load(Ordering::SeqCst) >= MAX_RELEASES);
    // With nothing left of the bytes of the round, a registry is not asked.
    let before = requests.load(Ordering::SeqCst);
    let found = evaluator.fetch_release(&asked[0], 0).await;
    assert_eq!(found.err(), Some(UnevaluatedReason::TooManyReleases));
    assert_eq!(requests.load(Ordering::SeqCst), before);
}

/// A registry that does not answer takes the time of one round, however many releases a graph names.
#[tokio::test(start_paused = true)]
async fn all_releases_of_a_round_share_one_time_limit() {
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let host = silent.local_addr().unwrap().to_string();
    let parts = Parts::new();
    let asked: Vec<ReleaseConstraint> = (0..MAX_RELEASES).map(|number| constraint(&host, number)).collect();
    let evaluator = parts.evaluator(Some(&host));
    let begin = Instant::now();
    let fetched = evaluator.fetch_all(asked.iter().map(|one| vec![one])).await;
    assert!(begin.elapsed() <= FETCH_TIME + Duration::from_secs(1), "{:?}", begin.elapsed());
    assert_eq!(fetched.len(), MAX_RELEASES);
    assert!(fetched.iter().all(|(_, release)| release.is_err()));
    assert_eq!(fetched[MAX_RELEASES - 1].1.as_ref().err(), Some(&UnevaluatedReason::TimedOut));
}

/// The files of a release that are in memory.
fn files(files: Files) -> Fetched<'static> {
    let (reference, digest) = (Reference::Directory(PathBuf::from("release")), Digest::sha256(b""));
    Fetched::Files(FetchedRelease { reference, digest, chosen: None, files }, None)
}

/// How long an evaluation takes depends on the cluster's constraints and on the policies of others.
#[tokio::test(start_paused = true)]
async fn a_fetch_does_not_wait_for_an_evaluation() {
    let (parts, (host, _)) = (Parts::new(), empty_registry());
    let directory = tempfile::tempdir().unwrap();
    let store = StateDirectory::open(directory.path()).unwrap();
    let (one, other) = (constraint(&host, 0), constraint(&host, 1));
    for is_one_of_many in [false, true] {
        let memory = MemoryPermit::default();
        let evaluator = || ReleaseEvaluator { is_one_of_many, memory: memory.clone(), ..parts.evaluator(Some(&host)) };
        // Somebody evaluates, and has as many files as all of them may have.
        let _evaluating = memory.acquire_release_evaluation().await;
        let _parsing = memory.acquire().await;
        let _files = memory.keep_release_files(COMPONENT_RELEASE_BYTES).unwrap();
        let (first, second, asked) = (evaluator(), evaluator(), [&one]);
        let mut waiting = std::pin::pin!(first.objects(&store, &asked));
        let waited = tokio::time::timeout(Duration::from_hours(1), &mut waiting).await;
        assert!(waited.is_err(), "it did not wait for its turn");
        let fetched = tokio::time::timeout(FETCH_TIME * 2, second.fetch([&other].into_iter())).await;
        assert_eq!(fetched.expect("it waits for an evaluation").0.len(), 1);
    }
}

/// Releases of add-ons are fetched for one of them at a time; the ClusterVersion, and who asks for none, do not wait.
#[tokio::test(start_paused = true)]
async fn releases_of_add_ons_are_fetched_for_one_at_a_time() {
    let (parts, (host, _)) = (Parts::new(), empty_registry());
    let cluster = parts.evaluator(Some(&host));
    let component =
        ReleaseEvaluator { is_one_of_many: true, memory: cluster.memory.clone(), ..parts.evaluator(Some(&host)) };
    let one = constraint(&host, 0);
    let fetching = cluster.memory.acquire_release_fetch().await;
    assert_eq!(component.fetch(std::iter::empty()).await.0.len(), 0);
    assert_eq!(cluster.fetch([&one].into_iter()).await.0.len(), 1);
    let mut waiting = std::pin::pin!(component.fetch([&one].into_iter()));
    let waited = tokio::time::timeout(Duration::from_hours(1), &mut waiting).await;
    assert!(waited.is_err(), "it was fetched while another one fetched");
    drop(fetching);
    assert_eq!(waiting.await.0.len(), 1);
}

/// The publishers of many add-ons together keep no more than their budget, and take nothing of the ClusterVersion's part.
#[test]
fn files_of_releases_that_wait_have_a_budget() {
    let parts = Parts::new();
    let cluster = parts.evaluator(None);
    let component = ReleaseEvaluator { is_one_of_many: true, memory: cluster.memory.clone(), ..parts.evaluator(None) };
    let most = usize::try_from(COMPONENT_ROUND_BYTES).unwrap();
    let release = || files([("a.yaml".to_owned(), vec![b' '; most])].into());
    let mut kept = Vec::new();
    while let Ok(release) = component.keep(release()) {
        kept.push(release);
    }
    assert_eq!(kept.len(), COMPONENT_RELEASE_BYTES / most);
    assert_eq!(component.keep(release()).err(), Some(UnevaluatedReason::TooManyReleases));
    assert!(cluster.keep(release()).is_ok(), "it has a separate budget");
    kept.pop();
    assert!(component.keep(release()).is_ok(), "what was evaluated gives its part back");
}

/// Objects are made with the permit, on another thread, and within the limits.
#[tokio::test(start_paused = true)]
async fn objects_of_releases_are_made_with_the_permit_and_within_the_limits() {
    let object = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: ns}\ndata: {a: b}\n";
    let metadata = Metadata::read(br#"{"kind": "cincinnati-metadata-v0", "version": "1.1.0"}"#).unwrap();
    let streams = [("a.yaml".to_owned(), object.as_bytes())];
    let packed = pack(streams, &metadata, "main", &ReleaseLimits::default()).unwrap().files;
    let release = || files(packed.clone());
    let parts = Parts::new();
    let mut evaluator = parts.evaluator(None);
    let held = evaluator.memory.acquire().await;
    {
        let mut waiting = std::pin::pin!(evaluator.make_objects(release()));
        let waited = tokio::time::timeout(Duration::from_hours(1), &mut waiting).await;
        assert!(waited.is_err(), "a release was parsed while another held the permit");
        assert_eq!(evaluator.heartbeat.begun(), [""; 0], "waiting is no computation");
        drop(held);
        assert_eq!(waiting.await.unwrap().len(), 1);
        assert_eq!(evaluator.heartbeat.begun(), ["parsing a release for rules"]);
    }
    assert!(evaluator.memory.acquire().await.is_some(), "the permit was returned");
    evaluator.limits.memory = 100;
    assert_eq!(evaluator.make_objects(release()).await.err(), Some(UnevaluatedReason::ReleaseUnreadable));
}
