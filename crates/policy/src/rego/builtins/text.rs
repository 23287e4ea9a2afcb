//! Functions about texts whose results can be much longer than their arguments.

use regorus::Value;

use super::{Function, elements, text_fits, text_of, texts};

pub(super) const FUNCTIONS: &[(&str, usize, Function)] =
    &[("concat", 2, concat), ("replace", 3, replace), ("strings.replace_n", 2, replace_n)];

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
