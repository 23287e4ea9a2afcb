//! What somebody may have meant by a misspelt word.

use strsim::damerau_levenshtein;

/// The longest word that is compared: names of people's things are short, and the comparison takes quadratic time.
const LONGEST: usize = 100;

/// The known word that is closest to a misspelt one, if it is close: at most a third of its letters differ.
pub fn closest<'k>(word: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    if word.len() > LONGEST {
        return None;
    }
    let written = word.to_lowercase();
    known
        .into_iter()
        .filter(|candidate| candidate.len() <= LONGEST && *candidate != word)
        .map(|candidate| (damerau_levenshtein(&written, &candidate.to_lowercase()), candidate))
        .filter(|(distance, candidate)| {
            *distance <= (candidate.chars().count().max(written.chars().count()) / 3).clamp(1, 4)
        })
        .min()
        .map(|(_, candidate)| candidate)
}

/// The end of a sentence that names the closest word, such as `; did you mean stable-1.5?`, or nothing.
pub fn did_you_mean<'k>(word: &str, known: impl IntoIterator<Item = &'k str>) -> String {
    closest(word, known).map(|candidate| format!("; did you mean {candidate}?")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_closest_word_is_suggested_if_it_is_close() {
        let channels = ["candidate-1.5", "fast-1.5", "stable-1.4", "stable-1.5"];
        for (written, meant) in [
            ("stabel-1.5", Some("stable-1.5")),
            ("Stable-1.5", Some("stable-1.5")),
            ("stable-1.6", Some("stable-1.4")),
            ("fst-1.5", Some("fast-1.5")),
            ("nightly", None),
            ("", None),
        ] {
            assert_eq!(closest(written, channels), meant, "{written}");
        }
        assert_eq!(did_you_mean("stabel-1.5", channels), "; did you mean stable-1.5?");
        assert_eq!(did_you_mean("nightly", channels), "");
        assert_eq!(closest(&"x".repeat(1_000_000), channels), None);
    }
}
