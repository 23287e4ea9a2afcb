//! Attacks by whoever answers queries in place of Prometheus: the rule that asks is not judged, and all others are.

use std::fs;

use serde::Deserialize;
use serde_json::{Value, json};

use crate::answers::{PASSWORD, TOKEN, USER, shows_no_credentials};
use crate::attack::{self, Content};
use crate::evidence::{advice as advice_of, json_of};
use crate::operator::{Operator, advice, is_recommended, write_state};
use crate::program::{MARKER, get, run, shortened};
use crate::stranger::{End, Said, Stranger};

/// What is answered about `touched`, which the update to 1.1.0 depends on; what that to 1.2.0 needs is answered as it should be.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Attack {
    /// What somebody tries.
    title: String,
    #[serde(default = "attack::ok")]
    status: u16,
    /// Lines of the head, in which `{elsewhere}` is another host.
    #[serde(default)]
    head: Vec<(String, String)>,
    /// `{now}` in it is the time that is asked for, `{later}` an hour after it.
    answer: Content,
    /// The same to the question for raw samples, where it is something else.
    samples: Option<Content>,
    /// The same to the question which series there are.
    alive: Option<Content>,
    #[serde(default)]
    end: End,
    /// Why the rule is not judged.
    #[serde(default)]
    says: String,
}

impl Attack {
    /// What is said to whoever asks for `touched`; all other queries are answered as they should be.
    fn script(&self, elsewhere: &Stranger) -> impl Fn(&str) -> Said + Send + 'static {
        let (status, end, head) = (self.status, self.end, attack::head(&self.head, &elsewhere.other_host()));
        let body = |content: &Option<Content>| content.as_ref().unwrap_or(&self.answer).bytes().unwrap();
        let (answer, samples, alive) = (body(&None), body(&self.samples), body(&self.alive));
        move |asked| {
            if !asked.contains("touched") {
                return good(asked);
            }
            let body = match asked {
                _ if asked.contains("%5B") => &samples,
                _ if asked.contains("query=touched&") => &alive,
                _ => &answer,
            };
            // Bytes that are no text are not changed.
            let body = match str::from_utf8(body) {
                Ok(text) if text.contains("{now}") || text.contains("{later}") => {
                    let time = time_of(asked);
                    let (now, later) = (time.to_string(), (time + 3_600).to_string());
                    text.replace("{now}", &now).replace("{later}", &later).into()
                }
                _ => body.clone(),
            };
            let mut said = Said { status, end, ..Said::json(body) };
            said.head.extend(head.iter().cloned());
            said
        }
    }
}

/// A graph whose update to 1.1.0 has a rule with this query.
fn graph(touched: &str) -> Value {
    let node = |version: &str| json!({"version": version, "payload": format!("r.example.com/p:{version}")});
    let conditional = |to: &str, name: &str, query: &str| {
        let rules = json!([{"type": "PromQL", "promql": {"promql": query}}]);
        let risk = json!({"name": name, "url": "https://example.com", "message": "It breaks.", "matchingRules": rules});
        json!({"edges": [{"from": "1.0.0", "to": to}], "risks": [risk]})
    };
    json!({
        "nodes": [node("1.0.0"), node("1.1.0"), node("1.2.0")],
        "edges": [],
        "conditionalEdges": [conditional("1.1.0", "Touched", touched), conditional("1.2.0", "Watched", "max(broken)")],
    })
}

/// A query that says "no" wherever there is no series: whoever takes a series away must not get that.
const OR_ZERO: &str = "max(touched) or vector(0)";

/// The time that is asked for, which is now if none is named.
fn time_of(asked: &str) -> u64 {
    let named = asked.split("&time=").nth(1).and_then(|rest| rest.split(['&', '.']).next()?.parse().ok());
    let now = || std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
    named.unwrap_or_else(now)
}

/// A value of zero at the time that is asked for, as Prometheus says it: of a query, of raw samples, or of many clusters.
pub(crate) fn good(asked: &str) -> Said {
    let labels = json!({"__name__": "broken", "secret": MARKER, "_id": CLUSTER});
    let (kind, result) = if asked.contains("%5B") {
        ("matrix", json!([{"metric": labels, "values": [[time_of(asked) - 1, "0"]]}]))
    } else {
        ("vector", json!([{"metric": labels, "value": [time_of(asked), "0"]}]))
    };
    Said::json(json!({"status": "success", "data": {"resultType": kind, "result": result}}).to_string())
}

/// The cluster of a fleet.
const CLUSTER: &str = "0d9fd3a5-8b7e-4b7a-9a52-1d4a5a4a1f6c";

#[test]
fn metrics_for_the_operator() {
    let place = tempfile::tempdir().unwrap();
    let service = Stranger::start(|_| Said::json(graph(OR_ZERO).to_string()));
    let prometheus = Stranger::start(good);
    let elsewhere = Stranger::start(good);
    let upstream = format!("http://{}/api", service.host);
    // What is secret in the address must not be anywhere, whatever fails.
    let store = format!("http://{USER}:{PASSWORD}@{}?token={TOKEN}", prometheus.host);
    let mut operator = Operator::start(place.path(), &["--upstream", &upstream, "--prometheus", &store]);
    let line = operator.line_with("probes and metrics on");
    let address = line.split("http://").nth(1).unwrap().split('/').next().unwrap().to_owned();
    let both = |status: &Value| is_recommended(status, "1.1.0") && is_recommended(status, "1.2.0");
    operator.until("both updates are recommended", both);
    for (name, attack) in attack::all::<Attack>("metrics") {
        let what = format!("{name} ({})", attack.title);
        prometheus.says(attack.script(&elsewhere));
        let status =
            operator.until(&what, |status| advice(status, "1.1.0").is_some_and(|(status, _)| status == "Unknown"));
        assert!(is_recommended(&status, "1.2.0"), "{what}: the other update");
        let (_, message) = advice(&status, "1.1.0").unwrap();
        assert!(message.contains("Touched") && message.contains(&attack.says), "{what}: {message}");
        let (metrics, assessments) = (get(&address, "/metrics"), get(&address, "/assessments"));
        assert!(metrics.contains("cluster_version_available_updates"), "{what}: {metrics}");
        assert!(assessments.contains("Touched"), "{what}: {assessments}");
        for (where_, text) in [("status", &status.to_string()), ("metrics", &metrics), ("assessments", &assessments)] {
            shows_no_credentials(&format!("{what}: {where_}"), text);
        }
        prometheus.says(good);
        operator.until(&format!("after {what}, both updates are recommended"), both);
    }
    shows_no_credentials("log", &operator.log());
    assert_eq!(elsewhere.asked(), [""; 0], "a redirect is followed to another host");
    operator.end();
}

/// Every command that asks a Prometheus: what is touched is unknown, and the rest is as it was.
#[test]
fn metrics_for_commands() {
    let place = tempfile::tempdir().unwrap();
    fs::write(place.path().join("graph.json"), graph(OR_ZERO).to_string()).unwrap();
    // A query that says something of a cluster without series cannot be run for all of them at once.
    fs::write(place.path().join("fleet.json"), graph("max(touched)").to_string()).unwrap();
    let clusters = format!("- {{id: {CLUSTER}, version: 1.0.0, channel: c, arch: amd64}}\n");
    fs::write(place.path().join("clusters.yaml"), clusters).unwrap();
    let (prometheus, elsewhere) = (Stranger::start(good), Stranger::start(good));
    let store = format!("http://{}", prometheus.host);
    let of_cluster = ["--graph", "graph.json", "--version", "1.0.0", "--cluster-id", CLUSTER];
    for (name, attack) in attack::all::<Attack>("metrics") {
        let what = format!("{name} ({})", attack.title);
        prometheus.says(attack.script(&elsewhere));
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
        let fleet = ["fleet", "assess", "--graph", "fleet.json", "--prometheus", &store, "--clusters", "clusters.yaml"];
        let fleet = run(place.path(), &[&fleet[..], &["-o", "json"]].concat());
        let report = json_of(&fleet).unwrap_or_else(|| panic!("{what}: {}", shortened(&fleet.text)));
        let unknown = json!({"name": "Touched", "match": 0, "noMatch": 0, "unknown": 1});
        let known = json!({"name": "Watched", "match": 0, "noMatch": 1, "unknown": 0});
        assert_eq!(report["risks"], json!([unknown, known]), "{what}: {}", shortened(&fleet.text));
    }
    assert_eq!(elsewhere.asked(), [""; 0], "a redirect is followed to another host");
}

/// What is found out at another time is not the list of the clusters there are, nor that of the alerts that fire.
#[test]
fn lists_of_another_time_for_commands() {
    let place = tempfile::tempdir().unwrap();
    fs::write(place.path().join("fleet.json"), graph("max(touched)").to_string()).unwrap();
    write_state(&place.path().join("state"));
    let old = format!(r#"[{{"metric":{{"_id":"{CLUSTER}","version":"1.0.0"}},"value":[1000000000,"1"]}}]"#);
    for (name, result, says) in [("an old value", old.as_str(), "for another time"), ("no value", "[]", "")] {
        let body = format!(r#"{{"status":"success","data":{{"resultType":"vector","result":{result}}}}}"#);
        let prometheus = Stranger::start(move |_| Said::json(body.clone()));
        let store = format!("http://{}", prometheus.host);
        let fleet = run(place.path(), &["fleet", "assess", "--graph", "fleet.json", "--prometheus", &store]);
        assert!(fleet.code == 3 && fleet.text.contains(says), "{name}: {}", shortened(&fleet.text));
        let recommend = run(place.path(), &["upgrade", "recommend", "--state", "state", "--prometheus", &store]);
        let text = shortened(&recommend.text);
        assert!(recommend.text.contains("FailedToCompletePrecheck") && recommend.text.contains(says), "{name}: {text}");
    }
}
