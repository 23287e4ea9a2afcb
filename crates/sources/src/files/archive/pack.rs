//! Writes archives that are pushed: the same bytes for the same files.

use std::io::{self, Write as _};

use flate2::Compression;
use flate2::write::GzEncoder;

/// Directories and files in the order they are given, without times, owners and anything else that changes from one day to
/// the next. Packed with gzip, this is the layer of an image; the digest of the bytes here is its `diff_id`.
pub(crate) fn pack<'f>(
    directories: &[&str],
    files: impl IntoIterator<Item = (String, &'f [u8])>,
) -> io::Result<Vec<u8>> {
    let header = |size: usize, mode, kind| {
        let mut header = tar::Header::new_ustar();
        header.set_size(size as u64);
        header.set_mode(mode);
        header.set_uid(0);
        header.set_gid(0);
        header.set_mtime(0);
        header.set_entry_type(kind);
        header
    };
    let mut builder = tar::Builder::new(Vec::new());
    for name in directories {
        let mut directory = header(0, 0o755, tar::EntryType::Directory);
        builder.append_data(&mut directory, format!("{name}/"), io::empty())?;
    }
    for (name, content) in files {
        let mut file = header(content.len(), 0o644, tar::EntryType::Regular);
        builder.append_data(&mut file, name, content)?;
    }
    builder.into_inner()
}

/// The bytes packed with gzip.
pub(crate) fn gzip(bytes: &[u8]) -> io::Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes)?;
    encoder.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_files_are_the_same_layer_however_long_their_names() {
        let long = format!("d/0000_50_a_{}.yaml", "x".repeat(200));
        let packed = || pack(&["d"], [(long.clone(), b"x".as_slice()), ("d/a.yaml".to_owned(), b"a")]).unwrap();
        let layer = packed();
        assert_eq!(layer, packed());
        let mut archive = tar::Archive::new(layer.as_slice());
        let entries = archive.entries().unwrap().map(|entry| {
            let entry = entry.unwrap();
            assert_eq!((entry.header().mtime().unwrap(), entry.header().uid().unwrap()), (0, 0));
            entry.path().unwrap().display().to_string()
        });
        let names: Vec<String> = entries.collect();
        assert_eq!(names, ["d/".to_owned(), long.clone(), "d/a.yaml".to_owned()]);
        // gzip would note the time and the system.
        assert_eq!(gzip(b"x").unwrap()[4..10], [0, 0, 0, 0, 2, 255]);
    }
}
