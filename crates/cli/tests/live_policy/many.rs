//! Ten thousand objects and twenty constraints.

use serde_json::{Value, json};

use super::lab::{Lab, REQUIRED_LABEL, config_map, constraint};

const OBJECTS: usize = 10_000;
const CONSTRAINTS: usize = 20;

#[tokio::test]
async fn ten_thousand_objects_are_audited_by_twenty_constraints() {
    let Some(lab) = Lab::start().await else { return };
    lab.create_template("RequiredLabel", REQUIRED_LABEL).await;
    // Each asks for another label; every third object has the label of the first one.
    lab.create_all((0..CONSTRAINTS).map(|number| {
        let parameters = json!({"parameters": {"label": format!("label-{number}")}});
        constraint("RequiredLabel", &format!("constraint-{number:02}"), &parameters)
    }))
    .await;
    for namespace in ["shop-0", "shop-1"] {
        lab.create_namespace(namespace).await;
    }
    lab.create_all((0..OBJECTS).map(|number| {
        let labels = if number % 3 == 0 { json!({"label-0": "a"}) } else { json!({}) };
        config_map(&format!("shop-{}", number % 2), &format!("object-{number:05}"), &labels)
    }))
    .await;
    let (code, out, err) = lab.run(&["policy", "audit", "-o", "json", "--write-status"]);
    assert_eq!(code, 1, "{err}");
    let data: Value = serde_json::from_str(&out).unwrap();
    // The API server has some of its own.
    assert!(data["objects"].as_u64().is_some_and(|count| count >= OBJECTS as u64), "{err}");
    let constraints = data["constraints"].as_array().unwrap();
    assert_eq!(constraints.len(), CONSTRAINTS);
    let with_label = OBJECTS.div_ceil(3);
    assert_eq!(constraints[0]["totalViolations"], json!(OBJECTS - with_label));
    assert!(constraints.iter().skip(1).all(|one| one["totalViolations"] == json!(OBJECTS)), "{out}");
    // The smallest twenty, from the largest to the smallest.
    let status = lab.status("RequiredLabel", "constraint-01").await;
    let names: Vec<String> = status["violations"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| format!("{}/{}", one["namespace"].as_str().unwrap(), one["name"].as_str().unwrap()))
        .collect();
    let expected: Vec<String> = (0..20).rev().map(|number| format!("shop-0/object-{:05}", number * 2)).collect();
    assert_eq!(names, expected);
}
