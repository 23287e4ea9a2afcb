//! Functions about texts whose results can be much longer than their arguments, or that the engine takes from Rust where
//! OPA takes them from Go.

use regorus::Value;

use super::{Function, array, elements, elements_fit, text_fits, text_of, texts};

pub(super) const FUNCTIONS: &[(&str, usize, Function)] = &[
    ("concat", 2, concat),
    ("indexof", 2, index_of),
    ("indexof_n", 2, indexes_of),
    ("lower", 1, lower),
    ("replace", 3, replace),
    ("semver.compare", 2, compare_versions),
    ("semver.is_valid", 1, |arguments| Some(Value::from(text_of(arguments.first()?).and_then(version).is_some()))),
    ("strings.replace_n", 2, replace_n),
    ("trace", 1, |arguments| text_of(arguments.first()?).map(|_| Value::from(true))),
    ("upper", 1, upper),
];

/// The places of a text in another, in characters. An empty text is nowhere.
fn places<'t>(text: &'t str, wanted: &'t str) -> Option<impl Iterator<Item = usize> + 't> {
    let starts = text.char_indices().map(|(byte, _)| byte).enumerate();
    let found = move |(count, byte)| text.get(byte..)?.starts_with(wanted).then_some(count);
    (!wanted.is_empty()).then(|| starts.filter_map(found))
}

fn index_of(arguments: &[Value]) -> Option<Value> {
    let [text, wanted] = texts(arguments)?;
    let first = places(text, wanted)?.next();
    Some(first.map_or_else(|| Value::from(-1_i64), |place| Value::from(place as u64)))
}

fn indexes_of(arguments: &[Value]) -> Option<Value> {
    let [text, wanted] = texts(arguments)?;
    let found: Vec<Value> = places(text, wanted)?.map(|place| Value::from(place as u64)).collect();
    elements_fit(found.len())?;
    Some(array(found))
}

/// Go changes each character to one other; Rust knows characters that become several.
fn upper(arguments: &[Value]) -> Option<Value> {
    let changed = |char: char| {
        let mut upper = char.to_uppercase();
        if upper.len() == 1 { upper.next().unwrap_or(char) } else { char }
    };
    Some(Value::from(text_of(arguments.first()?)?.chars().map(changed).collect::<String>()))
}

fn lower(arguments: &[Value]) -> Option<Value> {
    let changed = |char: char| char.to_lowercase().next().unwrap_or(char);
    Some(Value::from(text_of(arguments.first()?)?.chars().map(changed).collect::<String>()))
}

/// A version as OPA reads it: a `v` in front and zeros in front of numbers are allowed, and build metadata does not count.
fn version(text: &str) -> Option<semver::Version> {
    let text = text.strip_prefix('v').unwrap_or(text);
    let (numbers, rest) = text.split_at_checked(text.find(['-', '+']).unwrap_or(text.len()))?;
    let plain = |number: &str| match number.trim_start_matches('0') {
        "" if !number.is_empty() => "0".to_owned(),
        number => number.to_owned(),
    };
    let numbers: Vec<String> = numbers.split('.').map(plain).collect();
    let mut version = semver::Version::parse(&format!("{}{rest}", numbers.join("."))).ok()?;
    version.build = semver::BuildMetadata::EMPTY;
    Some(version)
}

fn compare_versions(arguments: &[Value]) -> Option<Value> {
    let [first, second] = texts(arguments)?;
    Some(Value::from(version(first)?.cmp(&version(second)?) as i64))
}

fn concat(arguments: &[Value]) -> Option<Value> {
    let [delimiter, parts] = arguments else { return None };
    let delimiter = text_of(delimiter)?;
    let parts: Vec<&str> = elements(parts)?.into_iter().map(text_of).collect::<Option<_>>()?;
    let length: usize = parts.iter().map(|part| part.len().saturating_add(delimiter.len())).sum();
    text_fits(length)?;
    Some(Value::from(parts.join(delimiter)))
}

fn replace(arguments: &[Value]) -> Option<Value> {
    let [text, old, new] = texts(arguments)?;
    let found = if old.is_empty() { text.chars().count().saturating_add(1) } else { text.matches(old).count() };
    text_fits(text.len().saturating_add(found.saturating_mul(new.len())))?;
    Some(Value::from(text.replace(old, new)))
}

/// All replacements in one pass, the first pattern that fits at a place wins.
fn replace_n(arguments: &[Value]) -> Option<Value> {
    let [Value::Object(patterns), Value::String(text)] = arguments else { return None };
    let patterns: Vec<(&str, &str)> =
        patterns.iter_sorted().map(|(old, new)| Some((text_of(old)?, text_of(new)?))).collect::<Option<_>>()?;
    let mut out = String::new();
    let mut rest: &str = text;
    while !rest.is_empty() {
        let found = patterns.iter().find(|(old, _)| !old.is_empty() && rest.starts_with(old));
        match (found, rest.chars().next()) {
            (Some((old, new)), _) => {
                out.push_str(new);
                rest = rest.get(old.len()..).unwrap_or_default();
            }
            (None, Some(char)) => {
                out.push(char);
                rest = rest.get(char.len_utf8()..).unwrap_or_default();
            }
            (None, None) => break,
        }
        text_fits(out.len())?;
    }
    Some(Value::from(out))
}
