//! Attacks by whoever packed an archive.

use std::collections::BTreeMap;
use std::fs;

use clearway_testbed::images::gzip;
use ruzstd::encoding::{CompressionLevel, compress_to_vec};

use crate::attack::{self, Content, Odd};
use crate::graph_data;
use crate::program::{run, shortened};
use crate::stranger::{Said, Stranger};

/// The contents of an attack below a directory of an archive; nothing if an archive cannot hold one of them.
pub(crate) fn pack(below: &str, files: &BTreeMap<String, Content>) -> Option<Vec<u8>> {
    let mut builder = tar::Builder::new(Vec::new());
    for (name, content) in files {
        let path = format!("{below}/{name}");
        let mut header = tar::Header::new_gnu();
        header.set_mode(0o644);
        header.set_size(0);
        match content {
            Content::Link { link } => {
                header.set_entry_type(tar::EntryType::Symlink);
                builder.append_link(&mut header, path, link).unwrap();
            }
            Content::Odd { odd: Odd::Pipe } => {
                header.set_entry_type(tar::EntryType::Fifo);
                builder.append_data(&mut header, path, std::io::empty()).unwrap();
            }
            file => {
                let bytes = file.bytes()?;
                header.set_size(bytes.len() as u64);
                builder.append_data(&mut header, path, bytes.as_slice()).unwrap();
            }
        }
    }
    Some(builder.into_inner().unwrap())
}

pub(crate) fn zstd(bytes: &[u8]) -> Vec<u8> {
    compress_to_vec(bytes, CompressionLevel::Fastest)
}

/// An archive with one file of zeros, so many of them.
pub(crate) fn bomb(path: &str, bytes: usize) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    let mut header = tar::Header::new_gnu();
    header.set_size(bytes as u64);
    header.set_mode(0o644);
    builder.append_data(&mut header, path, std::io::Cursor::new(vec![0_u8; bytes])).unwrap();
    gzip(&builder.into_inner().unwrap())
}

/// The archive of graph-data that an update service hands on is judged as one in a file.
#[test]
fn archives_of_a_service() {
    let place = tempfile::tempdir().unwrap();
    let stranger = Stranger::start(|_| Said::json("{}"));
    let url = format!("http://{}/api/upgrades_info/graph-data", stranger.host);
    let attacks = attack::all::<graph_data::Attack>("graph-data").into_iter();
    for (name, attack) in attacks.filter(|(_, attack)| attack.fits_archives()) {
        let what = format!("{name} ({}) from a service", attack.title);
        let data = place.path().join("data");
        graph_data::write(&data, &attack.files);
        let archive = gzip(&graph_data::archive(&data, "data"));
        fs::remove_dir_all(data).unwrap();
        stranger.says(move |_| Said::json(archive.clone()));
        let lint = run(place.path(), &["graph", "lint", "--graph", &url]);
        let text = shortened(&lint.text);
        if let Some(words) = &attack.refused {
            assert!(lint.code != 0 && lint.text.contains(words), "{what} ends with {}: {text}", lint.code);
        }
        if let Some(never) = &attack.never {
            assert!(!lint.text.contains(never.as_str()), "{what} prints {never:?}");
        }
        assert!(!lint.text.contains('\u{1b}'), "{what}: {text}");
    }
}

#[test]
fn archives_that_unpack_to_more_than_is_read() {
    let place = tempfile::tempdir().unwrap();
    for (file, path) in [("data.tar.gz", "data/risks/x.yaml"), ("kept.tar.gz", "snapshot.json")] {
        let packed = bomb(path, 70 << 20);
        assert!(packed.len() < 1 << 20);
        fs::write(place.path().join(file), packed).unwrap();
    }
    for command in [
        &["graph", "show", "c", "--graph", "data.tar.gz"][..],
        &["graph", "lint", "--graph", "data.tar.gz"],
        &["snapshot", "show", "kept.tar.gz"],
    ] {
        let ended = run(place.path(), command);
        assert!(ended.code != 0 && ended.text.contains("larger than"), "{command:?}: {}", shortened(&ended.text));
    }
}
