use super::*;

fn release() -> Release {
    Release {
        version: "4.5.0".parse().unwrap(),
        arch: "amd64".parse().ok(),
        previous: vec!["4.4.0".to_owned()],
        next: Vec::new(),
        metadata: [("url".to_owned(), "x".to_owned())].into(),
    }
}

async fn find(cache: &Cache, digest: &Digest) -> Option<Result<Release, SkipReason>> {
    cache.releases([digest.clone()].into(), 1 << 20).await.remove(digest)
}

fn only_file(directory: &Path) -> PathBuf {
    let files: Vec<_> = fs::read_dir(directory.join("releases")).unwrap().map(|file| file.unwrap().path()).collect();
    assert_eq!(files.len(), 1, "{files:?}");
    files[0].clone()
}

#[tokio::test]
async fn what_is_certain_is_kept_and_what_is_not_is_not() {
    let directory = tempfile::tempdir().unwrap();
    let cache = Cache::directory(directory.path()).unwrap();
    let digest = |name: &str| Digest::sha256(name.as_bytes());
    for (name, outcome, kept) in [
        ("release", Ok(release()), true),
        ("none", Err(SkipReason::NoRelease), true),
        ("shard", Err(SkipReason::Shard { arch: "arm64".to_owned() }), true),
        ("schema 1", Err(SkipReason::Unsupported { what: "a".to_owned() }), true),
        ("broken", Err(SkipReason::Broken { what: "a".to_owned() }), false),
        ("gone", Err(SkipReason::Vanished), false),
    ] {
        cache.store_release(&digest(name), &outcome).await;
        assert_eq!(find(&cache, &digest(name)).await, kept.then_some(outcome), "{name}");
    }
    assert_eq!(find(&Cache::none(), &digest("release")).await, None);
    assert_eq!(cache.last_error(), None);
}

#[tokio::test]
async fn a_spoiled_file_is_passed_over_and_written_anew() {
    let directory = tempfile::tempdir().unwrap();
    let cache = Cache::directory(directory.path()).unwrap();
    let digest = Digest::sha256(b"x");
    let outcome = Ok(release());
    cache.store_release(&digest, &outcome).await;
    let file = only_file(directory.path());
    let good = fs::read(&file).unwrap();
    let mut flipped = good.clone();
    *flipped.last_mut().unwrap() ^= 1;
    for spoiled in [&b""[..], b"\n", &good[..good.len() - 1], &flipped, b"clearway-cache-1 x y\n{}"] {
        fs::write(&file, spoiled).unwrap();
        assert_eq!(find(&cache, &digest).await, None);
        cache.store_release(&digest, &outcome).await;
        assert_eq!(find(&cache, &digest).await, Some(outcome.clone()));
    }
    assert_eq!(fs::read(only_file(directory.path())).unwrap(), good);
    // The file of one digest does not answer for another.
    fs::rename(&file, directory.path().join(release_file(&Digest::sha256(b"y")))).unwrap();
    assert_eq!(find(&cache, &Digest::sha256(b"y")).await, None);
}

#[tokio::test]
async fn of_many_payloads_the_last_ones_are_kept() {
    let directory = tempfile::tempdir().unwrap();
    let cache = Cache::directory(directory.path()).unwrap();
    let digests: Vec<Digest> = (0..MOST_PAYLOADS + 4).map(|number| Digest::sha256(&number.to_le_bytes())).collect();
    for digest in &digests {
        cache.store_payload(digest, "any", digest.hex().as_bytes().to_vec()).await;
    }
    assert_eq!(fs::read_dir(directory.path().join(PAYLOADS)).unwrap().count(), MOST_PAYLOADS);
    let (first, last) = (&digests[0], &digests[digests.len() - 1]);
    assert_eq!(cache.payload(first, "any").await, None);
    assert_eq!(cache.payload(last, "any").await, Some(last.hex().as_bytes().to_vec()));
    assert_eq!(cache.payload(last, "amd64").await, None);
}

#[tokio::test]
async fn a_cache_that_cannot_be_written_says_so_and_fails_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let cache = Cache::directory(directory.path().join("cache")).unwrap();
    fs::remove_dir_all(directory.path()).unwrap();
    cache.store_release(&Digest::sha256(b"x"), &Ok(release())).await;
    assert!(cache.last_error().unwrap().contains("No such file"), "{:?}", cache.last_error());
    let file = tempfile::NamedTempFile::new().unwrap();
    let error = Cache::directory(file.path()).unwrap_err().to_string();
    assert!(error.contains("cannot use this directory as a cache"), "{error}");
}

#[tokio::test]
async fn what_somebody_else_could_have_written_is_not_used() {
    use std::os::unix::fs::{PermissionsExt as _, chown};
    let root = tempfile::tempdir().unwrap();
    let digest = Digest::sha256(b"x");
    let mode = |path: &Path, mode: u32| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    let is_root = rustix::process::geteuid().is_root();
    for (name, of_directory, want) in [
        ("file", false, "other users may write to it"),
        ("directory", true, "other users may write to it"),
        ("owner", false, "it belongs to another user"),
        ("owner of the directory", true, "it belongs to another user"),
    ] {
        let directory = root.path().join(name);
        let cache = Cache::directory(&directory).unwrap();
        cache.store_graph_data("a", &digest, b"content".to_vec()).await;
        assert_eq!(cache.graph_data("a", &digest).await.as_deref(), Some(&b"content"[..]), "{name}");
        assert_eq!(cache.last_error(), None);
        let path = directory.join(graph_data_file("a"));
        let path = if of_directory { path.parent().unwrap() } else { &path };
        match (want.contains("belongs"), is_root) {
            (false, _) => mode(path, if of_directory { 0o730 } else { 0o620 }),
            (true, true) => chown(path, Some(65_534), None).unwrap(),
            // Only root gives files away.
            (true, false) => continue,
        }
        assert_eq!(cache.graph_data("a", &digest).await, None, "{name}");
        let error = cache.last_error().unwrap();
        assert!(error.contains(want) && error.contains(path.to_str().unwrap()), "{name}: {error}");
    }
    // A link leads to what is not looked at.
    let cache = Cache::directory(root.path().join("link")).unwrap();
    cache.store_graph_data("a", &digest, b"content".to_vec()).await;
    let path = root.path().join("link").join(graph_data_file("a"));
    fs::rename(&path, root.path().join("moved")).unwrap();
    std::os::unix::fs::symlink(root.path().join("moved"), &path).unwrap();
    assert_eq!(cache.graph_data("a", &digest).await, None);
}

#[tokio::test]
async fn where_keys_are_given_only_what_this_process_wrote_is_used() {
    let root = tempfile::tempdir().unwrap();
    let (digest, other) = (Digest::sha256(b"x"), Digest::sha256(b"y"));
    let earlier = Cache::directory(root.path()).unwrap();
    earlier.store_graph_data("a", &digest, b"old".to_vec()).await;
    earlier.store_payload(&digest, "any", b"old".to_vec()).await;
    let cache = Cache::directory(root.path()).unwrap();
    let signed = cache.own_entries_only();
    assert_eq!(cache.graph_data("a", &digest).await.as_deref(), Some(&b"old"[..]));
    assert_eq!(signed.graph_data("a", &digest).await, None);
    assert_eq!(signed.payload(&digest, "any").await, None);
    signed.store_graph_data("a", &digest, b"new".to_vec()).await;
    signed.store_payload(&digest, "any", b"new".to_vec()).await;
    assert_eq!(signed.graph_data("a", &digest).await.as_deref(), Some(&b"new"[..]));
    assert_eq!(signed.payload(&digest, "any").await.as_deref(), Some(&b"new"[..]));
    // Neither other content for the digest, nor the content for another digest.
    earlier.store_graph_data("a", &digest, b"forged".to_vec()).await;
    assert_eq!(signed.graph_data("a", &digest).await, None);
    earlier.store_graph_data("a", &other, b"new".to_vec()).await;
    assert_eq!(signed.graph_data("a", &other).await, None);
}
