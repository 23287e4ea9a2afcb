//! What a release must be before anything is written, and what is recorded of what was waived.

use std::fs;

use clearway_core::Timestamp;
use clearway_operator::carry_out::Settings;
use clearway_release::{Files, SIGNATURES, digest};
use clearway_sources::oci::{Cache, Registry, RegistryOptions};
use clearway_sources::release::{Key, SigningKey, directory, push};
use clearway_sources::store::{Apply, Store as _};
use clearway_update::api::{Release, Status, UpdateHistory, UpdateState};
use clearway_update::desired_update::downgrade::CurrentRelease;
use clearway_update::owner::OWNER;
use clearway_update::rollout::{Prepared, Rollout, Step, UpdateRequest};
use clearway_update::task::Veto;
use rcgen::KeyPair;

use crate::world::{
    World, annotated, config, custom, definition, real_settings, release, request, settings, start, task, update,
};

fn shop() -> [(&'static str, serde_json::Value); 1] {
    [("0000_30_shop_01-config", config("shop", "settings", "1"))]
}

/// What comes of an update: what was found, or where and why it is not accepted.
async fn outcome(settings: &Settings, request: UpdateRequest) -> Result<Prepared, (Step, String)> {
    let mut update = start(&World::new(), settings, &task(request));
    let end = |rollout: &Rollout| matches!(rollout, Rollout::NotAccepted { .. } | Rollout::Done { .. });
    match update.until("an outcome", end).await {
        Rollout::Done { prepared, .. } => Ok(prepared),
        Rollout::NotAccepted { step, why, .. } => Err((step, why)),
        _ => unreachable!(),
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_refused_always_is_refused_at_its_step() {
    let root = tempfile::tempdir().unwrap();
    let good = release(root.path(), "1.0.0", &shop());
    let found = digest(&directory(&good, &settings().limits).unwrap().files);
    let broken = release(root.path(), "1.1.0", &[]);
    fs::write(broken.join("release-manifests/0000_30_a_b.yaml"), "kind: ConfigMap\n").unwrap();
    let elsewhere = annotated(config("shop", "a", "1"), "release.openshift.io/feature-set", "Other");
    let empty = release(root.path(), "1.2.0", &[("0000_30_a_b", elsewhere)]);
    let pinned = |version: &str, digest: &str| {
        let mut request = request(&good, version);
        request.release.image = format!("{}@{digest}", request.release.image);
        request
    };
    let wrong = format!("sha256:{}", "0".repeat(64));
    let image = |image: &str| UpdateRequest {
        release: Release { image: image.to_owned(), ..Release::default() },
        force: false,
        resumes: false,
    };
    for (request, want) in [
        (request(&good, "1.0.0"), Ok("1.0.0")),
        (request(&good, ""), Ok("1.0.0")),
        (pinned("1.0.0", &found.to_string()), Ok("1.0.0")),
        (pinned("1.0.0", &wrong), Err((Step::Retrieve, "it is another release, or was changed"))),
        (
            request(&good, "1.0.1"),
            Err((
                Step::VerifyVersion,
                "release image version 1.0.0 does not match the expected upstream version 1.0.1",
            )),
        ),
        (request(&broken, "1.1.0"), Err((Step::Load, "the object has no apiVersion"))),
        (request(&empty, "1.2.0"), Err((Step::Load, "has no objects for this cluster (1 are for others)"))),
        (request(&root.path().join("nowhere"), "1.0.0"), Err((Step::Retrieve, "No such file or directory"))),
        (image("example.com/release:latest"), Err((Step::Retrieve, "has no digest"))),
        (image(&format!("example.com/release@{}", "sha256:1")), Err((Step::Retrieve, "sha256:1"))),
        (image("not an image"), Err((Step::Retrieve, "does not name an image"))),
    ] {
        for force in [false, true] {
            let request = UpdateRequest { force, ..request.clone() };
            if force && request.release.image.ends_with(":latest") {
                continue; // Forced, it is asked for at the registry.
            }
            let outcome = outcome(&settings(), request.clone()).await;
            match (&outcome, want) {
                (Ok(prepared), Ok(version)) => {
                    assert_eq!(prepared.version, version);
                    assert_eq!(prepared.hash, found.hex());
                }
                (Err((step, why)), Err((at, words))) => {
                    assert_eq!(*step, at, "{request:?}: {why}");
                    assert!(why.contains(words), "{request:?}: {why}");
                }
                _ => panic!("{request:?}: {outcome:?}"),
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn with_keys_one_must_have_signed_it_unless_it_is_forced() {
    let root = tempfile::tempdir().unwrap();
    let path = release(root.path(), "1.0.0", &shop());
    let pair = KeyPair::generate().unwrap();
    let keys = Key::read("release.pub", pair.public_key_pem().as_bytes()).unwrap();
    let settings = Settings { keys, ..settings() };
    let request = request(&path, "1.0.0");
    let refused = outcome(&settings, request.clone()).await.unwrap_err();
    assert_eq!(refused, (Step::Retrieve, "the release cannot be verified: it is not signed".to_owned()));

    let forced = outcome(&settings, UpdateRequest { force: true, ..request.clone() }).await.unwrap();
    assert!(!forced.verified);
    assert_eq!(
        forced.overridden[0],
        format!(
            "Target release version=\"1.0.0\" image={:?} cannot be verified, but continuing anyway because the update was forced: it is not signed",
            request.release.image
        )
    );

    let other = SigningKey::read("other", KeyPair::generate().unwrap().serialize_pem().as_bytes()).unwrap();
    let ours = SigningKey::read("release", pair.serialize_pem().as_bytes()).unwrap();
    let found = directory(&path, &settings.limits).unwrap().digest;
    fs::write(path.join(SIGNATURES), other.sign_directory(&found).unwrap()).unwrap();
    let (step, why) = outcome(&settings, request.clone()).await.unwrap_err();
    assert!(step == Step::Retrieve && why.contains("none of its 1 signatures is by a trusted key"), "{why}");
    fs::write(path.join(SIGNATURES), ours.sign_directory(&found).unwrap()).unwrap();
    let prepared = outcome(&settings, request).await.unwrap();
    assert!(prepared.verified && prepared.overridden.is_empty(), "{prepared:?}");
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_had_is_tried_again_and_said_once() {
    let (world, root) = (World::new(), tempfile::tempdir().unwrap());
    let task = task(request(&root.path().join("1.0.0"), "1.0.0"));
    let mut update = start(&world, &settings(), &task);
    let first = update.until("a refusal", |rollout| matches!(rollout, Rollout::NotAccepted { .. })).await;
    tokio::time::sleep(std::time::Duration::from_mins(20)).await;
    let still = update.until("anything", |_| true).await;
    assert_eq!(first, still, "no flapping between two tries");
    release(root.path(), "1.0.0", &shop());
    update.done().await;
}

#[tokio::test(start_paused = true)]
async fn findings_are_recorded_and_hold_up_only_when_that_was_asked_for() {
    let root = tempfile::tempdir().unwrap();
    let path = release(root.path(), "1.0.0", &shop());
    let mut theirs = config("shop", "settings", "theirs");
    theirs["metadata"]["labels"][OWNER] = "ComponentVersion.other".into();
    let others = Apply { manager: "somebody", force: true, dry_run: false };
    let sentence = "Preflight Owners: ConfigMap shop/settings is in this release but belongs to ComponentVersion.other; it is not overwritten.";
    for (asked, force, begun, held) in [
        (false, false, false, false),
        (true, false, false, true),
        (true, true, false, false),
        (true, false, true, false),
    ] {
        let world = World::new();
        world.state.apply(&theirs, &others).await.unwrap();
        let mut task = task(request(&path, "1.0.0"));
        (task.begun, task.request.force) = (begun, force);
        task.veto = if asked { Veto::WhenBlocking } else { Veto::Never };
        let mut update = start(&world, &settings(), &task);
        let end = |rollout: &Rollout| matches!(rollout, Rollout::NotAccepted { .. } | Rollout::Applying { .. });
        match update.until("an outcome", end).await {
            Rollout::NotAccepted { step, why, .. } => {
                assert!(held, "{asked} {force} {begun}: {why}");
                assert_eq!((step, why.as_str()), (Step::Preconditions, sentence));
            }
            Rollout::Applying { prepared, .. } => {
                assert!(!held, "{asked} {force} {begun}");
                let want: &[&str] = if begun { &[] } else { &[sentence] };
                assert_eq!(prepared.overridden, want);
                let events = world.inner.lock().unwrap().events.clone();
                let told: Vec<&str> = events.iter().map(|event| event.reason.as_str()).collect();
                assert_eq!(told, if begun { vec![] } else { vec!["PreconditionWarn"] });
            }
            _ => unreachable!(),
        }
        assert_eq!(world.log(), Vec::<String>::new(), "preparing writes nothing, and what is theirs is not written");
    }
}

/// V7: the CRDs of a release are compared with those that are there, and their stored objects are checked.
#[tokio::test(start_paused = true)]
async fn what_a_crd_would_do_to_stored_objects_is_found_without_a_write() {
    let root = tempfile::tempdir().unwrap();
    let mut without_size = definition("example.com", "Thing", &["v1"]);
    without_size["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"] =
        serde_json::json!({"colour": {"type": "string"}});
    let crd = |object: &serde_json::Value| vec![("0000_10_a_crd", object.clone())];
    let same = release(root.path(), "1.0.0", &crd(&definition("example.com", "Thing", &["v1"])));
    let lossy = release(root.path(), "1.1.0", &crd(&without_size));
    let orphaning = release(root.path(), "1.2.0", &crd(&definition("example.com", "Thing", &["v2"])));
    let left = release(
        root.path(),
        "1.3.0",
        &crd(&annotated(without_size.clone(), "release.openshift.io/create-only", "true")),
    );
    let lost = "Preflight CRDs: things.example.com: stored objects would lose spec.size (shop/a: spec.size, shop/b: spec.size).";
    let orphaned = "Preflight CRDs: things.example.com: objects may be stored in v1, which the new CRD does not have; \
                    install a version that stores them in another one first.";
    let not_checked = "Preflight CRDs: things.example.com: stored objects could not be listed: the two CRDs have no version in common.";
    for (path, version, expected) in [
        (same, "1.0.0", vec![]),
        (lossy, "1.1.0", vec![lost]),
        (orphaning, "1.2.0", vec![orphaned, not_checked]),
        (left, "1.3.0", vec![]),
    ] {
        let world = World::new();
        let by_others = Apply { manager: "somebody", force: true, dry_run: false };
        for object in [
            definition("example.com", "Thing", &["v1"]),
            custom("example.com", "Thing", "shop", "a", 1),
            custom("example.com", "Thing", "shop", "b", 2),
        ] {
            world.state.apply(&object, &by_others).await.unwrap();
        }
        let mut task = task(request(&path, version));
        task.request.force = true;
        let mut update = start(&world, &settings(), &task);
        let rollout = update.until("it is prepared", |rollout| matches!(rollout, Rollout::Applying { .. })).await;
        let Rollout::Applying { prepared, .. } = rollout else { unreachable!() };
        let found: Vec<&str> =
            prepared.overridden.iter().filter(|one| one.contains("CRDs")).map(String::as_str).collect();
        assert_eq!(found, expected, "{version}");
    }
}

#[tokio::test]
async fn a_release_that_was_fetched_needs_no_registry_again() {
    let Some(testbed) = clearway_testbed::registry().await else { return };
    let root = tempfile::tempdir().unwrap();
    let files: Files = directory(&release(root.path(), "1.0.0", &shop()), &real_settings().limits).unwrap().files;
    let registry = Registry::new(RegistryOptions::default()).unwrap();
    let repository = format!("{}/release", testbed.host()).parse().unwrap();
    let (version, arch) = ("1.0.0".parse().unwrap(), "amd64".parse().unwrap());
    let pushed = push(&registry, &repository, "1.0.0", &files, &version, &arch).await.unwrap();
    let by_digest = format!("{}/release@{}", testbed.host(), pushed.digest);
    let request = UpdateRequest {
        release: Release { version: "1.0.0".to_owned(), image: by_digest, ..Release::default() },
        force: false,
        resumes: false,
    };
    let cache = Cache::directory(root.path().join("cache")).unwrap();
    let settings = Settings { cache, ..real_settings() };
    let said = update(&World::new(), &settings, &task(request.clone())).await;
    assert!(matches!(said.last(), Some(Rollout::Done { .. })), "{said:?}");
    drop(testbed);
    let said = update(&World::new(), &settings, &task(request.clone())).await;
    assert!(matches!(said.last(), Some(Rollout::Done { .. })), "{said:?}");

    // Without what was kept, it is said that the registry does not answer.
    let mut update = start(&World::new(), &real_settings(), &task(request));
    let refused = update.until("a refusal", |rollout| matches!(rollout, Rollout::NotAccepted { .. })).await;
    assert!(matches!(refused, Rollout::NotAccepted { step: Step::Retrieve, .. }), "{refused:?}");
}

/// U23: the version of an image that is in no list is known when it is loaded, and compared then.
#[tokio::test(start_paused = true)]
async fn an_image_that_turns_out_older_is_refused_unless_it_is_forced_or_a_rollback() {
    let root = tempfile::tempdir().unwrap();
    let (path, other) = (release(root.path(), "1.0.0", &shop()), "example.com/r@other".to_owned());
    let image = request(&path, "").release.image;
    let entry = |version: &str, image: &str| UpdateHistory {
        state: UpdateState::Completed,
        started_time: Timestamp::EPOCH,
        completion_time: Some(Timestamp::EPOCH),
        version: version.to_owned(),
        image: image.to_owned(),
        verified: false,
        accepted_risks: String::new(),
    };
    let present = Release { version: "2.0.0".into(), image: "example.com/r@two".into(), ..Release::default() };
    let why = "1.0.0 is older than the current release 2.0.0; without force, only a rollback to the previous release (1.5.0) is allowed";
    for (previous, force, begun, refused) in [
        (("1.5.0", &other), false, false, true),
        (("1.5.0", &other), true, false, false),
        (("1.5.0", &other), false, true, false),
        (("1.0.0", &other), false, false, false),
        (("1.0.0-renamed", &image), false, false, false),
    ] {
        let status = Status {
            desired: present.clone(),
            history: vec![entry("2.0.0", "example.com/r@two"), entry(previous.0, previous.1)],
            ..Status::default()
        };
        let mut task = task(UpdateRequest { force, ..request(&path, "") });
        (task.begun, task.current) = (begun, CurrentRelease::of(&status));
        let mut update = start(&World::new(), &settings(), &task);
        let end = |rollout: &Rollout| matches!(rollout, Rollout::NotAccepted { .. } | Rollout::Done { .. });
        match update.until("an outcome", end).await {
            Rollout::NotAccepted { step, why: said, .. } => {
                assert_eq!((refused, step, said.as_str()), (true, Step::Preconditions, why));
            }
            _ => assert!(!refused, "{previous:?} {force}"),
        }
    }
}
