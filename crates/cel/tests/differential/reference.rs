//! The API server's own CEL packages, in a process that answers one line for each line.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdout, Command, Stdio};

use clearway_testbed::Component;
use serde_json::Value;

/// The process.
pub struct Reference {
    child: Child,
    answers: BufReader<ChildStdout>,
}

/// What it says of one expression.
#[derive(Debug, Default, Clone, PartialEq)]
pub struct Answer {
    /// Why the expression is not accepted.
    pub refused: Option<String>,
    /// The value, in the form of `CelValue::canonical`.
    pub value: Option<String>,
    /// The error.
    pub error: Option<String>,
    /// Its class, if it has a name.
    pub class: Option<String>,
    /// The cost.
    pub cost: Option<u64>,
    /// The estimate.
    pub estimate: Option<u64>,
    /// Nanoseconds of one run, of a benchmark.
    pub nanoseconds: Option<f64>,
}

impl Reference {
    /// Starts the process.
    pub fn start() -> Reference {
        let program = Component::CelReference.find().unwrap();
        let mut child =
            Command::new(program).stdin(Stdio::piped()).stdout(Stdio::piped()).env("GOMAXPROCS", "1").spawn().unwrap();
        let answers = BufReader::with_capacity(1 << 20, child.stdout.take().unwrap());
        Reference { child, answers }
    }

    /// Asks many questions; answers come in their order.
    pub fn ask(&mut self, questions: &[Value]) -> Vec<Answer> {
        let text: String = questions.iter().map(|question| format!("{question}\n")).collect();
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
