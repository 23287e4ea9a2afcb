use super::*;
use crate::release::{SigningKey, write_directory};
use clearway_release::digest;
use std::process::Command;

/// A key and two signatures of it, made with `openssl dgst -sha256 -sign`.
const KEY: &str = "\
-----BEGIN PUBLIC KEY-----
MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEr0dW+BXi5IoP9kPBBVWlOCe6hDBF
lU0PHB4zPv7bXXW1vc8400cik7nrD6xbyTIV16NCt39WUWdtzX5aV1xhwg==
-----END PUBLIC KEY-----
";
const DIGEST: &str = "sha256:cbd90177e9acd5d68a9e2cd99f2c77b073ac84e398413018cd07df182ddf272a";
const OVER_DIGEST: &str =
    "MEUCIQDmGNSyTClp3ZZadRnrZfy2sme88gFhfXoff35rFjOTWwIgH8/9fZXwm32AywkJoU4FBArcV27R2r+y0w2WCJstQnM=";
const PAYLOAD: &str = r#"{"critical":{"identity":{"docker-reference":"registry.example.com/platform"},"image":{"docker-manifest-digest":"sha256:cbd90177e9acd5d68a9e2cd99f2c77b073ac84e398413018cd07df182ddf272a"},"type":"cosign container image signature"},"optional":null}"#;
const OVER_PAYLOAD: &str =
    "MEQCICS8gQNhNofBxurCljnq4RRWKlA9dmNULwKGxOlvoIroAiA+xUcDhCU36bYue7/32fMIn2MdAAw/Kb6smJ2RvGAshg==";

fn keys() -> Vec<Key> {
    Key::read("k", KEY.as_bytes()).unwrap()
}

fn signature(payload: Option<&str>, text: &str) -> Signature {
    let payload = payload.map(|payload| payload.as_bytes().to_vec());
    Signature { payload, signature: STANDARD.decode(text).unwrap() }
}

fn verified() -> Verdict {
    Verdict::Verified { key: "k".to_owned(), what: DIGEST.to_owned() }
}

#[test]
fn a_signature_is_good_for_its_digest_and_no_other() {
    let digest: Digest = DIGEST.parse().unwrap();
    let other = Digest::sha256(b"x");
    let beside = signature(None, OVER_DIGEST);
    let attached = signature(Some(PAYLOAD), OVER_PAYLOAD);
    assert_eq!(verify(&digest, &[], &keys()), Verdict::Unsigned);
    assert_eq!(verify(&digest, std::slice::from_ref(&beside), &keys()), verified());
    assert_eq!(verify(&digest, std::slice::from_ref(&attached), &keys()), verified());
    let why = |digest: &Digest, signatures: &[Signature], keys: &[Key]| match verify(digest, signatures, keys) {
        Verdict::Failed { why } => why,
        verdict => panic!("{verdict:?}"),
    };
    assert_eq!(why(&other, std::slice::from_ref(&beside), &keys()), "none of its 1 signatures is by a trusted key (k)");
    let signed_other = format!("k signed another release, {DIGEST}");
    assert_eq!(why(&other, &[attached.clone(), beside.clone()], &keys()), signed_other);
    // One good signature is enough, whatever stands beside it.
    let forged = signature(Some(&PAYLOAD.replace("platform", "evil")), OVER_PAYLOAD);
    assert_eq!(verify(&digest, &[forged.clone(), attached.clone()], &keys()), verified());
    assert!(why(&digest, &[forged], &keys()).contains("none of its 1 signatures"));
    assert!(why(&digest, &[attached], &[]).contains("trusted key ()"));
}

#[test]
fn a_signed_text_must_be_one_about_an_image() {
    for (text, want) in [
        ("", "EOF"),
        ("[]", "not a signature of an image"),
        (r#"{"critical": {"type": "something else"}}"#, "not a signature of an image"),
        (r#"{"critical": {"type": "cosign container image signature"}}"#, "it does not name a digest"),
    ] {
        let error = named(text.as_bytes()).unwrap_err();
        assert!(error.contains(want), "{text}: {error}");
    }
    assert_eq!(named(PAYLOAD.as_bytes()), Ok(DIGEST.to_owned()));
}

#[test]
fn what_is_no_key_is_said() {
    // A key on a curve that is not checked: secp256k1.
    let curve = "-----BEGIN PUBLIC KEY-----
MFYwEAYHKoZIzj0CAQYFK4EEAAoDQgAEbb/NqweI3ahyY2RnkXu3N+tgHjowts8y
8dFnhp4H5cm//SEFaMxgGPs1y4o+SUKkk0/n+XHC//E3HKMVsNAoaw==
-----END PUBLIC KEY-----
";
    for (pem, want) in [
        ("", "no public key"),
        ("-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n", "no public key"),
        ("-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n", "it is not a public key"),
        (curve, "not ECDSA"),
    ] {
        let error = Key::read("file.pem", pem.as_bytes()).unwrap_err().to_string();
        assert!(error.starts_with("file.pem: ") && error.contains(want), "{pem}: {error}");
    }
    let two = Key::read("k", KEY.repeat(2).as_bytes()).unwrap();
    assert_eq!(two.iter().map(Key::name).collect::<Vec<_>>(), ["k (1)", "k (2)"]);
}

/// Runs openssl in a directory; nothing if this machine has none.
fn openssl(directory: &Path, line: &str) -> Option<()> {
    let done = Command::new("sh").args(["-c", line]).current_dir(directory).output().unwrap();
    if done.status.code() == Some(127) {
        eprintln!("not checked, no openssl");
        return None;
    }
    assert!(done.status.success(), "{line}: {}", String::from_utf8_lossy(&done.stderr));
    Some(())
}

#[test]
fn what_openssl_signs_is_verified_for_every_kind_of_key() {
    let sha = "openssl dgst -sha256 -sign key.pem digest";
    for (generate, sign) in [
        ("openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out key.pem", sha),
        ("openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-384 -out key.pem", sha),
        ("openssl genpkey -algorithm RSA -pkeyopt rsa_keygen_bits:2048 -out key.pem", sha),
        ("openssl genpkey -algorithm ed25519 -out key.pem", "openssl pkeyutl -sign -inkey key.pem -rawin -in digest"),
    ] {
        let root = tempfile::tempdir().unwrap();
        // As `clearway release show --digest` prints it: with a line feed.
        std::fs::write(root.path().join("digest"), format!("{DIGEST}\n")).unwrap();
        let line = format!(
            "command -v openssl >/dev/null || exit 127; set -e; {generate}; openssl pkey -in key.pem -pubout -out pub.pem; \
             {sign} | base64 -w0 > release.sig"
        );
        let Some(()) = openssl(root.path(), &line) else { return };
        let keys = Key::file(&root.path().join("pub.pem")).unwrap();
        let signatures = beside(root.path()).unwrap();
        let digest: Digest = DIGEST.parse().unwrap();
        assert!(matches!(verify(&digest, &signatures, &keys), Verdict::Verified { .. }), "{generate}");
        assert!(matches!(verify(&Digest::sha256(b"x"), &signatures, &keys), Verdict::Failed { .. }), "{generate}");
        // And what we sign, openssl takes for signed.
        let pem = std::fs::read(root.path().join("key.pem")).unwrap();
        let Ok(key) = SigningKey::read("key.pem", &pem) else {
            assert!(generate.contains("P-384"), "{generate}");
            continue;
        };
        std::fs::write(root.path().join("release.sig"), key.sign_directory(&digest).unwrap()).unwrap();
        assert!(matches!(verify(&digest, &beside(root.path()).unwrap(), &keys), Verdict::Verified { .. }));
        if sign == sha {
            std::fs::write(root.path().join("digest"), DIGEST).unwrap();
            let check = "base64 -d release.sig > raw; openssl dgst -sha256 -verify pub.pem -signature raw digest";
            openssl(root.path(), check).unwrap();
        }
    }
}

#[test]
fn a_file_of_nonsense_beside_a_directory_is_not_no_signature() {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("r");
    let files = [("release-metadata".to_owned(), b"{}".to_vec())].into();
    write_directory(&path, &files, None).unwrap();
    let verdict = || verify(&digest(&files), &beside(&path).unwrap(), &keys());
    assert_eq!(verdict(), Verdict::Unsigned);
    std::fs::write(path.join("release.sig"), "# nothing\n\n").unwrap();
    assert_eq!(verdict(), Verdict::Unsigned);
    std::fs::write(path.join("release.sig"), "no base64 at all!").unwrap();
    assert!(matches!(verdict(), Verdict::Failed { .. }));
    std::fs::write(path.join("release.sig"), vec![b'x'; 70_000]).unwrap();
    assert!(beside(&path).unwrap_err().to_string().contains("more than 65536 bytes"));
    // Nor is a link that leads out, or a pipe that nobody writes to.
    let signatures = path.join(SIGNATURES);
    std::fs::remove_file(&signatures).unwrap();
    std::os::unix::fs::symlink("/etc/passwd", &signatures).unwrap();
    assert!(beside(&path).unwrap_err().to_string().contains("outside the directory"));
    std::fs::remove_file(&signatures).unwrap();
    rustix::fs::mknodat(rustix::fs::CWD, &signatures, rustix::fs::FileType::Fifo, rustix::fs::Mode::RUSR, 0).unwrap();
    assert!(beside(&path).unwrap_err().to_string().contains("it is a named pipe"));
}

#[test]
fn keys_to_sign_with_are_read_or_said_to_be_none() {
    for (pem, want) in [
        ("", "no private key"),
        (KEY, "no private key"),
        (
            "-----BEGIN ENCRYPTED SIGSTORE PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED SIGSTORE PRIVATE KEY-----\n",
            "encrypted",
        ),
        ("-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n", "not ECDSA P-256"),
    ] {
        let error = SigningKey::read("key.pem", pem.as_bytes()).unwrap_err().to_string();
        assert!(error.starts_with("key.pem: ") && error.contains(want), "{pem}: {error}");
    }
}

#[test]
fn a_pipe_for_a_key_is_not_waited_for() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("key.pem");
    rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, rustix::fs::Mode::RUSR, 0).unwrap();
    assert!(Key::file(&path).unwrap_err().to_string().contains("it is a named pipe, not a file"));
}
