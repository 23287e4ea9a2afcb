//! The digest of a release that is a directory.

use clearway_core::Digest;

use super::{Files, MANIFESTS};

/// The digest of files: the SHA-256 of one line per file, in the order of the bytes of their paths. A line is the
/// SHA-256 of the file in lower-case hexadecimal digits, two spaces, `release-manifests/`, the path, and a line feed.
pub fn digest(files: &Files) -> Digest {
    let mut lines = String::new();
    for (path, content) in files {
        lines.push_str(Digest::sha256(content).hex());
        lines.push_str("  ");
        lines.push_str(MANIFESTS);
        lines.push('/');
        lines.push_str(path);
        lines.push('\n');
    }
    Digest::sha256(lines.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    fn files() -> Files {
        [("release-metadata", "{}\n"), ("B.yaml", "b"), ("a.yaml", ""), ("sub/c.txt", "c\n")]
            .into_iter()
            .map(|(path, content)| (path.to_owned(), content.as_bytes().to_vec()))
            .collect()
    }

    #[test]
    fn the_bytes_are_those_of_the_documentation() {
        let lines = "\
3e23e8160039594a33894f6564e1b1348bbd7a0088d42c4acb73eeaed59c009d  release-manifests/B.yaml
e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855  release-manifests/a.yaml
ca3d163bab055381827226140568f3bef7eaac187cebd76878e0b63e9e442356  release-manifests/release-metadata
a3a5e715f0cc574a73c3f9bebb6bc24f32ffd5b67b387244c2c909da779a1478  release-manifests/sub/c.txt
";
        assert_eq!(digest(&files()), Digest::sha256(lines.as_bytes()));
        assert_eq!(
            digest(&files()).to_string(),
            "sha256:cbd90177e9acd5d68a9e2cd99f2c77b073ac84e398413018cd07df182ddf272a"
        );
    }

    #[test]
    fn coreutils_come_to_the_same() {
        let root = tempfile::tempdir().unwrap();
        for (path, content) in files() {
            let path = root.path().join(MANIFESTS).join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, content).unwrap();
        }
        let line = "find release-manifests -type f -print0 | LC_ALL=C sort -z | xargs -0 sha256sum | sha256sum";
        let done = Command::new("sh").args(["-c", line]).current_dir(root.path()).output().unwrap();
        assert!(done.status.success(), "{done:?}");
        let hex = String::from_utf8(done.stdout).unwrap();
        assert_eq!(hex.split_whitespace().next(), Some(digest(&files()).hex()));
    }
}
