//! What is kept over a restart: the last answer of the update service, and the last answers of the metrics store, each
//! with the time it was given. An outage after a restart then costs nothing but age.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use clearway_advice::evidence::{Observation, stored_answers};
use clearway_core::{Digest, EntityTag, ObjectReference, Timestamp};
use clearway_promql::eval::Value;
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::json;

use crate::api::Kind;
use crate::upstream::GraphFindings;
use crate::upstream::Knowledge;
use crate::upstream::UpstreamRequest;

/// Bytes that an object may hold, packed.
const PACKED_BYTES: usize = 700 << 10;
/// Bytes of what is read, unpacked.
const TEXT_BYTES: u64 = 64 << 20;

/// Name of the ConfigMap in which the state for an object is kept. The operator's role grants these by name.
pub fn object_name(kind: Kind, name: &str) -> String {
    format!("clearway-kept-{}-{name}", kind.as_str().to_ascii_lowercase())
}

/// What is kept, as texts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CachedState {
    /// Of the address of the service, which may have credentials in it.
    upstream: Digest,
    channel: String,
    arch: String,
    id: String,
    version: String,
    /// When the service said so last.
    at: Timestamp,
    #[serde(default)]
    validator: Option<String>,
    /// Shared with the knowledge it is of: it may be large.
    #[serde(serialize_with = "write_text", deserialize_with = "read_text")]
    graph: Arc<str>,
    answers: String,
    #[serde(default)]
    digest: Option<Digest>,
    #[serde(default)]
    findings: GraphFindings,
}

impl CachedState {
    /// What is to be kept; `at` is when the service said so last.
    pub fn new(
        ask: &UpstreamRequest,
        knowledge: &Knowledge,
        at: Timestamp,
        validator: Option<&EntityTag>,
        answers: &BTreeMap<String, Observation<Value>>,
    ) -> Self {
        CachedState {
            upstream: address_digest(ask),
            channel: ask.channel.clone(),
            arch: ask.arch.as_str().to_owned(),
            id: ask.id.clone(),
            version: ask.version.to_string(),
            at,
            validator: validator.map(|validator| validator.as_str().to_owned()),
            graph: knowledge.answer().clone(),
            answers: stored_answers::write(answers),
            digest: Some(knowledge.digest.clone()),
            findings: knowledge.findings.clone(),
        }
    }

    /// Which answer of the service this is of.
    pub fn digest(&self) -> Digest {
        self.digest.clone().unwrap_or_else(|| Digest::sha256(self.graph.as_bytes()))
    }

    /// What was kept, as it is worked with; nothing if it is the answer to another question, or cannot be read any more.
    pub fn restore(
        &self,
        ask: &UpstreamRequest,
        settings: &clearway_advice::Settings,
    ) -> Option<(Knowledge, BTreeMap<String, Observation<Value>>)> {
        let same = self.upstream == address_digest(ask)
            && (&self.channel, &self.id) == (&ask.channel, &ask.id)
            && (self.arch.as_str(), self.version.as_str()) == (ask.arch.as_str(), ask.version.to_string().as_str());
        if !same {
            return None;
        }
        let mut knowledge = Knowledge::read(self.graph.as_bytes(), &ask.version, self.at, settings).ok()?;
        // What is kept is a part of the answer.
        knowledge.digest = self.digest();
        knowledge.findings.clone_from(&self.findings);
        knowledge.diagnostics = Vec::new();
        let answers = stored_answers::read(&self.answers).unwrap_or_default();
        Some((knowledge, answers))
    }

    /// As an object that a store keeps: packed, because texts of graphs repeat themselves and objects may not be large.
    pub fn to_object(&self, key: &ObjectReference) -> Result<serde_json::Value, String> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        let written = serde_json::to_writer(&mut encoder, self).map_err(|error| error.to_string());
        let packed = written.and_then(|()| encoder.finish().map_err(|error| error.to_string()))?;
        if packed.len() > PACKED_BYTES {
            return Err(format!("it is larger than {PACKED_BYTES} bytes"));
        }
        Ok(json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {
                "name": key.name, "namespace": key.namespace,
                "annotations": {"clearway.dev/description": "Last known state of the operator, read after a restart. Safe to delete."},
            },
            "binaryData": {"kept.json.gz": BASE64.encode(packed)},
        }))
    }

    /// From such an object; nothing if it is none, or cannot be read any more.
    pub fn of_object(object: &serde_json::Value) -> Option<Self> {
        let packed = BASE64.decode(object["binaryData"]["kept.json.gz"].as_str()?).ok()?;
        let mut text = Vec::new();
        // Whoever may write the object must not fill our memory with it.
        GzDecoder::new(packed.as_slice()).take(TEXT_BYTES).read_to_end(&mut text).ok()?;
        serde_json::from_slice(&text).ok()
    }

    /// What the update service knows its answer by.
    pub fn validator(&self) -> Option<EntityTag> {
        self.validator.as_deref().and_then(EntityTag::new)
    }

    /// What tells this from others.
    pub fn mark(&self) -> CachedMark {
        let about = (&self.upstream, &self.channel, &self.arch, &self.id, &self.version);
        let digest = |answers: &str| {
            let parts = json!([about, self.validator, self.digest(), self.findings, answers]);
            Digest::sha256(parts.to_string().as_bytes())
        };
        CachedMark { at: self.at, whole: digest(&self.answers), timeless: digest(&without_times(&self.answers)) }
    }
}

/// What tells one cached state from another, without its texts. The graph follows from the digest of the answer and the
/// version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CachedMark {
    at: Timestamp,
    whole: Digest,
    /// Without the times of the answers.
    timeless: Digest,
}

impl CachedMark {
    /// Whether another is so much better that it is worth a write: it says something else, or this one is getting old, or
    /// is of a time when the clock was wrong.
    pub fn is_worth_replacing(&self, other: &CachedMark, now: Timestamp, max_age: Duration) -> bool {
        let apart = now.since(self.at).max(self.at.since(now));
        self.timeless != other.timeless || (self != other && apart > max_age.mul_f64(0.75))
    }
}

fn write_text<S: Serializer>(text: &Arc<str>, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(text)
}

fn read_text<'de, D: Deserializer<'de>>(from: D) -> Result<Arc<str>, D::Error> {
    String::deserialize(from).map(Arc::from)
}

/// What tells addresses apart without repeating them. The cluster's id goes in, so that short secrets are not looked up.
fn address_digest(ask: &UpstreamRequest) -> Digest {
    Digest::sha256(format!("{}\n{}", ask.id, ask.upstream.expose()).as_bytes())
}

/// The answers without the times they were given.
fn without_times(answers: &str) -> String {
    let Ok(answers) = stored_answers::read(answers) else { return String::new() };
    let timeless = |mut observation: Observation<Value>| {
        observation.observed_at = Timestamp::EPOCH;
        observation.reproduce = None;
        observation
    };
    stored_answers::write(&answers.into_iter().map(|(query, observation)| (query, timeless(observation))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_of_the_service_are_not_kept() {
        let ask = |upstream: &str| UpstreamRequest {
            upstream: upstream.into(),
            channel: "c".to_owned(),
            arch: "amd64".parse().unwrap(),
            id: "8d3c9d26-95cf-4b4e-8d0d-0a1f4e6b7c11".to_owned(),
            version: "1.0.0".parse().unwrap(),
        };
        let with = ask("https://me:hunter2@example.com/api?token=hunter2");
        let answer = br#"{"nodes":[{"version":"1.0.0","payload":"a"}],"edges":[]}"#;
        let settings = clearway_advice::Settings::default();
        let knowledge = Knowledge::read(answer, &with.version, Timestamp::EPOCH, &settings).unwrap();
        let kept = CachedState::new(&with, &knowledge, Timestamp::EPOCH, None, &BTreeMap::new());
        let text = serde_json::to_string(&kept).unwrap();
        assert!(!text.contains("hunter2") && !text.contains("example.com"), "{text}");
        assert!(kept.restore(&with, &settings).is_some());
        for other in [ask("https://example.com/api"), UpstreamRequest { channel: "d".to_owned(), ..with.clone() }] {
            assert!(kept.restore(&other, &settings).is_none(), "another question");
        }
    }
}
