//! How an object becomes another: a patch merged into it, or what somebody says of it applied to it.

use serde_json::{Map, Value};

/// Merges a patch as RFC 7386 has it: `null` removes, an object goes deeper, everything else replaces.
pub(super) fn patch(target: &mut Value, patch: &Value) {
    let Value::Object(fields) = patch else {
        target.clone_from(patch);
        return;
    };
    if !target.is_object() {
        *target = Value::Object(Map::new());
    }
    for (name, value) in fields {
        if value.is_null() {
            target.as_object_mut().map(|object| object.remove(name));
        } else {
            self::patch(field(target, name), value);
        }
    }
}

/// Makes `live` say what `said` says, and no longer what was said `before` and is not said now; the rest stays. Lists
/// are one value: whose items belong together is known only to the schema of a kind.
pub(super) fn apply(live: &mut Value, before: &Value, said: &Value) {
    let Value::Object(said) = said else {
        live.clone_from(said);
        return;
    };
    let nothing = Map::new();
    let before = before.as_object().unwrap_or(&nothing);
    for (name, value) in before {
        if !said.contains_key(name)
            && let Some(object) = live.as_object_mut()
        {
            take_back(object, name, value);
        }
    }
    for (name, value) in said {
        apply(field(live, name), before.get(name).unwrap_or(&Value::Null), value);
    }
}

/// Removes what was said in a field; what others said in it stays, and the field with it.
fn take_back(live: &mut Map<String, Value>, name: &str, before: &Value) {
    let left = match (live.get_mut(name), before) {
        (Some(Value::Object(inner)), Value::Object(before)) => {
            for (name, value) in before {
                take_back(inner, name, value);
            }
            !inner.is_empty()
        }
        _ => false,
    };
    if !left {
        live.remove(name);
    }
}

fn field<'v>(value: &'v mut Value, name: &str) -> &'v mut Value {
    if !value.is_object() {
        *value = Value::Object(Map::new());
    }
    &mut value[name]
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_patch_is_merged_as_the_standard_says() {
        for (mut target, given, want) in [
            (json!({"a": "b"}), json!({"a": "c"}), json!({"a": "c"})),
            (json!({"a": "b", "b": "c"}), json!({"a": null}), json!({"b": "c"})),
            (json!({"a": [1, 2]}), json!({"a": [3]}), json!({"a": [3]})),
            (json!({"a": {"b": "c"}}), json!({"a": {"b": "d", "c": null}}), json!({"a": {"b": "d"}})),
            (json!({"e": null}), json!({"a": 1}), json!({"e": null, "a": 1})),
            (json!([1]), json!({"a": {"bb": {"ccc": null}}}), json!({"a": {"bb": {}}})),
        ] {
            patch(&mut target, &given);
            assert_eq!(target, want);
        }
    }

    #[test]
    fn what_is_no_longer_said_goes_and_what_others_say_stays() {
        let mut live = json!({"spec": {"replicas": 5, "paused": true, "template": {"image": "a", "env": {"A": "1"}}}});
        let before = json!({"spec": {"paused": true, "template": {"image": "a", "env": {"A": "1"}}}});
        let said = json!({"spec": {"template": {"image": "b"}}});
        apply(&mut live, &before, &said);
        assert_eq!(live, json!({"spec": {"replicas": 5, "template": {"image": "b"}}}));
    }
}
