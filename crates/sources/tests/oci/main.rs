//! Releases and graph-data from the real docker-registry, directly and through a proxy that plays what goes wrong
//! (U16, U22).

mod artifact;
mod faults;
mod login;
mod memory;
mod payload;
mod proxy;
mod releases;

use std::sync::Mutex;
use std::time::Duration;

use clearway_sources::oci::{
    self, Cache, OciError, Pace, Progress, Registry, RegistryOptions, Repository, ScrapedReleases,
};
use serde_json::Value;

/// Options with which a test does not wait.
fn quick() -> RegistryOptions {
    let pace = Pace {
        first: Duration::from_millis(1),
        longest: Duration::from_millis(4),
        longest_asked: Duration::from_millis(4),
        seed: 1,
        ..Pace::default()
    };
    RegistryOptions { pace, ..RegistryOptions::default() }
}

/// Options with which what hangs is given up soon, and what is only slow is tried until it succeeds: so a busy machine
/// changes how often is asked, and not what comes of it.
fn hurried() -> RegistryOptions {
    let pace = Pace { attempts: 1_000, ..quick().pace };
    RegistryOptions { timeout: Duration::from_millis(300), pace, ..quick() }
}

async fn scrape(host: &str, repository: &str, cache: &Cache) -> Result<ScrapedReleases, OciError> {
    scrape_as(&Registry::new(quick()).unwrap(), host, repository, cache).await
}

async fn scrape_as(
    registry: &Registry,
    host: &str,
    repository: &str,
    cache: &Cache,
) -> Result<ScrapedReleases, OciError> {
    let repository: Repository = format!("{host}/{repository}").parse().unwrap();
    let steps: Mutex<Vec<Progress>> = Mutex::default();
    let scraped = oci::releases(registry, &repository, cache, &|progress| steps.lock().unwrap().push(progress)).await;
    // Each step counts up by one, whatever happens.
    for pair in steps.lock().unwrap().windows(2) {
        assert!(pair[1].done == pair[0].done + 1 || (pair[1].done == 1 && pair[1].step != pair[0].step), "{pair:?}");
    }
    scraped
}

/// The releases of a scrape: version, architecture and digest.
fn listed(scraped: &ScrapedReleases) -> Vec<(String, String, String)> {
    let list: Vec<Value> = serde_json::from_slice(&scraped.file).unwrap();
    assert_eq!(list.len(), scraped.releases);
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let digest = |release: &Value| text(&release["payload"]).split_once('@').unwrap().1.to_owned();
    list.iter().map(|release| (text(&release["version"]), text(&release["arch"]), digest(release))).collect()
}

/// The versions of a scrape.
fn versions(scraped: &ScrapedReleases) -> Vec<String> {
    listed(scraped).into_iter().map(|(version, _, _)| version).collect()
}

/// What is left out, in words.
fn left_out(scraped: &ScrapedReleases) -> Vec<String> {
    scraped.left_out.iter().map(ToString::to_string).collect()
}
