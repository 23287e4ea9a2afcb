//! The files of a catalogue: one directory for each product, with its graph-data and `product.yaml`.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use clearway_graph::Inputs;

use crate::product::{Product, ProductError};

/// The file that makes a directory a product.
pub const PRODUCT_FILE: &str = "product.yaml";
/// Products of one catalogue.
pub const PRODUCTS: usize = 200;

/// The files that are compiled into the program, by path.
const BUILT_IN: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/built_in_files.rs"));

/// Why files are no catalogue.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CatalogError {
    /// No directory has a `product.yaml`.
    #[error("no product found: a catalogue has one directory per product, each with a {PRODUCT_FILE}")]
    Empty,
    /// There are more products than are read.
    #[error("more than {PRODUCTS} products")]
    TooMany,
}

/// Products by name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProductCatalog {
    entries: BTreeMap<String, CatalogEntry>,
}

/// One product and its graph-data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CatalogEntry {
    /// The product, or why its file cannot be used.
    pub product: Result<Product, ProductError>,
    /// Its `product.yaml`.
    pub product_file: Vec<u8>,
    /// The files of its graph-data.
    pub graph_data: Inputs,
}

impl ProductCatalog {
    /// The catalogue that is compiled into the program.
    pub fn built_in() -> Self {
        let files = BUILT_IN.iter().map(|(path, content)| ((*path).to_owned(), content.to_vec()));
        // The tests read every product of it, so it is not empty.
        ProductCatalog::new(files).unwrap_or(ProductCatalog { entries: BTreeMap::new() })
    }

    /// The products among files by path, wherever they are: the directory of each `product.yaml`. A file belongs to one
    /// product: what is in the directory of a product is part of it. Other files are ignored.
    pub fn new(files: impl IntoIterator<Item = (String, Vec<u8>)>) -> Result<Self, CatalogError> {
        let files: BTreeMap<String, Vec<u8>> = files.into_iter().collect();
        let directory = |path: &String| Some(format!("{}/", path.strip_suffix(PRODUCT_FILE)?.strip_suffix('/')?));
        let mut roots: Vec<String> = files.keys().filter_map(directory).collect();
        // What begins with `a/` follows it.
        roots.sort_unstable();
        roots.dedup_by(|below, root| below.starts_with(root.as_str()));
        if roots.len() > PRODUCTS {
            return Err(CatalogError::TooMany);
        }
        let mut products: Vec<(Vec<u8>, Inputs)> = roots.iter().map(|_| (Vec::new(), Inputs::new())).collect();
        for (path, content) in files {
            let owner = roots.partition_point(|root| root.as_str() <= path.as_str()).checked_sub(1);
            let root = owner.and_then(|owner| roots.get(owner));
            let own = root.and_then(|root| path.strip_prefix(root.as_str()));
            match (own, owner.and_then(|owner| products.get_mut(owner))) {
                (Some(PRODUCT_FILE), Some((product, _))) => *product = content,
                (Some(own), Some((_, graph_data))) => graph_data.insert(own, content),
                _ => {}
            }
        }
        let name = |root: &String| root.trim_end_matches('/').rsplit('/').next().unwrap_or_default().to_owned();
        let products = roots.iter().zip(products);
        ProductCatalog::of_products(products.map(|(root, (file, graph_data))| (name(root), Ok(file), graph_data)))
    }

    /// Products by the names of their directories, each with its `product.yaml`, or why that cannot be read, and its graph-data.
    pub fn of_products(
        products: impl IntoIterator<Item = (String, Result<Vec<u8>, String>, Inputs)>,
    ) -> Result<Self, CatalogError> {
        let mut entries = BTreeMap::new();
        for (name, file, graph_data) in products {
            if entries.len() >= PRODUCTS {
                return Err(CatalogError::TooMany);
            }
            let (product, product_file) = match file {
                Ok(file) => (Product::read(&file).and_then(|product| product.of_directory(&name)), file),
                Err(why) => (Err(ProductError::new(why)), Vec::new()),
            };
            let entry = CatalogEntry { product, product_file, graph_data };
            match entries.entry(name) {
                Entry::Vacant(vacant) => drop(vacant.insert(entry)),
                Entry::Occupied(mut occupied) => {
                    let CatalogEntry { product, .. } = occupied.get_mut();
                    *product = Err(ProductError::new("several directories have its name".to_owned()));
                }
            }
        }
        if entries.is_empty() { Err(CatalogError::Empty) } else { Ok(ProductCatalog { entries }) }
    }

    /// The products, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &CatalogEntry)> {
        self.entries.iter().map(|(name, entry)| (name.as_str(), entry))
    }

    /// One product.
    pub fn get(&self, name: &str) -> Option<&CatalogEntry> {
        self.entries.get(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clearway_core::Limits;

    #[test]
    fn the_built_in_catalogue_is_readable() {
        let catalog = ProductCatalog::built_in();
        let names: Vec<&str> = catalog.iter().map(|(name, _)| name).collect();
        let want = ["argo-cd", "cert-manager", "gatekeeper", "gateway-api", "istio", "knative-serving", "kubernetes"];
        assert_eq!(names, want);
        for (name, entry) in catalog.iter() {
            let product = entry.product.as_ref().unwrap_or_else(|error| panic!("{name}: {error}"));
            let outcome = clearway_graph::load(&entry.graph_data, &Limits::default());
            assert_eq!(outcome.diagnostics, [], "{name}");
            let revision = outcome.revision.unwrap();
            let channels: Vec<&str> = revision.channels().map(|channel| channel.name.as_str()).collect();
            assert_eq!(channels, [product.channel.as_str()], "{name}");
        }
    }

    #[test]
    fn products_are_found_below_any_directory_and_other_files_are_ignored() {
        let good =
            "name: a\ntitle: A\nurl: https://example.com\nsummary: A.\nchannel: c\ndetect:\n- apiServer: version\n";
        let files = [
            ("catalog/a/product.yaml", good),
            ("catalog/a/version", "1.1.0"),
            ("catalog/a/channels/c.yaml", "name: c"),
            ("catalog/b/product.yaml", good),
            ("catalog/README.md", "# Read me"),
        ];
        let catalog = ProductCatalog::new(files.map(|(path, text)| (path.to_owned(), text.into()))).unwrap();
        let paths: Vec<&str> = catalog.get("a").unwrap().graph_data.iter().map(|(path, _)| path).collect();
        assert_eq!(paths, ["channels/c.yaml", "version"]);
        let other = catalog.get("b").unwrap().product.as_ref().unwrap_err().to_string();
        assert_eq!(other, "product.yaml is not valid: `name` is `a`, but the directory is `b`");
        assert_eq!(ProductCatalog::new([]), Err(CatalogError::Empty));
    }

    /// Otherwise little text would become much: each level would have all files below it once more.
    #[test]
    fn a_product_inside_of_another_is_a_part_of_it_and_two_of_one_name_are_neither() {
        let good =
            "name: a\ntitle: A\nurl: https://example.com\nsummary: A.\nchannel: c\ndetect:\n- apiServer: version\n";
        let levels = (0..500).map(|level| (format!("{}product.yaml", "a/".repeat(level + 1)), good.into()));
        let large = (format!("{}large", "a/".repeat(500)), vec![b'x'; 1 << 20]);
        let catalog = ProductCatalog::new(levels.chain([large])).unwrap();
        let entry = catalog.get("a").unwrap();
        assert_eq!((catalog.iter().count(), entry.graph_data.iter().count()), (1, 500));
        assert!(entry.product.is_ok());

        let files =
            ["one/a/product.yaml", "two/a/product.yaml", "one/a-b/x"].map(|path| (path.to_owned(), good.into()));
        let catalog = ProductCatalog::new(files).unwrap();
        let why = catalog.get("a").unwrap().product.as_ref().unwrap_err().to_string();
        assert_eq!(why, "product.yaml is not valid: several directories have its name");

        let many = (0..=PRODUCTS).map(|number| (format!("{number}/product.yaml"), Vec::new()));
        assert_eq!(ProductCatalog::new(many), Err(CatalogError::TooMany));
    }
}
