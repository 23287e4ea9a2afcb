//! Evaluating policies beside Gatekeeper's own packages, JSON in on both sides.
//!
//! `cargo bench -p clearway-policy --bench policy` measures the cases of `tests/suites` in both, and ends with exit code 1
//! over a bound: the median case takes at most a tenth of Gatekeeper's CPU time, a template that looks at 10,000 objects of
//! the inventory at most a third, and constraints for other kinds cost nothing. The program that measures Gatekeeper is built
//! by `tools/gatekeeper build`, whose directory is expected in `CLEARWAY_GATEKEEPER_BIN`. Without `--bench`, short runs over
//! this crate alone show that all is well.
//!
//! Here it is the time of one busy thread that is measured, which is not less than its CPU time; there it is CPU time,
//! with the garbage collector's.

use std::fs;
use std::hint::black_box;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, ExitCode, Stdio};
use std::time::Instant;

use clearway_core::Limits;
use clearway_policy::rego::{Budget, STACK_BYTES};
use clearway_policy::{
    EnforcementPoint, Evaluator, Inventory, PolicySet, Review, Reviewer, Source, Suite, read_document, read_documents,
};
use serde_json::{Value, json};

/// As in the product.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// What is measured in both.
struct Question {
    name: String,
    template: Value,
    constraint: Value,
    object: Value,
    inventory: Vec<Value>,
}

/// Gatekeeper's packages, in a process that answers a line with a line.
struct Reference {
    child: Child,
    answers: BufReader<ChildStdout>,
}

impl Reference {
    fn start(directory: &Path) -> Reference {
        let mut child = Command::new(directory.join("policyreference"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("policyreference starts");
        let answers = BufReader::new(child.stdout.take().expect("an output"));
        Reference { child, answers }
    }

    /// Messages, and nanoseconds of CPU for one review.
    fn measure(&mut self, question: &Question, seconds: f64) -> (Vec<String>, f64) {
        let line = json!({
            "template": question.template, "constraint": question.constraint, "object": question.object,
            "inventory": question.inventory, "seconds": seconds,
        });
        writeln!(self.child.stdin.as_mut().expect("an input"), "{line}").expect("a question");
        let mut answer = String::new();
        self.answers.read_line(&mut answer).expect("an answer");
        let answer: Value = serde_json::from_str(&answer).expect("JSON");
        assert!(answer.get("error").is_none(), "{}: {answer}", question.name);
        let messages = answer["messages"].as_array().expect("messages");
        let messages = messages.iter().filter_map(Value::as_str).map(str::to_owned).collect();
        (messages, answer["nanoseconds"].as_f64().expect("a time"))
    }
}

impl Drop for Reference {
    fn drop(&mut self) {
        // The end of its input ends it.
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}

/// Messages, and nanoseconds for one review.
fn measure(question: &Question, seconds: f64) -> (Vec<String>, f64) {
    let mut policies = PolicySet::new();
    policies.add_template(&question.template).expect("a template");
    policies.add_constraint(&question.constraint).expect("a constraint");
    let inventory = Inventory::of(&question.inventory).expect("an inventory");
    review(&policies, &inventory, &question.object, seconds)
}

fn review(policies: &PolicySet, inventory: &Inventory, object: &Value, seconds: f64) -> (Vec<String>, f64) {
    let budget = Budget::default();
    let reviewer = Reviewer { point: EnforcementPoint::Gator, inventory, budget: &budget };
    let mut evaluator = Evaluator::new();
    let text = object.to_string();
    let mut review = || {
        let object: Value = serde_json::from_str(black_box(&text)).expect("JSON");
        policies.review(&Review::of_object(&object, Source::Original), &reviewer, &mut evaluator).expect("results")
    };
    let messages = review().into_iter().map(|result| result.message).collect();
    let (start, mut runs) = (Instant::now(), 0_u32);
    while runs == 0 || start.elapsed().as_secs_f64() < seconds {
        black_box(review());
        runs += 1;
    }
    (messages, start.elapsed().as_secs_f64() * 1e9 / f64::from(runs))
}

fn read(path: &Path) -> Vec<Value> {
    let text = fs::read_to_string(path).expect("a file");
    read_documents(&text, &path.to_string_lossy(), &Limits::default()).expect("YAML")
}

/// The cases of the suites that need no expansion and review an object.
fn questions() -> Vec<Question> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/suites");
    let mut directories: Vec<PathBuf> =
        fs::read_dir(root).expect("suites").map(|entry| entry.expect("a suite").path()).collect();
    directories.sort();
    let mut questions = Vec::new();
    for directory in directories {
        let file = directory.join("suite.yaml");
        let text = fs::read_to_string(&file).expect("a suite");
        let suite = read_document(&text, &file.to_string_lossy(), &Limits::default()).expect("YAML");
        for test in Suite::read(&suite).expect("a suite").tests {
            for case in test.cases.iter().filter(|_| test.expansion.is_empty() && !test.invalid) {
                let object = read(&directory.join(&case.object)).remove(0);
                if Review::is_admission_review(&object) {
                    continue;
                }
                questions.push(Question {
                    name: format!("{}/{}", test.name, case.name),
                    template: read(&directory.join(&test.template)).remove(0),
                    constraint: read(&directory.join(&test.constraint)).remove(0),
                    object,
                    inventory: case.inventory.iter().flat_map(|file| read(&directory.join(file))).collect(),
                });
            }
        }
    }
    questions
}

fn ingress(number: usize) -> Value {
    json!({
        "apiVersion": "networking.k8s.io/v1", "kind": "Ingress",
        "metadata": {"name": format!("ingress-{number}"), "namespace": format!("namespace-{}", number % 100)},
        "spec": {"rules": [{"host": format!("host-{number}.example.com")}]},
    })
}

/// An Ingress whose host one of many others has.
fn inventory_question(questions: &[Question], objects: usize) -> Question {
    let unique = questions.iter().find(|question| question.name.starts_with("unique-hosts/")).expect("the suite");
    let mut object = ingress(objects / 2);
    object["metadata"]["name"] = json!("new");
    Question {
        name: format!("unique-hosts over {objects} objects"),
        template: unique.template.clone(),
        constraint: unique.constraint.clone(),
        object,
        inventory: (0..objects).map(ingress).collect(),
    }
}

/// The time of a review with many constraints for other kinds, as a multiple of that without them.
fn other_kinds(question: &Question, seconds: f64) -> f64 {
    let mut policies = PolicySet::new();
    policies.add_template(&question.template).expect("a template");
    policies.add_constraint(&question.constraint).expect("a constraint");
    let inventory = Inventory::default();
    let (_, alone) = review(&policies, &inventory, &question.object, seconds);
    for number in 0..500 {
        let mut other = question.constraint.clone();
        other["metadata"]["name"] = json!(format!("other-{number}"));
        other["spec"]["match"] = json!({"kinds": [{"apiGroups": ["*"], "kinds": [format!("Other{number}")]}]});
        policies.add_constraint(&other).expect("a constraint");
    }
    let (_, among_others) = review(&policies, &inventory, &question.object, seconds);
    among_others / alone
}

fn main() -> ExitCode {
    let timed = std::env::args().any(|argument| argument == "--bench");
    let run = move || if timed { compare() } else { try_all() };
    std::thread::Builder::new().stack_size(STACK_BYTES).spawn(run).expect("a thread").join().expect("no panic")
}

fn try_all() -> ExitCode {
    let questions = questions();
    let cases = questions.len();
    for question in &questions {
        measure(question, 0.0);
    }
    assert_eq!(measure(&inventory_question(&questions, 100), 0.0).0.len(), 1);
    println!("{cases} cases; `--bench` measures them");
    ExitCode::SUCCESS
}

fn compare() -> ExitCode {
    let Some(directory) = std::env::var_os("CLEARWAY_GATEKEEPER_BIN") else {
        eprintln!(
            "CLEARWAY_GATEKEEPER_BIN is not set: run `tools/bench policy`, which builds what this is compared with"
        );
        return ExitCode::FAILURE;
    };
    let mut reference = Reference::start(Path::new(&directory));
    let mut missed = false;
    let mut check = |what: &str, value: f64, bound: f64| {
        println!("{} {what}: {value:.3} (at most {bound})", if value <= bound { "ok    " } else { "MISSED" });
        missed |= value > bound;
    };
    let questions = questions();
    let mut ratios = Vec::new();
    for question in &questions {
        let (here, ours) = measure(question, 0.1);
        let (there, theirs) = reference.measure(question, 0.1);
        // The clock of the two is not the same.
        assert!(here == there || question.name.starts_with("times/"), "{}: {here:?}, {there:?}", question.name);
        println!("  {:9.0} ns here {theirs:9.0} ns there  {:6.3}  {}", ours, ours / theirs, question.name);
        ratios.push(ours / theirs);
    }
    ratios.sort_by(f64::total_cmp);
    println!("{} cases", ratios.len());
    check("median case / Gatekeeper's CPU time", ratios.get(ratios.len() / 2).copied().unwrap_or(f64::NAN), 0.1);
    let many = inventory_question(&questions, 10_000);
    let (here, ours) = measure(&many, 2.0);
    let (there, theirs) = reference.measure(&many, 2.0);
    assert_eq!(here, there, "{}", many.name);
    println!("  {:9.0} us here {:9.0} us there  {}", ours / 1e3, theirs / 1e3, many.name);
    check("inventory of 10,000 objects / Gatekeeper's CPU time", ours / theirs, 1.0 / 3.0);
    let question = questions.iter().find(|question| question.name.starts_with("required-labels/")).expect("the suite");
    check("a review among 500 constraints for other kinds / without them", other_kinds(question, 0.5), 1.1);
    if missed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}
