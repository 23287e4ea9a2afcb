//! What is wrong with the Rego of a template, with its place.

use std::fmt;

/// Why the Rego of a template is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegoError {
    /// Which class of rule it breaks.
    pub kind: RegoErrorKind,
    /// The module: `template`, or `libs[0]` for the first library.
    pub module: String,
    /// Line of the module, from 1; 0 if the error concerns the module as a whole.
    pub line: u32,
    /// Column of the line, from 1; 0 if the error concerns the module as a whole.
    pub column: u32,
    /// What is wrong, in one sentence.
    pub message: String,
}

/// The class of an error in Rego.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RegoErrorKind {
    /// The text is not Rego.
    Syntax,
    /// The module breaks the contract between templates and Gatekeeper: imports, references, required rules.
    Contract,
    /// A function that does not exist, or is called with the wrong number of arguments.
    UndefinedFunction,
    /// A rule or function that depends on itself.
    Recursion,
    /// A variable that nothing gives a value.
    UnsafeVariable,
    /// Another error that the compiler finds.
    Compile,
    /// The module is over a limit.
    Limit,
    /// Something that Gatekeeper has and this engine does not.
    Unsupported,
}

impl RegoErrorKind {
    /// The code in front of messages, as OPA writes it.
    pub fn code(self) -> &'static str {
        match self {
            RegoErrorKind::Syntax => "rego_parse_error",
            RegoErrorKind::UndefinedFunction => "rego_type_error",
            RegoErrorKind::Recursion => "rego_recursion_error",
            RegoErrorKind::UnsafeVariable => "rego_unsafe_var_error",
            RegoErrorKind::Compile => "rego_compile_error",
            RegoErrorKind::Contract => "invalid rego",
            RegoErrorKind::Limit => "limit exceeded",
            RegoErrorKind::Unsupported => "not supported",
        }
    }
}

impl RegoError {
    /// An error that concerns a module as a whole.
    pub(crate) fn of_module(kind: RegoErrorKind, module: &str, message: impl Into<String>) -> Self {
        RegoError { kind, module: module.to_owned(), line: 0, column: 0, message: message.into() }
    }

    /// An error at a place of a module.
    pub(crate) fn at(
        kind: RegoErrorKind,
        module: &str,
        (line, column): (u32, u32),
        message: impl Into<String>,
    ) -> Self {
        RegoError { kind, module: module.to_owned(), line, column, message: message.into() }
    }

    /// Reads the place and the message of an error of the engine, which has them in its text only.
    pub(crate) fn of_engine(kind: RegoErrorKind, module: &str, text: &str) -> Self {
        let (place, message) = place_and_message(text);
        let (module, line, column) = place.unwrap_or((module.to_owned(), 0, 0));
        RegoError { kind, module, line, column, message }
    }
}

/// The place (`--> file:line:column`) and the message (after `error: `) in a text of the engine.
pub(crate) fn place_and_message(text: &str) -> (Option<(String, u32, u32)>, String) {
    let place = text.lines().find_map(|line| {
        let place = line.trim().strip_prefix("--> ")?;
        let (rest, column) = place.rsplit_once(':')?;
        let (file, line) = rest.rsplit_once(':')?;
        Some((file.to_owned(), line.parse().ok()?, column.parse().ok()?))
    });
    let message = text.split_once("error: ").map_or(text, |(_, message)| message);
    // What follows the first line shows the place once more.
    (place, message.trim().lines().next().unwrap_or_default().to_owned())
}

/// What an evaluation failed of, in OPA's words where it has a code for it: these are the messages of violations, which
/// people match in suites and alerts.
pub(crate) fn failure(text: &str) -> String {
    let (place, message) = place_and_message(text);
    let begins = |with: &[&str]| with.iter().any(|text| message.starts_with(text));
    let conflict = if begins(&["rule conflicts with rule", "complete rules should not produce"]) {
        "complete rules must not produce multiple outputs"
    } else if begins(&["functions must not produce", "function produced multiple"]) {
        "functions must not produce multiple outputs for same inputs"
    } else if begins(&["rules must not produce", "rules should not produce", "value for key"]) {
        "object keys must be unique"
    } else {
        return message;
    };
    let place = place.map_or_else(String::new, |(module, line, _)| format!("{module}:{line}: "));
    format!("{place}eval_conflict_error: {conflict}")
}

impl fmt::Display for RegoError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.line > 0 {
            write!(f, "{}:{}:{}: {}: {}", self.module, self.line, self.column, self.kind.code(), self.message)
        } else {
            write!(f, "{}: {}: {}", self.module, self.kind.code(), self.message)
        }
    }
}

impl std::error::Error for RegoError {}

/// Why an evaluation gave no result.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EvaluationError {
    /// The evaluation failed, for example because a function has two values.
    #[error("{0}")]
    Failed(String),
    /// The evaluation used up its steps.
    #[error("the evaluation needs more than {0} steps; it was stopped")]
    Steps(u64),
    /// The evaluation was stopped from outside, at its deadline.
    #[error("the evaluation took too long; it was stopped")]
    Deadline,
    /// A function made a value over the limit of sizes.
    #[error("the evaluation made {what} larger than {limit}; it was stopped")]
    Size {
        /// What was made.
        what: &'static str,
        /// The limit, in bytes or elements.
        limit: usize,
    },
    /// `msg` of a violation is not a string.
    #[error("extracting message binding: `msg` of a violation is {0}, not a string")]
    Message(&'static str),
}
