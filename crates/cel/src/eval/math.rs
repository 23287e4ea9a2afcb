//! The functions of `math`.

use super::Context;
use super::calls::{NO_OVERLOAD, Outcome};
use crate::error::ErrorClass;
use crate::functions::{BitOp, FloatClass, Op, Rounding};
use crate::value::Value;

impl<'a> Context<'_, 'a> {
    pub(super) fn math(&mut self, op: Op, arguments: &[Value<'a>]) -> Outcome<'a> {
        use Value as V;
        Ok(match (op, arguments) {
            (Op::MathMin | Op::MathMax, [V::List(list)]) => {
                let numbers: Vec<V<'a>> = list.iter(self.reader).collect();
                if numbers.is_empty() {
                    return Err(ErrorClass::InvalidArgument);
                }
                return self.extreme(op == Op::MathMax, &numbers);
            }
            (Op::MathMin | Op::MathMax, numbers) => return self.extreme(op == Op::MathMax, numbers),
            (Op::MathRound(rounding), [V::Double(number)]) => V::Double(match rounding {
                Rounding::Up => number.ceil(),
                Rounding::Down => number.floor(),
                Rounding::Nearest => number.round(),
                Rounding::TowardsZero => number.trunc(),
            }),
            (Op::MathIs(class), [V::Double(number)]) => V::Bool(match class {
                FloatClass::Infinite => number.is_infinite(),
                FloatClass::NotANumber => number.is_nan(),
                FloatClass::Finite => number.is_finite(),
            }),
            (Op::MathAbs, [V::Double(number)]) => V::Double(number.abs()),
            (Op::MathAbs, [V::Int(number)]) => V::Int(number.checked_abs().ok_or(ErrorClass::Overflow)?),
            (Op::MathAbs, [V::Uint(number)]) => V::Uint(*number),
            (Op::MathSign, [V::Double(number)]) => V::Double(sign(*number)),
            (Op::MathSign, [V::Int(number)]) => V::Int(number.signum()),
            (Op::MathSign, [V::Uint(number)]) => V::Uint((*number).min(1)),
            (Op::MathSqrt, [number]) => V::Double(as_double(number)?.sqrt()),
            (Op::MathBits(bits), arguments) => return bit_operation(bits, arguments),
            _ => return NO_OVERLOAD,
        })
    }

    fn extreme(&mut self, greatest: bool, numbers: &[Value<'a>]) -> Outcome<'a> {
        let mut best: Option<&Value<'a>> = None;
        for number in numbers {
            if !matches!(number, Value::Int(_) | Value::Uint(_) | Value::Double(_)) {
                return NO_OVERLOAD;
            }
            let better = match best {
                None => true,
                Some(best) => {
                    let order = self.comparison().order(number, best)?;
                    if greatest { order.is_gt() } else { order.is_lt() }
                }
            };
            if better {
                best = Some(number);
            }
        }
        best.cloned().ok_or(ErrorClass::NoSuchOverload)
    }
}

fn sign(number: f64) -> f64 {
    if number.is_nan() || number == 0.0 { number } else { number.signum() }
}

#[expect(clippy::cast_precision_loss, reason = "the root of an integer is a floating-point number")]
fn as_double(value: &Value<'_>) -> Result<f64, ErrorClass> {
    match value {
        Value::Double(number) => Ok(*number),
        Value::Int(number) => Ok(*number as f64),
        Value::Uint(number) => Ok(*number as f64),
        _ => Err(ErrorClass::NoSuchOverload),
    }
}

fn bit_operation<'a>(bits: BitOp, arguments: &[Value<'a>]) -> Outcome<'a> {
    use Value as V;
    // Shifting by more bits than there are gives zero, also for negative numbers.
    let distance = |by: i64| {
        u32::try_from(by).map_err(|_| if by < 0 { ErrorClass::InvalidArgument } else { ErrorClass::Overflow })
    };
    Ok(match (bits, arguments) {
        (BitOp::And, [V::Int(a), V::Int(b)]) => V::Int(a & b),
        (BitOp::And, [V::Uint(a), V::Uint(b)]) => V::Uint(a & b),
        (BitOp::Or, [V::Int(a), V::Int(b)]) => V::Int(a | b),
        (BitOp::Or, [V::Uint(a), V::Uint(b)]) => V::Uint(a | b),
        (BitOp::Xor, [V::Int(a), V::Int(b)]) => V::Int(a ^ b),
        (BitOp::Xor, [V::Uint(a), V::Uint(b)]) => V::Uint(a ^ b),
        (BitOp::Not, [V::Int(a)]) => V::Int(!a),
        (BitOp::Not, [V::Uint(a)]) => V::Uint(!a),
        (BitOp::ShiftLeft, [V::Int(a), V::Int(by)]) => match distance(*by) {
            Err(ErrorClass::Overflow) => V::Int(0),
            by => V::Int(a.checked_shl(by?).unwrap_or(0)),
        },
        (BitOp::ShiftLeft, [V::Uint(a), V::Int(by)]) => match distance(*by) {
            Err(ErrorClass::Overflow) => V::Uint(0),
            by => V::Uint(a.checked_shl(by?).unwrap_or(0)),
        },
        (BitOp::ShiftRight, [V::Int(a), V::Int(by)]) => match distance(*by) {
            Err(ErrorClass::Overflow) => V::Int(0),
            // Zeros come in from the left.
            by => V::Int(a.cast_unsigned().checked_shr(by?).unwrap_or(0).cast_signed()),
        },
        (BitOp::ShiftRight, [V::Uint(a), V::Int(by)]) => match distance(*by) {
            Err(ErrorClass::Overflow) => V::Uint(0),
            by => V::Uint(a.checked_shr(by?).unwrap_or(0)),
        },
        _ => return NO_OVERLOAD,
    })
}
