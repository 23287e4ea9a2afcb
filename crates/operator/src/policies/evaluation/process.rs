//! One child, as the operator sees it.

use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::task::JoinHandle;

use super::protocol::{Limits, Request, Response, ReviewItem, checked_length, encode};
use super::{ALLOCATOR_ENVIRONMENT, EvaluatorError, EvaluatorSettings};

/// How long a child may take to start on a machine that is busy.
const START: Duration = Duration::from_secs(30);
/// The most bytes that are kept of what a child writes to standard error.
const ERROR_BYTES: usize = 4 << 10;

/// A running child.
#[derive(Debug)]
pub(super) struct EvaluatorProcess {
    /// Numbers children in the order of their start.
    pub(super) id: u64,
    child: Child,
    input: ChildStdin,
    output: ChildStdout,
    errors: JoinHandle<String>,
    /// Everything up to this change is loaded.
    pub(super) loaded: u64,
    memory: u64,
}

/// How a child ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ProcessEnd {
    /// Completes a sentence about the template, such as "it needed more than 512 MiB of memory".
    pub(super) reason: String,
    /// The number of the item and the template, if it is known what was evaluated.
    pub(super) evaluating: Option<(usize, String)>,
}

impl EvaluatorProcess {
    /// Starts a child and waits until it has set its limits.
    pub(super) async fn start(id: u64, settings: &EvaluatorSettings) -> Result<Self, EvaluatorError> {
        let failed = |error: &dyn std::fmt::Display| EvaluatorError::Start(error.to_string());
        let mut command = Command::new(&settings.program);
        command
            .args(&settings.arguments)
            // It needs nothing of the environment, where an operator may have credentials.
            .env_clear()
            .envs([ALLOCATOR_ENVIRONMENT])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // Ctrl-C reaches the operator only, which lets reviews in flight finish.
            .process_group(0)
            .kill_on_drop(true);
        let mut child = command.spawn().map_err(|error| failed(&format!("{}: {error}", settings.program.display())))?;
        let (Some(input), Some(output), Some(mut errors)) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err(failed(&"it has no pipes"));
        };
        let errors = tokio::spawn(async move {
            let mut kept = Vec::new();
            let mut part = [0; 1024];
            while let Ok(count @ 1..) = errors.read(&mut part).await {
                kept.extend(part.iter().take(count));
                let more = kept.len().saturating_sub(ERROR_BYTES);
                kept.drain(..more);
            }
            String::from_utf8_lossy(&kept).trim().to_owned()
        });
        let mut process = EvaluatorProcess { id, child, input, output, errors, loaded: 0, memory: settings.memory };
        let limits = Limits {
            memory: settings.memory,
            milliseconds: u64::try_from(settings.time_limit.as_millis()).unwrap_or(u64::MAX),
            steps: settings.steps,
            reject_unknown_actions: settings.reject_unknown_actions,
        };
        let request: Request<(), ReviewItem> = Request::Start(limits);
        let message = encode(&request).map_err(|size| failed(&format!("a message of {size} bytes")))?;
        match process.ask(&message, START).await {
            Ok(Response::Ready) => Ok(process),
            Ok(_) => Err(failed(&"it answered something else")),
            Err(end) => Err(failed(&end.reason)),
        }
    }

    /// Sends a message that is not answered.
    pub(super) async fn tell(&mut self, message: &[u8], within: Duration) -> Result<(), ProcessEnd> {
        match tokio::time::timeout(within, self.input.write_all(message)).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) => Err(self.end(None).await),
            Err(_) => Err(self.end_silent(None).await),
        }
    }

    /// Sends a message and waits for the answer.
    pub(super) async fn ask(&mut self, message: &[u8], within: Duration) -> Result<Response, ProcessEnd> {
        let mut evaluating = None;
        let answer = async {
            self.input.write_all(message).await?;
            loop {
                let mut prefix = [0; 4];
                self.output.read_exact(&mut prefix).await?;
                let mut bytes = vec![0; checked_length(prefix)?];
                self.output.read_exact(&mut bytes).await?;
                match serde_json::from_slice(&bytes)? {
                    Response::Evaluating { item, template } => evaluating = Some((item, template)),
                    other => return Ok::<_, std::io::Error>(other),
                }
            }
        };
        match tokio::time::timeout(within, answer).await {
            Ok(Ok(Response::TimedOut { item, template })) => {
                let _ = self.child.start_kill();
                Err(ProcessEnd {
                    reason: "it took too long and could not be stopped".to_owned(),
                    evaluating: template.map(|template| (item, template)),
                })
            }
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(_)) => Err(self.end(evaluating).await),
            Err(_) => Err(self.end_silent(evaluating).await),
        }
    }

    /// Ends a child that broke off, and finds out why.
    async fn end(&mut self, evaluating: Option<(usize, String)>) -> ProcessEnd {
        // A child that closed its pipes has ended or is about to; one that sent nonsense is ended.
        let wait = tokio::time::timeout(Duration::from_secs(1), self.child.wait()).await;
        let status = if let Ok(status) = wait {
            status.ok()
        } else {
            let _ = self.child.kill().await;
            None
        };
        let errors = tokio::time::timeout(Duration::from_secs(1), &mut self.errors).await;
        let errors = errors.ok().and_then(Result::ok).unwrap_or_default();
        ProcessEnd { reason: self.reason(status, &errors), evaluating }
    }

    /// Ends a child that does not answer.
    async fn end_silent(&mut self, evaluating: Option<(usize, String)>) -> ProcessEnd {
        let _ = self.child.kill().await;
        ProcessEnd { reason: "the process that evaluated it did not answer".to_owned(), evaluating }
    }

    fn reason(&self, status: Option<ExitStatus>, errors: &str) -> String {
        if errors.contains("memory allocation of") {
            let memory = self.memory >> 20;
            return format!(
                "it needed more than {memory} MiB of memory; simplify its rules, or raise --evaluator-memory"
            );
        }
        if errors.contains("overflowed its stack") {
            return "its rules are nested too deeply for the stack".to_owned();
        }
        let status = status.map_or_else(|| "no exit status".to_owned(), |status| status.to_string());
        match errors.lines().last().filter(|line| !line.is_empty()) {
            Some(line) => format!("the process that evaluated it ended ({status}): {line}"),
            None => format!("the process that evaluated it ended ({status})"),
        }
    }
}
