//! Runs the simple tests of the CEL specification, in the text format of Protocol Buffers.
//!
//! A test passes, fails, or needs what this engine does not have: messages, enums, wrappers and `Any` of Protocol
//! Buffers. Nothing else is left out.

mod textproto;
mod values;

use crate::cost::limits::{Budget, Limits, RegexWork};
use crate::environment::Environment;
use crate::error::ErrorClass;
use crate::eval::session::{Bindings, Session};
use crate::program::Program;
use crate::syntax::ast::{Ast, NodeKind};
use crate::syntax::parser::parse;
use crate::value::{CelValue, Reader, Value};

use textproto::Message;
pub use textproto::TextError;
use values::{ENUMS, MESSAGES, Unsupported, WRAPPERS};

/// What came of the tests of one file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    /// How many passed.
    pub passed: usize,
    /// Those that did not pass.
    pub failed: Vec<CaseNote>,
    /// Those that cannot be run, with what they need.
    pub unsupported: Vec<CaseNote>,
}

/// A test and what is to be said of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CaseNote {
    /// `file/section/test`.
    pub name: String,
    /// The expression.
    pub expression: String,
    /// What went wrong, or what is needed.
    pub note: String,
}

enum Verdict {
    Passed,
    Failed(String),
    Unsupported(Unsupported),
}

/// Runs all tests of a file.
pub fn run(text: &str) -> Result<Report, TextError> {
    let file = Message::read(text)?;
    let file_name = file.text("name").unwrap_or_default();
    let mut report = Report::default();
    for section in file.messages("section") {
        let section_name = section.text("name").unwrap_or_default();
        for test in section.messages("test") {
            let name = format!("{file_name}/{section_name}/{}", test.text("name").unwrap_or_default());
            let expression = test.text("expr").unwrap_or_default();
            let note =
                |note: &str| CaseNote { name: name.clone(), expression: expression.clone(), note: note.to_owned() };
            match run_test(test, &expression) {
                Verdict::Passed => report.passed = report.passed.saturating_add(1),
                Verdict::Failed(reason) => report.failed.push(note(&reason)),
                Verdict::Unsupported(reason) => report.unsupported.push(note(reason)),
            }
        }
    }
    Ok(report)
}

fn run_test(test: &Message, expression: &str) -> Verdict {
    let limits = Limits::default();
    let environment = match environment(test) {
        Ok(environment) => environment,
        Err(reason) => return Verdict::Unsupported(reason),
    };
    let needed = parse(expression, &limits).ok().and_then(|ast| needed_by(&ast, &environment));
    if let Some(reason) = needed {
        return Verdict::Unsupported(reason);
    }
    let expected = match Expected::of(test) {
        Ok(expected) => expected,
        Err(reason) => return Verdict::Unsupported(reason),
    };
    let checked = !test.flag("disable_check");
    let mut work = RegexWork::new(limits.regex_work);
    let program = match Program::compile_mode(expression, &environment, &limits, checked, &mut work) {
        Ok(program) => program,
        Err(error) if error.class == ErrorClass::Unsupported => return Verdict::Unsupported(MESSAGES),
        // Types that do not fit are an error too; text that is no expression is none.
        Err(error) if error.class == ErrorClass::Type && matches!(expected, Expected::Error) => return Verdict::Passed,
        Err(error) => return Verdict::Failed(format!("refused: {error}")),
    };
    if let Some(deduced) = test.message("typed_result").and_then(|result| result.message("deduced_type")) {
        match values::declared(deduced) {
            Err(reason) => return Verdict::Unsupported(reason),
            Ok(wanted) => {
                let root = program.checked.type_of(program.checked.tree.root());
                if !values::is_type(&program.checked.table, root, &wanted, 0) {
                    return Verdict::Failed(format!("the type is {}, not {wanted:?}", program.result_type()));
                }
            }
        }
    }
    if test.flag("check_only") {
        return Verdict::Passed;
    }
    let bindings = match bindings(test) {
        Ok(bindings) => bindings,
        Err(reason) => return Verdict::Unsupported(reason),
    };
    let bindings =
        bindings.iter().fold(Bindings::new(), |all, (name, value)| all.with_value(name, CelValue::new(value.clone())));
    let session = Session::new(bindings);
    let found = session.raw(&program, &Budget { cost: u64::MAX, ..Budget::default() });
    judge(&expected, &found)
}

/// What a test wants.
enum Expected {
    Value(Value<'static>),
    Error,
    Unknown,
}

impl Expected {
    fn of(test: &Message) -> Result<Expected, Unsupported> {
        let names = ["eval_error", "any_eval_errors"];
        if names.iter().any(|name| test.message(name).is_some()) {
            return Ok(Expected::Error);
        }
        if ["unknown", "any_unknowns"].iter().any(|name| test.message(name).is_some()) {
            return Ok(Expected::Unknown);
        }
        let typed = test.message("typed_result").and_then(|result| result.message("result"));
        match typed.or_else(|| test.message("value")) {
            Some(message) => values::value(message).map(Expected::Value),
            None => Ok(Expected::Value(Value::Bool(true))),
        }
    }
}

fn judge(expected: &Expected, found: &Value<'_>) -> Verdict {
    let shown = || found.show(Reader::default(), 200);
    match (expected, found) {
        (Expected::Error, Value::Error(..)) | (Expected::Unknown, Value::Unknown) => Verdict::Passed,
        (Expected::Error, _) => Verdict::Failed(format!("an error is wanted, not {}", shown())),
        (Expected::Unknown, _) => Verdict::Failed(format!("an unknown value is wanted, not {}", shown())),
        (Expected::Value(wanted), found) if values::matches(wanted, found, 0) => Verdict::Passed,
        (Expected::Value(wanted), _) => {
            Verdict::Failed(format!("{} is wanted, not {}", wanted.show(Reader::default(), 200), shown()))
        }
    }
}

fn environment(test: &Message) -> Result<Environment, Unsupported> {
    let mut environment = Environment::standard();
    for declaration in test.messages("type_env") {
        let name = declaration.text("name").unwrap_or_default();
        if let Some(function) = declaration.message("function") {
            environment = declare_functions(environment, &name, function)?;
        } else if let Some(declared) = declaration.message("ident").and_then(|ident| ident.message("type")) {
            environment = environment.declare(&name, &values::declared(declared)?);
        }
    }
    // A binding without a declaration is dynamic.
    for binding in test.messages("bindings") {
        let name = binding.text("key").unwrap_or_default();
        if !environment.variable_names().any(|known| known == name) {
            environment = environment.declare(&name, &crate::environment::DeclaredType::Dyn);
        }
    }
    Ok(environment.in_container(&test.text("container").unwrap_or_default()))
}

/// Functions that a test declares have no implementation: they are only checked.
fn declare_functions(environment: Environment, name: &str, function: &Message) -> Result<Environment, Unsupported> {
    let mut overloads = Vec::new();
    for overload in function.messages("overloads") {
        let parameters: Result<Vec<_>, _> = overload.messages("params").map(values::declared).collect();
        let result =
            overload.message("result_type").map_or(Ok(crate::environment::DeclaredType::Dyn), values::declared)?;
        overloads.push((overload.flag("is_instance_function"), parameters?, result));
    }
    Ok(environment.declare_function(name, &overloads))
}

fn bindings(test: &Message) -> Result<Vec<(String, Value<'static>)>, Unsupported> {
    let mut bindings = Vec::new();
    for binding in test.messages("bindings") {
        let name = binding.text("key").unwrap_or_default();
        let content = binding.message("value");
        let value = match content {
            Some(content) if content.message("unknown").is_some() => Value::Unknown,
            Some(content) if content.message("error").is_some() => {
                Value::Error(ErrorClass::NotBound, crate::syntax::span::Span::default())
            }
            Some(content) => content.message("value").map_or(Ok(Value::Null), values::value)?,
            None => Value::Null,
        };
        bindings.push((name, value));
    }
    Ok(bindings)
}

/// What an expression needs of Protocol Buffers: message literals, or the names of messages and enums.
fn needed_by(ast: &Ast, environment: &Environment) -> Option<Unsupported> {
    for node in &ast.nodes {
        match node.kind {
            NodeKind::Message { name, .. } => {
                let name = ast.text(name);
                let wrapper =
                    name.starts_with("google.protobuf.") && name.ends_with("Value") && name != "google.protobuf.Value";
                return Some(match name {
                    "google.protobuf.Any" => values::ANY,
                    _ if wrapper => WRAPPERS,
                    _ => MESSAGES,
                });
            }
            NodeKind::Ident { name, .. } => {
                let name = ast.text(name);
                let declared = environment.variable_names().any(|known| known == name);
                // The messages and enums that the specification's tests are about.
                let (message, enumeration) = (name.contains("TestAllTypes") || name == "proto", name.ends_with("Enum"));
                if !declared && (message || enumeration) {
                    return Some(if enumeration { ENUMS } else { MESSAGES });
                }
            }
            NodeKind::Select { field, operand, .. } => {
                let field = ast.text(field);
                let inside = matches!(ast.node(operand).kind, NodeKind::Select { .. });
                if inside && (field == "TestAllTypes" || field.ends_with("Enum")) {
                    return Some(if field.ends_with("Enum") { ENUMS } else { MESSAGES });
                }
            }
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_pass_fail_or_need_messages() {
        let text = r#"
            name: "file"
            section {
              name: "s"
              test { name: "sum" expr: "1 + 1" value { int64_value: 2 } }
              test { name: "wrong" expr: "1 + 1" value { uint64_value: 2 } }
              test { name: "no value wanted" expr: "true" }
              test { name: "error" expr: "1 / 0" eval_error { errors { message: "x" } } }
              test { name: "refused" expr: "1 +" eval_error { errors { message: "x" } } }
              test { name: "message" expr: "google.protobuf.Int32Value{value: 1}" value { int64_value: 1 } }
              test { name: "unknown" expr: "x && true" bindings { key: "x" value { unknown {} } } unknown {} }
            }
        "#;
        let report = run(text).unwrap();
        assert_eq!(report.passed, 4);
        let names: Vec<&str> = report.failed.iter().map(|case| case.name.as_str()).collect();
        assert_eq!(names, ["file/s/wrong", "file/s/refused"]);
        assert_eq!(report.unsupported.len(), 1);
        assert_eq!(report.unsupported.first().map(|case| case.note.as_str()), Some(WRAPPERS));
    }
}
