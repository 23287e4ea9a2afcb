//! The children of `clearway operator --policies` evaluate templates of strangers: whatever one does, the others keep
//! working, and the operator says which it was.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clearway_core::GroupVersionKind;
use clearway_operator::policies::evaluation::{
    AuditObject, Change, EvaluatorError, EvaluatorSettings, Evaluators, MAX_ENDS,
};
use clearway_policy::ReviewResult;
use clearway_testbed::IN_TIME;
use serde_json::{Value, json};
use tokio::time::Instant;

fn settings() -> EvaluatorSettings {
    EvaluatorSettings {
        program: PathBuf::from(env!("CARGO_BIN_EXE_clearway")),
        arguments: vec!["policy-evaluator".to_owned()],
        processes: 2,
        memory: 256 << 20,
        time_limit: Duration::from_millis(500),
        steps: 1_000_000_000,
        reject_unknown_actions: false,
    }
}

async fn start() -> Evaluators {
    Evaluators::start(settings()).await.unwrap()
}

fn template(kind: &str, rule: &str) -> Change {
    let name = kind.to_lowercase();
    Change::PutTemplate(Arc::new(json!({
        "apiVersion": "templates.gatekeeper.sh/v1", "kind": "ConstraintTemplate", "metadata": {"name": name},
        "spec": {
            "crd": {"spec": {"names": {"kind": kind}}},
            "targets": [{"target": "admission.k8s.gatekeeper.sh", "rego": format!("package {name}\n{rule}")}],
        },
    })))
}

fn constraint(kind: &str, name: &str) -> Change {
    Change::PutConstraint(Arc::new(json!({
        "apiVersion": "constraints.gatekeeper.sh/v1beta1", "kind": kind, "metadata": {"name": name},
    })))
}

/// A template and a constraint of it with the same name.
async fn load(evaluators: &Evaluators, kind: &str, rule: &str) {
    for change in [template(kind, rule), constraint(kind, &kind.to_lowercase())] {
        let loaded = evaluators.apply(change).await;
        assert_eq!(loaded.error, None, "{kind}");
    }
}

fn request(name: &str) -> Arc<Value> {
    Arc::new(json!({
        "uid": "1", "kind": {"group": "", "version": "v1", "kind": "ConfigMap"}, "operation": "CREATE",
        "name": name, "object": {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}},
    }))
}

fn in_time() -> Instant {
    Instant::now() + IN_TIME
}

async fn review(evaluators: &Evaluators, name: &str) -> Result<Vec<ReviewResult>, EvaluatorError> {
    evaluators.review_request(request(name), None, in_time()).await
}

/// Constraint and message of each violation, by constraint.
async fn messages(evaluators: &Evaluators, name: &str) -> Vec<(String, String)> {
    let results = review(evaluators, name).await.unwrap();
    let mut found: Vec<_> = results.into_iter().map(|result| (result.name, result.message)).collect();
    found.sort();
    found
}

const NAMED: &str = r#"violation[{"msg": msg}] { msg := sprintf("no %v", [input.review.object.metadata.name]) }"#;

/// Two values whose comparison takes longer than the universe will last, in a single step of the engine.
fn endless() -> String {
    let grow = |name: &str| -> String {
        let step = |number: u32| format!("{name}{number} := [{name}{0}, {name}{0}]\n", number - 1);
        (1..70).map(step).collect::<Vec<String>>().concat()
    };
    format!("violation[{{\"msg\": \"m\"}}] {{\nx0 := [input]\ny0 := [input]\n{}{}x69 == y69\n}}", grow("x"), grow("y"))
}

/// Texts of 5 MB, none of which is too large alone.
fn hungry() -> String {
    let step = |number: u32| format!("s{number} := concat(\"\", [s{0}, s{0}])\n", number - 1);
    let doubling = (1..20).map(step).collect::<Vec<String>>().concat();
    format!(
        "violation[{{\"msg\": \"m\"}}] {{\ns0 := \"0123456789\"\n{doubling}many := [text | numbers.range(1, 400)[_]; \
         text := concat(\"\", [s19, \"x\"])]\ncount(many) > 0\n}}"
    )
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn policies_in_rego_and_cel_are_evaluated_and_changed() {
    let evaluators = start().await;
    load(&evaluators, "Named", NAMED).await;
    let cel = json!({
        "apiVersion": "templates.gatekeeper.sh/v1", "kind": "ConstraintTemplate", "metadata": {"name": "short"},
        "spec": {
            "crd": {"spec": {"names": {"kind": "Short"}}},
            "targets": [{"target": "admission.k8s.gatekeeper.sh", "code": [{
                "engine": "K8sNativeValidation",
                "source": {"validations": [{"expression": "size(object.metadata.name) < 4", "message": "too long"}]},
            }]}],
        },
    });
    assert_eq!(evaluators.apply(Change::PutTemplate(Arc::new(cel))).await.error, None);
    assert_eq!(evaluators.apply(constraint("Short", "short")).await.error, None);
    let named = |name: &str| ("named".to_owned(), format!("no {name}"));
    assert_eq!(messages(&evaluators, "web").await, [named("web")]);
    assert_eq!(messages(&evaluators, "webshop").await, [named("webshop"), ("short".to_owned(), "too long".to_owned())]);

    // Objects of an audit, each with its own result.
    let object = |name: &str| AuditObject { object: Arc::new(request(name)["object"].clone()), namespace: None };
    let found = evaluators.review_objects(vec![object("a"), object("webshop")]).await.unwrap();
    let counts: Vec<usize> = found.iter().map(|results| results.as_ref().unwrap().len()).collect();
    assert_eq!(counts, [1, 2]);

    // A refused version leaves the last good one; a constraint without template is refused.
    let refused = evaluators.apply(template("Named", "violation[{\"msg\": 1 { true }")).await.error.unwrap();
    assert_eq!(
        (refused.code.as_str(), refused.location.as_deref()),
        ("ingest_error", Some("template:2:21")),
        "{refused:?}"
    );
    assert_eq!(messages(&evaluators, "web").await, [named("web")]);
    let missing = evaluators.apply(constraint("Missing", "x")).await.error.unwrap();
    assert!(missing.message.starts_with("missing ConstraintTemplate: \"missing\""), "{missing:?}");

    for change in [
        Change::RemoveConstraint { kind: "Short".to_owned(), name: "short".to_owned() },
        Change::RemoveTemplate { name: "named".to_owned() },
    ] {
        assert_eq!(evaluators.apply(change).await.error, None);
    }
    assert_eq!(messages(&evaluators, "webshop").await, []);
    assert_eq!(evaluators.ended(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn checking_a_change_loads_nothing() {
    let evaluators = start().await;
    assert_eq!(evaluators.check(template("Named", NAMED), in_time()).await.unwrap().error, None);
    let missing = evaluators.check(constraint("Named", "x"), in_time()).await.unwrap().error.unwrap();
    assert!(missing.message.contains("missing ConstraintTemplate"), "{missing:?}");
    let Change::PutConstraint(object) = constraint("Named", "x") else { panic!() };
    let Change::PutTemplate(known) = template("Named", NAMED) else { panic!() };
    let loaded = evaluators.check_constraint(object, async { Some(Value::clone(&known)) }, in_time()).await.unwrap();
    assert_eq!(loaded.error, None);
    assert_eq!(messages(&evaluators, "web").await, []);
}

/// Bad input: an endless rule. It is named, it denies, and after some times it is not evaluated any more.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_endless_rule_is_ended_and_set_aside_while_others_keep_working() {
    let evaluators = start().await;
    load(&evaluators, "Named", NAMED).await;
    load(&evaluators, "Endless", &endless()).await;
    let mut aside = evaluators.set_aside();
    for number in 0..MAX_ENDS {
        let found = messages(&evaluators, "web").await;
        assert_eq!(found.len(), 2, "{found:?}");
        assert_eq!(found[1], ("named".to_owned(), "no web".to_owned()));
        let (name, message) = &found[0];
        assert_eq!(name, "endless");
        assert!(message.contains("template endless could not be evaluated: it took too long"), "{message}");
        assert_eq!(evaluators.ended(), u64::from(number + 1));
    }
    let reason = aside.wait_for(|aside| !aside.is_empty()).await.unwrap()["endless"].clone();
    assert!(reason.starts_with("template endless is set aside, because its evaluation failed 3 times"), "{reason}");
    // It costs nothing any more, and still denies.
    assert_eq!(messages(&evaluators, "web").await[0], ("endless".to_owned(), reason));
    assert_eq!(evaluators.ended(), u64::from(MAX_ENDS));

    // The same version changes nothing; another one is evaluated.
    assert_eq!(evaluators.apply(template("Endless", &endless())).await.error, None);
    assert_eq!(evaluators.set_aside().borrow().len(), 1);
    assert_eq!(evaluators.apply(template("Endless", "violation[{\"msg\": \"m\"}] { false }")).await.error, None);
    assert!(evaluators.set_aside().borrow().is_empty());
    assert_eq!(messages(&evaluators, "web").await, [("named".to_owned(), "no web".to_owned())]);
}

/// A rule that can be stopped between two steps ends no process, but is set aside as well: it would take all time of the
/// others.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_slow_rule_is_stopped_and_set_aside() {
    let evaluators = start().await;
    let slow =
        "violation[{\"msg\": \"m\"}] { a := numbers.range(1, 100000); b := a[_]; c := a[_]; d := a[_]; b + c + d < 0 }";
    load(&evaluators, "Slow", slow).await;
    load(&evaluators, "Named", NAMED).await;
    for _ in 0..MAX_ENDS {
        let found = messages(&evaluators, "web").await;
        assert_eq!(found[0], ("named".to_owned(), "no web".to_owned()));
        assert_eq!(found[1], ("slow".to_owned(), "the evaluation took too long; it was stopped".to_owned()));
    }
    let mut aside = evaluators.set_aside();
    aside.wait_for(|aside| aside.contains_key("slow")).await.unwrap();
    assert_eq!(evaluators.ended(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rule_that_takes_all_memory_ends_its_child_only() {
    let evaluators = start().await;
    load(&evaluators, "Hungry", &hungry()).await;
    load(&evaluators, "Named", NAMED).await;
    let found = messages(&evaluators, "web").await;
    let want = "template hungry could not be evaluated: it needed more than 256 MiB of memory; simplify its \
                rules, or raise --evaluator-memory";
    assert_eq!(found, [("hungry".to_owned(), want.to_owned()), ("named".to_owned(), "no web".to_owned())]);
    // The first end named no template; the second time each template was named before it was evaluated.
    assert_eq!(evaluators.ended(), 2);
    // So it is from then on.
    assert_eq!(messages(&evaluators, "web").await.len(), 2);
    assert_eq!(evaluators.ended(), 3);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_audit_goes_on_after_objects_that_end_a_child() {
    let evaluators = start().await;
    let some = hungry().replace("{\ns0", "{\ninput.review.object.metadata.name == \"b\"\ns0");
    load(&evaluators, "Hungry", &some).await;
    load(&evaluators, "Named", NAMED).await;
    let object = |name: &str| AuditObject { object: Arc::new(request(name)["object"].clone()), namespace: None };
    let found = evaluators.review_objects(["a", "b", "c"].map(object).to_vec()).await.unwrap();
    let counts: Vec<usize> = found.iter().map(|results| results.as_ref().unwrap().len()).collect();
    assert_eq!(counts, [1, 2, 1]);
}

/// Bad input: a 5 MB object is reviewed; what is larger than a message may be is refused by name.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn large_objects_are_reviewed_within_a_limit() {
    let evaluators = start().await;
    load(&evaluators, "Named", NAMED).await;
    let large = |bytes: usize| {
        let mut request = Value::clone(&request("web"));
        request["object"]["data"] = json!({"text": "x".repeat(bytes)});
        evaluators.review_request(Arc::new(request), None, Instant::now() + IN_TIME)
    };
    assert_eq!(large(5 << 20).await.unwrap().len(), 1);
    let error = large(40 << 20).await.unwrap_err();
    assert!(error.to_string().contains("at most 33554432 are read"), "{error}");
    assert_eq!((messages(&evaluators, "web").await.len(), evaluators.ended()), (1, 0));
}

/// A 20 MB inventory fits, and is there again after a child ended.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_inventory_of_20_mb_is_loaded_again_into_a_new_child() {
    let evaluators = start().await;
    let count =
        r#"violation[{"msg": msg}] { msg := sprintf("%v", [count(data.inventory.namespace.shop["v1"].ConfigMap)]) }"#;
    load(&evaluators, "Count", count).await;
    for number in 0..200 {
        let object = json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": format!("c{number}"), "namespace": "shop"},
            "data": {"text": "x".repeat(100 << 10)},
        });
        assert_eq!(evaluators.apply(Change::PutInventory(Arc::new(object))).await.error, None);
    }
    assert_eq!(messages(&evaluators, "web").await, [("count".to_owned(), "200".to_owned())]);
    load(&evaluators, "Endless", &endless()).await;
    assert_eq!(messages(&evaluators, "web").await[0], ("count".to_owned(), "200".to_owned()));
    assert_eq!(evaluators.ended(), 1);
    let kind = GroupVersionKind::new("v1", "ConfigMap");
    let removed = Change::RemoveInventory { kind, namespace: "shop".to_owned(), name: "c7".to_owned() };
    assert_eq!(evaluators.apply(removed).await.error, None);
    assert_eq!(messages(&evaluators, "web").await[0], ("count".to_owned(), "199".to_owned()));
}

/// Bad input: a template changed while requests are in flight. Each review sees one version, and what begins after the
/// change sees the new one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_review_sees_one_version_of_a_template() {
    let evaluators = start().await;
    // Both rules are in one template: a review that saw parts of two versions would have different numbers.
    let version = |number: u32| {
        format!("violation[{{\"msg\": \"a{number}\"}}] {{ true }}\nviolation[{{\"msg\": \"b{number}\"}}] {{ true }}")
    };
    load(&evaluators, "Versions", &version(0)).await;
    for number in 1..20 {
        let in_flight: Vec<_> = (0..8)
            .map(|_| {
                let evaluators = evaluators.clone();
                tokio::spawn(async move { messages(&evaluators, "web").await })
            })
            .collect();
        assert_eq!(evaluators.apply(template("Versions", &version(number))).await.error, None);
        let texts = |found: Vec<(String, String)>| found.into_iter().map(|(_, text)| text).collect::<Vec<_>>();
        let pair = |number: u32| vec![format!("a{number}"), format!("b{number}")];
        assert_eq!(texts(messages(&evaluators, "web").await), pair(number));
        for review in in_flight {
            let found = texts(review.await.unwrap());
            assert!(found == pair(number - 1) || found == pair(number), "{found:?}");
        }
    }
}

/// A request that waits for its turn longer than it may is told so.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_that_waits_past_its_deadline_is_told_so() {
    let evaluators = Evaluators::start(EvaluatorSettings { processes: 1, ..settings() }).await.unwrap();
    load(&evaluators, "Endless", &endless()).await;
    let slow = tokio::spawn({
        let evaluators = evaluators.clone();
        async move { evaluators.review_request(request("a"), None, Instant::now()).await }
    });
    let error = slow.await.unwrap().unwrap_err();
    assert!(matches!(error, EvaluatorError::Deadline(_)), "{error}");
    // The evaluation that nobody waits for any more ends by itself, and the child is used again.
    assert_eq!(evaluators.apply(Change::RemoveTemplate { name: "endless".to_owned() }).await.error, None);
    assert_eq!(messages(&evaluators, "web").await, []);
}

/// What threads set aside for themselves, at a moment that depends on how busy the machine is, is not memory of the
/// evaluation.
#[test]
fn a_small_evaluation_needs_little_memory_whenever_its_threads_start() {
    let place = tempfile::tempdir().unwrap();
    let rego = "package small\nviolation[{\"msg\": \"never\"}] { input.review.object.metadata.name == \"other\" }";
    let objects = json!([
        {
            "apiVersion": "templates.gatekeeper.sh/v1", "kind": "ConstraintTemplate", "metadata": {"name": "small"},
            "spec": {
                "crd": {"spec": {"names": {"kind": "Small"}}},
                "targets": [{"target": "admission.k8s.gatekeeper.sh", "rego": rego}],
            },
        },
        {"apiVersion": "constraints.gatekeeper.sh/v1beta1", "kind": "Small", "metadata": {"name": "small"}},
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "b"}},
    ]);
    let file = place.path().join("all.json");
    std::fs::write(&file, json!({"apiVersion": "v1", "kind": "List", "items": objects}).to_string()).unwrap();
    for _ in 0..5 {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_clearway"));
        let output = command.args(["policy", "test", "--memory-limit", "32", "-f"]).arg(&file).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{output:?}");
    }
}
