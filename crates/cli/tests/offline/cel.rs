//! `clearway cel`: expressions checked, evaluated, tested and explained.

use super::Place;

const CRD: &str = r"
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  versions:
  - name: v1
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              replicas: {type: integer}
              names: {type: array, maxItems: 10, items: {type: string, maxLength: 20}}
              any: {type: array, items: {type: string}}
";

const WIDGET: &str =
    "apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: w}\nspec: {replicas: 3, names: [a, b]}\n";

fn place() -> Place {
    let place = Place::new();
    place.write("crd.yaml", CRD);
    place.write("widget.yaml", WIDGET);
    place
}

#[test]
fn an_expression_is_checked_with_its_types() {
    let place = place();
    let good = place.run(&["cel", "check", "self.spec.replicas > 1", "--schema", "crd.yaml"]);
    assert_eq!(good.code, 0, "{}", good.err);
    assert!(good.err.contains("gives bool") && good.err.contains("maximum cost for one object"), "{}", good.err);
    let wrong = place.run(&["cel", "check", "self.spec.replicas > 'a'", "--schema", "crd.yaml", "-o", "json"]);
    assert_eq!(wrong.code, 1);
    let finding = &wrong.json()[0];
    assert_eq!(finding["code"], "CEL004", "{finding}");
    let missing = place.run(&["cel", "check", "self.spec.nothing", "--schema", "crd.yaml"]);
    assert_eq!(missing.code, 1);
    assert!(missing.out.contains("`nothing`"), "{}", missing.out);
    let elsewhere = place.run(&["cel", "check", "math.abs(1) == 1"]);
    assert_eq!(elsewhere.code, 1);
    assert!(elsewhere.out.contains("CEL003"), "{}", elsewhere.out);
    assert_eq!(place.run(&["cel", "check", "math.abs(1) == 1", "--environment", "standard"]).code, 0);
    assert_eq!(place.run(&["cel", "check", "true", "--environment", "crd"]).code, 3);
}

#[test]
fn a_rule_that_may_cost_too_much_is_found() {
    let place = place();
    let rule = "self.all(x, self.all(y, x == y || x.contains(y)))";
    let limited = place.run(&["cel", "check", rule, "--schema", "crd.yaml", "--at", "spec.names"]);
    assert_eq!(limited.code, 0, "{}{}", limited.out, limited.err);
    let endless = place.run(&["cel", "check", rule, "--schema", "crd.yaml", "--at", "spec.any"]);
    assert_eq!(endless.code, 1, "{}", endless.err);
    assert!(endless.out.contains("CEL007") && endless.out.contains("more than 100x"), "{}", endless.out);
    let element = place.run(&["cel", "check", "self.size() < 5", "--schema", "crd.yaml", "--at", "spec.names[]"]);
    assert_eq!(element.code, 0, "{}", element.err);
    assert_eq!(place.run(&["cel", "check", "true", "--schema", "crd.yaml", "--at", "spec.none"]).code, 3);
}

#[test]
fn an_expression_is_evaluated_and_explained() {
    let place = place();
    let eval = |expression: &str, more: &[&str]| {
        place.run(&[&["cel", "eval", expression, "--object", "widget.yaml"], more].concat())
    };
    let answer = eval("object.spec.names.map(x, x + '!')", &[]);
    assert_eq!((answer.code, answer.out.as_str()), (0, "[\"a!\", \"b!\"]\n"));
    let data = eval("object.spec.replicas * 2", &["-o", "json"]).json();
    assert_eq!((&data["value"], &data["type"]), (&6.into(), &"int".into()));
    let explained = eval("object.spec.replicas > 2 && object.kind == 'Widget'", &["--explain"]).out;
    assert!(explained.contains("object.spec.replicas > 2\n    = true  [cost 4]"), "{explained}");
    assert!(explained.contains("object.spec.replicas\n      = 3  [cost 3]"), "{explained}");
    let typed = eval("self.spec.replicas", &["--schema", "crd.yaml"]);
    assert_eq!((typed.code, typed.out.as_str()), (0, "3\n"));
    let failed = eval("object.spec.missing", &[]);
    assert_eq!((failed.code, failed.out.as_str()), (1, ""));
    assert!(failed.err.contains("no such key"), "{}", failed.err);
    assert_eq!(eval("object.", &[]).code, 3);
    assert_eq!(place.run(&["cel", "eval", "true", "--object", "nothing.yaml"]).code, 3);
}

#[test]
fn tests_in_the_form_of_the_specification_are_run() {
    let place = Place::new();
    let test = |name: &str, expression: &str, value: &str| {
        format!("test {{ name: \"{name}\" expr: \"{expression}\" value {{ {value} }} }}\n")
    };
    let good = test("sum", "1 + 1", "int64_value: 2");
    let message = test("message", "google.protobuf.Int32Value{value: 1}", "int64_value: 1");
    place.write("good.textproto", format!("name: \"f\" section {{ name: \"s\" {good}{message} }}"));
    let answer = place.run(&["cel", "test", "good.textproto"]);
    assert_eq!(answer.code, 0, "{}", answer.err);
    assert!(answer.err.contains("1 passed, 0 failed, 1 unsupported"), "{}", answer.err);
    assert!(answer.out.contains("skip f/s/message") && answer.out.contains("wrappers"), "{}", answer.out);
    place.write("bad.textproto", format!("name: \"f\" section {{ {} }}", test("sum", "1 + 1", "int64_value: 3")));
    let answer = place.run(&["cel", "test", "good.textproto", "bad.textproto", "-o", "json"]);
    assert_eq!(answer.code, 1);
    assert_eq!(answer.json()[1]["failed"][0]["message"], "3 is wanted, not 2");
    place.write("broken.textproto", "name: {");
    assert_eq!(place.run(&["cel", "test", "broken.textproto"]).code, 3);
}

#[test]
fn functions_are_explained_where_they_are() {
    let place = Place::new();
    let known = place.run(&["cel", "explain", "quantity"]);
    assert_eq!(known.code, 0);
    assert!(known.out.contains("quantity(string) -> quantity"), "{}", known.out);
    let unknown = place.run(&["cel", "explain", "abs"]);
    assert_eq!((unknown.code, unknown.out.as_str()), (1, ""));
    let standard = place.run(&["cel", "explain", "math.abs", "--environment", "standard", "-o", "json"]);
    assert_eq!(standard.json()["signatures"].as_array().map(Vec::len), Some(3));
    assert!(place.run(&["cel", "explain"]).out.contains("exists_one"));
}
