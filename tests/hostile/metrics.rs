//! Attacks by whoever answers queries in place of Prometheus: the rule that asks is not judged, and all others are.

use serde::Deserialize;
use serde_json::{Value, json};

use crate::attack::{self, Content};
use crate::operator::{Operator, advice, is_recommended};
use crate::program::MARKER;
use crate::stranger::{End, Said, Stranger};

/// What is answered to the query of the update to 1.1.0; that of 1.2.0 is answered as it should be.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Attack {
    /// What somebody tries.
    title: String,
    #[serde(default = "ok")]
    status: u16,
    answer: Content,
    #[serde(default)]
    end: End,
}

fn ok() -> u16 {
    200
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

/// A value now, as Prometheus says it.
fn value(number: &str) -> Said {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
    let result = json!([{"metric": {"secret": MARKER}, "value": [now, number]}]);
    Said::json(json!({"status": "success", "data": {"resultType": "vector", "result": result}}).to_string())
}

#[test]
fn metrics_for_the_operator() {
    let place = tempfile::tempdir().unwrap();
    let service = Stranger::start(|_| Said::json(graph().to_string()));
    let prometheus = Stranger::start(|_| value("0"));
    let (upstream, store) = (format!("http://{}/api", service.host), format!("http://{}", prometheus.host));
    let mut operator = Operator::start(place.path(), &["--upstream", &upstream, "--prometheus", &store]);
    let both = |status: &Value| is_recommended(status, "1.1.0") && is_recommended(status, "1.2.0");
    operator.until("both updates are recommended", both);
    for (name, attack) in attack::all::<Attack>("metrics") {
        let what = format!("{name} ({})", attack.title);
        let mut said = Said::json(attack.answer.bytes().unwrap());
        (said.status, said.end) = (attack.status, attack.end);
        prometheus.says(move |asked| if asked.contains("touched") { said.clone() } else { value("0") });
        let status =
            operator.until(&what, |status| advice(status, "1.1.0").is_some_and(|(status, _)| status == "Unknown"));
        assert!(is_recommended(&status, "1.2.0"), "{what}: the other update");
        let (_, message) = advice(&status, "1.1.0").unwrap();
        assert!(message.contains("Touched"), "{what}: {message}");
        prometheus.says(|_| value("0"));
        operator.until(&format!("after {what}, both updates are recommended"), both);
    }
    operator.end();
}
