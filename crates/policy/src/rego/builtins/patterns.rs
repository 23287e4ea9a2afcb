//! Regular expressions in Go's dialect. Each is compiled once in a thread and used as often as it occurs.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use clearway_schema::GoPattern;
use regex::{Regex, RegexBuilder};
use regorus::Value;

use super::{Function, array, elements_fit, text_fits, text_of, texts};

pub(super) const FUNCTIONS: &[(&str, usize, Function)] = &[
    ("re_match", 2, is_match),
    ("regex.match", 2, is_match),
    ("regex.is_valid", 1, is_valid),
    ("regex.find_n", 3, find_n),
    ("regex.find_all_string_submatch_n", 3, find_groups),
    ("regex.replace", 3, replace),
    ("regex.split", 2, split),
    ("regex.template_match", 4, template_match),
];

/// The most patterns that are kept, and the size of a compiled one.
const KEPT: usize = 512;
const COMPILED_SIZE: usize = 4 << 20;

thread_local! {
    static PATTERNS: RefCell<BTreeMap<String, Option<Rc<Regex>>>> = const { RefCell::new(BTreeMap::new()) };
}

/// Forgets patterns when there are many of them: texts of objects may be patterns.
pub(super) fn trim_cache() {
    PATTERNS.with_borrow_mut(|patterns| {
        if patterns.len() > KEPT {
            patterns.clear();
        }
    });
}

fn compiled(pattern: &str) -> Option<Rc<Regex>> {
    PATTERNS.with_borrow_mut(|patterns| {
        if let Some(known) = patterns.get(pattern) {
            return known.clone();
        }
        let regex = GoPattern::translate_capturing(pattern).ok().and_then(|translated| {
            RegexBuilder::new(&translated.rust).size_limit(COMPILED_SIZE).build().ok().map(Rc::new)
        });
        if patterns.len() < KEPT.saturating_mul(2) {
            patterns.insert(pattern.to_owned(), regex.clone());
        }
        regex
    })
}

fn is_match(arguments: &[Value]) -> Option<Value> {
    let [pattern, text] = texts(arguments)?;
    Some(Value::from(compiled(pattern)?.is_match(text)))
}

fn is_valid(arguments: &[Value]) -> Option<Value> {
    let valid = text_of(arguments.first()?).is_some_and(|pattern| compiled(pattern).is_some());
    Some(Value::from(valid))
}

/// A limit of -1 is none.
fn limit(value: &Value) -> Option<usize> {
    let limit = value.as_i64().ok()?;
    Some(usize::try_from(limit).unwrap_or(usize::MAX))
}

fn find_n(arguments: &[Value]) -> Option<Value> {
    let [pattern, text, count] = arguments else { return None };
    let regex = compiled(text_of(pattern)?)?;
    let found: Vec<Value> =
        regex.find_iter(text_of(text)?).take(limit(count)?).map(|found| Value::from(found.as_str())).collect();
    elements_fit(found.len())?;
    Some(array(found))
}

fn find_groups(arguments: &[Value]) -> Option<Value> {
    let [pattern, text, count] = arguments else { return None };
    let regex = compiled(text_of(pattern)?)?;
    let groups = regex
        .captures_iter(text_of(text)?)
        .take(limit(count)?)
        .map(|found| array(found.iter().map(|group| Value::from(group.map_or("", |group| group.as_str())))));
    let found: Vec<Value> = groups.collect();
    elements_fit(found.len())?;
    Some(array(found))
}

fn replace(arguments: &[Value]) -> Option<Value> {
    let [text, pattern, new] = texts(arguments)?;
    let regex = compiled(pattern)?;
    text_fits(regex.find_iter(text).count().saturating_mul(new.len()).saturating_add(text.len()))?;
    Some(Value::from(regex.replace_all(text, new).into_owned()))
}

/// As in Go, where an empty match at either end of the text separates nothing.
fn split(arguments: &[Value]) -> Option<Value> {
    let [pattern, text] = texts(arguments)?;
    let regex = compiled(pattern)?;
    let mut parts = Vec::new();
    let (mut begin, mut end) = (0, None);
    for found in regex.find_iter(text) {
        if found.end() != 0 {
            parts.push(Value::from(text.get(begin..found.start())?));
        }
        (begin, end) = (found.end(), Some(found.start()));
    }
    if end != Some(text.len()) || text.is_empty() && !pattern.is_empty() {
        parts.push(Value::from(text.get(begin..)?));
    }
    elements_fit(parts.len())?;
    Some(array(parts))
}

/// Patterns between delimiters, and text as it is elsewhere: `urn:foo:{.*}`.
fn template_match(arguments: &[Value]) -> Option<Value> {
    let [template, text, open, close] = texts(arguments)?;
    let mut pattern = String::from("^");
    let mut rest = template;
    while let Some((before, behind)) = rest.split_once(open) {
        let (inner, behind) = behind.split_once(close)?;
        pattern.push_str(&regex::escape(before));
        pattern.push('(');
        pattern.push_str(inner);
        pattern.push(')');
        rest = behind;
    }
    pattern.push_str(&regex::escape(rest));
    pattern.push('$');
    Some(Value::from(compiled(&pattern)?.is_match(text)))
}
