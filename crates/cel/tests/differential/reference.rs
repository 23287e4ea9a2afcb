//! The API server's own CEL packages, in a process that answers one line for each line.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdout, Command, Stdio};

use clearway_testbed::Component;
use serde_json::Value;

/// The process.
pub(crate) struct Reference {
    child: Child,
    answers: BufReader<ChildStdout>,
}

/// What it says of one expression.
#[derive(Debug, Default, Clone, PartialEq)]
pub(crate) struct Answer {
    /// Why the expression is not accepted.
    pub(crate) refused: Option<String>,
    /// The value, in the form of `CelValue::canonical`.
    pub(crate) value: Option<String>,
    /// The error.
    pub(crate) error: Option<String>,
    /// Its class, if it has a name.
    pub(crate) class: Option<String>,
    /// The cost.
    pub(crate) cost: Option<u64>,
    /// The estimate.
    pub(crate) estimate: Option<u64>,
    /// Nanoseconds of one run, of a benchmark.
    pub(crate) nanoseconds: Option<f64>,
    /// Why an object is refused, of a validation.
    pub(crate) violations: Option<Vec<String>>,
}

impl Reference {
    /// Starts the process.
    pub(crate) fn start() -> Reference {
        let program = Component::CelReference.find().unwrap();
        let mut child =
            Command::new(program).stdin(Stdio::piped()).stdout(Stdio::piped()).env("GOMAXPROCS", "1").spawn().unwrap();
        let answers = BufReader::with_capacity(1 << 20, child.stdout.take().unwrap());
        Reference { child, answers }
    }

    /// Asks many questions; answers come in their order.
    pub(crate) fn ask(&mut self, questions: &[Value]) -> Vec<Answer> {
        let text = questions.iter().fold(String::new(), |text, question| text + &format!("{question}\n"));
        let mut input = self.child.stdin.take().unwrap();
        let mut answers = Vec::with_capacity(questions.len());
        std::thread::scope(|scope| {
            let input = &mut input;
            scope.spawn(move || {
                input.write_all(text.as_bytes()).unwrap();
                input.flush().unwrap();
            });
            for _ in questions {
                let mut line = String::new();
                self.answers.read_line(&mut line).unwrap();
                let answer: Value = serde_json::from_str(&line).unwrap();
                let text = |name: &str| answer[name].as_str().map(str::to_owned);
                answers.push(Answer {
                    refused: text("refused"),
                    value: text("value"),
                    error: text("error"),
                    class: text("class"),
                    cost: answer["cost"].as_u64(),
                    estimate: answer["estimate"].as_u64(),
                    nanoseconds: answer["nanoseconds"].as_f64(),
                    violations: serde_json::from_value(answer["violations"].clone()).unwrap_or_default(),
                });
            }
        });
        self.child.stdin = Some(input);
        answers
    }
}

impl Drop for Reference {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}
