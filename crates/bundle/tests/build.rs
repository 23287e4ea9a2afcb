//! From a Rust type to a CRD: what a type may say, and what is an error instead of a field that is lost.

use clearway_bundle::{BuildError, Channel, Definition, described, to_yaml};
use clearway_core::Version;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

fn definition(spec: Value) -> Definition {
    Definition {
        group: "example.com",
        version: "v1",
        kind: "Thing",
        plural: "things",
        singular: "thing",
        description: "A thing.",
        channel: Channel::Standard,
        columns: Vec::new(),
        spec,
        status: json!({"type": "object"}),
    }
}

fn spec(schema: Value, channel: Channel) -> Result<Value, BuildError> {
    let crd = definition(schema).crd(channel, &Version::new(1, 2, 3))?.unwrap();
    Ok(crd.pointer("/spec/versions/0/schema/openAPIV3Schema/properties/spec").unwrap().clone())
}

/// What is wanted.
///
/// And more
/// of it.
#[derive(Serialize, JsonSchema)]
struct Spec {
    /// Always written.
    name: String,
    /// Only sometimes.
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
    /// Marked, and required where it is.
    #[schemars(extend("x-clearway-channel" = "experimental"))]
    extra: u8,
    mode: Mode,
}

#[derive(Serialize, JsonSchema)]
#[expect(dead_code, reason = "only its schema is of interest")]
enum Mode {
    /// Described, so it stands apart in the schema.
    Slow,
    Fast,
    #[schemars(extend("x-clearway-channel" = "experimental"))]
    Wild,
}

#[test]
fn v2_a_mark_takes_a_field_or_a_word_out_of_the_standard_channel() {
    let standard = spec(described::<Spec>(), Channel::Standard).unwrap();
    assert_eq!(standard["required"], json!(["mode", "name"]));
    assert_eq!(standard["properties"]["mode"]["enum"], json!(["Fast", "Slow"]));
    assert_eq!(standard["description"], "What is wanted.\n\nAnd more of it.");
    assert_eq!(
        standard["properties"]["note"],
        json!({"description": "Only sometimes.", "type": "string", "nullable": true})
    );
    let experimental = spec(described::<Spec>(), Channel::Experimental).unwrap();
    assert_eq!(experimental["required"], json!(["extra", "mode", "name"]));
    assert_eq!(experimental["properties"]["mode"]["enum"].as_array().unwrap().len(), 3);
}

#[test]
fn what_no_crd_can_say_is_an_error_with_its_place() {
    #[derive(Serialize, JsonSchema)]
    struct Tree {
        below: Vec<Tree>,
    }
    #[derive(Serialize, JsonSchema)]
    struct Either {
        value: Result<u8, String>,
    }
    #[derive(Serialize, JsonSchema)]
    struct Anything {
        value: Value,
    }
    for (schema, want) in [
        (described::<Tree>(), "spec.below[]: the type contains itself, which a structural schema cannot express"),
        (described::<Either>(), "spec.value: `oneOf` cannot be written in a structural schema"),
        (described::<Anything>(), "spec.value: the field has no type, or several"),
        (
            json!({"type": "object", "properties": {"a": {"type": "string", "x-clearway-channel": "odd"}}}),
            "spec.a: `x-clearway-channel` is not `standard` or `experimental`",
        ),
        (json!({"type": "object", "if": {}}), "spec: `if` cannot be written in a structural schema"),
    ] {
        assert_eq!(spec(schema, Channel::Standard).unwrap_err().to_string(), want);
    }
}

#[test]
fn v1_the_same_types_are_the_same_bytes_with_the_annotations_of_the_bundle() {
    let write = || {
        let crd = definition(described::<Spec>()).crd(Channel::Experimental, &Version::new(1, 2, 3)).unwrap().unwrap();
        to_yaml(&crd).unwrap()
    };
    let text = write();
    assert_eq!(text, write());
    let head = "---\napiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata:\n  annotations:\n    \
                clearway.dev/bundle-version: \"1.2.3\"\n    clearway.dev/channel: experimental\n  name: things.example.com\n";
    assert!(text.starts_with(head), "{text}");
    let read: Value = serde_saphyr::from_str(&text).unwrap();
    let crd = definition(described::<Spec>()).crd(Channel::Experimental, &Version::new(1, 2, 3)).unwrap().unwrap();
    assert_eq!(read, crd, "what is written is what is read");
    let hidden = Definition { channel: Channel::Experimental, ..definition(json!({"type": "object"})) };
    assert_eq!(hidden.crd(Channel::Standard, &Version::new(1, 0, 0)), Ok(None));
}
