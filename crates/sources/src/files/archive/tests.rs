use super::*;
use proptest::prelude::*;

fn archive(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    for (name, content) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(content.len() as u64);
        builder.append_data(&mut header, name, *content).unwrap();
    }
    builder.into_inner().unwrap()
}

fn raw(name: &[u8], kind: tar::EntryType, size: u64) -> Vec<u8> {
    let mut header = tar::Header::new_gnu();
    header.as_mut_bytes()[..name.len()].copy_from_slice(name);
    header.set_entry_type(kind);
    header.set_size(size);
    header.set_cksum();
    header.as_bytes().to_vec()
}

fn names(bytes: &[u8], limit: u64) -> Result<Vec<String>, ArchiveDefect> {
    let mut names = Vec::new();
    walk(&mut &*bytes, limit, &mut |entry| {
        if entry.kind == Kind::File {
            entry.content(1 << 20)?;
            names.push(String::from_utf8_lossy(entry.path).into_owned());
        }
        Ok(WalkControl::Continue)
    })?;
    Ok(names)
}

#[test]
fn names_of_any_length_are_read() {
    let long = format!("{}/file", "d".repeat(300));
    assert_eq!(names(&archive(&[("./a/b", b"1"), (&long, b"2"), ("c", b"3")]), 1 << 20).unwrap(), ["a/b", &long, "c"]);
    let mut builder = tar::Builder::new(Vec::new());
    builder.append_pax_extensions([("path", long.as_bytes()), ("mtime", b"1")]).unwrap();
    builder.append(&tar::Header::from_byte_slice(&raw(b"x", tar::EntryType::Regular, 0)).clone(), &b""[..]).unwrap();
    assert_eq!(names(&builder.into_inner().unwrap(), 1 << 20).unwrap(), [long]);
    assert_eq!(names(&[0; 1024], 2000).unwrap(), Vec::<String>::new());
}

#[test]
fn what_would_take_memory_or_lead_astray_is_refused() {
    let huge = 7 << 30;
    for (bytes, want) in [
        (raw(b"a/../../etc/passwd", tar::EntryType::Regular, 0), "a name in it has `..`"),
        (pax(EntryType::XGlobalHeader, "path", b"a"), "it gives all of its files the same name"),
        (pax(EntryType::XGlobalHeader, "GNU.sparse.major", b"1"), "it gives all of its files the same name"),
        (pax(EntryType::XHeader, "size", b"9"), "a file in it is larger than 8 GiB"),
        (pax(EntryType::XHeader, "path", b"a\0b"), "a name in it has a zero byte"),
        (raw(b"n", tar::EntryType::Regular, 5), "it is truncated within a file"),
    ] {
        assert_eq!(names(&bytes, 1 << 20), Err(ArchiveDefect::Broken(want.to_owned())));
    }
    for kind in [EntryType::GNULongName, EntryType::XHeader, EntryType::XGlobalHeader] {
        let excess = ArchiveDefect::TooMany("bytes in the attributes of a file", 1 << 20);
        assert_eq!(names(&raw(b"n", kind, huge), 1 << 20), Err(excess));
    }
    let name = "n".repeat(NAME_BYTES + 1);
    assert_eq!(names(&archive(&[(&name[..NAME_BYTES], b"")]), 1 << 20).unwrap().len(), 1);
    let excess = Err(ArchiveDefect::TooMany("bytes in a name", NAME_BYTES as u64));
    assert_eq!(names(&archive(&[(&name, b"")]), 1 << 20), excess);
    assert_eq!(names(&pax(EntryType::XHeader, "path", name.as_bytes()), 1 << 20), excess);
    let padded = [raw(b"n", tar::EntryType::Regular, 1 << 20), vec![0; 2 << 20]].concat();
    assert_eq!(names(&padded, 1 << 20), Err(ArchiveDefect::TooLarge(1 << 20)));
    assert_eq!(names(&[b'x'; 2000], 1 << 20), Err(ArchiveDefect::NotAnArchive));
    for nothing in [&b"{\"some\": \"json\"}"[..], b"", &[0; 511], &gzip(b"text").unwrap()] {
        assert_eq!(names(nothing, 1 << 20), Err(ArchiveDefect::NotAnArchive));
    }
    let torn = [archive(&[("a", b"1")])[..1024].to_vec(), vec![b'x'; 600]].concat();
    assert!(matches!(names(&torn, 1 << 20), Err(ArchiveDefect::Broken(_))));
}

#[test]
fn what_cannot_be_unpacked_is_broken_and_not_taken_for_something_else() {
    let good = archive(&[("version", b"1.1.0")]);
    let mut spoiled = good.clone();
    spoiled[0] ^= 1;
    let packed = gzip(&good).unwrap();
    for (what, bytes) in [
        ("a zstd window of 2 GiB", b"\x28\xb5\x2f\xfd\x00\xa8\x01\x00\x00".to_vec()),
        ("xz", b"\xfd7zXZ\0\0\x04\xe6\xd6\xb4\x46".to_vec()),
        ("bzip2", b"BZh91AY&SY\0\0\0\0".to_vec()),
        ("lz4", b"\x04\x22\x4d\x18\x64\x40\xa7".to_vec()),
        ("gzip that is cut", packed[..20].to_vec()),
        ("gzip with other bytes", [&packed[..10], &[0xff; 20]].concat()),
        ("a first header with another sum", spoiled),
    ] {
        assert!(matches!(names(&bytes, 1 << 20), Err(ArchiveDefect::Broken(_))), "{what}");
    }
    // A header without a name for its form, as old tools write it.
    let mut old = tar::Header::new_old();
    old.set_path("a").unwrap();
    old.set_size(0);
    old.set_cksum();
    assert_eq!(names(&[&old.as_bytes()[..], &[0; 1024]].concat(), 1 << 20).unwrap(), ["a"]);
}

#[test]
fn nothing_is_lost_behind_damage() {
    let whole = archive(&[("a", b"1"), ("blocked-edges/b.yaml", b"2")]);
    let (first, second) = whole.split_at(2 * HEADER);
    let entries = &whole[..whole.len() - 2 * HEADER];
    let filled = |blocks: usize| [entries, &vec![0; (blocks - entries.len() / HEADER) * HEADER]].concat();
    let packed = gzip(&whole).unwrap();
    let other_sum = [&packed[..packed.len() - 8], &[0; 4], &packed[packed.len() - 4..]].concat();
    let noise = [whole.as_slice(), b"x"].concat();
    let zstd = ruzstd::encoding::compress_to_vec(whole.as_slice(), ruzstd::encoding::CompressionLevel::Fastest);
    for (what, bytes) in [
        ("a block of zeros between two entries", [first, &[0; HEADER], second].concat()),
        ("cut at a header", first.to_vec()),
        ("cut behind the last entry", entries.to_vec()),
        ("one block of zeros at the end", [entries, &[0; HEADER]].concat()),
        ("cut within the end", [entries, &[0; 2 * HEADER - 1]].concat()),
        ("another archive behind the end", [whole.clone(), whole.clone()].concat()),
        ("noise behind the end", noise.clone()),
        ("noise behind the end, packed", gzip(&noise).unwrap()),
        ("gzip with another checksum", other_sum),
        ("gzip without its last bytes", packed[..packed.len() - 8].to_vec()),
        ("gzip with half a member behind it", [&packed[..], &packed[..20]].concat()),
        ("zstd with another checksum", [&zstd[..zstd.len() - 4], &[0; 4]].concat()),
        ("zstd without its checksum", zstd[..zstd.len() - 4].to_vec()),
        ("zstd with half a frame behind it", [&zstd[..], &zstd[..20]].concat()),
    ] {
        assert!(matches!(names(&bytes, 1 << 20), Err(ArchiveDefect::Broken(_))), "{what}");
    }
    let own = pack(&[], [("a".to_owned(), &b"1"[..]), ("blocked-edges/b.yaml".to_owned(), b"2")]).unwrap();
    let (front, back) = whole.split_at(700);
    for (what, bytes) in [
        ("two blocks of zeros, as archive/tar of Go writes them", whole.clone()),
        ("packed with gzip", packed.clone()),
        ("packed with zstd", zstd.clone()),
        ("this program's", own),
        ("records of 10 KiB, as GNU tar and bsdtar write them", filled(20)),
        ("many records", filled(2048)),
        ("members of gzip", [gzip(front).unwrap(), gzip(back).unwrap(), gzip(b"").unwrap()].concat()),
    ] {
        assert_eq!(names(&bytes, 2 << 20).unwrap(), ["a", "blocked-edges/b.yaml"], "{what}");
    }
}

#[test]
fn archives_of_the_system_are_read_to_their_end() {
    let place = tempfile::tempdir().unwrap();
    std::fs::write(place.path().join("a"), "1").unwrap();
    for program in ["tar", "bsdtar"] {
        for form in ["ustar", "gnu", "pax", "gnutar"] {
            let mut command = std::process::Command::new(program);
            let made = command.args(["-c", "-f", "-", "--format", form, "-C"]).arg(place.path()).arg("a").output();
            // Not every program is there, and each knows other forms.
            let Some(made) = made.ok().filter(|made| made.status.success()) else { continue };
            assert_eq!(names(&made.stdout, 1 << 20).unwrap(), ["a"], "{program} {form}");
        }
    }
}

/// A file behind attributes that hold one key.
fn pax(kind: EntryType, key: &str, value: &[u8]) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    builder.append_pax_extensions([(key, value)]).unwrap();
    let mut bytes = builder.into_inner().unwrap();
    bytes.truncate(bytes.len() - 1024);
    let mut header = tar::Header::from_byte_slice(&bytes[..HEADER]).clone();
    header.set_entry_type(kind);
    header.set_cksum();
    bytes[..HEADER].copy_from_slice(header.as_bytes());
    bytes.extend(raw(b"x", EntryType::Regular, 0));
    bytes
}

#[test]
fn what_is_no_plain_file_is_said_in_words() {
    let kinds = |bytes: &[u8]| {
        let mut kinds = Vec::new();
        walk(&mut [bytes, &[0; 1024]].concat().as_slice(), 1 << 20, &mut |entry| {
            kinds.push((String::from_utf8_lossy(entry.path).into_owned(), entry.kind));
            Ok(WalkControl::Continue)
        })
        .unwrap();
        kinds
    };
    for (letter, want) in [
        (b'0', Kind::File),
        (0, Kind::File),
        (b'7', Kind::File),
        (b'5', Kind::Directory),
        (b'1', Kind::Other("a hard link")),
        (b'2', Kind::Other("a symbolic link")),
        (b'3', Kind::Other("a device")),
        (b'4', Kind::Other("a device")),
        (b'6', Kind::Other("a named pipe")),
        (b'S', Kind::Other("a sparse file")),
        (b'V', Kind::Other("of an unsupported type")),
    ] {
        let mut header = tar::Header::from_byte_slice(&raw(b"a", EntryType::Regular, 0)).clone();
        header.as_mut_bytes()[156] = letter;
        header.set_cksum();
        assert_eq!(kinds(header.as_bytes()), [("a".to_owned(), want)], "{letter}");
    }
    assert_eq!(kinds(&raw(b"old/", EntryType::Regular, 0)), [("old".to_owned(), Kind::Directory)]);
    let sparse = pax(EntryType::XHeader, "GNU.sparse.name", b"real");
    assert_eq!(kinds(&sparse), [("real".to_owned(), Kind::Other("a sparse file"))]);
}

#[test]
fn entries_are_counted() {
    let bytes = archive(&[("a", b""), ("b", b""), ("c", b"")]);
    let walked = |most| {
        let unpacked = Unpacked::new(bytes.as_slice(), 1 << 20, 1).unwrap();
        walk_unpacked(unpacked, most, &mut |_| Ok(WalkControl::Continue))
    };
    assert_eq!(walked(3), Ok(()));
    assert_eq!(walked(2), Err(ArchiveDefect::TooMany("entries", 2)));
}

proptest! {
    #[test]
    fn an_archive_that_is_damaged_anywhere_ends_in_words(at in 0_usize..4096, byte: u8, cut in 0_usize..4096) {
        let long = format!("{}/file", "d".repeat(300));
        let mut bytes = archive(&[("a", b"1"), (&long, b"2"), ("release-manifests/release-metadata", b"3")]);
        if let Some(damaged) = bytes.get_mut(at) {
            *damaged = byte;
        }
        bytes.truncate(cut.max(1));
        let _ = names(&bytes, 1 << 20);
        // The same, packed, and damaged after that.
        let mut packed = ruzstd::encoding::compress_to_vec(bytes.as_slice(), ruzstd::encoding::CompressionLevel::Fastest);
        if let Some(damaged) = packed.get_mut(at % 256) {
            *damaged = byte;
        }
        let _ = names(&packed, 1 << 20);
    }
}
