//! Semantic versions, as `blang/semver` reads and orders them.

use std::cmp::Ordering;

/// A version.
#[derive(Debug, Clone)]
pub(crate) struct Version {
    pub(crate) major: u64,
    pub(crate) minor: u64,
    pub(crate) patch: u64,
    before: Vec<Part>,
    build: Vec<String>,
}

/// A part of what stands behind the `-`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    Number(u64),
    Word(String),
}

impl Version {
    /// Reads a version with all its three numbers.
    pub(crate) fn parse(text: &str) -> Option<Version> {
        let mut parts = text.splitn(3, '.');
        let (major, minor, rest) = (parts.next()?, parts.next()?, parts.next()?);
        let (rest, build) = match rest.split_once('+') {
            Some((rest, build)) => (rest, build.split('.').map(str::to_owned).collect()),
            None => (rest, Vec::new()),
        };
        let (patch, before) = match rest.split_once('-') {
            Some((patch, before)) => (patch, before.split('.').map(part).collect::<Option<_>>()?),
            None => (rest, Vec::new()),
        };
        if build.iter().any(|word: &String| !is_word(word)) {
            return None;
        }
        Some(Version { major: number(major)?, minor: number(minor)?, patch: number(patch)?, before, build })
    }

    /// Reads a version of which `v`, missing numbers and leading zeros are accepted.
    pub(crate) fn parse_lenient(text: &str) -> Option<Version> {
        let text = text.strip_prefix('v').unwrap_or(text);
        let mut parts: Vec<String> = text.splitn(3, '.').map(without_zeros).collect();
        if parts.len() < 3 {
            if parts.last().is_some_and(|last| last.contains(['+', '-'])) {
                return None;
            }
            parts.resize(3, "0".to_owned());
        }
        Version::parse(&parts.join("."))
    }

    /// Which of two versions comes first; what stands behind `+` does not count.
    pub(crate) fn compare(&self, other: &Version) -> Ordering {
        let numbers = |version: &Version| (version.major, version.minor, version.patch);
        numbers(self).cmp(&numbers(other)).then_with(|| match (self.before.is_empty(), other.before.is_empty()) {
            (true, true) => Ordering::Equal,
            (true, false) => Ordering::Greater,
            (false, true) => Ordering::Less,
            (false, false) => self.before.cmp(&other.before),
        })
    }

    pub(crate) fn text(&self) -> String {
        let mut text = format!("{}.{}.{}", self.major, self.minor, self.patch);
        for (index, part) in self.before.iter().enumerate() {
            text.push(if index == 0 { '-' } else { '.' });
            match part {
                Part::Number(number) => text.push_str(&number.to_string()),
                Part::Word(word) => text.push_str(word),
            }
        }
        for (index, word) in self.build.iter().enumerate() {
            text.push(if index == 0 { '+' } else { '.' });
            text.push_str(word);
        }
        text
    }
}

fn number(text: &str) -> Option<u64> {
    let plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !plain || (text.len() > 1 && text.starts_with('0')) { None } else { text.parse().ok() }
}

fn is_word(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

fn part(text: &str) -> Option<Part> {
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        return number(text).map(Part::Number);
    }
    is_word(text).then(|| Part::Word(text.to_owned()))
}

fn without_zeros(part: &str) -> String {
    if part.len() <= 1 {
        return part.to_owned();
    }
    let rest = part.trim_start_matches('0');
    if rest.starts_with(|char: char| char.is_ascii_digit()) { rest.to_owned() } else { format!("0{rest}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_ordered() {
        let ordered = ["1.0.0-1", "1.0.0-2", "1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-beta", "1.0.0", "1.0.1", "2.0.0"];
        for pair in ordered.windows(2) {
            let [one, two] = pair else { continue };
            assert!(Version::parse(one).unwrap().compare(&Version::parse(two).unwrap()).is_lt(), "{one} {two}");
        }
        assert!(Version::parse("1.0.0+a").unwrap().compare(&Version::parse("1.0.0+b").unwrap()).is_eq());
    }

    #[test]
    fn versions_are_read_as_they_should_be() {
        for text in ["", "1", "1.0", "v1.0.0", "01.0.0", "1.0.0-", "1.0.0+", "1.0.0-01", "1.0.0-é", "1.0.x"] {
            assert!(Version::parse(text).is_none(), "{text}");
        }
        for (text, shown) in [("v1", "1.0.0"), ("01.02.03", "1.2.3"), ("1.0-a", ""), ("1.2.3-a.1+b", "1.2.3-a.1+b")] {
            let read = Version::parse_lenient(text).map(|version| version.text()).unwrap_or_default();
            assert_eq!(read, shown, "{text}");
        }
    }
}
