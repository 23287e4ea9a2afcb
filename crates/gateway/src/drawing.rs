//! A drawing of classes, Gateways, listeners, routes and Services as SVG, coloured by state.
//!
//! Every kind is a column; lines lead from each object to what it refers to. The same objects give the same bytes, and
//! texts of strangers are escaped.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use crate::engine::Engine;
use crate::model::{Body, ObjectKey, ObjectKind};
use crate::status::{Condition, ObjectStatus};
use crate::words::ConditionType;
use clearway_conditions::Status;
use clearway_core::terminal_text;

const COLUMNS: [&str; 5] = ["GatewayClasses", "Gateways", "Listeners", "Routes", "Services"];
const WIDTH: usize = 250;
const GAP: usize = 70;
const HEIGHT: usize = 26;
const STEP: usize = 36;
const TOP: usize = 50;
const LEFT: usize = 20;

/// How an object is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Good,
    Partly,
    Bad,
    Unknown,
}

#[derive(Debug)]
struct Node {
    column: usize,
    title: String,
    state: State,
    tooltip: String,
}

#[derive(Debug, Default)]
struct Picture {
    nodes: Vec<Node>,
    names: BTreeMap<String, usize>,
    edges: BTreeSet<(usize, usize)>,
}

impl Picture {
    fn add(&mut self, name: String, node: Node) -> usize {
        if let Some(known) = self.names.get(&name) {
            return *known;
        }
        self.nodes.push(node);
        self.names.insert(name, self.nodes.len() - 1);
        self.nodes.len() - 1
    }
}

/// Draws what an engine knows.
pub fn draw(engine: &Engine) -> String {
    let mut picture = Picture::default();
    let keys = engine.keys();
    for key in &keys {
        match engine.object(key).map(|object| &object.body) {
            Some(Body::GatewayClass(_)) => {
                object_node(engine, &mut picture, key, 0);
            }
            Some(Body::Gateway(gateway)) => {
                let node = object_node(engine, &mut picture, key, 1);
                let class = ObjectKey::new(ObjectKind::GatewayClass, &"".into(), &gateway.class);
                let class = object_node(engine, &mut picture, &class, 0);
                picture.edges.insert((class, node));
                add_listeners(engine, &mut picture, key, node);
            }
            Some(Body::ListenerSet(set)) => {
                let node = object_node(engine, &mut picture, &set.parent, 1);
                add_listeners(engine, &mut picture, key, node);
            }
            _ => {}
        }
    }
    for key in &keys {
        let Some(Body::Route(route)) = engine.object(key).map(|object| &object.body) else { continue };
        let node = object_node(engine, &mut picture, key, 3);
        for (parent, listener) in engine.attachments(key) {
            if let Some(listener) = picture.names.get(&listener_name(&parent, &listener)) {
                let edge = (*listener, node);
                picture.edges.insert(edge);
            }
        }
        for backend in route.rules.iter().flat_map(|rule| &rule.backends) {
            let target = &backend.reference.target;
            let state = if engine.object(target).is_some() { State::Good } else { State::Bad };
            let tooltip = if state == State::Bad { format!("{target}: not found") } else { target.to_string() };
            let title = format!("{}/{}", target.namespace, target.name);
            let service = picture.add(target.to_string(), Node { column: 4, title, state, tooltip });
            picture.edges.insert((node, service));
        }
    }
    write(&picture)
}

fn listener_name(parent: &ObjectKey, listener: &str) -> String {
    format!("{parent} listener {listener}")
}

fn add_listeners(engine: &Engine, picture: &mut Picture, key: &ObjectKey, gateway: usize) {
    let Some(ObjectStatus::Gateway { listeners, .. } | ObjectStatus::ListenerSet { listeners, .. }) =
        engine.status(key)
    else {
        return;
    };
    for listener in listeners {
        let prefix = if key.kind == ObjectKind::ListenerSet { format!("{}/", key.name) } else { String::new() };
        let node = Node {
            column: 2,
            title: format!("{prefix}{} ({} routes)", listener.name, listener.attached_routes),
            state: state_of(&listener.conditions),
            tooltip: describe(&listener.conditions),
        };
        let index = picture.add(listener_name(key, &listener.name), node);
        picture.edges.insert((gateway, index));
    }
}

fn object_node(engine: &Engine, picture: &mut Picture, key: &ObjectKey, column: usize) -> usize {
    let status = engine.status(key);
    let lists = status.as_ref().map(ObjectStatus::condition_lists).unwrap_or_default();
    let own = match &status {
        Some(ObjectStatus::Route { .. }) | None => lists.iter().flat_map(|(_, list)| list.iter().cloned()).collect(),
        _ => lists.first().map(|(_, list)| list.to_vec()).unwrap_or_default(),
    };
    let title = if key.namespace.is_empty() { key.name.to_string() } else { format!("{}/{}", key.namespace, key.name) };
    let title = match &key.kind {
        ObjectKind::Route(kind) => format!("{} {title}", kind.as_str().trim_end_matches("Route")),
        _ => title,
    };
    let state = if engine.object(key).is_none() { State::Bad } else { state_of(&own) };
    picture.add(key.to_string(), Node { column, title, state, tooltip: format!("{key}\n{}", describe(&own)) })
}

fn state_of(conditions: &[Condition]) -> State {
    let accepted =
        |wanted: Status| conditions.iter().any(|one| one.kind == ConditionType::Accepted && one.status == wanted);
    if conditions.is_empty() || (accepted(Status::Unknown) && !accepted(Status::False)) {
        State::Unknown
    } else if accepted(Status::False) {
        State::Bad
    } else if conditions.iter().all(|one| one.is_healthy() || one.status == Status::Unknown) {
        State::Good
    } else {
        State::Partly
    }
}

fn describe(conditions: &[Condition]) -> String {
    let line = |one: &Condition| format!("{}={}/{}: {}", one.kind, one.status.as_str(), one.reason, one.message);
    conditions.iter().map(line).collect::<Vec<_>>().join("\n")
}

fn write(picture: &Picture) -> String {
    let mut rows = [0_usize; COLUMNS.len()];
    let mut places = Vec::with_capacity(picture.nodes.len());
    for node in &picture.nodes {
        let row = rows.get_mut(node.column).map(|row| {
            *row += 1;
            *row - 1
        });
        places.push((LEFT + node.column * (WIDTH + GAP), TOP + row.unwrap_or(0) * STEP));
    }
    let width = LEFT * 2 + COLUMNS.len() * WIDTH + (COLUMNS.len() - 1) * GAP;
    let height = TOP + rows.iter().max().copied().unwrap_or(0).max(1) * STEP + LEFT;
    let mut out = String::new();
    let _ = writeln!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" \
         role=\"img\" aria-label=\"Gateways, routes and Services\">\n<style>\
         text{{font:13px sans-serif;fill:#1b1f24}} .head{{font-weight:bold}} path{{fill:none;stroke:#8c959f}} \
         rect{{stroke-width:1.5}} .good{{fill:#dafbe1;stroke:#1a7f37}} .partly{{fill:#fff8c5;stroke:#9a6700}} \
         .bad{{fill:#ffebe9;stroke:#cf222e}} .unknown{{fill:#eaeef2;stroke:#57606a}} \
         @media (prefers-color-scheme: dark){{.head{{fill:#e6edf3}}}}</style>"
    );
    for (column, title) in COLUMNS.iter().enumerate() {
        let x = LEFT + column * (WIDTH + GAP);
        let _ = writeln!(out, "<text class=\"head\" x=\"{x}\" y=\"30\">{title}</text>");
    }
    for (from, to) in &picture.edges {
        let (Some((x1, y1)), Some((x2, y2))) = (places.get(*from), places.get(*to)) else { continue };
        let (start, end, middle) = (x1 + WIDTH, *x2, HEIGHT / 2);
        let _ = writeln!(
            out,
            "<path d=\"M{start} {} C{} {} {} {} {end} {}\"/>",
            y1 + middle,
            start + GAP / 2,
            y1 + middle,
            end.saturating_sub(GAP / 2),
            y2 + middle,
            y2 + middle
        );
    }
    for (node, (x, y)) in picture.nodes.iter().zip(&places) {
        let class = match node.state {
            State::Good => "good",
            State::Partly => "partly",
            State::Bad => "bad",
            State::Unknown => "unknown",
        };
        let title: String = node.title.chars().take(34).collect();
        let _ = writeln!(
            out,
            "<g><title>{}</title><rect class=\"{class}\" x=\"{x}\" y=\"{y}\" width=\"{WIDTH}\" height=\"{HEIGHT}\" rx=\"5\"/>\
             <text x=\"{}\" y=\"{}\">{}</text></g>",
            escape(&node.tooltip),
            x + 8,
            y + 18,
            escape(&title)
        );
    }
    out.push_str("</svg>\n");
    out
}

/// Text for XML: neither markup nor characters that XML does not allow; what could deceive a reader is shown as an escape.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in terminal_text::escape(text).chars() {
        match character {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '"' => out.push_str("&quot;"),
            '\n' => out.push('\n'),
            character if character.is_control() => out.push('\u{fffd}'),
            character => out.push(character),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Change, Object, Settings};
    use serde_json::json;

    #[test]
    fn objects_are_drawn_by_kind_and_state_and_foreign_text_is_escaped() {
        let api = "gateway.networking.k8s.io/v1";
        let mut engine = Engine::new(Settings::default());
        for object in [
            json!({"apiVersion": api, "kind": "GatewayClass", "metadata": {"name": "c"}, "spec": {"controllerName": "x/y"}}),
            json!({"apiVersion": api, "kind": "Gateway", "metadata": {"namespace": "a", "name": "<gw>"},
                "spec": {"gatewayClassName": "c", "listeners": [{"name": "http", "port": 80, "protocol": "HTTP"}]}}),
            json!({"apiVersion": api, "kind": "HTTPRoute", "metadata": {"namespace": "a", "name": "r\u{202e}"},
                "spec": {"parentRefs": [{"name": "<gw>"}], "rules": [{"backendRefs": [{"name": "gone", "port": 1}]}]}}),
        ] {
            engine.apply(Change::Put(Box::new(Object::from_json(&object).unwrap())));
        }
        engine.evaluate();
        let svg = draw(&engine);
        assert!(!svg.contains("<gw>") && svg.contains("a/&lt;gw&gt;"), "{svg}");
        assert!(!svg.contains('\u{202e}') && svg.contains("a/r\\u{202e}"), "{svg}");
        assert_eq!((svg.matches("<rect").count(), svg.matches("<path").count()), (5, 4));
        assert_eq!(
            ["good", "partly", "bad"].map(|class| svg.matches(&format!("class=\"{class}\"")).count()),
            [3, 1, 1]
        );
    }
}
