//! Files that are in an image or an artifact of a registry: graph-data, a catalogue of products, or manifests.
//!
//! The layers are archives, as image builders and `oras` write them; what is none, and does not say it
//! is one, is passed over. Where keys are given,
//! one of them must have signed the digest, before anything of the content is read. Start at [`graph_data`],
//! [`catalog_files`] or [`manifest_files`].

use std::io::Read;
use std::sync::Arc;

use clearway_core::{Digest, Limits};
use clearway_graph::Inputs;
use clearway_release::Verdict;

use crate::files::file_tree::printable;
use crate::graph_data::{ArchiveError, GRAPH_DATA_BYTES, StoredEntry};
use crate::oci::access::registry::Registry;
use crate::oci::archive::{self, ArchiveDefect, HEADER, WalkControl};
use crate::oci::cache::{Cache, FILE_BYTES};
use crate::oci::image::media::{Image as Layers, Manifest, UnreadableManifest};
use crate::oci::image::tree::{Changes, FileFilter, Tree};
use crate::oci::reference::Image;
use crate::oci::{OciError, Repository};
use crate::release::{Key, verify_image};

/// Bytes of a name that fits into the header of an archive.
const SHORT_NAME: usize = 100;
/// What is wrong with a layer that is not what its media type, or the image, says.
pub(in crate::oci) const NOT_AN_ARCHIVE: &str =
    "its media type is that of an archive, but its content is not an archive";

/// Reads the graph-data of an image, and the digest that its name has now. With keys, one of them must have signed it.
pub async fn graph_data(
    registry: &Registry,
    image: &Image,
    cache: &Cache,
    limits: &Limits,
    keys: &[Key],
) -> Result<(Inputs, Digest), OciError> {
    registry.in_time(&image.to_string(), read_graph_data(registry, image, cache, limits, keys)).await
}

async fn read_graph_data(
    registry: &Registry,
    image: &Image,
    cache: &Cache,
    limits: &Limits,
    keys: &[Key],
) -> Result<(Inputs, Digest), OciError> {
    let repository = image.repository();
    let digest = registry.digest(repository, image.at()).await?;
    require_signature(registry, repository, &digest, keys, cache).await?;
    // What is signed is the digest, and a file of the cache does not prove that it is of the digest.
    let cache = &if keys.is_empty() { cache.clone() } else { cache.own_entries_only() };
    let name = image.to_string();
    if let Some(kept) = cache.graph_data(&name, &digest).await.and_then(|archive| unpack(&archive)) {
        return Ok((kept.into_iter().collect(), digest));
    }
    let at = format!("{repository}@{digest}");
    let wanted = FileFilter::graph_data(limits.file_bytes.min(GRAPH_DATA_BYTES));
    let tree = read_layers(registry, repository, &digest, wanted).await?;
    let inputs = tree.graph_data(limits.file_bytes).map_err(|error| match error {
        ArchiveError::TooLarge { limit } => OciError::TooLarge { at, cap: "data_bytes", limit },
        ArchiveError::NoGraphData => OciError::NotGraphData { at, why: "it contains no graph-data".to_owned() },
        error => OciError::NotGraphData { at, why: error.to_string() },
    })?;
    // A copy has no place for what cannot be read.
    if inputs.unreadable().next().is_none()
        && let Some(archive) = pack(inputs.iter())
    {
        cache.store_graph_data(&name, &digest, archive).await;
    }
    Ok((inputs, digest))
}

/// Reads the files of an image that can belong to a catalogue of products, by path, and the digest that its name has now.
/// With keys, one of them must have signed it.
pub async fn catalog_files(
    registry: &Registry,
    image: &Image,
    limits: &Limits,
    keys: &[Key],
) -> Result<(Vec<(String, Vec<u8>)>, Digest), OciError> {
    registry.in_time(&image.to_string(), read_catalog_files(registry, image, limits, keys)).await
}

async fn read_catalog_files(
    registry: &Registry,
    image: &Image,
    limits: &Limits,
    keys: &[Key],
) -> Result<(Vec<(String, Vec<u8>)>, Digest), OciError> {
    let repository = image.repository();
    let digest = registry.digest(repository, image.at()).await?;
    require_signature(registry, repository, &digest, keys, &Cache::none()).await?;
    let wanted = FileFilter::catalog(limits.file_bytes.min(GRAPH_DATA_BYTES));
    let mut files = Vec::new();
    for (path, stored) in read_layers(registry, repository, &digest, wanted).await?.into_files() {
        match (String::from_utf8(path), stored) {
            (_, StoredEntry::Directory) => {}
            (Ok(path), StoredEntry::File(content)) => files.push((path, content)),
            // It may stand for a block or a risk, and without it an update would be offered that has one.
            (path, _) => {
                let path = path.map_or_else(|error| printable(error.as_bytes()), |path| printable(path.as_bytes()));
                let at = format!("{repository}@{digest}");
                return Err(OciError::NotACatalog {
                    at,
                    why: format!("{path} is not a regular file with a plain name"),
                });
            }
        }
    }
    Ok((files, digest))
}

/// Refuses what none of the keys signed, if there are keys.
async fn require_signature(
    registry: &Registry,
    repository: &Repository,
    digest: &Digest,
    keys: &[Key],
    cache: &Cache,
) -> Result<(), OciError> {
    if keys.is_empty() {
        return Ok(());
    }
    let why = match verify_image(registry, repository, digest, keys, cache).await? {
        Verdict::Verified { .. } => return Ok(()),
        Verdict::Unsigned => "it is not signed".to_owned(),
        Verdict::Failed { why } => why,
    };
    Err(OciError::Untrusted { at: format!("{repository}@{digest}"), why })
}

/// Reads the YAML and JSON files of an image or artifact, by path, and the digest that its name has now.
pub async fn manifest_files(
    registry: &Registry,
    image: &Image,
    max_bytes: u64,
) -> Result<(Vec<(String, Vec<u8>)>, Digest), OciError> {
    let repository = image.repository();
    let read = async {
        let digest = registry.digest(repository, image.at()).await?;
        let tree = read_layers(registry, repository, &digest, FileFilter::manifests(max_bytes)).await?;
        Ok::<_, OciError>((tree, digest))
    };
    let (tree, digest) = registry.in_time(&image.to_string(), read).await?;
    let mut files = Vec::new();
    for (path, stored) in tree.into_files() {
        if let StoredEntry::File(content) = stored {
            files.push((printable(&path), content));
        }
    }
    Ok((files, digest))
}

/// The wanted files of the image behind a digest, as its layers leave them.
async fn read_layers(
    registry: &Registry,
    repository: &Repository,
    digest: &Digest,
    wanted: FileFilter,
) -> Result<Tree, OciError> {
    let layers = layers(registry, repository, digest).await?;
    let mut tree = Tree::default();
    let is_image = layers.is_image();
    let limit = registry.options.image_bytes;
    if layers.layers.iter().map(|layer| layer.size).fold(0, u64::saturating_add) > limit {
        return Err(OciError::TooLarge {
            at: format!("{repository}@{digest} (all layers)"),
            cap: "image_bytes",
            limit,
        });
    }
    let mut left = limit;
    for layer in layers.layers {
        let at = format!("{repository} (layer {})", layer.digest);
        let unpacked = registry.options.limits.unpacked_bytes.min(left);
        let look = Arc::new(move |stream: &mut dyn Read| Changes::read(stream, unpacked, &wanted, None));
        match registry.layer(repository, &layer, &at, look).await? {
            Ok(changes) => {
                left = left.saturating_sub(changes.unpacked);
                tree.apply(changes);
            }
            // What is left for one layer is no number that says something.
            Err(ArchiveDefect::TooLarge(one)) if one == left => {
                return Err(OciError::TooLarge { at, cap: "image_bytes", limit });
            }
            // Artifacts may hold anything beside the archive. What says that it is an archive may hold risks.
            Err(ArchiveDefect::NotAnArchive) if !is_image && !layer.is_archive() => {}
            Err(ArchiveDefect::NotAnArchive) => return Err(OciError::Broken { at, why: NOT_AN_ARCHIVE.to_owned() }),
            Err(ArchiveDefect::TooLarge(limit)) => {
                let cap = if limit == unpacked { "unpacked_bytes" } else { "data_bytes" };
                return Err(OciError::TooLarge { at, cap, limit });
            }
            Err(ArchiveDefect::Broken(why)) => return Err(OciError::Broken { at, why }),
            Err(ArchiveDefect::TooMany(what, limit)) => {
                return Err(OciError::Broken { at, why: format!("it has more than {limit} {what}") });
            }
        }
        // Of two layers, each within the limit, both may be kept.
        if tree.bytes() > wanted.bytes {
            return Err(OciError::TooLarge { at, cap: "data_bytes", limit: wanted.bytes });
        }
        if let Some((what, limit)) = tree.excess() {
            return Err(OciError::Broken { at, why: format!("it has more than {limit} {what}") });
        }
    }
    Ok(tree)
}

/// The layers of the image behind a digest. Of an index the first image is taken: graph-data has no architecture.
async fn layers(registry: &Registry, repository: &Repository, digest: &Digest) -> Result<Layers, OciError> {
    let mut digest = digest.clone();
    // An index leads to an image, and not to another index.
    for _ in 0..2 {
        let at = format!("{repository}@{digest}");
        let bytes = registry.manifest(repository, &digest, &at).await?;
        match Manifest::read(&bytes, &registry.options.limits) {
            Ok(Manifest::Image(layers)) => return Ok(layers),
            Ok(Manifest::Index(children)) => match children.into_iter().find(|child| !child.is_attestation()) {
                Some(child) => digest = child.digest,
                None => return Err(OciError::NotGraphData { at, why: "it is an index with no images".to_owned() }),
            },
            Err(UnreadableManifest::Unsupported(what)) => return Err(OciError::Unsupported { at, what }),
            Err(UnreadableManifest::Broken(why)) => return Err(OciError::Broken { at, why }),
        }
    }
    let at = format!("{repository}@{digest}");
    Err(OciError::Unsupported { at, what: "an index that holds another index".to_owned() })
}

/// Files as they are kept; none if they take more than that.
pub(in crate::oci) fn pack<'f>(files: impl Iterator<Item = (impl AsRef<str>, &'f [u8])>) -> Option<Vec<u8>> {
    let files: Vec<_> = files.collect();
    // Of the right size from the beginning: many small files take far more here than by themselves.
    let sizes = files.iter().map(|(path, content)| packed_bytes(path.as_ref(), content));
    let bytes = sizes.fold(2 * HEADER, usize::saturating_add);
    if bytes as u64 > FILE_BYTES {
        return None;
    }
    let mut builder = tar::Builder::new(Vec::with_capacity(bytes));
    for (path, content) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(content.len() as u64);
        header.set_mode(0o644);
        builder.append_data(&mut header, path.as_ref(), content).ok()?;
    }
    builder.into_inner().ok()
}

/// What a file takes in an archive, with a name of its own where it does not fit into the header.
fn packed_bytes(path: &str, content: &[u8]) -> usize {
    let blocks = |bytes: usize| bytes.div_ceil(HEADER).saturating_mul(HEADER);
    let name = if path.len() > SHORT_NAME { HEADER.saturating_add(blocks(path.len().saturating_add(1))) } else { 0 };
    name.saturating_add(HEADER).saturating_add(blocks(content.len()))
}

pub(in crate::oci) fn unpack(bytes: &[u8]) -> Option<Vec<(String, Vec<u8>)>> {
    let mut files = Vec::new();
    let length = bytes.len() as u64;
    archive::walk(&mut &*bytes, length, &mut |entry| {
        let content = entry.content(length)?.ok_or(ArchiveDefect::TooLarge(length))?;
        files.push((String::from_utf8(entry.path.to_vec()).map_err(|_| ArchiveDefect::NotAnArchive)?, content));
        Ok(WalkControl::Continue)
    })
    .ok()?;
    Some(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_what_was_read() {
        let inputs: Inputs =
            [("version", "1.1.0\n"), ("channels/a.yaml", ""), ("raw/metadata.json", "{}")].into_iter().collect();
        let kept = unpack(&pack(inputs.iter()).unwrap()).unwrap();
        assert_eq!(kept.into_iter().collect::<Inputs>(), inputs);
        assert_eq!(unpack(b"nonsense"), None);
    }

    #[test]
    fn what_is_kept_takes_no_more_than_its_bytes() {
        let names: Vec<String> = [1, 99, 100, 101, 511, 512, 600].iter().map(|length| "n".repeat(*length)).collect();
        for length in [0, 1, 511, 512, 513, 5000] {
            let content = vec![b'x'; length];
            let packed = pack(names.iter().map(|name| (name, content.as_slice()))).unwrap();
            let counted: usize = names.iter().map(|name| packed_bytes(name, &content)).sum();
            assert_eq!((packed.len(), packed.capacity()), (counted + 2 * HEADER, counted + 2 * HEADER), "{length}");
        }
    }

    #[test]
    fn what_would_take_too_much_memory_is_not_kept() {
        let content = vec![0; 1 << 20];
        let files = |count: u32| (0..count).map(|number| (number.to_string(), content.as_slice()));
        assert!(pack(files(1)).is_some());
        assert_eq!(pack(files(256)), None);
    }
}
