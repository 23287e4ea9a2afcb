//! Writes the list of the files of `catalog/` that are compiled into the program: the graph-data of each product and its
//! `product.yaml`, in the order of their names. Unit tests of risks and `blocked-edges/`, which repeats `risks/` for other
//! services, are left out.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// The directories of a product that are compiled in.
const DIRECTORIES: [&str; 4] = ["channels", "raw", "releases", "risks"];
/// The files beside them.
const FILES: [&str; 2] = ["product.yaml", "version"];

fn main() -> io::Result<()> {
    let own = env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from).ok_or_else(|| io::Error::other("no manifest"))?;
    let catalog = own.join("../../catalog").canonicalize()?;
    println!("cargo::rerun-if-changed={}", catalog.display());
    let mut files = Vec::new();
    for product in names(&catalog)? {
        let directory = catalog.join(&product);
        if !directory.join("product.yaml").is_file() {
            continue;
        }
        files.extend(FILES.iter().map(|file| format!("{product}/{file}")));
        for part in DIRECTORIES {
            let found = names(&directory.join(part))?;
            files.extend(found.into_iter().map(|file| format!("{product}/{part}/{file}")));
        }
    }
    files.sort();
    let mut list = String::from("&[\n");
    for file in files {
        let path = catalog.join(&file);
        writeln!(list, "    ({file:?}, include_bytes!({:?})),", path.display().to_string())
            .map_err(io::Error::other)?;
    }
    list.push_str("]\n");
    let out = env::var_os("OUT_DIR").map(PathBuf::from).ok_or_else(|| io::Error::other("no output directory"))?;
    fs::write(out.join("built_in_files.rs"), list)
}

/// The names in a directory, without hidden ones, in order.
fn names(directory: &Path) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(directory)? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if !name.starts_with('.') {
            names.push(name);
        }
    }
    names.sort();
    Ok(names)
}
