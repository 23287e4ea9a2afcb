//! From the digest of a tag to the release that is behind it, or to why there is none.
//!
//! A release is an image with the file `release-manifests/release-metadata`. Of an index the first image that has it
//! speaks for all. Start at [`Registry::release`].

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io::Read;
use std::sync::Arc;

use clearway_core::{Arch, ArchError, CapExceeded, Digest, Version};
use clearway_release::Metadata;

use super::archive::{self, ArchiveDefect, Kind, WalkControl};
use super::{OciError, Repository};
use crate::oci::access::registry::Registry;
use crate::oci::image::media::{Descriptor, Image, Manifest, UnreadableManifest};

const METADATA: &str = "release-manifests/release-metadata";
/// How an upper layer takes files of lower ones away.
const REMOVED: [&str; 3] =
    [".wh.release-manifests", "release-manifests/.wh.release-metadata", "release-manifests/.wh..wh..opq"];
/// Where the metadata of a release says what it is built for.
const BUILT_FOR: &str = "release.openshift.io/architecture";

/// What a release says about itself.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(super) struct Release {
    pub(super) version: Version,
    /// None if nothing says it; then it is what a client means that names none.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub(super) arch: Option<Arch>,
    pub(super) previous: Vec<String>,
    pub(super) next: Vec<String>,
    pub(super) metadata: BTreeMap<String, String>,
}

impl Release {
    /// What it takes, about.
    pub(super) fn bytes(&self) -> u64 {
        const ENTRY: usize = 32;
        let lists: usize = self.previous.iter().chain(&self.next).map(|version| version.len() + ENTRY).sum();
        let metadata: usize = self.metadata.iter().map(|(key, value)| key.len() + value.len() + 2 * ENTRY).sum();
        (lists + metadata + 4 * ENTRY) as u64
    }
}

/// Why a tag is left out.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase", tag = "why")]
pub enum SkipReason {
    /// A signature, or something else that belongs to an image, by the form of its name. It is not looked at.
    Companion,
    /// No layer holds the metadata of a release.
    NoRelease,
    /// One architecture's part of a release of several, which is served as a whole.
    Shard {
        /// Which architecture.
        arch: String,
    },
    /// A kind of manifest that is not read.
    Unsupported {
        /// Which.
        what: String,
    },
    /// A release, but one that cannot be read.
    Broken {
        /// What is wrong with it.
        what: String,
    },
    /// It was deleted before it could be read.
    Vanished,
}

impl SkipReason {
    /// Whether it holds for the digest for ever. What is broken may be so because of a limit, or of the registry.
    pub(super) fn is_definite(&self) -> bool {
        matches!(self, SkipReason::NoRelease | SkipReason::Shard { .. } | SkipReason::Unsupported { .. })
    }
}

impl fmt::Display for SkipReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SkipReason::Companion => f.write_str("belongs to another image, by its name, and is skipped"),
            SkipReason::NoRelease => write!(f, "is not a release: none of its layers contains {METADATA}"),
            SkipReason::Shard { arch } => write!(f, "is the {arch} part of a release of several architectures"),
            SkipReason::Unsupported { what } => {
                write!(f, "is {what}, which is not supported; push it again with a current tool")
            }
            SkipReason::Broken { what } => write!(f, "is a release that cannot be read: {what}"),
            SkipReason::Vanished => f.write_str("was deleted before it could be read"),
        }
    }
}

/// What a layer says about the metadata.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Found {
    Metadata(Vec<u8>),
    /// It takes that of lower layers away.
    Removed,
    Nothing,
}

/// The end of the search in one image: its metadata, or none.
type Search = Result<Option<Vec<u8>>, Stop>;

/// Why the search for a release ends before its end.
enum Stop {
    LeftOut(SkipReason),
    Failed(OciError),
}

impl From<OciError> for Stop {
    fn from(error: OciError) -> Self {
        match error {
            // The registry's answers are final, but about this release only; the others can be served.
            OciError::NotFound { .. }
            | OciError::Mismatch { .. }
            | OciError::TooLarge { .. }
            | OciError::Broken { .. } => Stop::broken(error.to_string()),
            error => Stop::Failed(error),
        }
    }
}

impl Stop {
    fn broken(what: String) -> Self {
        Stop::LeftOut(SkipReason::Broken { what })
    }
}

impl From<UnreadableManifest> for Stop {
    fn from(unread: UnreadableManifest) -> Self {
        Stop::LeftOut(match unread {
            UnreadableManifest::Unsupported(what) => SkipReason::Unsupported { what },
            UnreadableManifest::Broken(what) => SkipReason::Broken { what },
        })
    }
}

impl Registry {
    /// The release of a manifest, by its digest.
    pub(super) async fn release(
        &self,
        repository: &Repository,
        digest: &Digest,
    ) -> Result<Result<Release, SkipReason>, OciError> {
        let at = format!("{repository}@{digest}");
        let manifest = match self.manifest(repository, digest, &at).await {
            Ok(manifest) => manifest,
            Err(OciError::NotFound { .. }) => return Ok(Err(SkipReason::Vanished)),
            Err(error) => return stopped(error.into()),
        };
        let outcome = match Manifest::read(&manifest, &self.options.limits) {
            Ok(Manifest::Image(image)) => self.of_image(repository, &image).await,
            Ok(Manifest::Index(children)) => self.of_index(repository, &children).await,
            Err(unread) => Err(unread.into()),
        };
        outcome.map(Ok).or_else(stopped)
    }

    async fn of_image(&self, repository: &Repository, image: &Image) -> Result<Release, Stop> {
        let metadata = self.search(repository, image).await?.ok_or(Stop::LeftOut(SkipReason::NoRelease))?;
        let mut release = read(&metadata)?;
        let arch = self.architecture(repository, image).await?;
        let says = release.metadata.get(BUILT_FOR).map(String::as_str);
        match (arch, says) {
            (Some(arch), Some(Arch::MULTI)) if arch.as_str() != Arch::MULTI => {
                return Err(Stop::LeftOut(SkipReason::Shard { arch: arch.to_string() }));
            }
            (Some(arch), _) => release.arch = Some(arch),
            // An artifact has no configuration of an image to say it.
            (None, says) => release.arch = says.and_then(|says| says.parse().ok()),
        }
        Ok(release)
    }

    async fn of_index(&self, repository: &Repository, children: &[Descriptor]) -> Result<Release, Stop> {
        let images: Vec<&Descriptor> = children.iter().filter(|child| !child.is_attestation()).collect();
        let named: BTreeSet<&str> = images.iter().filter_map(|child| child.architecture()).collect();
        let mut missing = None;
        for child in &images {
            let at = format!("{repository}@{}", child.digest);
            let bytes = match self.manifest(repository, &child.digest, &at).await {
                // Mirrors keep a list as it is, and only some of what it lists.
                Err(error @ OciError::NotFound { .. }) => {
                    missing = missing.or(Some(error));
                    continue;
                }
                other => other?,
            };
            let Manifest::Image(image) = Manifest::read(&bytes, &self.options.limits)? else {
                return Err(Stop::LeftOut(SkipReason::Unsupported {
                    what: "an index that holds another index".to_owned(),
                }));
            };
            let Some(metadata) = self.search(repository, &image).await? else { continue };
            let mut release = read(&metadata)?;
            let one = match (named.len(), images.len()) {
                (1, _) => named.first().map(|arch| arch.parse()).transpose().map_err(|error| unknown(&error))?,
                (0, 1) => self.architecture(repository, &image).await?,
                _ => Arch::MULTI.parse().ok(),
            };
            if let Some(arch) = one.as_ref().filter(|arch| arch.as_str() != Arch::MULTI)
                && release.metadata.get(BUILT_FOR).is_some_and(|says| says == Arch::MULTI)
            {
                return Err(Stop::LeftOut(SkipReason::Shard { arch: arch.to_string() }));
            }
            release.arch = one;
            return Ok(release);
        }
        Err(missing.map_or(Stop::LeftOut(SkipReason::NoRelease), Stop::from))
    }

    /// The metadata of an image: that of the top-most layer that has it.
    async fn search(&self, repository: &Repository, image: &Image) -> Search {
        let (limit, most) = (self.options.limits.unpacked_bytes, self.options.limits.metadata_bytes);
        for layer in image.layers.iter().rev().filter(|layer| layer.is_archive()) {
            let at = format!("{repository} (layer {})", layer.digest);
            let look = Arc::new(move |stream: &mut dyn Read| find(stream, limit, most));
            match self.layer(repository, layer, &at, look).await? {
                Ok(Found::Metadata(metadata)) => return Ok(Some(metadata)),
                Ok(Found::Removed) => return Ok(None),
                // Tools push single files under the type of archives.
                Ok(Found::Nothing) | Err(ArchiveDefect::NotAnArchive) => {}
                Err(ArchiveDefect::Broken(why)) => return Err(Stop::broken(format!("layer {}: {why}", layer.digest))),
                Err(ArchiveDefect::TooMany(what, limit)) => {
                    let why = format!("layer {} has more than {limit} {what}", layer.digest);
                    return Err(Stop::broken(why));
                }
                Err(ArchiveDefect::TooLarge(limit)) => {
                    let why =
                        format!("layer {} unpacks to more than {limit} bytes (the cap `unpacked_bytes`)", layer.digest);
                    return Err(Stop::broken(why));
                }
            }
        }
        Ok(None)
    }

    /// What the configuration of an image says it is built for.
    async fn architecture(&self, repository: &Repository, image: &Image) -> Result<Option<Arch>, Stop> {
        #[derive(serde::Deserialize)]
        struct Config {
            #[serde(default)]
            architecture: String,
        }
        let Some(config) = &image.config else { return Ok(None) };
        let at = format!("{repository} (configuration {})", config.digest);
        let bytes = self.small_blob(repository, config, &at).await?;
        // The configuration of an artifact may be anything.
        let Ok(config) = serde_json::from_slice::<Config>(&bytes) else { return Ok(None) };
        if config.architecture.is_empty() {
            return Ok(None);
        }
        config.architecture.parse().map(Some).map_err(|error| unknown(&error))
    }
}

fn unknown(error: &ArchError) -> Stop {
    Stop::broken(format!("its architecture is not valid: {error}"))
}

fn stopped(stop: Stop) -> Result<Result<Release, SkipReason>, OciError> {
    match stop {
        Stop::LeftOut(why) => Ok(Err(why)),
        Stop::Failed(error) => Err(error),
    }
}

/// Looks for the metadata, of at most so many bytes, in a layer.
fn find(stream: &mut dyn Read, limit: u64, most: u64) -> Result<Found, ArchiveDefect> {
    let mut found = Found::Nothing;
    archive::walk(stream, limit, &mut |entry| {
        if entry.path == METADATA.as_bytes() {
            if entry.kind != Kind::File {
                return Err(ArchiveDefect::Broken(format!("{METADATA} is not a file")));
            }
            let content = entry.content(most)?;
            let what = "bytes in the metadata of one release";
            let above = CapExceeded { cap: "metadata_bytes", limit: most, what };
            let content = content.ok_or_else(|| ArchiveDefect::Broken(format!("{METADATA} has {above}")))?;
            found = Found::Metadata(content);
            return Ok(WalkControl::Stop);
        }
        if REMOVED.iter().any(|removed| removed.as_bytes() == entry.path) {
            found = Found::Removed;
        }
        Ok(WalkControl::Continue)
    })?;
    Ok(found)
}

/// Reads the metadata. Unlike in Cincinnati, a lower layer does not stand in for what cannot be read: it is older.
fn read(bytes: &[u8]) -> Result<Release, Stop> {
    let Metadata { version, previous, next, metadata } =
        Metadata::read(bytes).map_err(|error| Stop::broken(format!("{METADATA}: {error}")))?;
    Ok(Release { version, arch: None, previous, next, metadata })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layer(files: &[(&str, &str)]) -> Vec<u8> {
        let mut builder = tar::Builder::new(Vec::new());
        for (name, content) in files {
            let mut header = tar::Header::new_gnu();
            header.set_size(content.len() as u64);
            builder.append_data(&mut header, name, content.as_bytes()).unwrap();
        }
        builder.into_inner().unwrap()
    }

    #[test]
    fn a_layer_has_the_metadata_takes_it_away_or_says_nothing() {
        let opaque = "release-manifests/.wh..wh..opq";
        for (files, want) in [
            (vec![("release-manifests/release-metadata", "x"), ("other", "y")], Found::Metadata(b"x".to_vec())),
            (vec![("./release-manifests/release-metadata", "x")], Found::Metadata(b"x".to_vec())),
            (vec![(opaque, ""), ("release-manifests/release-metadata", "x")], Found::Metadata(b"x".to_vec())),
            (vec![(opaque, ""), ("release-manifests/other", "x")], Found::Removed),
            (vec![(".wh.release-manifests", "")], Found::Removed),
            (vec![("a/release-manifests/release-metadata", "x")], Found::Nothing),
            (vec![], Found::Nothing),
        ] {
            assert_eq!(find(&mut layer(&files).as_slice(), 1 << 20, 100), Ok(want), "{files:?}");
        }
        let mut link = tar::Builder::new(Vec::new());
        let mut header = tar::Header::new_gnu();
        header.set_entry_type(tar::EntryType::Symlink);
        header.set_size(0);
        link.append_link(&mut header, METADATA, "/etc/passwd").unwrap();
        let error = find(&mut link.into_inner().unwrap().as_slice(), 1 << 20, 100).unwrap_err();
        assert_eq!(error, ArchiveDefect::Broken(format!("{METADATA} is not a file")));
        let long = layer(&[(METADATA, &"x".repeat(101))]);
        let Err(ArchiveDefect::Broken(why)) = find(&mut long.as_slice(), 1 << 20, 100) else {
            panic!("it is too large")
        };
        assert!(why.contains("more than 100 bytes") && why.contains("`metadata_bytes`"), "{why}");
    }

    #[test]
    fn metadata_is_read_or_said_to_be_broken() {
        let good = r#"{"kind": "cincinnati-metadata-v0", "version": "4.5.0", "previous": ["4.4.9"], "next": null,
            "metadata": {"url": "https://example.com"}, "more": 1}"#;
        let Ok(release) = read(good.as_bytes()) else { panic!("it is good") };
        assert_eq!(
            (release.version.to_string().as_str(), release.previous.as_slice()),
            ("4.5.0", &["4.4.9".to_owned()][..])
        );
        assert_eq!(release.metadata.get("url").map(String::as_str), Some("https://example.com"));
        for (text, want) in [
            ("", "release-manifests/release-metadata: EOF"),
            (&good.replace("v0", "v1"), "is of kind `cincinnati-metadata-v1`"),
            (&good.replace("4.5.0", "four"), "`four`"),
            (&good.replace("[\"4.4.9\"]", "7"), "invalid type"),
            ("\u{0}\u{1}", "expected value"),
        ] {
            let Err(Stop::LeftOut(SkipReason::Broken { what })) = read(text.as_bytes()) else {
                panic!("{text} is broken")
            };
            assert!(what.contains(want), "{text}: {what}");
        }
    }
}
