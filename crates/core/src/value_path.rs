//! The way to a value within a document, for messages.

use std::fmt;

/// The steps from the root of a document to a value, such as `spec.containers[0].image`: a list from the last step to the
/// first, which a walk extends without copying.
///
/// As a text for every value on the way it would take the length of all keys above as often as there are values. It is
/// written where something is found, and then cut to what a person can read.
#[derive(Debug, Clone, Copy)]
pub enum ValuePath<'p> {
    /// The document itself.
    Root,
    /// A field of an object.
    Field(&'p ValuePath<'p>, &'p str),
    /// An element of a list.
    Item(&'p ValuePath<'p>, usize),
    /// Any element of a list.
    AnyItem(&'p ValuePath<'p>),
}

impl ValuePath<'_> {
    /// Steps that are written; of more, the last ones.
    const STEPS: usize = 64;
    /// Letters of a key that are written.
    const LETTERS: usize = 100;
}

impl fmt::Display for ValuePath<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (mut steps, mut at) = (Vec::new(), self);
        while steps.len() < Self::STEPS {
            let above = match at {
                ValuePath::Root => break,
                ValuePath::Field(above, _) | ValuePath::Item(above, _) | ValuePath::AnyItem(above) => above,
            };
            steps.push(at);
            at = above;
        }
        let mut dot = "";
        if !matches!(at, ValuePath::Root) {
            f.write_str("…")?;
            dot = ".";
        }
        for step in steps.iter().rev() {
            match step {
                ValuePath::Root => {}
                ValuePath::Item(_, number) => write!(f, "[{number}]")?,
                ValuePath::AnyItem(_) => f.write_str("[]")?,
                ValuePath::Field(_, key) => match key.char_indices().nth(Self::LETTERS) {
                    None => write!(f, "{dot}{key}")?,
                    Some((end, _)) => write!(f, "{dot}{}…", key.get(..end).unwrap_or_default())?,
                },
            }
            dot = ".";
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_written_as_people_write_it() {
        let root = ValuePath::Root;
        let (spec, list) = (ValuePath::Field(&root, "spec"), ValuePath::Item(&root, 0));
        let items = ValuePath::Field(&spec, "items");
        for (path, want) in [
            (root, ""),
            (spec, "spec"),
            (ValuePath::Item(&items, 3), "spec.items[3]"),
            (ValuePath::Field(&ValuePath::AnyItem(&items), "name"), "spec.items[].name"),
            (ValuePath::Field(&list, "a"), "[0].a"),
        ] {
            assert_eq!(path.to_string(), want);
        }
    }

    #[test]
    fn a_path_is_short_however_many_steps_it_has_and_however_long_they_are() {
        fn below(path: &ValuePath<'_>, key: &str, levels: usize) -> String {
            if levels == 0 { path.to_string() } else { below(&ValuePath::Field(path, key), key, levels - 1) }
        }
        assert_eq!(below(&ValuePath::Root, "a", ValuePath::STEPS), format!("a{}", ".a".repeat(ValuePath::STEPS - 1)));
        assert_eq!(below(&ValuePath::Root, "a", ValuePath::STEPS + 1), format!("…{}", ".a".repeat(ValuePath::STEPS)));
        let (long, shown) = ("é".repeat(1 << 20), "é".repeat(ValuePath::LETTERS));
        assert_eq!(below(&ValuePath::Root, &long, 2), format!("{shown}….{shown}…"));
    }
}
