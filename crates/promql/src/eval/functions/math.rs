//! Functions of one number.

/// The function of this name, if it maps numbers to numbers.
pub(super) fn function(name: &str) -> Option<fn(f64) -> f64> {
    Some(match name {
        "abs" => f64::abs,
        "acos" => f64::acos,
        "acosh" => f64::acosh,
        "asin" => f64::asin,
        "asinh" => f64::asinh,
        "atan" => f64::atan,
        "atanh" => f64::atanh,
        "ceil" => f64::ceil,
        "cos" => f64::cos,
        "cosh" => f64::cosh,
        "deg" => |value| value * 180.0 / std::f64::consts::PI,
        "exp" => f64::exp,
        "floor" => f64::floor,
        "ln" => f64::ln,
        "log10" => |value| log2(value) * (std::f64::consts::LN_2 / std::f64::consts::LN_10),
        "log2" => log2,
        "rad" => |value| value * std::f64::consts::PI / 180.0,
        "sgn" => |value| match value {
            value if value > 0.0 => 1.0,
            value if value < 0.0 => -1.0,
            value => value,
        },
        "sin" => f64::sin,
        "sinh" => f64::sinh,
        "sqrt" => f64::sqrt,
        "tan" => f64::tan,
        "tanh" => f64::tanh,
        _ => return None,
    })
}

/// The binary logarithm as Go computes it, whose last bits decide whether a logarithm is whole.
fn log2(value: f64) -> f64 {
    if !value.is_normal() || value < 0.0 {
        return value.log2();
    }
    // The value is a fraction of at least a half times a power of two.
    let bits = value.to_bits();
    let fraction = f64::from_bits((bits & !(0x7FF << 52)) | (0x3FE << 52));
    #[expect(clippy::cast_precision_loss, reason = "an exponent has eleven bits")]
    let exponent = (bits.wrapping_shr(52) & 0x7FF) as f64 - 1_022.0;
    #[expect(clippy::float_cmp, reason = "only a power of two has just this fraction")]
    if fraction == 0.5 {
        return exponent - 1.0;
    }
    fraction.ln() * (1.0 / std::f64::consts::LN_2) + exponent
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_of_two_have_whole_logarithms() {
        for (value, expected) in [(8.0, 3.0), (1.0, 0.0), (0.25, -2.0), (f64::INFINITY, f64::INFINITY)] {
            assert!((log2(value) - expected).abs() == 0.0 || value.is_infinite(), "{value}");
        }
        assert!(log2(-1.0).is_nan() && log2(0.0) == f64::NEG_INFINITY);
        // Not quite -1, as in Go.
        let tenth = function("log10").map(|log10| log10(0.1));
        assert!(tenth.is_some_and(|tenth| tenth > -1.0));
    }
}
