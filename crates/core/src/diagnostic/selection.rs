//! Which findings of a linter are wanted: by code, with prefixes for families of codes.

use thiserror::Error;

use crate::suggestion::did_you_mean;

/// Codes about input that could not be read. They cannot be left out: without them an incomplete check would look clean.
const ABOUT_INPUT: &str = "IN";

/// Codes that are wanted and codes that are not. Of several entries that fit a code the longest counts, and of two equal
/// ones that which leaves it out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selection {
    select: Vec<String>,
    ignore: Vec<String>,
}

/// A code, or the beginning of codes, that no finding has.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("`{option} {code}`: no code begins with `{code}`{suggestion}")]
pub struct UnknownCode {
    option: &'static str,
    code: String,
    suggestion: String,
}

impl Selection {
    /// The selection of two lists of codes or beginnings of codes; every one of them has to fit a known code.
    pub fn new(select: &[String], ignore: &[String], known: &[&str]) -> Result<Self, UnknownCode> {
        Ok(Selection { select: checked("--select", select, known)?, ignore: checked("--ignore", ignore, known)? })
    }

    /// Whether findings of this code are wanted.
    pub fn includes(&self, code: &str) -> bool {
        if code.starts_with(ABOUT_INPUT) {
            return true;
        }
        let longest =
            |list: &[String]| list.iter().filter(|entry| code.starts_with(entry.as_str())).map(String::len).max();
        match (longest(&self.select), longest(&self.ignore)) {
            (selected, Some(ignored)) => selected.is_some_and(|selected| selected > ignored),
            (None, None) => self.select.is_empty(),
            (Some(_), None) => true,
        }
    }

    /// Whether every code is wanted.
    pub fn is_complete(&self) -> bool {
        self.select.is_empty() && self.ignore.is_empty()
    }
}

fn checked(option: &'static str, list: &[String], known: &[&str]) -> Result<Vec<String>, UnknownCode> {
    list.iter()
        .map(|code| {
            let upper = code.trim().to_ascii_uppercase();
            if !upper.is_empty() && known.iter().any(|one| one.starts_with(&upper)) {
                return Ok(upper);
            }
            let suggestion = did_you_mean(&upper, known.iter().copied());
            Err(UnknownCode { option, code: code.clone(), suggestion })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: [&str; 5] = ["GD001", "GD101", "GD102", "IN001", "SU001"];

    fn selection(select: &[&str], ignore: &[&str]) -> Selection {
        let owned = |list: &[&str]| list.iter().map(ToString::to_string).collect::<Vec<_>>();
        Selection::new(&owned(select), &owned(ignore), &KNOWN).unwrap()
    }

    #[test]
    fn the_longest_entry_decides() {
        for (select, ignore, wanted) in [
            (&[][..], &[][..], &["GD001", "GD101", "GD102", "IN001", "SU001"][..]),
            (&["GD1"], &[], &["GD101", "GD102", "IN001"]),
            (&["gd102"], &[], &["GD102", "IN001"]),
            (&[], &["GD1"], &["GD001", "IN001", "SU001"]),
            (&["GD102"], &["GD1"], &["GD102", "IN001"]),
            (&["GD"], &["GD102"], &["GD001", "GD101", "IN001"]),
            (&["GD102"], &["GD102"], &["IN001"]),
            (&[], &["IN"], &["GD001", "GD101", "GD102", "IN001", "SU001"]),
        ] {
            let selection = selection(select, ignore);
            let included: Vec<&str> = KNOWN.into_iter().filter(|code| selection.includes(code)).collect();
            assert_eq!(included, wanted, "{select:?} {ignore:?}");
        }
    }

    #[test]
    fn a_code_that_does_not_exist_is_refused_with_a_suggestion() {
        let error = Selection::new(&["GD12".to_owned()], &[], &KNOWN).unwrap_err();
        assert_eq!(error.to_string(), "`--select GD12`: no code begins with `GD12`; did you mean GD102?");
        for wrong in ["", " ", "XX"] {
            assert!(Selection::new(&[], &[wrong.to_owned()], &KNOWN).is_err(), "{wrong}");
        }
    }
}
