//! Hands the same objects to the schema and to the server, and compares what they say.

use clearway_bundle::{Channel, CrdSchema};
use kube::Client;
use kube::api::{Api, DynamicObject, PostParams};
use serde_json::{Value, json};

use super::mutate::{Numbers, mutate};
use super::{objects, resource};

/// How many objects are made up, of each kind and channel.
const CASES: u64 = 150;

/// What the server made of an object: what it would store, or why it refuses.
type Answer = Result<Value, String>;

pub(crate) struct Server {
    api: Api<DynamicObject>,
    schema: CrdSchema,
    api_version: String,
    kind: String,
    pub(crate) refused: usize,
    pub(crate) accepted: usize,
    pub(crate) disagreements: Vec<String>,
}

impl Server {
    pub(crate) fn new(client: &Client, crd: &Value) -> Self {
        let resource = resource(crd);
        let schema = CrdSchema::of_crd(crd, &resource.version).unwrap();
        Server {
            api: Api::all_with(client.clone(), &resource),
            schema,
            api_version: resource.api_version,
            kind: resource.kind,
            refused: 0,
            accepted: 0,
            disagreements: Vec::new(),
        }
    }

    pub(crate) fn unchecked(&self) -> Vec<String> {
        self.schema.unchecked().iter().map(ToString::to_string).collect()
    }

    fn object(&self, name: &str, field: &str, value: &Value) -> Value {
        json!({"apiVersion": self.api_version, "kind": self.kind, "metadata": {"name": name}, field: value})
    }

    /// Creates for good.
    pub(crate) async fn create(&self, name: &str, spec: &Value) -> Value {
        let object = serde_json::from_value(self.object(name, "spec", spec)).unwrap();
        serde_json::to_value(self.api.create(&PostParams::default(), &object).await.unwrap()).unwrap()
    }

    /// Writes a status for good.
    pub(crate) async fn write(&self, stored: &Value, status: &Value) {
        let mut object = stored.clone();
        object["status"] = status.clone();
        let name = stored["metadata"]["name"].as_str().unwrap();
        let object: DynamicObject = serde_json::from_value(object).unwrap();
        self.api.replace_status(name, &PostParams::default(), &object).await.unwrap();
    }

    /// Compares on a spec, by creating an object in vain.
    pub(crate) async fn spec(&mut self, spec: &Value) {
        let object = self.object("in-vain", "spec", spec);
        let dry = PostParams { dry_run: true, ..PostParams::default() };
        let answer = match serde_json::from_value(object.clone()) {
            Ok(dynamic) => said(self.api.create(&dry, &dynamic).await),
            Err(error) => panic!("{error}: {object}"),
        };
        self.compare(&object, "spec", answer);
    }

    /// Compares on a status of an object that is there.
    pub(crate) async fn status(&mut self, stored: &Value, status: &Value) {
        let mut object = stored.clone();
        object["status"] = status.clone();
        let name = stored["metadata"]["name"].as_str().unwrap();
        let dry = PostParams { dry_run: true, ..PostParams::default() };
        let dynamic: DynamicObject = serde_json::from_value(object.clone()).unwrap();
        let answer = said(self.api.replace_status(name, &dry, &dynamic).await);
        self.compare(&object, "status", answer);
    }

    fn compare(&mut self, object: &Value, field: &str, answer: Answer) {
        let pruned = self.schema.pruned(object);
        let report = self.schema.validate(&pruned);
        let said = match answer {
            Ok(stored) => {
                self.accepted += 1;
                match report.violations.first() {
                    Some(violation) => Some(format!("taken by the server, refused here: {violation}")),
                    None => difference(&pruned[field], &stored[field], field),
                }
            }
            Err(why) => {
                self.refused += 1;
                let why: String = why.chars().take(400).collect();
                report.violations.is_empty().then(|| format!("taken here, refused by the server: {why}"))
            }
        };
        self.disagreements.extend(said);
    }
}

/// The first difference between what would be stored and what is. The server writes `1.0` as `1`.
fn difference(ours: &Value, theirs: &Value, path: &str) -> Option<String> {
    match (ours, theirs) {
        (Value::Object(left), Value::Object(right)) if left.keys().eq(right.keys()) => left
            .iter()
            .zip(right.values())
            .find_map(|((key, left), right)| difference(left, right, &format!("{path}.{key}"))),
        (Value::Array(left), Value::Array(right)) if left.len() == right.len() => {
            let pairs = left.iter().zip(right).enumerate();
            pairs.into_iter().find_map(|(at, (left, right))| difference(left, right, &format!("{path}[{at}]")))
        }
        (Value::Number(left), Value::Number(right)) if left.as_f64() == right.as_f64() => None,
        (left, right) => (left != right).then(|| format!("{path}: we keep {left}, the server {right}")),
    }
}

fn said(answer: kube::Result<DynamicObject>) -> Answer {
    match answer {
        Ok(object) => Ok(serde_json::to_value(object).unwrap()),
        Err(kube::Error::Api(status)) if matches!(status.code, 400 | 422) => Err(status.message.clone()),
        Err(error) => panic!("{error}"),
    }
}

/// The objects of clients, a table of edge cases, and made-up ones.
pub(crate) async fn agree(client: &Client, crd: &Value, channel: Channel) {
    let mut server = Server::new(client, crd);
    assert_eq!(server.unchecked(), [] as [String; 0], "everything in our own CRDs is looked at");
    let name = format!("{channel}-{}", server.kind.to_lowercase());
    let name = if channel == Channel::Standard { "version" } else { &name };
    let stored = server.create(name, &objects::spec()).await;
    server.write(&stored, &objects::status()).await;
    let stored = serde_json::to_value(server.api.get(name).await.unwrap()).unwrap();

    for (path, values) in spec_cases() {
        for value in values {
            server.spec(&with(&objects::spec(), path, value)).await;
        }
    }
    for (path, values) in status_cases() {
        for value in values {
            server.status(&stored, &with(&objects::status(), path, value)).await;
        }
    }
    for seed in 0..CASES {
        let mut numbers = Numbers::new(seed);
        let mut spec = objects::spec();
        mutate(&mut spec, &mut numbers);
        server.spec(&spec).await;
        let mut status = objects::status();
        mutate(&mut status, &mut numbers);
        server.status(&stored, &status).await;
    }
    assert_eq!(server.disagreements, [] as [String; 0]);
    assert!(server.accepted > 100 && server.refused > 100, "{} and {}", server.accepted, server.refused);
}

/// The value with another one at a place; without what was there, if the other one is the text `<absent>`.
fn with(value: &Value, path: &str, other: Value) -> Value {
    let mut value = value.clone();
    if other == "<absent>" {
        let (parent, name) = path.rsplit_once('/').unwrap();
        value.pointer_mut(parent).unwrap().as_object_mut().unwrap().remove(name);
    } else {
        *value.pointer_mut(path).unwrap_or_else(|| panic!("{path}")) = other;
    }
    value
}

fn spec_cases() -> Vec<(&'static str, Vec<Value>)> {
    vec![
        ("/clusterID", vec![json!("<absent>"), json!(""), json!(null), json!(7)]),
        ("/overrides", vec![json!(null), json!([]), json!("<absent>"), json!([null])]),
        (
            "/desiredUpdate",
            vec![
                json!({}),
                json!(null),
                json!({"architecture": "Multi"}),
                json!({"architecture": "Multi", "version": "1.0.0"}),
                json!({"architecture": "Multi", "version": "1.0.0", "image": "i"}),
                json!({"architecture": "", "image": "i"}),
                json!({"architecture": "amd64", "version": "1.0.0"}),
                json!({"version": "1.0.0", "acceptRisks": [{"name": "a"}], "mode": "Preflight"}),
            ],
        ),
        (
            "/signatureStores/0/url",
            ["", "x", "https://example.com", "https://[::1]:8080/a", "http://a:b", "/a"].map(Value::from).to_vec(),
        ),
        ("/signatureStores/1/url", vec![json!("https://example.com/signatures")]),
        ("/overrides/1/name", vec![json!("b"), json!("<absent>")]),
        ("/capabilities/baselineCapabilitySet", vec![json!("v4.18"), json!("v9"), json!(""), json!(null)]),
        ("/acceptedRisks/1/name", vec![json!("A"), json!(""), json!("n".repeat(257)), json!("<absent>")]),
        ("/acceptedRisks/0/until", vec![json!("never"), json!(null), json!("2030-01-01")]),
    ]
}

fn status_cases() -> Vec<(&'static str, Vec<Value>)> {
    let uris = [
        "https://example.com/?a=b c",
        "https://exa mple.com",
        "https://example.com:80a",
        "https://example.com:",
        "mailto:a",
        "//host/path",
        "/path%2",
        "/path%20",
        "https://%65xample.com",
        "https://example.com/%",
        "a:b:c",
        "1a://b",
        "https://user:pass@host",
        "https://us er@host",
        "https://[fe80::1%25en0]/",
        "https://[1.2.3.4]/",
        "https://[::1",
        "*",
        "http://a:1:2",
        "ftp://a:1:2",
        "https://exämple.com",
        "https://example.com/ä",
        "\thttps://a",
        "https://example.com\n",
        ":",
        "",
        "https:",
        "https://",
        "https://a<b>",
        "https://a|b",
        "http://[::ffff:1.2.3.4]/",
        "x-y+z.1:rest",
        "https:/a%gg",
        "https://a@b@c/",
        "https://a%40b@c/",
        "?a",
        "https://h?%zz",
        "postgres://a:1,b:2/x",
    ];
    let times = [
        "2021-08-28T02:00:00Z",
        "2021-08-28t02:00:00z",
        "2021-08-28 02:00:00Z",
        "2021-08-28T02:00:00",
        "2021-02-29T00:00:00Z",
        "2024-02-29T00:00:00Z",
        "2021-08-28T24:00:00Z",
        "2021-08-28T23:59:60Z",
        "2021-08-28T02:00:00.123456Z",
        "2021-08-28T02:00:00,5Z",
        "2021-08-28T02:00:00+0200",
        "2021-08-28T02:00:00-99:99",
        "2021-08-28T02:00:00ZT1",
        "",
        "0000-01-01T00:00:00Z",
        "21-08-28T02:00:00Z",
        "2021-8-28T02:00:00Z",
        "2021-00-01T00:00:00Z",
    ];
    let texts = |all: &[&str]| all.iter().copied().map(Value::from).collect::<Vec<_>>();
    vec![
        ("/availableUpdates", vec![json!(null), json!("<absent>"), json!([]), json!([null]), json!({})]),
        ("/history/0/completionTime", vec![json!(null), json!("<absent>"), json!([])]),
        ("/history/0/startedTime", texts(&times)),
        ("/history", vec![json!(null), json!("<absent>"), json!([])]),
        ("/conditions", vec![json!(null), json!("<absent>"), json!([])]),
        ("/conditions/1/type", vec![json!("Available"), json!(""), json!("odd type!"), json!("t".repeat(400))]),
        ("/conditions/1/severity", vec![json!(""), json!("Error"), json!("Warning"), json!(null)]),
        ("/conditions/1/observedGeneration", vec![json!(-1), json!(0), json!(1.0), json!(1.5), json!("1")]),
        ("/conditions/1/status", vec![json!("Maybe"), json!(""), json!("Unknown")]),
        ("/conditions/1/reason", vec![json!(""), json!("odd reason!"), json!("<absent>"), json!("r".repeat(1025))]),
        ("/conditions/1/message", vec![json!("m".repeat(40_000)), json!(null)]),
        ("/versionHash", vec![json!(""), json!("<absent>"), json!(null)]),
        ("/observedGeneration", vec![json!("<absent>"), json!(null), json!(1e3), json!(1e30)]),
        ("/desired/channels", vec![json!(["a", "a"]), json!(null), json!(["a", 1]), json!([""])]),
        ("/desired/architecture", vec![json!("amd64"), json!(""), json!(null)]),
        ("/conditionalUpdates/0/risks", vec![json!([]), json!(null), json!("<absent>")]),
        (
            "/conditionalUpdates/0/risks/1/name",
            vec![json!("AuthOAuthProxyLeakedConnections"), json!(""), json!("n".repeat(5000))],
        ),
        ("/conditionalUpdates/0/risks/0/url", texts(&uris)),
        ("/conditionalUpdates/0/risks/0/matchingRules", vec![json!([]), json!([{"type": "Moon"}]), json!([{}])]),
        (
            "/conditionalUpdates/0/risks/0/matchingRules/0",
            vec![
                json!({"type": "PromQL", "PromQL": {"PromQL": "up"}}),
                json!({"type": "PromQL", "promql": {}}),
                json!({"type": "Rollout", "rollout": {"start": "2026-05-04T09:00:00Z", "deep": {"a": [1, null]}}}),
                json!({"type": "Rollout", "rollout": 5}),
                json!({"type": "Resource", "resource": null}),
            ],
        ),
        ("/conditionalUpdates/0/conditions/1/type", vec![json!("Evaluating"), json!("-x"), json!("a.b/C")]),
        (
            "/conditionalUpdates/0/conditions/1/reason",
            vec![json!(""), json!("a b"), json!("A:b"), json!("A_"), json!("A,"), json!("r".repeat(1025)), json!("É")],
        ),
        ("/conditionalUpdates/0/conditions/1/message", vec![json!("m".repeat(32_768)), json!("é".repeat(32_769))]),
        ("/conditionalUpdates/0/conditions/1/status", vec![json!(""), json!("Maybe"), json!(true)]),
        ("/conditionalUpdates", vec![json!(vec![objects::status()["conditionalUpdates"][0].clone(); 501])]),
    ]
}
