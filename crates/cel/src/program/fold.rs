//! Parts whose values are known before any evaluation: literals, and conversions of them.

use std::sync::Arc;

use super::CallInfo;
use super::code::{CallCost, Guard};
use crate::check::CheckedExpression;
use crate::cost::limits::{Budget, Limits};
use crate::cost::meter::Meter;
use crate::environment::Environment;
use crate::error::{CelError, ErrorClass};
use crate::eval::Context;
use crate::functions::Op;
use crate::tree::{Constant, TreeKind};
use crate::types::TypeKind;
use crate::value::{Blob, Key, List, Map, OwnedMap, Reader, Text, Value};

/// The constant value of each part that has one.
pub(super) fn fold(
    checked: &CheckedExpression,
    environment: &Environment,
    limits: &Limits,
) -> Result<Vec<Option<Value<'static>>>, CelError> {
    let mut known: Vec<Option<Value<'static>>> = Vec::with_capacity(checked.tree.nodes.len());
    let mut meter = Meter::new(&Budget::default());
    let in_function = environment.base.function("@in");
    for (id, node) in checked.tree.nodes.iter().enumerate() {
        let of = |id: u32| known.get(id as usize).cloned().flatten();
        let value = match node.kind {
            TreeKind::Constant(constant) => Some(constant_value(checked, constant)),
            TreeKind::TypeName(named) => Some(Value::Type(type_name(checked.table.kind(named)))),
            TreeKind::List(elements) => {
                let children = checked.tree.children(elements);
                let values: Option<Vec<_>> = children.iter().map(|child| of(child.node)).collect();
                values
                    .filter(|_| children.iter().all(|child| !child.optional))
                    .map(|values| Value::List(List::of(values)))
            }
            TreeKind::Map(entries) => {
                let children = checked.tree.children(entries);
                let values: Option<Vec<_>> = children.iter().map(|child| of(child.node)).collect();
                let values = values.filter(|_| children.iter().all(|child| !child.optional));
                values.and_then(|values| constant_map(&values, environment.base.rules.by_specification))
            }
            TreeKind::Call { .. } if is_in_nothing(checked, &known, id, in_function) => Some(Value::Bool(false)),
            TreeKind::Call { function, arguments, .. } => {
                let op = conversion(environment, function);
                let argument = match checked.tree.children(arguments) {
                    [one] => of(one.node),
                    _ => None,
                };
                match (op, argument) {
                    (Some(op), Some(argument)) => {
                        let mut context = Context {
                            meter: &mut meter,
                            reader: Reader::default(),
                            limits,
                            by_specification: environment.base.rules.by_specification,
                            patterns: &[],
                        };
                        let call = CallInfo {
                            op,
                            arguments: 1,
                            cost: CallCost::One,
                            guard: Guard::None,
                            result: TypeKind::Dyn,
                            pattern: None,
                        };
                        match context.apply(&call, &mut [argument]) {
                            Ok(Value::Unknown | Value::Error(..)) => None,
                            Ok(value) => Some(value),
                            Err(_) if environment.base.rules.refuse_bad_constants => {
                                let detail = "this constant cannot be converted";
                                return Err(CelError::with(ErrorClass::InvalidConstant, node.span, detail));
                            }
                            Err(_) => None,
                        }
                    }
                    _ => None,
                }
            }
            _ => None,
        };
        known.push(value);
    }
    Ok(known)
}

/// Whether a call asks for a member of an empty list.
fn is_in_nothing(
    checked: &CheckedExpression,
    known: &[Option<Value<'static>>],
    id: usize,
    in_function: Option<u32>,
) -> bool {
    let TreeKind::Call { function, arguments, .. } = checked.tree.kind(u32::try_from(id).unwrap_or(u32::MAX)) else {
        return false;
    };
    let id = u32::try_from(id).unwrap_or(u32::MAX);
    let list = checked.tree.child(arguments, 1).and_then(|list| known.get(list as usize)).and_then(Option::as_ref);
    let empty = matches!(list, Some(Value::List(list)) if list.len() == 0);
    empty && checked.overloads_of(id).len() == 1 && in_function == Some(function)
}

fn conversion(environment: &Environment, function: u32) -> Option<Op> {
    let function = environment.base.functions.get(function as usize)?;
    let conversion = matches!(
        &*function.name,
        "bool" | "bytes" | "double" | "duration" | "dyn" | "int" | "string" | "timestamp" | "type" | "uint"
    );
    function.overloads.first().map(|overload| overload.op).filter(|_| conversion)
}

fn constant_value(checked: &CheckedExpression, constant: Constant) -> Value<'static> {
    match constant {
        Constant::Null => Value::Null,
        Constant::Bool(value) => Value::Bool(value),
        Constant::Int(value) => Value::Int(value),
        Constant::Uint(value) => Value::Uint(value),
        Constant::Double(value) => Value::Double(value),
        Constant::String(text) => Value::String(Text::Shared(checked.ast.text(text).into())),
        Constant::Bytes(bytes) => Value::Bytes(Blob::Shared(checked.ast.blob(bytes).into())),
    }
}

fn constant_map(values: &[Value<'static>], unique: bool) -> Option<Value<'static>> {
    let mut map = OwnedMap::default();
    for entry in values.chunks(2) {
        let [key, value] = entry else { continue };
        let added = map.insert(Key::of(key)?, key.clone(), value.clone());
        if unique && (!added || !matches!(key, Value::Bool(_) | Value::Int(_) | Value::Uint(_) | Value::String(_))) {
            return None;
        }
    }
    Some(Value::Map(Map::Owned(Arc::new(map))))
}

/// The name that a type has as a value.
fn type_name(kind: TypeKind) -> &'static str {
    match kind {
        TypeKind::Null => "null_type",
        TypeKind::Bool => "bool",
        TypeKind::Int => "int",
        TypeKind::Uint => "uint",
        TypeKind::Double => "double",
        TypeKind::String => "string",
        TypeKind::Bytes => "bytes",
        TypeKind::Timestamp => "google.protobuf.Timestamp",
        TypeKind::Duration => "google.protobuf.Duration",
        TypeKind::Type(_) => "type",
        TypeKind::List(_) => "list",
        TypeKind::Map(..) => "map",
        TypeKind::Optional(_) => "optional_type",
        TypeKind::Named(named) => named.name(),
        _ => "dyn",
    }
}
