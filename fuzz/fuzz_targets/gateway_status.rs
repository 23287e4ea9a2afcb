//! Any text as objects of Gateway API: computing their status ends, is the same when they come one by one, and what is
//! published is the same twice.
#![no_main]

use clearway_conditions as conditions;
use clearway_core::{Limits, Timestamp};
use clearway_gateway::publish::Publisher;
use clearway_gateway::{Change, Engine, Object, Settings, audit, drawing};
use clearway_yaml::{ReadEvent, read};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let limits = Limits { nodes: 20_000, ..Limits::default() };
    let mut objects: Vec<Object> = Vec::new();
    read(text.as_bytes(), "fuzz", &limits, |event| {
        if let ReadEvent::Object { root, source, list } = event
            && let Ok(object) = conditions::Object::new(root, source, list)
        {
            objects.push(Object::read(&object));
        }
    });
    let settings = || Settings { assumed_controller: Some("fuzz".into()), ..Settings::default() };
    let (mut at_once, mut one_by_one) = (Engine::new(settings()), Engine::new(settings()));
    for object in &objects {
        at_once.apply(Change::Put(Box::new(object.clone())));
        one_by_one.update(Change::Put(Box::new(object.clone())));
    }
    at_once.evaluate();
    let is_ours = |_: &str| true;
    let publisher = Publisher { now: Timestamp::EPOCH, is_ours: &is_ours };
    for key in at_once.keys() {
        let status = at_once.status(&key);
        assert_eq!(status, one_by_one.status(&key));
        assert_eq!(at_once.traffic(&key), one_by_one.traffic(&key));
        let Some(object) = at_once.object(&key) else { continue };
        let published = publisher.merge(object, status.as_ref(), &serde_json::Value::Null);
        assert_eq!(published, publisher.merge(object, status.as_ref(), &published));
        audit::audit(object, status.as_ref(), &published, &is_ours);
        at_once.grant_verdict(&key);
    }
    assert!(drawing::draw(&at_once).ends_with("</svg>\n"));
    for object in objects {
        at_once.update(Change::Delete(object.key));
    }
    assert!(at_once.keys().is_empty());
});
