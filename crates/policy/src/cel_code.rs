//! Templates in CEL (`K8sNativeValidation`): evaluated as the API server evaluates its own admission policies.

use clearway_cel::{Bindings, Budget, Environment, KubernetesVersion, Limits, Outcome, Program, ResultType, Session};
use serde_json::Value;

use crate::review::Review;

/// What an expression that fails means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FailurePolicy {
    /// A violation.
    #[default]
    Fail,
    /// Nothing.
    Ignore,
}

/// The code of a template in CEL, compiled.
#[derive(Debug)]
pub struct CelCode {
    variables: Vec<(String, Program)>,
    conditions: Vec<(String, Program)>,
    validations: Vec<Validation>,
    failure_policy: FailurePolicy,
}

#[derive(Debug)]
struct Validation {
    expression: Program,
    message: String,
    message_expression: Option<Program>,
}

/// Why code in CEL is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CelCodeError {
    /// A field has the wrong form.
    #[error("invalid K8sNativeValidation source: {0}")]
    Form(String),
    /// A name that Gatekeeper uses itself.
    #[error("invalid K8sNativeValidation source: {0:?} is reserved; rename it")]
    Reserved(String),
    /// An expression does not compile.
    #[error("{field}: {message}")]
    Expression {
        /// The field, such as `validations[0].expression`.
        field: String,
        /// What is wrong, with the place in the expression.
        message: String,
    },
}

/// The parameters of a constraint, and the object whatever the operation, as Gatekeeper defines them.
const PARAMS: &str = "!has(params.spec) ? null : !has(params.spec.parameters) ? null : params.spec.parameters";
const ANY_OBJECT: &str =
    "has(request.operation) && request.operation == \"DELETE\" && object == null ? oldObject : object";

impl CelCode {
    /// Reads and compiles a source.
    pub fn read(source: &Value) -> Result<CelCode, CelCodeError> {
        let text = |value: &Value, name: &str| -> Result<String, CelCodeError> {
            match value.get(name) {
                None | Some(Value::Null) => Ok(String::new()),
                Some(Value::String(text)) => Ok(text.clone()),
                Some(_) => Err(CelCodeError::Form(format!("{name} must be a string"))),
            }
        };
        let list = |name: &str| match source.get(name) {
            None | Some(Value::Null) => Ok(&[][..]),
            Some(Value::Array(values)) => Ok(values.as_slice()),
            Some(_) => Err(CelCodeError::Form(format!("{name} must be a list"))),
        };
        let failure_policy = match text(source, "failurePolicy")?.as_str() {
            "" | "Fail" => FailurePolicy::Fail,
            "Ignore" => FailurePolicy::Ignore,
            other => return Err(CelCodeError::Form(format!("failurePolicy {other:?} is not Fail or Ignore"))),
        };
        let with_params =
            Environment::kubernetes_admission(KubernetesVersion::LATEST, true).with_result(ResultType::Any);
        let mut environment =
            Environment::kubernetes_admission(KubernetesVersion::LATEST, false).with_result(ResultType::Any);
        let params = compile("params", PARAMS, &with_params)?;
        environment = environment.with_policy_variable("params", &params);
        let any_object = compile("anyObject", ANY_OBJECT, &environment)?;
        environment = environment.with_policy_variable("anyObject", &any_object);
        let mut variables = vec![("params".to_owned(), params), ("anyObject".to_owned(), any_object)];
        for (number, variable) in list("variables")?.iter().enumerate() {
            let name = text(variable, "name")?;
            if name == "params" || name == "anyObject" || name.starts_with("gatekeeper_internal_") {
                return Err(CelCodeError::Reserved(name));
            }
            let program =
                compile(&format!("variables[{number}].expression"), &text(variable, "expression")?, &environment)?;
            environment = environment.with_policy_variable(&name, &program);
            variables.push((name, program));
        }
        let bools = environment.clone().with_result(ResultType::BoolOrDyn);
        let mut conditions = Vec::new();
        for (number, condition) in list("matchCondition")?.iter().enumerate() {
            let name = text(condition, "name")?;
            if name.starts_with("gatekeeper_internal_") {
                return Err(CelCodeError::Reserved(name));
            }
            let expression = text(condition, "expression")?;
            conditions.push((name, compile(&format!("matchCondition[{number}].expression"), &expression, &bools)?));
        }
        let mut validations = Vec::new();
        for (number, validation) in list("validations")?.iter().enumerate() {
            let message_expression = text(validation, "messageExpression")?;
            let message_expression = if message_expression.trim().is_empty() {
                None
            } else {
                Some(compile(&format!("validations[{number}].messageExpression"), &message_expression, &environment)?)
            };
            let expression = text(validation, "expression")?;
            validations.push(Validation {
                expression: compile(&format!("validations[{number}].expression"), &expression, &bools)?,
                message: text(validation, "message")?.trim().to_owned(),
                message_expression,
            });
        }
        Ok(CelCode { variables, conditions, validations, failure_policy })
    }

    /// The messages of what a review violates.
    pub fn evaluate(&self, review: &Review, constraint: &Value, namespace: Option<&Value>) -> Vec<String> {
        let nothing = Value::Null;
        let object = match review.operation() {
            "DELETE" => &nothing,
            _ => review.field("object").unwrap_or(&nothing),
        };
        let mut request = review.to_json();
        if let Some(fields) = request.as_object_mut() {
            for name in ["object", "oldObject", "namespaceObject"] {
                fields.remove(name);
            }
        }
        let bindings = Bindings::new()
            .with("object", object)
            .with("oldObject", review.field("oldObject").unwrap_or(&nothing))
            .with("request", &request)
            .with("namespaceObject", namespace.unwrap_or(&nothing))
            .with("params", constraint);
        let session = self
            .variables
            .iter()
            .fold(Session::new(bindings), |session, (name, program)| session.with_variable(name, program));
        let budget = Budget::default();
        let failed = |program: &Program, outcome: &Outcome<'_>| {
            let reason = match outcome {
                Outcome::Error(error) => reason(error, program.source()),
                Outcome::Unknown => "the value is not known".to_owned(),
                Outcome::Value(_) => "the result is not a bool".to_owned(),
            };
            format!("expression '{}' resulted in error: {reason}", program.source().trim())
        };
        for (_, condition) in &self.conditions {
            let outcome = session.evaluate(condition, &budget).outcome;
            match outcome.as_bool() {
                Some(true) => {}
                Some(false) => return Vec::new(),
                None if self.failure_policy == FailurePolicy::Ignore => return Vec::new(),
                None => return vec![failed(condition, &outcome)],
            }
        }
        let mut messages = Vec::new();
        for validation in &self.validations {
            let outcome = session.evaluate(&validation.expression, &budget).outcome;
            match outcome.as_bool() {
                Some(true) => {}
                Some(false) => messages.push(validation.message(&session, &budget)),
                None if self.failure_policy == FailurePolicy::Ignore => {}
                None => messages.push(failed(&validation.expression, &outcome)),
            }
        }
        messages
    }
}

impl Validation {
    fn message<'a>(&'a self, session: &Session<'a>, budget: &Budget) -> String {
        let expressed = self.message_expression.as_ref().and_then(|program| {
            let outcome = session.evaluate(program, budget).outcome;
            let text = outcome.value()?.to_json().as_str()?.trim().to_owned();
            (!text.is_empty() && !text.contains('\n')).then_some(text)
        });
        match expressed {
            Some(text) => text,
            None if self.message.is_empty() => format!("failed expression: {}", self.expression.source().trim()),
            None => self.message.clone(),
        }
    }
}

fn compile(field: &str, expression: &str, environment: &Environment) -> Result<Program, CelCodeError> {
    Program::compile(expression, environment, &Limits::default()).map_err(|error| CelCodeError::Expression {
        field: field.to_owned(),
        message: error.diagnostic(expression).message,
    })
}

/// The reason of an error, with the key that is missing.
fn reason(error: &clearway_cel::CelError, source: &str) -> String {
    let message = error.diagnostic(source).message;
    let part = error.span.of(source);
    let key = part.rsplit('.').next().unwrap_or(part).trim();
    let named = !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    if message == "no such key" && named { format!("{message}: {key}") } else { message }
}
