//! Any text as a product file of a catalogue, and behind a line `===` as an object of the cluster: reading and detection end, say
//! the same twice, and never repeat what the object has in a label, an annotation or an image.
#![no_main]

use clearway_catalog::{Detection, Detector, Product};
use libfuzzer_sys::fuzz_target;
use serde_json::{Value, json};

/// Stands in a place of the object that a product file can name, and in no product file.
const SECRET: &str = "hunter2hunter2";

fn detect(product: &Product, object: &Value) -> Detection {
    let mut detector = Detector::new(product);
    detector.set_api_server("v1.33.4");
    detector.add(object);
    detector.add(&json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {
            "name": "cert-manager",
            "labels": {"app.kubernetes.io/version": SECRET}, "annotations": {"note": SECRET},
        },
        "spec": {"template": {"spec": {"containers": [{"image": format!("example.com/controller:{SECRET}")}]}}},
    }));
    detector.finish(false)
}

fuzz_target!(|text: &str| {
    let (file, object) = text.split_once("\n===\n").unwrap_or((text, "{}"));
    let Ok(product) = Product::read(file.as_bytes()) else { return };
    let object = serde_json::from_str(object).unwrap_or(Value::Null);
    let detection = format!("{:?}", detect(&product, &object));
    assert_eq!(detection, format!("{:?}", detect(&product, &object)));
    assert!(text.contains(SECRET) || !detection.contains(SECRET), "{detection}");
    assert!(product.kinds().all(|kind| kind.kind != "Secret"), "{product:?}");
});
