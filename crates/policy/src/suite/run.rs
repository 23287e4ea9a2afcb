//! Runs suites over files that the caller reads, and prints results as `gator verify` does.

use std::fmt::Write as _;
use std::time::Duration;

use clearway_core::Limits;
use serde_json::Value;

use crate::constraint::{Constraint, ConstraintError};
use crate::documents::{read_document, read_documents};
use crate::enforcement::EnforcementPoint;
use crate::expansion::Expander;
use crate::inventory::Inventory;
use crate::matching::Source;
use crate::policy_set::{Evaluator, PolicySet, PolicySetError, ReviewResult, Reviewer, sort_results};
use crate::rego::Budget;
use crate::review::Review;
use crate::suite::{Case, Filter, Suite, SuiteTest};
use crate::template::{Template, TemplateError};

/// What the runner needs of the world.
pub struct World<'w> {
    /// Reads a file; the error is that of the system.
    pub read: &'w dyn Fn(&str) -> Result<String, String>,
    /// The time since some moment.
    pub clock: &'w dyn Fn() -> Duration,
    /// The limits of files.
    pub limits: &'w Limits,
    /// How much each evaluation may do.
    pub budget: &'w Budget,
    /// Runs what may take long, by its name.
    pub watch: &'w dyn Fn(&str, &mut dyn FnMut()),
}

/// What came of a suite.
#[derive(Debug, Clone, PartialEq)]
pub struct SuiteResult {
    /// The file.
    pub path: String,
    /// Whether it was not run.
    pub skipped: bool,
    /// How long it took.
    pub runtime: Duration,
    /// What came of its tests.
    pub tests: Vec<TestResult>,
}

/// What came of a test.
#[derive(Debug, Clone, PartialEq)]
pub struct TestResult {
    /// The name.
    pub name: String,
    /// Whether it was not run.
    pub skipped: bool,
    /// Why its cases could not be run, or why the constraint is not refused as it should be.
    pub error: Option<String>,
    /// How long it took.
    pub runtime: Duration,
    /// What came of its cases.
    pub cases: Vec<CaseResult>,
}

/// What came of a case.
#[derive(Debug, Clone, PartialEq)]
pub struct CaseResult {
    /// The name.
    pub name: String,
    /// Whether it was not run.
    pub skipped: bool,
    /// Why it failed.
    pub error: Option<String>,
    /// How long it took.
    pub runtime: Duration,
    /// What the template printed.
    pub prints: Vec<String>,
}

impl SuiteResult {
    /// Whether anything failed.
    pub fn is_failure(&self) -> bool {
        self.tests.iter().any(TestResult::is_failure)
    }
}

impl TestResult {
    /// Whether anything failed.
    pub fn is_failure(&self) -> bool {
        self.error.is_some() || self.cases.iter().any(|case| case.error.is_some())
    }
}

/// Runs a suite that was read from a file.
pub fn run_suite(suite: &Suite, path: &str, filter: &Filter, world: &World<'_>) -> SuiteResult {
    let start = (world.clock)();
    let mut result =
        SuiteResult { path: path.to_owned(), skipped: suite.skip, runtime: Duration::ZERO, tests: Vec::new() };
    if suite.skip {
        return result;
    }
    let directory = path.rsplit_once('/').map_or("", |(directory, _)| directory);
    result.tests = suite
        .tests
        .iter()
        .map(|test| {
            let runner = Runner { directory, filter, world, test };
            runner.run()
        })
        .collect();
    result.runtime = (world.clock)().saturating_sub(start);
    result
}

struct Runner<'r> {
    directory: &'r str,
    filter: &'r Filter,
    world: &'r World<'r>,
    test: &'r SuiteTest,
}

/// What the cases of a test have in common.
struct Prepared {
    policies: PolicySet,
    expander: Option<Expander>,
}

impl Runner<'_> {
    fn run(&self) -> TestResult {
        let start = (self.world.clock)();
        let skipped = self.test.skip || !self.filter.matches_test(self.test);
        let mut result = TestResult {
            name: self.test.name.clone(),
            skipped,
            error: None,
            runtime: Duration::ZERO,
            cases: Vec::new(),
        };
        if skipped {
            return result;
        }
        match self.prepare() {
            Err(Refusal { message, schema }) => {
                if self.test.invalid && schema {
                } else if self.test.invalid {
                    result.error = Some(not_refused(&message));
                } else {
                    result.error = Some(message);
                }
            }
            Ok(_) if self.test.invalid => result.error = Some(not_refused("%!w(<nil>)")),
            Ok(prepared) => result.cases = self.test.cases.iter().map(|case| self.run_case(case, &prepared)).collect(),
        }
        result.runtime = (self.world.clock)().saturating_sub(start);
        result
    }

    fn path(&self, file: &str) -> String {
        join(self.directory, file)
    }

    fn prepare(&self) -> Result<Prepared, Refusal> {
        let mut policies = PolicySet::new();
        if self.test.template.is_empty() {
            return Err("invalid Suite: missing template".into());
        }
        let path = self.path(&self.test.template);
        let text = (self.world.read)(&path)
            .map_err(|error| format!("reading ConstraintTemplate from {path:?}: open {path}: {error}"))?;
        let object = read_document(&text, &path, self.world.limits)
            .map_err(|error| format!("adding template: parsing ConstraintTemplate YAML from {path:?}: {error}"))?;
        if !Template::is_template(&object) {
            return Err(format!("path {path:?}: {}", TemplateError::NotATemplate).into());
        }
        policies.add_template(&object).map_err(|error| format!("adding template: {error}"))?;
        if self.test.constraint.is_empty() {
            return Err("invalid Suite: missing constraint".into());
        }
        let path = self.path(&self.test.constraint);
        let text = (self.world.read)(&path)
            .map_err(|error| format!("reading Constraint from {path:?}: open {path}: {error}"))?;
        let object = read_document(&text, &path, self.world.limits)
            .map_err(|error| format!("adding constraint: parsing Constraint from {path:?}: {error}"))?;
        if !Constraint::is_constraint(&object) {
            return Err(ConstraintError::NotAConstraint.to_string().into());
        }
        policies.add_constraint(&object).map_err(|error| Refusal {
            schema: matches!(error, PolicySetError::Constraint(ConstraintError::Schema(_))),
            message: error.to_string(),
        })?;
        let expander = self.expander()?;
        Ok(Prepared { policies, expander })
    }

    fn expander(&self) -> Result<Option<Expander>, Refusal> {
        if self.test.expansion.is_empty() {
            return Ok(None);
        }
        let path = self.path(&self.test.expansion);
        let text = (self.world.read)(&path)
            .map_err(|error| format!("reading ExpansionTemplate from {path:?}: open {path}: {error}"))?;
        let objects =
            read_documents(&text, &path, self.world.limits).map_err(|error| format!("reading {path:?}: {error}"))?;
        if objects.is_empty() || !objects.iter().all(Expander::is_template) {
            return Err(format!("not an Expansion Template: {path:?}").into());
        }
        Ok(Some(Expander::read(&objects).map_err(|error| error.to_string())?))
    }

    fn run_case(&self, case: &Case, prepared: &Prepared) -> CaseResult {
        let start = (self.world.clock)();
        let skipped = case.skip || !self.filter.matches_case(&self.test.name, &case.name);
        let mut result =
            CaseResult { name: case.name.clone(), skipped, error: None, runtime: Duration::ZERO, prints: Vec::new() };
        if !skipped {
            let mut evaluator = Evaluator::new();
            let subject = format!("{}/{}", self.test.name, case.name);
            (self.world.watch)(&subject, &mut || {
                result.error = self.check_case(case, prepared, &mut evaluator).err();
            });
            result.prints = evaluator.take_prints();
            result.runtime = (self.world.clock)().saturating_sub(start);
        }
        result
    }

    fn check_case(&self, case: &Case, prepared: &Prepared, evaluator: &mut Evaluator) -> Result<(), String> {
        if case.object.is_empty() {
            return Err("invalid Case: must define object".to_owned());
        }
        if case.assertions.is_empty() {
            return Err("invalid Case: assertions must be non-empty".to_owned());
        }
        let results = self.review(case, prepared, evaluator)?;
        let messages: Vec<&str> = results.iter().map(|result| result.message.as_str()).collect();
        case.assertions.iter().try_for_each(|assertion| assertion.check(&messages))
    }

    fn objects(&self, file: &str) -> Result<Vec<Value>, String> {
        let path = self.path(file);
        let text = (self.world.read)(&path).map_err(|error| format!("reading {path:?}: open {path}: {error}"))?;
        let objects =
            read_documents(&text, &path, self.world.limits).map_err(|error| format!("reading {path:?}: {error}"))?;
        if objects.is_empty() {
            return Err(format!("missing objects: path {path:?} defines no YAML objects"));
        }
        Ok(objects)
    }

    fn review(&self, case: &Case, prepared: &Prepared, evaluator: &mut Evaluator) -> Result<Vec<ReviewResult>, String> {
        let objects = self.objects(&case.object)?;
        let [object] = objects.as_slice() else {
            let path = self.path(&case.object);
            return Err(format!(
                "object file must contain exactly one object: {path:?} defines {} objects",
                objects.len()
            ));
        };
        let mut inventory = Inventory::default();
        for file in &case.inventory {
            for object in self.objects(file)? {
                inventory
                    .insert(&object)
                    .map_err(|error| format!("unable to add object to data.inventory: {error}"))?;
            }
        }
        let reviewer = Reviewer { point: EnforcementPoint::Gator, inventory: &inventory, budget: self.world.budget };
        let evaluate = |review: &Review, evaluator: &mut Evaluator| {
            prepared.policies.review(review, &reviewer, evaluator).map_err(|error| error.to_string())
        };
        if Review::is_admission_review(object) {
            let review = Review::of_admission_review(object).map_err(|error| error.to_string())?;
            return evaluate(&review, evaluator);
        }
        let mut results = evaluate(&Review::of_object(object, Source::Original), evaluator)?;
        if let Some(expander) = &prepared.expander {
            let implied = expander.expand(object, None).map_err(|error| error.to_string())?;
            for expanded in implied {
                let found = evaluate(&Review::of_object(&expanded.object, Source::Generated), evaluator)?;
                results.extend(found.into_iter().map(|result| expanded.imply(result)));
            }
        }
        sort_results(&mut results);
        Ok(results)
    }
}

struct Refusal {
    message: String,
    schema: bool,
}

impl From<String> for Refusal {
    fn from(message: String) -> Self {
        Refusal { message, schema: false }
    }
}

impl From<&str> for Refusal {
    fn from(message: &str) -> Self {
        message.to_owned().into()
    }
}

fn not_refused(error: &str) -> String {
    format!("constraint should have failed schema validation: got error {error} but want schema validation failed")
}

/// A path below a directory, without `.` and `..` where that can be decided.
fn join(directory: &str, file: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    let absolute = directory.starts_with('/');
    for part in directory.split('/').chain(file.split('/')) {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => {
                parts.pop();
            }
            ".." if absolute => {}
            part => parts.push(part),
        }
    }
    format!("{}{}", if absolute { "/" } else { "" }, parts.join("/"))
}

/// Results as `gator verify` prints them.
pub fn print(results: &[SuiteResult], verbose: bool) -> String {
    let mut out = String::new();
    let seconds = |duration: Duration| format!("{:.3}s", duration.as_secs_f64());
    // Writing into a text cannot fail.
    for suite in results {
        for test in &suite.tests {
            if verbose && test.skipped {
                let _ = writeln!(out, "=== SKIP  {}", test.name);
                continue;
            }
            if verbose {
                let _ = writeln!(out, "=== RUN   {}", test.name);
            }
            for case in &test.cases {
                print_case(&mut out, case, verbose);
            }
            let time = seconds(test.runtime);
            if test.is_failure() {
                let _ = writeln!(out, "--- FAIL: {}\t({time})", test.name);
                if let Some(error) = &test.error {
                    let _ = writeln!(out, "  {error}");
                }
            } else if verbose {
                let _ = writeln!(out, "--- PASS: {}\t({time})", test.name);
            }
        }
        let word = if suite.is_failure() { "FAIL" } else { "ok" };
        let _ = writeln!(out, "{word}\t{}\t{}", suite.path, seconds(suite.runtime));
    }
    out.push_str(if results.iter().any(SuiteResult::is_failure) { "FAIL\n" } else { "PASS\n" });
    out
}

fn print_case(out: &mut String, case: &CaseResult, verbose: bool) {
    let time = format!("{:.3}s", case.runtime.as_secs_f64());
    if verbose && case.skipped {
        let _ = writeln!(out, "    === SKIP  {}", case.name);
        return;
    }
    if verbose {
        let _ = writeln!(out, "    === RUN   {}", case.name);
        if !case.prints.is_empty() {
            let _ = writeln!(out, "        === PRINT ===");
            for line in case.prints.iter().flat_map(|text| text.lines()) {
                let _ = writeln!(out, "        {line}");
            }
        }
    }
    if let Some(error) = &case.error {
        let _ = writeln!(out, "    --- FAIL: {}\t({time})\n        {error}", case.name);
    } else if verbose {
        let _ = writeln!(out, "    --- PASS: {}\t({time})", case.name);
    }
}
