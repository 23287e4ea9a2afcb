//! Mirrors: answers of another service, kept current, asked for on demand, and served with their age while it is away
//! (U4, U16).

use std::time::Duration;

use clearway_core::{Address, GraphLimits, Timestamp};
use clearway_server::{Config, MirrorOptions, Scope};
use clearway_sources::http::HttpOptions;
use clearway_sources::service::Service;
use clearway_testbed::wait_until;

use crate::client::DEADLINE;
use crate::scripted::{Says, Scripted, graph};
use crate::site::{Data, EMPTY, PREFIX, Site, clock, config};

/// Answers are asked for again after this long.
const FRESH: Duration = Duration::from_mins(1);

/// A mirror that keeps the channels current. Clients wait for upstream until it has answered, on a busy machine too.
pub(crate) fn mirror(upstream: Service, channels: &[&str], clock: fn() -> Timestamp) -> Config {
    let scope = |channel: &&str| Scope { channel: (*channel).to_owned(), arch: "amd64".parse().unwrap() };
    let options = MirrorOptions {
        upstream,
        configured: channels.iter().map(scope).collect(),
        fresh: FRESH,
        kept: None,
        limits: GraphLimits::default(),
        patience: Duration::from_hours(1),
    };
    Config { mirror: Some(options), clock, ..config(None) }
}

fn answered(site: &Site, outcome: &str) -> u64 {
    site.metric(&format!("clearway_upstream_requests_total{{outcome=\"{outcome}\"}}")).unwrap_or(0)
}

/// Waits until the configured channels are there.
async fn ready(site: &Site) {
    wait_until(DEADLINE, "it is ready", async || site.ready().await == 200).await.unwrap();
}

#[tokio::test]
async fn a_mirror_of_another_clearway_answers_the_same() {
    let data = Data::example();
    let origin = Site::start(data.config()).await;
    let url = format!("http://{}{PREFIX}", origin.address);
    let upstream = Service::new(&Address::from(url.as_str()), &HttpOptions::default()).unwrap();
    let site = Site::begin(mirror(upstream, &["stable-1.5"], data.config().clock));
    ready(&site).await;
    for query in ["stable-1.5", "candidate-1.5", "fast-1.5&arch=arm64", "nobody-knows", "stable-1.5&arch=s390x"] {
        let (theirs, ours) = (origin.graph(query).await, site.graph(query).await);
        assert_eq!((ours.status, ours.header("etag")), (200, theirs.header("etag")), "{query}");
        assert!(ours.body == theirs.body, "{query}");
        let tag = ours.header("etag").unwrap();
        let again = site.get_with(&format!("{PREFIX}/graph?channel={query}"), &[("If-None-Match", tag)]).await;
        assert_eq!(again.status, 304, "{query}");
    }
    // There are no files behind it, and never will be.
    for path in ["/graph-data", "/signatures/sha256=ab/signature-1"] {
        assert_eq!(site.get(&format!("{PREFIX}{path}")).await.status, 404, "{path}");
    }
    // What is wrong with a request is said here, and not upstream.
    for path in ["/graph", "/graph?channel=X", "/graph?channel=x&arch=X"] {
        assert_eq!(site.get(&format!("{PREFIX}{path}")).await.status, 400, "{path}");
    }
    let long = site.graph(&format!("stable-1.5&arch={}", "a".repeat(64))).await;
    assert_eq!((long.status, long.text()), (200, EMPTY), "an architecture nobody has heard of");
}

#[tokio::test]
async fn the_age_of_upstream_s_answer_is_part_of_ours() {
    clock!(time);
    let data = Data::of(&["1.0.0"]);
    let mut theirs = data.config();
    theirs.clock = time::now;
    let origin = Site::start(theirs).await;
    let url = format!("http://{}{PREFIX}", origin.address);
    let upstream = Service::new(&Address::from(url.as_str()), &HttpOptions::default()).unwrap();
    let site = Site::begin(mirror(upstream, &[], time::now));
    time::pass(100);
    assert_eq!(site.graph("c").await.age(), 100, "as old as upstream's when it came");
    time::pass(100);
    assert_eq!(origin.graph("c").await.age(), 200);
    // Upstream says that its answer is the same, and that it has not been confirmed any more than before.
    assert_eq!(site.graph("c").await.age(), 200, "as old as upstream's when it was confirmed");
    origin.refresh_now().await;
    time::pass(61);
    assert_eq!(site.graph("c").await.age(), 61, "upstream has seen its source again");

    // An upstream whose answers are old is not asked more often for that.
    let upstream = Scripted::start(Says::This("200 OK", vec![("age", "5000".to_owned())], graph(&["1.0.0"]))).await;
    let site = Site::begin(mirror(upstream.service(), &[], time::now));
    for _ in 0..5 {
        assert_eq!(site.graph("c").await.age(), 5000);
    }
    assert_eq!(upstream.take().len(), 1);
}

#[tokio::test]
async fn configured_channels_are_kept_and_others_are_asked_for_once_on_demand() {
    clock!(time);
    let upstream = Scripted::start(Says::Graph(graph(&["1.0.0"]), Some("\"one\""))).await;
    let site = Site::begin(mirror(upstream.service(), &["a", "b"], time::now));
    ready(&site).await;
    let mut asked = upstream.take();
    asked.sort();
    assert_eq!(asked, ["a", "b"], "before anybody asked");
    for _ in 0..5 {
        assert_eq!(site.graph("a").await.versions(), ["1.0.0"]);
        assert_eq!(site.graph("other").await.versions(), ["1.0.0"]);
    }
    assert_eq!(upstream.take(), ["other"], "once, while it is fresh");
    // After a while it is asked for again, with the tag it came with.
    time::pass(61);
    upstream.says(Says::Graph(graph(&["2.0.0"]), Some("\"two\"")));
    assert_eq!(site.graph("other").await.versions(), ["2.0.0"]);
    time::pass(61);
    let before = answered(&site, "answered");
    let other = site.graph("other").await;
    assert_eq!((other.versions(), other.age()), (vec!["2.0.0".to_owned()], 0), "not modified is as good as new");
    assert_eq!((upstream.take().len(), answered(&site, "answered") - before), (2, 1));
    // Configured ones are for the loop to ask for, not for clients.
    let kept = site.graph("a").await;
    assert_eq!((kept.versions(), kept.age()), (vec!["1.0.0".to_owned()], 122));
    assert_eq!(upstream.take(), [""; 0]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_who_ask_at_once_are_one_request_upstream() {
    let upstream = Scripted::start(Says::Graph(graph(&["1.0.0"]), None)).await;
    let site = Site::begin(mirror(upstream.service(), &[], config(None).clock));
    upstream.hold();
    let address = site.address;
    let clients: Vec<_> = (0..40)
        .map(|_| {
            tokio::spawn(async move {
                crate::client::ask(address, "GET", &format!("{PREFIX}/graph?channel=busy"), &[]).await
            })
        })
        .collect();
    site.connections(40).await;
    wait_until(DEADLINE, "upstream is asked", async || upstream.count() > 0).await.unwrap();
    upstream.release();
    for client in clients {
        assert_eq!(client.await.unwrap().versions(), ["1.0.0"]);
    }
    assert_eq!(upstream.take(), ["busy"]);
}

#[tokio::test]
async fn slow_channels_do_not_delay_others() {
    clock!(time);
    let names = |prefix: &str| (0..40).map(|number| format!("{prefix}{number}")).collect::<Vec<_>>();
    let (configured, demanded) = (names("configured-"), names("demanded-"));
    let upstream = Scripted::start(Says::Graph(graph(&["1.0.0"]), None)).await;
    for channel in configured.iter().chain(&demanded) {
        upstream.never_answers(&[channel]);
    }
    let channels: Vec<&str> = std::iter::once("fast").chain(configured.iter().map(String::as_str)).collect();
    let site = Site::begin(mirror(upstream.service(), &channels, time::now));
    // Neither the configured one, nor the one that a client asks for.
    site.serves("fast", &["1.0.0"]).await;
    site.serves("other", &["1.0.0"]).await;
    for channel in demanded {
        let address = site.address;
        tokio::spawn(async move {
            let mut client = crate::client::Client::connect(address).await;
            client.ask("GET", &format!("{PREFIX}/graph?channel={channel}"), &[]).await
        });
    }
    // As many as are asked for at one time hang until the end of the test, and the rest waits for them.
    wait_until(DEADLINE, "the turns are taken", async || upstream.count() >= 2 + 16 + 16).await.unwrap();
    upstream.says(Says::Graph(graph(&["2.0.0"]), None));
    time::pass(61);
    let other = site.graph("other").await;
    assert_eq!((other.versions(), other.age()), (vec!["2.0.0".to_owned()], 0), "upstream was asked meanwhile");
}

#[tokio::test]
async fn all_answers_together_keep_to_a_cap_in_bytes() {
    let upstream = Scripted::start(Says::Away).await;
    let mut configuration = mirror(upstream.service(), &["kept"], config(None).clock);
    // What gzip makes of a thousand versions: some thousand bytes.
    let many: Vec<String> = (0..1000).map(|number| format!("1.0.{number}")).collect();
    let many = graph(&many.iter().map(String::as_str).collect::<Vec<_>>());
    upstream.says(Says::Graph(many.clone(), None));
    let limits = GraphLimits { mirror_bytes: 8_000, ..GraphLimits::default() };
    configuration.mirror.as_mut().unwrap().limits = limits;
    let site = Site::begin(configuration);
    ready(&site).await;
    let kept = format!("{PREFIX}/graph?channel=kept");
    let packed = site.get_with(&kept, &[("Accept-Encoding", "gzip")]).await.body.len();
    assert!(packed > 2_000 && packed < 4_000, "{packed}: two or three of them fit");
    // A client that takes no packed body gets the whole of it, although there is no room to keep that.
    assert_eq!(site.graph("kept").await.versions().len(), 1000);
    for channel in ["a", "b", "c", "d", "e"] {
        assert_eq!(site.graph(channel).await.versions().len(), 1000, "{channel}");
    }
    let mut asked = upstream.take();
    asked.sort();
    assert_eq!(asked, ["a", "b", "c", "d", "e", "kept"]);
    // Those that were not used for the longest time made room; what is configured did not.
    site.graph("a").await;
    assert_eq!((site.graph("kept").await.status, upstream.take()), (200, vec!["a".to_owned()]));
    // What does not fit alone is not kept, and the client is told why.
    let random: Vec<String> =
        (0..1000).map(|number: u64| format!("1.0.0-{:x}", number.wrapping_mul(0x9e37_79b9_7f4a_7c15))).collect();
    upstream.says(Says::Graph(graph(&random.iter().map(String::as_str).collect::<Vec<_>>()), None));
    let refused = site.graph("large").await;
    assert_eq!(refused.status, 500);
    assert!(
        refused.text().contains("more than 8000 bytes in all mirrored answers (the cap `mirror_bytes`)"),
        "{}",
        refused.text()
    );
}

#[tokio::test]
async fn while_upstream_is_away_older_answers_are_served_with_their_age_also_after_a_restart() {
    clock!(time);
    let cache = tempfile::tempdir().unwrap();
    let upstream = Scripted::start(Says::Graph(graph(&["1.0.0"]), Some("\"one\""))).await;
    let start = || {
        let configuration = mirror(upstream.service(), &["kept"], time::now);
        Site::begin(Config { cache: Some(cache.path().to_owned()), ..configuration })
    };
    let site = start();
    ready(&site).await;
    assert_eq!(site.graph("demanded").await.age(), 0);
    time::pass(100);
    assert_eq!(site.graph("demanded").await.age(), 0, "confirmed");
    upstream.says(Says::Away);
    time::pass(100);
    for _ in 0..3 {
        let (kept, demanded) = (site.graph("kept").await, site.graph("demanded").await);
        assert_eq!((kept.versions(), kept.age()), (vec!["1.0.0".to_owned()], 200));
        assert_eq!((demanded.versions(), demanded.age()), (vec!["1.0.0".to_owned()], 100));
    }
    // It is left alone for a moment after a failure, and then asked again.
    assert_eq!(answered(&site, "failed"), 1);
    time::pass(11);
    assert_eq!(site.graph("demanded").await.age(), 111);
    assert_eq!(answered(&site, "failed"), 2);
    drop(site.running);

    let site = start();
    assert_eq!(site.ready().await, 200, "from the cache");
    let (kept, demanded) = (site.graph("kept").await, site.graph("demanded").await);
    assert_eq!((kept.versions(), kept.age()), (vec!["1.0.0".to_owned()], 211));
    assert_eq!((demanded.versions(), demanded.age()), (vec!["1.0.0".to_owned()], 111), "as last confirmed");
    upstream.says(Says::Graph(graph(&["2.0.0"]), Some("\"two\"")));
    time::pass(11);
    assert_eq!(
        (site.graph("demanded").await.versions(), site.graph("demanded").await.age()),
        (vec!["2.0.0".to_owned()], 0)
    );
}

#[tokio::test]
async fn local_channels_win_and_nothing_of_upstream_is_served_before_they_are_known() {
    let upstream = Scripted::start(Says::Graph(graph(&["9.0.0"]), None)).await;
    let data = Data::of(&["1.0.0"]);
    data.write("channels/c.yaml", "name: [");
    let mut configuration = mirror(upstream.service(), &["m"], config(None).clock);
    configuration.feed = data.config().feed;
    let site = Site::start(configuration).await;
    wait_until(DEADLINE, "upstream answered", async || answered(&site, "answered") == 1).await.unwrap();
    for channel in ["c", "m", "other"] {
        let reply = site.graph(channel).await;
        assert_eq!((reply.status, reply.json()["kind"].as_str()), (503, Some("not_ready")), "{channel}");
    }
    assert_eq!((site.ready().await, upstream.take()), (503, vec!["m".to_owned()]));
    data.release(&["1.0.0"]);
    site.serves("c", &["1.0.0"]).await;
    assert_eq!(site.ready().await, 200);
    assert_eq!(site.graph("m").await.versions(), ["9.0.0"]);
    assert_eq!(site.graph("other").await.versions(), ["9.0.0"]);
    // A channel of ours is ours for every architecture.
    assert_eq!(site.graph("c&arch=arm64").await.text(), EMPTY);
    assert_eq!(upstream.take(), ["other"]);
    assert_eq!(site.get(&format!("{PREFIX}/graph-data")).await.status, 200);
}
