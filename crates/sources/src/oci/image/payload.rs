//! The files of a release image: everything below `release-manifests`, of one architecture, from all layers or the cache.
//!
//! Start at [`release_files`].

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::sync::Arc;

use clearway_core::{Arch, Digest};

use crate::files::file_tree::printable;
use crate::graph_data::StoredEntry;
use crate::oci::access::registry::Registry;
use crate::oci::archive::ArchiveDefect;
use crate::oci::cache::Cache;
use crate::oci::image::artifact::{NOT_AN_ARCHIVE, pack, unpack};
use crate::oci::image::media::{Descriptor, Image as Layers, Manifest, UnreadableManifest};
use crate::oci::image::tree::{Changes, FileFilter, Tree};
use crate::oci::reference::Image;
use crate::oci::{OciError, Repository};

const ROOT: &str = "release-manifests";
/// The names under which things are kept.
const KEPT_FOR: &str = "for";
const KEPT_CHOSEN: &str = "chosen";
const KEPT_FILES: &str = "files/";

/// The files of a release.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ReleaseFiles {
    /// The digest that the name has.
    pub(crate) digest: Digest,
    /// The image that was taken of an index.
    pub(crate) chosen: Option<Digest>,
    /// The files, by their path below `release-manifests`.
    pub(crate) files: BTreeMap<String, Vec<u8>>,
}

/// How much of a release is kept.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PayloadLimits {
    pub(crate) files: usize,
    pub(crate) bytes: u64,
}

/// What the configuration of an image says.
#[derive(Debug, Default, serde::Deserialize)]
struct Config {
    #[serde(default)]
    architecture: String,
    #[serde(default)]
    rootfs: RootFs,
}

#[derive(Debug, Default, serde::Deserialize)]
struct RootFs {
    #[serde(default)]
    diff_ids: Vec<Digest>,
}

/// Reads the files of a release. By digest, and if it was read before, no registry is asked.
pub(crate) async fn release_files(
    registry: &Registry,
    image: &Image,
    arch: Option<&Arch>,
    cache: &Cache,
    most: PayloadLimits,
) -> Result<ReleaseFiles, OciError> {
    registry.in_time(&image.to_string(), read_release_files(registry, image, arch, cache, most)).await
}

async fn read_release_files(
    registry: &Registry,
    image: &Image,
    arch: Option<&Arch>,
    cache: &Cache,
    most: PayloadLimits,
) -> Result<ReleaseFiles, OciError> {
    let repository = image.repository();
    let digest = registry.digest(repository, image.at()).await?;
    let key = arch.map_or("any", Arch::as_str);
    if let Some(kept) = cache.payload(&digest, key).await.and_then(|archive| opened(&archive, &digest, key)) {
        return Ok(kept);
    }
    let (layers, chosen) = chosen(registry, repository, &digest, arch).await?;
    let config = configuration(registry, repository, &layers).await?;
    let at = format!("{repository}@{}", chosen.as_ref().unwrap_or(&digest));
    if let Some(arch) = arch
        && !["", Arch::MULTI, arch.as_str()].contains(&config.architecture.as_str())
    {
        return Err(OciError::Architecture { at, wanted: arch.to_string(), has: config.architecture });
    }
    let diff_ids = config.rootfs.diff_ids;
    if !diff_ids.is_empty() && diff_ids.len() != layers.layers.len() {
        let why = format!("it has {} layers, and its configuration {}", layers.layers.len(), diff_ids.len());
        return Err(OciError::Broken { at, why });
    }
    let mut tree = Tree::default();
    for (number, layer) in layers.layers.iter().enumerate() {
        let diff_id = diff_ids.get(number).cloned();
        apply(registry, repository, layer, diff_id, most, &mut tree).await?;
    }
    let files = plain(tree).map_err(|why| OciError::Broken { at, why })?;
    let found = ReleaseFiles { digest, chosen, files };
    if let Some(archive) = closed(&found, key) {
        cache.store_payload(&found.digest, key, archive).await;
    }
    Ok(found)
}

/// Puts a layer above those that are there.
async fn apply(
    registry: &Registry,
    repository: &Repository,
    layer: &Descriptor,
    diff_id: Option<Digest>,
    most: PayloadLimits,
    tree: &mut Tree,
) -> Result<(), OciError> {
    let at = format!("{repository} (layer {})", layer.digest);
    let unpacked = registry.options.limits.unpacked_bytes;
    let must_be_archive = diff_id.is_some() || layer.is_archive();
    let wanted = FileFilter {
        file: is_below,
        other: is_below,
        gone: |path| path.is_empty() || is_below(path),
        in_place: |_| None,
        bytes: most.bytes,
        entries: most.files,
        noun: "files of a release",
    };
    let look = Arc::new(move |stream: &mut dyn Read| Changes::read(stream, unpacked, &wanted, diff_id.as_ref()));
    match registry.layer(repository, layer, &at, look).await? {
        Ok(changes) => tree.apply(changes),
        // Artifacts may hold anything beside the archive; the layers of an image are archives.
        Err(ArchiveDefect::NotAnArchive) if !must_be_archive => {}
        Err(ArchiveDefect::NotAnArchive) => return Err(OciError::Broken { at, why: NOT_AN_ARCHIVE.to_owned() }),
        Err(ArchiveDefect::TooLarge(limit)) => {
            let cap = if limit == unpacked { "unpacked_bytes" } else { "bytes" };
            return Err(OciError::TooLarge { at, cap, limit });
        }
        Err(ArchiveDefect::Broken(why)) => return Err(OciError::Broken { at, why }),
        Err(ArchiveDefect::TooMany(what, limit)) => {
            return Err(OciError::Broken { at, why: format!("it has more than {limit} {what}") });
        }
    }
    // Of two layers, each within the limit, both may be kept.
    if tree.bytes() > most.bytes {
        return Err(OciError::TooLarge { at, cap: "bytes", limit: most.bytes });
    }
    if tree.len() > most.files {
        return Err(OciError::Broken { at, why: format!("it has more than {} files of a release", most.files) });
    }
    Ok(())
}

fn is_below(path: &[u8]) -> bool {
    path.strip_prefix(ROOT.as_bytes()).is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"))
}

/// The files of a tree; a link among them is refused, because what it leads to is not known here.
fn plain(tree: Tree) -> Result<BTreeMap<String, Vec<u8>>, String> {
    let mut files = BTreeMap::new();
    for (path, stored) in tree.into_files() {
        let shown = printable(&path);
        let Ok(path) = String::from_utf8(path) else {
            return Err(format!("the name of `/{shown}` in it is not UTF-8"));
        };
        let name = path.strip_prefix(ROOT).and_then(|rest| rest.strip_prefix('/'));
        match (name, stored) {
            (Some(name), StoredEntry::File(content)) => _ = files.insert(name.to_owned(), content),
            (_, StoredEntry::Directory) => {}
            (Some(_), StoredEntry::Other(what)) => return Err(format!("`/{shown}` in it is {what}, not a file")),
            (None, _) => return Err(format!("`/{shown}` in it is not a directory")),
        }
    }
    Ok(files)
}

/// The image behind a digest, and if that is an index, which of its images is taken.
async fn chosen(
    registry: &Registry,
    repository: &Repository,
    digest: &Digest,
    arch: Option<&Arch>,
) -> Result<(Layers, Option<Digest>), OciError> {
    let at = format!("{repository}@{digest}");
    let children = match manifest(registry, repository, digest, &at).await? {
        Manifest::Image(layers) => return Ok((layers, None)),
        Manifest::Index(children) => children,
    };
    let Some(child) = choose(&children, arch) else {
        let has: BTreeSet<&str> = children.iter().filter_map(Descriptor::architecture).collect();
        let has = if has.is_empty() { "none".to_owned() } else { has.into_iter().collect::<Vec<_>>().join(", ") };
        let wanted = arch.map_or_else(|| Arch::DEFAULT.to_owned(), Arch::to_string);
        return Err(OciError::Architecture { at, wanted, has });
    };
    let at = format!("{repository}@{}", child.digest);
    match manifest(registry, repository, &child.digest, &at).await? {
        Manifest::Image(layers) => Ok((layers, Some(child.digest.clone()))),
        Manifest::Index(_) => Err(OciError::Unsupported { at, what: "an index that holds another index".to_owned() }),
    }
}

/// The image of an index for an architecture, or the only one there is if it names none. Whoever asks for none means the
/// usual one, or the only one.
fn choose<'c>(children: &'c [Descriptor], arch: Option<&Arch>) -> Option<&'c Descriptor> {
    let images: Vec<&Descriptor> = children.iter().filter(|child| !child.is_attestation()).collect();
    let usual = Arch::default();
    let named = images.iter().find(|child| child.architecture() == Some(arch.unwrap_or(&usual).as_str()));
    match (named, images.as_slice()) {
        (Some(child), _) => Some(child),
        (None, [only]) if arch.is_none() || only.architecture().is_none() => Some(only),
        _ => None,
    }
}

async fn manifest(
    registry: &Registry,
    repository: &Repository,
    digest: &Digest,
    at: &str,
) -> Result<Manifest, OciError> {
    let bytes = registry.manifest(repository, digest, at).await?;
    Manifest::read(&bytes, &registry.options.limits).map_err(|unread| match unread {
        UnreadableManifest::Unsupported(what) => OciError::Unsupported { at: at.to_owned(), what },
        UnreadableManifest::Broken(why) => OciError::Broken { at: at.to_owned(), why },
    })
}

/// The configuration of an image. That of an artifact may be anything, and says nothing.
async fn configuration(registry: &Registry, repository: &Repository, layers: &Layers) -> Result<Config, OciError> {
    let Some(config) = layers.config.as_ref().filter(|config| config.is_image_config()) else {
        return Ok(Config::default());
    };
    let at = format!("{repository} (configuration {})", config.digest);
    let bytes = registry.small_blob(repository, config, &at).await?;
    serde_json::from_slice(&bytes).map_err(|error| OciError::Broken { at, why: error.to_string() })
}

/// A release as it is kept.
fn closed(found: &ReleaseFiles, key: &str) -> Option<Vec<u8>> {
    let chosen = found.chosen.as_ref().map(Digest::to_string);
    let chosen = chosen.as_ref().map(|chosen| (KEPT_CHOSEN.to_owned(), chosen.as_bytes()));
    let files = found.files.iter().map(|(path, content)| (format!("{KEPT_FILES}{path}"), content.as_slice()));
    pack(std::iter::once((KEPT_FOR.to_owned(), key.as_bytes())).chain(chosen).chain(files))
}

fn opened(archive: &[u8], digest: &Digest, key: &str) -> Option<ReleaseFiles> {
    let mut found = ReleaseFiles { digest: digest.clone(), chosen: None, files: BTreeMap::new() };
    let mut same = false;
    for (path, content) in unpack(archive)? {
        match path.strip_prefix(KEPT_FILES) {
            Some(path) => _ = found.files.insert(path.to_owned(), content),
            None if path == KEPT_CHOSEN => found.chosen = Some(String::from_utf8(content).ok()?.parse().ok()?),
            None => same = path == KEPT_FOR && content == key.as_bytes(),
        }
    }
    same.then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn children(arches: &[&str]) -> Vec<Descriptor> {
        let child = |(number, arch): (usize, &&str)| {
            let digest = Digest::sha256(&number.to_le_bytes());
            let os = if *arch == "unknown" { "unknown" } else { "linux" };
            let platform = serde_json::json!({"os": os, "architecture": arch});
            serde_json::from_value(serde_json::json!({"digest": digest, "size": 1, "platform": platform})).unwrap()
        };
        arches.iter().enumerate().map(child).collect()
    }

    #[test]
    fn an_index_is_asked_for_an_architecture() {
        for (arches, wanted, want) in [
            (&["amd64", "arm64"][..], Some("arm64"), Some("arm64")),
            (&["amd64", "arm64"], None, Some("amd64")),
            (&["arm64", "s390x"], None, None),
            (&["arm64"], None, Some("arm64")),
            (&["arm64"], Some("amd64"), None),
            (&["unknown", "arm64"], None, Some("arm64")),
            (&[""], Some("amd64"), Some("")),
            (&["unknown"], None, None),
            (&[], None, None),
        ] {
            let all = children(arches);
            let arch = wanted.map(|arch| arch.parse().unwrap());
            let chosen = choose(&all, arch.as_ref()).map(|child| child.architecture().unwrap_or_default());
            assert_eq!(chosen, want, "{arches:?} {wanted:?}");
        }
    }

    #[test]
    fn what_is_kept_is_what_was_read_and_for_whom() {
        let digest = Digest::sha256(b"x");
        let files = [("a.yaml".to_owned(), b"a".to_vec()), ("sub/for".to_owned(), Vec::new())].into();
        let found = ReleaseFiles { digest: digest.clone(), chosen: Some(Digest::sha256(b"y")), files };
        let archive = closed(&found, "amd64").unwrap();
        assert_eq!(opened(&archive, &digest, "amd64"), Some(found));
        assert_eq!(opened(&archive, &digest, "arm64"), None);
        assert_eq!(opened(b"nonsense", &digest, "amd64"), None);
    }
}
