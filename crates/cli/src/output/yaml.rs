//! YAML in which foreign text cannot drive a terminal or deceive its reader: such characters are YAML's own escapes, so that
//! the values stay what they are in a file or a pipe, too.

use anyhow::{Result, anyhow};
use clearway_bundle::{write_escaped_yaml, write_plain_yaml};
use serde::Serialize;

use super::bounded_text::{RESULT_BYTES, bounded};

/// A value as YAML.
pub(crate) fn to_yaml(data: &impl Serialize) -> Result<String> {
    within(RESULT_BYTES, data)
}

fn within(most: usize, data: &impl Serialize) -> Result<String> {
    let unwritable = |error| anyhow!("cannot be written as YAML: {error}");
    let mut is_complete = true;
    let plain = bounded(most, |out| {
        is_complete = write_plain_yaml(out, data).map_err(unwritable)?;
        Ok(())
    });
    if is_complete {
        return plain;
    }
    // What was written until then is not kept beside the second text.
    drop(plain);
    bounded(most, |out| write_escaped_yaml(out, data).map_err(unwritable))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clearway_core::terminal_text::is_unsafe;
    use serde_json::{Value, json};

    fn is_raw(letter: char) -> bool {
        !matches!(letter, '\n' | '\t') && is_unsafe(letter)
    }

    #[test]
    fn what_could_deceive_is_an_escape_and_the_values_stay() {
        let odd = "a\r\u{1b}[2J\u{7f}\u{85}\u{9b}31m\u{202e}\u{2028}\u{e0041}\"\\ {x}: - #\n\ty é";
        for value in [
            json!({"plain": ["a", 1, null, 2.5, true, "escaped0z", "yes"], "text": "a\nb\n"}),
            json!({odd: odd, "list": [odd, {odd: [odd]}, "escaped", "escapedx1z"], "z": "plain é"}),
            json!(odd),
        ] {
            let yaml = to_yaml(&value).unwrap();
            assert!(!yaml.contains(is_raw), "{yaml}");
            assert_eq!(serde_saphyr::from_str::<Value>(&yaml).unwrap(), value, "{yaml}");
        }
        assert!(to_yaml(&json!(["b\u{202e}"])).unwrap().contains("- \"b\\u202e\""));
    }
    #[test]
    fn every_place_of_a_text_is_escaped() {
        // Texts that are written as they are, in quotes and as lines, of one letter and of many.
        for text in [
            "\u{ad}",
            "a\u{ad}",
            "a: \u{ad}",
            "\"\u{ad}\\",
            "- \u{ad}",
            "a\n\u{ad}\n\n",
            " \u{ad}\t",
            "\u{ad}#'b'",
            "\u{2028}",
        ] {
            let long = format!("{} {text}", "word ".repeat(50));
            for text in [text, &long] {
                let value = json!({text: {"a": text, "b": [text, [text], {text: text}, "true", "1", "two\nlines"]}});
                let yaml = to_yaml(&value).unwrap();
                assert!(!yaml.contains(is_raw), "{yaml}");
                assert_eq!(serde_saphyr::from_str::<Value>(&yaml).unwrap(), value, "{yaml}");
            }
        }
    }

    #[test]
    fn escapes_count_for_the_bound() {
        // Each letter of two bytes is an escape of four.
        let value = json!(["\u{ad}".repeat(100)]);
        assert_eq!(within(1_000, &value).unwrap().len(), 405);
        let error = within(404, &value).unwrap_err().to_string();
        assert!(error.contains("more than 404 bytes"), "{error}");
    }
}
