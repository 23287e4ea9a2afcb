//! Selections and indexes.

use super::{Machine, has_schema};
use crate::decl::DeclKind;
use crate::error::ErrorClass;
use crate::program::{Code, FieldMode};
use crate::syntax::span::Span;
use crate::value::{Map, Value};

/// How far a chain of selections is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ChainState {
    Plain,
    /// An optional was passed: what is missing is no error.
    Optional,
    /// The result is known.
    Done,
}

/// What came of asking for a field or element.
enum Found<'a> {
    Value(Value<'a>),
    Missing(ErrorClass),
    Failed(ErrorClass),
}

impl<'a> Machine<'_, 'a> {
    /// What is on the stack begins a chain.
    pub(super) fn start_chain(&mut self) -> ChainState {
        let Some(root) = self.stack.last_mut() else { return ChainState::Done };
        match root {
            Value::Error(..) | Value::Unknown | Value::Optional(None) => ChainState::Done,
            Value::Optional(Some(inner)) => {
                *root = if has_schema(inner) { inner.without_schema() } else { (**inner).clone() };
                ChainState::Optional
            }
            _ => ChainState::Plain,
        }
    }

    /// How far the chain is; nothing if it is decided. An optional on the way makes the rest optional.
    fn state(&mut self) -> Option<ChainState> {
        let state = self.chains.last().copied().filter(|state| *state != ChainState::Done)?;
        if !self.by_specification || !matches!(self.stack.last(), Some(Value::Optional(_))) {
            return Some(state);
        }
        let state = self.start_chain();
        if let Some(known) = self.chains.last_mut() {
            *known = state;
        }
        Some(state).filter(|state| *state != ChainState::Done)
    }

    /// The number of a policy's variable that a field asks for, if it is not evaluated yet.
    pub(super) fn wanted_variable(&self, code: &Code, name: u32, mode: FieldMode) -> Option<usize> {
        if !matches!(self.stack.last(), Some(Value::Variables)) || mode == FieldMode::Test {
            return None;
        }
        let name = code.names.get(name as usize)?;
        self.session.unknown_variable(&name.name)
    }

    pub(super) fn field(&mut self, code: &'a Code, name: u32, mode: FieldMode, span: Span) -> Result<(), ErrorClass> {
        let Some(state) = self.state() else {
            // Nothing is present in an optional without a value.
            if mode == FieldMode::Test
                && let Some(top @ Value::Optional(None)) = self.stack.last_mut()
            {
                *top = Value::Bool(false);
            }
            return Ok(());
        };
        let Some(name) = code.names.get(name as usize) else { return Ok(()) };
        let reader = self.session.reader();
        let found = match self.stack.last() {
            Some(Value::Map(Map::Typed(entries, decl))) if !matches!(decl.kind, DeclKind::Map(_)) => {
                let value = name.unescaped.as_deref().and_then(|name| reader.property(entries, decl, name));
                value.map_or(Found::Missing(ErrorClass::NoSuchKey), Found::Value)
            }
            Some(Value::Map(map)) => {
                let value = map.get_text(&name.name, reader);
                value.map_or(Found::Missing(ErrorClass::NoSuchKey), Found::Value)
            }
            Some(Value::Variables) => match self.session.known_variable(&name.name) {
                Some(value) => Found::Value(value),
                None => Found::Missing(ErrorClass::NoSuchKey),
            },
            Some(Value::Unknown) => Found::Value(Value::Unknown),
            Some(Value::List(_)) => Found::Failed(ErrorClass::NoSuchOverload),
            _ => Self::no_fields(),
        };
        let presence = mode != FieldMode::Value || state == ChainState::Optional;
        self.qualify(found, mode, presence, span)
    }

    /// A value that has no fields: only the specification makes asking for one an error.
    fn no_fields() -> Found<'a> {
        Found::Missing(ErrorClass::NoSuchOverload)
    }

    pub(super) fn index(&mut self, index: &Value<'a>, optional: bool, span: Span) -> Result<(), ErrorClass> {
        let Some(state) = self.state() else { return Ok(()) };
        let found = self.at(index);
        let mode = if optional { FieldMode::Optional } else { FieldMode::Value };
        self.qualify(found, mode, optional || state == ChainState::Optional, span)
    }

    fn at(&self, index: &Value<'a>) -> Found<'a> {
        let reader = self.session.reader();
        match (self.stack.last(), index) {
            (_, Value::Error(class, _)) => Found::Failed(*class),
            (_, Value::Unknown) | (Some(Value::Unknown), _) => Found::Value(Value::Unknown),
            (Some(Value::Map(map)), key) => {
                let usable = matches!(
                    key,
                    Value::Bool(_) | Value::Int(_) | Value::Uint(_) | Value::Double(_) | Value::String(_)
                );
                if !usable {
                    return Found::Failed(ErrorClass::NoSuchOverload);
                }
                match map.get(key, reader) {
                    Ok(Some(value)) => Found::Value(value),
                    Ok(None) => Found::Missing(ErrorClass::NoSuchKey),
                    Err(class) => Found::Failed(class),
                }
            }
            (Some(Value::List(list)), index) => {
                let Some(at) = list_index(index) else { return Found::Failed(ErrorClass::NoSuchOverload) };
                let value = usize::try_from(at).ok().and_then(|at| list.get(at, reader));
                match value {
                    None => Found::Missing(ErrorClass::IndexOutOfBounds),
                    // Elements of lists with a schema have integers as indexes only.
                    Some(_) if list.decl().is_some() && !matches!(index, Value::Int(_)) => {
                        Found::Failed(ErrorClass::NoSuchOverload)
                    }
                    Some(value) => Found::Value(value),
                }
            }
            _ => Self::no_fields(),
        }
    }

    /// What was found takes the place of what was looked into.
    fn qualify(&mut self, found: Found<'a>, mode: FieldMode, presence: bool, span: Span) -> Result<(), ErrorClass> {
        let by_specification = self.by_specification;
        let Some(top) = self.stack.last_mut() else { return Ok(()) };
        let test = mode == FieldMode::Test;
        // What is not there costs nothing where that is no error.
        let (value, next, charged) = match found {
            Found::Value(Value::Error(class, place)) => {
                (super::located(Value::Error(class, place), span), Some(ChainState::Done), test || !presence)
            }
            Found::Value(_) if test => (Value::Bool(true), Some(ChainState::Done), true),
            Found::Value(Value::Unknown) => (Value::Unknown, Some(ChainState::Done), true),
            Found::Value(value) => (value, presence.then_some(ChainState::Optional), true),
            Found::Missing(ErrorClass::NoSuchOverload) if presence && by_specification => {
                (Value::Error(ErrorClass::NoSuchOverload, span), Some(ChainState::Done), test)
            }
            Found::Missing(_) if test => (Value::Bool(false), Some(ChainState::Done), true),
            Found::Missing(_) if presence => (Value::Optional(None), Some(ChainState::Done), false),
            Found::Missing(ErrorClass::NoSuchOverload) => {
                (Value::Error(ErrorClass::NoSuchKey, span), Some(ChainState::Done), true)
            }
            Found::Missing(class) | Found::Failed(class) => {
                (Value::Error(class, span), Some(ChainState::Done), test || !presence)
            }
        };
        *top = value;
        if let (Some(state), Some(next)) = (self.chains.last_mut(), next) {
            *state = next;
        }
        if charged { self.meter.charge(1) } else { Ok(()) }
    }
}

/// An index of any number type, if it is a whole number.
#[expect(clippy::cast_possible_truncation, reason = "whole numbers in range only")]
pub(super) fn list_index(index: &Value<'_>) -> Option<i64> {
    match index {
        Value::Int(number) => Some(*number),
        Value::Uint(number) => i64::try_from(*number).ok(),
        Value::Double(number) if number.fract() == 0.0 && number.abs() < 9.0e18 => Some(*number as i64),
        _ => None,
    }
}
