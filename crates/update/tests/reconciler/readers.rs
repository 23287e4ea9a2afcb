//! V6: whatever required field is missing, enum has another word, or bound is exceeded, the object is read, everything else
//! of it counts, and the reconciler goes on with it.

use clearway_bundle::{Channel, CrdSchema};
use clearway_update::api::{self, VersionObject};
use serde_json::Value;

use crate::loosened::{Loosened, Step, loosened, schema_of, whole_object};
use crate::world::{World, graph, risk};

fn all_crds() -> impl Iterator<Item = Value> {
    Channel::ALL.into_iter().flat_map(|channel| api::crds(channel).unwrap())
}

/// What is read of an object, written again, and how many remarks there are.
fn read(object: &Value) -> (Value, usize) {
    let (read, remarks) = VersionObject::read(object).unwrap();
    (serde_json::to_value(read).unwrap(), remarks.len())
}

/// The test can fail: the schema accepts the whole object and refuses each of the others, in the place and for the keyword
/// that was broken.
#[test]
fn each_object_breaks_exactly_one_keyword() {
    for crd in all_crds() {
        let schema = CrdSchema::read(schema_of(&crd)).unwrap();
        let base = whole_object(&crd);
        assert_eq!(schema.pruned(&base), base);
        assert_eq!(schema.validate(&base).violations, []);
        let mut broken = std::collections::BTreeSet::new();
        for one in loosened(&crd) {
            broken.insert(one.broken);
            if one.broken == "unknown field" {
                assert_ne!(schema.pruned(&one.object), one.object);
                continue;
            }
            let violations = schema.validate(&one.object).violations;
            let named = |violation: &clearway_schema::Violation| {
                violation.rule == one.broken && violation.path.starts_with(&one.place())
            };
            assert!(violations.iter().any(named), "{} {}: {violations:?}", one.place(), one.broken);
        }
        for keyword in ["required", "enum", "maxLength", "minLength", "maxItems", "minItems", "minimum", "pattern"] {
            assert!(broken.contains(keyword), "{keyword} is in the CRD {}", crd["metadata"]["name"]);
        }
    }
}

#[test]
fn v6_what_is_odd_takes_nothing_with_it() {
    for crd in all_crds() {
        let (base, remarks) = read(&whole_object(&crd));
        assert_eq!(remarks, 0);
        let objects = loosened(&crd);
        assert!(objects.len() > 100);
        for one in objects {
            let (found, remarks) = read(&one.object);
            compare(&one, &base, &found, &one.path, remarks);
        }
    }
}

/// Everything beside the path is as it was. An element of a list that means nothing without the field may be left out, but
/// then it is remarked on, and its neighbours are there.
fn compare(one: &Loosened, base: &Value, found: &Value, path: &[Step], remarks: usize) {
    let name = || format!("{} {}: {found}", one.place(), one.broken);
    match path {
        [] => {}
        [Step::Field(field), rest @ ..] => {
            let (base, found) = (base.as_object().unwrap(), found.as_object().unwrap_or_else(|| panic!("{}", name())));
            for (key, value) in base.iter().filter(|(key, _)| *key != field) {
                assert_eq!(Some(value), found.get(key), "{key} in {}", name());
            }
            match (base.get(field), found.get(field)) {
                (Some(base), Some(found)) if found.is_object() || found.is_array() => {
                    compare(one, base, found, rest, remarks);
                }
                // A part that is missing or null is missing in what was read, too; more than that must not be.
                (Some(_), _) => assert!(rest.is_empty(), "{field} is lost: {}", name()),
                (None, _) => {}
            }
        }
        [Step::Element(at), rest @ ..] => {
            let (base, found) = (base.as_array().unwrap(), found.as_array().unwrap());
            if found.len() == base.len() {
                compare(one, &base[*at], &found[*at], rest, remarks);
            } else {
                assert_eq!(found.len() + 1, base.len(), "{}", name());
                assert!(remarks > 0, "{}", name());
            }
            let others = base.iter().enumerate().filter(|(place, _)| place != at);
            others.for_each(|(_, other)| assert!(found.contains(other), "{}", name()));
        }
    }
}

#[test]
fn v6_the_reconciler_advises_whatever_is_odd() {
    for crd in all_crds() {
        for one in loosened(&crd) {
            let mut world = World::new(graph(&[("1.0.2", vec![risk("A", "up")])]));
            world.metrics.insert("up", Some(0.0));
            world.object = one.object.clone();
            // The request is another subject, and would be carried out here.
            if one.path.get(1) != Some(&Step::Field("desiredUpdate".to_owned())) {
                world.object["spec"].as_object_mut().map(|spec| spec.remove("desiredUpdate"));
            }
            world.start();
            world.pass(std::time::Duration::from_mins(2));
            let name = || format!("{} {}: {:?}", one.place(), one.broken, world.log);
            assert!(world.count("store") > 0, "{}", name());
            // Without the version that is there, or what is needed to ask for updates, nothing can be advised.
            let needed =
                ["status", "status.desired", "status.desired.version", "spec", "spec.channel", "spec.upstream"];
            let identity = ["spec.clusterID", "status.history"];
            if !needed.contains(&one.place().as_str()) && !identity.iter().any(|part| one.place().starts_with(part)) {
                let advised = ["1.0.2", "1.0.1"].map(str::to_owned);
                assert_eq!(world.available(), advised, "{}", name());
            }
        }
    }
}
