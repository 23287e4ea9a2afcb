//! Paths of fields in a schema, such as `spec.rules[].matches[].headers{}`.

use std::fmt::Write as _;

use clearway_schema::excerpt;

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
    let plain = |char: char| char.is_ascii_alphanumeric() || matches!(char, '_' | '-' | '$');
    !name.is_empty() && name.len() <= 80 && name.chars().all(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_short_and_unambiguous() {
        let path = [Segment::Field("spec"), Segment::Field("rules"), Segment::Items, Segment::Field("type")];
        assert_eq!(render_path(&path), "spec.rules[].type");
        let path = [Segment::Field("data"), Segment::Field("a.b"), Segment::Values];
        assert_eq!(render_path(&path), r#"data["a.b"]{}"#);
        let long = "x".repeat(5_000);
        assert!(render_path(&[Segment::Field(&long)]).len() < 100);
    }
}
