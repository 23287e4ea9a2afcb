//! The processor architecture a release is built for.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// An architecture by its Go name (`amd64`, `arm64`, …), or `multi` for a release of several.
///
/// The set is open: new architectures appear, and a graph that names one is not wrong.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Arch(String);

/// Why a text does not name an architecture.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not an architecture: {why}")]
pub struct ArchError {
    text: String,
    why: String,
}

/// Names of other tools, and the one that graphs, images and Kubernetes have.
const OTHER_NAMES: [(&str, &str); 9] = [
    ("x86_64", "amd64"),
    ("x86-64", "amd64"),
    ("x64", "amd64"),
    ("aarch64", "arm64"),
    ("armv8", "arm64"),
    ("i386", "386"),
    ("i686", "386"),
    ("powerpc64le", "ppc64le"),
    ("all", Arch::MULTI),
];

impl Arch {
    /// A release that holds several architectures behind one reference.
    pub const MULTI: &'static str = "multi";
    /// What a client means that names none.
    pub const DEFAULT: &'static str = "amd64";

    /// The name of an architecture that somebody calls by another one, such as `amd64` for `x86_64`.
    pub fn usual_name(text: &str) -> Option<&'static str> {
        let text = text.trim().to_ascii_lowercase();
        let text = text.strip_prefix("linux/").unwrap_or(&text);
        let known = OTHER_NAMES.iter().find(|(other, _)| *other == text).map(|(_, name)| *name);
        known.or_else(|| ["amd64", "arm64", "ppc64le", "s390x"].into_iter().find(|name| *name == text))
    }

    /// Reads what a person wrote: names of other tools are refused with the right one, although they could be names.
    pub fn from_person(text: &str) -> Result<Self, ArchError> {
        match Self::usual_name(text) {
            Some(name) if name != text => Err(ArchError::new(text)),
            _ => text.parse(),
        }
    }

    /// The name, as it stands in versions and queries.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Default for Arch {
    fn default() -> Self {
        Arch(Self::DEFAULT.to_owned())
    }
}

impl FromStr for Arch {
    type Err = ArchError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let well_formed = (1..=32).contains(&text.len())
            && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
        if well_formed { Ok(Arch(text.to_owned())) } else { Err(ArchError::new(text)) }
    }
}

impl ArchError {
    fn new(text: &str) -> Self {
        let why = match Arch::usual_name(text) {
            Some(name) => format!("write `{name}`"),
            None => "1 to 32 lower-case letters and digits, such as `amd64` or `multi`".to_owned(),
        };
        ArchError { text: text.chars().take(40).collect(), why }
    }
}

impl TryFrom<String> for Arch {
    type Error = ArchError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<Arch> for String {
    fn from(arch: Arch) -> Self {
        arch.0
    }
}

impl fmt::Display for Arch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_other_tools_are_refused_with_the_right_one() {
        for (written, name) in [("x86_64", "amd64"), ("aarch64", "arm64"), ("AMD64", "amd64"), ("linux/arm64", "arm64")]
        {
            let error = Arch::from_person(written).unwrap_err().to_string();
            assert_eq!(error, format!("`{written}` is not an architecture: write `{name}`"));
        }
        assert!(Arch::from_person("amd64").is_ok() && Arch::from_person("riscv64").is_ok());
    }

    #[test]
    fn known_and_future_architectures_are_names_and_nothing_else_is() {
        for name in ["amd64", "arm64", "ppc64le", "s390x", "multi", "riscv64"] {
            assert_eq!(name.parse::<Arch>().map(|arch| arch.to_string()), Ok(name.to_owned()));
        }
        for name in ["", "AMD64", "amd64 ", "x86-64", "linux/amd64", "é", &"a".repeat(33)] {
            assert!(name.parse::<Arch>().is_err(), "{name}");
        }
    }
}
