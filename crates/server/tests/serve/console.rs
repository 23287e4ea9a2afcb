//! The console over real sockets: what it answers, which headers it sends, and what it keeps.

use std::net::{SocketAddr, TcpListener};
use std::path::Path;

use clearway_core::Timestamp;
use clearway_server::ServiceOptions;
use clearway_server::console::{Console, RunningConsole};
use serde_json::json;

use crate::client::{self, Reply};
use crate::site::{Data, PREFIX, Site};

/// A service with a console.
pub(crate) struct ConsoleSite {
    pub(crate) site: Site,
    pub(crate) address: SocketAddr,
    _console: RunningConsole,
}

fn clock() -> Timestamp {
    Timestamp::from_seconds(1_700_000_100).unwrap()
}

impl ConsoleSite {
    pub(crate) async fn start(data: &Data) -> Self {
        let mut config = data.config();
        config.service = ServiceOptions { console: true, ..ServiceOptions::default() };
        let site = Site::start(config).await;
        let console = Console::new("1.2.3", clock).with_service(site.running.service().clone());
        let console = RunningConsole::start(console, TcpListener::bind("127.0.0.1:0").unwrap()).unwrap();
        ConsoleSite { site, address: console.address(), _console: console }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}/console/{path}", self.address)
    }

    async fn get(&self, path: &str) -> Reply {
        self.get_with(path, &[]).await
    }

    async fn get_with(&self, path: &str, headers: &[(&str, &str)]) -> Reply {
        client::ask(self.address, "GET", &format!("/console/{path}"), headers).await
    }
}

/// A channel and a risk whose texts try to be markup, links that run, and text that deceives.
pub(crate) fn hostile() -> Data {
    let data = Data::of(&["1.0.0", "1.0.1"]);
    let text = "</title></pre><script>document.body.innerHTML='taken'</script><img src=x onerror=\"document.title='taken'\"> \
                \u{202e}gnp.exe \u{7} '\" {{7*7}} {% raw %}";
    // JSON is YAML.
    let channel = json!({"name": text, "versions": ["1.0.0", "1.0.1"]});
    let rule = json!({"type": "<b>bold</b>", "x": "</pre><script>alert(2)</script>"});
    let block = json!({
        "to": "1.0.1",
        "from": ".*",
        "name": "<script>alert(1)</script>",
        "url": "javascript:alert(document.domain)",
        "message": text,
        "matchingRules": [rule],
    });
    data.write("channels/h.yaml", channel.to_string());
    data.write("blocked-edges/1.0.1-a.yaml", block.to_string());
    data
}

#[tokio::test]
async fn every_page_has_the_headers_that_bind_browsers() {
    let data = Data::example();
    let console = ConsoleSite::start(&data).await;
    for (path, status) in [
        ("", 200),
        ("channel?channel=stable-1.5", 200),
        ("channel?channel=nothing", 404),
        ("channel", 400),
        ("update?channel=candidate-1.5&from=1.4.0&to=1.5.0", 200),
        ("risks", 200),
        ("risk?name=SlowEtcd", 200),
        ("risk?name=Nothing", 404),
        ("revisions", 200),
        ("revision?id=nothing", 404),
        ("health", 200),
        ("policies", 404),
        ("cluster-update?kind=a&name=b&version=1.0.0", 404),
        ("nothing", 404),
    ] {
        let reply = console.get(path).await;
        assert_eq!(reply.status, status, "{path}: {}", reply.text());
        let policy = reply.header("content-security-policy").unwrap();
        assert!(policy.starts_with("default-src 'none'; ") && !policy.contains("unsafe"), "{policy}");
        assert_eq!(reply.header("x-content-type-options"), Some("nosniff"));
        assert_eq!(reply.header("referrer-policy"), Some("no-referrer"));
        assert_eq!(reply.header("content-type"), Some("text/html; charset=utf-8"), "{path}");
        let text = reply.text();
        assert!(!text.contains("<style") && !text.contains(" style=") && !text.contains("<script>"), "{path}");
        assert!(text.contains("<h1>") && text.trim_end().ends_with("</html>"), "{path}: {text}");
    }
}

#[tokio::test]
async fn pages_of_a_revision_are_kept_and_have_tags() {
    let data = Data::example();
    let console = ConsoleSite::start(&data).await;
    let path = "channel?channel=candidate-1.5";
    let first = console.get(path).await;
    let tag = first.header("etag").unwrap().to_owned();
    assert_eq!(first.header("cache-control"), Some("no-cache"));
    let again = console.get_with(path, &[("If-None-Match", &tag)]).await;
    assert_eq!((again.status, again.body.len()), (304, 0));
    let packed = console.get_with(path, &[("Accept-Encoding", "gzip")]).await;
    assert_eq!(packed.header("content-encoding"), Some("gzip"));
    assert!(packed.body.len() < first.body.len() / 2, "{} {}", packed.body.len(), first.body.len());
    assert_eq!(console.get("").await.header("cache-control"), Some("no-store"), "the present is not kept");
    // Another revision is another page.
    data.write("channels/candidate-1.5.yaml", "name: candidate-1.5\nversions: [1.5.1, 1.5.2]\n");
    console.site.refresh_now().await;
    let changed = console.get_with(path, &[("If-None-Match", &tag)]).await;
    assert_eq!(changed.status, 200);
    assert!(changed.text().contains("2 versions"), "{}", changed.text());
}

#[tokio::test]
async fn files_have_names_of_their_content_and_are_kept_for_good() {
    let data = Data::example();
    let console = ConsoleSite::start(&data).await;
    let page = console.get("").await;
    let links: Vec<&str> = page.text().split(['"']).filter(|part| part.starts_with("/console/assets/")).collect();
    assert_eq!(links.len(), 3, "{links:?}");
    for link in links {
        let reply = client::ask(console.address, "GET", link, &[]).await;
        assert_eq!(reply.status, 200, "{link}");
        assert_eq!(reply.header("cache-control"), Some("public, max-age=31536000, immutable"));
        assert!(
            !reply.text().contains("http://")
                || Path::new(link).extension().is_some_and(|extension| extension == "svg"),
            "{link} refers to nothing elsewhere"
        );
    }
    assert_eq!(console.get("assets/console-0000000000000000.js").await.status, 404);
}

#[tokio::test]
async fn the_console_only_reads_and_the_service_stays_as_it_is() {
    let data = Data::example();
    let console = ConsoleSite::start(&data).await;
    for method in ["POST", "PUT", "DELETE", "OPTIONS"] {
        let reply = client::ask(console.address, method, "/console/", &[]).await;
        assert_eq!((reply.status, reply.header("allow")), (405, Some("GET, HEAD")), "{method}");
    }
    for path in ["/", "/console"] {
        let reply = client::ask(console.address, "GET", path, &[]).await;
        assert_eq!((reply.status, reply.header("location")), (302, Some("/console/")));
    }
    let foreign = client::ask(console.address, "GET", "/console/", &[("Host", "attacker.example")]).await;
    assert_eq!(foreign.status, 421, "a name of someone else leads here");
    let long = client::ask(console.address, "GET", &format!("/console/risk?name={}", "x".repeat(5_000)), &[]).await;
    assert_eq!(long.status, 414);
    // The paths of the service are not in the console, and the other way round.
    assert_eq!(client::ask(console.address, "GET", &format!("{PREFIX}/graph?channel=a"), &[]).await.status, 404);
    assert_eq!(console.site.get("/console/").await.status, 404);
}

#[tokio::test]
async fn the_state_of_the_source_is_shown() {
    let data = Data::example();
    let console = ConsoleSite::start(&data).await;
    let healthy = console.get("health").await;
    assert!(healthy.text().contains("Clearway 1.2.3") && healthy.text().contains("Clients are answered."));
    assert!(!healthy.text().contains("Not working"), "{}", healthy.text());
    data.write("channels/broken.yaml", "name: [\n");
    console.site.refresh_now().await;
    let overview = console.get("").await;
    assert!(overview.text().contains("the last good revision is served"), "{}", overview.text());
    assert!(overview.text().contains("stable-1.5"), "what is served is still shown");
}

#[tokio::test]
async fn a_console_without_a_graph_says_so() {
    let data = Data::of(&["1.0.0"]);
    data.write("channels/c.yaml", "name: [\n");
    let console = ConsoleSite::start(&data).await;
    assert!(console.get("").await.text().contains("No graph could be read yet."));
    assert_eq!(console.get("risks").await.status, 503);
    assert_eq!(console.get("channel?channel=c").await.status, 503);
}

#[tokio::test]
async fn a_revision_says_what_it_changed() {
    let data = Data::of(&["1.0.0", "1.0.1", "1.0.2"]);
    let console = ConsoleSite::start(&data).await;
    assert!(console.get("revisions").await.text().contains("the first since the start"));
    data.write(
        "blocked-edges/1.0.2-Slow.yaml",
        "to: 1.0.2\nfrom: .*\nname: Slow\nurl: https://example.com/slow\nmessage: It is slow.\nmatchingRules: [{type: Always}]\n",
    );
    console.site.refresh_now().await;
    let list = console.get("revisions").await;
    assert!(list.text().contains("changes in 1 graphs of channels"), "{}", list.text());
    let link = list.text().split('"').find(|part| part.starts_with("/console/revision?id=")).unwrap().to_owned();
    let page = client::ask(console.address, "GET", &link, &[]).await;
    for text in ["c (amd64)", "Became conditional", "1.0.1 → 1.0.2", "Slow", "blocked-edges/1.0.2-Slow.yaml (added)"]
    {
        assert!(page.text().contains(text), "{text}: {}", page.text());
    }
}

#[tokio::test]
async fn what_others_wrote_is_never_markup() {
    let console = ConsoleSite::start(&hostile()).await;
    let overview = console.get("").await;
    let channel =
        overview.text().split('"').find(|part| part.starts_with("/console/channel?") && part.contains("script"));
    let channel = channel.unwrap().replace("&amp;", "&").replace("&#38;", "&");
    let mut pages = vec![channel.clone(), channel.replace("/channel?", "/update?") + "&from=1.0.0&to=1.0.1"];
    pages.extend(
        ["/console/", "/console/risks", "/console/risk?name=%3Cscript%3Ealert(1)%3C%2Fscript%3E"].map(str::to_owned),
    );
    for path in pages {
        let reply = client::ask(console.address, "GET", &path, &[]).await;
        assert_eq!(reply.status, 200, "{path}: {}", reply.text());
        // What a form sends back has to be what it was; nobody sees it.
        let is_sent_back = |line: &&str| line.starts_with("<input type=\"hidden\"");
        let text: String = reply.text().lines().filter(|line| !is_sent_back(line)).collect();
        for markup in ["<script>", "<img", "<b>", "href=\"javascript", "\u{202e}", "\u{7}", "onerror=\""] {
            assert!(!text.contains(markup), "{path}: {markup}");
        }
        assert!(text.contains("&#60;script&#62;") || text.contains("&lt;script&gt;"), "{path}: {text}");
    }
}
