//! Test suites of `gator`: their format, assertions and filters. [`run`] carries them out.

pub mod run;

use clearway_schema::GoPattern;
use regex::Regex;
use serde_json::Value;

/// A suite of tests.
#[derive(Debug, Clone, PartialEq)]
pub struct Suite {
    /// Whether none of it is run.
    pub skip: bool,
    /// The tests.
    pub tests: Vec<SuiteTest>,
}

/// Tests of one template and one constraint.
#[derive(Debug, Clone, PartialEq)]
pub struct SuiteTest {
    /// The name.
    pub name: String,
    /// The file of the template.
    pub template: String,
    /// The file of the constraint.
    pub constraint: String,
    /// The file of expansion templates, if there is one.
    pub expansion: String,
    /// Whether it is not run.
    pub skip: bool,
    /// Whether the schema must refuse the constraint; there are no cases then.
    pub invalid: bool,
    /// The cases.
    pub cases: Vec<Case>,
}

/// An object, and what is wanted of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Case {
    /// The name.
    pub name: String,
    /// The file of the object.
    pub object: String,
    /// Files of objects in the inventory.
    pub inventory: Vec<String>,
    /// Whether it is not run.
    pub skip: bool,
    /// What is wanted.
    pub assertions: Vec<Assertion>,
}

/// What is wanted of the violations of an object.
#[derive(Debug, Clone, PartialEq)]
pub struct Assertion {
    /// How many there are.
    pub violations: WantedViolations,
    /// A pattern that counted messages match.
    pub message: Option<String>,
}

/// How many violations are wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WantedViolations {
    /// At least one.
    Yes,
    /// None.
    No,
    /// So many.
    Exactly(i64),
    /// Something that is none of these.
    Invalid,
}

/// Why a suite is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SuiteError {
    /// A field has the wrong form.
    #[error("invalid yaml: {0}")]
    Form(String),
}

const GROUP: &str = "test.gatekeeper.sh";

impl Suite {
    /// Whether a document is a suite.
    pub fn is_suite(document: &Value) -> bool {
        let api_version = document.get("apiVersion").and_then(Value::as_str).unwrap_or_default();
        api_version.split_once('/').is_some_and(|(group, _)| group == GROUP)
            && document.get("kind").and_then(Value::as_str) == Some("Suite")
    }

    /// Reads a suite.
    pub fn read(document: &Value) -> Result<Suite, SuiteError> {
        Ok(Suite {
            skip: flag(document, "skip")?,
            tests: list(document, "tests")?.iter().map(test).collect::<Result<_, _>>()?,
        })
    }
}

fn form<T>(field: &str, wanted: &str) -> Result<T, SuiteError> {
    Err(SuiteError::Form(format!("{field} must be {wanted}")))
}

fn flag(value: &Value, field: &str) -> Result<bool, SuiteError> {
    match value.get(field) {
        None | Some(Value::Null) => Ok(false),
        Some(Value::Bool(flag)) => Ok(*flag),
        Some(_) => form(field, "true or false"),
    }
}

fn text(value: &Value, field: &str) -> Result<String, SuiteError> {
    match value.get(field) {
        None | Some(Value::Null) => Ok(String::new()),
        Some(Value::String(text)) => Ok(text.clone()),
        Some(_) => form(field, "a string"),
    }
}

fn list<'v>(value: &'v Value, field: &str) -> Result<&'v [Value], SuiteError> {
    match value.get(field) {
        None | Some(Value::Null) => Ok(&[]),
        Some(Value::Array(values)) => Ok(values),
        Some(_) => form(field, "a list"),
    }
}

fn test(value: &Value) -> Result<SuiteTest, SuiteError> {
    Ok(SuiteTest {
        name: text(value, "name")?,
        template: text(value, "template")?,
        constraint: text(value, "constraint")?,
        expansion: text(value, "expansion")?,
        skip: flag(value, "skip")?,
        invalid: flag(value, "invalid")?,
        cases: list(value, "cases")?.iter().map(case).collect::<Result<_, _>>()?,
    })
}

fn case(value: &Value) -> Result<Case, SuiteError> {
    let file = |value: &Value| {
        value.as_str().map_or_else(|| form("inventory", "a list of strings"), |file| Ok(file.to_owned()))
    };
    Ok(Case {
        name: text(value, "name")?,
        object: text(value, "object")?,
        inventory: list(value, "inventory")?.iter().map(file).collect::<Result<_, _>>()?,
        skip: flag(value, "skip")?,
        assertions: list(value, "assertions")?.iter().map(assertion).collect::<Result<_, _>>()?,
    })
}

fn assertion(value: &Value) -> Result<Assertion, SuiteError> {
    let violations = match value.get("violations") {
        // Readers of YAML disagree whether `yes` is a text.
        None | Some(Value::Null | Value::Bool(true)) => WantedViolations::Yes,
        Some(Value::String(word)) => match word.as_str() {
            "yes" => WantedViolations::Yes,
            "no" => WantedViolations::No,
            _ => WantedViolations::Invalid,
        },
        Some(Value::Bool(false)) => WantedViolations::No,
        Some(Value::Number(number)) => match number.as_i64() {
            Some(count) if count >= 0 => WantedViolations::Exactly(count),
            _ => WantedViolations::Invalid,
        },
        Some(_) => return form("violations", "a number, yes or no"),
    };
    let message = match value.get("message") {
        None | Some(Value::Null) => None,
        Some(Value::String(pattern)) => Some(pattern.clone()),
        Some(_) => return form("message", "a string"),
    };
    Ok(Assertion { violations, message })
}

/// A pattern in Go's dialect.
fn pattern(text: &str) -> Result<Regex, String> {
    let translated = GoPattern::translate_capturing(text).map_err(|error| error.to_string())?;
    Regex::new(&translated.rust).map_err(|_| "the pattern is too large, or not supported".to_owned())
}

impl Assertion {
    /// Compares messages with what is wanted; what is wrong, in gator's words.
    pub fn check(&self, messages: &[&str]) -> Result<(), String> {
        let pattern = match &self.message {
            Some(text) => Some(pattern(text).map_err(|error| {
                format!("message contains invalid regular expression: error parsing regexp: {error}: `{text}`")
            })?),
            None => None,
        };
        let counted =
            messages.iter().filter(|message| pattern.as_ref().is_none_or(|pattern| pattern.is_match(message)));
        let got = i64::try_from(counted.count()).unwrap_or(i64::MAX);
        let containing = self.message.as_ref().map(|text| format!(" containing {text:?}")).unwrap_or_default();
        let wrong = |want: &str| {
            let all = messages.join(" ");
            Err(format!(
                "unexpected number of violations: got {got} violations{containing} but want {want}: got messages [{all}]"
            ))
        };
        match &self.violations {
            WantedViolations::Yes if got == 0 => wrong("at least 1"),
            WantedViolations::No if got > 0 => wrong("none"),
            WantedViolations::Exactly(count) if *count != got => wrong(&format!("exactly {count}")),
            WantedViolations::Invalid => Err(format!(
                "invalid yaml: assertion.violation, if set, must be a nonnegative integer, \"yes\", or \"no\": got messages [{}]",
                messages.join(" ")
            )),
            _ => Ok(()),
        }
    }
}

/// Which tests and cases are run.
#[derive(Debug, Clone)]
pub struct Filter(Selection);

#[derive(Debug, Clone)]
enum Selection {
    All,
    /// Tests or cases of that name.
    Either(Regex),
    /// Cases of that name in tests of that name.
    Both(Regex, Regex),
}

/// Why a filter is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FilterError {
    /// A part is not a regular expression.
    #[error("invalid test filter: {0}")]
    Pattern(String),
    /// There are more than two parts.
    #[error("invalid test filter: a filter may include at most one \"//\"")]
    Parts,
}

impl Filter {
    /// Reads a filter: nothing, a pattern, or two patterns with `//` between them.
    pub fn read(text: &str) -> Result<Filter, FilterError> {
        let compiled = |text: &str| pattern(text).map_err(FilterError::Pattern);
        let parts: Vec<&str> = text.split("//").collect();
        Ok(Filter(match parts.as_slice() {
            [""] => Selection::All,
            [either] => Selection::Either(compiled(either)?),
            [in_tests, in_cases] => Selection::Both(compiled(in_tests)?, compiled(in_cases)?),
            _ => return Err(FilterError::Parts),
        }))
    }

    /// Whether a test is run.
    pub fn matches_test(&self, test: &SuiteTest) -> bool {
        match &self.0 {
            Selection::All => true,
            Selection::Either(pattern) => {
                pattern.is_match(&test.name) || test.cases.iter().any(|case| self.matches_case(&test.name, &case.name))
            }
            Selection::Both(pattern, _) => pattern.is_match(&test.name),
        }
    }

    /// Whether a case of a test is run.
    pub fn matches_case(&self, test: &str, case: &str) -> bool {
        match &self.0 {
            Selection::All => true,
            Selection::Either(pattern) => pattern.is_match(case) || pattern.is_match(test),
            Selection::Both(tests, cases) => cases.is_match(case) && tests.is_match(test),
        }
    }
}
