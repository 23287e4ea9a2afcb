//! A registry that fails: now and then, half of the time, for good, and with wrong answers.

use std::time::Duration;

use clearway_core::{Digest, Limits, RegistryLimits};
use clearway_sources::oci::{self, Cache, Image, Registry, RegistryOptions, SkipReason};
use clearway_testbed::images::{Family, Pusher, gzip, release_layer, tar};
use clearway_testbed::{IN_TIME, registry};
use hyper::StatusCode;
use serde_json::json;

use crate::proxy::{Answer, Proxy, status};
use crate::{hurried, quick, scrape, scrape_as, versions};

async fn push_some(base_url: &str) {
    let push = Pusher::new(base_url, "a");
    for minor in 0..6 {
        push.release(&format!("v{minor}"), &format!("1.{minor}.0"), "amd64").await;
    }
}

#[tokio::test]
async fn a_registry_that_fails_half_of_the_time_gives_everything() {
    let Some(registry) = registry().await else { return };
    push_some(&registry.base_url()).await;
    let whole = scrape(&registry.host(), "a", &Cache::none()).await.unwrap();
    assert_eq!(whole.releases, 6);
    let proxy =
        Proxy::start(registry.base_url(), |asked| if asked.number % 2 == 0 { status(502) } else { Answer::Pass }).await;
    let scraped = scrape(proxy.host(), "a", &Cache::none()).await.unwrap();
    assert_eq!((versions(&scraped), scraped.left_out), (versions(&whole), whole.left_out));
}

#[tokio::test]
async fn whatever_goes_wrong_once_is_tried_again() {
    let Some(registry) = registry().await else { return };
    let push = Pusher::new(&registry.base_url(), "a");
    push.release("one", "1.0.0", "amd64").await;
    let busy = Answer::Say(StatusCode::TOO_MANY_REQUESTS, vec![("retry-after", "3600".to_owned())], vec![]);
    for (name, fault, options) in [
        ("502", status(502), quick()),
        ("500", status(500), quick()),
        ("429", busy, quick()),
        ("429 without a time", status(429), quick()),
        ("cut", Answer::Cut, quick()),
        ("hang", Answer::Hang, hurried()),
        ("stall", Answer::Stall, hurried()),
    ] {
        let script = move |asked: &crate::proxy::Asked| if asked.before == 0 { fault.clone() } else { Answer::Pass };
        let proxy = Proxy::start(registry.base_url(), script).await;
        let registry = Registry::new(options).unwrap();
        let scraped = scrape_as(&registry, proxy.host(), "a", &Cache::none()).await.unwrap();
        assert_eq!(versions(&scraped), ["1.0.0"], "{name}");
        assert_eq!(scraped.left_out, [], "{name}");
    }
}

#[tokio::test]
async fn a_layer_that_is_cut_or_stalls_in_its_middle_is_read_again() {
    let Some(registry) = registry().await else { return };
    let push = Pusher::new(&registry.base_url(), "a");
    // Large enough that half of it holds the metadata, which must not count before the rest was seen.
    let noise: Vec<u8> =
        (0..5000_u32).flat_map(|number| Digest::sha256(&number.to_le_bytes()).hex().to_owned().into_bytes()).collect();
    let metadata = clearway_testbed::images::metadata("1.0.0", &json!({}));
    let layer = tar(&[("release-manifests/release-metadata", &metadata), ("noise", &noise)]);
    let layer = push.image(Family::Oci, Some("one"), "amd64", vec![layer]).await;
    for (fault, options, attempts) in [(Answer::Cut, quick(), 3..=3), (Answer::Hang, hurried(), 3..=usize::MAX)] {
        let script = move |asked: &crate::proxy::Asked| {
            if asked.line.contains("/blobs/") && asked.before < 2 { fault.clone() } else { Answer::Pass }
        };
        let proxy = Proxy::start(registry.base_url(), script).await;
        let scraped = scrape_as(&Registry::new(options).unwrap(), proxy.host(), "a", &Cache::none()).await.unwrap();
        assert_eq!(crate::listed(&scraped)[0].2, layer.digest);
        let asked = proxy.take();
        let mut blobs = std::collections::BTreeMap::<&String, usize>::new();
        for line in asked.iter().filter(|line| line.contains("/blobs/")) {
            *blobs.entry(line).or_default() += 1;
        }
        // The configuration and the layer.
        assert_eq!(blobs.len(), 2, "{asked:#?}");
        assert!(blobs.values().all(|count| attempts.contains(count)), "{asked:#?}");
    }
}

#[tokio::test]
async fn a_tag_that_cannot_be_read_fails_the_whole_and_the_next_scrape_goes_on() {
    let Some(registry) = registry().await else { return };
    push_some(&registry.base_url()).await;
    let well = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let now_well = std::sync::Arc::clone(&well);
    let proxy = Proxy::start(registry.base_url(), move |asked| {
        let ill = !well.load(std::sync::atomic::Ordering::SeqCst);
        if ill && asked.line.contains("/manifests/v3") { status(503) } else { Answer::Pass }
    })
    .await;
    let directory = tempfile::tempdir().unwrap();
    let cache = Cache::directory(directory.path()).unwrap();
    let error = scrape(proxy.host(), "a", &cache).await.unwrap_err();
    assert!(error.is_passing());
    assert_eq!(
        error.to_string(),
        format!(
            "{}/a:v3: failed after 12 attempts: the registry answers 503 Service Unavailable; try again when the registry is available",
            proxy.host()
        )
    );
    let asked = proxy.take();
    let attempts = asked.iter().filter(|line| line.contains("/manifests/v3")).count();
    assert_eq!(attempts, 36, "three rounds of twelve");
    now_well.store(true, std::sync::atomic::Ordering::SeqCst);
    assert_eq!(scrape(proxy.host(), "a", &cache).await.unwrap().releases, 6);
}

#[tokio::test]
async fn an_image_that_fails_is_never_taken_for_no_release() {
    let Some(registry) = registry().await else { return };
    push_some(&registry.base_url()).await;
    let directory = tempfile::tempdir().unwrap();
    let cache = Cache::directory(directory.path()).unwrap();
    let proxy =
        Proxy::start(
            registry.base_url(),
            |asked| if asked.line.contains("/blobs/") { status(502) } else { Answer::Pass },
        )
        .await;
    scrape(proxy.host(), "a", &cache).await.unwrap_err();
    assert_eq!(std::fs::read_dir(directory.path().join("releases")).unwrap().count(), 0);
    drop(proxy);
    assert_eq!(scrape(&registry.host(), "a", &cache).await.unwrap().releases, 6);
}

#[tokio::test]
async fn a_registry_that_is_down_is_noticed_soon() {
    let Some(registry) = registry().await else { return };
    let host = registry.host();
    drop(registry);
    let error = scrape(&host, "a", &Cache::none()).await.unwrap_err();
    assert_eq!(error.kind(), "unreachable");
    assert!(error.to_string().contains("Connection refused"), "{error}");
}

#[tokio::test]
async fn wrong_bytes_and_missing_layers_leave_out_the_release_and_are_not_kept() {
    let Some(registry) = registry().await else { return };
    let push = Pusher::new(&registry.base_url(), "a");
    push.release("good", "1.0.0", "amd64").await;
    let layer = release_layer("2.0.0", &json!({}));
    let wrong = Digest::sha256(&layer);
    push.image(Family::Docker, Some("bad"), "amd64", vec![layer.clone()]).await;
    let directory = tempfile::tempdir().unwrap();
    let cache = Cache::directory(directory.path()).unwrap();
    let mut flipped = layer.clone();
    *flipped.last_mut().unwrap() ^= 1;
    let longer = [layer.clone(), vec![0]].concat();
    for (answer, want) in [
        (Some(flipped), "does not match the digest"),
        (Some(longer), "does not match the digest"),
        (None, "has no such layer or configuration"),
    ] {
        let wrong = wrong.to_string();
        let proxy = Proxy::start(registry.base_url(), move |asked| match &answer {
            _ if !asked.line.contains(&wrong) => Answer::Pass,
            Some(bytes) => Answer::Say(StatusCode::OK, vec![], bytes.clone()),
            None => status(404),
        })
        .await;
        let scraped = scrape(proxy.host(), "a", &cache).await.unwrap();
        assert_eq!(versions(&scraped), ["1.0.0"]);
        let [left] = &scraped.left_out[..] else { panic!("{:?}", scraped.left_out) };
        assert!(left.tag == "bad" && left.why.to_string().contains(want), "{left}");
    }
    assert_eq!(scrape(&registry.host(), "a", &cache).await.unwrap().releases, 2);
}

#[tokio::test]
async fn too_much_is_refused() {
    let Some(registry) = registry().await else { return };
    let push = Pusher::new(&registry.base_url(), "a");
    let bomb = gzip(&tar(&[("zeros", &vec![0; 4 << 20])]));
    push.image(Family::Docker, Some("bomb"), "amd64", vec![bomb]).await;
    push.release("one", "1.0.0", "amd64").await;
    let small =
        RegistryOptions { limits: RegistryLimits { unpacked_bytes: 1 << 20, ..RegistryLimits::default() }, ..quick() };
    let scraped = scrape_as(&Registry::new(small).unwrap(), &registry.host(), "a", &Cache::none()).await.unwrap();
    assert_eq!(versions(&scraped), ["1.0.0"]);
    assert!(
        matches!(&scraped.left_out[0].why, SkipReason::Broken { what } if what.ends_with("more than 1048576 bytes (the cap `unpacked_bytes`)")),
        "{:?}",
        scraped.left_out
    );

    let small = RegistryOptions { limits: RegistryLimits { layer_bytes: 10, ..RegistryLimits::default() }, ..quick() };
    let scraped = scrape_as(&Registry::new(small).unwrap(), &registry.host(), "a", &Cache::none()).await.unwrap();
    assert_eq!((scraped.releases, scraped.left_out.len()), (0, 2));
    assert!(
        scraped.left_out[0]
            .why
            .to_string()
            .contains("more than 10 bytes in all layers of one image (the cap `layer_bytes`)"),
        "{}",
        scraped.left_out[0]
    );

    let proxy = Proxy::start(registry.base_url(), |asked| {
        if asked.line.contains("tags/list") {
            Answer::Say(StatusCode::OK, vec![], vec![b' '; 17 << 20])
        } else {
            Answer::Pass
        }
    })
    .await;
    let error = scrape(proxy.host(), "a", &Cache::none()).await.unwrap_err();
    assert_eq!(error.kind(), "too_large");

    let usual = RegistryLimits::default;
    for (limits, says) in [
        (RegistryLimits { page_bytes: 5, ..usual() }, "larger than 5 bytes (the cap `page_bytes`)"),
        (RegistryLimits { tags: 1, ..usual() }, "more than 1 tags in one repository (the cap `tags`)"),
        (RegistryLimits { manifest_bytes: 5, ..usual() }, "larger than 5 bytes (the cap `manifest_bytes`)"),
    ] {
        let small = Registry::new(RegistryOptions { limits, ..quick() }).unwrap();
        let why = match scrape_as(&small, &registry.host(), "a", &Cache::none()).await {
            Ok(scraped) => scraped.left_out.first().map(ToString::to_string).unwrap_or_default(),
            Err(error) => error.to_string(),
        };
        assert!(why.contains(says), "{why}");
    }
}

#[tokio::test]
async fn what_is_no_registry_is_said_to_be_none() {
    let Some(registry) = registry().await else { return };
    for (answer, want) in [("<html>", "it is not a list of tags"), (r#"{"tags": [7]}"#, "it is not a list of tags")] {
        let proxy =
            Proxy::start(registry.base_url(), move |_| Answer::Say(StatusCode::OK, vec![], answer.into())).await;
        let error = scrape(proxy.host(), "a", &Cache::none()).await.unwrap_err();
        assert!(error.kind() == "protocol" && error.to_string().contains(want), "{error}");
    }
    let elsewhere = vec![("link", "<https://example.com/next>; rel=\"next\"".to_owned())];
    let proxy = Proxy::start(registry.base_url(), move |_| {
        Answer::Say(StatusCode::OK, elsewhere.clone(), br#"{"tags": []}"#.to_vec())
    })
    .await;
    let error = scrape(proxy.host(), "a", &Cache::none()).await.unwrap_err();
    assert!(error.to_string().contains("its next page is on another host"), "{error}");
    let away = vec![("location", "http://example.com/".to_owned())];
    let proxy = Proxy::start(registry.base_url(), move |_| Answer::Say(StatusCode::FOUND, away.clone(), vec![])).await;
    let error = scrape(proxy.host(), "a", &Cache::none()).await.unwrap_err();
    assert!(error.to_string().contains("it redirects to a host without TLS"), "{error}");
}

#[tokio::test]
async fn a_refusal_that_never_ends_is_not_waited_for() {
    let Some(registry) = registry().await else { return };
    let proxy = Proxy::start(registry.base_url(), |_| Answer::Trickle(StatusCode::FORBIDDEN)).await;
    let read = async { scrape_as(&Registry::new(hurried()).unwrap(), proxy.host(), "a", &Cache::none()).await };
    let error = tokio::time::timeout(IN_TIME, read).await.expect("it ends").unwrap_err();
    assert!(error.kind() == "denied" && error.to_string().contains("403 Forbidden"), "{error}");
}

#[tokio::test]
async fn a_source_that_is_not_read_in_time_is_given_up_and_named() {
    let Some(registry) = registry().await else { return };
    let push = Pusher::new(&registry.base_url(), "a");
    push.release("latest", "1.0.0", "amd64").await;
    // Every single answer could take far longer.
    let options = RegistryOptions { deadline: Duration::from_millis(200), timeout: Duration::from_hours(1), ..quick() };
    let proxy =
        Proxy::start(
            registry.base_url(),
            |asked| {
                if asked.line.contains("/blobs/") { Answer::Stall } else { Answer::Pass }
            },
        )
        .await;
    let connection = Registry::new(options).unwrap();
    let image: Image = format!("{}/a:latest", proxy.host()).parse().unwrap();
    let limits = Limits::default();
    let error = scrape_as(&connection, proxy.host(), "a", &Cache::none()).await.unwrap_err();
    let graph = oci::graph_data(&connection, &image, &Cache::none(), &limits, &[]).await.unwrap_err();
    let catalog = oci::catalog_files(&connection, &image, &limits, &[]).await.unwrap_err();
    for error in [error, graph, catalog] {
        let text = error.to_string();
        assert!(error.kind() == "deadline" && error.is_passing() && text.contains(proxy.host()), "{text}");
    }
}
