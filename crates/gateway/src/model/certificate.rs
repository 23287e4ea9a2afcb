//! Secrets and ConfigMaps, of which only the presence of PEM is kept: their contents are dropped while they are read.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use clearway_yaml::Node;

/// What a Secret holds. Its contents are not kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Secret {
    /// Whether `tls.crt` is a PEM certificate.
    pub certificate: bool,
    /// Whether `tls.key` is a PEM private key.
    pub private_key: bool,
    /// False where only the metadata of the Secret was read, so that nothing is known of its contents.
    pub contents_known: bool,
}

/// What a ConfigMap holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConfigMap {
    /// Whether `ca.crt` is a PEM certificate.
    pub certificate: bool,
}

impl Secret {
    pub(crate) fn read(root: Node<'_>) -> Self {
        let value = |key: &str| {
            let plain = root.at(&["stringData", key]).and_then(Node::as_text);
            let encoded = || root.at(&["data", key]).and_then(Node::as_text).and_then(decode);
            plain.map(str::to_owned).or_else(encoded)
        };
        let partial = root.get("kind").is_some_and(|kind| kind.raw() == "PartialObjectMetadata");
        Secret {
            certificate: value("tls.crt").is_some_and(|text| has_pem(&text, |label| label == "CERTIFICATE")),
            private_key: value("tls.key").is_some_and(|text| has_pem(&text, |label| label.ends_with("PRIVATE KEY"))),
            contents_known: !partial,
        }
    }
}

impl ConfigMap {
    pub(crate) fn read(root: Node<'_>) -> Self {
        let plain = root.at(&["data", "ca.crt"]).and_then(Node::as_text).map(str::to_owned);
        let encoded = || root.at(&["binaryData", "ca.crt"]).and_then(Node::as_text).and_then(decode);
        let certificate = plain.or_else(encoded).is_some_and(|text| has_pem(&text, |label| label == "CERTIFICATE"));
        ConfigMap { certificate }
    }
}

fn decode(text: &str) -> Option<String> {
    let compact: String = text.split_ascii_whitespace().collect();
    String::from_utf8(STANDARD.decode(compact).ok()?).ok()
}

/// Whether a text has a PEM block with a wanted label and base64 inside.
fn has_pem(text: &str, wanted: impl Fn(&str) -> bool) -> bool {
    let mut rest = text;
    while let Some((_, begun)) = rest.split_once("-----BEGIN ") {
        let Some((label, body)) = begun.split_once("-----") else { return false };
        let end = format!("-----END {label}-----");
        let Some((body, after)) = body.split_once(end.as_str()) else { return false };
        // Old private keys have headers, which end with an empty line.
        let body = body.rsplit_once("\n\n").map_or(body, |(_, body)| body);
        let compact: String = body.split_ascii_whitespace().collect();
        if wanted(label) && !compact.is_empty() && STANDARD.decode(compact).is_ok() {
            return true;
        }
        rest = after;
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use clearway_yaml::Tape;
    use serde_json::json;

    const PEM: &str = "-----BEGIN CERTIFICATE-----\nTWFkZSB1cA==\n-----END CERTIFICATE-----\n";

    #[test]
    fn only_whether_pem_is_present_is_kept() {
        let key =
            "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\nTWFkZSB1cA==\n-----END RSA PRIVATE KEY-----";
        for (certificate, private_key, want) in [
            (PEM, key, (true, true)),
            ("Hello world", key, (false, true)),
            ("", "", (false, false)),
            ("-----BEGIN CERTIFICATE-----\n***\n-----END CERTIFICATE-----", key, (false, true)),
            ("-----BEGIN CERTIFICATE-----\nTWFkZSB1cA==", PEM, (false, false)),
        ] {
            for data in [
                json!({"data": {"tls.crt": STANDARD.encode(certificate), "tls.key": STANDARD.encode(private_key)}}),
                json!({"stringData": {"tls.crt": certificate, "tls.key": private_key}}),
            ] {
                let tape = Tape::from_json(&data);
                let secret = Secret::read(tape.root().unwrap());
                assert_eq!((secret.certificate, secret.private_key), want, "{certificate} {private_key}");
            }
        }
    }

    #[test]
    fn a_config_map_has_a_certificate_or_not() {
        for (data, want) in [
            (json!({"data": {"ca.crt": PEM}}), true),
            (json!({"data": {"ca.crt": ""}}), false),
            (json!({"data": {"other": PEM}}), false),
            (json!({"binaryData": {"ca.crt": STANDARD.encode(PEM)}}), true),
            (json!({"data": []}), false),
        ] {
            let tape = Tape::from_json(&data);
            assert_eq!(ConfigMap::read(tape.root().unwrap()).certificate, want, "{data}");
        }
    }
}
