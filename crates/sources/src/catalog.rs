//! Catalogues of products in directories and registries, and the versions of products that a cluster runs.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};

use clearway_advice::evidence::Objects;
use clearway_catalog::{
    CatalogError, Detection, Detector, PRODUCT_BYTES, PRODUCT_FILE, PRODUCTS, Product, ProductCatalog,
};
use clearway_core::{Digest, GroupKind, Limits};
use clearway_graph::Inputs;

use crate::collector::{ObjectLimits, UnreadReason, visit_kinds};
use crate::files::confined::{ConfinedDirectory, DirectoryError, Pauses, READS, ReadHooks, read_settled};
use crate::graph_data::{self, GRAPH_DATA_BYTES};
use crate::oci::{self, Image, OciError, Registry};
use crate::release::Key;
use crate::store::Store;

/// Why a catalogue cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum CatalogReadError {
    /// A file or directory cannot be read.
    #[error("{}: {error}", path.display())]
    Io {
        /// Which.
        path: PathBuf,
        /// What the system said.
        error: io::Error,
    },
    /// The directory does not come to rest.
    #[error(
        "{}: it changed during each of {READS} reads; publish with one rename, see docs/publishing.md",
        path.display()
    )]
    Changing {
        /// Which.
        path: PathBuf,
    },
    /// The files are no catalogue.
    #[error("{at}: {error}")]
    Content {
        /// Where.
        at: String,
        /// What is wrong.
        error: CatalogError,
    },
    /// The registry does not give it.
    #[error(transparent)]
    Registry(#[from] OciError),
}

/// Reads the products of a directory: those of its directories that have a `product.yaml`. One that changes meanwhile is read
/// again, a few times.
pub fn directory(path: &Path) -> Result<ProductCatalog, CatalogReadError> {
    read_directory(path, &mut Pauses)
}

fn read_directory(path: &Path, hooks: &mut dyn ReadHooks) -> Result<ProductCatalog, CatalogReadError> {
    let read = read_settled(path, hooks, |root| products(path, root));
    read.map_err(|error| match error {
        DirectoryError::Open(error) => CatalogReadError::Io { path: path.to_owned(), error },
        DirectoryError::Changing => CatalogReadError::Changing { path: path.to_owned() },
        DirectoryError::Read(error) => error,
    })
}

/// The products of an open directory. The graph-data of each is read by itself, and again if it changes.
fn products(path: &Path, root: &mut ConfinedDirectory) -> Result<ProductCatalog, CatalogReadError> {
    let failed = |error| CatalogReadError::Io { path: path.to_owned(), error };
    let names = root.list_names(Path::new("")).map_err(failed)?.unwrap_or_default();
    let mut products = Vec::new();
    // All products together are as large as the graph-data of one revision may be.
    let mut left = GRAPH_DATA_BYTES;
    for name in names {
        let Some(name) = name.to_str().filter(|name| !name.starts_with('.')) else { continue };
        let file = match root.read_file(Path::new(name), Path::new(PRODUCT_FILE), PRODUCT_BYTES) {
            Err(error) if is_absent(&error) => continue,
            // One product that cannot be read does not hide the others.
            read => read.map_err(|error| error.to_string()),
        };
        if products.len() >= PRODUCTS {
            return Err(content(path.display().to_string(), CatalogError::TooMany));
        }
        let graph_data = if file.is_ok() { graph_data_within(path, name, left) } else { Inputs::new() };
        let bytes: u64 = graph_data.iter().map(|(_, content)| content.len() as u64).sum();
        left = left.saturating_sub(bytes);
        products.push((name.to_owned(), file, graph_data));
    }
    ProductCatalog::of_products(products).map_err(|error| content(path.display().to_string(), error))
}

/// The graph-data of a product in a catalogue, if it has at most so many bytes; otherwise something that is refused with the
/// reason. The directory is opened inside the catalogue: since its `product.yaml` was read, it may have become a link.
fn graph_data_within(catalog: &Path, name: &str, bytes: u64) -> Inputs {
    let limits = Limits::for_graph_data();
    let limits = Limits { file_bytes: limits.file_bytes.min(bytes), ..limits };
    graph_data::directory_within(catalog, name, &limits).unwrap_or_else(|error| {
        let mut unreadable = Inputs::new();
        unreadable.insert_unreadable("version", error.to_string());
        unreadable
    })
}

fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// Reads the products of an image or artifact; with keys, one of them must have signed it.
pub async fn image(
    registry: &Registry,
    image: &Image,
    keys: &[Key],
) -> Result<(ProductCatalog, Digest), CatalogReadError> {
    let (files, digest) = oci::catalog_files(registry, image, &Limits::for_graph_data(), keys).await?;
    let catalog = ProductCatalog::new(files).map_err(|error| content(image.to_string(), error))?;
    Ok((catalog, digest))
}

fn content(at: String, error: CatalogError) -> CatalogReadError {
    CatalogReadError::Content { at, error }
}

/// The kinds of objects that show which versions of products are installed, each once.
pub fn kinds(products: &[&Product]) -> BTreeSet<GroupKind> {
    products.iter().flat_map(|product| product.kinds()).cloned().collect()
}

/// Which versions of products a live cluster runs, in the order of the products. Each kind is listed once, and an object
/// is kept no longer than it is looked at. `api_server` is the version that the API server reports, or why that is unknown.
pub async fn installed<S: Store>(store: &S, products: &[&Product], api_server: Result<&str, &str>) -> Vec<Detection> {
    let mut detectors = detectors(products);
    let unread = visit_kinds(store, kinds(products), &ObjectLimits::default(), |object| {
        for detector in &mut detectors {
            detector.add(object);
        }
    })
    .await;
    let unread = unread.into_iter().map(|(kind, reason)| (kind.clone(), reason.failure(&kind).message)).collect();
    finish(detectors, products, &unread, api_server, false)
}

/// The same by the objects of a snapshot. `names_replaced`: it was redacted.
pub fn installed_in_snapshot(
    objects: &Objects,
    products: &[&Product],
    api_server: Option<&str>,
    names_replaced: bool,
) -> Vec<Detection> {
    let (mut detectors, mut unread) = (detectors(products), BTreeMap::new());
    for kind in kinds(products) {
        match objects.of_kind(&kind) {
            Ok(found) => found.iter().for_each(|object| detectors.iter_mut().for_each(|one| one.add(object))),
            Err(failure) => drop(unread.insert(kind, failure.message)),
        }
    }
    let api_server = api_server.ok_or(UnreadReason::NotInSnapshot.as_str());
    finish(detectors, products, &unread, api_server, names_replaced)
}

fn detectors<'p>(products: &[&'p Product]) -> Vec<Detector<'p>> {
    products.iter().map(|product| Detector::new(product)).collect()
}

fn finish(
    detectors: Vec<Detector<'_>>,
    products: &[&Product],
    unread: &BTreeMap<GroupKind, String>,
    api_server: Result<&str, &str>,
    names_replaced: bool,
) -> Vec<Detection> {
    let finish = |(mut detector, product): (Detector<'_>, &&Product)| {
        if let Some(reason) = product.kinds().find_map(|kind| unread.get(kind)) {
            detector.fail(reason.as_str());
        }
        if detector.needs_api_server() {
            match api_server {
                Ok(version) => detector.set_api_server(version),
                Err(why) => detector.fail(format!("The version of the API server is unknown: {why}.")),
            }
        }
        detector.finish(names_replaced)
    };
    detectors.into_iter().zip(products).map(finish).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_product_that_became_a_link_out_of_its_catalogue_is_not_read() {
        let (catalog, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let inside = catalog.path().join("inside");
        for directory in [&inside, &elsewhere.path().to_owned()] {
            fs::create_dir_all(directory.join("channels")).unwrap();
            fs::write(directory.join("version"), "1.1.0\n").unwrap();
        }
        symlink(elsewhere.path(), catalog.path().join("out")).unwrap();
        symlink("inside", catalog.path().join("in")).unwrap();
        let read = |name: &str| graph_data_within(catalog.path(), name, GRAPH_DATA_BYTES);
        for name in ["inside", "in"] {
            assert_eq!(read(name).get("version"), Some(&b"1.1.0\n"[..]), "{name}");
        }
        let out = read("out");
        assert_eq!(out.iter().count(), 0);
        let (_, why) = out.unreadable().next().unwrap();
        assert!(why.contains("out"), "{why}");
    }

    /// Adds a product after each of the first readings, and completes the one before.
    struct Publisher<'c> {
        catalog: &'c Path,
        products: usize,
        readings: usize,
    }

    impl Publisher<'_> {
        fn write(&self, number: usize, text: &str) {
            let directory = self.catalog.join(format!("p{number}"));
            fs::create_dir_all(&directory).unwrap();
            fs::write(directory.join(PRODUCT_FILE), text).unwrap();
        }
    }

    impl ReadHooks for Publisher<'_> {
        fn after_reading(&mut self, reading: usize) {
            self.readings += 1;
            if reading < self.products {
                self.write(reading, "name: whole");
                self.write(reading + 1, "name: half");
            }
        }

        fn before_next(&mut self, _: usize) {}
    }

    #[test]
    fn a_catalogue_that_is_being_written_is_read_again() {
        for products in [0, 1, READS - 1, READS] {
            let catalog = tempfile::tempdir().unwrap();
            let mut publisher = Publisher { catalog: catalog.path(), products, readings: 0 };
            publisher.write(0, "name: half");
            let found = read_directory(catalog.path(), &mut publisher);
            assert_eq!(publisher.readings, (products + 1).min(READS));
            match found {
                Ok(found) => {
                    let files: Vec<&[u8]> = found.iter().map(|(_, entry)| entry.product_file.as_slice()).collect();
                    let mut want = vec![&b"name: whole"[..]; products];
                    want.push(b"name: half");
                    assert!(products < READS && files == want, "{products} products: {files:?}");
                }
                Err(error) => {
                    let why = error.to_string();
                    assert!(products == READS && why.contains("changed during each of 5 reads"), "{products}: {why}");
                }
            }
        }
    }
}
