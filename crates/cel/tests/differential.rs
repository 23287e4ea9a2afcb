//! The same expressions over the same objects here and in the API server's own CEL packages: the same verdicts, the same
//! refusals, the same costs and estimates.

use clearway_cel::{Bindings, Budget, Environment, KubernetesVersion, Limits, Outcome, Program, ResultType};
use clearway_schema::Schema;
use clearway_testbed::{Component, have};
use serde_json::{Value, json};

mod reference;

use crate::generate::{self, Expressions, Random};
use reference::{Answer, Reference};

/// What one expression is evaluated on.
struct Case {
    environment: generate::Environment,
    /// Whether results of every type are accepted.
    any: bool,
    expression: String,
    object: Value,
}

fn request() -> Value {
    json!({"operation": "CREATE", "dryRun": false, "userInfo": {"username": "jane", "groups": ["g"]}})
}

/// Writes as many cases as wanted, the same for the same seed.
fn cases(seed: u64, count: usize) -> Vec<Case> {
    let mut random = Random::new(seed);
    (0..count)
        .map(|number| {
            let environment =
                if number % 3 == 2 { generate::Environment::Admission } else { generate::Environment::Rule };
            let any = number % 2 == 0 || environment == generate::Environment::Admission;
            let object = generate::object(&mut random);
            let expression = Expressions::new(&mut random, environment).expression(!any);
            Case { environment, any, expression, object }
        })
        .collect()
}

fn question(case: &Case) -> Value {
    match case.environment {
        generate::Environment::Rule => json!({
            "env": "crd", "schema": "s", "expr": case.expression, "object": case.object, "any": case.any,
        }),
        generate::Environment::Admission => json!({
            "env": "admission", "expr": case.expression, "object": case.object, "request": request(),
        }),
    }
}

/// The environments of both kinds.
struct Environments {
    rule: Environment,
    any: Environment,
    admission: Environment,
}

impl Environments {
    fn new() -> Self {
        // A new expression may use what the version before the server's has.
        let version = KubernetesVersion::new(35);
        let schema = Schema::read(&generate::schema()).unwrap();
        let rule = Environment::kubernetes_crd(version, schema.root(), true, false);
        let admission = Environment::kubernetes_admission(version, true);
        Environments { any: rule.clone().with_result(ResultType::Any), rule, admission }
    }

    fn of(&self, case: &Case) -> &Environment {
        match case.environment {
            generate::Environment::Rule if case.any => &self.any,
            generate::Environment::Rule => &self.rule,
            generate::Environment::Admission => &self.admission,
        }
    }

    /// Our answer, in the form of the reference's.
    fn answer(&self, case: &Case) -> Answer {
        let environment = self.of(case);
        let program = match Program::compile(&case.expression, environment, &Limits::default()) {
            Ok(program) => program,
            Err(error) => return Answer { refused: Some(error.to_string()), ..Answer::default() },
        };
        let request = request();
        let bindings =
            Bindings::new().with("self", &case.object).with("object", &case.object).with("request", &request);
        let evaluation = program.evaluate(bindings, &Budget::default());
        let rule = case.environment == generate::Environment::Rule && !case.any;
        let mut answer = Answer {
            cost: Some(evaluation.cost),
            estimate: Some(program.estimate().max).filter(|_| rule),
            ..Answer::default()
        };
        match evaluation.outcome {
            Outcome::Value(value) => answer.value = Some(value.canonical()),
            Outcome::Unknown => answer.error = Some("unknown".to_owned()),
            Outcome::Error(error) => {
                answer.class = Some(error.class.name().to_owned());
                answer.error = Some(error.to_string());
            }
        }
        answer
    }
}

/// How two answers differ; nothing if they do not.
fn difference(ours: &Answer, theirs: &Answer) -> Option<String> {
    // Where the API server's packages panic, there is nothing to be like.
    if theirs.class.as_deref() == Some("panic") {
        return None;
    }
    match (&ours.refused, &theirs.refused) {
        (Some(_), Some(_)) => return None,
        (Some(why), None) => return Some(format!("refused here: {why}")),
        (None, Some(why)) => return Some(format!("refused there: {why}")),
        (None, None) => {}
    }
    if ours.error.is_some() != theirs.error.is_some() || ours.value != theirs.value {
        return Some(format!("{:?} {:?} here, {:?} {:?} there", ours.value, ours.error, theirs.value, theirs.error));
    }
    let named = |class: &&String| class.as_str() != "other";
    if let Some(class) = theirs.class.as_ref().filter(named)
        && ours.class.as_ref() != Some(class)
    {
        return Some(format!("{:?} here, {class} there: {:?}", ours.class, theirs.error));
    }
    if ours.cost != theirs.cost {
        return Some(format!("cost {:?} here, {:?} there", ours.cost, theirs.cost));
    }
    if ours.estimate != theirs.estimate {
        return Some(format!("estimate {:?} here, {:?} there", ours.estimate, theirs.estimate));
    }
    None
}

/// Expressions that are written down, one on each line, over some objects.
fn catalogue() -> Vec<Case> {
    let mut random = Random::new(7);
    let objects: Vec<Value> = (0..4).map(|_| generate::object(&mut random)).collect();
    let lines = include_str!("differential/catalogue.txt").lines();
    lines
        .flat_map(|line| {
            objects.iter().flat_map(move |object| {
                let case = |environment, any, expression: String| Case {
                    environment,
                    any,
                    expression,
                    object: object.clone(),
                };
                [
                    case(generate::Environment::Rule, true, line.to_owned()),
                    case(generate::Environment::Rule, false, format!("[{line}].size() == 1")),
                    case(generate::Environment::Rule, false, line.to_owned()),
                    case(generate::Environment::Admission, true, line.replace("self.", "object.")),
                ]
            })
        })
        .collect()
}

#[test]
fn expressions_mean_what_they_mean_in_the_api_server() {
    if !have(&[Component::CelReference]) {
        return;
    }
    let number =
        |name: &str, otherwise: u64| std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise);
    let count = usize::try_from(number("CLEARWAY_CEL_CASES", 5_000)).unwrap();
    let mut cases = cases(number("CLEARWAY_CEL_SEED", 1), count);
    cases.extend(catalogue());
    let count = cases.len();
    let mut reference = Reference::start();
    let mut questions = vec![json!({"define": "s", "schema": generate::schema()})];
    questions.extend(cases.iter().map(question));
    let answers = reference.ask(&questions);
    assert_eq!(answers[0], Answer::default(), "the schema is not accepted");
    let environments = Environments::new();
    let mut wrong = Vec::new();
    let (mut refused, mut failed) = (0, 0);
    for (case, theirs) in cases.iter().zip(&answers[1..]) {
        let ours = environments.answer(case);
        refused += usize::from(theirs.refused.is_some());
        failed += usize::from(theirs.error.is_some());
        if let Some(difference) = difference(&ours, theirs) {
            wrong.push(format!("{:?} {}\n    {difference}\n    {}", case.environment, case.expression, case.object));
        }
    }
    println!("{count} expressions: {refused} refused, {failed} with an error, {} different", wrong.len());
    // Both kinds of answers must be among them, or nothing was compared.
    assert!(refused > count / 100 && failed > count / 20 && refused + failed < count / 2);
    assert!(wrong.is_empty(), "{} of {count} differ:\n{}", wrong.len(), wrong[..wrong.len().min(40)].join("\n"));
}
