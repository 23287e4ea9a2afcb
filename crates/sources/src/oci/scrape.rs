//! All releases of a repository, as one file of graph-data.
//!
//! A tag that is no release, or a broken one, is left out by name. A tag that could not be read is a failure of the
//! whole: a graph without it would strand the clusters that are on it, so the caller keeps what it had. Start at
//! [`releases`].

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};

use clearway_core::{Arch, CapExceeded, Digest, GraphLimits, Version};
use futures::StreamExt as _;

use super::cache::Cache;
use super::reference::{At, is_tag};
use super::release::{Release, SkipReason};
use super::{OciError, Repository};
use crate::oci::access::registry::Registry;

/// The metadata that names the manifest of a release. What the image itself says about it is not believed.
const MANIFEST_REF: &str = "io.openshift.upgrades.graph.release.manifestref";
/// How often what could not be read, with all its attempts, is taken up again after the rest.
const ROUNDS: usize = 3;
/// So many failures in one round are not bad luck: the registry is down.
const DOWN: usize = 16;

/// The releases of a repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScrapedReleases {
    /// The path of the file among graph-data; another one for every repository.
    pub path: String,
    /// Its content: the same bytes for the same content of the registry.
    pub file: Vec<u8>,
    /// How many releases it lists.
    pub releases: usize,
    /// The tags that are in no release of it, sorted.
    pub left_out: Vec<SkippedTag>,
}

/// A tag that is left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkippedTag {
    /// The tag.
    pub tag: String,
    /// Its digest, if it was looked up.
    pub digest: Option<Digest>,
    /// Why.
    pub why: SkipReason,
}

/// How far a scrape is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// What is being done.
    pub step: Step,
    /// How many are done.
    pub done: usize,
    /// Of how many.
    pub of: usize,
}

/// A part of a scrape.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Asking which digest each tag has.
    Tags,
    /// Reading the images that are not in the cache.
    Images,
}

#[derive(serde::Serialize)]
struct Listed<'a> {
    version: Version,
    #[serde(skip_serializing_if = "Option::is_none")]
    arch: Option<&'a Arch>,
    payload: String,
    previous: &'a [String],
    next: &'a [String],
    metadata: BTreeMap<&'a str, &'a str>,
}

impl std::fmt::Display for SkippedTag {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "tag {} {}", self.tag, self.why)
    }
}

/// Reads every release of a repository.
pub async fn releases(
    registry: &Registry,
    repository: &Repository,
    cache: &Cache,
    progress: &(dyn Fn(Progress) + Send + Sync),
) -> Result<ScrapedReleases, OciError> {
    registry.in_time(&repository.to_string(), scrape(registry, repository, cache, progress)).await
}

async fn scrape(
    registry: &Registry,
    repository: &Repository,
    cache: &Cache,
    progress: &(dyn Fn(Progress) + Send + Sync),
) -> Result<ScrapedReleases, OciError> {
    let (tags, others): (Vec<_>, Vec<_>) =
        registry.tags(repository).await?.into_iter().partition(|tag| is_tag(tag) && !is_companion(tag));
    let digests = all(registry, Step::Tags, tags, progress, |tag: String| async move {
        match registry.digest(repository, &At::Tag(tag)).await {
            Ok(digest) => Ok(Some(digest)),
            Err(OciError::NotFound { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    })
    .await?;
    // Several tags may have one digest; it is read once.
    let wanted: BTreeSet<Digest> = digests.values().flatten().cloned().collect();
    let most = GraphLimits::default().data_bytes;
    let mut known = cache.releases(wanted.clone(), most).await;
    let unknown: Vec<Digest> = wanted.into_iter().filter(|digest| !known.contains_key(digest)).collect();
    let bytes = |outcome: &Result<Release, SkipReason>| outcome.as_ref().map_or(0, Release::bytes);
    let taken = &AtomicU64::new(known.values().map(bytes).sum());
    let read = all(registry, Step::Images, unknown, progress, |digest: Digest| async move {
        let outcome = registry.release(repository, &digest).await?;
        let more = bytes(&outcome);
        if taken.fetch_add(more, Ordering::Relaxed).saturating_add(more) > most {
            let what = "bytes in all releases of a repository";
            let above = CapExceeded { cap: "data_bytes", limit: most, what };
            return Err(OciError::Broken { at: repository.to_string(), why: format!("it has {above}") });
        }
        // Kept at once: if something else fails, the next scrape goes on from here.
        cache.store_release(&digest, &outcome).await;
        Ok(outcome)
    })
    .await?;
    known.extend(read);

    let mut left_out: Vec<SkippedTag> =
        others.into_iter().map(|tag| SkippedTag { why: unasked(&tag), tag, digest: None }).collect();
    for (tag, digest) in digests {
        match digest.as_ref().and_then(|digest| known.get(digest)) {
            Some(Ok(_)) => {}
            Some(Err(why)) => left_out.push(SkippedTag { tag, digest, why: why.clone() }),
            None => left_out.push(SkippedTag { tag, digest, why: SkipReason::Vanished }),
        }
    }
    left_out.sort_by(|one, other| one.tag.cmp(&other.tag));
    let found: Vec<(&Digest, &Release)> =
        known.iter().filter_map(|(digest, outcome)| Some((digest, outcome.as_ref().ok()?))).collect();
    let file = file(repository, &found)
        .map_err(|error| OciError::Broken { at: repository.to_string(), why: error.to_string() })?;
    Ok(ScrapedReleases { path: path(repository), file, releases: found.len(), left_out })
}

/// Does the work for every item, several side by side. What fails in a passing way is taken up again after the rest, so
/// that a large repository on a bad registry gets done; a registry that is down is noticed soon.
async fn all<K: Clone + Ord, V, F: Future<Output = Result<V, OciError>>>(
    registry: &Registry,
    step: Step,
    items: Vec<K>,
    progress: &(dyn Fn(Progress) + Send + Sync),
    work: impl Fn(K) -> F,
) -> Result<BTreeMap<K, V>, OciError> {
    let of = items.len();
    let mut done = BTreeMap::new();
    let mut pending = items;
    for round in 1.. {
        let mut again = Vec::new();
        let concurrency = registry.options.concurrency.max(1);
        let mut running = futures::stream::iter(std::mem::take(&mut pending))
            .map(|item| {
                let doing = work(item.clone());
                async move { (item, doing.await) }
            })
            .buffer_unordered(concurrency);
        while let Some((item, outcome)) = running.next().await {
            match outcome {
                Ok(value) => {
                    done.insert(item, value);
                    progress(Progress { step, done: done.len(), of });
                }
                Err(error) if error.is_passing() && round < ROUNDS && again.len() + 1 < DOWN => again.push(item),
                Err(error) => return Err(error),
            }
        }
        drop(running);
        if again.is_empty() {
            break;
        }
        pending = again;
    }
    Ok(done)
}

/// Why a tag is not even asked for.
fn unasked(tag: &str) -> SkipReason {
    if is_companion(tag) {
        SkipReason::Companion
    } else {
        SkipReason::Unsupported { what: "an entry whose name is not a valid tag".to_owned() }
    }
}

/// Whether a tag is the name of something that belongs to an image: `sha256-<hex>`, alone or with `.sig`, `.att`,
/// `.sbom`. Large repositories have more of them than releases.
fn is_companion(tag: &str) -> bool {
    let Some(rest) = tag.strip_prefix("sha256-") else { return false };
    let (hex, suffix) = rest.split_at_checked(64).unwrap_or((rest, ""));
    hex.len() == 64
        && hex.bytes().all(|byte| byte.is_ascii_hexdigit())
        && (suffix.is_empty() || suffix.starts_with('.') || suffix.starts_with('-'))
}

/// A path that no other repository has: neither `+` nor `~` can stand in the name of one.
fn path(repository: &Repository) -> String {
    let name = repository.to_string().replace('/', "+").replace(':', "~");
    format!("releases/registry-{name}.json")
}

/// One release per line, in order, so that two versions of the file can be compared by eye.
fn file(repository: &Repository, found: &[(&Digest, &Release)]) -> Result<Vec<u8>, serde_json::Error> {
    let mut listed: Vec<Listed<'_>> = Vec::with_capacity(found.len());
    let digests: Vec<String> = found.iter().map(|(digest, _)| digest.to_string()).collect();
    for ((_, release), digest) in found.iter().zip(&digests) {
        let mut metadata: BTreeMap<&str, &str> =
            release.metadata.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
        metadata.insert(MANIFEST_REF, digest);
        listed.push(Listed {
            // The architecture is said beside it, and takes the place of a build.
            version: release.version.without_build(),
            arch: release.arch.as_ref(),
            payload: format!("{repository}@{digest}"),
            previous: &release.previous,
            next: &release.next,
            metadata,
        });
    }
    listed.sort_by(|one, other| {
        (&one.version, one.arch, &one.payload).cmp(&(&other.version, other.arch, &other.payload))
    });
    let mut text = Vec::from(*b"[");
    for (number, release) in listed.iter().enumerate() {
        text.extend_from_slice(if number == 0 { b"\n" } else { b",\n" });
        serde_json::to_writer(&mut text, release)?;
    }
    text.extend_from_slice(b"\n]\n");
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signatures_are_told_by_their_names() {
        let hex = "a".repeat(64);
        for (tag, want) in [
            (format!("sha256-{hex}.sig"), true),
            (format!("sha256-{hex}.att"), true),
            (format!("sha256-{hex}"), true),
            (format!("sha256-{hex}x"), false),
            (format!("sha256-{}", &hex[1..]), false),
            ("4.5.0-x86_64".to_owned(), false),
            ("sha256-".to_owned(), false),
        ] {
            assert_eq!(is_companion(&tag), want, "{tag}");
        }
    }

    #[test]
    fn every_repository_has_its_own_path() {
        let paths = ["h.io/a/b-c", "h.io/a-b/c", "h.io:5000/a", "h.io/5000/a"];
        let paths: BTreeSet<String> = paths.iter().map(|name| path(&name.parse().unwrap())).collect();
        assert_eq!(paths.len(), 4);
        assert!(paths.contains("releases/registry-h.io~5000+a.json"), "{paths:?}");
    }

    #[test]
    fn the_file_is_sorted_and_the_image_does_not_say_its_own_digest() {
        let release = |version: &str, arch: &str| Release {
            version: version.parse().unwrap(),
            arch: arch.parse().ok(),
            previous: Vec::new(),
            next: Vec::new(),
            metadata: [(MANIFEST_REF.to_owned(), "sha256:forged".to_owned())].into(),
        };
        let (one, two, three) = (release("4.10.0", "arm64"), release("4.9.0+build", ""), release("4.10.0", "amd64"));
        let digests = [Digest::sha256(b"1"), Digest::sha256(b"2"), Digest::sha256(b"3")];
        let repository = "h.io/a".parse().unwrap();
        let [d1, d2, d3] = &digests;
        let text = file(&repository, &[(d1, &one), (d2, &two), (d3, &three)]).unwrap();
        let text = String::from_utf8(text).unwrap();
        let line = |version: &str, arch: &str, digest: &Digest| {
            format!(
                r#"{{"version":"{version}",{arch}"payload":"h.io/a@{digest}","previous":[],"next":[],"metadata":{{"{MANIFEST_REF}":"{digest}"}}}}"#
            )
        };
        let lines =
            [line("4.9.0", "", d2), line("4.10.0", r#""arch":"amd64","#, d3), line("4.10.0", r#""arch":"arm64","#, d1)];
        assert_eq!(text, format!("[\n{}\n]\n", lines.join(",\n")));
        assert_eq!(file(&repository, &[]).unwrap(), b"[\n]\n");
    }
}
