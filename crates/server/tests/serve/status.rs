//! The other listener: probes and metrics, as Kubernetes and Prometheus ask for them (U16).

use crate::client::ask;
use crate::site::{Data, PREFIX, Site};

#[tokio::test]
async fn probes_and_metrics_are_at_their_paths_and_nothing_else_is_here() {
    let data = Data::of(&["1.0.0"]);
    let site = Site::start(data.config()).await;
    site.graph("c").await;
    for (path, status, content_type) in [
        ("/livez", 200, "text/plain; charset=utf-8"),
        ("/readyz", 200, "text/plain; charset=utf-8"),
        ("/readyz?verbose", 200, "text/plain; charset=utf-8"),
        ("/metrics", 200, "application/openmetrics-text; version=1.0.0; charset=utf-8"),
        ("/", 404, "text/plain; charset=utf-8"),
        ("/api/upgrades_info/graph?channel=c", 404, "text/plain; charset=utf-8"),
    ] {
        let get = ask(site.status, "GET", path, &[]).await;
        assert_eq!((get.status, get.header("content-type")), (status, Some(content_type)), "{path}");
        assert_eq!(ask(site.status, "HEAD", path, &[]).await.status, status, "{path}");
        let post = ask(site.status, "POST", path, &[]).await;
        assert_eq!((post.status, post.header("allow")), (405, Some("GET, HEAD")), "{path}");
    }
    for path in ["/livez", "/readyz", "/metrics"] {
        assert_eq!(site.get(path).await.status, 404, "{path} is none of the service");
    }
    assert_eq!(site.get(&format!("{PREFIX}/metrics")).await.status, 404);
}

#[tokio::test]
async fn metrics_tell_of_requests_by_few_names_whatever_is_asked_for() {
    let data = Data::example();
    let site = Site::start(data.config()).await;
    for number in 0..50 {
        site.graph(&format!("channel-{number}")).await;
        site.get(&format!("/nothing/{number}")).await;
        site.get(&format!("{PREFIX}/signatures/sha256={number}/signature-{number}")).await;
    }
    let text = ask(site.status, "GET", "/metrics", &[]).await.text().to_owned();
    assert!(text.ends_with("# EOF\n"), "{text}");
    assert!(!text.contains("channel-1") && !text.contains("/nothing") && !text.contains("signature-1"), "{text}");
    for (path, code) in [("graph", 200), ("other", 404), ("signatures", 404)] {
        let name = format!("clearway_http_requests_total{{path=\"{path}\",code=\"{code}\"}}");
        assert_eq!(site.metric(&name), Some(50), "{text}");
    }
    assert_eq!(site.metric("clearway_http_errors_total{kind=\"not_found\",code=\"404\"}"), Some(50));
    let revision = site.running.service().publication().unwrap().revision().to_string();
    assert_eq!(site.metric(&format!("clearway_revision{{revision=\"{revision}\"}}")), Some(1));
    assert_eq!((site.metric("clearway_releases"), site.metric("clearway_channels")), (Some(16), Some(3)));
    assert!(text.contains("clearway_revision_confirmed_timestamp_seconds 1700000000.0"), "{text}");
}
