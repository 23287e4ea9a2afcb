//! Paths of fields in a schema, such as `spec.rules[].matches[].headers{}`.
//!
//! [`render_path`] writes them in findings, and [`FieldPath`] reads what it writes, so that the path of a finding can be
//! searched for in objects.

use std::fmt::Write as _;
use std::str::FromStr;

use clearway_schema::excerpt;
use serde_json::Value;

/// Steps of a path. The deepest field of a pod is 12 steps down.
const STEPS: usize = 64;
/// Bytes of its text.
const BYTES: usize = 1_000;

/// The path of a field: names with dots between them, `[]` for any element of a list, `{}` for any value of a map, and
/// `["a.b"]` for a name with other characters than letters, digits, `_`, `-` and `$`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldPath(Vec<Step>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Step {
    Field(String),
    Items,
    Values,
}

/// Why a text is not the path of a field, and the byte where it goes wrong.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{why}")]
pub struct FieldPathError {
    /// What is wrong.
    pub why: &'static str,
    /// Where in the text, in bytes.
    pub at: usize,
}

/// Whether an object has a value at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum FieldUse {
    /// It has none.
    Absent,
    /// It may have one: the way to the field leads through a value that `is_removed` names.
    Removed,
    /// It has one that is not null.
    Used,
}

impl FieldPath {
    /// Whether an object uses the field. `is_removed` says of a value whether it stands for one that was taken out, and
    /// `visit` is called for each value on the way; once it gives false, nothing else is looked at and there is no result.
    pub fn find(
        &self,
        object: &Value,
        is_removed: &dyn Fn(&Value) -> bool,
        visit: &mut dyn FnMut() -> bool,
    ) -> Option<FieldUse> {
        find(&self.0, object, is_removed, visit)
    }
}

/// Recursion is safe: a path has a limited number of steps.
fn find(
    steps: &[Step],
    value: &Value,
    is_removed: &dyn Fn(&Value) -> bool,
    visit: &mut dyn FnMut() -> bool,
) -> Option<FieldUse> {
    if !visit() {
        return None;
    }
    let Some((step, rest)) = steps.split_first() else {
        return Some(if value.is_null() { FieldUse::Absent } else { FieldUse::Used });
    };
    if is_removed(value) {
        return Some(FieldUse::Removed);
    }
    let mut found = FieldUse::Absent;
    let below: &mut dyn Iterator<Item = &Value> = match (step, value) {
        (Step::Field(name), Value::Object(fields)) => &mut fields.get(name).into_iter(),
        (Step::Items, Value::Array(items)) => &mut items.iter(),
        (Step::Values, Value::Object(fields)) => &mut fields.values(),
        _ => return Some(found),
    };
    for value in below {
        found = found.max(find(rest, value, is_removed, visit)?);
        if found == FieldUse::Used {
            break;
        }
    }
    Some(found)
}

impl FromStr for FieldPath {
    type Err = FieldPathError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = |why, rest: &str| FieldPathError { why, at: text.len().saturating_sub(rest.len()) };
        if text.len() > BYTES {
            return Err(wrong("the path is longer than 1,000 bytes", text));
        }
        let (mut steps, mut rest) = (Vec::new(), text);
        while !rest.is_empty() {
            if steps.len() == STEPS {
                return Err(wrong("the path has more than 64 steps", rest));
            }
            let (step, behind) = if let Some(behind) = rest.strip_prefix("[]") {
                (Step::Items, behind)
            } else if let Some(behind) = rest.strip_prefix("{}") {
                (Step::Values, behind)
            } else if let Some(quoted) = rest.strip_prefix('[') {
                let mut names = serde_json::Deserializer::from_str(quoted).into_iter::<String>();
                let name = names.next().and_then(Result::ok);
                let behind = quoted.get(names.byte_offset()..).and_then(|behind| behind.strip_prefix(']'));
                let why = "a name in brackets is written as `[\"name\"]`";
                name.zip(behind).map(|(name, behind)| (Step::Field(name), behind)).ok_or_else(|| wrong(why, rest))?
            } else {
                // A dot stands between names, and not at the start.
                let start = rest.strip_prefix('.').filter(|_| !steps.is_empty());
                let start =
                    start.or((steps.is_empty()).then_some(rest)).ok_or_else(|| wrong("a dot is missing", rest))?;
                let end = start.find(|char| !is_plain_character(char)).unwrap_or(start.len());
                let (name, behind) = start.split_at(end);
                if name.is_empty() {
                    return Err(wrong("a name is missing, or has a character that needs `[\"name\"]`", start));
                }
                (Step::Field(name.to_owned()), behind)
            };
            if steps.is_empty() && !matches!(step, Step::Field(_)) {
                return Err(wrong("the path does not start with the name of a field", rest));
            }
            steps.push(step);
            rest = behind;
        }
        if steps.is_empty() {
            return Err(wrong("the path is empty", text));
        }
        Ok(FieldPath(steps))
    }
}

/// One step down in a schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Segment<'a> {
    /// A named field.
    Field(&'a str),
    /// Any element of a list.
    Items,
    /// Any value of a map.
    Values,
}

/// The text of a path. Long names are cut, so that the text stays short whatever the schema says.
pub(crate) fn render_path(segments: &[Segment<'_>]) -> String {
    let mut out = String::new();
    for segment in segments {
        match segment {
            Segment::Items => out.push_str("[]"),
            Segment::Values => out.push_str("{}"),
            Segment::Field(name) if is_plain(name) => {
                if !out.is_empty() {
                    out.push('.');
                }
                out.push_str(name);
            }
            Segment::Field(name) => _ = write!(out, "[{:?}]", excerpt(name)),
        }
    }
    out
}

fn is_plain(name: &str) -> bool {
    !name.is_empty() && name.len() <= 80 && name.chars().all(is_plain_character)
}

fn is_plain_character(char: char) -> bool {
    char.is_ascii_alphanumeric() || matches!(char, '_' | '-' | '$')
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn paths_are_short_and_unambiguous() {
        let path = [Segment::Field("spec"), Segment::Field("rules"), Segment::Items, Segment::Field("type")];
        assert_eq!(render_path(&path), "spec.rules[].type");
        let path = [Segment::Field("data"), Segment::Field("a.b"), Segment::Values];
        assert_eq!(render_path(&path), r#"data["a.b"]{}"#);
        let long = "x".repeat(5_000);
        assert!(render_path(&[Segment::Field(&long)]).len() < 100);
    }

    #[test]
    fn the_path_of_a_finding_is_read_again() {
        let field = Segment::Field;
        for segments in [
            vec![field("spec")],
            vec![field("spec"), field("rules"), Segment::Items, field("filters"), Segment::Items, field("type")],
            vec![field("metadata"), field("labels"), field("a.b/\"c\""), Segment::Values, Segment::Items],
        ] {
            let own = |segment: &Segment<'_>| match segment {
                Segment::Field(name) => Step::Field((*name).to_owned()),
                Segment::Items => Step::Items,
                Segment::Values => Step::Values,
            };
            let want = FieldPath(segments.iter().map(own).collect());
            assert_eq!(render_path(&segments).parse(), Ok(want), "{segments:?}");
        }
    }

    #[test]
    fn a_text_that_is_no_path_is_refused_where_it_goes_wrong() {
        let (long, deep) = ("x".repeat(1_001), format!("a{}", "[]".repeat(64)));
        for (text, at) in [
            ("", 0),
            (".spec", 0),
            ("[].a", 0),
            ("spec..a", 5),
            ("spec.", 5),
            ("spec.a b", 6),
            ("spec[]a", 6),
            ("spec[0]", 4),
            ("spec[\"a\"", 4),
            ("spec[?(@.a)]", 4),
            ("spec.*", 5),
            (&long, 0),
            (&deep, 127),
        ] {
            assert_eq!(text.parse::<FieldPath>().map_err(|error| error.at), Err(at), "{text}");
        }
    }

    #[test]
    fn a_field_is_used_if_it_is_there_and_not_null() {
        let object = json!({
            "spec": {"rules": [{"a": null}, {"a": {"b": []}}, "x"], "data": "(removed)", "map": {"x.y": {"c": 0}}},
        });
        let is_removed = |value: &Value| value == "(removed)";
        for (path, want) in [
            ("spec", FieldUse::Used),
            ("spec.rules[].a", FieldUse::Used),
            ("spec.rules[].a.b", FieldUse::Used),
            ("spec.rules[].a.b[]", FieldUse::Absent),
            ("spec.rules.a", FieldUse::Absent),
            ("spec.rules[][]", FieldUse::Absent),
            ("spec.none", FieldUse::Absent),
            ("spec.data", FieldUse::Used),
            ("spec.data.a", FieldUse::Removed),
            ("spec.map{}.c", FieldUse::Used),
            ("spec.map[\"x.y\"].c", FieldUse::Used),
            ("spec.map{}.d", FieldUse::Absent),
        ] {
            let path_read: FieldPath = path.parse().unwrap();
            assert_eq!(path_read.find(&object, &is_removed, &mut || true), Some(want), "{path}");
        }
        let path: FieldPath = "spec.rules[].c".parse().unwrap();
        let mut left = 4;
        let mut visit = || {
            left -= 1;
            left >= 0
        };
        assert_eq!(path.find(&object, &is_removed, &mut visit), None, "the work is bounded by the caller");
    }
}
