//! Addresses and their ranges. Names are not looked up.

use core::net::IpAddr;

use regorus::Value;

use super::{Function, array, elements, elements_fit, object, set, text_of, texts};

pub(super) const FUNCTIONS: &[(&str, usize, Function)] = &[
    ("net.cidr_contains", 2, contains),
    ("net.cidr_contains_matches", 2, contains_matches),
    ("net.cidr_expand", 1, expand),
    ("net.cidr_intersects", 2, intersects),
    ("net.cidr_is_valid", 1, |arguments| Some(Value::from(text_of(arguments.first()?).and_then(range).is_some()))),
    ("net.cidr_merge", 1, merge),
    ("net.cidr_overlap", 2, contains),
    ("uri.is_valid", 1, |arguments| {
        Some(Value::from(text_of(arguments.first()?).is_some_and(clearway_schema::is_request_uri)))
    }),
    ("uri.parse", 1, uri_parse),
];

/// Addresses with a common front, as numbers. Those of IPv4 and IPv6 are never in the same range.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Range {
    v6: bool,
    first: u128,
    last: u128,
}

fn number(address: IpAddr) -> (bool, u128) {
    match address {
        IpAddr::V4(address) => (false, u128::from(address.to_bits())),
        IpAddr::V6(address) => (true, address.to_bits()),
    }
}

fn range(text: &str) -> Option<Range> {
    let (address, length) = text.split_once('/')?;
    let (v6, address) = number(address.parse().ok()?);
    let bits: u32 = if v6 { 128 } else { 32 };
    if length.is_empty() || !length.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let host = bits.checked_sub(length.parse().ok()?)?;
    let mask = if host >= 128 { u128::MAX } else { (1_u128 << host).saturating_sub(1) };
    Some(Range { v6, first: address & !mask, last: address | mask })
}

/// A range, or an address as a range of one.
fn range_or_address(text: &str) -> Option<Range> {
    range(text).or_else(|| {
        let (v6, address) = number(text.parse().ok()?);
        Some(Range { v6, first: address, last: address })
    })
}

fn address_text(v6: bool, address: u128) -> String {
    if v6 {
        core::net::Ipv6Addr::from_bits(address).to_string()
    } else {
        core::net::Ipv4Addr::from_bits(u32::try_from(address).unwrap_or(u32::MAX)).to_string()
    }
}

impl Range {
    fn contains(self, other: Range) -> bool {
        self.v6 == other.v6 && self.first <= other.first && other.last <= self.last
    }
}

fn contains(arguments: &[Value]) -> Option<Value> {
    let [outer, inner] = texts(arguments)?;
    Some(Value::from(range(outer)?.contains(range_or_address(inner)?)))
}

fn intersects(arguments: &[Value]) -> Option<Value> {
    let [first, second] = texts(arguments)?;
    let (first, second) = (range(first)?, range(second)?);
    Some(Value::from(first.v6 == second.v6 && first.first <= second.last && second.first <= first.last))
}

/// Keys with the ranges of a text, an array, a set or an object.
fn keyed(value: &Value) -> Option<Vec<(Value, Range)>> {
    let text = |value: &Value| match value {
        Value::Array(array) => array.first().and_then(text_of).and_then(range_or_address),
        other => text_of(other).and_then(range_or_address),
    };
    match value {
        Value::String(_) => Some(vec![(value.clone(), text(value)?)]),
        Value::Array(values) => values
            .iter()
            .enumerate()
            .map(|(number, value)| Some((Value::from(u64::try_from(number).ok()?), text(value)?)))
            .collect(),
        Value::Set(values) => values.iter_sorted().map(|value| Some((value.clone(), text(value)?))).collect(),
        Value::Object(fields) => fields.iter_sorted().map(|(key, value)| Some((key.clone(), text(value)?))).collect(),
        _ => None,
    }
}

fn contains_matches(arguments: &[Value]) -> Option<Value> {
    let [outer, inner] = arguments else { return None };
    let (outer, inner) = (keyed(outer)?, keyed(inner)?);
    elements_fit(outer.len().saturating_mul(inner.len()))?;
    let mut found = Vec::new();
    for (outer_key, outer) in &outer {
        for (inner_key, inner) in &inner {
            if outer.contains(*inner) {
                found.push(array([outer_key.clone(), inner_key.clone()]));
            }
        }
    }
    Some(set(found))
}

fn expand(arguments: &[Value]) -> Option<Value> {
    let [text] = texts(arguments)?;
    let range = range(text)?;
    let count = range.last.saturating_sub(range.first).saturating_add(1);
    elements_fit(usize::try_from(count).unwrap_or(usize::MAX))?;
    Some(set((range.first..=range.last).map(|address| Value::from(address_text(range.v6, address)))))
}

/// The fewest ranges that have the same addresses.
fn merge(arguments: &[Value]) -> Option<Value> {
    let mut ranges: Vec<Range> = elements(arguments.first()?)?
        .into_iter()
        .map(|value| range_or_address(text_of(value)?))
        .collect::<Option<_>>()?;
    ranges.sort();
    let mut merged: Vec<Range> = Vec::new();
    for range in ranges {
        match merged.last_mut() {
            Some(last) if last.v6 == range.v6 && range.first <= last.last.saturating_add(1) => {
                last.last = last.last.max(range.last);
            }
            _ => merged.push(range),
        }
    }
    Some(set(merged.into_iter().flat_map(blocks).map(Value::from)))
}

/// Aligned ranges, as addresses with a length.
fn blocks(range: Range) -> Vec<String> {
    let bits: u32 = if range.v6 { 128 } else { 32 };
    let mut out = Vec::new();
    let mut first = range.first;
    loop {
        let mut host = first.trailing_zeros().min(bits);
        while host > 0 && first.saturating_add((1_u128.checked_shl(host).unwrap_or(0)).wrapping_sub(1)) > range.last {
            host = host.saturating_sub(1);
        }
        out.push(format!("{}/{}", address_text(range.v6, first), bits.saturating_sub(host)));
        let last = first.saturating_add(1_u128.checked_shl(host).unwrap_or(0).wrapping_sub(1));
        if last >= range.last {
            return out;
        }
        first = last.saturating_add(1);
    }
}

fn uri_parse(arguments: &[Value]) -> Option<Value> {
    let [text] = texts(arguments)?;
    let (rest, fragment) = text.split_once('#').map_or((text, None), |(rest, fragment)| (rest, Some(fragment)));
    let (rest, query) = rest.split_once('?').map_or((rest, None), |(rest, query)| (rest, Some(query)));
    let (scheme, rest) = match rest.split_once(':') {
        Some((scheme, rest))
            if !scheme.is_empty()
                && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte)) =>
        {
            (Some(scheme.to_ascii_lowercase()), rest)
        }
        _ => (None, rest),
    };
    let (authority, path) = match rest.strip_prefix("//") {
        Some(rest) => {
            let end = rest.find('/').unwrap_or(rest.len());
            (rest.get(..end), rest.get(end..).unwrap_or_default())
        }
        None => (None, rest),
    };
    let host_and_port = authority.map(|authority| authority.rsplit_once('@').map_or(authority, |(_, host)| host));
    let (host, port) = match host_and_port {
        Some(host) => match host.rsplit_once(':') {
            Some((name, port)) if !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit()) => {
                (Some(name), Some(port))
            }
            _ => (Some(host), None),
        },
        None => (None, None),
    };
    let mut fields = Vec::new();
    let mut add = |name, value: Option<&str>| {
        if let Some(value) = value.filter(|value| !value.is_empty()) {
            fields.push((name, Value::from(value)));
        }
    };
    add("scheme", scheme.as_deref());
    add("host", host_and_port);
    add("hostname", host.map(|host| host.trim_matches(['[', ']'])));
    add("port", port);
    add("path", Some(path));
    add("raw_path", Some(path));
    add("raw_query", query);
    add("fragment", fragment);
    Some(object(fields))
}
