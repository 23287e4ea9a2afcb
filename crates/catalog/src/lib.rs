//! The catalogue: what is known about updates of products that many clusters run, such as cert-manager or Istio.
//!
//! Each product is a directory with graph-data, which is read as any other graph-data, and a `product.yaml`
//! ([`Product`]) that says how the installed version is found. [`ProductCatalog`] holds the files of all products;
//! [`ProductCatalog::built_in`] is the one that is compiled into the program. [`Detector`] is given the objects of a cluster,
//! one by one, and says which version is installed ([`Detection`]): exactly one, or none, or Unknown with the reason.
//! [`listed_version`] finds the release that stands for an installed version in the graph.
//!
//! A product file comes from a stranger. It selects objects and names a label, an annotation or an image; no part of it
//! is executed, and what is wrong with it makes the answer Unknown.

#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, clippy::string_slice)
)]

mod detect;
mod files;
mod product;
mod version;

pub use detect::{Detection, Detector};
pub use files::{CatalogEntry, CatalogError, PRODUCT_FILE, PRODUCTS, ProductCatalog};
pub use product::{DetectionMethod, ObjectFilter, PRODUCT_BYTES, Product, ProductError, VersionSource};
pub use version::{installed_version, listed_version};
