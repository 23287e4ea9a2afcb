//! Objects of a cluster that say how it is doing: policies with their violations, bundles of CRDs, and Gateways.
//!
//! Whoever reads the objects adds them one by one ([`ClusterObjects::add`]); only what the pages show is kept.

use std::collections::{BTreeMap, BTreeSet};

use askama::Template;
use clearway_core::GroupVersionKind;
use clearway_core::{Timestamp, humanize};
use serde_json::Value;

use super::{Page, PageError, page};
use crate::address::Route;
use crate::foreign_text;
use crate::frame::{Frame, Parts};

/// Objects that are shown on one page.
const MOST_OBJECTS: usize = 1_000;
/// Lines that are shown of one object.
const MOST_LINES: usize = 20;

const CONSTRAINTS: &str = "constraints.gatekeeper.sh";
const GATEWAYS: &str = "gateway.networking.k8s.io";
const CRDS: &str = "apiextensions.k8s.io";

/// What is shown of the objects of a cluster.
#[derive(Debug, Clone, Default)]
pub struct ClusterObjects {
    constraints: ObjectList,
    gateways: ObjectList,
    bundles: BTreeMap<String, Bundle>,
    /// What could not be read, in sentences.
    pub problems: BTreeSet<String>,
    /// When the objects were read.
    pub read_at: Option<Timestamp>,
}

#[derive(Debug, Clone, Default)]
struct ObjectList {
    rows: Vec<ObjectRow>,
    more: usize,
}

/// An object in a table.
#[derive(Debug, Clone)]
struct ObjectRow {
    kind: String,
    name: String,
    class: &'static str,
    word: String,
    facts: String,
    lines: Vec<String>,
}

/// The CRDs of one API group that belong to a bundle.
#[derive(Debug, Clone, Default)]
struct Bundle {
    crds: usize,
    versions: BTreeSet<String>,
    channels: BTreeSet<String>,
    without: usize,
}

impl ClusterObjects {
    /// Whether objects of a kind are shown.
    pub fn shows(kind: &GroupVersionKind) -> bool {
        match kind.group.as_str() {
            CONSTRAINTS => true,
            GATEWAYS => {
                matches!(kind.kind.as_str(), "GatewayClass" | "Gateway" | "ListenerSet") || kind.kind.ends_with("Route")
            }
            CRDS => kind.kind == "CustomResourceDefinition",
            _ => false,
        }
    }

    /// Adds an object; one that is not shown changes nothing.
    pub fn add(&mut self, object: &Value) {
        let group = text(object, "/apiVersion").split_once('/').map_or(String::new(), |(group, _)| group.to_owned());
        match group.as_str() {
            CONSTRAINTS => self.constraints.add(|| constraint(object)),
            GATEWAYS => self.gateways.add(|| gateway(object)),
            CRDS => self.add_crd(object),
            _ => {}
        }
    }

    fn add_crd(&mut self, object: &Value) {
        let group = text(object, "/spec/group");
        let annotations = object.pointer("/metadata/annotations").and_then(Value::as_object);
        let value = |suffix: &str| {
            let mut found = annotations.into_iter().flatten().filter(|(key, _)| key.ends_with(suffix));
            found.find_map(|(_, value)| value.as_str()).map(foreign_text::excerpt)
        };
        let (version, channel) = (value("/bundle-version"), value("/channel"));
        let bundle = self.bundles.entry(group).or_default();
        bundle.crds += 1;
        match version {
            Some(version) => {
                keep(&mut bundle.versions, Some(version));
                keep(&mut bundle.channels, channel);
            }
            None => bundle.without += 1,
        }
    }

    fn bundle_rows(&self) -> ObjectList {
        let mut list = ObjectList::default();
        for (group, bundle) in self.bundles.iter().filter(|(_, bundle)| !bundle.versions.is_empty()) {
            let join = |texts: &BTreeSet<String>| texts.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
            let mixed = bundle.versions.len() > 1 || bundle.channels.len() > 1;
            let (class, word) = match (mixed, bundle.without) {
                (true, _) => ("bad", "Mixed versions or channels"),
                (false, 0) => ("good", "Complete"),
                (false, _) => ("warning", "Some CRDs are not of the bundle"),
            };
            let (crds, without) = (bundle.crds, bundle.without);
            list.add(|| ObjectRow {
                kind: format!("{crds} CRDs"),
                name: group.clone(),
                class,
                word: word.to_owned(),
                facts: format!("version {}, channel {}", join(&bundle.versions), join(&bundle.channels)),
                lines: (without > 0).then(|| format!("{without} CRDs without a bundle version")).into_iter().collect(),
            });
        }
        list
    }
}

/// Keeps a text, if there are not many already: more than one is a mixture, and a few show it.
fn keep(texts: &mut BTreeSet<String>, text: Option<String>) {
    if texts.len() < MOST_LINES {
        texts.extend(text);
    }
}

impl ObjectList {
    fn add(&mut self, row: impl FnOnce() -> ObjectRow) {
        if self.rows.len() < MOST_OBJECTS {
            self.rows.push(row());
        } else {
            self.more += 1;
        }
    }
}

/// A text of an object. There are thousands of them, and they are kept.
fn text(object: &Value, pointer: &str) -> String {
    object.pointer(pointer).and_then(Value::as_str).map_or(String::new(), foreign_text::excerpt)
}

fn name(object: &Value) -> String {
    match (text(object, "/metadata/namespace"), text(object, "/metadata/name")) {
        (namespace, name) if namespace.is_empty() => name,
        (namespace, name) => format!("{namespace}/{name}"),
    }
}

/// A constraint and its violations.
fn constraint(object: &Value) -> ObjectRow {
    let action = match text(object, "/spec/enforcementAction") {
        action if action.is_empty() => "deny".to_owned(),
        action => action,
    };
    let total = object.pointer("/status/totalViolations").and_then(Value::as_u64);
    let (class, word) = match total {
        None => ("unknown", "Not audited".to_owned()),
        Some(0) => ("good", "No violations".to_owned()),
        Some(count) if action == "deny" => ("bad", format!("{count} violations")),
        Some(count) => ("warning", format!("{count} violations")),
    };
    let violations = object.pointer("/status/violations").and_then(Value::as_array);
    let line = |violation: &Value| {
        let text = |key: &str| text(violation, key);
        let namespace = text("/namespace");
        let place = if namespace.is_empty() { String::new() } else { format!("{namespace}/") };
        format!("{} {place}{}: {}", text("/kind"), text("/name"), text("/message"))
    };
    let audited = text(object, "/status/auditTimestamp");
    ObjectRow {
        kind: text(object, "/kind"),
        name: name(object),
        class,
        word,
        facts: if audited.is_empty() {
            format!("action {action}")
        } else {
            format!("action {action}, audited {audited}")
        },
        lines: violations.into_iter().flatten().take(MOST_LINES).map(line).collect(),
    }
}

/// A Gateway, a route, or another object with the conditions of Gateway API.
fn gateway(object: &Value) -> ObjectRow {
    let own = object.pointer("/status/conditions").and_then(Value::as_array).into_iter().flatten();
    let parents = object.pointer("/status/parents").and_then(Value::as_array).into_iter().flatten();
    let listeners = object.pointer("/status/listeners").and_then(Value::as_array).into_iter().flatten();
    let of_parts = parents.chain(listeners).filter_map(|part| part.get("conditions")?.as_array()).flatten();
    let conditions: Vec<&Value> = own.chain(of_parts).collect();
    let has = |status: &str| conditions.iter().any(|condition| text(condition, "/status") == status);
    // Of these, False is what should not be; of others, such as Conflicted, it is what should be.
    let wanted = ["Accepted", "Programmed", "ResolvedRefs"];
    let of_wanted = |status: &str| {
        let mut found = conditions.iter().filter(|condition| wanted.contains(&text(condition, "/type").as_str()));
        found.any(|condition| text(condition, "/status") == status)
    };
    let (class, word) = if conditions.is_empty() {
        ("unknown", "No status")
    } else if of_wanted("False") {
        ("bad", "Not working")
    } else if of_wanted("Unknown") || !has("True") {
        ("unknown", "Unknown")
    } else {
        ("good", "Working")
    };
    let line = |condition: &&Value| {
        let text = |key: &str| text(condition, key);
        format!("{} {}: {} {}", text("/type"), text("/status"), text("/reason"), text("/message"))
    };
    ObjectRow {
        kind: text(object, "/kind"),
        name: name(object),
        class,
        word: word.to_owned(),
        facts: text(object, "/spec/gatewayClassName"),
        lines: conditions.iter().take(MOST_LINES).map(line).collect(),
    }
}

#[derive(Template)]
#[template(path = "objects.html")]
struct ObjectsPage<'o> {
    frame: Frame,
    about: &'static str,
    none: &'static str,
    facts: &'static str,
    rows: &'o [ObjectRow],
    more: usize,
    problems: Vec<String>,
    read: String,
}

fn render(
    objects: &ClusterObjects,
    list: &ObjectList,
    (route, title, facts): (Route, &str, &'static str),
    (about, none): (&'static str, &'static str),
    now: Timestamp,
    parts: Parts,
) -> Result<Page, PageError> {
    page(&ObjectsPage {
        frame: Frame::new(title, parts, &route),
        about,
        none,
        facts,
        rows: &list.rows,
        more: list.more,
        problems: objects.problems.iter().map(|problem| foreign_text::line(problem)).collect(),
        read: objects.read_at.map_or(String::new(), |time| humanize(now.since(time))),
    })
}

/// The page of policies.
pub fn render_policies(objects: &ClusterObjects, now: Timestamp, parts: Parts) -> Result<Page, PageError> {
    let about = "Gatekeeper's constraints, and what violated them in the last audit.";
    let texts = (about, "There are no constraints.");
    render(objects, &objects.constraints, (Route::Policies, "Policies", "Action"), texts, now, parts)
}

/// The page of bundles.
pub fn render_bundles(objects: &ClusterObjects, now: Timestamp, parts: Parts) -> Result<Page, PageError> {
    let about = "API groups whose CRDs say to which bundle they belong.";
    let texts = (about, "No CRD says to which bundle it belongs.");
    render(objects, &objects.bundle_rows(), (Route::Bundles, "Bundles", "Bundle"), texts, now, parts)
}

/// The page of Gateways and routes.
pub fn render_gateways(objects: &ClusterObjects, now: Timestamp, parts: Parts) -> Result<Page, PageError> {
    let about = "Gateway classes, Gateways and routes, as their published status describes them.";
    let texts = (about, "There are no Gateways or routes.");
    render(objects, &objects.gateways, (Route::Gateways, "Gateways", "Class"), texts, now, parts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn objects() -> ClusterObjects {
        let mut objects = ClusterObjects::default();
        for (name, status, action) in [
            ("audited", json!({"totalViolations": 0, "auditTimestamp": "2026-01-01T00:00:00Z"}), "deny"),
            (
                "violated",
                json!({"totalViolations": 2, "violations": [{"kind": "Pod", "namespace": "a", "name": "<b>", "message": "no owner"}]}),
                "deny",
            ),
            ("observed", json!({"totalViolations": 1}), "dryrun"),
            ("new", json!({}), "deny"),
        ] {
            objects.add(&json!({
                "apiVersion": "constraints.gatekeeper.sh/v1beta1",
                "kind": "K8sRequiredLabels",
                "metadata": {"name": name},
                "spec": {"enforcementAction": action},
                "status": status,
            }));
        }
        for (name, version) in
            [("a", json!({"x.io/bundle-version": "v1.2.0", "x.io/channel": "standard"})), ("b", json!({}))]
        {
            objects.add(&json!({
                "apiVersion": "apiextensions.k8s.io/v1",
                "kind": "CustomResourceDefinition",
                "metadata": {"name": name, "annotations": version},
                "spec": {"group": "x.io"},
            }));
        }
        for (name, accepted) in [("good", "True"), ("bad", "False")] {
            let condition = json!({"type": "Accepted", "status": accepted, "reason": "R", "message": "m"});
            objects.add(&json!({
                "apiVersion": "gateway.networking.k8s.io/v1",
                "kind": "HTTPRoute",
                "metadata": {"name": name, "namespace": "shop"},
                "status": {"parents": [{"conditions": [condition]}]},
            }));
        }
        objects
    }

    #[test]
    fn objects_are_summed_up() {
        let objects = objects();
        let states = |list: &ObjectList| -> Vec<(String, String)> {
            list.rows.iter().map(|row| (row.name.clone(), row.word.clone())).collect()
        };
        let pair = |name: &str, word: &str| (name.to_owned(), word.to_owned());
        assert_eq!(
            states(&objects.constraints),
            [
                pair("audited", "No violations"),
                pair("violated", "2 violations"),
                pair("observed", "1 violations"),
                pair("new", "Not audited"),
            ]
        );
        assert_eq!(states(&objects.bundle_rows()), [pair("x.io", "Some CRDs are not of the bundle")]);
        assert_eq!(states(&objects.gateways), [pair("shop/good", "Working"), pair("shop/bad", "Not working")]);
        let now = Timestamp::EPOCH;
        let page = render_policies(&objects, now, Parts::default()).unwrap().html;
        assert!(page.contains("no owner") && !page.contains("<b>"), "{page}");
        assert!(render_bundles(&objects, now, Parts::default()).unwrap().html.contains("v1.2.0"));
        assert!(render_gateways(&objects, now, Parts::default()).unwrap().html.contains("shop/bad"));
    }
}
