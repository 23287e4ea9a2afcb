//! Functions of optionals and of Kubernetes' own types.

use std::sync::Arc;

use super::Context;
use super::calls::{NO_OVERLOAD, Outcome};
use crate::error::ErrorClass;
use crate::functions::{Op, SemverPart, UrlPart};
use crate::value::library::{
    LibraryValue, NamedFormat, Network, Quantity, Url, Version, is_class, parse_address, parse_any_address,
    show_address,
};
use crate::value::{Key, Map, OwnedMap, Value};

impl<'a> Context<'_, 'a> {
    pub(super) fn optional(&mut self, op: Op, arguments: &[Value<'a>]) -> Outcome<'a> {
        use Value as V;
        Ok(match (op, arguments) {
            (Op::OptionalNone, []) => V::Optional(None),
            (Op::OptionalOf, [value]) => V::some(value.clone()),
            (Op::OptionalOfNonZero, [value]) => {
                if is_zero(value) {
                    V::Optional(None)
                } else {
                    V::some(value.clone())
                }
            }
            (Op::OptionalHasValue, [V::Optional(value)]) => V::Bool(value.is_some()),
            (Op::OptionalValue, [V::Optional(value)]) => (**value.as_ref().ok_or(ErrorClass::NoValue)?).clone(),
            (Op::First | Op::Last, [V::List(list)]) => {
                let at = if op == Op::First { Some(0) } else { list.len().checked_sub(1) };
                at.and_then(|at| list.get(at, self.reader)).map_or(V::Optional(None), V::some)
            }
            (Op::Unwrap, [V::List(list)]) => {
                self.meter.elements(list.len())?;
                let mut values = Vec::new();
                for element in list.iter(self.reader) {
                    match element {
                        V::Optional(Some(value)) => values.push((*value).clone()),
                        V::Optional(None) => {}
                        _ => return NO_OVERLOAD,
                    }
                }
                V::list(values)
            }
            _ => return NO_OVERLOAD,
        })
    }

    pub(super) fn library(&mut self, op: Op, arguments: &[Value<'a>]) -> Outcome<'a> {
        use LibraryValue as L;
        use Value as V;
        let invalid = ErrorClass::InvalidArgument;
        if let [V::String(text), ..] = arguments {
            self.meter.work(text.len() / 4)?;
            // URLs and versions keep their parts, and some of them twice.
            self.meter.memory(text.len().saturating_mul(2))?;
        }
        Ok(match (op, arguments) {
            (Op::Url, [V::String(text)]) => V::Library(L::Url(Arc::new(Url::parse(text).ok_or(invalid)?))),
            (Op::IsUrl, [V::String(text)]) => V::Bool(clearway_schema::is_request_uri(text)),
            (Op::UrlPart(part), [V::Library(L::Url(url))]) => self.url_part(url, part)?,
            (Op::Quantity, [V::String(text)]) => quantity(Quantity::parse(text).ok_or(invalid)?, false),
            (Op::IsQuantity, [V::String(text)]) => V::Bool(Quantity::parse(text).is_some()),
            (Op::Sign, [V::Library(L::Quantity(number, _))]) => V::Int(number.sign()),
            (Op::AsApproximateFloat, [V::Library(L::Quantity(number, _))]) => V::Double(number.approximate()),
            (Op::AsInteger, [V::Library(L::Quantity(number, _))]) => {
                V::Int(number.integer().ok_or(ErrorClass::Conversion)?)
            }
            (Op::IsInteger, [V::Library(L::Quantity(number, _))]) => V::Bool(number.integer().is_some()),
            (Op::QuantityAdd | Op::QuantitySub, [V::Library(L::Quantity(one, _)), other]) => {
                let whole;
                let two = match other {
                    V::Library(L::Quantity(two, _)) => two,
                    V::Int(value) => {
                        whole = Arc::new(Quantity::Small { value: *value, scale: 0 });
                        &whole
                    }
                    _ => return NO_OVERLOAD,
                };
                let result = if op == Op::QuantityAdd { one.plus(two) } else { one.minus(two) };
                quantity(result.ok_or(ErrorClass::Overflow)?, true)
            }
            (Op::IsGreaterThan | Op::IsLessThan | Op::CompareTo, [V::Library(one), V::Library(two)]) => {
                let order = match (one, two) {
                    (L::Quantity(one, _), L::Quantity(two, _)) => one.compare(two),
                    (L::Semver(one), L::Semver(two)) => one.compare(two),
                    _ => return NO_OVERLOAD,
                };
                match op {
                    Op::IsGreaterThan => V::Bool(order.is_gt()),
                    Op::IsLessThan => V::Bool(order.is_lt()),
                    _ => V::Int(order as i64),
                }
            }
            (Op::Semver, arguments) => V::Library(L::Semver(Arc::new(version(arguments)?.ok_or(invalid)?))),
            (Op::IsSemver, arguments) => V::Bool(version(arguments)?.is_some()),
            (Op::SemverPart(part), [V::Library(L::Semver(version))]) => {
                let number = match part {
                    SemverPart::Major => version.major,
                    SemverPart::Minor => version.minor,
                    SemverPart::Patch => version.patch,
                };
                // Numbers beyond 63 bits are negative in the API server too.
                V::Int(number.cast_signed())
            }
            (Op::FormatNamed, [V::String(name)]) => {
                NamedFormat::find(name).map_or(V::Optional(None), |format| V::some(V::Library(L::Format(format))))
            }
            (Op::FormatConstant(name), []) => V::Library(L::Format(NamedFormat::find(name).ok_or(invalid)?)),
            (Op::FormatValidate, [V::Library(L::Format(format)), V::String(text)]) => {
                self.meter.work(text.len())?;
                let wrong: Vec<V<'a>> = format.check(text).into_iter().map(V::text).collect();
                if wrong.is_empty() { V::Optional(None) } else { V::some(V::list(wrong)) }
            }
            (Op::Ip, [V::String(text)]) if self.by_specification => {
                V::Library(L::Ip(parse_any_address(text).ok_or(invalid)?))
            }
            (op, arguments) => return addresses(op, arguments),
        })
    }

    fn url_part(&mut self, url: &Url, part: UrlPart) -> Outcome<'a> {
        self.meter.memory(url.bytes())?;
        Ok(match part {
            UrlPart::Scheme => Value::text(url.scheme.as_str()),
            UrlPart::Host => Value::text(url.host()),
            UrlPart::Hostname => Value::text(url.host_name()),
            UrlPart::Port => Value::text(url.port()),
            UrlPart::EscapedPath => Value::text(url.escaped_path()),
            UrlPart::Query => {
                // Each parameter is a value, and may be an entry with a name and a list.
                self.meter.elements(url.parameters().saturating_mul(4))?;
                let mut map = OwnedMap::default();
                for (name, values) in url.query() {
                    let name = Value::text(name);
                    let values = Value::list(values.into_iter().map(Value::text).collect());
                    map.insert(Key::of(&name).ok_or(ErrorClass::InvalidKey)?, name, values);
                }
                Value::Map(Map::Owned(Arc::new(map)))
            }
        })
    }
}

fn quantity<'a>(number: Quantity, calculated: bool) -> Value<'a> {
    Value::Library(LibraryValue::Quantity(Arc::new(number), calculated))
}

fn version(arguments: &[Value<'_>]) -> Result<Option<Version>, ErrorClass> {
    match arguments {
        [Value::String(text)] | [Value::String(text), Value::Bool(false)] => Ok(Version::parse(text)),
        [Value::String(text), Value::Bool(true)] => Ok(Version::parse_lenient(text)),
        _ => Err(ErrorClass::NoSuchOverload),
    }
}

fn addresses<'a>(op: Op, arguments: &[Value<'a>]) -> Outcome<'a> {
    use LibraryValue as L;
    use Value as V;
    let invalid = ErrorClass::InvalidArgument;
    Ok(match (op, arguments) {
        (Op::Ip, [V::String(text)]) => V::Library(L::Ip(parse_address(text).ok_or(invalid)?)),
        (Op::IsIp, [V::String(text)]) => V::Bool(parse_address(text).is_some()),
        (Op::IpIsCanonical, [V::String(text)]) => V::Bool(show_address(parse_address(text).ok_or(invalid)?) == **text),
        (Op::IpFamily, [V::Library(L::Ip(address))]) => V::Int(if address.is_ipv4() { 4 } else { 6 }),
        (Op::IpIs(class), [V::Library(L::Ip(address))]) => V::Bool(is_class(*address, class)),
        (Op::Cidr, [V::String(text)]) => V::Library(L::Cidr(Network::parse(text).ok_or(invalid)?)),
        (Op::IsCidr, [V::String(text)]) => V::Bool(Network::parse(text).is_some()),
        (Op::ContainsIp, [V::Library(L::Cidr(network)), V::Library(L::Ip(address))]) => {
            V::Bool(network.contains(*address))
        }
        (Op::ContainsIp, [V::Library(L::Cidr(network)), V::String(text)]) => {
            // The API server says so of a text that is no address.
            V::Bool(network.contains(parse_address(text).ok_or(ErrorClass::NoSuchOverload)?))
        }
        (Op::ContainsCidr, [V::Library(L::Cidr(network)), V::Library(L::Cidr(other))]) => {
            V::Bool(network.contains_network(other))
        }
        (Op::ContainsCidr, [V::Library(L::Cidr(network)), V::String(text)]) => {
            V::Bool(network.contains_network(&Network::parse(text).ok_or(invalid)?))
        }
        (Op::CidrIp, [V::Library(L::Cidr(network))]) => V::Library(L::Ip(network.address)),
        (Op::Masked, [V::Library(L::Cidr(network))]) => V::Library(L::Cidr(network.masked())),
        (Op::PrefixLength, [V::Library(L::Cidr(network))]) => V::Int(network.bits.into()),
        _ => return NO_OVERLOAD,
    })
}

/// Whether a value is the one that its type starts with.
fn is_zero(value: &Value<'_>) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(value) => !value,
        Value::Int(number) => *number == 0,
        Value::Uint(number) => *number == 0,
        Value::Double(number) => *number == 0.0,
        Value::String(text) => text.is_empty(),
        Value::Bytes(bytes) => bytes.is_empty(),
        Value::Duration(nanoseconds) => *nanoseconds == 0,
        Value::Timestamp(time) => time.instant() == (-62_135_596_800, 0),
        Value::List(list) => list.len() == 0,
        Value::Map(map) => map.len() == 0,
        Value::Optional(value) => value.is_none(),
        _ => false,
    }
}
