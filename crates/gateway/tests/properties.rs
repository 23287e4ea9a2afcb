//! What holds for every set of objects: the order of input does not matter, a change is computed as everything is, and a
//! ReferenceGrant is missed by what needed it and by nothing else.

use std::collections::{BTreeMap, BTreeSet};

use clearway_gateway::{Change, Engine, Object, ObjectKey, ObjectStatus, Settings};
use proptest::prelude::*;
use serde_json::{Value, json};

const API: &str = "gateway.networking.k8s.io/v1";

fn object(kind: &str, namespace: &str, name: &str, created: u8, spec: &Value) -> Value {
    let group = match kind {
        "Service" | "Namespace" => "v1",
        _ => API,
    };
    json!({"apiVersion": group, "kind": kind, "spec": spec, "metadata": {
        "namespace": namespace, "name": name, "generation": 1, "creationTimestamp": format!("2026-01-0{}T00:00:00Z", created % 9 + 1),
        "labels": {"team": name},
    }})
}

const NAMESPACES: [&str; 3] = ["a", "b", "c"];
const HOSTNAMES: [&str; 5] = ["", "x.com", "*.com", "y.x.com", "*.x.com"];

/// Any object out of a small world, so that objects often meet.
fn any_object() -> impl Strategy<Value = Value> {
    let namespace = || prop::sample::select(NAMESPACES.to_vec());
    let number = || 0_u8..3;
    let hostname = || prop::sample::select(HOSTNAMES.to_vec());
    let from = || prop::sample::select(vec![json!("All"), json!("Same"), json!("Selector")]);
    let listener = (number(), prop::sample::select(vec!["HTTP", "HTTPS", "TCP", "X"]), hostname(), from()).prop_map(
        |(number, protocol, hostname, from)| {
            json!({"name": format!("l{number}"), "port": 80 + u16::from(number % 2), "protocol": protocol, "hostname": hostname,
                "tls": {"certificateRefs": [{"name": "cert", "namespace": "c"}]},
                "allowedRoutes": {"namespaces": {"from": from, "selector": {"matchLabels": {"team": "a"}}}}})
        },
    );
    let listeners = prop::collection::vec(listener, 1..4);
    let gateway =
        (namespace(), number(), listeners.clone(), any::<bool>()).prop_map(|(namespace, name, listeners, own)| {
            let from = if own { "All" } else { "None" };
            object(
                "Gateway",
                namespace,
                &format!("gw{name}"),
                0,
                &json!({"gatewayClassName": "class", "listeners": listeners,
            "allowedListeners": {"namespaces": {"from": from}}}),
            )
        });
    let set = (namespace(), namespace(), number(), listeners, number()).prop_map(
        |(namespace, parent, name, listeners, age)| {
            object(
                "ListenerSet",
                namespace,
                &format!("set{name}"),
                age,
                &json!({"parentRef": {"namespace": parent, "name": format!("gw{name}")}, "listeners": listeners}),
            )
        },
    );
    let route = (
        prop::sample::select(vec!["HTTPRoute", "GRPCRoute", "TCPRoute"]), namespace(), number(), number(),
        prop::collection::vec((any::<bool>(), namespace(), number(), prop::option::of(number())), 1..3),
        prop::collection::vec(hostname().prop_filter("a name", |name| !name.is_empty()), 0..3),
        prop::collection::vec((namespace(), number()), 0..3),
    ).prop_map(|(kind, namespace, name, age, parents, hostnames, backends)| {
        let parent = |(set, namespace, name, section): &(bool, &str, u8, Option<u8>)| {
            let (kind, prefix) = if *set { ("ListenerSet", "set") } else { ("Gateway", "gw") };
            let mut parent = json!({"kind": kind, "namespace": namespace, "name": format!("{prefix}{name}")});
            if let Some(section) = section {
                parent["sectionName"] = json!(format!("l{section}"));
            }
            parent
        };
        let backend = |(namespace, name): &(&str, u8)| json!({"namespace": namespace, "name": format!("svc{name}"), "port": 80});
        object(kind, namespace, &format!("route{name}"), age, &json!({
            "parentRefs": parents.iter().map(parent).collect::<Vec<_>>(), "hostnames": hostnames,
            "rules": [{"backendRefs": backends.iter().map(backend).collect::<Vec<_>>()}]}))
    });
    let grant = (namespace(), namespace(), number(), prop::sample::select(vec!["HTTPRoute", "TCPRoute", "Gateway"]))
        .prop_map(|(namespace, from, name, kind)| {
            object(
                "ReferenceGrant",
                namespace,
                &format!("grant{name}"),
                0,
                &json!({
                "from": [{"group": "gateway.networking.k8s.io", "kind": kind, "namespace": from}],
                "to": [{"group": "", "kind": "Service"}, {"group": "", "kind": "Secret"}]}),
            )
        });
    let service = (namespace(), number()).prop_map(|(namespace, name)| {
        object("Service", namespace, &format!("svc{name}"), 0, &json!({"ports": [{"port": 80}]}))
    });
    let policy = (namespace(), number(), number(), number()).prop_map(|(namespace, name, target, age)| {
        object(
            "BackendTLSPolicy",
            namespace,
            &format!("policy{name}"),
            age,
            &json!({
            "targetRefs": [{"group": "", "kind": "Service", "name": format!("svc{target}")}],
            "validation": {"wellKnownCACertificates": "System"}}),
        )
    });
    let namespaces =
        prop::sample::select(NAMESPACES.to_vec()).prop_map(|name| object("Namespace", "", name, 0, &json!({})));
    let class = any::<bool>().prop_map(|own| {
        let controller = if own { "example.com/one" } else { "example.com/two" };
        object("GatewayClass", "", "class", 0, &json!({"controllerName": controller}))
    });
    let secret = Just(
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"namespace": "c", "name": "cert"}, "stringData": {
        "tls.crt": "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----",
        "tls.key": "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----"}}),
    );
    prop_oneof![
        6 => route, 4 => gateway, 2 => set, 2 => grant, 2 => service, 1 => policy, 1 => namespaces, 1 => class, 1 => secret
    ]
}

fn read(value: &Value) -> Object {
    Object::from_json(value).unwrap()
}

fn statuses(engine: &Engine) -> BTreeMap<ObjectKey, ObjectStatus> {
    engine.keys().into_iter().filter_map(|key| Some((key.clone(), engine.status(&key)?))).collect()
}

fn from_scratch<'a>(objects: impl IntoIterator<Item = &'a Object>) -> Engine {
    let mut engine = Engine::new(Settings::default());
    for object in objects {
        engine.apply(Change::Put(Box::new(object.clone())));
    }
    engine.evaluate();
    engine
}

proptest! {
    #[test]
    fn the_order_of_input_changes_nothing(values in prop::collection::vec(any_object(), 0..40), seed in any::<u64>()) {
        let objects: BTreeMap<ObjectKey, Object> =
            values.iter().map(read).map(|object| (object.key.clone(), object)).collect();
        let mut shuffled: Vec<&Object> = objects.values().collect();
        let mut state = seed;
        for index in (1..shuffled.len()).rev() {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            shuffled.swap(index, usize::try_from(state >> 33).unwrap() % (index + 1));
        }
        let (one, two) = (from_scratch(objects.values()), from_scratch(shuffled));
        prop_assert_eq!(statuses(&one), statuses(&two));
        for key in objects.keys() {
            prop_assert_eq!(one.traffic(key), two.traffic(key));
        }
    }

    #[test]
    fn changes_give_what_starting_anew_gives_and_report_what_changed(
        values in prop::collection::vec((any_object(), any::<bool>()), 0..40)
    ) {
        let mut engine = Engine::new(Settings::default());
        let mut objects: BTreeMap<ObjectKey, Object> = BTreeMap::new();
        let mut before = BTreeMap::new();
        for (value, keep) in &values {
            let object = read(value);
            let change = if *keep || !objects.contains_key(&object.key) {
                objects.insert(object.key.clone(), object.clone());
                Change::Put(Box::new(object))
            } else {
                objects.remove(&object.key);
                Change::Delete(object.key)
            };
            let reported = engine.update(change);
            let after = statuses(&engine);
            prop_assert_eq!(&after, &statuses(&from_scratch(objects.values())));
            let keys: BTreeSet<&ObjectKey> = before.keys().chain(after.keys()).collect();
            for key in keys {
                if before.get(key) != after.get(key) {
                    prop_assert!(reported.contains(key), "{} changed and was not reported", key);
                }
            }
            before = after;
        }
    }

    #[test]
    fn a_grant_is_missed_by_what_needed_it_and_by_nothing_else(values in prop::collection::vec(any_object(), 0..40)) {
        let objects: BTreeMap<ObjectKey, Object> =
            values.iter().map(read).map(|object| (object.key.clone(), object)).collect();
        let mut engine = from_scratch(objects.values());
        let before = statuses(&engine);
        let grants: Vec<ObjectKey> = objects.keys().filter(|key| key.kind.as_str() == "ReferenceGrant").cloned().collect();
        for grant in grants {
            let allows = engine.grant_verdict(&grant).unwrap().allows;
            engine.update(Change::Delete(grant.clone()));
            for (key, status) in statuses(&engine) {
                let needed = allows.iter().any(|reference| reference.starts_with(&format!("{key} → ")));
                // Gateways and ListenerSets whose listeners need it, and what depends on those, may change too.
                if !needed && key.kind.as_str().ends_with("Route") && !allows.iter().any(|reference| reference.starts_with("Gateway ")) {
                    prop_assert_eq!(Some(&status), before.get(&key), "{} did not need {}", key, grant);
                }
            }
            engine.update(Change::Put(Box::new(objects[&grant].clone())));
            prop_assert_eq!(&statuses(&engine), &before);
        }
    }
}

#[test]
fn what_is_deleted_leaves_nothing_behind() {
    let values = [
        object("GatewayClass", "", "class", 0, &json!({"controllerName": "example.com/one"})),
        object(
            "Gateway",
            "a",
            "gw",
            0,
            &json!({"gatewayClassName": "class", "listeners": [{"name": "l", "port": 80, "protocol": "HTTP"}]}),
        ),
        object(
            "HTTPRoute",
            "a",
            "r",
            0,
            &json!({"parentRefs": [{"name": "gw"}], "rules": [{"backendRefs": [{"name": "gone"}]}]}),
        ),
    ];
    let mut engine = from_scratch(&values.each_ref().map(read));
    for value in &values {
        let key = read(value).key;
        assert!(engine.update(Change::Delete(key.clone())).contains(&key));
    }
    assert_eq!((engine.keys().len(), statuses(&engine).len()), (0, 0));
    let counted = format!("{engine:?}").matches("ObjectKey {").count();
    assert_eq!(counted, 0, "{engine:?}");
}

#[test]
fn ten_thousand_routes_attach_to_one_gateway() {
    let gateway = object(
        "Gateway",
        "a",
        "gw",
        0,
        &json!({"gatewayClassName": "class", "listeners": [
        {"name": "l", "port": 80, "protocol": "HTTP"}]}),
    );
    let class = object("GatewayClass", "", "class", 0, &json!({"controllerName": "example.com/one"}));
    let route = |index: usize| {
        read(&object(
            "HTTPRoute",
            "a",
            &format!("r{index}"),
            0,
            &json!({"hostnames": [format!("h{index}.com")],
            "parentRefs": [{"name": "gw"}]}),
        ))
    };
    let routes = (0..10_000).map(route);
    let mut engine = from_scratch(&[read(&gateway), read(&class)].into_iter().chain(routes).collect::<Vec<_>>());
    let attached = |engine: &Engine| match engine.status(&read(&gateway).key) {
        Some(ObjectStatus::Gateway { listeners, .. }) => listeners[0].attached_routes,
        other => panic!("{other:?}"),
    };
    assert_eq!(attached(&engine), 10_000);
    let changed = engine.update(Change::Delete(route(7).key));
    assert_eq!((attached(&engine), changed.len()), (9_999, 2));
}
