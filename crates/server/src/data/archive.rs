//! Graph-data as one file for mirrors: a tar archive, gzipped, of everything a revision was made of.
//!
//! Services that do not know `risks/` are handed the same blocks as files, so what leaves here is never more permissive
//! than what is served (U22).

use std::collections::BTreeMap;
use std::io;

use clearway_core::Exceeded;
use clearway_graph::{Inputs, Revision, convert};

use crate::data::publication::Unpublishable;

/// The archive, of at most so many bytes. The same files give the same bytes: they are sorted, and have neither owners nor
/// times.
pub(crate) fn archive(inputs: &Inputs, revision: &Revision, most: u64) -> Result<Vec<u8>, Unpublishable> {
    let compiled = convert::compile(revision)?.files;
    let mut files: BTreeMap<&str, &[u8]> = inputs.iter().collect();
    for (path, text) in &compiled {
        // JSON is YAML.
        files.entry(path).or_insert(text.as_bytes());
    }
    let mut out = Bounded { bytes: Vec::new(), most: usize::try_from(most).unwrap_or(usize::MAX) };
    let written = write(&files, &mut out);
    let what = "bytes in all answers and files when compressed";
    match written {
        Err(error) if error.kind() == io::ErrorKind::FileTooLarge => {
            Err(Exceeded { cap: "answers_packed", limit: most, what }.into())
        }
        other => other.map_err(Unpublishable::from),
    }?;
    out.bytes.shrink_to_fit();
    Ok(out.bytes)
}

/// Bytes in memory, up to a bound.
struct Bounded {
    bytes: Vec<u8>,
    most: usize,
}

impl io::Write for Bounded {
    fn write(&mut self, more: &[u8]) -> io::Result<usize> {
        if self.bytes.len() + more.len() > self.most {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.bytes.extend_from_slice(more);
        Ok(more.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Writes files as a gzipped tar archive.
pub(crate) fn write(files: &BTreeMap<&str, &[u8]>, out: impl io::Write) -> io::Result<()> {
    let gzip = flate2::write::GzEncoder::new(out, flate2::Compression::default());
    let mut archive = tar::Builder::new(gzip);
    for (path, content) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(content.len() as u64);
        header.set_mode(0o644);
        header.set_mtime(0);
        archive.append_data(&mut header, path, *content)?;
    }
    archive.into_inner()?.finish()?;
    Ok(())
}
