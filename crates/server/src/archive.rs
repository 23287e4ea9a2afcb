//! Graph-data as one file for mirrors: a tar archive, gzipped, of everything a revision was made of.
//!
//! Services that do not know `risks/` are handed the same blocks as files, so what leaves here is never more permissive
//! than what is served (U22).

use std::collections::BTreeMap;
use std::io;

use clearway_graph::{Inputs, Revision, convert};

/// The archive. The same files give the same bytes: they are sorted, and have neither owners nor times.
pub(crate) fn archive(inputs: &Inputs, revision: &Revision) -> io::Result<Vec<u8>> {
    let compiled: BTreeMap<String, Vec<u8>> = convert::compile(revision)
        .files
        .into_iter()
        .filter(|(path, _)| inputs.get(path).is_none())
        // JSON is YAML.
        .map(|(path, value)| (path, format!("{value:#}\n").into_bytes()))
        .collect();
    let mut files: BTreeMap<&str, &[u8]> = inputs.iter().collect();
    files.extend(compiled.iter().map(|(path, content)| (path.as_str(), content.as_slice())));
    write(&files)
}

/// Files as a gzipped tar archive.
pub(crate) fn write(files: &BTreeMap<&str, &[u8]>) -> io::Result<Vec<u8>> {
    let gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    let mut archive = tar::Builder::new(gzip);
    for (path, content) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(content.len() as u64);
        header.set_mode(0o644);
        header.set_mtime(0);
        archive.append_data(&mut header, path, *content)?;
    }
    archive.into_inner()?.finish()
}
