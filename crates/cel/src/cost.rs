//! What calls cost, by the model of Kubernetes; what an expression may cost at most, and what an evaluation has used.

pub(crate) mod estimate;
pub(crate) mod limits;
pub(crate) mod meter;

use crate::error::ErrorClass;
use crate::eval::Context;
use crate::program::CallCost;
use crate::value::Value;
use crate::value::library::LibraryValue;

impl CallCost {
    /// How a function is charged. The overload is known if exactly one fits.
    pub(crate) fn of(function: &str, overload: Option<&str>) -> CallCost {
        if let Some(cost) = overload.and_then(of_extension) {
            return cost;
        }
        match function {
            "isSorted" | "sum" | "max" | "min" | "indexOf" | "lastIndexOf" => CallCost::Traversal,
            "url" | "lowerAscii" | "upperAscii" | "substring" | "trim" | "cidr" | "isIP" | "isCIDR" | "quantity"
            | "isQuantity" | "semver" | "isSemver" => CallCost::Tenth,
            "ip" if overload != Some("cidr_ip") => CallCost::Tenth,
            "replace" | "split" | "ip.isCanonical" => CallCost::Fifth,
            "join" => CallCost::FifthOfResult,
            "find" | "findAll" => CallCost::Regex,
            "containsIP" => CallCost::ContainsIp { parse: overload == Some("cidr_contains_ip_string") },
            "containsCIDR" => CallCost::ContainsCidr { parse: overload == Some("cidr_contains_cidr_string") },
            "validate" => CallCost::Validate,
            "_==_" => CallCost::Equality,
            "_!=_" => CallCost::TenthOfSmaller,
            _ => overload.map_or(CallCost::One, of_standard),
        }
    }

    /// The argument that must be a list, or a depth, for the cost to be known.
    pub(crate) fn list_argument(self) -> Option<usize> {
        match self {
            CallCost::SelfCompare { argument } => Some(argument.into()),
            CallCost::Flatten => Some(1),
            _ => None,
        }
    }

    /// What a call cost.
    pub(crate) fn charge<'a>(
        self,
        context: &mut Context<'_, 'a>,
        arguments: &[Value<'a>],
        result: &Value<'a>,
    ) -> Result<u64, ErrorClass> {
        let size = |at: usize| arguments.get(at).map_or(1, Value::size);
        // Optionals count as what they hold, in the functions of CEL itself.
        let inner = |at: usize| arguments.get(at).map_or(1, inner_size);
        Ok(match self {
            CallCost::One => 1,
            CallCost::Tenth => tenth(size(0)),
            CallCost::Fifth => fifth(size(0)),
            CallCost::FifthOfResult => fifth(result.size()),
            CallCost::Equality if matches!(arguments.first(), Some(Value::Library(_))) => 1,
            CallCost::TenthOfSmaller | CallCost::Equality => tenth(inner(0).min(inner(1))),
            CallCost::TenthOfBoth => tenth(inner(0).saturating_add(inner(1))),
            CallCost::Elements => inner(1),
            CallCost::Regex => tenth(size(0).saturating_add(1)).saturating_mul(size(1).div_ceil(4)),
            CallCost::Contains => tenth(size(0)).saturating_mul(tenth(size(1))),
            CallCost::Traversal => match arguments.first() {
                Some(value) => traversal(context, value, 0)?,
                None => 0,
            },
            CallCost::ContainsIp { parse } => {
                tenth(size(0).saturating_mul(2)).saturating_add(if parse { tenth(size(1)) } else { 0 })
            }
            CallCost::ContainsCidr { parse } => tenth(size(0).saturating_mul(2))
                .saturating_add(tenth(size(0)))
                .saturating_add(1)
                .saturating_add(if parse { tenth(size(1)) } else { 0 }),
            CallCost::Validate => match arguments {
                [Value::Library(LibraryValue::Format(format)), text] => {
                    tenth(text.size().saturating_add(1)).saturating_mul(format.regex_size.div_ceil(4))
                }
                _ => 1,
            },
            CallCost::ListResult => result.size().saturating_add(11),
            CallCost::Flatten => {
                let depth = match arguments.get(1) {
                    Some(Value::Int(depth)) => u64::try_from(*depth).unwrap_or(0),
                    _ => 1,
                };
                size(0).saturating_mul(depth).saturating_add(11)
            }
            CallCost::SelfCompare { argument } => self_compare(context, arguments.get(usize::from(argument))),
            CallCost::Sets { factor } => {
                size(0).saturating_mul(size(1)).saturating_mul(u64::from(factor)).saturating_add(1)
            }
        })
    }
}

fn of_extension(overload: &str) -> Option<CallCost> {
    Some(match overload {
        "list_slice" | "lists_range" | "list_reverse" => CallCost::ListResult,
        "list_flatten" | "list_flatten_int" => CallCost::Flatten,
        "list_distinct" => CallCost::SelfCompare { argument: 0 },
        "list_sets_contains_list" | "list_sets_intersects_list" => CallCost::Sets { factor: 1 },
        "list_sets_equivalent_list" => CallCost::Sets { factor: 2 },
        _ if overload.ends_with("_sort") => CallCost::SelfCompare { argument: 0 },
        _ if overload.ends_with("_sortByAssociatedKeys") => CallCost::SelfCompare { argument: 1 },
        _ => return None,
    })
}

fn of_standard(overload: &str) -> CallCost {
    match overload {
        "starts_with_string" | "ends_with_string" | "string_to_bytes" | "bytes_to_string" | "strings_quote"
        | "string_format" => CallCost::Tenth,
        "in_list" => CallCost::Elements,
        "less_string"
        | "greater_string"
        | "less_equals_string"
        | "greater_equals_string"
        | "less_bytes"
        | "greater_bytes"
        | "less_equals_bytes"
        | "greater_equals_bytes" => CallCost::TenthOfSmaller,
        "add_string" | "add_bytes" => CallCost::TenthOfBoth,
        "matches_string" => CallCost::Regex,
        "contains_string" => CallCost::Contains,
        _ => CallCost::One,
    }
}

fn tenth(size: u64) -> u64 {
    size.div_ceil(10)
}

fn fifth(size: u64) -> u64 {
    size.div_ceil(5)
}

fn inner_size(value: &Value<'_>) -> u64 {
    match value {
        Value::Optional(Some(value)) => inner_size(value),
        value => value.size(),
    }
}

/// The cost of looking at everything in a value.
fn traversal<'a>(context: &mut Context<'_, 'a>, value: &Value<'a>, depth: usize) -> Result<u64, ErrorClass> {
    context.meter.work(1)?;
    if depth > 600 {
        return Err(ErrorClass::WorkLimit);
    }
    let below = depth.saturating_add(1);
    let part = |bytes: usize| u64::try_from(bytes / 10).unwrap_or(u64::MAX);
    Ok(match value {
        Value::String(text) => part(text.len()),
        Value::Bytes(bytes) => part(bytes.len()),
        Value::List(list) => {
            let mut cost = 0_u64;
            for element in list.iter(context.reader) {
                cost = cost.saturating_add(traversal(context, &element, below)?);
            }
            cost
        }
        Value::Map(map) => {
            let mut cost = 0_u64;
            for (key, value) in map.entries(context.reader) {
                cost = cost.saturating_add(traversal(context, &key, below)?);
                cost = cost.saturating_add(traversal(context, &value, below)?);
            }
            cost
        }
        _ => 1,
    })
}

#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "as in cel-go"
)]
fn self_compare<'a>(context: &mut Context<'_, 'a>, list: Option<&Value<'a>>) -> u64 {
    let Some(Value::List(list)) = list else { return 11 };
    let texts = matches!(list.get(0, context.reader), Some(Value::String(_) | Value::Bytes(_)));
    let size = u64::try_from(list.len()).unwrap_or(u64::MAX);
    let factor = if texts { 2.1 } else { 2.0 };
    let pairs = size.saturating_mul(size) as f64 * factor;
    (pairs as u64).saturating_add(11)
}
