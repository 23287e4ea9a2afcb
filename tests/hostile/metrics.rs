//! Attacks by whoever answers queries in place of Prometheus: the rule that asks is not judged, and all others are.

use std::fs;

use serde::Deserialize;
use serde_json::{Value, json};

use crate::attack::{self, Content};
use crate::evidence::advice as advice_of;
use crate::operator::{Operator, advice, is_recommended};
use crate::program::{MARKER, run, shortened};
use crate::stranger::{End, Said, Stranger};

/// What is answered to the query of the update to 1.1.0; that of 1.2.0 is answered as it should be.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Attack {
    /// What somebody tries.
    title: String,
    #[serde(default = "attack::ok")]
    status: u16,
    /// Lines of the head.
    #[serde(default)]
    head: Vec<(String, String)>,
    /// `{now}` in it is the time.
    answer: Content,
    #[serde(default)]
    end: End,
    /// Why the rule is not judged.
    #[serde(default)]
    says: String,
}

impl Attack {
    /// What is said to whoever asks for `touched`; all other queries are answered as they should be.
    fn script(&self) -> impl Fn(&str) -> Said + Send + 'static {
        let (status, end, head) = (self.status, self.end, self.head.clone());
        let body = self.answer.bytes().unwrap();
        // Bytes that are no text are not changed.
        let text = String::from_utf8(body.clone()).ok().filter(|text| text.contains("{now}"));
        move |asked| {
            if !asked.contains("touched") {
                return good(asked);
            }
            let body =
                text.as_ref().map_or_else(|| body.clone(), |text| text.replace("{now}", &now().to_string()).into());
            let mut said = Said { status, end, ..Said::json(body) };
            said.head.extend(head.iter().cloned());
            said
        }
    }
}

fn graph() -> Value {
    let node = |version: &str| json!({"version": version, "payload": format!("r.example.com/p:{version}")});
    let conditional = |to: &str, name: &str, query: &str| {
        let rules = json!([{"type": "PromQL", "promql": {"promql": query}}]);
        let risk = json!({"name": name, "url": "https://example.com", "message": "It breaks.", "matchingRules": rules});
        json!({"edges": [{"from": "1.0.0", "to": to}], "risks": [risk]})
    };
    json!({
        "nodes": [node("1.0.0"), node("1.1.0"), node("1.2.0")],
        "edges": [],
        "conditionalEdges": [conditional("1.1.0", "Touched", "max(touched)"), conditional("1.2.0", "Watched", "max(broken)")],
    })
}

fn now() -> u64 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs()
}

/// A value of zero now, as Prometheus says it: of a query, of raw samples, or of many clusters.
pub(crate) fn good(asked: &str) -> Said {
    let labels = json!({"__name__": "broken", "secret": MARKER, "_id": CLUSTER});
    let (kind, result) = if asked.contains("%5B") {
        ("matrix", json!([{"metric": labels, "values": [[now() - 1, "0"]]}]))
    } else {
        ("vector", json!([{"metric": labels, "value": [now(), "0"]}]))
    };
    Said::json(json!({"status": "success", "data": {"resultType": kind, "result": result}}).to_string())
}

/// The cluster of a fleet.
const CLUSTER: &str = "0d9fd3a5-8b7e-4b7a-9a52-1d4a5a4a1f6c";

#[test]
fn metrics_for_the_operator() {
    let place = tempfile::tempdir().unwrap();
    let service = Stranger::start(|_| Said::json(graph().to_string()));
    let prometheus = Stranger::start(good);
    let (upstream, store) = (format!("http://{}/api", service.host), format!("http://{}", prometheus.host));
    let mut operator = Operator::start(place.path(), &["--upstream", &upstream, "--prometheus", &store]);
    let both = |status: &Value| is_recommended(status, "1.1.0") && is_recommended(status, "1.2.0");
    operator.until("both updates are recommended", both);
    for (name, attack) in attack::all::<Attack>("metrics") {
        let what = format!("{name} ({})", attack.title);
        prometheus.says(attack.script());
        let status =
            operator.until(&what, |status| advice(status, "1.1.0").is_some_and(|(status, _)| status == "Unknown"));
        assert!(is_recommended(&status, "1.2.0"), "{what}: the other update");
        let (_, message) = advice(&status, "1.1.0").unwrap();
        assert!(message.contains("Touched") && message.contains(&attack.says), "{what}: {message}");
        prometheus.says(good);
        operator.until(&format!("after {what}, both updates are recommended"), both);
    }
    operator.end();
}

/// Every command that asks a Prometheus: what is touched is unknown, and the rest is as it was.
#[test]
fn metrics_for_commands() {
    let place = tempfile::tempdir().unwrap();
    fs::write(place.path().join("graph.json"), graph().to_string()).unwrap();
    let clusters = format!("- {{id: {CLUSTER}, version: 1.0.0, channel: c, arch: amd64}}\n");
    fs::write(place.path().join("clusters.yaml"), clusters).unwrap();
    let prometheus = Stranger::start(good);
    let store = format!("http://{}", prometheus.host);
    let of_cluster = ["--graph", "graph.json", "--version", "1.0.0", "--cluster-id", CLUSTER];
    for (name, attack) in attack::all::<Attack>("metrics") {
        let what = format!("{name} ({})", attack.title);
        prometheus.says(attack.script());
        let kept = format!("kept-{name}");
        let live = run(place.path(), &[&["assess", "--prometheus", &store, "-o", "json"][..], &of_cluster].concat());
        let collect = ["snapshot", "collect", "--prometheus", &store, "--output-dir", &kept];
        let collected = run(place.path(), &[&collect[..], &of_cluster].concat());
        assert!(collected.code != 0 && collected.text.contains("touched"), "{what}: {}", shortened(&collected.text));
        let replayed = run(place.path(), &[&["assess", "--snapshot", &kept, "-o", "json"][..], &of_cluster].concat());
        for (way, assessed) in [("live", &live), ("kept", &replayed)] {
            let status = |version: &str| advice_of(assessed, version).map(|(status, _)| status);
            let text = shortened(&assessed.text);
            assert_eq!(status("1.1.0").as_deref(), Some("Unknown"), "{what}, {way}: {text}");
            assert_eq!(status("1.2.0").as_deref(), Some("True"), "{what}, {way}: {text}");
        }
        let (_, message) = advice_of(&live, "1.1.0").unwrap();
        assert!(message.contains(&attack.says), "{what}: {message}");
        let fleet = ["fleet", "assess", "--graph", "graph.json", "--prometheus", &store, "--clusters", "clusters.yaml"];
        let fleet = run(place.path(), &fleet);
        assert!(fleet.text.contains("1.2.0"), "{what}: {}", shortened(&fleet.text));
        assert!(!fleet.text.contains("Touched applies"), "{what}: {}", shortened(&fleet.text));
    }
}
