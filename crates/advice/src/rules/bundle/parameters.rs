//! The parameters of a `Bundle` rule, read with the place of what is wrong, for rules and for the linter alike.

use std::ops::Range;

use clearway_bundle::{Channel, FieldPath};
use clearway_core::GroupKind;
use clearway_graph::{Rule, range};

use crate::evidence::Failure;
use crate::rules::parameters::{Parameters, excerpt};

/// The parameters that `Bundle` rules have.
pub const BUNDLE_PARAMETERS: [&str; 7] =
    ["group", "version", "channel", "servedVersion", "storedVersion", "usedField", "whenAbsent"];

/// Bytes of a name of the API: a group at its longest.
const NAME: usize = 253;

/// What is asked of a bundle.
#[derive(Debug)]
pub(super) struct Wanted {
    pub(super) group: String,
    pub(super) version: Option<range::Range>,
    pub(super) channel: Option<Channel>,
    pub(super) served: Option<VersionOf>,
    pub(super) stored: Option<VersionOf>,
    pub(super) field: Option<UsedField>,
}

/// A version of the CRD of a kind, or of any CRD.
#[derive(Debug)]
pub(super) struct VersionOf {
    pub(super) kind: Option<GroupKind>,
    pub(super) version: String,
}

/// A field of objects of a kind, in a version.
#[derive(Debug)]
pub(super) struct UsedField {
    pub(super) kind: GroupKind,
    pub(super) version: String,
    pub(super) path: FieldPath,
    /// The path as it is written.
    pub(super) text: String,
}

/// Something that is wrong with a parameter of a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParameterFault {
    /// The key of the parameter.
    pub key: &'static str,
    /// What is wrong, as the rest of a sentence.
    pub why: String,
    /// The bytes of its text that are wrong; empty if it is missing.
    pub span: Range<usize>,
}

impl Wanted {
    /// The parameters, or what is wrong with one of them; a failure if they are not texts at all.
    pub(super) fn read(parameters: &Parameters<'_>) -> Result<Result<Self, ParameterFault>, Failure> {
        let group = parameters.required("group")?;
        let texts = [parameters.text("version")?, parameters.text("channel")?];
        let [served, stored] = [parameters.text("servedVersion")?, parameters.text("storedVersion")?];
        Ok(Wanted::of_texts(group, texts, [served, stored], parameters.text("usedField")?))
    }

    fn of_texts(
        group: &str,
        [version, channel]: [Option<&str>; 2],
        [served, stored]: [Option<&str>; 2],
        field: Option<&str>,
    ) -> Result<Self, ParameterFault> {
        if !is_group(group) {
            let why = format!("`{}` is no API group such as `gateway.networking.k8s.io`", excerpt(group));
            return Err(fault("group", why, 0..group.len()));
        }
        let version = version.map(|text| {
            text.parse::<range::Range>().map_err(|error| fault("version", error.to_string(), 0..text.len()))
        });
        let channel = channel.map(|text| {
            let unknown = |error: clearway_bundle::UnknownChannel| fault("channel", error.to_string(), 0..text.len());
            text.parse::<Channel>().map_err(unknown)
        });
        let of = |key, text: Option<&str>| text.map(|text| version_of(key, text, group)).transpose();
        Ok(Wanted {
            group: group.to_owned(),
            version: version.transpose()?,
            channel: channel.transpose()?,
            served: of("servedVersion", served)?,
            stored: of("storedVersion", stored)?,
            field: field.map(|text| used_field(text, group)).transpose()?,
        })
    }
}

/// What is wrong with the parameters of a `Bundle` rule, if something is.
pub fn check_bundle_rule(rule: &Rule) -> Option<ParameterFault> {
    let parameters = Parameters::of(rule).ok()?;
    for key in BUNDLE_PARAMETERS {
        let (found, required) = (parameters.text(key), key == "group");
        match found {
            Err(_) => return Some(fault(key, "it is not a string, or is empty".to_owned(), 0..0)),
            Ok(None) if required => return Some(fault(key, "it is missing".to_owned(), 0..0)),
            Ok(_) => {}
        }
    }
    if super::WhenAbsent::read(&parameters).is_err() {
        return Some(fault("whenAbsent", "it is not one of Unknown, Match, NoMatch".to_owned(), 0..0));
    }
    Wanted::read(&parameters).ok()?.err()
}

fn fault(key: &'static str, why: String, span: Range<usize>) -> ParameterFault {
    ParameterFault { key, why, span }
}

/// Reads `[KIND] VERSION`.
fn version_of(key: &'static str, text: &str, group: &str) -> Result<VersionOf, ParameterFault> {
    let form = || fault(key, format!("`{}` is not `VERSION` or `KIND VERSION`", excerpt(text)), 0..text.len());
    let words: Vec<&str> = text.split_whitespace().collect();
    let (kind, version) = match words.as_slice() {
        [version] => (None, *version),
        [kind, version] => (Some(kind_of(kind, group).ok_or_else(form)?), *version),
        _ => return Err(form()),
    };
    if !is_version(version) {
        return Err(form());
    }
    Ok(VersionOf { kind, version: version.to_owned() })
}

/// Reads `KIND VERSION PATH`.
fn used_field(text: &str, group: &str) -> Result<UsedField, ParameterFault> {
    let key = "usedField";
    let form = || fault(key, format!("`{}` is not `KIND VERSION PATH`", excerpt(text)), 0..text.len());
    let (kind, rest) = text.split_once(' ').ok_or_else(form)?;
    let (version, path) = rest.split_once(' ').ok_or_else(form)?;
    let kind = kind_of(kind, group).ok_or_else(form)?;
    if !is_version(version) {
        return Err(form());
    }
    let start = text.len().saturating_sub(path.len());
    let read = path.parse::<FieldPath>().map_err(|error| {
        let at = start.saturating_add(error.at).min(text.len());
        fault(key, format!("`{}` is not a path of a field: {error}", excerpt(path)), at..text.len())
    })?;
    Ok(UsedField { kind, version: version.to_owned(), path: read, text: path.to_owned() })
}

/// Reads `KIND` of the group, or `KIND.GROUP`.
fn kind_of(text: &str, group: &str) -> Option<GroupKind> {
    let (kind, group) = text.split_once('.').unwrap_or((text, group));
    let is_kind = !kind.is_empty() && kind.len() <= 63 && kind.bytes().all(|byte| byte.is_ascii_alphanumeric());
    (is_kind && is_group(group)).then(|| GroupKind { group: group.to_owned(), kind: kind.to_owned() })
}

fn is_group(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'.' | b'-');
    !text.is_empty() && text.len() <= NAME && text.bytes().all(plain) && !text.starts_with(['.', '-'])
}

fn is_version(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    !text.is_empty() && text.len() <= 63 && text.bytes().all(plain)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn fault_of(parameters: &Value) -> Option<(&'static str, Range<usize>)> {
        let rule = Rule::from_json(&json!({"type": "Bundle", "bundle": parameters})).unwrap();
        check_bundle_rule(&rule).map(|fault| (fault.key, fault.span))
    }

    #[test]
    fn what_is_wrong_is_found_where_it_is() {
        let long = "x".repeat(100_000);
        for (more, want) in [
            (json!({}), None),
            (json!({"version": "1.2.x", "channel": "standard", "whenAbsent": "Match"}), None),
            (json!({"servedVersion": "v1", "storedVersion": "XMesh.gateway.networking.x-k8s.io v1alpha1"}), None),
            (json!({"usedField": "HTTPRoute v1 spec.rules[].filters[].type"}), None),
            // A key that comes with a later version is passed over (U22).
            (json!({"tomorrow": {"a": 1}}), None),
            (json!({"group": null}), Some(("group", 0..0))),
            (json!({"group": "Gateway API"}), Some(("group", 0..11))),
            (json!({"version": 1}), Some(("version", 0..0))),
            (json!({"version": "about 1.2"}), Some(("version", 0..9))),
            (json!({"version": ">=2.0.0 <1.0.0.0"}), Some(("version", 0..16))),
            (json!({"version": long}), Some(("version", 0..100_000))),
            (json!({"channel": "stable"}), Some(("channel", 0..6))),
            (json!({"whenAbsent": "Perhaps"}), Some(("whenAbsent", 0..0))),
            (json!({"servedVersion": "HTTPRoute v1 v2"}), Some(("servedVersion", 0..15))),
            (json!({"servedVersion": "HTTP/Route v1"}), Some(("servedVersion", 0..13))),
            (json!({"storedVersion": "V1"}), Some(("storedVersion", 0..2))),
            (json!({"usedField": "spec.rules"}), Some(("usedField", 0..10))),
            (json!({"usedField": "HTTPRoute v1 spec.rules[0]"}), Some(("usedField", 23..26))),
            (json!({"usedField": "HTTPRoute v1 "}), Some(("usedField", 13..13))),
            (json!({"usedField": format!("HTTPRoute v1 {long}")}), Some(("usedField", 13..100_013))),
        ] {
            let mut parameters = json!({"group": "gateway.networking.k8s.io"});
            parameters.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            assert_eq!(fault_of(&parameters), want, "{}", more.to_string().chars().take(200).collect::<String>());
        }
    }
}
